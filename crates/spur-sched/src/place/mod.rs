//! Which nodes a job gets: eligible ones, of the lowest weight, then by score.

mod cores;
mod deal;
pub mod devices;
mod ends;
mod fragment;
mod layers;
mod leaves;
mod line;
pub mod network;

use std::collections::BTreeSet;

pub use cores::pick as pick_cores;
pub use fragment::{Mix, Usual, rounded, thousandths};
pub use layers::shared;

use crate::fit::Fit;
use crate::nodes::{BucketKey, NodeIndex, Nodes, Slot};
use crate::shape::Shape;
use crate::timeline::{But, Calendar};

/// Nodes chosen, and units on each.
pub type Chosen = Vec<(NodeIndex, u32)>;

/// How nodes of equal weight are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Least fragmentation where devices are given in parts, the fullest node that fits elsewhere.
    #[default]
    Tight,
    /// The first in order.
    First,
    /// The fullest that fits, devices or not.
    BestFit,
    /// The emptiest.
    LeastLoaded,
}

/// Everything a search looks at.
pub struct Search<'a> {
    pub nodes: &'a Nodes,
    pub shape: &'a Shape,
    /// Kinds of nodes that may do, lightest first.
    pub fits: &'a [Fit],
    pub calendar: &'a Calendar,
    pub mix: &'a Mix,
    pub choice: Choice,
    /// The moment of the start, and how long nodes are needed.
    pub now: i64,
    pub secs: i64,
    /// Nodes that must be among the chosen, and those that must not.
    pub wanted: &'a [NodeIndex],
    pub barred: &'a BTreeSet<NodeIndex>,
    /// Only these, if said.
    pub within: Option<&'a BTreeSet<NodeIndex>>,
    /// As if these were not promised.
    pub but: But,
}

struct Candidate {
    node: NodeIndex,
    room: u32,
}

/// A bucket of nodes that may do.
struct Offer<'a> {
    fit: &'a Fit,
    key: BucketKey,
    /// Its last node comes first.
    backwards: bool,
}

/// Jobs from this time on are long, in seconds; see [`Search::offers`]. What keeps a node busy is known no better.
const DAY: i64 = 86_400;

