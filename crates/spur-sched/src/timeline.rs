//! What is promised for later, and when a job that does not fit now will.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::reservation::names;

use crate::fit::{Fit, Taken};
use crate::nodes::{Free, NodeIndex, Nodes, Slot};
use crate::place::{Chosen, network};
use crate::shape::{Cap, FOREVER, Shape, Sharing};
use crate::view::{RunId, ViewGres};

/// Promises on nodes.
#[derive(Debug, Default)]
pub struct Calendar {
    /// Jobs are over when they are expected to be; else at their limits.
    trust: bool,
    reserved: Arc<Reserved>,
    /// Of each node those that end first come first.
    promises: BTreeMap<NodeIndex, Vec<Promise>>,
    /// How many were looked at so far.
    looks: Cell<u64>,
    /// Calendars of equal signature hold the same.
    signature: u64,
}

/// What reservations keep, which is the same from pass to pass.
#[derive(Debug, Default)]
pub struct Reserved {
    promises: BTreeMap<NodeIndex, Vec<Promise>>,
    /// The nodes of each reservation.
    pub nodes: BTreeMap<Arc<str>, BTreeSet<NodeIndex>>,
    /// Tells one state of the reservations from another.
    number: u64,
}

impl Reserved {
    /// Nothing is kept yet; no other may have this number.
    pub fn new(number: u64) -> Reserved {
        Reserved { number, ..Reserved::default() }
    }

    /// Keeps a node for a reservation, or some cores of it, at some times.
    pub fn keep(
        &mut self,
        name: &Arc<str>,
        node: NodeIndex,
        cores: Option<u32>,
        turns: Vec<(i64, i64)>,
    ) {
        for (start, end) in turns {
            let what = What::Reserved(name.clone(), cores);
            self.promises.entry(node).or_default().push(Promise { start, end, what });
        }
        self.nodes.entry(name.clone()).or_default().insert(node);
    }
}

#[derive(Clone, Debug)]
struct Promise {
    start: i64,
    end: i64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// To a pending job, against which cap it counts, and in which reservation it will be.
    Job(JobId, Taken, Option<Cap>, Arc<str>),
    /// Everything, or so many cores, to jobs that name this reservation.
    Reserved(Arc<str>, Option<u32>),
}

impl What {
    /// Cores promised to a job.
    fn cores(&self) -> u32 {
        match self {
            What::Job(_, taken, ..) => taken.cores,
            What::Reserved(..) => 0,
        }
    }
}

/// Whether a job that names these reservations may be in this one.
fn is_in(named: &str, reservation: &str) -> bool {
    names(named).any(|it| it == reservation)
}

/// Promises that are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum But {
    Nothing,
    /// Those to one job.
    Job(JobId),
    /// Those to any job.
    Jobs,
    Everything,
}

impl Calendar {
    /// A calendar without promises.
    pub fn new(trust: bool, reserved: Arc<Reserved>) -> Calendar {
        let signature = reserved.number << 1 | u64::from(trust);
        Calendar { trust, reserved, signature, ..Calendar::default() }
    }

    /// Calendars of equal signature hold the same.
    pub fn signature(&self) -> u64 {
        self.signature
    }

    /// Whether nothing is promised anywhere.
    pub fn is_empty(&self) -> bool {
        self.reserved.promises.is_empty() && self.promises.is_empty()
    }

    /// Whether reservations keep anything.
    pub fn has_reservations(&self) -> bool {
        !self.reserved.promises.is_empty()
    }

    /// Nodes of which reservations keep anything at any time.
    pub fn with_reservations(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.reserved.promises.keys().copied()
    }

    /// How many those are.
    pub fn reserved_nodes(&self) -> u64 {
        self.reserved.promises.len() as u64
    }

    /// The nodes of a reservation.
    pub fn nodes_of(&self, reservation: &str) -> Option<&BTreeSet<NodeIndex>> {
        self.reserved.nodes.get(reservation)
    }

