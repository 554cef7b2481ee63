//! What a run uses at this moment, for `sstat`.

use std::path::Path;

use anyhow::{Context, Result};
use prost::Message;
use spur_core::ids::StepId;
use spur_core::views::{GpuUsage, TaskUsage, Usage};
use spur_proto::internal::{Launch, StepUsage};

use crate::agent::RunFile;
use crate::claim::Claim;
use crate::confine;
use crate::gpu::{GpuFiles, usage};
use crate::machine::measure;
use crate::machine::processes::{self, Process};
use crate::run::RunId;

/// Looks at the processes below the run's shepherd. Blocks for as long as `/proc` takes.
pub fn measured(spool: &Path, run: RunId) -> Result<StepUsage> {
    let claim = Claim::read(spool, run)?.context("this node knows no such step")?;
    let all = processes::all();
    let is_task = |it: &&Process| it.parent == claim.pid && it.session == it.pid;
    let mut answer = StepUsage::default();
    let mut sum = Usage::default();
    let mut gpu = gpus(spool, run);
    for task in all.iter().filter(is_task) {
        let rank = match run.step {
            StepId::BATCH | StepId::EXTERN => 0,
            _ => processes::variable(task.pid, "SLURM_PROCID")
                .and_then(|rank| rank.parse().ok())
                .unwrap_or(0),
        };
        let tree = processes::family(&all, |process| process.pid == task.pid);
        // All of it counts for the first task, as at the end.
        let used = TaskUsage { gpu: gpu.take(), ..measure::together(&tree) };
        sum.user_micros += used.user_micros;
        sum.system_micros += used.system_micros;
        sum.add(rank, &used);
        answer.pids.extend(tree.iter().map(|process| process.pid as u32));
    }
    answer.usage = Some(sum);
    Ok(answer)
}

/// What the GPUs do that the run was given.
fn gpus(spool: &Path, run: RunId) -> Option<GpuUsage> {
    let launch = std::fs::read(spool.join(RunFile::Launch.name(run))).ok()?;
    let launch = Launch::decode(launch.as_slice()).ok()?;
    let facts = GpuFiles::read(spool).facts(&confine::given(&launch), false);
    usage::read(&usage::gauges(facts.as_ref()))
}