impl Search<'_> {
    /// Chooses nodes, in the order people count them.
    pub fn choose(&self) -> Option<Chosen> {
        let found = match (self.shape.contiguous, self.shape.units_each()) {
            (true, _) => self.contiguous(),
            (false, Some(each)) => self.alike(each),
            (false, None) => self.different(),
        };
        if let Some(chosen) = found.as_ref().and_then(|_| self.along_the_line()) {
            return Some(chosen);
        }
        let mut found = found.or_else(|| self.layered())?;
        found.sort_by_key(|candidate| self.nodes.rank(candidate.node));
        self.deal(&found)
    }

    /// Units that fit on a node at present, or none.
    pub fn room(&self, fit: &Fit, node: NodeIndex) -> u32 {
        let slot = self.nodes.slot(node);
        if self.barred.contains(&node)
            || self.within.is_some_and(|within| !within.contains(&node))
            || !shares(self.shape, slot)
        {
            return 0;
        }
        let room = fit.room(self.shape, slot, &slot.free, self.now);
        if room == 0 || !self.calendar.concerns(node) {
            return room;
        }
        let (now, secs, but) = (self.now, self.secs, self.but);
        let later = self.calendar.room_but(self.shape, fit, node, slot, now, secs, but);
        room.min(later)
    }

    fn fit_of(&self, node: NodeIndex) -> Option<&Fit> {
        let kind = self.nodes.slot(node).kind;
        self.fits.iter().find(|fit| fit.kind == kind)
    }

    /// Nodes that were asked for by name; all of them must do.
    fn by_name(&self, least: u32) -> Option<Vec<Candidate>> {
        let mut found = Vec::new();
        for node in self.wanted {
            let slot = self.nodes.slot(*node);
            let usable = slot.present && slot.node.usable;
            let fit = self.fit_of(*node).filter(|_| usable)?;
            let room = self.room(fit, *node);
            if room < least {
                return None;
            }
            found.push(Candidate { node: *node, room });
        }
        Some(found)
    }

    /// Every node takes the same number of units: the best nodes, as many as are needed.
    fn alike(&self, each: u32) -> Option<Vec<Candidate>> {
        let most = match self.shape.units_follow_nodes {
            true => self.shape.nodes_max,
            false => self.shape.nodes_min,
        };
        let mut found = self.by_name(each)?;
        if !found.is_empty() {
            for (node, fit) in self.beside() {
                if found.len() >= most as usize {
                    break;
                }
                if self.room(fit, node) >= each {
                    found.push(Candidate { node, room: each });
                }
            }
        }
        for group in self.fits.chunk_by(|a, b| self.weight(a) == self.weight(b)) {
            if found.len() >= most as usize {
                break;
            }
            let offers = self.offers(group, each);
            if self.goes_by_ends(group, most) {
                found.extend(self.kept_least(&offers, each));
                continue;
            }
            for offer in offers {
                for node in self.in_turn(&offer) {
                    if found.len() >= most as usize {
                        break;
                    }
                    if !self.wanted.contains(&node) && self.room(offer.fit, node) >= each {
                        found.push(Candidate { node, room: each });
                    }
                }
            }
        }
        (found.len() >= self.shape.nodes_min as usize).then_some(found)
    }

    /// The nodes of a bucket, the first one or the last one first.
    fn in_turn(&self, offer: &Offer<'_>) -> impl Iterator<Item = NodeIndex> {
        let bucket = &self.nodes.kinds[offer.fit.kind as usize].buckets[&offer.key];
        let (mut forwards, mut backwards) = (bucket.iter(), bucket.iter().rev());
        let from_end = offer.backwards;
        let next = move || if from_end { backwards.next() } else { forwards.next() };
        std::iter::from_fn(next).map(|(_, node)| *node)
    }

    /// Nodes to go with those that were asked for by name: of each weight their neighbours, upwards and then
    /// downwards, as Slurm chooses them.
    fn beside(&self) -> Vec<(NodeIndex, &Fit)> {
        let Some(first) = self.wanted.iter().map(|node| self.nodes.slot(*node).order).min() else {
            return Vec::new();
        };
        let mut all: Vec<_> = (self.nodes.in_order())
            .filter(|node| !self.wanted.contains(node))
            .filter_map(|node| {
                let slot = self.nodes.slot(node);
                let fit = self.fit_of(node).filter(|_| slot.present && slot.node.usable)?;
                let distance = slot.order.abs_diff(first);
                Some(((self.weight(fit), slot.order < first, distance), node, fit))
            })
            .collect();
        all.sort_by_key(|(key, ..)| *key);
        all.into_iter().map(|(_, node, fit)| (node, fit)).collect()
    }

    /// Buckets that may do, best first. Among nodes that are equally full, long jobs that ask for devices
    /// begin with the first and short ones with the last: whole nodes come free sooner where jobs of a length
    /// are side by side.
    fn offers<'b>(&self, group: &'b [Fit], each: u32) -> Vec<Offer<'b>> {
        let mut found: Vec<((i64, i64, i128), Offer<'b>)> = Vec::new();
        for fit in group {
            let kind = &self.nodes.kinds[fit.kind as usize];
            let by_fragments =
                self.choice == Choice::Tight && self.in_parts(fit) && !self.shape.spread;
            let least = BucketKey { cores: fit.cores_least, ..BucketKey::LEAST };
            for (key, bucket) in kind.buckets.range(least..) {
                if !fit.may_do(key) {
                    continue;
                }
                let left = i64::from(key.cores - fit.cores_least);
                let Some((order, first)) = bucket.first() else { continue };
                let asks = !self.shape.gres.is_empty();
                let used = key.cores < kind.cores || key.devices < kind.devices();
                let backwards =
                    asks && used && self.shape.secs < DAY && self.choice == Choice::Tight;
                if by_fragments {
                    // Of all nodes of a bucket the same is free, but for a little memory.
                    let slot = self.nodes.slot(*first);
                    let harm = self.mix.harm(self.shape, fit, slot, each);
                    let score = harm.map_or((i64::MAX, 0), |(harm, rest)| (harm, i64::from(rest)));
                    let offer = Offer { fit, key: *key, backwards: false };
                    found.push(((score.0, score.1, i128::from(*order)), offer));
                    continue;
                }
                // Who asks for no devices goes where Slurm sends him; weights keep him away.
                let by_devices = if asks { i64::from(key.devices) } else { 0 };
                let order = match bucket.last().filter(|_| backwards) {
                    Some((last, _)) => -i128::from(*last),
                    None => i128::from(*order),
                };
                let score = match self.choice {
                    _ if self.shape.spread => (-left, 0, order),
                    Choice::LeastLoaded => (-left, 0, order),
                    Choice::First => (0, 0, order),
                    // Whole devices: the node that is filled best leaves the largest gaps elsewhere.
                    Choice::BestFit | Choice::Tight => (by_devices, left, order),
                };
                found.push((score, Offer { fit, key: *key, backwards }));
            }
        }
        found.sort_by_key(|(score, offer)| (*score, offer.fit.kind, offer.key));
        found.into_iter().map(|(_, offer)| offer).collect()
    }

    fn in_parts(&self, fit: &Fit) -> bool {
        self.nodes.kinds[fit.kind as usize].gres.iter().any(|it| it.parts > 1)
    }

    /// Nodes may take different numbers of units: few nodes with much room, and a last one that fits.
    fn different(&self) -> Option<Vec<Candidate>> {
        let named = self.by_name(1)?;
        let next_to = (!named.is_empty()).then(|| self.next_to(&named)).flatten();
        next_to
            .or_else(|| self.roomiest(&named, self.fits, true))
            .or_else(|| self.over_weights(&named))
    }

    /// Where the lightest nodes take up all the places and yet have too little room: the roomiest, none of them
    /// heavier than is needed.
    fn over_weights(&self, named: &[Candidate]) -> Option<Vec<Candidate>> {
        let any = self.roomiest(named, self.fits, false)?;
        let heavier = self.fits.windows(2).enumerate();
        let mut ends = heavier.filter(|(_, two)| self.weight(&two[0]) < self.weight(&two[1]));
        let lighter = ends.find_map(|(last, _)| self.roomiest(named, &self.fits[..=last], false));
        Some(lighter.unwrap_or(any))
    }

    /// Nodes that were asked for by name, and as many beside them as are needed.
    fn next_to(&self, named: &[Candidate]) -> Option<Vec<Candidate>> {
        let shape = self.shape;
        let mut found: Vec<Candidate> =
            named.iter().map(|it| Candidate { node: it.node, room: it.room }).collect();
        let enough = |found: &[Candidate]| {
            let units = found.iter().map(|it| it.room).fold(0, u32::saturating_add);
            found.len() >= shape.nodes_min as usize && units >= shape.units
        };
        for (node, fit) in self.beside() {
            if enough(&found) || found.len() >= shape.nodes_max as usize {
                break;
            }
            let room = self.room(fit, node);
            if room > 0 {
                found.push(Candidate { node, room });
            }
        }
        enough(&found).then_some(found)
    }

    fn roomiest(
        &self,
        named: &[Candidate],
        fits: &[Fit],
        by_weight: bool,
    ) -> Option<Vec<Candidate>> {
        let shape = self.shape;
        let mut found: Vec<Candidate> =
            named.iter().map(|it| Candidate { node: it.node, room: it.room }).collect();
        let emptiest = self.choice == Choice::LeastLoaded || self.shape.spread;
        let by_cores = |cores: u32| if emptiest { -i64::from(cores) } else { i64::from(cores) };
        let same = |a: &Fit, b: &Fit| !by_weight || self.weight(a) == self.weight(b);
        for group in fits.chunk_by(same) {
            let missing = |found: &[Candidate]| {
                let units: u32 = found.iter().map(|it| it.room).sum();
                (found.len() < shape.nodes_min as usize, shape.units.saturating_sub(units))
            };
            let mut keys: Vec<(u32, &Fit, BucketKey, u64)> = Vec::new();
            for fit in group {
                let kind = &self.nodes.kinds[fit.kind as usize];
                let least = BucketKey { cores: fit.cores_least, ..BucketKey::LEAST };
                for (key, bucket) in kind.buckets.range(least..) {
                    if !fit.may_do(key) {
                        continue;
                    }
                    let Some((order, node)) = bucket.first() else { continue };
                    keys.push((self.room(fit, *node), fit, *key, *order));
                }
            }
            // Most room first; where that says nothing, the lightest and then the fullest node.
            keys.sort_by_key(|(room, fit, key, order)| {
                (std::cmp::Reverse(*room), self.weight(fit), by_cores(key.cores), *order)
            });
            let mut more: Vec<Candidate> = Vec::new();
            for (_, fit, key, _) in keys {
                for (_, node) in &self.nodes.kinds[fit.kind as usize].buckets[&key] {
                    let room = self.room(fit, *node);
                    if room > 0 && !self.wanted.contains(node) {
                        more.push(Candidate { node: *node, room });
                    }
                }
                let (nodes, units) = missing(&found);
                let rooms: u32 = more.iter().map(|it| it.room).fold(0, u32::saturating_add);
                let most = shape.nodes_max as usize;
                // Enough to choose from; further buckets have less room.
                if !nodes && units <= rooms && found.len() + more.len() >= most {
                    break;
                }
            }
            more.sort_by_key(|it| {
                let slot = self.nodes.slot(it.node);
                let weight = self.nodes.kinds[slot.kind as usize].weight;
                let empty = if emptiest { by_cores(slot.free.cores) } else { 0 };
                (std::cmp::Reverse(it.room), weight, empty, slot.order)
            });
            while let Some(last) = more.last() {
                let (nodes, units) = missing(&found);
                if !nodes && units == 0 || found.len() == shape.nodes_max as usize {
                    break;
                }
                let _ = last;
                // The tightest that completes the job, or else the roomiest.
                let place = match more.first() {
                    // Where the emptiest node is asked for it is the first.
                    _ if emptiest => 0,
                    Some(first)
                        if first.room >= units && found.len() + 1 >= shape.nodes_min as usize =>
                    {
                        let tight = more.partition_point(|it| it.room >= units.max(1)) - 1;
                        let room = more[tight].room;
                        more.partition_point(|it| it.room > room)
                    }
                    _ => 0,
                };
                found.push(more.remove(place));
            }
        }
        let units: u32 = found.iter().map(|it| it.room).fold(0, u32::saturating_add);
        (found.len() >= shape.nodes_min as usize && units >= shape.units).then_some(found)
    }

    /// The first run of neighbours that has enough.
    fn contiguous(&self) -> Option<Vec<Candidate>> {
        let mut found: Vec<Candidate> = Vec::new();
        let least = self.shape.units_each().unwrap_or(1);
        for node in self.nodes.in_order() {
            let slot = self.nodes.slot(node);
            if !slot.present {
                continue;
            }
            let fit = self.fit_of(node).filter(|_| slot.node.usable);
            let room = fit.map_or(0, |fit| self.room(fit, node));
            if room < least {
                found.clear();
                continue;
            }
            found.push(Candidate { node, room });
            if found.len() > self.shape.nodes_max as usize {
                found.remove(0);
            }
            let units: u32 = found.iter().map(|it| it.room).sum();
            let named = self.wanted.iter().all(|it| found.iter().any(|has| has.node == *it));
            if found.len() >= self.shape.nodes_min as usize && units >= self.shape.units && named {
                return Some(found);
            }
        }
        None
    }

    /// How many units each of the chosen has.
    fn deal(&self, found: &[Candidate]) -> Option<Chosen> {
        if self.shape.units_follow_nodes
            && let Some(each) = self.shape.units_each()
        {
            return Some(found.iter().map(|it| (it.node, each)).collect());
        }
        // Where processors are dealt out with units there are not as many for each.
        let cpus = if self.shape.dealt.is_some() { 1 } else { self.shape.unit_cpus };
        let rooms: Vec<u32> = found.iter().map(|it| it.room).collect();
        let dealt = deal::deal(self.shape.units, cpus, self.shape.nodes_min, &rooms)?;
        Some(found.iter().map(|it| it.node).zip(dealt).collect())
    }

    fn weight(&self, fit: &Fit) -> u32 {
        self.nodes.kinds[fit.kind as usize].weight
    }
}

/// Whether those on a node and the job would put up with each other.
pub fn shares(shape: &Shape, slot: &Slot) -> bool {
    // Those that sleep are in nobody's way.
    let mut awake = slot.runs.iter().filter(|held| !held.cores.is_empty());
    awake.all(|held| held.is_welcome_to(shape))
}
