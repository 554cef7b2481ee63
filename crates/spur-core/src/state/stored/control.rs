//! What is done to jobs, nodes and partitions, in the log.

use prost::Message;

use super::entry::{StoredActor, request_id};
use super::{Error, missing};
use crate::ids::{JobId, StepId};
use crate::job::{ArraySpec, RequestId};
use crate::limit::Limit;
use crate::state::{Administer, Assignment, Command, Control, JobAction, Noun, SignalScope, Verb};

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredControl {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(message, optional, tag = "2")]
    tasks: Option<ArraySpec>,
    #[prost(message, optional, tag = "3")]
    by: Option<StoredActor>,
    /// Empty if the client gave none.
    #[prost(bytes = "vec", tag = "4")]
    request: Vec<u8>,
    #[prost(oneof = "StoredAction", tags = "10, 11, 12, 13, 14, 15, 16, 17, 18, 19")]
    action: Option<StoredAction>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum StoredAction {
    #[prost(bool, tag = "10")]
    Cancel(bool),
    #[prost(message, tag = "11")]
    Signal(StoredSignal),
    /// Whether as the user's.
    #[prost(bool, tag = "12")]
    Hold(bool),
    #[prost(bool, tag = "13")]
    Release(bool),
    /// Whether to be held.
    #[prost(bool, tag = "14")]
    Requeue(bool),
    #[prost(bool, tag = "15")]
    Suspend(bool),
    #[prost(bool, tag = "16")]
    Resume(bool),
    #[prost(message, tag = "17")]
    Update(StoredUpdate),
    #[prost(message, tag = "18")]
    LimitSteps(StoredStepLimit),
    #[prost(bool, tag = "19")]
    RequeueSpecial(bool),
}

#[derive(Clone, PartialEq, Message)]
struct StoredStepLimit {
    /// Missing where all are meant.
    #[prost(uint32, optional, tag = "1")]
    step: Option<u32>,
    #[prost(message, optional, tag = "2")]
    limit: Option<Limit>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredSignal {
    #[prost(uint32, tag = "1")]
    signal: u32,
    /// 0 steps, 1 batch, 2 full.
    #[prost(uint32, tag = "2")]
    scope: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredUpdate {
    #[prost(message, repeated, tag = "1")]
    assignments: Vec<Assignment>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredAdminister {
    /// 0 node, 1 partition, 2 reservation.
    #[prost(uint32, tag = "1")]
    noun: u32,
    /// 0 create, 1 update, 2 delete.
    #[prost(uint32, tag = "2")]
    verb: u32,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(message, repeated, tag = "4")]
    assignments: Vec<Assignment>,
    #[prost(message, optional, tag = "5")]
    by: Option<StoredActor>,
    /// Empty if the client gave none.
    #[prost(bytes = "vec", tag = "6")]
    request: Vec<u8>,
}

fn stored_name(request: Option<RequestId>) -> Vec<u8> {
    request.map_or_else(Vec::new, |request| request.0.to_le_bytes().to_vec())
}

fn name(stored: &[u8]) -> Result<Option<RequestId>, Error> {
    (!stored.is_empty()).then(|| request_id(stored)).transpose()
}

impl From<&Control> for StoredControl {
    fn from(control: &Control) -> StoredControl {
        let action = match &control.action {
            JobAction::Cancel => StoredAction::Cancel(true),
            JobAction::Signal { signal, scope } => {
                StoredAction::Signal(StoredSignal { signal: *signal, scope: *scope as u32 })
            }
            JobAction::Hold { as_user } => StoredAction::Hold(*as_user),
            JobAction::Release => StoredAction::Release(true),
            JobAction::Requeue { hold } => StoredAction::Requeue(*hold),
            JobAction::RequeueSpecial => StoredAction::RequeueSpecial(true),
            JobAction::Suspend => StoredAction::Suspend(true),
            JobAction::Resume => StoredAction::Resume(true),
            JobAction::Update(assignments) => {
                StoredAction::Update(StoredUpdate { assignments: assignments.clone() })
            }
            JobAction::LimitSteps { step, limit } => StoredAction::LimitSteps(StoredStepLimit {
                step: step.map(|step| step.0),
                limit: Some(*limit),
            }),
        };
        StoredControl {
            job: control.job.0,
            tasks: control.tasks.clone(),
            by: Some((&control.by).into()),
            request: stored_name(control.request),
            action: Some(action),
        }
    }
}

impl TryFrom<StoredControl> for Command {
    type Error = Error;

    fn try_from(stored: StoredControl) -> Result<Command, Error> {
        let action = match stored.action.ok_or(missing("what is to be done"))? {
            StoredAction::Cancel(_) => JobAction::Cancel,
            StoredAction::Signal(signal) => JobAction::Signal {
                signal: signal.signal,
                scope: match signal.scope {
                    0 => SignalScope::Steps,
                    1 => SignalScope::Batch,
                    2 => SignalScope::Full,
                    other => return Err(Error::Garbled(format!("{other} is no scope"))),
                },
            },
            StoredAction::Hold(as_user) => JobAction::Hold { as_user },
            StoredAction::Release(_) => JobAction::Release,
            StoredAction::Requeue(hold) => JobAction::Requeue { hold },
            StoredAction::RequeueSpecial(_) => JobAction::RequeueSpecial,
            StoredAction::Suspend(_) => JobAction::Suspend,
            StoredAction::Resume(_) => JobAction::Resume,
            StoredAction::Update(update) => JobAction::Update(update.assignments),
            StoredAction::LimitSteps(it) => JobAction::LimitSteps {
                step: it.step.map(StepId),
                limit: it.limit.ok_or(missing("for how long a step may run"))?,
            },
        };
        Ok(Command::Control(Box::new(Control {
            job: JobId(stored.job),
            tasks: stored.tasks,
            action,
            by: stored.by.ok_or(missing("who wants it"))?.try_into()?,
            request: name(&stored.request)?,
        })))
    }
}

impl From<&Administer> for StoredAdminister {
    fn from(change: &Administer) -> StoredAdminister {
        StoredAdminister {
            noun: change.noun as u32,
            verb: change.verb as u32,
            name: change.name.clone(),
            assignments: change.assignments.clone(),
            by: Some((&change.by).into()),
            request: stored_name(change.request),
        }
    }
}

impl TryFrom<StoredAdminister> for Command {
    type Error = Error;

    fn try_from(stored: StoredAdminister) -> Result<Command, Error> {
        let noun = match stored.noun {
            0 => Noun::Node,
            1 => Noun::Partition,
            2 => Noun::Reservation,
            other => return Err(Error::Garbled(format!("{other} is no kind of thing"))),
        };
        let verb = match stored.verb {
            0 => Verb::Create,
            1 => Verb::Update,
            2 => Verb::Delete,
            other => return Err(Error::Garbled(format!("{other} is nothing to do"))),
        };
        Ok(Command::Administer(Box::new(Administer {
            noun,
            verb,
            name: stored.name,
            assignments: stored.assignments,
            by: stored.by.ok_or(missing("who wants it"))?.try_into()?,
            request: name(&stored.request)?,
        })))
    }
}
