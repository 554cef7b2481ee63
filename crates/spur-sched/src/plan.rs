//! Plans about the controllers' state.

use std::collections::BTreeMap;

use spur_core::ids::JobId;
use spur_core::job::{Allocation, GresShare, Share};
use spur_core::state::{JobStart, State};

use crate::decision::{Decisions, Start};
use crate::view::{Follower, ViewShare};
use crate::waits::Waits;
use crate::{planner, view};

/// A decision for every pending job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What should start now.
    pub starts: Vec<JobStart>,
    /// Why each other one waits.
    pub waits: Waits,
}

/// Makes plans. A plan is a proposal: whoever applies it checks again.
#[derive(Debug, Default)]
pub struct Planner {
    follower: Follower,
    planner: planner::Planner,
}

impl Planner {
    /// Decides about every pending job. What was learnt from the state before is kept: the more two
    /// states have in common, the less there is to do.
    pub fn plan(&mut self, state: &State) -> Plan {
        self.follower.follow(&mut self.planner, state);
        let Decisions { starts, waits, .. } = self.planner.decide(state.now);
        let mut tasks = BTreeMap::new();
        let starts = starts.iter().filter_map(|start| job_start(state, start, &mut tasks));
        Plan { starts: starts.collect(), waits }
    }
}

/// Tasks of an array that may start, in order.
type Tasks<'a> = Box<dyn Iterator<Item = u32> + 'a>;

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
    let shares = start.shares.iter().filter_map(|it| share(state, it)).collect();
    let epoch = job.epoch.next();
    Some(JobStart { job: start.job, epoch, task, allocation: Allocation { shares } })
}

fn share(state: &State, given: &ViewShare) -> Option<Share> {
    let node = state.nodes.get(&given.node)?;
    let (_, threads) = view::cores_of(node);
    let cpus = given.cores.iter().flat_map(|core| (0..threads).map(move |it| core * threads + it));
    let cpu_ids: spur_core::idset::IdSet = cpus.collect();
    let mut gres: Vec<GresShare> = Vec::new();
    let groups = view::gres_of(node);
    for (group, device, parts) in &given.devices {
        let it = groups.get(*group as usize)?;
        // Devices are counted over all of the name.
        let before = groups.iter().take(*group as usize).filter(|other| other.name == it.name);
        let id = before.map(|other| other.devices).sum::<u32>() + device;
        let is_part = it.parts > 1 && *parts < it.parts;
        let name = if is_part { "shard" } else { &*it.name };
        let count = if is_part { u64::from(*parts) } else { 1 };
        match gres.iter_mut().find(|other| other.name == name && other.kind == *it.model) {
            Some(other) => {
                other.count += count;
                other.ids = other.ids.iter().chain([id]).collect();
            }
            None => gres.push(GresShare {
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
        gres,
        tasks: given.units,
    })
}
