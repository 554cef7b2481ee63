//! The planner's view of the controllers' state, kept up with what changes in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use spur_core::config::words::{Plugin, PreemptBy};
use spur_core::ids::{JobId, NodeName};
use spur_core::job::{Job, Phase, Reason, spec};
use spur_core::reservation::{Flags, Reservation};
use spur_core::state::State;
use spur_core::time::Timestamp;

use super::habits::Habits;
use super::licenses::{kept_licenses, license_name, read_open_licenses};
use super::machines::view_node;
use super::network::{self, Way};
use super::ranks::rights;
use super::request::Shapes;
use super::standing::follows;
use super::waiting::{array_name, put_throttle, throttle};
use super::{Charge, Counter, RunId, Tiers, ViewReservation};
use crate::place::Choice;
use crate::planner::{Planner, Policy};
use crate::priority::{self, Basis};
use crate::waits::Promised;

/// Reads states and tells a planner what has changed since the last one.
#[derive(Debug, Default)]
pub struct Follower {
    pub(super) last: Option<State>,
    pub(super) shapes: Shapes,
    pub(super) names: BTreeMap<String, Tiers>,
    pub(super) charges: BTreeMap<Vec<Charge>, Arc<[Charge]>>,
    /// Records of which single tasks may start, as other jobs end.
    pub(super) watched: BTreeSet<JobId>,
    /// What priorities were told by.
    pub(super) basis: Arc<Basis>,
    /// Where in the network nodes are.
    pub(super) ways: BTreeMap<NodeName, Way>,
    /// Some partition keeps its nodes for one user at a time, or some job does.
    pub(super) by_user: bool,
    /// Licences that reservations keep.
    pub(super) kept: BTreeSet<String>,
    /// How long jobs usually take.
    pub(super) habits: Habits,
}

impl Follower {
    /// Tells a planner about a state.
    pub fn follow(&mut self, planner: &mut Planner, state: &State) {
        let sizes = self.last.as_ref().is_some_and(|last| is_sized_anew(last, state));
        let told = self.priorities_at(state).is_some() || sizes;
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
        if afresh || told {
            self.basis = Arc::new(Basis::of(state, priority::moment(state)));
        }
        if afresh {
            *planner = Planner::new(policy(state));
            planner.set_rights(rights(state));
            self.names.clear();
            self.charges.clear();
            self.watched.clear();
            self.ways = network::ways(&state.settings.config);
            let jobs = state.index.active.iter().chain(&state.index.pending);
            self.by_user = state.partitions.iter().any(|it| it.rules.exclusive_user)
                || jobs.filter_map(|id| state.jobs.get(id)).any(|job| is_for_user(job));
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
            let floating = state.reservations.values().filter(|it| it.float_secs.is_some());
            if last.now != state.now {
                floating.for_each(|it| read_reservation(planner, state, it));
            }
            self.read_changes(planner, &last, state);
            if told {
                self.read_minutes(planner, state);
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
        let for_user =
            |(_, new): &(Option<_>, Option<&Arc<Job>>)| new.is_some_and(|it| is_for_user(it));
        if !self.by_user && changed.iter().any(for_user) {
            self.by_user = true;
            self.read_priorities(planner, state);
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
            for job in self.habits.ended(new, state) {
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

    /// Runs that count by the minutes they have left have fewer.
    fn read_minutes(&mut self, planner: &mut Planner, state: &State) {
        for job in state.index.active.iter().filter_map(|id| state.jobs.get(id)) {
            let Some((run, _)) = planner.runs.get(&RunId(job.id, 0)) else { continue };
            if run.charges.iter().any(|charge| charge.counter.contains("Mins/")) {
                self.put_run(planner, state, job);
            }
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

    /// What priorities were told by last.
    pub fn basis(&self) -> &Arc<Basis> {
        &self.basis
    }
}

/// Whether the cluster has become larger or smaller, of which jobs are a part.
fn is_sized_anew(last: &State, state: &State) -> bool {
    last.nodes.diff(&state.nodes).any(|change| match change {
        DiffItem::Add(..) | DiffItem::Remove(..) => true,
        DiffItem::Update { old: (_, old), new: (_, new) } => {
            old.inventory.cpus != new.inventory.cpus
        }
    })
}

fn read_reservations(planner: &mut Planner, state: &State) {
    state.reservations.values().for_each(|it| read_reservation(planner, state, it));
}

fn read_reservation(planner: &mut Planner, state: &State, it: &Reservation) {
    let (start, end) = it.times(state.now);
    let view = ViewReservation {
        start,
        end,
        nodes: it.nodes.clone().into(),
        every: it.period(),
        flexible: it.flags.has(Flags::FLEX),
        anywhere: it.flags.has(Flags::ANY_NODES),
        over: it.flags.has(Flags::OVERLAP) || it.flags.has(Flags::MAINT),
        cores: it.cores.clone().into(),
        // Four days after the epoch was a Monday.
        without: std::array::from_fn(|day| !it.comes_at(Timestamp((day as i64 + 4) * 86_400))),
    };
    planner.put_reservation(&it.name.as_str().into(), Some(&Arc::new(view)));
}

/// Whether a job shares its nodes with some alone: those of its user or its label, or nobody although it leaves a
/// part of them free.
fn is_for_user(job: &Job) -> bool {
    let some = [spec::Sharing::User as i32, spec::Sharing::Mcs as i32];
    let placement = job.spec.placement();
    job.spec.sharing.is_some_and(|it| some.contains(&it))
        || placement.core_spec.is_some()
        || placement.thread_spec.is_some()
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
