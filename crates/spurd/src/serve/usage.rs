//! What a run uses at this moment, for `sstat`.

use std::path::Path;

use anyhow::{Context, Result};
use spur_core::ids::StepId;
use spur_core::views::Usage;
use spur_proto::internal::StepUsage;

use crate::claim::Claim;
use crate::machine::measure;
use crate::machine::processes::{self, Process};
use crate::run::RunId;

/// Looks at the processes below the run's shepherd. Blocks for as long as `/proc` takes.
pub fn measured(spool: &Path, run: RunId) -> Result<StepUsage> {
    let claim = Claim::read(spool, run)?.context("this node knows no such step")?;
    let all = processes::all();
    let is_task = |it: &&Process| it.parent == claim.pid && it.session == it.pid;
    let mut answer = StepUsage::default();
    let mut usage = Usage::default();
    for task in all.iter().filter(is_task) {
        let rank = match run.step {
            StepId::BATCH | StepId::EXTERN => 0,
            _ => processes::variable(task.pid, "SLURM_PROCID")
                .and_then(|rank| rank.parse().ok())
                .unwrap_or(0),
        };
        let tree = processes::family(&all, |process| process.pid == task.pid);
        let used = measure::together(&tree);
        usage.user_micros += used.user_micros;
        usage.system_micros += used.system_micros;
        usage.add(rank, &used);
        answer.pids.extend(tree.iter().map(|process| process.pid as u32));
    }
    answer.usage = Some(usage);
    Ok(answer)
}
