//! One pass: decides about every pending job, and leaves the planner as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use spur_core::ids::{JobId, NodeName};
use spur_core::job::Reason;
use spur_core::time::Timestamp;

use crate::decision::Decisions;
use crate::fit::Fit;
use crate::gains::Stamp;
use crate::nap::Gained;
use crate::nodes::NodeIndex;
use crate::place::Mix;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::Key;
use crate::reasons::{Kept, Stand};
use crate::recall::Found;
use crate::shape::Shape;
use crate::start::Whose;
use crate::timeline::{Calendar, Place};
use crate::turns::{Turn, Turns};
use crate::view::{Charge, RunId};
use crate::waits::{Promised, Wait, Waits};
use crate::walk::Walk;

pub(crate) struct Pass {
    pub(crate) now: i64,
    pub(crate) mix: Mix,
    pub(crate) calendar: Calendar,
    pub(crate) turns: Turns,
    /// Those that sleep.
    pub(crate) walk: Walk,
    /// Who gained before this pass is told of in it.
    pub(crate) since: Stamp,
    pub(crate) by_class: Vec<Wait>,
    pub(crate) special: BTreeMap<JobId, Option<Wait>>,
    /// Promises made to jobs of each partition.
    pub(crate) promised: BTreeMap<Arc<str>, u32>,
    /// What is kept for those that wait.
    pub(crate) kept: Kept,
    /// Somebody waits who asked for nodes by name.
    pub(crate) named: bool,
    /// Nodes that classes asked for by name and that are kept for others.
    pub(crate) unavailable: BTreeMap<u32, Vec<NodeName>>,
    /// Places promised to jobs that wait in several partitions.
    pub(crate) places: BTreeMap<JobId, (Place, Arc<Shape>, Vec<Fit>)>,
    /// The same for readers, for all jobs that hold a promise.
    pub(crate) held: BTreeMap<JobId, Promised>,
    /// Tasks started of records that stand for several.
    pub(crate) begun: BTreeMap<JobId, u32>,
    /// Classes that do not fit now.
    pub(crate) failed: Vec<bool>,
    /// Partitions, by number, in which as much was promised as is to be.
    pub(crate) full: Vec<bool>,
    pub(crate) out: Decisions,
    /// What this pass took, to be given back at its end.
    pub(crate) taken: Vec<(RunId, NodeIndex, i64)>,
    pub(crate) charged: Vec<(Charge, Arc<[NodeIndex]>)>,
    pub(crate) displaced: BTreeSet<RunId>,
    /// Classes of which it was asked whether a reservation keeps them out.
    pub(crate) wondered: u32,
    /// Places found, for the next pass.
    pub(crate) found: BTreeMap<JobId, Found>,
}

/// A point in a pass to which it can go back.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    taken: usize,
    charged: usize,
    starts: usize,
}

impl Planner {
    /// Decides about every pending job.
    pub fn decide(&mut self, now: Timestamp) -> Decisions {
        self.decide_and(now, |_, _| ()).0
    }

    /// Decides about every pending job, and has somebody look at the outcome before it is put away.
    pub(crate) fn decide_and<T>(
        &mut self,
        now: Timestamp,
        look: impl FnOnce(&mut Planner, &mut Pass) -> T,
    ) -> (Decisions, T) {
        self.queue.tidy();
        self.set_now(now.0);
        self.nodes.settle();
        let mut pass = self.begin();
        while let Some((turn, _, key, class)) = self.next_turn(&mut pass) {
            if pass.out.starts.len() >= self.policy.starts_max {
                break;
            }
            self.wake(&mut pass, Some(class));
            self.look(&mut pass, turn, key, class);
        }
        pass.out.cut_short = pass.out.starts.len() >= self.policy.starts_max;
        if !pass.out.cut_short {
            self.queue.naps.tell(pass.since);
        }
        self.wake(&mut pass, None);
        self.tell_reasons(&mut pass);
        let seen = look(self, &mut pass);
        (self.finish(pass), seen)
    }

    /// How many jobs of a partition hold a promise.
    pub(crate) fn depth(&self) -> u32 {
        if self.policy.backfill { self.policy.depth } else { 1 }
    }

