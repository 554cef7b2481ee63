//! Plans about the controllers' state.

use std::collections::BTreeMap;

use spur_core::gres;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::{Allocation, GresShare, Reason, Removal, Share};
use spur_core::state::{Displace, JobStart, State};

use crate::decision::{Decisions, Start};
use crate::explain::{Explanation, LimitUse};
use crate::forecast::Reach;
use crate::priority::{self, Terms};
use crate::view::{Displaced, Follower, ViewShare};
use crate::waits::{Promised, Waits};
use crate::{limits, planner, view};

/// A decision for every pending job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What should start now.
    pub starts: Vec<JobStart>,
    /// What must go so that others can start, and what can come back.
    pub preempts: Vec<Displace>,
    /// Why each other one waits.
    pub waits: Waits,
}

/// Makes plans. A plan is a proposal: whoever applies it checks again.
#[derive(Debug, Default)]
pub struct Planner {
    follower: Follower,
    planner: planner::Planner,
    /// Why jobs waited when they were last looked at.
    told: Waits,
}

impl Planner {
    /// Decides about every pending job. What was learnt from the state before is kept: the more two
    /// states have in common, the less there is to do.
    pub fn plan(&mut self, state: &State) -> Plan {
        self.follower.follow(&mut self.planner, state);
        // As many as can be told without holding up the pass.
        let jobs = (LOOKS / state.nodes.len().max(1)).min(TOLD);
        let (Decisions { starts, preempts, wakes, mut waits, .. }, held) =
            self.planner.decide_and(state.now, |planner, pass| {
                let held = pass.held.clone();
                planner.forecast(pass, Reach { jobs, until: None });
                pass.held.append(&mut pass.out.forecast);
                held
            });
        self.follower.watch(&mut self.planner, state.now, &held);
        waits.basis = self.follower.basis().clone();
        let mut tasks = BTreeMap::new();
        let starts = starts.iter().filter_map(|start| {
            let priority = priority_of(state, start.job, &waits);
            let reason = blocked_by(state, &self.told, start.job);
            Some(JobStart { priority, reason, ..job_start(state, start, &mut tasks)? })
        });
        let victims = preempts.iter().flat_map(|it| &it.victims);
        let victims = victims.filter_map(|(run, how)| displace(state, run.0, *how));
        let wakes = wakes.iter().filter_map(|run| {
            let epoch = state.jobs.get(&run.0)?.epoch;
            Some(Displace { job: run.0, epoch, how: Removal::Resume })
        });
        let preempts = victims.chain(wakes).collect();
        let starts = starts.collect();
        self.told = waits.clone();
        Plan { starts, preempts, waits }
    }

    /// Why a job waits, in numbers, and when it is expected to start; nothing about a job that does not
    /// wait.
    pub fn explain(&mut self, state: &State, job: JobId) -> Option<Explanation> {
        self.follower.follow(&mut self.planner, state);
        let (decisions, told) = self.planner.decide_and(state.now, |planner, pass| {
            let told = planner.explain(pass, job)?;
            if told.wait.is_some() {
                planner.forecast(pass, Reach { jobs: AHEAD, until: Some(job) });
            }
            Some(planner.expect(pass, job, told))
        });
        let mut told = told?;
        let basis = self.follower.basis();
        let breach = state.jobs.get(&job).and_then(|job| limits::breach(state, job, basis));
        told.limits.extend(breach.map(LimitUse::from));
        if told.wait.is_none() {
            let start = decisions.starts.iter().find(|start| start.job == job);
            told.expected = start.map(|start| begun(state, start));
        }
        Some(told)
    }

    /// Whether a job would start now; with how many minutes at most, where that is less than it asks for.
    pub(crate) fn would_start(&mut self, state: &State, job: JobId) -> Option<Option<u64>> {
        self.follower.follow(&mut self.planner, state);
        self.planner.longest = true;
        let decided = self.planner.decide(state.now);
        self.planner.longest = false;
        let start = decided.starts.iter().find(|start| start.job == job)?;
        Some(job_start(state, start, &mut BTreeMap::new())?.minutes)
    }

    /// When which of the first jobs is expected to start; those that start now among them.
    pub fn forecast(&mut self, state: &State, jobs: usize) -> BTreeMap<JobId, Promised> {
        self.follower.follow(&mut self.planner, state);
        let (decisions, held) = self.planner.decide_and(state.now, |planner, pass| {
            planner.forecast(pass, Reach { jobs, until: None });
            pass.held.clone()
        });
        let mut all = held;
        all.extend(decisions.forecast);
        for start in &decisions.starts {
            all.insert(start.job, begun(state, start));
        }
        all
    }
}

/// Nodes that a pass may look at to tell when further jobs are expected to start, and the most such jobs.
const LOOKS: usize = 20_000;
const TOLD: usize = 100;

fn displace(state: &State, job: JobId, how: Displaced) -> Option<Displace> {
    let epoch = state.jobs.get(&job)?.epoch;
    let how = match how {
        Displaced::Cancelled => Removal::Cancel,
        Displaced::Requeued => Removal::Requeue,
        Displaced::Suspended => Removal::Suspend,
    };
    Some(Displace { job, epoch, how })
}

