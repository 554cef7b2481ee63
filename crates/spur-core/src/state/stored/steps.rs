//! Steps as the log and snapshots keep them.

use std::sync::Arc;

use prost::Message;

use super::entry::{StoredActor, request_id};
use super::{Error, missing};
use crate::ids::{JobId, NodeName, StepId};
use crate::idset::IdSet;
use crate::job::{ExitStatus, Step, StepEnd, StepShare, Steps};
use crate::limit::Limit;
use crate::state::{Command, CreateStep};
use crate::step::StepSpec;
use crate::time::Timestamp;
use crate::views::Usage;

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredCreateStep {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(bytes = "vec", tag = "2")]
    request: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    spec: Option<StepSpec>,
    #[prost(message, optional, tag = "4")]
    by: Option<StoredActor>,
    #[prost(uint32, optional, tag = "5")]
    beside: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredEndStep {
    #[prost(uint32, tag = "1")]
    pub(super) job: u32,
    #[prost(uint32, tag = "2")]
    pub(super) step: u32,
    #[prost(message, optional, tag = "3")]
    pub(super) by: Option<StoredActor>,
    #[prost(message, optional, tag = "4")]
    pub(super) end: Option<StoredStepEnd>,
}

/// Asked, killed or timed out: 0, 1, 2.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredStepEnd {
    #[prost(uint32, tag = "1")]
    why: u32,
    #[prost(uint32, tag = "2")]
    by: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredEndAllocation {
    #[prost(uint32, tag = "1")]
    pub(super) job: u32,
    #[prost(uint32, tag = "2")]
    pub(super) exit_status: u32,
    #[prost(message, optional, tag = "3")]
    pub(super) by: Option<StoredActor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredSteps {
    #[prost(uint32, tag = "1")]
    next: u32,
    #[prost(message, repeated, tag = "2")]
    live: Vec<StoredStep>,
    #[prost(uint32, tag = "3")]
    derived_exit: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredStep {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(bytes = "vec", tag = "2")]
    request: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    spec: Option<StepSpec>,
    #[prost(int64, tag = "4")]
    since: i64,
    #[prost(message, repeated, tag = "5")]
    shares: Vec<StoredStepShare>,
    #[prost(uint32, tag = "7")]
    exit_status: u32,
    #[prost(int64, tag = "8")]
    paused_before: i64,
    #[prost(message, optional, tag = "9")]
    end: Option<StoredStepEnd>,
    #[prost(message, optional, tag = "10")]
    limit: Option<Limit>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredStepShare {
    #[prost(string, tag = "1")]
    node: String,
    #[prost(uint32, repeated, tag = "2")]
    ranks: Vec<u32>,
    #[prost(uint32, tag = "3")]
    cpus: u32,
    #[prost(uint32, tag = "4")]
    boot: u32,
    #[prost(bool, tag = "5")]
    over: bool,
    #[prost(message, optional, tag = "6")]
    usage: Option<Usage>,
    #[prost(message, optional, tag = "7")]
    cpu_ids: Option<IdSet>,
    /// Missing where it has all that its job has.
    #[prost(message, optional, tag = "8")]
    gpus: Option<IdSet>,
}

impl From<&CreateStep> for StoredCreateStep {
    fn from(create: &CreateStep) -> StoredCreateStep {
        StoredCreateStep {
            job: create.job.0,
            request: create.request.0.to_le_bytes().to_vec(),
            spec: Some(create.spec.clone()),
            by: Some((&create.by).into()),
            beside: create.beside.map(|step| step.0),
        }
    }
}

impl TryFrom<StoredCreateStep> for Command {
    type Error = Error;

    fn try_from(stored: StoredCreateStep) -> Result<Command, Error> {
        Ok(Command::CreateStep(Box::new(CreateStep {
            job: JobId(stored.job),
            request: request_id(&stored.request)?,
            spec: stored.spec.ok_or(missing("what the step asks for"))?,
            beside: stored.beside.map(StepId),
            by: stored.by.ok_or(missing("who makes the step"))?.try_into()?,
        })))
    }
}

impl TryFrom<StoredEndStep> for Command {
    type Error = Error;

    fn try_from(stored: StoredEndStep) -> Result<Command, Error> {
        Ok(Command::EndStep {
            job: JobId(stored.job),
            step: StepId(stored.step),
            end: stored.end.unwrap_or_default().try_into()?,
            by: stored.by.ok_or(missing("who ends the step"))?.try_into()?,
        })
    }
}

impl From<StepEnd> for StoredStepEnd {
    fn from(end: StepEnd) -> StoredStepEnd {
        let (why, by) = match end {
            StepEnd::Asked => (0, 0),
            StepEnd::Killed { by } => (1, by),
            StepEnd::TimeLimit => (2, 0),
        };
        StoredStepEnd { why, by }
    }
}

impl TryFrom<StoredStepEnd> for StepEnd {
    type Error = Error;

    fn try_from(stored: StoredStepEnd) -> Result<StepEnd, Error> {
        match stored.why {
            0 => Ok(StepEnd::Asked),
            1 => Ok(StepEnd::Killed { by: stored.by }),
            2 => Ok(StepEnd::TimeLimit),
            _ => Err(missing("why the step ends")),
        }
    }
}

impl TryFrom<StoredEndAllocation> for Command {
    type Error = Error;

    fn try_from(stored: StoredEndAllocation) -> Result<Command, Error> {
        Ok(Command::EndAllocation {
            job: JobId(stored.job),
            exit: ExitStatus::from_wait(stored.exit_status),
            by: stored.by.ok_or(missing("who gives the job back"))?.try_into()?,
        })
    }
}

impl From<&Steps> for StoredSteps {
    fn from(steps: &Steps) -> StoredSteps {
        StoredSteps {
            next: steps.next,
            live: steps.live.values().map(|step| (&**step).into()).collect(),
            derived_exit: steps.derived_exit.to_wait(),
        }
    }
}

impl TryFrom<StoredSteps> for Steps {
    type Error = Error;

    fn try_from(stored: StoredSteps) -> Result<Steps, Error> {
        let live = stored.live.into_iter().map(|step| {
            let step = Step::try_from(step)?;
            Ok((step.id, Arc::new(step)))
        });
        Ok(Steps {
            next: stored.next,
            live: live.collect::<Result<_, Error>>()?,
            derived_exit: ExitStatus::from_wait(stored.derived_exit),
            gone: Vec::new(),
        })
    }
}

impl From<&Step> for StoredStep {
    fn from(step: &Step) -> StoredStep {
        let share = |share: &StepShare| StoredStepShare {
            node: share.node.to_string(),
            ranks: share.ranks.clone(),
            cpus: share.cpus,
            boot: share.boot,
            over: share.over,
            usage: share.usage.as_deref().copied(),
            cpu_ids: (!share.cpu_ids.is_empty()).then(|| share.cpu_ids.clone()),
            gpus: share.gpus.clone(),
        };
        StoredStep {
            id: step.id.0,
            request: step.request.0.to_le_bytes().to_vec(),
            spec: step.spec.as_deref().cloned(),
            since: step.since.0,
            paused_before: step.paused_before,
            shares: step.shares.iter().map(share).collect(),
            limit: step.limit,
            end: step.end.map(StoredStepEnd::from),
            exit_status: step.exit.to_wait(),
        }
    }
}

impl TryFrom<StoredStep> for Step {
    type Error = Error;

    fn try_from(stored: StoredStep) -> Result<Step, Error> {
        let share = |share: StoredStepShare| StepShare {
            node: NodeName::from(share.node),
            ranks: share.ranks,
            cpus: share.cpus,
            boot: share.boot,
            over: share.over,
            usage: share.usage.map(Box::new),
            cpu_ids: share.cpu_ids.unwrap_or_default(),
            gpus: share.gpus,
        };
        Ok(Step {
            id: StepId(stored.id),
            request: request_id(&stored.request)?,
            spec: stored.spec.map(Arc::new),
            since: Timestamp(stored.since),
            paused_before: stored.paused_before,
            shares: stored.shares.into_iter().map(share).collect(),
            limit: stored.limit,
            end: stored.end.map(StepEnd::try_from).transpose()?,
            exit: ExitStatus::from_wait(stored.exit_status),
        })
    }
}
