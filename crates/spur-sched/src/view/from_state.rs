//! The planner's view of the controllers' state, kept up with what changes in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use spur_core::config::words::{Consume, PartitionState, Plugin, PreemptAction, PreemptBy};
use spur_core::config::{PreemptMode, Setting, Value};
use spur_core::ids::{JobId, NodeName};
use spur_core::job::{Array, Job, JobSpec, Phase, Reason, Share};
use spur_core::license;
use spur_core::limit::Limit;
use spur_core::node::{Kept, Node};
use spur_core::partition::Partition;
use spur_core::reservation::{Flags, names};
use spur_core::state::State;
use spur_core::time::Timestamp;

use super::habits::Habits;
use super::network::{self, Way};
use super::request::{self, Shapes};
use super::{
    Charge, Companion, Counter, Displaced, PendingJob, Preemptible, RunId, RunningJob, Sleep,
    Standing, Tiers, ViewGres, ViewNode, ViewReservation, ViewShare,
};
use crate::limits;
use crate::place::Choice;
use crate::planner::{Planner, Policy};
use crate::priority::{self, Basis, Terms};
use crate::shape::FOREVER;
use crate::waits::Promised;

/// Reads states and tells a planner what has changed since the last one.
#[derive(Debug, Default)]
pub struct Follower {
    last: Option<State>,
    shapes: Shapes,
    names: BTreeMap<String, Tiers>,
    charges: BTreeMap<Vec<Charge>, Arc<[Charge]>>,
    /// Records of which single tasks may start, as other jobs end.
    watched: BTreeSet<JobId>,
    /// What priorities were told by.
    basis: Arc<Basis>,
    /// Where in the network nodes are.
    ways: BTreeMap<NodeName, Way>,
    /// Some partition keeps its nodes for one user at a time.
    by_user: bool,
    /// Licences that reservations keep.
    kept: BTreeSet<String>,
    /// How long jobs usually take.
    habits: Habits,
}

impl Follower {
    /// Tells a planner about a state.
    pub fn follow(&mut self, planner: &mut Planner, state: &State) {
        let told = self.priorities_at(state);
        let afresh = match &self.last {
            None => true,
            Some(last) => {
                !Arc::ptr_eq(&last.settings, &state.settings)
                    || !Arc::ptr_eq(&last.partitions, &state.partitions)
                    || !Arc::ptr_eq(&last.rules, &state.rules)
            }
        };
        let kept = kept_licenses(state);
        let afresh = afresh || kept != self.kept;
        self.kept = kept;
        if afresh || told.is_some() {
            self.basis = Arc::new(Basis::of(state, priority::moment(state)));
        }
        if afresh {
            *planner = Planner::new(policy(state));
            planner.set_rights(rights(state));
            self.names.clear();
            self.charges.clear();
            self.watched.clear();
            self.ways = network::ways(&state.settings.config);
            self.by_user = state.partitions.iter().any(|it| it.rules.exclusive_user);
            self.habits.set(&state.settings.config.scheduler, state);
            self.read_all(planner, state);
        } else if let Some(last) = self.last.take() {
            if !last.reservations.ptr_eq(&state.reservations) {
                for name in last.reservations.keys() {
                    planner.put_reservation(&name.as_str().into(), None);
                }
                read_reservations(planner, state);
                let draws = |state: &State| {
                    state.reservations.values().any(|it| it.flags.has(Flags::MAGNETIC))
                };
                if draws(&last) || draws(state) {
                    self.read_priorities(planner, state);
                }
            }
            self.read_changes(planner, &last, state);
            if told.is_some() {
                self.read_priorities(planner, state);
            }
            for job in self.habits.outlived(state.now) {
                if let Some(job) = state.jobs.get(&job) {
                    self.put_run(planner, state, job);
                }
            }
        }
        read_open_licenses(planner, state, &self.kept);
        self.last = Some(state.clone());
    }