    /// Who is to be looked at next.
    fn next_turn(&mut self, pass: &mut Pass) -> Option<Turn> {
        self.nodes.settle();
        let Pass { turns, walk, failed, full, .. } = pass;
        let sleeper = walk.peek(&mut self.queue.naps, &self.nodes, full, failed);
        let first = sleeper.map(|(key, class)| (0, 0, key, class));
        match turns.peek() {
            Some(turn) if first.is_none_or(|first| turn < first) => turns.next(),
            _ => {
                walk.pass_by(sleeper?);
                first
            }
        }
    }

    /// Looks at the first job of a class that has no decision yet.
    fn look(&mut self, pass: &mut Pass, turn: u8, key: Key, class: u32) {
        let depth = self.depth();
        self.nodes.settle();
        let told = self.queue.naps.told();
        if let Some(nap) = self.queue.naps.get_mut(class) {
            let full = pass.full[nap.ward as usize];
            if full && nap.goes_on(&self.nodes, &mut Gained::default(), told) {
                pass.failed[class as usize] = true;
                return;
            }
            let short = nap.short;
            self.queue.classes[class as usize].short = Some(short);
            self.queue.naps.wake(class);
        }
        let it = &self.queue.classes[class as usize];
        let (shape, partition) = (it.shape.clone(), it.partition.clone());
        let charges = it.charges.clone();
        // Those that wait for a reservation hold up nobody outside of it.
        let ward = shape.ward(&partition);
        let promised = pass.promised.get(&ward).copied().unwrap_or(0);
        let full = promised >= depth;
        if full && (!self.policy.backfill || pass.failed[class as usize]) {
            return;
        }
        if full && self.policy.shortest_first && turn == 0 {
            pass.turns.put((1, shape.likely(), key, class));
            return;
        }
        let job = key.1;
        if self.queue.is_in_several(job) && pass.special.get(&job) == Some(&None) {
            return self.next(pass, turn, key, class);
        }
        if let Some(reason) = self.over_limit(class) {
            pass.by_class[class as usize] = reason.into();
            return;
        }
        if let Some(reason) = self.outside_reservation(pass, &shape) {
            pass.by_class[class as usize] = reason.into();
            return;
        }
        let Some(fits) = it.fits.clone() else { return };
        if !it.with.is_empty() {
            return self.look_together(pass, turn, key, class, full || shape.humble);
        }
        self.nodes.settle();
        let same = self.is_as_before(pass, class);
        let short = !same && self.queue.classes[class as usize].is_short(&self.nodes);
        pass.failed[class as usize] |= same || short || self.fails_still(pass, class);
        if !pass.failed[class as usize] {
            let mut started = false;
            let count = self.queue.counts.get(&job).copied().unwrap_or(1);
            let done = pass.begun.get(&job).copied().unwrap_or(0);
            for task in done..count {
                if pass.out.starts.len() >= self.policy.starts_max
                    || task > done && self.over_limit(class).is_some()
                {
                    break;
                }
                let Some((chosen, secs)) = self.place(pass, &fits, &shape) else {
                    self.failed(pass, class);
                    break;
                };
                let given = self.given(&fits, &shape, &chosen);
                let charges = given.charges(&charges);
                // Only now is it known how much it takes: of a node that is its own, all of it.
                if let Some(reason) = self.over_on(&charges, Some(&given.nodes)) {
                    pass.special.insert(job, Some(reason.into()));
                    pass.by_class[class as usize] = reason.into();
                    return;
                }
                let whose = Whose { job, task, partition: partition.clone(), charges };
                self.start(pass, whose, &shape, given, secs);
                started = true;
                if count > 1 {
                    pass.begun.insert(job, task + 1);
                }
                if task + 1 == count {
                    if let Some((place, ..)) = pass.places.remove(&job) {
                        pass.calendar.forget(job, &place.nodes);
                    }
                    pass.held.remove(&job);
                    pass.special.insert(job, None);
                    return self.next(pass, turn, key, class);
                }
            }
            if started && let Some(reason) = self.over_limit(class) {
                pass.special.insert(job, Some(reason.into()));
                return self.next(pass, turn, key, class);
            }
            pass.failed[class as usize] = true;
        }
        let kept_out = !short && self.keeps_out(pass, class, &fits, &shape);
        if kept_out {
            pass.by_class[class as usize] =
                Wait { reason: Reason::ReqNodeNotAvail, start: None, reserved: true };
        }
        if !self.queue.classes[class as usize].is_possible_now(&self.nodes) {
            pass.by_class[class as usize] = Reason::ReqNodeNotAvail.into();
            // The first of a partition is told of apart, where there are too few nodes, and the others are behind it.
            let few = fits.wanted.is_empty() && shape.nodes_min > fits.usable(&shape, &self.nodes);
            if few && pass.kept.close_behind(&ward, key) {
                pass.special.insert(job, Some(Reason::ReqNodeNotAvail.into()));
            }
            return;
        }
        if full {
            return;
        }
        if shape.humble {
            if promised == 0 && !kept_out {
                pass.by_class[class as usize] = Reason::Resources.into();
            }
            return;
        }
        let stand = self.stand(&pass.kept, &ward, &partition, &fits, &shape);
        // Whom a reservation keeps out holds up nobody, but for the nodes that were asked for by name.
        if !kept_out || !fits.wanted.is_empty() {
            pass.kept.put(key, &ward, &partition, &fits.wanted, &stand);
        }
        pass.named |= !fits.wanted.is_empty();
        let why = stand.reason();
        self.promise(pass, job, class, &fits, &shape, why);
        if kept_out
            && !matches!(stand, Stand::Behind)
            && let Some(Some(wait)) = pass.special.get_mut(&job)
        {
            (wait.reason, wait.reserved) = (Reason::ReqNodeNotAvail, true);
        }
        let count = pass.promised.entry(ward).or_default();
        *count += 1;
        if shape.reservation.is_empty() && *count >= depth {
            pass.full[self.queue.classes[class as usize].ward as usize] = true;
        }
        self.next(pass, turn, key, class);
    }

