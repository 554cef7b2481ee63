//! Requests that were carried out a short while ago: a client that heard no answer asks again, and what it
//! wants is done once. A refused request changed nothing and is looked at afresh.

use imbl::{OrdMap, Vector};

use super::{Command, Reply};
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
    done: OrdMap<Asked, Reply>,
    /// Oldest first.
    when: Vector<(Timestamp, Asked)>,
}

impl Repeats {
    /// The answer it got, if this was done already.
    pub fn answer(&self, asked: Asked) -> Option<&Reply> {
        self.done.get(&asked)
    }

    /// Remembers that this was done, and forgets what is long past.
    pub fn remember(&mut self, now: Timestamp, asked: Asked, reply: Reply) {
        while let Some((at, old)) = self.when.front().copied()
            && now.0.saturating_sub(at.0) > KEPT_SECS
        {
            self.when.pop_front();
            self.done.remove(&old);
        }
        self.done.insert(asked, reply);
        self.when.push_back((now, asked));
    }

    /// Everything remembered, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Asked, &Reply)> + '_ {
        let reply = |asked: &Asked| self.done.get(asked).unwrap_or(&Reply::Done);
        self.when.iter().map(move |(at, asked)| (*at, *asked, reply(asked)))
    }
}

impl Command {
    /// The same under a client's name for it, so that it is done once.
    pub fn once(self, by: Option<Uid>, request: Option<RequestId>) -> Command {
        match (by, request) {
            (Some(by), Some(request)) => {
                Command::Once { by, request, command: Some(Box::new(self)) }
            }
            _ => self,
        }
    }

    /// What names this request, if its client gave it a name and nothing else remembers it; and what is asked for.
    pub(super) fn asked(&self) -> (Option<Asked>, &Command) {
        let (by, request) = match self {
            Command::Control(control) => (control.by.uid(), control.request),
            Command::Administer(change) => (change.by.uid(), change.request),
            Command::Once { by, request, command } => {
                return (Some((*by, *request)), command.as_deref().unwrap_or(self));
            }
            _ => (None, None),
        };
        (by.zip(request), self)
    }

    /// What is asked for, without the client's name for it.
    pub fn plain(&self) -> &Command {
        self.asked().1
    }
}