    /// Looks at what a pass promised.
    pub(crate) fn watch(
        &mut self,
        planner: &mut Planner,
        now: Timestamp,
        held: &BTreeMap<JobId, Promised>,
    ) {
        self.habits.watch(planner, now, held);
    }

    /// Priorities grow with age; they are told anew once in a while, at moments that do not depend on
    /// when the planner was started.
    fn priorities_at(&self, state: &State) -> Option<i64> {
        let rules = &state.settings.config.priority;
        let grows = rules.weight_age > 0 || !state.rules.is_empty();
        if !priority::is_multifactor(rules) || !grows {
            return None;
        }
        let at = priority::moment(state);
        (at != self.basis.told).then_some(at)
    }

    fn read_all(&mut self, planner: &mut Planner, state: &State) {
        for (name, count) in &state.settings.config.cluster.licenses.0 {
            let counter = Counter { max: u64::from(*count), reason: Reason::Licenses };
            planner.put_counter(&license_name(name), Some(&counter));
        }
        read_reservations(planner, state);
        for node in state.nodes.values() {
            planner.put_node(&Arc::new(view_node(state, node, &self.ways)));
        }
        for job in state.index.active.iter().filter_map(|id| state.jobs.get(id)) {
            self.put_run(planner, state, job);
        }
        for job in state.index.pending.iter().filter_map(|id| state.jobs.get(id)) {
            self.put_job(planner, state, job);
        }
    }

    fn read_changes(&mut self, planner: &mut Planner, last: &State, state: &State) {
        for change in last.nodes.diff(&state.nodes) {
            match change {
                DiffItem::Add(_, node) | DiffItem::Update { new: (_, node), .. } => {
                    planner.put_node(&Arc::new(view_node(state, node, &self.ways)));
                }
                DiffItem::Remove(name, _) => planner.remove_node(name),
            }
        }
        let mut changed = Vec::new();
        for change in last.jobs.diff(&state.jobs) {
            match change {
                DiffItem::Add(_, job) => changed.push((None, Some(job))),
                DiffItem::Update { old: (_, old), new: (_, new) } => {
                    changed.push((Some(old), Some(new)));
                }
                DiffItem::Remove(_, job) => changed.push((Some(job), None)),
            }
        }
        // What is given back comes first: it may be given again.
        for (old, _) in &changed {
            let Some(old) = old else { continue };
            match &old.phase {
                // They are known through the one they start with, which is told anew below.
                Phase::Pending if follows(old) => {}
                Phase::Pending => {
                    self.watched.remove(&old.id);
                    self.habits.waits_no_more(old);
                    planner.remove_job(old.id);
                    if old.waiting_tasks().is_some_and(|tasks| tasks.throttle > 0) {
                        planner.put_counter(&array_name(old.id), None);
                    }
                }
                Phase::Running { .. } | Phase::Completing { .. } => {
                    planner.remove_run(RunId(old.id, 0));
                }
                Phase::Ended { .. } => {}
            }
        }
        // Tasks that came back wait on their own, and their array's throttle stays for them.
        for (old, _) in &changed {
            let Some(array) = old.filter(|it| it.waiting_tasks().is_some()) else { continue };
            let mut back = state.array(array.id).filter(|it| it.phase == Phase::Pending);
            if let Some(throttle) = back.find_map(|it| throttle(it)) {
                put_throttle(planner, array.id, throttle);
            }
        }
        for (_, new) in &changed {
            let Some(new) = new else { continue };
            match &new.phase {
                Phase::Pending => self.put_job(planner, state, new),
                Phase::Running { .. } | Phase::Completing { .. } => {
                    self.put_run(planner, state, new);
                }
                Phase::Ended { .. } => {}
            }
        }
        for (old, new) in &changed {
            let ends = old.is_some_and(|old| !old.phase.is_over());
            let Some(new) = new.filter(|_| ends) else { continue };
            for job in self.habits.ended(new) {
                if let Some(job) = state.jobs.get(&job) {
                    self.put_job(planner, state, job);
                }
            }
        }
        for id in std::mem::take(&mut self.watched) {
            if let Some(job) = state.jobs.get(&id) {
                self.put_job(planner, state, job);
            }
        }
    }

