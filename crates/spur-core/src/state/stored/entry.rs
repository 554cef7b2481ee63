//! Log entries.

use std::sync::Arc;

use prost::Message;

use super::control::{StoredAdminister, StoredControl};
use super::crontab::StoredSetCrontab;
use super::steps::{StoredCreateStep, StoredEndAllocation, StoredEndStep};
use super::trigger::{StoredClear, StoredNotices, StoredTrigger};
use super::trust::StoredChangeTrust;
use super::{Error, VERSION, check_version, missing};
use crate::auth::{Actor, Level};
use crate::blob::BlobHash;
use crate::config;
use crate::ids::{Epoch, Gid, JobId, NodeName, StepId, Uid};
use crate::idset::IdSet;
use crate::job::{Allocation, ExitStatus, GresShare, JobSpec, Owner, Removal, RequestId, Share};
use crate::node::Inventory;
use crate::state::{
    Blob, Command, Displace, Entry, Finish, JobStart, Origin, Outcome, RegisterNode, Settings,
    Submit,
};
use crate::time::Timestamp;
use crate::views::{RulesView, Usage};

/// Encodes the entries of one proposal.
pub fn encode_entries(entries: &[Entry]) -> Vec<u8> {
    let entries = entries.iter().map(StoredEntry::from).collect();
    StoredBatch { version: VERSION, entries }.encode_to_vec()
}

/// Decodes what [`encode_entries`] wrote, now or in an earlier release.
pub fn decode_entries(bytes: &[u8]) -> Result<Vec<Entry>, Error> {
    let batch = StoredBatch::decode(bytes)?;
    check_version(batch.version)?;
    batch.entries.into_iter().map(Entry::try_from).collect()
}

#[derive(Clone, PartialEq, Message)]
struct StoredBatch {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(message, repeated, tag = "2")]
    entries: Vec<StoredEntry>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredEntry {
    #[prost(int64, tag = "1")]
    at: i64,
    #[prost(fixed64, tag = "2")]
    life: u64,
    #[prost(uint64, tag = "3")]
    number: u64,
    #[prost(
        oneof = "StoredCommand",
        tags = "10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 50, 60, 61, 62, 70, 80, 81, 82, 83"
    )]
    command: Option<StoredCommand>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum StoredCommand {
    #[prost(message, tag = "10")]
    Configure(StoredSettings),
    #[prost(message, tag = "11")]
    RegisterNode(Box<StoredNodeSeen>),
    #[prost(string, tag = "12")]
    NodeLost(String),
    #[prost(message, tag = "13")]
    Submit(Box<StoredSubmit>),
    #[prost(message, tag = "14")]
    Start(StoredStarts),
    #[prost(message, tag = "16")]
    TimeUp(StoredRun),
    #[prost(message, tag = "17")]
    Finished(StoredFinished),
    #[prost(int64, tag = "18")]
    Purge(i64),
    #[prost(message, tag = "50")]
    SetRules(Box<RulesView>),
    #[prost(message, tag = "60")]
    CreateStep(Box<StoredCreateStep>),
    #[prost(message, tag = "61")]
    EndStep(StoredEndStep),
    #[prost(message, tag = "62")]
    EndAllocation(StoredEndAllocation),
    #[prost(message, tag = "20")]
    Control(Box<StoredControl>),
    #[prost(message, tag = "21")]
    Administer(Box<StoredAdminister>),
    #[prost(message, tag = "22")]
    Warn(StoredRun),
    #[prost(uint32, tag = "23")]
    DeadlinePassed(u32),
    #[prost(message, tag = "70")]
    ChangeTrust(Box<StoredChangeTrust>),
    #[prost(bool, tag = "24")]
    ReservationsPassed(bool),
    #[prost(bool, tag = "30")]
    RebootsDue(bool),
    #[prost(message, tag = "31")]
    Once(Box<StoredOnce>),
    #[prost(message, tag = "25")]
    Preempt(StoredVictims),
    #[prost(message, tag = "26")]
    GraceOver(StoredRun),
    #[prost(message, tag = "27")]
    GiveUp(StoredGivenUp),
    #[prost(message, tag = "28")]
    AnotherPort(StoredPort),
    #[prost(message, tag = "29")]
    Accrue(StoredJobs),
    #[prost(message, tag = "80")]
    SetCrontab(Box<StoredSetCrontab>),
    #[prost(message, tag = "81")]
    SetTrigger(Box<StoredTrigger>),
    #[prost(message, tag = "82")]
    ClearTriggers(StoredClear),
    #[prost(message, tag = "83")]
    Noticed(StoredNotices),
}

