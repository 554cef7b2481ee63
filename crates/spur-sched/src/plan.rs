//! One pass over all pending jobs.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::hostlist;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::{Demand, Job, Reason};
use spur_core::state::{JobStart, State};

use crate::place::{self, Free};

/// A decision for every pending job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What should start now.
    pub starts: Vec<JobStart>,
    /// Why each other one waits.
    pub waits: BTreeMap<JobId, Reason>,
}

/// Makes plans. A plan is a proposal: whoever applies it checks again.
#[derive(Debug, Default)]
pub struct Planner {}

impl Planner {
    /// Decides about every pending job, oldest first. Behind a job that waits for resources, the rest
    /// of its partition waits for its turn.
    pub fn plan(&mut self, state: &State) -> Plan {
        let mut plan = Plan::default();
        let mut free = free_processors(state);
        let mut blocked = BTreeSet::new();
        for job in state.index.pending.iter().filter_map(|id| state.jobs.get(id)) {
            let result = match job.waiting_tasks() {
                None => decide(state, job, None, &mut free, &mut blocked).map(|start| vec![start]),
                Some(_) => tasks(state, job, &mut free, &mut blocked, &mut plan),
            };
            match result {
                Ok(starts) => plan.starts.extend(starts),
                Err(reason) => {
                    plan.waits.insert(job.id, reason);
                }
            }
        }
        plan
    }
}

/// Starts as many waiting tasks of an array as may run and fit; why the rest waits.
fn tasks(
    state: &State,
    job: &Job,
    free: &mut Free,
    blocked: &mut BTreeSet<String>,
    plan: &mut Plan,
) -> Result<Vec<JobStart>, Reason> {
    let mut allowed = state.tasks_allowed(job);
    let ready = job.waiting_tasks().into_iter().flat_map(|tasks| tasks.ids());
    for index in ready.filter(|index| state.task_may_start(job, *index)) {
        if allowed == 0 {
            return Err(Reason::JobArrayTaskLimit);
        }
        plan.starts.push(decide(state, job, Some(index), free, blocked)?);
        allowed -= 1;
    }
    match state.obstacle(job) {
        Some(reason) => Err(reason),
        None => Ok(Vec::new()),
    }
}

fn decide(
    state: &State,
    job: &Job,
    task: Option<u32>,
    free: &mut Free,
    blocked: &mut BTreeSet<String>,
) -> Result<JobStart, Reason> {
    if let Some(reason) = state.obstacle(job) {
        return Err(reason);
    }
    let partition = state.partition_of(job).ok_or(Reason::PartitionDown)?;
    // It never will, and stands in nobody's way.
    if job.spec.time_limit.is_some_and(|limit| limit > partition.max_time) {
        return Err(Reason::PartitionTimeLimit);
    }
    let demand = Demand::of(&job.spec);
    let eligible = |node: &NodeName| partition.nodes.contains(node);
    if let Some(reason) = never_fits(state, &demand, eligible) {
        return Err(reason);
    }
    if blocked.contains(&partition.name) {
        return Err(Reason::Priority);
    }
    match place::place(&demand, free, eligible) {
        Some(allocation) => Ok(JobStart { job: job.id, epoch: job.epoch.next(), task, allocation }),
        None => {
            blocked.insert(partition.name.clone());
            Err(Reason::Resources)
        }
    }
}

/// Why a job could not start even on an empty partition; it stands in nobody's way.
fn never_fits(
    state: &State,
    demand: &Demand,
    eligible: impl Fn(&NodeName) -> bool,
) -> Option<Reason> {
    let nodes = state.nodes.values().filter(|node| eligible(&node.name));
    let mut whole: Free = nodes.map(|node| (node.name.clone(), node.inventory.cpus)).collect();
    if whole.len() < demand.nodes_min as usize {
        return Some(Reason::PartitionNodeLimit);
    }
    // The largest first: whatever fits anywhere fits there.
    whole.sort_by_key(|(_, cpus)| std::cmp::Reverse(*cpus));
    place::place(demand, &mut whole, |_| true).is_none().then_some(Reason::PartitionConfig)
}

