//! Neighbours: the best fit along the line of all nodes, as Slurm chooses for jobs that ask for no devices.
//!
//! Nodes that would do fall into runs of neighbours of one weight. Of the lightest runs the one with the fewest
//! processors that has enough goes first; a run that has too little goes before it where it comes later and has more.
//! A single node is the fullest that will do; several are taken in order, each leaving a processor for every node that
//! must follow. Who asks for neighbours gets one such run whatever its nodes weigh, or another choice is made.

use super::{Candidate, Choice, Chosen, Search, deal, leaves};
use crate::shape::Shape;

/// Where more nodes than these may do, looking at each of them for every job would cost too much.
pub(super) const LOOK: usize = 128;

/// A node that would do.
pub(super) struct Stop {
    pub candidate: Candidate,
    /// Where it stands among all nodes.
    pub place: u32,
    pub weight: u32,
    /// Processors that jobs of the shape could have of it.
    pub cpus: u64,
}

/// What a job still lacks.
pub(super) struct Need {
    pub nodes: u32,
    pub cpus: u64,
}

impl Need {
    /// What all of a job lacks.
    pub fn of(shape: &Shape) -> Need {
        Need { nodes: shape.nodes_min, cpus: shape.cpus() }
    }

    /// It has this node, and leaves a processor for each that must follow.
    pub fn take(&mut self, stop: &Stop) {
        let for_others = u64::from(self.nodes.saturating_sub(1));
        let given = stop.cpus.min(self.cpus.saturating_sub(for_others));
        self.cpus = self.cpus.saturating_sub(given.max(1));
        self.nodes = self.nodes.saturating_sub(1);
    }

    pub fn is_met(&self) -> bool {
        self.nodes == 0 && self.cpus == 0
    }
}

/// Neighbours, and what they have together.
struct Run<'a> {
    stops: &'a [Stop],
    cpus: u64,
}

