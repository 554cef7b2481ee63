//! One pass: decides about every pending job, and leaves the planner as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;
use spur_core::reservation::names;
use spur_core::time::Timestamp;

use crate::decision::{Decisions, Start};
use crate::fit::Fit;
use crate::nap::Gained;
use crate::nodes::{Held, NodeIndex};
use crate::place::network::{self, Within};
use crate::place::{self, Chosen, Mix};
use crate::planner::Planner;
use crate::possible::Fits;
use crate::preempt;
use crate::queue::{Key, tier_of};
use crate::recall::Found;
use crate::shape::Shape;
use crate::timeline::{Ahead, Calendar, Place};
use crate::turns::Turns;
use crate::view::{Charge, RunId, ViewReservation, ViewShare};
use crate::waits::{Promised, Wait, Waits};

pub(crate) struct Pass {
    pub(crate) now: i64,
    pub(crate) mix: Mix,
    pub(crate) calendar: Calendar,
    pub(crate) turns: Turns,
    pub(crate) by_class: Vec<Wait>,
    pub(crate) special: BTreeMap<JobId, Option<Wait>>,
    /// Promises made to jobs of each partition.
    pub(crate) promised: BTreeMap<Arc<str>, u32>,
    /// Partitions of which a job waits for nodes, with its tier.
    pub(crate) waiting: BTreeMap<Arc<str>, u16>,
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
    pub(crate) charged: Vec<(Arc<str>, u64)>,
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

/// The user of a job where it does not matter who that is.
const NOBODY: u32 = u32::MAX;

/// Whose start it is: which job and task, where, and what it uses of the counters.
pub(crate) struct Whose {
    pub job: JobId,
    pub task: u32,
    pub partition: Arc<str>,
    pub charges: Arc<[Charge]>,
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
        while let Some((turn, _, key, class)) = pass.turns.next() {
            if pass.out.starts.len() >= self.policy.starts_max {
                break;
            }
            self.wake(&mut pass, Some(class));
            self.look(&mut pass, turn, key, class);
        }
        pass.out.cut_short = pass.out.starts.len() >= self.policy.starts_max;
        self.wake(&mut pass, None);
        let seen = look(self, &mut pass);
        (self.finish(pass), seen)
    }

    /// Lets those that sleep go on whose processors are free, unless the class to be looked at next may
    /// displace them.
    fn wake(&mut self, pass: &mut Pass, next: Option<u32>) {
        if self.sleepers.is_empty() {
            return;
        }
        let rank = next.map(|class| self.queue.classes[class as usize].rank);
        for run in self.sleepers.clone() {
            let Some((job, _)) = self.runs.get(&run) else { continue };
            let Some(sleep) = job.sleeps.clone() else { continue };
            let end = pass.now.saturating_add(1);
            let after = rank.is_some_and(|rank| self.may_displace(rank, sleep.rank));
            let known: Option<Vec<(NodeIndex, crate::bits::Bits)>> = (sleep.cores.iter())
                .map(|(node, cores)| {
                    Some((self.nodes.index(node)?, cores.iter().copied().collect()))
                })
                .collect();
            let Some(known) = known.filter(|_| !after && !pass.out.wakes.contains(&run)) else {
                continue;
            };
            let free = |(node, cores): &(NodeIndex, crate::bits::Bits)| {
                let slot = self.nodes.slot(*node);
                slot.present && cores.iter().all(|core| slot.free_cores.contains(core))
            };
            if !known.iter().all(free) {
                continue;
            }
            let (sharing, user, partition) = (job.sharing, job.user, job.partition.clone());
            let reservation = job.reservation.clone();
            for (node, cores) in known {
                let awake = RunId(run.0, 1 << 30);
                let (memory_mb, parts) = (0, Vec::new());
                let held = Held {
                    run: awake,
                    end,
                    limit: end,
                    user,
                    partition: partition.clone(),
                    reservation: reservation.clone(),
                    sharing,
                    cores,
                    memory_mb,
                    parts,
                };
                self.nodes.take(node, held);
                pass.taken.push((awake, node, end));
            }
            pass.out.wakes.push(run);
        }
    }

    /// How many jobs of a partition hold a promise.
    pub(crate) fn depth(&self) -> u32 {
        if self.policy.backfill { self.policy.depth } else { 1 }
    }