/// Nodes that take jobs and their free processors, in the order people count them.
fn free_processors(state: &State) -> Free {
    let mut free: Free = state
        .nodes
        .values()
        .filter(|node| node.takes_jobs())
        .map(|node| {
            let used = state.cpus_used(&node.name);
            (node.name.clone(), node.inventory.cpus.saturating_sub(used))
        })
        .collect();
    free.sort_by(|(left, _), (right, _)| hostlist::natural(left.as_str(), right.as_str()));
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::blob::BlobHash;
    use spur_core::ids::Epoch;
    use spur_core::job::{JobSpec, RequestId};
    use spur_core::node::Inventory;
    use spur_core::state::{Blob, Command, Entry, Origin, RegisterNode, Settings, Submit, apply};
    use spur_core::time::Timestamp;

    /// A cluster of nodes `n1`, `n2` … with so many processors each, and its jobs.
    struct Cluster(State);

    fn cluster(cpus: &[u32]) -> Cluster {
        let mut cluster = Cluster(State::new());
        cluster.apply(Command::Configure(Settings::default()));
        for (number, cpus) in (1..).zip(cpus) {
            cluster.apply(Command::RegisterNode(RegisterNode {
                name: format!("n{number}").into(),
                inventory: Inventory::simple(*cpus, 0),
                boot_id: String::new(),
            }));
        }
        cluster
    }

    impl Cluster {
        fn apply(&mut self, command: Command) {
            let entry = Entry { at: Timestamp(1), origin: Origin::default(), command };
            apply(&mut self.0, &entry).reply.expect("is accepted");
        }

        fn job(mut self, nodes: u32, tasks: u32) -> Cluster {
            let (nodes_min, ntasks) = (Some(nodes).filter(|n| *n > 0), Some(tasks));
            let spec = JobSpec { nodes_min, ntasks, ..JobSpec::default() };
            let request = RequestId(u128::from(self.0.next_job.0));
            let hash = BlobHash::of(b"");
            self.apply(Command::Submit(Box::new(Submit {
                request,
                owner: Default::default(),
                spec,
                script: hash,
                environment: hash,
                blobs: vec![Blob { bytes: Vec::new() }],
            })));
            self
        }

        /// `1 on n1:4 n2:1` for a start, `2 Resources` for a wait.
        fn plan(&self) -> Vec<String> {
            let plan = Planner::default().plan(&self.0);
            let starts = plan.starts.iter().map(|start| {
                let shares: Vec<String> = start
                    .allocation
                    .shares
                    .iter()
                    .map(|share| format!("{}:{}", share.node, share.cpus))
                    .collect();
                format!("{} on {}", start.job, shares.join(" "))
            });
            starts
                .chain(plan.waits.iter().map(|(job, why)| format!("{job} {}", why.name())))
                .collect()
        }
    }

    #[test]
    fn first_come_first_served_and_the_rest_know_why() {
        let plan = cluster(&[4]).job(0, 3).job(0, 2).job(0, 1).plan();
        assert_eq!(plan, ["1 on n1:3", "2 Resources", "3 Priority"]);
    }

    #[test]
    fn a_job_that_never_fits_stands_in_nobodys_way() {
        let plan = cluster(&[4]).job(2, 2).job(0, 9).job(0, 1).plan();
        assert_eq!(plan, ["3 on n1:1", "1 PartitionNodeLimit", "2 PartitionConfig"]);
    }

    #[test]
    fn tasks_fill_the_first_nodes() {
        assert_eq!(cluster(&[4, 4]).job(0, 6).plan(), ["1 on n1:4 n2:2"]);
        assert_eq!(cluster(&[8, 8]).job(2, 6).plan(), ["1 on n1:5 n2:1"]);
    }

    #[test]
    fn a_plan_that_is_applied_leaves_the_next_what_is_left() {
        let mut cluster = cluster(&[2, 2]).job(2, 2).job(2, 2).job(1, 1);
        assert_eq!(cluster.plan(), ["1 on n1:1 n2:1", "2 on n1:1 n2:1", "3 Resources"]);
        let starts = Planner::default().plan(&cluster.0).starts;
        assert!(starts.iter().all(|start| start.epoch == Epoch(1)));
        cluster.apply(Command::Start(starts));
        assert_eq!(cluster.plan(), ["3 Resources"]);
    }
}