impl Search<'_> {
    /// Nodes and units on each, where Slurm's choice is a matter of neighbours.
    pub(super) fn along_the_line(&self) -> Option<Chosen> {
        let shape = self.shape;
        let by_leaves = leaves::are_followed(self.nodes, shape);
        let goes = self.choice == Choice::Tight
            && (self.wanted.is_empty() || by_leaves)
            && shape.gres.is_empty()
            // Where a partition wants the emptiest nodes its jobs get those.
            && (!shape.spread || shape.widest)
            && (self.nodes.domains.is_empty() || by_leaves)
            && shape.nodes_min as usize <= LOOK;
        if !goes {
            return None;
        }
        let mut stops = self.stops()?;
        while stops.len() >= shape.nodes_min as usize {
            let chosen = if by_leaves { self.leaf_by_leaf(&stops) } else { self.walk(&stops) };
            if chosen.is_some() || shape.contiguous {
                return chosen;
            }
            // Those that have least take up places of others.
            let least = stops.iter().map(|stop| stop.cpus).min()?;
            stops.retain(|stop| stop.cpus > least);
        }
        None
    }

    /// Nodes that would do, in order; none where there are many, and none where devices are given in parts, since
    /// those go by what is left of them.
    fn stops(&self) -> Option<Vec<Stop>> {
        let least = self.shape.units_least();
        let mut found: Vec<(u32, u64, Candidate, u64)> = Vec::new();
        if self.fits.iter().any(|fit| self.in_parts(fit)) {
            return None;
        }
        let buckets = || {
            self.fits.iter().flat_map(|fit| {
                let all = self.nodes.kinds[fit.kind as usize].buckets.iter();
                all.filter(|(key, _)| fit.may_do(key)).map(move |(_, nodes)| (fit, nodes))
            })
        };
        let mut looked = buckets().scan(0, |sum, (_, nodes)| {
            *sum += nodes.len();
            Some(*sum)
        });
        if looked.any(|sum| sum > LOOK) {
            return None;
        }
        for (fit, nodes) in buckets() {
            let kind = &self.nodes.kinds[fit.kind as usize];
            let weight = if self.shape.contiguous { 0 } else { kind.weight };
            for (order, node) in nodes {
                let room = self.room(fit, *node);
                if room < least {
                    continue;
                }
                let slot = self.nodes.slot(*node);
                // Whoever is not held back by what is promised could have more than the job asks for.
                let units = match room < self.shape.units {
                    true => room,
                    false => fit.breadth(self.shape, slot, self.now),
                };
                let cpus = u64::from(self.shape.cpus_of(units)).max(1);
                found.push((weight, *order, Candidate { node: *node, room }, cpus));
            }
        }
        found.sort_by_key(|(_, order, ..)| *order);
        let stop = |(weight, _, candidate, cpus): (u32, u64, Candidate, u64)| Stop {
            place: self.nodes.place(candidate.node),
            candidate,
            weight,
            cpus,
        };
        Some(found.into_iter().map(stop).collect())
    }

    fn walk(&self, stops: &[Stop]) -> Option<Chosen> {
        let shape = self.shape;
        let (most, wide) = self.most();
        let neighbours =
            |a: &Stop, b: &Stop| a.place.abs_diff(b.place) == 1 && a.weight == b.weight;
        let mut runs: Vec<Run<'_>> = (stops.chunk_by(neighbours))
            .map(|stops| Run { stops, cpus: stops.iter().map(|stop| stop.cpus).sum() })
            .collect();
        let mut need = Need::of(shape);
        if shape.contiguous {
            runs.retain(|run| run.has_enough(&need));
            runs = best(&runs, &need).map(|best| runs.remove(best)).into_iter().collect();
        }
        let mut found: Vec<&Candidate> = Vec::new();
        let full =
            |need: &Need, found: &[&Candidate]| found.len() >= most || need.is_met() && !wide;
        while !full(&need, &found) {
            let Some(best) = best(&runs, &need) else { break };
            for stop in runs.remove(best).in_turn(&need) {
                if full(&need, &found) {
                    break;
                }
                if found.len() + 1 == most && stop.cpus < need.cpus {
                    continue;
                }
                need.take(stop);
                found.push(&stop.candidate);
            }
        }
        let chosen = need.is_met().then(|| self.dealt(&found)).flatten()?;
        let mut places: Vec<u32> = chosen.iter().map(|(node, _)| self.nodes.place(*node)).collect();
        places.sort_unstable();
        let apart = places.windows(2).any(|pair| pair[1] - pair[0] > 1);
        (!shape.contiguous || !apart).then_some(chosen)
    }

    /// The most nodes a job may have, and whether it takes them where they are there.
    pub(super) fn most(&self) -> (usize, bool) {
        let shape = self.shape;
        let most = match shape.units_follow_nodes {
            true => shape.nodes_max,
            false => shape.nodes_max.min(shape.units.max(shape.nodes_min)),
        };
        (most as usize, shape.widest || shape.units_follow_nodes)
    }

    /// Units on each of those that were taken, in the order in which they were.
    pub(super) fn dealt(&self, found: &[&Candidate]) -> Option<Chosen> {
        let shape = self.shape;
        let mut chosen: Chosen = match shape.units_each().filter(|_| shape.units_follow_nodes) {
            Some(each) => found.iter().map(|it| (it.node, each)).collect(),
            None => {
                let cpus = if shape.dealt.is_some() { 1 } else { shape.unit_cpus };
                let rooms: Vec<u32> = found.iter().map(|it| it.room).collect();
                let dealt = deal::deal(shape.units, cpus, shape.nodes_min, &rooms)?;
                found.iter().map(|it| it.node).zip(dealt).collect()
            }
        };
        chosen.sort_by_key(|(node, _)| self.nodes.rank(*node));
        Some(chosen)
    }
}

impl<'a> Run<'a> {
    fn has_enough(&self, need: &Need) -> bool {
        self.cpus >= need.cpus && self.stops.len() >= need.nodes as usize
    }

    /// Its nodes as they are taken: where one will do the fullest that does comes first.
    fn in_turn(&self, need: &Need) -> impl Iterator<Item = &'a Stop> + use<'a> {
        let stops = self.stops;
        let single = (need.nodes <= 1)
            .then(|| stops.iter().filter(|stop| stop.cpus >= need.cpus))
            .and_then(|enough| enough.min_by_key(|stop| stop.cpus))
            .map(|stop| stop.place);
        let others = stops.iter().filter(move |stop| Some(stop.place) != single);
        stops.iter().filter(move |stop| Some(stop.place) == single).chain(others)
    }
}

/// The run that goes first.
fn best(runs: &[Run<'_>], need: &Need) -> Option<usize> {
    let lightest = runs.iter().map(|run| run.stops[0].weight).min()?;
    let mut all = runs.iter().enumerate().filter(|(_, run)| run.stops[0].weight == lightest);
    let first = all.next()?;
    let best = all.fold(first, |best, next| {
        let better = match (next.1.has_enough(need), best.1.has_enough(need)) {
            (true, enough) => !enough || next.1.cpus < best.1.cpus,
            (false, _) => next.1.cpus > best.1.cpus,
        };
        if better { next } else { best }
    });
    Some(best.0)
}