    fn sign(&mut self, words: [i64; 4]) {
        for word in words {
            let mixed = (self.signature ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.signature = mixed ^ mixed >> 29;
        }
    }

    /// What is promised on a node that is not over by a moment.
    fn on(&self, node: NodeIndex, from: i64) -> impl Iterator<Item = &Promise> + Clone {
        let reserved = self.reserved.promises.get(&node).map_or(&[][..], Vec::as_slice);
        let promises = self.promises.get(&node).map_or(&[][..], Vec::as_slice);
        let later = &promises[promises.partition_point(|it| it.end <= from)..];
        self.looks.set(self.looks.get() + 1 + later.len() as u64);
        reserved.iter().filter(move |it| it.end > from).chain(later)
    }

    /// How many promises were looked at so far.
    pub fn looks(&self) -> u64 {
        self.looks.get()
    }

    /// How long a job that gets so many seconds counts as running.
    pub fn likely(&self, shape: &Shape, secs: i64) -> i64 {
        if self.trust { shape.likely().min(secs) } else { secs }
    }

    /// Takes back what is promised to a job on these nodes.
    pub fn forget(&mut self, job: JobId, nodes: &Chosen) {
        self.sign([-1, i64::from(job.0), 0, 0]);
        for (node, _) in nodes {
            let Some(promises) = self.promises.get_mut(node) else { continue };
            promises.retain(|it| !matches!(&it.what, What::Job(other, ..) if *other == job));
            if promises.is_empty() {
                self.promises.remove(node);
            }
        }
    }

    /// The reservation that keeps a node from others at some time between two moments.
    pub fn reserved(
        &self,
        node: NodeIndex,
        from: i64,
        until: i64,
        shape: &Shape,
    ) -> Option<&Arc<str>> {
        let promises = self.on(node, from);
        promises.filter(|it| it.start < until).find_map(|it| match &it.what {
            What::Reserved(name, None) if !shape.may_use(name) => Some(name),
            _ => None,
        })
    }

    /// Whether a reservation keeps a node from others, or a part of it, at some time between two moments.
    pub fn is_kept(&self, node: NodeIndex, from: i64, until: i64, shape: &Shape) -> bool {
        self.on(node, from).filter(|it| it.start < until).any(|it| match &it.what {
            What::Reserved(name, _) => !shape.may_use(name),
            What::Job(..) => false,
        })
    }

    /// Whether anything is promised on a node.
    pub fn concerns(&self, node: NodeIndex) -> bool {
        self.promises.contains_key(&node) || self.reserved.promises.contains_key(&node)
    }

    /// Units that fit on a node from a moment on, for so long, beside what is promised there.
    pub fn room(
        &self,
        shape: &Shape,
        fit: &Fit,
        node: NodeIndex,
        slot: &Slot,
        from: i64,
        secs: i64,
    ) -> u32 {
        self.room_but(shape, fit, node, slot, from, secs, But::Nothing)
    }

    /// The same, as if some promises were not there.
    #[allow(clippy::too_many_arguments)]
    pub fn room_but(
        &self,
        shape: &Shape,
        fit: &Fit,
        node: NodeIndex,
        slot: &Slot,
        from: i64,
        secs: i64,
        but: But,
    ) -> u32 {
        // Reservations are kept to the limit, promises to other jobs as far as anybody can tell.
        let until = |promise: &Promise| match promise.what {
            What::Job(..) => from.saturating_add(self.likely(shape, secs)),
            What::Reserved(..) => from.saturating_add(secs),
        };
        let promises = self.on(node, from);
        // What runs only ends: between two promises there is never less than at the first.
        let meets = |it: &&Promise| it.start > from && it.start < until(it);
        let starts = promises.clone().filter(meets).map(|it| it.start);
        let moments: BTreeSet<i64> = starts.chain([from]).collect();
        let mut room = u32::MAX;
        for at in moments {
            let mut free = slot.free_at(at);
            let mut beside = shape.beside(slot, at);
            // What is left of reservations of some cores.
            let mut inside = u32::MAX;
            let holds =
                |it: &&Promise| it.start <= at && at < it.end && at < until(it).max(from + 1);
            for promise in promises.clone().filter(holds) {
                match &promise.what {
                    What::Job(job, ..) if but == But::Job(*job) => {}
                    _ if but == But::Everything => {}
                    What::Job(..) if but == But::Jobs => {}
                    What::Reserved(name, None) if shape.may_use(name) => {}
                    What::Reserved(_, None) => return 0,
                    What::Reserved(name, Some(cores)) => {
                        // What is promised in it is part of it.
                        let to_come =
                            promises.clone().filter(holds).filter_map(|it| match &it.what {
                                What::Job(job, ..) if but == But::Job(*job) => None,
                                What::Job(.., inside)
                                    if but != But::Jobs && is_in(inside, name) =>
                                {
                                    Some(it.what.cores())
                                }
                                _ => None,
                            });
                        let taken = slot.held_in(name, at).saturating_add(to_come.sum());
                        let left = cores.saturating_sub(taken);
                        match shape.may_use(name) {
                            true => inside = inside.min(left),
                            // Who is to be alone cannot be where others are to come.
                            false if shape.sharing == Sharing::Nobody => return 0,
                            false => free.cores = free.cores.saturating_sub(left),
                        }
                    }
                    What::Job(..) if !shape.sharing.is_open() => return 0,
                    What::Job(_, taken, cap, _) => {
                        subtract(&mut free, taken, &slot.node.gres);
                        if cap.is_some() && *cap == shape.cap {
                            beside += taken.cores;
                        }
                    }
                }
            }
            free.cores = free.cores.min(inside);
            room = room.min(fit.room_beside(shape, slot, &free, beside));
            if room == 0 {
                return 0;
            }
        }
        room
    }

    /// Ends of promises: moments at which a node may become free that is not freed by a run.
    fn ends(&self) -> BTreeSet<i64> {
        let all = self.reserved.promises.values().chain(self.promises.values());
        all.flatten().map(|promise| promise.end).collect()
    }
}

/// Takes what is promised away. Which device it will be is not settled: any other of the group will do.
fn subtract(free: &mut Free, taken: &Taken, groups: &[ViewGres]) {
    free.cores = free.cores.saturating_sub(taken.cores);
    free.memory_mb = free.memory_mb.saturating_sub(taken.memory_mb);
    for (device, parts) in &taken.parts {
        let mut first = 0;
        for group in groups {
            let mine = first..first + group.devices;
            first = mine.end;
            if !mine.contains(device) {
                continue;
            }
            let enough = |it: &u32| free.parts.get(*it as usize).is_some_and(|free| free >= parts);
            let found = std::iter::once(*device).chain(mine).find(enough);
            if let Some(left) = found.and_then(|it| free.parts.get_mut(it as usize)) {
                *left -= parts;
            }
            break;
        }
    }
}

/// A place in the future.
#[derive(Clone, Debug)]
pub struct Place {
    pub at: i64,
    pub nodes: Chosen,
    /// All that would have done at that moment.
    pub good: Vec<NodeIndex>,
}

/// What a search for a place in the future looks at.
pub struct Ahead<'a> {
    pub nodes: &'a Nodes,
    pub shape: &'a Shape,
    pub fits: &'a [Fit],
    pub calendar: &'a Calendar,
    /// Nodes by when something on them ends.
    pub ends: &'a BTreeSet<(i64, NodeIndex, RunId)>,
    /// The present moment.
    pub now: i64,
    /// Not before this moment.
    pub from: i64,
    pub wanted: &'a [NodeIndex],
    pub barred: &'a BTreeSet<NodeIndex>,
    pub within: Option<&'a BTreeSet<NodeIndex>>,
}

