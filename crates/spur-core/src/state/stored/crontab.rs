//! Crontabs, in the log and in snapshots.

use prost::Message;

use super::entry::{StoredActor, StoredSubmit};
use super::{Error, missing};
use crate::ids::{Gid, JobId, Uid};
use crate::job::Owner;
use crate::state::{CronLine, Crontab, NewLine, SetCrontab};

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredCrontab {
    #[prost(uint32, tag = "1")]
    pub(super) uid: u32,
    #[prost(string, tag = "2")]
    text: String,
    #[prost(message, repeated, tag = "3")]
    lines: Vec<StoredLine>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredLine {
    #[prost(uint32, tag = "1")]
    first: u32,
    #[prost(uint32, tag = "2")]
    last: u32,
    #[prost(string, tag = "3")]
    when: String,
    /// In snapshots.
    #[prost(uint32, tag = "4")]
    job: u32,
    /// In the log.
    #[prost(message, optional, boxed, tag = "5")]
    submit: Option<Box<StoredSubmit>>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredSetCrontab {
    #[prost(message, optional, tag = "1")]
    by: Option<StoredActor>,
    #[prost(uint32, tag = "2")]
    uid: u32,
    #[prost(uint32, tag = "3")]
    gid: u32,
    #[prost(string, tag = "4")]
    user_name: String,
    #[prost(string, tag = "5")]
    text: String,
    #[prost(message, repeated, tag = "6")]
    lines: Vec<StoredLine>,
}

impl From<(Uid, &Crontab)> for StoredCrontab {
    fn from((uid, table): (Uid, &Crontab)) -> StoredCrontab {
        let line = |line: &CronLine| StoredLine {
            first: line.first,
            last: line.last,
            when: line.when.clone(),
            job: line.job.0,
            submit: None,
        };
        let lines = table.lines.iter().map(line).collect();
        StoredCrontab { uid: uid.0, text: table.text.clone(), lines }
    }
}

impl From<StoredCrontab> for Crontab {
    fn from(stored: StoredCrontab) -> Crontab {
        let line = |line: StoredLine| CronLine {
            first: line.first,
            last: line.last,
            when: line.when,
            job: JobId(line.job),
        };
        Crontab { text: stored.text, lines: stored.lines.into_iter().map(line).collect() }
    }
}

impl From<&SetCrontab> for StoredSetCrontab {
    fn from(set: &SetCrontab) -> StoredSetCrontab {
        let line = |line: &NewLine| StoredLine {
            first: line.first,
            last: line.last,
            when: line.when.clone(),
            job: 0,
            submit: Some(Box::new((&line.submit).into())),
        };
        StoredSetCrontab {
            by: Some((&set.by).into()),
            uid: set.owner.uid.0,
            gid: set.owner.gid.0,
            user_name: set.owner.name.clone(),
            text: set.text.clone(),
            lines: set.lines.iter().map(line).collect(),
        }
    }
}

impl TryFrom<StoredSetCrontab> for SetCrontab {
    type Error = Error;

    fn try_from(stored: StoredSetCrontab) -> Result<SetCrontab, Error> {
        let line = |line: StoredLine| {
            let submit = line.submit.ok_or(missing("what a line asks for"))?;
            let submit = (*submit).try_into()?;
            Ok(NewLine { first: line.first, last: line.last, when: line.when, submit })
        };
        Ok(SetCrontab {
            by: stored.by.ok_or(missing("who wants it"))?.try_into()?,
            owner: Owner { uid: Uid(stored.uid), gid: Gid(stored.gid), name: stored.user_name },
            text: stored.text,
            lines: stored.lines.into_iter().map(line).collect::<Result<_, Error>>()?,
        })
    }
}