    /// Looks at the first job of a class that has no decision yet.
    fn look(&mut self, pass: &mut Pass, turn: u8, key: Key, class: u32) {
        let depth = self.depth();
        self.nodes.settle();
        // Most that a gain has woken find that somebody else has it.
        if let Some(nap) = &mut self.queue.naps[class as usize] {
            if pass.full[nap.ward as usize] && nap.goes_on(&self.nodes, &mut Gained::default()) {
                pass.failed[class as usize] = true;
                return;
            }
            let short = nap.short;
            self.queue.classes[class as usize].short = Some(short);
            self.queue.naps[class as usize] = None;
        }
        let it = &self.queue.classes[class as usize];
        let (shape, partition) = (it.shape.clone(), it.partition.clone());
        let charges = it.charges.clone();
        // Those that wait for a reservation hold up nobody outside of it.
        let ward: Arc<str> = match shape.reservation.is_empty() {
            true => partition.clone(),
            false => format!("{partition} in {}", shape.reservation).into(),
        };
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
                let (charges, partition) = (charges.clone(), partition.clone());
                let whose = Whose { job, task, partition, charges };
                self.start(pass, whose, &fits, &shape, &chosen, secs);
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
        let why = match promised {
            0 if self.is_behind(pass, &partition, tier_of(key.0)) => Reason::ReqNodeNotAvail,
            0 => Reason::Resources,
            _ => Reason::Priority,
        };
        if shape.reservation.is_empty() {
            pass.waiting.entry(partition.clone()).or_insert(tier_of(key.0));
        }
        self.promise(pass, job, class, &fits, &shape, why);
        if kept_out && let Some(Some(wait)) = pass.special.get_mut(&job) {
            (wait.reason, wait.reserved) = (Reason::ReqNodeNotAvail, true);
        }
        let count = pass.promised.entry(ward).or_default();
        *count += 1;
        if shape.reservation.is_empty() && *count >= depth {
            pass.full[self.queue.classes[class as usize].ward as usize] = true;
        }
        self.next(pass, turn, key, class);
    }

    /// Whether jobs of a higher tier wait for nodes of a partition, so that Slurm keeps the nodes for them.
    fn is_behind(&self, pass: &Pass, partition: &Arc<str>, tier: u16) -> bool {
        let meet = |other: &Arc<str>| {
            let mut kinds = self.nodes.kinds.iter().filter(|kind| !kind.members.is_empty());
            kinds.any(|kind| kind.partitions.contains(other) && kind.partitions.contains(partition))
        };
        let higher = pass.waiting.iter().filter(|(other, its)| **its > tier && *other != partition);
        higher.map(|(other, _)| other).any(meet)
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
        let charges = charges.iter();
        charges.filter_map(|charge| Some((charge, self.counters.get(&charge.counter)?))).find_map(
            |(charge, tally)| {
                let over = tally.max.is_some_and(|max| tally.used + charge.amount > max);
                over.then_some(tally.reason)
            },
        )
    }

    pub(crate) fn outside_reservation(&self, pass: &Pass, shape: &Shape) -> Option<Reason> {
        if shape.reservation.is_empty() {
            return None;
        }
        let mut known = names(&shape.reservation).filter_map(|name| self.reservations.get(name));
        match known.next() {
            None => Some(Reason::ReservationDeleted),
            Some(first) => {
                let open = |it: &Arc<ViewReservation>| {
                    it.flexible || it.start.0 <= pass.now && pass.now < it.end.0
                };
                let any = open(first) || known.any(open);
                (!any).then_some(Reason::Reservation)
            }
        }
    }

    /// The nodes a job is bound to by the reservations it names; none when it is bound to none.
    pub(crate) fn within(&self, pass: &Pass, shape: &Shape) -> Option<BTreeSet<NodeIndex>> {
        if shape.reservation.is_empty() {
            return None;
        }
        let mut all = BTreeSet::new();
        for name in names(&shape.reservation) {
            let Some(it) = self.reservations.get(name) else { continue };
            if it.flexible || it.anywhere {
                return None;
            }
            all.extend(pass.calendar.nodes_of(name).into_iter().flatten());
        }
        Some(all)
    }

