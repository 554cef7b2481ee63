//! What a node is told of a run that it is to begin.

use std::sync::Arc;

use prost::Message;
use spur_core::ids::{NodeName, StepId};
use spur_core::job::{Allocation, Job, Phase, Share, Step, StepShare};
use spur_core::rlimit;
use spur_core::state::{Command, Finish, State};
use spur_core::step::layout;
use spur_disk::Disk;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_proto::internal::{Component, Launch, Launches, NodeShare, StepLaunch, StepNode};

use super::super::proposals::Waiter;
use super::super::{Controller, confinement, duties, hooks, sampling};
use crate::store;

impl<D: Disk> Controller<D> {
    pub(super) fn launch_message(
        &mut self,
        job: &Job,
        step: &Step,
        node: &NodeName,
    ) -> Result<Option<Launch>, store::Error> {
        let Phase::Running { since, allocation } = &job.phase else { return Ok(None) };
        let (script, environment) = match step.id {
            StepId::BATCH => (self.blobs.get(job.script)?, self.blobs.get(job.environment)?),
            _ => Default::default(),
        };
        if step.id == StepId::BATCH && (script.is_none() || environment.is_none()) {
            tracing::error!(
                job = job.id.0,
                "its script or environment is gone: it cannot be launched"
            );
            let finish = Finish::lost(job.id, job.epoch, step.id);
            let command = Command::Finished { node: node.clone(), finishes: vec![finish] };
            self.proposals.add(command, Waiter::Nobody);
            return Ok(None);
        }
        let partition_of = |job: &Job| {
            let partition = self.state.partition_of(job).map(|partition| partition.name.clone());
            partition.unwrap_or_default()
        };
        let component = |job: &Arc<Job>| Component {
            job: job.id.0,
            spec: Some(self.state.asked_and_given(job)),
            partition: partition_of(job),
            shares: job.phase.holds().map(|held| node_shares(held)).unwrap_or_default(),
        };
        // Tasks of all components of a job find each other at the first.
        let leader = job.component.and_then(|it| self.state.jobs.get(&it.leader));
        let leader = leader.map_or(job, |leader| leader);
        let batch = job.component.filter(|_| step.id == StepId::BATCH).into_iter();
        let components = batch.flat_map(|it| self.state.components(it)).map(component).collect();
        Ok(Some(Launch {
            job: job.id.0,
            epoch: job.epoch.0,
            uid: job.owner.uid.0,
            gid: job.owner.gid.0,
            user_name: job.owner.name.clone(),
            spec: Some(self.state.asked_and_given(job)),
            script: script.unwrap_or_default(),
            environment: environment.unwrap_or_default(),
            step: step_launch(step, node),
            started: since.0,
            ends: duties::ends_at(&self.state, job).map_or(0, |end| end.0),
            cluster_name: self.state.settings.cluster_name.clone(),
            // The agent knows where it has heard of it.
            working_cluster: String::new(),
            topology: self.agents.network.address(&self.state.settings.config, node),
            partition: partition_of(job),
            harden: self.state.partition_of(job).is_some_and(|it| it.rules.harden),
            components,
            shares: node_shares(allocation),
            submitted: job.submitted.0,
            kill_wait_secs: Some(self.state.settings.kill_wait_secs),
            confinement: {
                let here = allocation.shares.iter().find(|share| share.node == *node);
                here.or(allocation.shares.first()).map(|share| {
                    let rules = &self.state.settings.config.cgroup;
                    confinement::of(rules, share, memory_asked(step, node), &self.state)
                })
            },
            array_task: job.task(),
            array_job: job.array_id().map_or(0, |array| array.0),
            restarts: job.restarts,
            fence_secs: job.granted.fence_secs,
            // Where nobody else has been told the port yet, another can be had.
            check_port: job.id == leader.id
                && allocation.first_node() == Some(node)
                && (step.shares.len() == 1 && step.id != StepId::EXTERN),
            master_address: master_address(
                &self.state,
                leader.phase.holds().and_then(|it| it.first_node()),
            ),
            master_port: leader.granted.port.map_or(0, u32::from),
            sample_secs: sampling::period(&self.state.settings.config, &job.spec),
            hooks: hooks::of(&self.state.settings.config.hooks),
            let_through: {
                let jobs = &self.state.settings.config.jobs;
                let names =
                    rlimit::let_through(&jobs.propagate_limits, &jobs.propagate_limits_except);
                names.into_iter().map(str::to_string).collect()
            },
        }))
    }
}

/// A name of the node that other machines know: several nodes of one machine share that machine's.
fn master_address(state: &State, node: Option<&NodeName>) -> String {
    let Some(name) = node else { return String::new() };
    let told = state.nodes.get(name).map_or("", |node| node.inventory.address.as_str());
    if told.is_empty() { name.to_string() } else { told.to_string() }
}

fn node_shares(held: &Allocation) -> Vec<NodeShare> {
    let share = |share: &Share| NodeShare {
        node: share.node.to_string(),
        cpus: share.cpus,
        cpu_ids: Some(share.cpu_ids.clone()),
        memory_mb: share.memory_mb,
        gres: share.gres.clone(),
        tasks: share.tasks,
    };
    held.shares.iter().map(share).collect()
}

/// What a step asks for of its job's memory there.
fn memory_asked(step: &Step, node: &NodeName) -> Option<u64> {
    let request = step.spec.as_ref()?.request.as_deref()?;
    let share = step.shares.iter().find(|share| share.node == *node)?;
    layout::memory_asked(request, share.cpus)
}

/// A node's part of a step; nothing for a batch script.
fn step_launch(step: &Step, node: &NodeName) -> Option<StepLaunch> {
    if step.id == StepId::BATCH {
        return None;
    }
    let on_node = |share: &StepShare| StepNode {
        node: share.node.to_string(),
        ranks: share.ranks.clone(),
        cpus: share.cpus,
        cpu_ids: Some(share.cpu_ids.clone()),
        gpus: share.gpus.clone(),
    };
    let node_id = step.shares.iter().position(|share| share.node == *node)? as u32;
    let nodes = step.shares.iter().map(on_node).collect();
    Some(StepLaunch { step: step.id.0, spec: step.spec.as_deref().cloned(), nodes, node_id })
}

/// As many launches to a message as an agent takes in; each carries a script and an environment.
pub(super) fn launch_messages(session: u64, term: u64, launches: Vec<Launch>) -> Vec<AgentHears> {
    let mut messages: Vec<Launches> = Vec::new();
    let mut size = usize::MAX;
    for launch in launches {
        let more = launch.encoded_len();
        if size.saturating_add(more) > LAUNCH_BYTES {
            messages.push(Launches { session, term, launches: Vec::new() });
            size = 0;
        }
        size += more;
        if let Some(message) = messages.last_mut() {
            message.launches.push(launch);
        }
    }
    messages.into_iter().map(AgentHears::Launches).collect()
}

/// Together at most this much; a single one is bounded by the limits of a submission.
const LAUNCH_BYTES: usize = 4 << 20;