/// Nodes that will do: since when, and for how many units.
#[derive(Debug, Default)]
struct Good {
    rooms: BTreeMap<NodeIndex, (i64, u32)>,
    /// Units of all.
    units: u64,
}

impl Good {
    /// True when the node is better than before.
    fn put(&mut self, node: NodeIndex, at: i64, room: u32) -> bool {
        let (_, before) = self.rooms.entry(node).or_insert((at, 0));
        let former = std::mem::replace(before, room);
        self.units = self.units + u64::from(room) - u64::from(former);
        room > former
    }

    fn place(&self, at: i64, nodes: Chosen) -> Place {
        Place { at, nodes, good: self.rooms.keys().copied().collect() }
    }

    /// True when it was there.
    fn remove(&mut self, node: NodeIndex) -> bool {
        let Some((_, room)) = self.rooms.remove(&node) else { return false };
        self.units -= u64::from(room);
        true
    }
}

impl Ahead<'_> {
    /// The earliest place, if running jobs end at their limits.
    pub fn earliest(&self) -> Option<Place> {
        let mut by_kind: Vec<Option<&Fit>> = vec![None; self.nodes.kinds.len()];
        for fit in self.fits {
            by_kind[fit.kind as usize] = Some(fit);
        }
        // Room of nodes that will do, and since when.
        let mut good = Good::default();
        let mut retry: BTreeSet<NodeIndex> = BTreeSet::new();
        for fit in self.fits {
            let kind = &self.nodes.kinds[fit.kind as usize];
            for (_, node) in kind.buckets.values().flatten() {
                self.look(fit, *node, self.now, &mut good, &mut retry);
            }
        }
        if self.from <= self.now
            && let Some(place) = self.enough(&mut good, &by_kind, self.now)
        {
            return Some(place);
        }
        let promised: BTreeSet<i64> = (self.calendar.ends().into_iter())
            .chain([self.from])
            .filter(|at| *at > self.now && *at < FOREVER)
            .collect();
        let mut promised = promised.into_iter().peekable();
        // What should have ended already ends any moment.
        let soon = self.now + 1;
        let mut ends = (self.ends.iter().take_while(|(end, ..)| *end < FOREVER))
            .map(|(end, node, _)| ((*end).max(soon), *node))
            .peekable();
        loop {
            let at = match (ends.peek(), promised.peek()) {
                (Some((end, _)), Some(promise)) => (*end).min(*promise),
                (Some((end, _)), None) => *end,
                (None, Some(promise)) => *promise,
                (None, None) => return None,
            };
            let mut changed = false;
            while let Some((_, node)) = ends.next_if(|(end, _)| *end == at) {
                let slot = self.nodes.slot(node);
                if let Some(fit) = by_kind[slot.kind as usize]
                    && slot.present
                    && slot.node.usable
                {
                    changed |= self.look(fit, node, at, &mut good, &mut retry);
                }
            }
            if promised.next_if_eq(&at).is_some() {
                for node in std::mem::take(&mut retry) {
                    if let Some(fit) = by_kind[self.nodes.slot(node).kind as usize] {
                        changed |= self.look(fit, node, at, &mut good, &mut retry);
                    }
                }
            }
            if (changed || at == self.from)
                && at >= self.from
                && let Some(place) = self.enough(&mut good, &by_kind, at)
            {
                return Some(place);
            }
        }
    }

    /// Looks at a node at a moment; true when it has become better.
    fn look(
        &self,
        fit: &Fit,
        node: NodeIndex,
        at: i64,
        good: &mut Good,
        retry: &mut BTreeSet<NodeIndex>,
    ) -> bool {
        let slot = self.nodes.slot(node);
        if self.barred.contains(&node) || self.within.is_some_and(|it| !it.contains(&node)) {
            return false;
        }
        let shape = self.shape;
        let alone = slot.runs.iter().all(|held| held.end <= at || held.is_welcome_to(shape));
        let now = at == self.now;
        let free = if now { fit.room(self.shape, slot, &slot.free, at) } else { u32::MAX };
        let room = match self.calendar.concerns(node) {
            _ if !alone || free == 0 => 0,
            _ if slot.cores_at_most(at) < fit.cores_least => 0,
            false if now => free,
            false => fit.room(self.shape, slot, &slot.free_at(at), at),
            true => {
                let later = self.calendar.room(self.shape, fit, node, slot, at, self.shape.secs);
                later.min(free)
            }
        };
        if room == 0 {
            if self.calendar.concerns(node) {
                retry.insert(node);
            }
            return good.remove(node);
        }
        good.put(node, at, room)
    }

    /// Nodes for the job, if enough of them are good at a moment. Those that were free for the shortest
    /// time are taken, so that smaller jobs find the others.
    fn enough(&self, good: &mut Good, by_kind: &[Option<&Fit>], at: i64) -> Option<Place> {
        let shape = self.shape;
        let few = |good: &Good| good.rooms.len() < shape.nodes_min as usize;
        if few(good) || good.units < u64::from(shape.units) {
            return None;
        }
        // Good once, some may no longer be: a promise lies ahead.
        let nodes = good.rooms.keys().copied();
        let concerned: Vec<NodeIndex> =
            nodes.filter(|node| self.calendar.concerns(*node)).collect();
        for node in concerned {
            let slot = self.nodes.slot(node);
            let room = by_kind[slot.kind as usize]
                .map_or(0, |fit| self.calendar.room(shape, fit, node, slot, at, shape.secs));
            if room == 0 {
                good.remove(node);
            } else {
                good.put(node, at, room);
            }
        }
        if few(good) || !self.wanted.iter().all(|node| good.rooms.contains_key(node)) {
            return None;
        }
        if shape.contiguous {
            return self.neighbours(&good.rooms).map(|nodes| good.place(at, nodes));
        }
        let mut order: Vec<(NodeIndex, i64, u32)> =
            good.rooms.iter().map(|(node, (since, room))| (*node, *since, *room)).collect();
        let named = |node: &NodeIndex| !self.wanted.contains(node);
        let place = |node: NodeIndex| self.nodes.slot(node).order;
        order
            .sort_by_key(|(node, since, _)| (named(node), std::cmp::Reverse(*since), place(*node)));
        if let Some(size) = network::segment(self.nodes, shape, shape.nodes_min) {
            return self.in_segments(order, size).map(|nodes| good.place(at, nodes));
        }
        let chosen = self.collect(&order).or_else(|| {
            order.sort_by_key(|(node, _, room)| {
                (named(node), std::cmp::Reverse(*room), place(*node))
            });
            self.collect(&order)
        })?;
        Some(good.place(at, chosen))
    }

    /// Whole segments of good nodes, each in one leaf: first of the leaves that have most.
    fn in_segments(&self, order: Vec<(NodeIndex, i64, u32)>, size: u32) -> Option<Chosen> {
        let count = self.shape.nodes_min;
        let each = self.shape.units.div_ceil(count);
        let mut leaves: BTreeMap<_, Chosen> = BTreeMap::new();
        for (node, _, room) in order {
            if room >= each {
                let leaf = &self.nodes.slot(node).node.switches;
                leaves.entry(leaf).or_default().push((node, each));
            }
        }
        let mut leaves: Vec<Chosen> = leaves.into_values().collect();
        leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.len()));
        let whole = |leaf: Chosen| {
            let use_of = leaf.len() / size as usize * size as usize;
            leaf.into_iter().take(use_of)
        };
        let chosen: Chosen = leaves.into_iter().flat_map(whole).take(count as usize).collect();
        (chosen.len() == count as usize).then(|| network::without_surplus(chosen, self.shape.units))
    }

    /// Whether a node of a kind would do at a moment.
    pub fn is_good(&self, fit: &Fit, node: NodeIndex, at: i64) -> bool {
        self.look(fit, node, at, &mut Good::default(), &mut BTreeSet::new())
    }

    /// The first run of neighbours among good nodes that has enough.
    fn neighbours(&self, good: &BTreeMap<NodeIndex, (i64, u32)>) -> Option<Chosen> {
        let mut run: Vec<(NodeIndex, i64, u32)> = Vec::new();
        for node in self.nodes.in_order().filter(|node| self.nodes.slot(*node).present) {
            let Some((since, room)) = good.get(&node) else {
                run.clear();
                continue;
            };
            run.push((node, *since, *room));
            if run.len() > self.shape.nodes_max as usize {
                run.remove(0);
            }
            let named = self.wanted.iter().all(|it| run.iter().any(|(node, ..)| node == it));
            if let Some(chosen) = self.collect(&run).filter(|_| named) {
                return Some(chosen);
            }
        }
        None
    }

    fn collect(&self, order: &[(NodeIndex, i64, u32)]) -> Option<Chosen> {
        let shape = self.shape;
        let each = shape.units_each();
        let mut chosen: Chosen = Vec::new();
        let mut units = 0;
        for (node, _, room) in order {
            let done = chosen.len() >= shape.nodes_min as usize && units >= shape.units;
            if done || chosen.len() == shape.nodes_max as usize {
                break;
            }
            let room = each.unwrap_or(*room).min(*room).min(shape.units - units.min(shape.units));
            // Each node gets something, also when the first could take all.
            let left = (shape.nodes_min as usize).saturating_sub(chosen.len() + 1) as u32;
            let room = room.min(shape.units.saturating_sub(units + left)).max(1);
            chosen.push((*node, room));
            units += room;
        }
        (chosen.len() >= shape.nodes_min as usize && units >= shape.units).then_some(chosen)
    }
}