    /// How long a job may run: no longer than its reservation.
    pub(crate) fn secs_left(&self, pass: &Pass, shape: &Shape) -> i64 {
        let mine = names(&shape.reservation).filter_map(|name| self.reservations.get(name));
        let open = mine.filter(|it| it.start.0 <= pass.now && pass.now < it.end.0);
        let left = open.map(|it| if it.flexible { i64::MAX } else { it.end.0 - pass.now }).max();
        left.unwrap_or(i64::MAX)
    }

    pub(crate) fn start(
        &mut self,
        pass: &mut Pass,
        whose: Whose,
        fits: &Fits,
        shape: &Shape,
        chosen: &Chosen,
        secs: i64,
    ) {
        let Whose { job, task, partition, charges } = whose;
        let run = RunId(job, 1 << 31 | task);
        let longest = secs.min(self.secs_left(pass, shape));
        let last = Timestamp(pass.now.saturating_add(longest));
        let end = pass.now.saturating_add(pass.calendar.likely(shape, longest));
        let mut shares = Vec::with_capacity(chosen.len());
        let mut threads = 1;
        for (node, units) in chosen {
            let slot = self.nodes.slot(*node);
            let Some(fit) = fits.of_kind(slot.kind) else { continue };
            let mut free = slot.free.clone();
            let layers = shape.sharing.layers();
            let (taken, cores) = match fit.take(shape, slot, &mut free, *units) {
                Some(taken) => {
                    let most = fit.cores_per_socket(shape);
                    let cores = place::pick_cores(slot, taken.cores, &taken.parts, most);
                    (taken, cores)
                }
                None => {
                    let (order, mut free) = place::shared(slot, layers);
                    let Some(taken) = fit.take(shape, slot, &mut free, *units) else { continue };
                    let cores = order.into_iter().take(taken.cores as usize).collect();
                    (taken, cores)
                }
            };
            threads = fit.threads();
            shares.push(ViewShare {
                node: slot.node.name.clone(),
                cores: cores.iter().collect(),
                memory_mb: taken.memory_mb,
                devices: by_group(slot, &taken.parts),
                units: *units,
            });
            let (sharing, user) = (shape.sharing, shape.user.unwrap_or(NOBODY));
            let (memory_mb, parts) = (taken.memory_mb, taken.parts);
            let held = Held {
                run,
                end,
                limit: last.0,
                user,
                partition: partition.clone(),
                reservation: match shape.reservation.is_empty() {
                    true => shape.drawn.clone(),
                    false => shape.reservation.clone(),
                },
                sharing,
                cores,
                memory_mb,
                parts,
            };
            self.nodes.take(*node, held);
            self.ends.insert((end, *node, run));
            pass.taken.push((run, *node, end));
        }
        for charge in charges.iter() {
            if let Some(tally) = self.counters.get_mut(&charge.counter) {
                tally.used += charge.amount;
                pass.charged.push((charge.counter.clone(), charge.amount));
            }
        }
        let secs = (secs < shape.secs).then_some(secs);
        pass.out.starts.push(Start { job, task, partition, shares, threads, secs, end: last });
    }

    /// Finds a job a place in the future; nobody lower may delay it. A job that waits in several
    /// partitions holds its earliest place.
    fn promise(
        &mut self,
        pass: &mut Pass,
        job: JobId,
        class: u32,
        fits: &Arc<Fits>,
        shape: &Arc<Shape>,
        reason: Reason,
    ) {
        self.nodes.settle();
        let former = pass.places.remove(&job);
        if let Some((place, ..)) = &former {
            pass.calendar.forget(job, &place.nodes);
        }
        let found =
            self.recall(pass, job, fits, shape).map(|(place, kinds)| (place, shape.clone(), kinds));
        let found = former.into_iter().chain(found).min_by_key(|(place, ..)| place.at);
        let start = found.as_ref().map(|(place, ..)| Timestamp(place.at.max(pass.now)));
        let said = pass.special.get(&job).copied().flatten().map(|wait| wait.reason);
        let reason = if said == Some(Reason::Resources) { Reason::Resources } else { reason };
        pass.special.insert(job, Some(Wait { reason, start, reserved: false }));
        let rank = self.queue.classes[class as usize].rank;
        if self.policy.preempt && rank > 0 {
            let victims = preempt::victims(self, pass.now, rank, fits, shape, &pass.displaced);
            if let Some(victims) = victims {
                pass.displaced.extend(victims.iter().map(|victim| victim.0));
                pass.out.preempts.push(crate::decision::Preempt { job, victims });
            }
        }
        if let Some((place, shape, kinds)) = found {
            let taken = pass.calendar.hold(&self.nodes, job, &shape, &kinds, &place);
            let partition = self.queue.classes[class as usize].partition.clone();
            pass.held.insert(job, self.promised(pass, &place, partition, taken));
            if self.queue.is_in_several(job) {
                pass.places.insert(job, (place, shape, kinds));
            }
        }
    }

