//! The planner: owns what survives from pass to pass, and is told what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::ids::{JobId, NodeName};
use spur_core::job::Reason;

use crate::nodes::{Held, Kind, NodeIndex, Nodes};
use crate::place::{Choice, Mix, Usual, rounded, thousandths};
use crate::queue::Queue;
use crate::recall::Found;
use crate::shape::Wish;
use crate::timeline::Reserved;
use crate::view::{
    Charge, ClusterView, Counter, Of, PendingJob, RunId, RunningJob, ViewNode, ViewReservation,
};

/// How jobs are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Lower jobs may start while higher ones wait, if they delay none that holds a promise.
    pub backfill: bool,
    /// How many waiting jobs of a partition hold a promise.
    pub depth: u32,
    /// Behind the promises, short jobs go first.
    pub shortest_first: bool,
    /// How nodes of equal weight are told apart.
    pub choice: Choice,
    /// A pass ends after so many starts; the next one goes on.
    pub starts_max: usize,
    /// Whether jobs of higher rank displace others.
    pub preempt: bool,
    /// Jobs are over when they are expected to be, as far as promises to others go; else at their limits.
    pub trust: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            backfill: true,
            depth: 1,
            shortest_first: false,
            choice: Choice::Tight,
            starts_max: 10_000,
            preempt: false,
            trust: true,
        }
    }
}

/// Makes plans about a cluster that it is told about change by change.
#[derive(Debug, Default)]
pub struct Planner {
    pub(crate) policy: Policy,
    pub(crate) nodes: Nodes,
    pub(crate) queue: Queue,
    pub(crate) runs: BTreeMap<RunId, (Arc<RunningJob>, Vec<NodeIndex>)>,
    /// When which run ends on which node.
    pub(crate) ends: BTreeSet<(i64, NodeIndex, RunId)>,
    pub(crate) counters: BTreeMap<Arc<str>, Tally>,
    pub(crate) reservations: BTreeMap<Arc<str>, Arc<ViewReservation>>,
    /// What the reservations keep, for a state of the nodes; and how often that was found out.
    pub(crate) kept: Option<(u64, Arc<Reserved>)>,
    pub(crate) kept_times: u64,
    /// Places that were found for jobs in the last pass, and on what they depend.
    pub(crate) found: BTreeMap<JobId, Found>,
    usual: BTreeMap<Usual, u64>,
    /// Runs that sleep.
    pub(crate) sleepers: BTreeSet<RunId>,
    /// Which ranks may displace which others, where it is not the higher the lower.
    rights: Option<BTreeMap<u32, BTreeSet<u32>>>,
    /// Who puts up with less time gets as much as there is, and not as little as will do.
    pub(crate) longest: bool,
    now: i64,
}

/// A counter and what is used of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub max: Option<u64>,
    pub used: u64,
    /// How many are on each node, where nodes are counted.
    pub nodes: BTreeMap<NodeIndex, u32>,
    pub reason: Reason,
}

impl Tally {
    pub fn add(&mut self, charge: &Charge, on: &[NodeIndex]) {
        match charge.of {
            Of::Nodes => {
                on.iter().for_each(|node| *self.nodes.entry(*node).or_default() += 1);
                self.used = self.nodes.len() as u64;
            }
            _ => self.used += charge.held(),
        }
    }

    pub fn remove(&mut self, charge: &Charge, on: &[NodeIndex]) {
        if charge.of != Of::Nodes {
            self.used -= charge.held();
            return;
        }
        for node in on {
            if let Some(count) = self.nodes.get_mut(node) {
                *count -= 1;
                if *count == 0 {
                    self.nodes.remove(node);
                }
            }
        }
        self.used = self.nodes.len() as u64;
    }