/// Jobs ahead of one whose start is to be told that get a place first; further ones tell little.
const AHEAD: usize = 1000;

/// A start as a place that has come.
fn begun(state: &State, start: &Start) -> Promised {
    let threads =
        |node: &NodeName| state.nodes.get(node).map_or(1, |node| view::cores_of(state, node).1);
    let cpus = start.shares.iter().map(|it| it.cores.len() as u32 * threads(&it.node)).sum();
    let nodes = start.shares.iter().map(|share| share.node.clone()).collect();
    let (at, partition) = (state.now, start.partition.clone());
    Promised { at, partition, nodes, cpus, due: at, idle: 0 }
}

/// Tasks of an array that may start, in order.
type Tasks<'a> = Box<dyn Iterator<Item = u32> + 'a>;

/// What a job was chosen with. Components wait with the first one's priority, and each has its own.
fn priority_of(state: &State, job: JobId, waits: &Waits) -> Option<u32> {
    let looked_at_with = waits.priority(job);
    let job = state.jobs.get(&job)?;
    let rules = &state.settings.config.priority;
    if job.spec.priority.is_some()
        || job.component.is_none_or(|it| it.leads())
        || !priority::is_multifactor(rules)
    {
        return looked_at_with;
    }
    let facts = priority::facts(state, job, state.partition_of(job), &waits.basis);
    Some(Terms::of(&facts, rules).sum())
}

fn job_start<'a>(
    state: &'a State,
    start: &Start,
    tasks: &mut BTreeMap<JobId, Tasks<'a>>,
) -> Option<JobStart> {
    let job = state.jobs.get(&start.job)?;
    let task = match job.waiting_tasks() {
        None => None,
        Some(waiting) => {
            let ready = || -> Tasks<'a> {
                Box::new(waiting.ids().filter(|index| state.task_may_start(job, *index)))
            };
            Some(tasks.entry(start.job).or_insert_with(ready).next()?)
        }
    };
    let shards = view::asks_for_shards(&job.spec);
    let shares = start.shares.iter().filter_map(|it| share(state, it, shards)).collect();
    let epoch = job.epoch.next();
    let minutes = start.secs.map(|secs| (secs / 60).max(1) as u64);
    // Who would do with less time has what is left before the deadline.
    let lifecycle = job.spec.lifecycle();
    let left = lifecycle.deadline.map(|deadline| ((deadline - state.now.0) / 60).max(1) as u64);
    let asked = job.time_limit(state.partition(&start.partition)).number();
    let left =
        left.filter(|left| lifecycle.time_min.is_some() && asked.is_none_or(|it| *left < it));
    let minutes = minutes.into_iter().chain(left).min();
    let partition = start.partition.to_string();
    let allocation = Allocation { shares };
    let (priority, reason) = (None, None);
    Some(JobStart { job: start.job, epoch, task, allocation, partition, minutes, priority, reason })
}

/// What kept a job waiting until now, other than that others were first or had what it needs.
fn blocked_by(state: &State, told: &Waits, job: JobId) -> Option<u32> {
    let own = state.jobs.get(&job)?;
    let told = told.get(job).map(|wait| wait.reason);
    let begin = own.begin.filter(|begin| *begin > own.submitted).map(|_| Reason::BeginTime);
    let passing = [Reason::None, Reason::Priority, Reason::Resources];
    told.filter(|reason| !passing.contains(reason)).or(begin).map(Reason::number)
}

fn share(state: &State, given: &ViewShare, shards: bool) -> Option<Share> {
    let node = state.nodes.get(&given.node)?;
    let (_, threads) = view::cores_of(state, node);
    let cpus = given.cores.iter().flat_map(|core| (0..threads).map(move |it| core * threads + it));
    let cpu_ids: spur_core::idset::IdSet = cpus.collect();
    let mut held: Vec<GresShare> = Vec::new();
    let groups = view::gres_of(node);
    for (group, device, parts) in &given.devices {
        let it = groups.get(*group as usize)?;
        // Devices are counted over all of the name.
        let before = groups.iter().take(*group as usize).filter(|other| other.name == it.name);
        let id = before.map(|other| other.devices).sum::<u32>() + device;
        let is_part = it.shared && (shards || *parts < it.parts);
        let name = if is_part { gres::SHARD } else { &*it.name };
        let count = if is_part { u64::from(*parts) } else { 1 };
        match held.iter_mut().find(|other| other.name == name && other.kind == *it.model) {
            Some(other) => {
                other.count += count;
                other.ids = other.ids.iter().chain([id]).collect();
            }
            None => held.push(GresShare {
                name: name.to_string(),
                kind: it.model.to_string(),
                count,
                ids: [id].into_iter().collect(),
            }),
        }
    }
    Some(Share {
        node: given.node.clone(),
        cpus: cpu_ids.len(),
        cpu_ids,
        memory_mb: given.memory_mb,
        gres: held,
        tasks: given.units,
    })
}
