//! When jobs that hold no promise are expected to start: a place for each behind the places of all before it.
//!
//! Nothing is decided by it. Promises to everybody would make for worse plans; as an estimate they are the
//! best there is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;
use spur_core::reservation::names;

use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::Key;
use crate::shape::Shape;
use crate::view::Charge;

/// How far a forecast goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Places for so many jobs, the first ones.
    pub jobs: usize,
    /// And for this one; jobs behind it are not looked at.
    pub until: Option<JobId>,
}

/// Promises that may be looked at to find places: some milliseconds.
const LOOKS: u64 = 400_000;

/// Jobs ahead of another that get no place: what they will take of their partitions.
#[derive(Default)]
struct Skipped {
    /// Processor seconds.
    work: BTreeMap<Arc<str>, i64>,
    /// When the last of those begins that have a place.
    last: i64,
}

impl Skipped {
    fn add(&mut self, partition: &Arc<str>, shape: &Shape, tasks: u32) {
        let cpus = i64::try_from(shape.cpus()).unwrap_or(i64::MAX).max(1);
        let work = cpus.saturating_mul(shape.likely()).saturating_mul(i64::from(tasks));
        let sum = self.work.entry(partition.clone()).or_default();
        *sum = sum.saturating_add(work);
    }

    /// When they will be done if a partition is busy with them alone.
    fn until(&self, planner: &Planner, partition: &Arc<str>, now: i64) -> i64 {
        let Some(work) = self.work.get(partition) else { return now };
        let kinds = planner.nodes.kinds.iter().filter(|kind| kind.partitions.contains(partition));
        let cpus = kinds.map(|kind| {
            let nodes: u32 = kind.members.values().map(|(all, _)| all).sum();
            i64::from(nodes) * i64::from(kind.open_cores() * kind.threads)
        });
        let secs = work / cpus.sum::<i64>().max(1);
        now.max(self.last).saturating_add(secs)
    }
}

/// Tasks of one array that get a place of their own; more of them tell little.
const TASKS: u32 = 64;

impl Planner {
    /// Finds places for jobs in turn; what this pass starts and promises comes first.
    pub(crate) fn forecast(&self, pass: &mut Pass, reach: Reach) {
        if reach.jobs == 0 && reach.until.is_none() {
            return;
        }
        let mut heap: BinaryHeap<Reverse<(Key, u32)>> = BinaryHeap::new();
        for (id, class) in (0..).zip(&self.queue.classes) {
            let takes_part = matches!(class.barred, None | Some(Reason::BeginTime));
            if let Some(key) = class.jobs.first().filter(|_| takes_part) {
                heap.push(Reverse((*key, id)));
            }
        }
        let mut found = 0;
        // What those that get no place will take, which the one asked for has to wait for.
        let mut skipped = Skipped::default();
        let looked = pass.calendar.looks();
        while let Some(Reverse((key, id))) = heap.pop() {
            let (class, job) = (&self.queue.classes[id as usize], key.1);
            let after = (Bound::Excluded(key), Bound::Unbounded);
            if let Some(next) = class.jobs.range(after).next() {
                heap.push(Reverse((*next, id)));
            }
            let is_last = reach.until == Some(job);
            let in_reach =
                found < reach.jobs && pass.calendar.looks() - looked < LOOKS || found == 0;
            let starts = pass.special.get(&job) == Some(&None);
            if !starts && !pass.held.contains_key(&job) && (in_reach || is_last) {
                let (shape, partition) = (class.shape.clone(), class.partition.clone());
                if let Some(fits) = self.fits_of(id) {
                    // Whose limit is reached waits until others give back what counts against it.
                    let from = match reach.until {
                        Some(_) => (self.below_limits_at(pass.now, &class.charges))
                            .map(|from| from.max(skipped.until(self, &partition, pass.now))),
                        None => Some(pass.now),
                    };
                    if let Some(from) = from {
                        let at = self.look_ahead(pass, job, &fits, &shape, (partition, from));
                        skipped.last = skipped.last.max(at.unwrap_or(0));
                        found += 1;
                    }
                }
            } else if !starts && !pass.held.contains_key(&job) && reach.until.is_some() {
                let tasks = self.queue.counts.get(&job).copied().unwrap_or(1);
                skipped.add(&class.partition, &class.shape, tasks);
            }
            // It may wait in several partitions; the first is the one of the highest tier.
            if is_last || reach.until.is_none() && !in_reach {
                return;
            }
        }
    }

    fn fits_of(&self, class: u32) -> Option<Arc<Fits>> {
        let class = &self.queue.classes[class as usize];
        let known = class.fits.clone().filter(|fits| fits.version == self.nodes.version);
        let fits = known
            .unwrap_or_else(|| Arc::new(Fits::of(&class.shape, &class.partition, &self.nodes)));
        fits.never.is_none().then_some(fits)
    }

    fn look_ahead(
        &self,
        pass: &mut Pass,
        job: JobId,
        fits: &Fits,
        shape: &Shape,
        (partition, from): (Arc<str>, i64),
    ) -> Option<i64> {
        let begin = self.queue.begins(job).unwrap_or(pass.now).max(from);
        let from = match self.opens(pass, shape) {
            Some(opens) => begin.max(opens),
            None => return None,
        };
        let mut last = None;
        let count = self.queue.counts.get(&job).copied().unwrap_or(1).min(TASKS);
        for _ in 0..count {
            let Some((place, kinds)) = self.earliest(pass, fits, shape, from) else { break };
            last = Some(place.at);
            let cpus = pass.calendar.hold(&self.nodes, job, shape, &kinds, &place);
            let promised = self.promised(pass, &place, partition.clone(), cpus);
            pass.out.forecast.entry(job).or_insert(promised);
        }
        last
    }

    /// When these charges can be made, if running jobs end at their limits; never where they are too large.
    fn below_limits_at(&self, now: i64, charges: &[Charge]) -> Option<i64> {
        let mut from = now;
        for charge in charges {
            let Some(tally) = self.counters.get(&charge.counter) else { continue };
            let Some(max) = tally.max else { continue };
            let mut used = tally.used;
            if used + charge.amount <= max {
                continue;
            }
            let counts = |it: &&Charge| it.counter == charge.counter;
            let held = self.runs.values().filter_map(|(run, _)| {
                let amount = run.charges.iter().find(counts)?.amount;
                Some((run.end.0, amount))
            });
            let mut held: Vec<(i64, u64)> = held.collect();
            held.sort_unstable();
            let free = held.into_iter().find_map(|(end, amount)| {
                used = used.saturating_sub(amount);
                (used + charge.amount <= max).then_some(end)
            });
            from = from.max(free?);
        }
        Some(from)
    }

    /// When a job's reservation opens: now where it names none; never where all are over.
    fn opens(&self, pass: &Pass, shape: &Shape) -> Option<i64> {
        if shape.reservation.is_empty() {
            return Some(pass.now);
        }
        let mine = names(&shape.reservation).filter_map(|name| self.reservations.get(name));
        let open = mine.filter(|it| it.flexible || it.end.0 > pass.now);
        open.map(|it| if it.flexible { pass.now } else { it.start.0.max(pass.now) }).min()
    }
}
