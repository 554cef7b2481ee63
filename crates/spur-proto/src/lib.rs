//! The wire: messages and services generated from `proto/`, and clients.

use spur_core::ids::{Epoch, JobId, StepId};

pub mod address;
pub mod caller;
pub mod client;
pub mod credential;
pub mod crowd;
pub mod door;
pub mod enrol;
pub mod entrance;
pub mod proof;
pub mod rlimit;
pub mod seats;
pub mod status;
pub mod step_io;
pub mod watchdog;

/// The public surface, package `slurm`.
pub mod slurm {
    #![allow(missing_docs, clippy::all)]
    pub use spur_core::job::JobSpec;
    pub use spur_core::limit::Limit;
    pub use spur_core::views::job::JobNodeShare;
    pub use spur_core::views::{
        AccountingRecord, AccountingView, JobView, NodeView, PartitionView,
    };
    tonic::include_proto!("slurm");
}

/// Between controller and agents.
pub mod internal {
    #![allow(missing_docs, clippy::all)]
    tonic::include_proto!("spur.internal");
}

/// The compiled descriptors of everything above, for tests that walk methods and messages.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// A number over a set of runs, the same in whatever order they come: controller and agent compare
/// it with every heartbeat, and their tables only when it differs.
pub fn digest(runs: impl Iterator<Item = (JobId, Epoch, StepId)>) -> u64 {
    // SplitMix64's finisher: every bit of the run moves every bit of the number.
    let mix = |bits: u64| {
        let mut bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    };
    let run = |(job, epoch, step): (JobId, Epoch, StepId)| {
        mix(mix(u64::from(job.0) << 32 | u64::from(epoch.0)) ^ u64::from(step.0))
    };
    runs.map(run).fold(0, u64::wrapping_add)
}

/// The step a message names; what names none is about the batch script.
pub fn step_of(named: Option<u32>) -> StepId {
    named.map_or(StepId::BATCH, StepId)
}

/// How a message names a step.
pub fn step_name(step: StepId) -> Option<u32> {
    (step != StepId::BATCH).then_some(step.0)
}

#[cfg(test)]
mod tests;
