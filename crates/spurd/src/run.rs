//! Which step of which run of which job: the name of everything an agent cares for.

use std::fmt;

use spur_core::ids::{Epoch, JobId, StepId};
use spur_proto::internal::{Launch, Report, Run};
use spur_proto::{step_name, step_of};

/// A node's part of a step, in a run of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// Which job.
    pub job: JobId,
    /// Which run of it.
    pub epoch: Epoch,
    /// Which step of it.
    pub step: StepId,
}

impl RunId {
    /// A batch script.
    pub fn batch(job: JobId, epoch: Epoch) -> RunId {
        RunId { job, epoch, step: StepId::BATCH }
    }

    /// Reads the run in the name of one of its files: `JOB.EPOCH`, `JOB.EPOCH.STEP`, and whatever follows.
    pub fn parse(name: &str) -> Option<RunId> {
        let mut parts = name.split('.');
        let job = JobId(parts.next()?.parse().ok()?);
        let epoch = Epoch(parts.next()?.parse().ok()?);
        let step = parts.next().and_then(|step| step.parse().ok()).map_or(StepId::BATCH, StepId);
        Some(RunId { job, epoch, step })
    }

    /// As messages name it.
    pub fn message(self) -> Run {
        Run { job: self.job.0, epoch: self.epoch.0, step: step_name(self.step) }
    }

    /// All of it, for comparing tables.
    pub fn parts(self) -> (JobId, Epoch, StepId) {
        (self.job, self.epoch, self.step)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            StepId::BATCH => write!(f, "{}.{}", self.job, self.epoch),
            StepId(step) => write!(f, "{}.{}.{step}", self.job, self.epoch),
        }
    }
}

impl From<&Run> for RunId {
    fn from(run: &Run) -> RunId {
        RunId { job: JobId(run.job), epoch: Epoch(run.epoch), step: step_of(run.step) }
    }
}

impl From<&Report> for RunId {
    fn from(report: &Report) -> RunId {
        RunId { job: JobId(report.job), epoch: Epoch(report.epoch), step: step_of(report.step) }
    }
}

impl From<&Launch> for RunId {
    fn from(launch: &Launch) -> RunId {
        let step = launch.step.as_ref().map(|step| step.step);
        RunId { job: JobId(launch.job), epoch: Epoch(launch.epoch), step: step_of(step) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let batch = RunId::batch(JobId(7), Epoch(2));
        let step = RunId { step: StepId(3), ..batch };
        assert_eq!(RunId::parse(&format!("{batch}.launch")), Some(batch));
        assert_eq!(RunId::parse(&format!("{step}.launch")), Some(step));
        assert_eq!(RunId::parse(&batch.to_string()), Some(batch));
        assert_eq!(RunId::parse("outbox"), None);
    }
}