    fn read_priorities(&mut self, planner: &mut Planner, state: &State) {
        for job in state.index.pending.iter().filter_map(|id| state.jobs.get(id)) {
            self.put_job(planner, state, job);
        }
    }

    fn put_job(&mut self, planner: &mut Planner, state: &State, job: &Job) {
        if follows(job) {
            let leader = job.component.and_then(|it| state.jobs.get(&it.leader));
            if let Some(leader) = leader.filter(|leader| leader.phase == Phase::Pending) {
                self.put_job(planner, state, leader);
            }
            return;
        }
        if let Some(throttle) = throttle(job) {
            put_throttle(planner, job.array_id().unwrap_or(job.id), throttle);
        }
        let tasks_wait = job.waits.is_some() && job.waiting_tasks().is_some();
        // Reservations that draw jobs in come and go with time.
        let magnets = state.reservations.values().any(|it| it.flags.has(Flags::MAGNETIC));
        if tasks_wait || magnets || job.spec.placement().switches.is_some() {
            self.watched.insert(job.id);
        }
        let job = self.pending(planner, state, job);
        planner.put_job(&Arc::new(job));
    }

    /// A waiting job as the planner sees it.
    fn pending(&mut self, planner: &mut Planner, state: &State, job: &Job) -> PendingJob {
        let open = open_partitions(state, job);
        let partition = open.first().copied();
        let (with, together) = self.companions(planner, state, job);
        let standing = match standing(state, job, partition) {
            Standing::Ready => {
                limits::bar(state, job, &self.basis).map_or(together, Standing::Barred)
            }
            other => other,
        };
        let facts = priority::facts(state, job, partition, &self.basis);
        let priority = match job.spec.priority {
            Some(priority) => priority,
            None => Terms::of(&facts, &state.settings.config.priority).sum(),
        };
        let (partitions, shape) = match partition {
            Some(partition) => {
                let shape_in = |it: &Partition| self.shape_in(state, job, it);
                let mut shape = shape_in(partition);
                if let (Some(deadline), Some(least)) =
                    (job.spec.lifecycle().deadline, shape.secs_min)
                {
                    let left =
                        (deadline - state.now.max(job.begin.unwrap_or(state.now)).0) / 60 * 60;
                    shape.secs = shape.secs.min(left.max(least));
                }
                shape.avoid = avoided(job);
                shape.switches = shape.switches.filter(|_| waits_for_switches(state, job));
                for other in &open[1..] {
                    // Nobody knows where it will run, so the longest time counts.
                    shape.secs = shape.secs.max(shape_in(other).secs);
                }
                shape.humble = limits::holds_no_place(state, job, priority);
                shape.expected = self.habits.expects(job, shape.secs);
                (self.partitions(&open), shape)
            }
            None => (self.partitions(&[]), crate::shape::Shape::default()),
        };
        let count = job.waiting_tasks().map_or(1, |tasks| {
            tasks.ids().filter(|index| state.task_may_start(job, *index)).count() as u32
        });
        PendingJob {
            id: job.id,
            count: count.max(1),
            partitions,
            shape: self.shapes.one(shape),
            priority,
            user: job.owner.uid.0,
            charges: self.charges(planner, state, job),
            standing,
            ranks_by_tier: state.settings.config.preemption.by == PreemptBy::PartitionTier,
            rank: open.iter().map(|it| rank(state, job, Some(it))).min().unwrap_or(0),
            with,
        }
    }

