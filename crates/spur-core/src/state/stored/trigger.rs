//! Triggers, in the log and in snapshots.

use prost::Message;

use super::entry::StoredActor;
use super::{Error, missing};
use crate::ids::{Gid, JobId, Uid};
use crate::job::Owner;
use crate::state::{ClearTriggers, Which};
use crate::time::Timestamp;
use crate::trigger::{Notice, Seen, Subject, Trigger};

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredTrigger {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(uint32, tag = "2")]
    uid: u32,
    #[prost(uint32, tag = "3")]
    gid: u32,
    #[prost(string, tag = "4")]
    user_name: String,
    /// 0 nodes, 1 a job, 2 the controllers.
    #[prost(uint32, tag = "5")]
    about: u32,
    #[prost(uint32, tag = "6")]
    job: u32,
    #[prost(string, repeated, tag = "7")]
    nodes: Vec<String>,
    #[prost(uint32, tag = "8")]
    events: u32,
    #[prost(sint32, tag = "9")]
    offset_secs: i32,
    #[prost(string, tag = "10")]
    program: String,
    #[prost(bool, tag = "11")]
    permanent: bool,
    #[prost(int64, tag = "12")]
    since: i64,
    #[prost(message, repeated, tag = "13")]
    seen: Vec<Seen>,
    #[prost(int64, optional, tag = "14")]
    happened: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredClear {
    #[prost(message, optional, tag = "1")]
    by: Option<StoredActor>,
    #[prost(uint32, optional, tag = "2")]
    id: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    job: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    uid: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredNotices {
    #[prost(message, repeated, tag = "1")]
    pub(super) notices: Vec<Notice>,
}

impl From<&Trigger> for StoredTrigger {
    fn from(trigger: &Trigger) -> StoredTrigger {
        let (about, job, nodes) = match &trigger.about {
            Subject::Nodes(nodes) => (0, 0, nodes.clone()),
            Subject::Job(job) => (1, job.0, Vec::new()),
            Subject::Controller => (2, 0, Vec::new()),
        };
        StoredTrigger {
            id: trigger.id,
            uid: trigger.owner.uid.0,
            gid: trigger.owner.gid.0,
            user_name: trigger.owner.name.clone(),
            about,
            job,
            nodes,
            events: trigger.events,
            offset_secs: trigger.offset_secs,
            program: trigger.program.clone(),
            permanent: trigger.permanent,
            since: trigger.since.0,
            seen: trigger.seen.clone(),
            happened: trigger.happened.map(|at| at.0),
        }
    }
}

impl TryFrom<StoredTrigger> for Trigger {
    type Error = Error;

    fn try_from(stored: StoredTrigger) -> Result<Trigger, Error> {
        let about = match stored.about {
            0 => Subject::Nodes(stored.nodes),
            1 => Subject::Job(JobId(stored.job)),
            2 => Subject::Controller,
            other => return Err(Error::Garbled(format!("{other} has no triggers"))),
        };
        Ok(Trigger {
            id: stored.id,
            owner: Owner { uid: Uid(stored.uid), gid: Gid(stored.gid), name: stored.user_name },
            about,
            events: stored.events,
            offset_secs: stored.offset_secs,
            program: stored.program,
            permanent: stored.permanent,
            since: Timestamp(stored.since),
            seen: stored.seen,
            happened: stored.happened.map(Timestamp),
        })
    }
}

impl From<&ClearTriggers> for StoredClear {
    fn from(clear: &ClearTriggers) -> StoredClear {
        let Which { id, job, uid } = clear.which;
        StoredClear { by: Some((&clear.by).into()), id, job, uid }
    }
}

impl TryFrom<StoredClear> for ClearTriggers {
    type Error = Error;

    fn try_from(stored: StoredClear) -> Result<ClearTriggers, Error> {
        let by = stored.by.ok_or(missing("who wants it"))?.try_into()?;
        let which = Which { id: stored.id, job: stored.job, uid: stored.uid };
        Ok(ClearTriggers { by, which })
    }
}