    /// Whether a charge is above what there is. Before a job has its place, it may be on nodes that count already.
    pub fn is_over(&self, charge: &Charge, on: Option<&[NodeIndex]>) -> bool {
        let more = match (charge.of, on) {
            (Of::Nodes, None) => charge.amount.saturating_sub(self.used),
            (Of::Nodes, Some(on)) => {
                on.iter().filter(|node| !self.nodes.contains_key(node)).count() as u64
            }
            _ => charge.amount,
        };
        self.max.is_some_and(|max| self.used.saturating_add(more) > max)
    }
}

impl Planner {
    /// A planner that knows nothing yet.
    pub fn new(policy: Policy) -> Planner {
        Planner { policy, ..Planner::default() }
    }

    /// A planner that knows a cluster.
    pub fn of(view: &ClusterView, policy: Policy) -> Planner {
        let mut planner = Planner::new(policy);
        view.nodes.values().for_each(|node| planner.put_node(node));
        view.running.iter().for_each(|(run, job)| planner.put_run(*run, job));
        view.counters.iter().for_each(|(name, counter)| planner.put_counter(name, Some(counter)));
        view.reservations.iter().for_each(|(name, it)| planner.put_reservation(name, Some(it)));
        planner.now = view.now.0;
        view.pending.values().for_each(|job| planner.put_job(job));
        planner
    }

    /// Changes how jobs are chosen.
    pub fn set_policy(&mut self, policy: Policy) {
        self.found.clear();
        self.policy = policy;
    }

    /// Whether expected run times are believed from now on.
    pub fn set_trust(&mut self, trust: bool) {
        self.policy.trust = trust;
    }

    /// Processors of all nodes that take jobs.
    pub fn capacity(&self) -> u64 {
        let kinds = self.nodes.kinds.iter();
        let usable = |kind: &Kind| kind.members.values().map(|(_, it)| u64::from(*it)).sum::<u64>();
        kinds.map(|it| usable(it) * u64::from(it.cores) * u64::from(it.threads)).sum()
    }

    /// Says which ranks may displace which others.
    pub fn set_rights(&mut self, rights: Option<BTreeMap<u32, BTreeSet<u32>>>) {
        self.rights = rights;
    }

    /// Whether a job of one rank may displace one of the other.
    pub(crate) fn may_displace(&self, rank: u32, other: u32) -> bool {
        match &self.rights {
            None => other < rank,
            Some(rights) => rights.get(&rank).is_some_and(|others| others.contains(&other)),
        }
    }

    /// A node is new, or has changed.
    pub fn put_node(&mut self, node: &Arc<ViewNode>) {
        self.nodes.put(node);
    }

    /// A node is gone.
    pub fn remove_node(&mut self, name: &NodeName) {
        self.nodes.remove(name);
    }

    /// A job waits, or waits for something else.
    pub fn put_job(&mut self, job: &Arc<PendingJob>) {
        self.queue.put(job, self.now);
    }

    /// A job does not wait any more.
    pub fn remove_job(&mut self, job: JobId) {
        self.queue.remove(job);
    }

    /// A run holds resources.
    pub fn put_run(&mut self, run: RunId, job: &Arc<RunningJob>) {
        self.remove_run(run);
        let mut on = Vec::with_capacity(job.shares.len());
        for share in job.shares.iter() {
            let Some(node) = self.nodes.index(&share.node) else { continue };
            let gres = self.nodes.slot(node).node.gres.clone();
            let first = |group: u32| -> u32 {
                gres.iter().take(group as usize).map(|group| group.devices).sum()
            };
            let parts = share.devices.iter();
            let held = Held {
                run,
                end: job.end.0,
                user: job.user,
                label: job.label.clone(),
                partition: job.partition.clone(),
                reservation: job.reservation.clone(),
                limit: job.limit.unwrap_or(job.end).0,
                sharing: job.sharing,
                cores: share.cores.iter().copied().collect(),
                memory_mb: share.memory_mb,
                parts: parts
                    .map(|(group, device, parts)| (first(*group) + device, *parts))
                    .collect(),
            };
            if let Some(usual) = usual_of(&held, &gres, &job.wish) {
                *self.usual.entry(usual).or_default() += 1;
            }
            self.nodes.take(node, held);
            self.ends.insert((job.end.0, node, run));
            on.push(node);
        }
        for charge in job.charges.iter() {
            self.counters.entry(charge.counter.clone()).or_default().add(charge, &on);
        }
        if job.sleeps.is_some() {
            self.sleepers.insert(run);
        }
        self.runs.insert(run, (job.clone(), on));
    }