    /// What must be found for a job in a partition.
    fn shape_in(&self, state: &State, job: &Job, partition: &Partition) -> crate::shape::Shape {
        let config = &state.settings.config;
        let mut shape = request::shape_of(&job.spec, job.owner.uid, &partition.rules, config);
        // Whose a job is matters only where nodes can be kept for one user.
        shape.user = self.by_user.then_some(job.owner.uid.0);
        if shape.reservation.is_empty() {
            let mut all = state.reservations.values();
            let draws = all.find(|it| it.attracts(&job.owner, &job.spec.account, state.now));
            shape.drawn = draws.map_or_else(|| "".into(), |it| it.name.as_str().into());
        }
        shape
    }

    /// The jobs that start together with one, and whether they let it.
    fn companions(
        &mut self,
        planner: &mut Planner,
        state: &State,
        job: &Job,
    ) -> (Arc<[Companion]>, Standing) {
        let Some(component) = job.component else { return ([].into(), Standing::Ready) };
        // One that is over by itself does not come again.
        let others = state.components(component).skip(1).filter(|it| !it.phase.is_over());
        let others: Vec<Arc<Job>> = others.cloned().collect();
        let mut together = Standing::Ready;
        if others.iter().any(|it| it.phase != Phase::Pending) {
            // They are still on their way back to the queue.
            together = Standing::Barred(Reason::None);
        }
        let mut found = Vec::with_capacity(others.len());
        for other in &others {
            let open = open_partitions(state, other);
            together = match (together, standing(state, other, open.first().copied())) {
                (Standing::Ready, Standing::Ready) => {
                    limits::bar(state, other, &self.basis).map_or(Standing::Ready, Standing::Barred)
                }
                (Standing::Ready, other) => other,
                (together, _) => together,
            };
            if open.is_empty() {
                continue;
            }
            let places = open.iter().map(|it| {
                let mut shape = self.shape_in(state, other, it);
                shape.avoid = avoided(other);
                (it.name.as_str().into(), self.shapes.one(shape))
            });
            let places: Arc<[_]> = places.collect();
            found.push(Companion {
                job: other.id,
                places,
                charges: self.charges(planner, state, other),
            });
        }
        (found.into(), together)
    }

    fn partitions(&mut self, open: &[&Partition]) -> Tiers {
        let names: Vec<&str> = open.iter().map(|it| it.name.as_str()).collect();
        let names = names.join(",");
        if let Some(known) = self.names.get(&names) {
            return known.clone();
        }
        let mut tiers: Vec<(Arc<str>, u16)> =
            open.iter().map(|it| (it.name.as_str().into(), it.rules.priority_tier)).collect();
        if tiers.is_empty() {
            tiers.push(("".into(), 0));
        }
        let shared: Tiers = tiers.into();
        self.names.insert(names, shared.clone());
        shared
    }

    /// What priorities were told by last.
    pub fn basis(&self) -> &Arc<Basis> {
        &self.basis
    }

    fn charges(&mut self, planner: &mut Planner, state: &State, job: &Job) -> Arc<[Charge]> {
        let licenses = license::parse(&job.spec.placement().licenses).unwrap_or_default();
        let mut charges: Vec<Charge> = (licenses.iter())
            .map(|it| Charge { counter: license_name(&it.name), amount: u64::from(it.count) })
            .collect();
        // Of what is kept for reservations, others have the rest.
        let outside = licenses
            .iter()
            .filter(|it| self.kept.contains(&it.name) && !is_kept_for(state, &it.name, &job.spec));
        charges.extend(outside.map(|it| Charge {
            counter: open_license_name(&it.name),
            amount: u64::from(it.count),
        }));
        if let (Some(array), Some(_)) = (job.array_id(), throttle(job)) {
            charges.push(Charge { counter: array_name(array), amount: 1 });
        }
        charges.extend(limits::charges(planner, state, job, &self.basis));
        if self.charges.len() >= 1 << 16 {
            self.charges.retain(|_, shared| Arc::strong_count(shared) > 1);
        }
        if let Some(known) = self.charges.get(&charges) {
            return known.clone();
        }
        let shared: Arc<[Charge]> = charges.clone().into();
        self.charges.insert(charges, shared.clone());
        shared
    }