    /// The earliest place of a job, not before a moment.
    pub(crate) fn earliest(
        &self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
        from: i64,
    ) -> Option<(Place, Vec<Fit>)> {
        let within = self.within(pass, shape);
        // The smallest number of nodes that will do comes first.
        let smallest = shape.sizes.first().map(|size| shape.on_nodes(*size));
        let shape = smallest.as_ref().unwrap_or(shape);
        let ahead = |kinds: &[Fit], within: Within<'_>| {
            self.ahead(pass, fits, shape, kinds, from, within).earliest()
        };
        let found = fits.alternatives.iter().filter_map(|kinds| {
            let search = |within: Within<'_>| ahead(kinds, within);
            let place = network::earliest(&self.nodes, shape, within.as_ref(), &search)?;
            Some((place, kinds.clone()))
        });
        found.min_by_key(|(place, _)| place.at)
    }

    /// A search for a place from a moment on.
    pub(crate) fn ahead<'a>(
        &'a self,
        pass: &'a Pass,
        fits: &'a Fits,
        shape: &'a Shape,
        kinds: &'a [Fit],
        from: i64,
        within: Within<'a>,
    ) -> Ahead<'a> {
        Ahead {
            nodes: &self.nodes,
            shape,
            fits: kinds,
            calendar: &pass.calendar,
            ends: &self.ends,
            now: pass.now,
            from,
            wanted: &fits.wanted,
            barred: &fits.barred,
            within,
        }
    }

    /// A place as readers see it.
    pub(crate) fn promised(
        &self,
        pass: &Pass,
        place: &Place,
        partition: Arc<str>,
        cpus: u32,
    ) -> Promised {
        let name = |node: &NodeIndex| self.nodes.slot(*node).node.name.clone();
        let mut nodes: Vec<NodeIndex> = place.nodes.iter().map(|(node, _)| *node).collect();
        nodes.sort_by_key(|node| self.nodes.slot(*node).order);
        let at = Timestamp(place.at.max(pass.now));
        // What is to end before it begins ends by its limit at the latest.
        let ahead = |held: &&Held| held.end <= place.at;
        let ends = |node: &NodeIndex| self.nodes.slot(*node).runs.iter().filter(ahead);
        let limits = nodes.iter().flat_map(|node| ends(node).map(|held| held.limit));
        let due = Timestamp(limits.max().unwrap_or(place.at).max(at.0));
        let free = |node: &NodeIndex| {
            let slot = self.nodes.slot(*node);
            slot.free.cores * slot.node.threads.max(1)
        };
        let idle = nodes.iter().map(free).sum::<u32>().min(cpus);
        Promised { at, partition, nodes: nodes.iter().map(name).collect(), cpus, due, idle }
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
        for (counter, amount) in pass.charged.drain(to.charged..) {
            if let Some(tally) = self.counters.get_mut(&counter) {
                tally.used -= amount;
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
            special: Arc::new(pass.special),
        };
        pass.out
    }
}

/// Devices as the node counts them: group, device of the group, parts.
fn by_group(slot: &crate::nodes::Slot, parts: &[(u32, u32)]) -> Vec<(u32, u32, u32)> {
    let mut found = Vec::with_capacity(parts.len());
    let mut first = 0;
    for (group, gres) in (0..).zip(slot.node.gres.iter()) {
        let mine = parts.iter().filter(|(it, _)| (first..first + gres.devices).contains(it));
        found.extend(mine.map(|(device, parts)| (group, device - first, *parts)));
        first += gres.devices;
    }
    found
}

impl Fits {
    /// What the shape means on nodes of a kind.
    pub(crate) fn of_kind(&self, kind: u32) -> Option<&Fit> {
        self.alternatives.iter().flatten().find(|fit| fit.kind == kind)
    }
}