/// A command that its client gave a name to.
#[derive(Clone, PartialEq, Message)]
struct StoredOnce {
    #[prost(uint32, tag = "1")]
    by: u32,
    #[prost(bytes = "vec", tag = "2")]
    request: Vec<u8>,
    /// Missing where there is nothing left to do.
    #[prost(
        oneof = "StoredCommand",
        tags = "10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 50, 60, 61, 62, 70, 80, 81, 82, 83"
    )]
    command: Option<StoredCommand>,
}

/// Jobs by their numbers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredJobs {
    #[prost(uint32, repeated, tag = "1")]
    jobs: Vec<u32>,
}

/// The replicated part of the configuration, as the file would say it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredSettings {
    #[prost(string, tag = "1")]
    toml: String,
    #[prost(bool, tag = "2")]
    accounting: bool,
}

#[derive(Clone, PartialEq, Message)]
struct StoredNodeSeen {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    inventory: Inventory,
    #[prost(string, tag = "3")]
    boot_id: String,
}

#[derive(Clone, PartialEq, Message)]
struct StoredPort {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(uint32, tag = "2")]
    epoch: u32,
    #[prost(uint32, tag = "3")]
    taken: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredGivenUp {
    #[prost(string, tag = "1")]
    node: String,
    #[prost(message, repeated, tag = "2")]
    runs: Vec<StoredRun>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredSubmit {
    #[prost(bytes = "vec", tag = "1")]
    request: Vec<u8>,
    #[prost(uint32, tag = "2")]
    uid: u32,
    #[prost(uint32, tag = "3")]
    gid: u32,
    #[prost(string, tag = "4")]
    user_name: String,
    #[prost(message, optional, tag = "5")]
    spec: Option<JobSpec>,
    #[prost(bytes = "vec", tag = "6")]
    script: Vec<u8>,
    #[prost(bytes = "vec", tag = "7")]
    environment: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    blobs: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "9")]
    others: Vec<JobSpec>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredStarts {
    #[prost(message, repeated, tag = "1")]
    starts: Vec<StoredStart>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredStart {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(uint32, tag = "2")]
    epoch: u32,
    #[prost(message, repeated, tag = "3")]
    shares: Vec<StoredShare>,
    #[prost(uint32, optional, tag = "4")]
    task: Option<u32>,
    #[prost(string, tag = "5")]
    partition: String,
    #[prost(uint64, optional, tag = "6")]
    minutes: Option<u64>,
    #[prost(uint32, optional, tag = "7")]
    priority: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    reason: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredShare {
    #[prost(string, tag = "1")]
    node: String,
    #[prost(uint32, tag = "2")]
    cpus: u32,
    #[prost(message, required, tag = "3")]
    cpu_ids: IdSet,
    #[prost(uint64, tag = "4")]
    memory_mb: u64,
    #[prost(message, repeated, tag = "5")]
    gres: Vec<GresShare>,
    #[prost(uint32, tag = "6")]
    tasks: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredActor {
    /// 0 anonymous, 1 user, 2 node, 3 controller.
    #[prost(uint32, tag = "1")]
    kind: u32,
    #[prost(uint32, tag = "2")]
    uid: u32,
    #[prost(uint32, tag = "3")]
    gid: u32,
    /// 0 none, 1 operator, 2 administrator.
    #[prost(uint32, tag = "4")]
    level: u32,
    #[prost(string, tag = "5")]
    node: String,
    /// Accounts that a user looks after.
    #[prost(string, repeated, tag = "6")]
    coordinates: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredRun {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(uint32, tag = "2")]
    epoch: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredVictims {
    #[prost(message, repeated, tag = "1")]
    victims: Vec<StoredVictim>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredVictim {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(uint32, tag = "2")]
    epoch: u32,
    #[prost(bool, tag = "3")]
    requeue: bool,
    /// 0 as the other says, 1 it sleeps, 2 it goes on.
    #[prost(uint32, tag = "4")]
    sleep: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredFinished {
    #[prost(string, tag = "1")]
    node: String,
    #[prost(message, repeated, tag = "2")]
    finishes: Vec<StoredFinish>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredFinish {
    #[prost(uint32, tag = "1")]
    job: u32,
    #[prost(uint32, tag = "2")]
    epoch: u32,
    /// 0 exited, 1 could not start, 2 lost; the rest as below.
    #[prost(uint32, tag = "3")]
    outcome: u32,
    #[prost(uint32, tag = "4")]
    exit_status: u32,
    /// Missing: the batch script.
    #[prost(uint32, optional, tag = "10")]
    step: Option<u32>,
    #[prost(message, optional, tag = "41")]
    usage: Option<Usage>,
    #[prost(string, tag = "42")]
    said: String,
}

impl From<&Entry> for StoredEntry {
    fn from(entry: &Entry) -> StoredEntry {
        StoredEntry {
            at: entry.at.0,
            life: entry.origin.life,
            number: entry.origin.number,
            command: Some((&entry.command).into()),
        }
    }
}

impl From<&Command> for StoredCommand {
    fn from(command: &Command) -> StoredCommand {
        match command {
            Command::Configure(settings) => StoredCommand::Configure(settings.into()),
            Command::RegisterNode(node) => StoredCommand::RegisterNode(Box::new(StoredNodeSeen {
                name: node.name.to_string(),
                inventory: node.inventory.clone(),
                boot_id: node.boot_id.clone(),
            })),
            Command::NodeLost { node } => StoredCommand::NodeLost(node.to_string()),
            Command::Submit(submit) => StoredCommand::Submit(Box::new((&**submit).into())),
            Command::SetCrontab(table) => StoredCommand::SetCrontab(Box::new((&**table).into())),
            Command::SetTrigger(trigger) => {
                StoredCommand::SetTrigger(Box::new((&**trigger).into()))
            }
            Command::ClearTriggers(clear) => StoredCommand::ClearTriggers(clear.into()),
            Command::Noticed(notices) => {
                StoredCommand::Noticed(StoredNotices { notices: notices.clone() })
            }
            Command::Start(starts) => StoredCommand::Start(StoredStarts {
                starts: starts
                    .iter()
                    .map(|start| StoredStart {
                        job: start.job.0,
                        epoch: start.epoch.0,
                        task: start.task,
                        shares: stored_shares(&start.allocation),
                        partition: start.partition.clone(),
                        minutes: start.minutes,
                        priority: start.priority,
                        reason: start.reason,
                    })
                    .collect(),
            }),
            Command::TimeUp { job, epoch } => {
                StoredCommand::TimeUp(StoredRun { job: job.0, epoch: epoch.0 })
            }
            Command::Finished { node, finishes } => StoredCommand::Finished(StoredFinished {
                node: node.to_string(),
                finishes: finishes.iter().map(StoredFinish::from).collect(),
            }),
            Command::Purge { before } => StoredCommand::Purge(before.0),
            Command::CreateStep(create) => StoredCommand::CreateStep(Box::new((&**create).into())),
            Command::EndStep { job, step, end, by } => StoredCommand::EndStep(StoredEndStep {
                job: job.0,
                step: step.0,
                end: Some((*end).into()),
                by: Some(by.into()),
            }),
            Command::EndAllocation { job, exit, by } => {
                StoredCommand::EndAllocation(StoredEndAllocation {
                    job: job.0,
                    exit_status: exit.to_wait(),
                    by: Some(by.into()),
                })
            }
            Command::Control(control) => StoredCommand::Control(Box::new((&**control).into())),
            Command::Administer(change) => StoredCommand::Administer(Box::new((&**change).into())),
            Command::Warn { job, epoch } => {
                StoredCommand::Warn(StoredRun { job: job.0, epoch: epoch.0 })
            }
            Command::DeadlinePassed { job } => StoredCommand::DeadlinePassed(job.0),
            Command::ChangeTrust(change) => {
                StoredCommand::ChangeTrust(Box::new((&**change).into()))
            }
            Command::SetRules(rules) => StoredCommand::SetRules(rules.clone()),
            Command::Once { by, request, command } => StoredCommand::Once(Box::new(StoredOnce {
                by: by.0,
                request: request.0.to_le_bytes().to_vec(),
                command: command.as_deref().map(StoredCommand::from),
            })),
            Command::ReservationsPassed => StoredCommand::ReservationsPassed(true),
            Command::RebootsDue => StoredCommand::RebootsDue(true),
            Command::Accrue(jobs) => {
                StoredCommand::Accrue(StoredJobs { jobs: jobs.iter().map(|job| job.0).collect() })
            }
            Command::Preempt(victims) => StoredCommand::Preempt(StoredVictims {
                victims: victims
                    .iter()
                    .map(|victim| StoredVictim {
                        job: victim.job.0,
                        epoch: victim.epoch.0,
                        requeue: victim.how == Removal::Requeue,
                        sleep: match victim.how {
                            Removal::Cancel | Removal::Requeue => 0,
                            Removal::Suspend => 1,
                            Removal::Resume => 2,
                            Removal::Pause => 3,
                            Removal::Turn => 4,
                        },
                    })
                    .collect(),
            }),
            Command::AnotherPort { job, epoch, taken } => StoredCommand::AnotherPort(StoredPort {
                job: job.0,
                epoch: epoch.0,
                taken: u32::from(*taken),
            }),
            Command::GiveUp { node, runs } => StoredCommand::GiveUp(StoredGivenUp {
                node: node.to_string(),
                runs: runs
                    .iter()
                    .map(|(job, epoch)| StoredRun { job: job.0, epoch: epoch.0 })
                    .collect(),
            }),
            Command::GraceOver { job, epoch } => {
                StoredCommand::GraceOver(StoredRun { job: job.0, epoch: epoch.0 })
            }
        }
    }
}

impl TryFrom<StoredEntry> for Entry {
    type Error = Error;

    fn try_from(stored: StoredEntry) -> Result<Entry, Error> {
        let command = stored.command.ok_or(missing("the command"))?.try_into()?;
        let origin = Origin { life: stored.life, number: stored.number };
        Ok(Entry { at: Timestamp(stored.at), origin, command })
    }
}

impl TryFrom<StoredCommand> for Command {
    type Error = Error;

    fn try_from(stored: StoredCommand) -> Result<Command, Error> {
        Ok(match stored {
            StoredCommand::Configure(settings) => Command::Configure(settings.try_into()?),
            StoredCommand::RegisterNode(node) => Command::RegisterNode(RegisterNode {
                name: NodeName::from(node.name),
                inventory: node.inventory,
                boot_id: node.boot_id,
            }),
            StoredCommand::NodeLost(node) => Command::NodeLost { node: NodeName::from(node) },
            StoredCommand::Submit(submit) => Command::Submit(Box::new((*submit).try_into()?)),
            StoredCommand::Start(starts) => Command::Start(
                starts
                    .starts
                    .into_iter()
                    .map(|start| JobStart {
                        job: JobId(start.job),
                        epoch: Epoch(start.epoch),
                        task: start.task,
                        allocation: allocation(start.shares),
                        partition: start.partition,
                        minutes: start.minutes,
                        priority: start.priority,
                        reason: start.reason,
                    })
                    .collect(),
            ),
            StoredCommand::TimeUp(run) => {
                Command::TimeUp { job: JobId(run.job), epoch: Epoch(run.epoch) }
            }
            StoredCommand::Finished(finished) => Command::Finished {
                node: NodeName::from(finished.node),
                finishes: finished
                    .finishes
                    .into_iter()
                    .map(Finish::try_from)
                    .collect::<Result<_, _>>()?,
            },
            StoredCommand::Purge(before) => Command::Purge { before: Timestamp(before) },
            StoredCommand::CreateStep(create) => (*create).try_into()?,
            StoredCommand::EndStep(end) => end.try_into()?,
            StoredCommand::EndAllocation(end) => end.try_into()?,
            StoredCommand::Control(control) => (*control).try_into()?,
            StoredCommand::Administer(change) => (*change).try_into()?,
            StoredCommand::Warn(run) => {
                Command::Warn { job: JobId(run.job), epoch: Epoch(run.epoch) }
            }
            StoredCommand::DeadlinePassed(job) => Command::DeadlinePassed { job: JobId(job) },
            StoredCommand::ChangeTrust(change) => {
                Command::ChangeTrust(Box::new((*change).try_into()?))
            }
            StoredCommand::SetCrontab(table) => Command::SetCrontab(Box::new((*table).try_into()?)),
            StoredCommand::SetTrigger(trigger) => {
                Command::SetTrigger(Box::new((*trigger).try_into()?))
            }
            StoredCommand::ClearTriggers(clear) => Command::ClearTriggers(clear.try_into()?),
            StoredCommand::Noticed(stored) => Command::Noticed(stored.notices),
            StoredCommand::SetRules(rules) => Command::SetRules(rules),
            StoredCommand::Once(once) => Command::Once {
                by: Uid(once.by),
                request: request_id(&once.request)?,
                command: once.command.map(|it| it.try_into().map(Box::new)).transpose()?,
            },
            StoredCommand::ReservationsPassed(_) => Command::ReservationsPassed,
            StoredCommand::RebootsDue(_) => Command::RebootsDue,
            StoredCommand::Accrue(stored) => {
                Command::Accrue(stored.jobs.into_iter().map(JobId).collect())
            }
            StoredCommand::Preempt(stored) => Command::Preempt(
                stored
                    .victims
                    .into_iter()
                    .map(|victim| Displace {
                        job: JobId(victim.job),
                        epoch: Epoch(victim.epoch),
                        how: match (victim.sleep, victim.requeue) {
                            (1, _) => Removal::Suspend,
                            (2, _) => Removal::Resume,
                            (3, _) => Removal::Pause,
                            (4, _) => Removal::Turn,
                            (_, true) => Removal::Requeue,
                            (_, false) => Removal::Cancel,
                        },
                    })
                    .collect(),
            ),
            StoredCommand::AnotherPort(stored) => Command::AnotherPort {
                job: JobId(stored.job),
                epoch: Epoch(stored.epoch),
                taken: u16::try_from(stored.taken).map_err(|_| missing("a port"))?,
            },
            StoredCommand::GiveUp(stored) => Command::GiveUp {
                node: NodeName::from(stored.node),
                runs: stored.runs.iter().map(|run| (JobId(run.job), Epoch(run.epoch))).collect(),
            },
            StoredCommand::GraceOver(run) => {
                Command::GraceOver { job: JobId(run.job), epoch: Epoch(run.epoch) }
            }
        })
    }
}

impl From<&Settings> for StoredSettings {
    fn from(settings: &Settings) -> StoredSettings {
        StoredSettings { toml: settings.config.to_toml(), accounting: settings.accounting }
    }
}

impl TryFrom<StoredSettings> for Settings {
    type Error = Error;

    fn try_from(stored: StoredSettings) -> Result<Settings, Error> {
        let config = config::read(&stored.toml);
        let config = config.map_err(|problems| Error::Garbled(problems.to_string()))?;
        let mut settings = Settings::of(&config);
        settings.accounting = stored.accounting;
        Ok(settings)
    }
}

impl From<&Submit> for StoredSubmit {
    fn from(submit: &Submit) -> StoredSubmit {
        StoredSubmit {
            request: submit.request.0.to_le_bytes().to_vec(),
            uid: submit.owner.uid.0,
            gid: submit.owner.gid.0,
            user_name: submit.owner.name.clone(),
            spec: Some(submit.spec.clone()),
            script: submit.script.0.to_vec(),
            environment: submit.environment.0.to_vec(),
            blobs: submit.blobs.iter().map(|blob| blob.bytes.clone()).collect(),
            others: submit.others.clone(),
        }
    }
}

impl TryFrom<StoredSubmit> for Submit {
    type Error = Error;

    fn try_from(stored: StoredSubmit) -> Result<Submit, Error> {
        Ok(Submit {
            request: request_id(&stored.request)?,
            owner: Owner { uid: Uid(stored.uid), gid: Gid(stored.gid), name: stored.user_name },
            spec: stored.spec.ok_or(missing("what is asked for"))?,
            script: hash(&stored.script)?,
            environment: hash(&stored.environment)?,
            blobs: stored.blobs.into_iter().map(|bytes| Blob { bytes }).collect(),
            others: stored.others,
        })
    }
}

impl From<&Actor> for StoredActor {
    fn from(actor: &Actor) -> StoredActor {
        match actor {
            Actor::Anonymous => StoredActor::default(),
            Actor::User { uid, gid, level, coordinates } => StoredActor {
                kind: 1,
                uid: uid.0,
                gid: gid.0,
                level: *level as u32,
                coordinates: coordinates.to_vec(),
                ..StoredActor::default()
            },
            Actor::Node(node) => {
                StoredActor { kind: 2, node: node.to_string(), ..StoredActor::default() }
            }
            Actor::Controller => StoredActor { kind: 3, ..StoredActor::default() },
        }
    }
}

impl TryFrom<StoredActor> for Actor {
    type Error = Error;

    fn try_from(stored: StoredActor) -> Result<Actor, Error> {
        let level = match stored.level {
            0 => Level::None,
            1 => Level::Operator,
            2 => Level::Administrator,
            other => return Err(Error::Garbled(format!("{other} is no level"))),
        };
        match stored.kind {
            0 => Ok(Actor::Anonymous),
            1 => Ok(Actor::User {
                uid: Uid(stored.uid),
                gid: Gid(stored.gid),
                level,
                coordinates: Arc::new(stored.coordinates),
            }),
            2 => Ok(Actor::Node(NodeName::from(stored.node))),
            3 => Ok(Actor::Controller),
            other => Err(Error::Garbled(format!("{other} is no kind of caller"))),
        }
    }
}

impl From<&Finish> for StoredFinish {
    fn from(finish: &Finish) -> StoredFinish {
        let (outcome, exit_status) = match finish.outcome {
            Outcome::Exited(exit) => (0, exit.to_wait()),
            Outcome::CouldNotStart => (1, 0),
            Outcome::Lost => (2, 0),
            Outcome::OutOfMemory => (3, 0),
            Outcome::PrologFailed => (4, 0),
            Outcome::EpilogFailed => (5, 0),
            Outcome::NodeFault => (6, 0),
            Outcome::ShepherdLost => (7, 0),
        };
        let step = (finish.step != StepId::BATCH).then_some(finish.step.0);
        StoredFinish {
            job: finish.job.0,
            epoch: finish.epoch.0,
            outcome,
            exit_status,
            step,
            usage: finish.usage.as_deref().copied(),
            said: finish.said.clone(),
        }
    }
}

impl TryFrom<StoredFinish> for Finish {
    type Error = Error;

    fn try_from(stored: StoredFinish) -> Result<Finish, Error> {
        let outcome = match stored.outcome {
            0 => Outcome::Exited(ExitStatus::from_wait(stored.exit_status)),
            1 => Outcome::CouldNotStart,
            2 => Outcome::Lost,
            3 => Outcome::OutOfMemory,
            4 => Outcome::PrologFailed,
            5 => Outcome::EpilogFailed,
            6 => Outcome::NodeFault,
            7 => Outcome::ShepherdLost,
            other => return Err(Error::Garbled(format!("{other} is no outcome"))),
        };
        let step = stored.step.map_or(StepId::BATCH, StepId);
        Ok(Finish {
            job: JobId(stored.job),
            epoch: Epoch(stored.epoch),
            step,
            outcome,
            usage: stored.usage.map(Box::new),
            said: stored.said,
        })
    }
}

pub(super) fn stored_shares(allocation: &Allocation) -> Vec<StoredShare> {
    let share = |share: &Share| StoredShare {
        node: share.node.to_string(),
        cpus: share.cpus,
        cpu_ids: share.cpu_ids.clone(),
        memory_mb: share.memory_mb,
        gres: share.gres.clone(),
        tasks: share.tasks,
    };
    allocation.shares.iter().map(share).collect()
}

pub(super) fn allocation(shares: Vec<StoredShare>) -> Allocation {
    let share = |share: StoredShare| Share {
        node: NodeName::from(share.node),
        cpus: share.cpus,
        cpu_ids: share.cpu_ids,
        memory_mb: share.memory_mb,
        gres: share.gres,
        tasks: share.tasks,
    };
    Allocation { shares: shares.into_iter().map(share).collect() }
}

pub(super) fn request_id(bytes: &[u8]) -> Result<RequestId, Error> {
    let bytes = bytes.try_into().map_err(|_| missing("the request id"))?;
    Ok(RequestId(u128::from_le_bytes(bytes)))
}

pub(super) fn hash(bytes: &[u8]) -> Result<BlobHash, Error> {
    BlobHash::from_bytes(bytes).ok_or(missing("a blob's hash"))
}