    fn put_run(&mut self, planner: &mut Planner, state: &State, job: &Job) {
        let (since, end) = match &job.phase {
            Phase::Running { since, .. } => {
                let limit = job.time_limit(state.partition_of(job));
                let secs = match limit {
                    Limit::Unlimited if state.partition_of(job).is_none() => FOREVER,
                    limit => request::secs(limit),
                };
                // One that is stopped counts as if it went on at once, as in Slurm: those behind it get a
                // place, however late.
                let secs = secs.saturating_add(job.pause.secs);
                let end = since.0.saturating_add(secs).min(FOREVER);
                let end = state.reservation_end(job).map_or(end, |reserved| end.min(reserved.0));
                (*since, job.displaced.map_or(end, |displaced| end.min(displaced.until.0)))
            }
            // Any moment.
            Phase::Completing { started, .. } => (*started, started.0),
            Phase::Pending | Phase::Ended { .. } => return,
        };
        let Some(held) = job.phase.holds() else { return };
        let limit = Some(Timestamp(end));
        let end = match &job.phase {
            Phase::Running { .. } => self.habits.end_of(job, since.0, end, state.now),
            _ => end,
        };
        let mut had = Vec::new();
        let shares = held.shares.iter().filter_map(|share| {
            let node = state.nodes.get(&share.node)?;
            let mut view = view_share(planner, state, node, share);
            if job.asleep {
                had.push((view.node.clone(), std::mem::take(&mut view.cores)));
            }
            Some(view)
        });
        let shares = shares.collect();
        let asleep = || Sleep { rank: rank(state, job, state.partition_of(job)), cores: had };
        let rules = state.partition_of(job).map(|it| it.rules.clone()).unwrap_or_default();
        let shape = request::shape_of(&job.spec, job.owner.uid, &rules, &state.settings.config);
        let run = RunningJob {
            partition: rules.name.as_str().into(),
            reservation: job.spec.placement().reservation.as_str().into(),
            since,
            end: Timestamp(end),
            shares,
            user: job.owner.uid.0,
            sharing: shape.sharing,
            charges: self.charges(planner, state, job),
            preemptible: preemptible(state, job),
            sleeps: (job.asleep && !job.parked).then(|| Arc::new(asleep())),
            limit,
        };
        planner.put_run(RunId(job.id, 0), &Arc::new(run));
    }
}

/// The partitions that let a job in; where none does, the first says why.
fn open_partitions<'a>(state: &'a State, job: &'a Job) -> Vec<&'a Partition> {
    let all: Vec<&Partition> = state.partitions_of(job).collect();
    let mut open = all.clone();
    open.retain(|it| !matches!(standing(state, job, Some(it)), Standing::Barred(_)));
    if open.is_empty() {
        open.extend(all.first());
    }
    // Where its priority is highest it is tried first.
    let factor = match state.settings.config.priority.weight_partition {
        0 => |_: &Partition| 0,
        _ => |it: &Partition| it.rules.priority_job_factor,
    };
    open.sort_by_key(|it| std::cmp::Reverse((it.rules.priority_tier, factor(it))));
    open
}

/// Nodes on which something went wrong with a job.
fn avoided(job: &Job) -> Vec<NodeName> {
    let mut names = job.setbacks.as_ref().map(|it| it.avoid.clone()).unwrap_or_default();
    names.sort_unstable();
    names
}

/// Whether a job still waits for nodes at as few switches as it wants. Slurm lets nobody wait for longer than
/// `max_switch_wait`.
fn waits_for_switches(state: &State, job: &Job) -> bool {
    const MOST_SECS: i64 = 300;
    let since = job.begin.unwrap_or(job.submitted).max(job.submitted);
    let wait = job.spec.placement().switches_wait_secs.map_or(MOST_SECS, i64::from);
    state.now.0 - since.0 < wait.min(MOST_SECS)
}

