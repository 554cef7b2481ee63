//! What a pass decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::time::Timestamp;

use crate::view::{Displaced, RunId, ViewShare};
use crate::waits::{Promised, Waits};

/// A decision for every pending job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// What starts now.
    pub starts: Vec<Start>,
    /// What must go so that a job can start.
    pub preempts: Vec<Preempt>,
    /// What sleeps and goes on now.
    pub wakes: Vec<RunId>,
    /// Why each other one waits.
    pub waits: Waits,
    /// When further jobs are expected to start, where the pass was asked to find out.
    pub forecast: BTreeMap<JobId, Promised>,
    /// There were more starts than a pass makes.
    pub cut_short: bool,
}

/// A start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Which job.
    pub job: JobId,
    /// The how manieth task of it in this pass.
    pub task: u32,
    /// In which of its partitions.
    pub partition: Arc<str>,
    /// What it gets, in rank order.
    pub shares: Vec<ViewShare>,
    /// Threads used of each core.
    pub threads: u32,
    /// For how long, where that is less than was asked for.
    pub secs: Option<i64>,
    /// When it is over at the latest: at its limit, or with its reservation.
    pub end: Timestamp,
}

/// Running jobs that must go for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preempt {
    /// The job that waits for it.
    pub job: JobId,
    /// Who, and what becomes of each.
    pub victims: Vec<(RunId, Displaced)>,
}