    /// A run has given everything back.
    pub fn remove_run(&mut self, run: RunId) {
        let Some((job, on)) = self.runs.remove(&run) else { return };
        self.sleepers.remove(&run);
        for node in on.iter().copied() {
            let slot = self.nodes.slot(node);
            let held = slot.runs.iter().find(|held| held.run == run);
            let usual = held.and_then(|held| usual_of(held, &slot.node.gres, &job.wish));
            if let Some((usual, count)) =
                usual.and_then(|it| self.usual.get_mut(&it).map(|n| (it, n)))
            {
                *count -= 1;
                if *count == 0 {
                    self.usual.remove(&usual);
                }
            }
            self.nodes.give(node, run);
            self.ends.remove(&(job.end.0, node, run));
        }
        for charge in job.charges.iter() {
            if let Some(tally) = self.counters.get_mut(&charge.counter) {
                tally.remove(charge, &on);
            }
        }
    }

    /// An amount that jobs use up together is new, has changed, or is gone.
    pub fn put_counter(&mut self, name: &Arc<str>, counter: Option<&Counter>) {
        let tally = self.counters.entry(name.clone()).or_default();
        tally.max = counter.map(|counter| counter.max);
        tally.reason = counter.map_or(Reason::None, |counter| counter.reason);
        if tally.max.is_none() && tally.used == 0 {
            self.counters.remove(name);
        }
    }

    /// A reservation is new, has changed, or is gone.
    pub fn put_reservation(&mut self, name: &Arc<str>, it: Option<&Arc<ViewReservation>>) {
        self.kept = None;
        match it {
            Some(it) => self.reservations.insert(name.clone(), it.clone()),
            None => self.reservations.remove(name),
        };
    }

    /// Time passes.
    pub(crate) fn set_now(&mut self, now: i64) {
        self.now = now;
        self.queue.wake(now);
    }

    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// What usual jobs look like: those that run and those that wait.
    pub(crate) fn mix(&self) -> Mix {
        // Only where devices are given in parts does anybody ask.
        let parts = self.nodes.kinds.iter().flat_map(|kind| kind.gres.iter().map(|it| it.parts));
        let parts = parts.max().unwrap_or(1);
        if parts < 2 {
            return Mix::default();
        }
        let mut counts = self.usual.clone();
        for class in self.queue.classes.iter().filter(|class| class.tasks > 0) {
            if let Some(usual) = Usual::of(&class.shape, parts) {
                *counts.entry(usual).or_default() += class.tasks;
            }
        }
        Mix::of(&counts, &self.nodes.kinds)
    }
}

/// What a run takes of a node's devices, if anything.
fn usual_of(held: &Held, gres: &[crate::view::ViewGres], wish: &Wish) -> Option<Usual> {
    let (device, parts) = held.parts.first()?;
    let mut wholes = gres.iter().flat_map(|it| (0..it.devices).map(|_| it.parts));
    let whole = wholes.nth(*device as usize).unwrap_or(1).max(1);
    let (cores, devices) = (rounded(held.cores.count()), held.parts.len() as u32);
    Some(Usual { cores, devices, each: thousandths(*parts, whole), wish: wish.clone() })
}

impl Planner {
    /// Some cores of a node that nobody holds.
    pub(crate) fn free_cores(&self, node: &NodeName, count: u32) -> Vec<u32> {
        let Some(index) = self.nodes.index(node) else { return Vec::new() };
        self.nodes.slot(index).free_cores.iter().take(count as usize).collect()
    }
}