/// Whether a job starts with another, which speaks for it.
fn follows(job: &Job) -> bool {
    job.component.is_some_and(|it| !it.leads())
}

fn read_reservations(planner: &mut Planner, state: &State) {
    for it in state.reservations.values() {
        let view = ViewReservation {
            start: it.start,
            end: it.end,
            nodes: it.nodes.clone().into(),
            every: it.period(),
            flexible: it.flags.has(Flags::FLEX),
            anywhere: it.flags.has(Flags::ANY_NODES),
            cores: it.cores.clone().into(),
            // Four days after the epoch was a Monday.
            without: std::array::from_fn(|day| !it.comes_at(Timestamp((day as i64 + 4) * 86_400))),
        };
        planner.put_reservation(&it.name.as_str().into(), Some(&Arc::new(view)));
    }
}

/// How many tasks of a job's array may run at once.
fn put_throttle(planner: &mut Planner, array: JobId, throttle: u64) {
    let counter = Counter { max: throttle, reason: Reason::JobArrayTaskLimit };
    planner.put_counter(&array_name(array), Some(&counter));
}

fn throttle(job: &Job) -> Option<u64> {
    let throttle = match job.array.as_deref()? {
        Array::Waiting(tasks) => tasks.throttle,
        Array::Task { throttle, .. } => *throttle,
    };
    Some(u64::from(throttle)).filter(|throttle| *throttle > 0)
}

fn array_name(array: JobId) -> Arc<str> {
    format!("array/{array}").into()
}

/// Licences that reservations keep.
fn kept_licenses(state: &State) -> BTreeSet<String> {
    let all = state.reservations.values().flat_map(|it| &it.licenses);
    all.map(|(name, _)| name.clone()).collect()
}

/// Whether a job names a reservation that keeps a licence.
fn is_kept_for(state: &State, license: &str, spec: &JobSpec) -> bool {
    let mut mine = names(&spec.placement().reservation).filter_map(|it| state.reservations.get(it));
    mine.any(|it| it.licenses.iter().any(|(name, _)| name == license))
}

/// Tells how many of each licence that reservations keep others may have at the moment.
fn read_open_licenses(planner: &mut Planner, state: &State, kept: &BTreeSet<String>) {
    for name in kept {
        let all = state.settings.config.cluster.licenses.0.get(name).copied().unwrap_or(0);
        let max = u64::from(all).saturating_sub(state.licenses_kept(name, &JobSpec::default()));
        let counter = Counter { max, reason: Reason::Licenses };
        planner.put_counter(&open_license_name(name), Some(&counter));
    }
}

fn open_license_name(name: &str) -> Arc<str> {
    format!("license/{name} outside reservations").into()
}

fn license_name(name: &str) -> Arc<str> {
    format!("license/{name}").into()
}

/// By which a job displaces others and is displaced: the tier of its partition, or its QOS.
fn rank(state: &State, job: &Job, partition: Option<&Partition>) -> u32 {
    match (state.settings.config.preemption.by, partition) {
        (PreemptBy::PartitionTier, Some(it)) => u32::from(it.rules.priority_tier) + 1,
        (PreemptBy::Qos, _) => state.rules.qos(&job.spec.qos).map_or(0, |qos| qos.id),
        _ => 0,
    }
}

/// Which QOS may displace which, where that decides.
fn rights(state: &State) -> Option<BTreeMap<u32, BTreeSet<u32>>> {
    if state.settings.config.preemption.by != PreemptBy::Qos {
        return None;
    }
    let others = |names: &[String]| -> BTreeSet<u32> {
        names.iter().filter_map(|name| state.rules.qos(name)).map(|qos| qos.id).collect()
    };
    Some(state.rules.all_qos().map(|qos| (qos.id, others(&qos.preempt))).collect())
}

