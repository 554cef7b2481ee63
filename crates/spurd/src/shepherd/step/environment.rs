//! The variables of a task: what `srun` sent, what Slurm tells on top, and what programs that train
//! models look for.

use std::collections::BTreeMap;
use std::ffi::CString;

use spur_core::hostlist;
use spur_core::jobenv::{self, GpuFacts, HereFacts, JobFacts, StepFacts, TaskFacts};
use spur_core::step::StepSpec;
use spur_proto::internal::{Launch, StepLaunch, StepProgram};

use super::program::tasks_per_node;
use crate::shepherd::environment as batch;

/// Everything but what differs between tasks.
pub struct Environment {
    sent: BTreeMap<Vec<u8>, Vec<u8>>,
    job: JobFacts,
    step: StepFacts,
    here: HereFacts,
    ranks_here: Vec<u32>,
    first_node: String,
    marker: String,
}

impl Environment {
    /// Of a node's part of a step.
    pub fn new(
        launch: &Launch,
        step: &StepLaunch,
        spec: &StepSpec,
        asked: &StepProgram,
        marker: &str,
        gpus: Option<GpuFacts>,
    ) -> Environment {
        let sent = batch::submitted(&asked.environment);
        let job_spec = launch.spec.clone().unwrap_or_default();
        let request = spec.request.as_deref().cloned().unwrap_or_default();
        let mut job = batch::facts(launch, &job_spec, &sent);
        (job.start_time, job.end_time) = (launch.started, launch.ends);
        let here = step.nodes.get(step.node_id as usize).cloned().unwrap_or_default();
        let names: Vec<&str> = step.nodes.iter().map(|node| node.node.as_str()).collect();
        let facts = StepFacts {
            step_id: step.step,
            nodes: hostlist::compress(names.iter().copied()),
            tasks_per_node: tasks_per_node(step),
            cpus_per_task: request.cpus_per_task,
            tasks_per_node_asked: request.ntasks_per_node,
            distribution: distribution(&request.layout().distribution, step, asked),
            label: spec.label,
            overcommit: request.layout().overcommit,
            launcher_address: asked.launcher_address.clone(),
            launcher_port: u16::try_from(asked.launcher_port).unwrap_or(0),
            umask: asked.umask.unwrap_or(0o022),
            debug_level: asked.debug_level,
            inside_allocation: asked.inside_allocation,
            ..StepFacts::default()
        };
        Environment {
            sent,
            job,
            step: facts,
            here: HereFacts {
                node: here.node.clone(),
                node_id: step.node_id,
                cpus: here.cpus,
                gpus,
                ..HereFacts::default()
            },
            ranks_here: here.ranks,
            first_node: names.first().map(ToString::to_string).unwrap_or_default(),
            marker: marker.to_string(),
        }
    }

    /// As `execve` wants it.
    pub fn of_task(&self, rank: u32, pid: u32, more: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<CString> {
        let local_rank = self.ranks_here.iter().position(|it| *it == rank).unwrap_or(0) as u32;
        let task = TaskFacts {
            here: self.here.clone(),
            rank,
            local_rank,
            ranks_here: self.ranks_here.clone(),
            pid,
        };
        let mut variables = self.sent.clone();
        for (name, value) in jobenv::task(&self.job, &self.step, &task) {
            variables.insert(name.into_bytes(), value.into_bytes());
        }
        for (name, value) in self.rendezvous(rank, local_rank) {
            variables.entry(name.as_bytes().to_vec()).or_insert(value.into_bytes());
        }
        variables.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some((name, value)) = self.marker.split_once('=') {
            variables.insert(name.into(), value.into());
        }
        let entry = |(name, value): (Vec<u8>, Vec<u8>)| [name, value].join(&b'=');
        variables.into_iter().filter_map(|variable| CString::new(entry(variable)).ok()).collect()
    }

    /// A variable that the launcher sent.
    pub fn sent(&self, name: &str) -> Option<&[u8]> {
        self.sent.get(name.as_bytes()).map(Vec::as_slice)
    }

    /// What programs on several processors find each other by; the user's own values are left alone.
    fn rendezvous(&self, rank: u32, local_rank: u32) -> Vec<(&'static str, String)> {
        let tasks: u32 = self.step.tasks_per_node.iter().sum();
        if tasks < 2 {
            return Vec::new();
        }
        vec![
            ("MASTER_ADDR", self.first_node.clone()),
            ("MASTER_PORT", rendezvous_port(self.job.job_id, self.step.step_id).to_string()),
            ("WORLD_SIZE", tasks.to_string()),
            ("RANK", rank.to_string()),
            ("LOCAL_RANK", local_rank.to_string()),
            ("NODE_RANK", self.here.node_id.to_string()),
        ]
    }
}

/// As asked for; inside an allocation Slurm tells its own choice too.
fn distribution(said: &str, step: &StepLaunch, asked: &StepProgram) -> String {
    let tasks: u32 = tasks_per_node(step).iter().sum();
    match (said, asked.inside_allocation) {
        ("", true) if tasks as usize <= step.nodes.len() => "cyclic".to_string(),
        ("", true) => "block".to_string(),
        (said, _) => said.to_string(),
    }
}

/// The same on every node of a step, and seldom the same for two steps: below the ports that systems hand
/// out by themselves.
fn rendezvous_port(job: u32, step: u32) -> u16 {
    let mixed = job.wrapping_mul(2_654_435_761).wrapping_add(step.wrapping_mul(40_503));
    12_000 + (mixed % 18_000) as u16
}