impl Calendar {
    /// Promises a place to a job, and tells how many processors it is to have.
    pub fn hold(
        &mut self,
        nodes: &Nodes,
        job: JobId,
        shape: &Shape,
        fits: &[Fit],
        place: &Place,
    ) -> u32 {
        let end = place.at.saturating_add(self.likely(shape, shape.secs));
        let mut cpus = 0;
        for (node, units) in &place.nodes {
            let slot = nodes.slot(*node);
            let Some(fit) = fits.iter().find(|fit| fit.kind == slot.kind) else { continue };
            let mut free = slot.free_at(place.at);
            for promise in self.on(*node, place.at) {
                if let What::Job(_, taken, ..) = &promise.what
                    && promise.start < end
                {
                    subtract(&mut free, taken, &slot.node.gres);
                }
            }
            // Promises that do not meet each other may together leave too little: then they are not beside
            // this one at the same time, and what it takes is what counts.
            let taken = fit.take(shape, slot, &mut free, *units);
            let taken =
                taken.or_else(|| fit.take(shape, slot, &mut slot.free_at(place.at), *units));
            if let Some(taken) = taken {
                cpus += taken.cores * slot.node.threads.max(1);
                self.sign([i64::from(job.0), i64::from(*node), place.at, end]);
                // Of the same place it may be another part.
                let devices = taken.parts.len() as i64;
                self.sign([i64::from(taken.cores), taken.memory_mb as i64, devices, 0]);
                for (device, parts) in &taken.parts {
                    self.sign([i64::from(*device), i64::from(*parts), 0, 0]);
                }
                let cap = shape.cap.clone();
                let inside = shape.reservation.clone();
                let promise =
                    Promise { start: place.at, end, what: What::Job(job, taken, cap, inside) };
                let promises = self.promises.entry(*node).or_default();
                promises.insert(promises.partition_point(|it| it.end <= end), promise);
            }
        }
        cpus
    }
}