/// Who may displace a running job, and what becomes of it.
fn preemptible(state: &State, job: &Job) -> Option<Preemptible> {
    let Phase::Running { since, .. } = &job.phase else { return None };
    let partition = state.partition_of(job)?;
    let rules = &state.settings.config.preemption;
    let qos = state.rules.qos(&job.spec.qos).filter(|_| rules.by == PreemptBy::Qos);
    let said = qos.and_then(|qos| PreemptMode::read(&Value::Text(qos.preempt_mode.clone())).ok());
    let mode = match qos {
        Some(_) => said.unwrap_or(rules.mode),
        None => partition.rules.preempt_mode.unwrap_or(rules.mode),
    };
    let how = match mode.action {
        PreemptAction::Cancel => Displaced::Cancelled,
        PreemptAction::Requeue => Displaced::Requeued,
        PreemptAction::Suspend => Displaced::Suspended,
        PreemptAction::Off => return None,
    };
    let rank = rank(state, job, Some(partition));
    let worth = qos.map_or(rank, |qos| qos.priority);
    let exempt = rules.exempt_time.0.number().unwrap_or(0) as i64 * 60;
    let exempt = qos.and_then(|qos| qos.preempt_exempt_secs).map_or(exempt, i64::from);
    let is_free = rank > 0 && job.displaced.is_none() && job.pause.since.is_none();
    is_free.then_some(Preemptible { rank, worth, from: since.plus_secs(exempt), how })
}

/// How the configuration wants jobs to be chosen.
fn policy(state: &State) -> Policy {
    let rules = &state.settings.config.scheduler;
    let default = Policy::default();
    Policy {
        backfill: rules.plugin == Plugin::Backfill,
        depth: rules.reservation_depth.unwrap_or(default.depth),
        preempt: state.settings.config.preemption.by != PreemptBy::None,
        choice: if rules.least_loaded { Choice::LeastLoaded } else { Choice::Tight },
        shortest_first: rules.backfill_shortest_first,
        ..default
    }
}

/// Whether a job takes part, by what is known about it alone.
fn standing(state: &State, job: &Job, partition: Option<&Partition>) -> Standing {
    let Some(partition) = partition else { return Standing::Barred(Reason::PartitionDown) };
    let rules = &partition.rules;
    match state.obstacle(job) {
        Some(Reason::BeginTime) if job.begin.is_some() => {
            return Standing::From(job.begin.unwrap_or(state.now));
        }
        Some(reason) => return Standing::Barred(reason),
        None => {}
    }
    match rules.state {
        PartitionState::Down => return Standing::Barred(Reason::PartitionDown),
        PartitionState::Inactive => return Standing::Barred(Reason::PartitionInactive),
        PartitionState::Up | PartitionState::Drain => {}
    }
    if let Some(breach) = state.breach(&job.spec, partition) {
        return Standing::Barred(breach.reason());
    }
    if rules.require_reservation && job.spec.placement().reservation.is_empty() {
        return Standing::Barred(Reason::Reservation);
    }
    Standing::Ready
}

pub(crate) fn view_node(state: &State, node: &Node, ways: &BTreeMap<NodeName, Way>) -> ViewNode {
    let partitions = state.partitions.iter().filter(|it| it.nodes.contains(&node.name));
    let mut features: Vec<Arc<str>> =
        node.active_features.iter().map(|it| it.as_str().into()).collect();
    features.sort_unstable();
    let (cores, threads) = cores(state, node);
    let kept = Kept::on(&state.settings.config, node);
    ViewNode {
        name: node.name.clone(),
        usable: node.takes_jobs(),
        weight: node.weight,
        partitions: partitions.map(|it| it.name.as_str().into()).collect(),
        features: features.into(),
        switches: ways.get(&node.name).cloned().unwrap_or_else(|| [].into()),
        sockets: node.inventory.sockets.max(1),
        cores,
        threads,
        // Where threads are given one by one each counts as a core.
        kept: match threads == node.inventory.threads_per_core.max(1) {
            true => kept.cores.into(),
            false => kept.cpus(&node.inventory).iter().collect(),
        },
        memory_mb: node.inventory.memory_mb.saturating_sub(kept.memory_mb),
        tmp_mb: node.inventory.tmp_mb,
        gres: gres(node).into(),
    }
}