    pub(crate) fn next(&self, pass: &mut Pass, turn: u8, key: Key, class: u32) {
        let it = &self.queue.classes[class as usize];
        let after = (Bound::Excluded(key), Bound::Unbounded);
        if let Some(key) = it.jobs.range(after).next() {
            let secs = if turn == 0 { 0 } else { it.shape.likely() };
            pass.turns.put((turn, secs, *key, class));
        }
    }

    /// The limit that keeps a class from starting one more.
    pub(crate) fn over_limit(&self, class: u32) -> Option<Reason> {
        self.over(&self.queue.classes[class as usize].charges)
    }

    /// The limit that keeps these charges from being made.
    pub(crate) fn over(&self, charges: &[Charge]) -> Option<Reason> {
        self.over_on(charges, None)
    }

    /// The same for a job that has its place on some nodes.
    pub(crate) fn over_on(&self, charges: &[Charge], on: Option<&[NodeIndex]>) -> Option<Reason> {
        let known = charges.iter().filter_map(|it| Some((it, self.counters.get(&it.counter)?)));
        let mut over = known.filter(|(charge, tally)| tally.is_over(charge, on));
        over.next().map(|(_, tally)| tally.reason)
    }

    /// How much a pass has taken so far.
    pub(crate) fn mark(&self, pass: &Pass) -> Mark {
        Mark { taken: pass.taken.len(), charged: pass.charged.len(), starts: pass.out.starts.len() }
    }

    /// Takes back what was started since.
    pub(crate) fn take_back(&mut self, pass: &mut Pass, to: Mark) {
        pass.out.starts.truncate(to.starts);
        for (run, node, end) in pass.taken.drain(to.taken..).rev() {
            self.nodes.give(node, run);
            self.ends.remove(&(end, node, run));
        }
        for (charge, on) in pass.charged.drain(to.charged..) {
            if let Some(tally) = self.counters.get_mut(&charge.counter) {
                tally.remove(&charge, &on);
            }
        }
    }

    fn finish(&mut self, mut pass: Pass) -> Decisions {
        let starts = pass.out.starts.len();
        self.found = std::mem::take(&mut pass.found);
        self.take_back(&mut pass, Mark { taken: 0, charged: 0, starts });
        pass.out.waits = Waits {
            basis: Arc::default(),
            promised: Arc::new(pass.held),
            places: self.queue.places.clone(),
            by_class: Arc::new(pass.by_class),
            unavailable: Arc::new(pass.unavailable),
            special: Arc::new(pass.special),
        };
        pass.out
    }
}

impl Fits {
    /// What the shape means on nodes of a kind.
    pub(crate) fn of_kind(&self, kind: u32) -> Option<&Fit> {
        self.alternatives.iter().flatten().find(|fit| fit.kind == kind)
    }
}
