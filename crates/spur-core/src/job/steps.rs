//! The steps of a job: its batch script, and whatever `srun` started. A step lives until every node it
//! has tasks on has reported its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;

use super::{ExitStatus, Pause, RequestId};
use crate::ids::{NodeName, StepId};
use crate::idset::IdSet;
use crate::limit::Limit;
use crate::step::StepSpec;
use crate::time::Timestamp;
use crate::views::Usage;

/// All steps that have processes, or are about to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// The number the next step of `srun` gets. Numbers are not used twice.
    pub next: u32,
    /// The living ones.
    pub live: OrdMap<StepId, Arc<Step>>,
    /// The highest exit status of those that have ended.
    pub derived_exit: ExitStatus,
    /// Those that ended with the entry at hand; accounting is told, then they are dropped.
    pub gone: Vec<Arc<Step>>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number.
    pub id: StepId,
    /// The client's name for the request that made it.
    pub request: RequestId,
    /// What was asked for; nothing for a batch script.
    pub spec: Option<Arc<StepSpec>>,
    /// When it was made.
    pub since: Timestamp,
    /// Seconds of pauses its job had had by then.
    pub paused_before: i64,
    /// What it has on each node, in the order of the job's nodes.
    pub shares: Vec<StepShare>,
    /// For how long it may run, where somebody says so.
    pub limit: Option<Limit>,
    /// Why it is to end, if it is.
    pub end: Option<StepEnd>,
    /// The highest exit status reported so far.
    pub exit: ExitStatus,
}

/// Why a step is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// It was asked to, or goes with its job: its tasks are given time.
    Asked,
    /// Somebody has its tasks killed.
    Killed {
        /// Who.
        by: u32,
    },
    /// Its own time is up.
    TimeLimit,
}

/// A step on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepShare {
    /// Where.
    pub node: NodeName,
    /// Ranks of its tasks there.
    pub ranks: Vec<u32>,
    /// Processors it takes there.
    pub cpus: u32,
    /// Which of its job's; empty where they are not told apart.
    pub cpu_ids: IdSet,
    /// Which of its job's GPUs it has there; nothing where it has them all.
    pub gpus: Option<IdSet>,
    /// In which boot of the node it was started; see `Node::boots`.
    pub boot: u32,
    /// The node has reported its end.
    pub over: bool,
    /// What it used there, once it is over.
    pub usage: Option<Box<Usage>>,
}

impl Steps {
    /// Processors that living steps have taken, by node. Batch scripts and overlapping steps take none.
    pub fn busy(&self) -> BTreeMap<NodeName, u32> {
        let mut busy = BTreeMap::new();
        for step in self.live.values() {
            if step.spec.as_ref().is_none_or(|spec| spec.overlap) {
                continue;
            }
            for share in step.shares.iter().filter(|share| !share.over) {
                *busy.entry(share.node.clone()).or_insert(0) += share.cpus;
            }
        }
        busy
    }

    /// Processors for a new step: those of its job that no other step has; where there are not as many, as
    /// for steps that overlap, from the first on.
    pub fn free_ids(&self, node: &NodeName, held: &IdSet, cpus: u32) -> IdSet {
        let others =
            self.live.values().filter(|step| step.spec.as_ref().is_some_and(|spec| !spec.overlap));
        let theirs: Vec<&IdSet> =
            others.filter_map(|step| step.on(node)).map(|share| &share.cpu_ids).collect();
        let is_free = |id: &u32| !theirs.iter().any(|taken| taken.contains(*id));
        let free: Vec<u32> = held.iter().filter(is_free).take(cpus as usize).collect();
        match free.len() < cpus as usize {
            true => held.iter().take(cpus as usize).collect(),
            false => free.into_iter().collect(),
        }
    }

    /// GPUs that living steps have taken on a node, of all that its job has there. Batch scripts and overlapping
    /// steps take none.
    pub fn busy_gpus(&self, node: &NodeName, all: &IdSet) -> IdSet {
        let taking = |step: &&Arc<Step>| step.spec.as_ref().is_some_and(|spec| !spec.overlap);
        let shares = self.live.values().filter(taking).filter_map(|step| step.on(node));
        shares.flat_map(|share| share.gpus.as_ref().unwrap_or(all).iter()).collect()
    }

    /// Steps that a node has not reported the end of.
    pub fn on<'a>(&'a self, node: &'a NodeName) -> impl Iterator<Item = (&'a Step, &'a StepShare)> {
        self.live.values().filter_map(move |step| Some((&**step, step.on(node)?)))
    }
}

impl Step {
    /// What it has on a node that has not reported its end.
    pub fn on(&self, node: &NodeName) -> Option<&StepShare> {
        self.shares.iter().find(|share| share.node == *node && !share.over)
    }

    /// Nodes that have not reported its end.
    pub fn nodes_left(&self) -> impl Iterator<Item = &NodeName> {
        self.shares.iter().filter(|share| !share.over).map(|share| &share.node)
    }

    /// When its own time is up, if it has a limit: what its job was stopped for does not count.
    pub fn ends_at(&self, pause: Pause) -> Option<Timestamp> {
        let Limit::Is(minutes) = self.limit? else { return None };
        let secs = i64::try_from(minutes.saturating_mul(60)).ok()?;
        let stopped = (pause.secs - self.paused_before).max(0);
        pause.since.is_none().then(|| self.since.plus_secs(secs.saturating_add(stopped)))
    }

    /// Tasks over all nodes.
    pub fn tasks(&self) -> u32 {
        self.shares.iter().map(|share| share.ranks.len() as u32).sum()
    }
}
