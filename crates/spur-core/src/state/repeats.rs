//! Requests that were carried out a short while ago: a client that heard no answer asks again, and what it
//! wants is done once. A refused request changed nothing and is looked at afresh.

use imbl::{OrdSet, Vector};

use super::{Command, Reply};
use crate::errors::SlurmError;
use crate::ids::Uid;
use crate::job::RequestId;
use crate::time::Timestamp;

/// Longer than any client asks again.
const KEPT_SECS: i64 = 3600;

/// Who asked, and the client's name for the request.
pub type Asked = (Uid, RequestId);

/// What was done lately. Jobs and steps remember the requests that made them themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repeats {
    done: OrdSet<Asked>,
    /// Oldest first.
    when: Vector<(Timestamp, Asked)>,
}

impl Repeats {
    /// The answer, if this was done already.
    pub(super) fn answer(&self, asked: Option<Asked>) -> Option<Result<Reply, SlurmError>> {
        self.done.contains(&asked?).then_some(Ok(Reply::Done))
    }

    /// Remembers that this was done, and forgets what is long past.
    pub fn remember(&mut self, now: Timestamp, asked: Asked) {
        while let Some((at, old)) = self.when.front().copied()
            && now.0.saturating_sub(at.0) > KEPT_SECS
        {
            self.when.pop_front();
            self.done.remove(&old);
        }
        self.done.insert(asked);
        self.when.push_back((now, asked));
    }

    /// Everything remembered, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Asked)> + '_ {
        self.when.iter().copied()
    }
}

impl Command {
    /// What names this request, if its client gave it a name and nothing else remembers it.
    pub(super) fn asked(&self) -> Option<Asked> {
        let (by, request) = match self {
            Command::Control(control) => (&control.by, control.request),
            Command::Administer(change) => (&change.by, change.request),
            _ => return None,
        };
        Some((by.uid()?, request?))
    }
}