/// Cores and threads of each. Where the numbers do not go together every processor counts as a core.
pub(crate) fn cores(state: &State, node: &Node) -> (u32, u32) {
    let it = &node.inventory;
    let threads = it.threads_per_core.max(1);
    let consume = state.settings.config.scheduler.consume;
    let by_core = !matches!(consume, Consume::Cpu | Consume::CpuMemory);
    match by_core && it.sockets * it.cores_per_socket * threads == it.cpus {
        true => (it.cpus / threads, threads),
        false => (it.cpus, 1),
    }
}

pub(crate) fn gres(node: &Node) -> Vec<ViewGres> {
    let shards: u64 =
        node.inventory.gres.iter().filter(|it| it.name == "shard").map(|it| it.count).sum();
    let gpus: u64 =
        node.inventory.gres.iter().filter(|it| it.name == "gpu").map(|it| it.count).sum();
    let whole = node.inventory.gres.iter().filter(|it| it.name != "shard" && !it.no_consume);
    whole
        .map(|it| {
            let devices = u32::try_from(it.count).unwrap_or(u32::MAX).min(1 << 16);
            let parts = match it.name.as_str() {
                "gpu" if gpus > 0 => (shards / gpus).max(1) as u32,
                _ => 1,
            };
            let numbers = |text: &String| -> Vec<u32> {
                let ranges = text.split(',').filter_map(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
                });
                ranges.flatten().take(1 << 16).collect()
            };
            ViewGres {
                name: it.name.as_str().into(),
                model: it.kind.as_str().into(),
                devices,
                parts,
                near: it.cores.iter().map(numbers).collect(),
                linked: linked(&it.links, devices),
            }
        })
        .collect()
}

/// Devices with a link to each, told from lines such as `-1,4,0`.
fn linked(links: &[String], devices: u32) -> Vec<Vec<u32>> {
    if links.len() != devices as usize {
        return Vec::new();
    }
    let others = |line: &String| {
        let counts = (0..devices).zip(line.split(','));
        let fast = |count: &str| count.trim().parse::<i64>().is_ok_and(|count| count > 0);
        counts.filter(|(_, count)| fast(count)).map(|(device, _)| device).collect()
    };
    links.iter().map(others).collect()
}

/// What a run holds, as the planner counts it.
fn view_share(planner: &Planner, state: &State, node: &Node, share: &Share) -> ViewShare {
    let (_, threads) = cores(state, node);
    let cores = match share.cpu_ids.is_empty() {
        false => {
            let mut cores: Vec<u32> = share.cpu_ids.iter().map(|cpu| cpu / threads).collect();
            cores.dedup();
            cores
        }
        // Nobody knows which: the first that are free.
        true => planner.free_cores(&node.name, share.cpus.div_ceil(threads)),
    };
    let groups = gres(node);
    let mut devices = Vec::new();
    for gres in &share.gres {
        let is_part = gres.name == "shard";
        let name = if is_part { "gpu" } else { gres.name.as_str() };
        let mut first = 0;
        for (place, group) in (0..).zip(&groups) {
            if &*group.name != name {
                continue;
            }
            let mine = first..first + group.devices;
            let parts = if is_part { small_part(gres.count, gres.ids.len()) } else { group.parts };
            let ids = gres.ids.iter().filter(|id| mine.contains(id));
            devices.extend(ids.map(|id| (place, id - first, parts)));
            first += group.devices;
        }
    }
    let (node, memory_mb) = (share.node.clone(), share.memory_mb);
    ViewShare { node, cores, memory_mb, devices, units: share.tasks }
}

fn small_part(count: u64, devices: u32) -> u32 {
    u32::try_from(count / u64::from(devices.max(1))).unwrap_or(u32::MAX)
}
