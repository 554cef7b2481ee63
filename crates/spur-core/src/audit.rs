//! The audit log: who did what, and who was turned away. Every record carries the hash of the one before, so
//! that nothing can be changed or taken out of the middle unseen.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::auth::Actor;
use crate::state::{Command, JobAction, Noun, Reply, TrustChange, Verb};
use crate::time::Timestamp;

/// What is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub at: Timestamp,
    /// Who, as the channel proved it.
    pub who: String,
    /// What.
    pub what: String,
    /// What came of it.
    pub outcome: String,
}

/// The file beside the records that tells where they end.
pub const END_FILE: &str = "end";

/// The end of a chain: what the next record is tied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The number of the last record.
    pub number: u64,
    /// Its hash.
    pub hash: String,
}

/// The end as it is written beside the records.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.hash)
    }
}

impl FromStr for End {
    type Err = ();

    fn from_str(text: &str) -> Result<End, ()> {
        let (number, hash) = text.trim_end().split_once(' ').ok_or(())?;
        Ok(End { number: number.parse().map_err(|_| ())?, hash: hash.to_string() })
    }
}

impl Default for End {
    fn default() -> End {
        End { number: 0, hash: "0".repeat(64) }
    }
}

/// The record as a line, and the chain's new end.
pub fn tie(end: &End, record: &Record) -> (String, End) {
    let number = end.number + 1;
    let Record { at, who, what, outcome } = record;
    let body = json!([number, at.0, who, what, outcome, end.hash]).to_string();
    let hash = hash(&body);
    let line = json!({
        "number": number, "at": at.0, "who": who, "what": what, "outcome": outcome,
        "before": end.hash, "hash": hash,
    });
    (format!("{line}\n"), End { number, hash })
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It is none.
    #[error("the line after record {0} is no record")]
    Unreadable(u64),
    /// Its number is not the next.
    #[error("record {expected} is missing: {found} comes after the one before it")]
    Missing {
        /// The number that would be next.
        expected: u64,
        /// The number that is.
        found: u64,
    },
    /// It is tied to another one than the one before it.
    #[error("what stood before record {0} was changed")]
    Before(u64),
    /// It is not what it was.
    #[error("record {0} was changed")]
    Changed(u64),
    /// The log was longer.
    #[error("the end was cut off: record {last} was written, and the last one is {found}")]
    Cut {
        /// The number of the last record that is known to have been written.
        last: u64,
        /// The number of the last one there is.
        found: u64,
    },
}

/// Reads a line and checks that it goes on from `end`.
pub fn check(end: &End, line: &str) -> Result<(Record, End), Broken> {
    let fields: Map<String, Value> =
        serde_json::from_str(line).map_err(|_| Broken::Unreadable(end.number))?;
    let text = |name: &str| {
        let value = fields.get(name).and_then(Value::as_str);
        value.map(str::to_string).ok_or(Broken::Unreadable(end.number))
    };
    let number =
        |name: &str| fields.get(name).and_then(Value::as_i64).ok_or(Broken::Unreadable(end.number));
    let found = u64::try_from(number("number")?).map_err(|_| Broken::Unreadable(end.number))?;
    if found != end.number + 1 {
        return Err(Broken::Missing { expected: end.number + 1, found });
    }
    if text("before")? != end.hash {
        return Err(Broken::Before(found));
    }
    let record = Record {
        at: Timestamp(number("at")?),
        who: text("who")?,
        what: text("what")?,
        outcome: text("outcome")?,
    };
    let (_, tied) = tie(end, &record);
    if tied.hash != text("hash")? {
        return Err(Broken::Changed(found));
    }
    Ok((record, tied))
}

/// The end of a chain as its last line tells, without looking at what came before.
pub fn end_of(line: &str) -> Option<End> {
    let fields: Map<String, Value> = serde_json::from_str(line).ok()?;
    let number = fields.get("number")?.as_u64()?;
    Some(End { number, hash: fields.get("hash")?.as_str()?.to_string() })
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Who, in a word.
pub fn who(actor: &Actor) -> String {
    match actor {
        Actor::Anonymous => "nobody".to_string(),
        Actor::User { uid, .. } => format!("uid {uid}"),
        Actor::Node(node) if node.as_str().is_empty() => "a node of this machine".to_string(),
        Actor::Node(node) => format!("node {node}"),
        Actor::Controller => "controller".to_string(),
    }
}

/// Who wants a command, and what it is, in words; nothing for what the controller does by itself. No text
/// that could hold a secret is repeated: scripts, environments, values, hashes.
pub fn describe(command: &Command) -> Option<(String, String)> {
    let (by, what) = match command.plain() {
        Command::Submit(submit) => {
            return Some((format!("uid {}", submit.owner.uid), "submit".to_string()));
        }
        Command::Control(control) => {
            let verb = match &control.action {
                JobAction::Cancel => "cancel".to_string(),
                JobAction::Signal { signal, .. } => format!("signal {signal} to"),
                JobAction::Hold { .. } => "hold".to_string(),
                JobAction::Release => "release".to_string(),
                JobAction::Requeue { .. } | JobAction::RequeueSpecial => "requeue".to_string(),
                JobAction::Suspend => "suspend".to_string(),
                JobAction::Resume => "resume".to_string(),
                JobAction::LimitSteps { .. } => "limit steps of".to_string(),
                JobAction::Update(assignments) => format!("update {} of", keys(assignments)),
            };
            (&control.by, format!("{verb} job {}", control.job))
        }
        Command::Administer(change) => {
            let verb = match change.verb {
                Verb::Create => "create",
                Verb::Update => "update",
                Verb::Delete => "delete",
            };
            let noun = match change.noun {
                Noun::Node => "node",
                Noun::Partition => "partition",
                Noun::Reservation => "reservation",
            };
            let keys = keys(&change.assignments);
            (&change.by, format!("{verb} {noun} {} {keys}", change.name).trim_end().to_string())
        }
        Command::CreateStep(create) => (&create.by, format!("make a step in job {}", create.job)),
        Command::SetCrontab(table) => {
            (&table.by, format!("set the crontab of uid {}", table.owner.uid))
        }
        Command::SetTrigger(trigger) => {
            return Some((format!("uid {}", trigger.owner.uid), "set a trigger".to_string()));
        }
        Command::ClearTriggers(clear) => (&clear.by, "clear triggers".to_string()),
        Command::EndStep { job, step, by, .. } => (by, format!("end step {job}.{step}")),
        Command::EndAllocation { job, by, .. } => (by, format!("give back job {job}")),
        Command::ChangeTrust(change) => {
            let what = match &change.change {
                TrustChange::CreateToken { token, .. } => {
                    format!("make a token for {} uses as {}", token.uses, token.role)
                }
                TrustChange::Admit { machine, token } => {
                    let how = if token.is_some() { "by a token" } else { "by approval" };
                    format!("let in {} {how}", machine.certificate)
                }
                TrustChange::Remove { name } => format!("throw out {name}"),
                TrustChange::Revoke { user, .. } => format!("revoke the tokens of {user}"),
            };
            (&change.by, what)
        }
        // What the controller does by itself.
        _ => return None,
    };
    Some((who(by), what))
}

fn keys(assignments: &[crate::state::Assignment]) -> String {
    assignments.iter().map(|it| it.key.as_str()).collect::<Vec<_>>().join(",")
}

/// What came of a command that was carried out.
pub fn outcome(reply: &Reply) -> String {
    match reply {
        Reply::Job(job) => format!("job {job}"),
        Reply::Step(job, step) => format!("step {job}.{step}"),
        _ => "done".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: &str) -> Record {
        let (who, outcome) = ("uid 1000".to_string(), "done".to_string());
        Record { at: Timestamp(5), who, what: what.to_string(), outcome }
    }

    fn chain() -> Vec<String> {
        let mut end = End::default();
        let mut lines = Vec::new();
        for what in ["submit", "cancel job 1", "a \"quoted\"\nline"] {
            let (line, next) = tie(&end, &record(what));
            assert_eq!(end_of(&line), Some(next.clone()));
            lines.push(line);
            end = next;
        }
        lines
    }

    fn walk(lines: &[String]) -> Result<u64, Broken> {
        let end = lines.iter().try_fold(End::default(), |end, line| {
            assert_eq!(line.matches('\n').count(), 1, "a record is a line");
            check(&end, line).map(|(_, end)| end)
        });
        end.map(|end| end.number)
    }

    #[test]
    fn a_whole_chain_is_whole() {
        assert_eq!(walk(&chain()), Ok(3));
    }

    #[test]
    fn whatever_is_changed_moved_or_taken_out_is_noticed() {
        let mut changed = chain();
        changed[1] = changed[1].replace("cancel job 1", "cancel job 2");
        assert_eq!(walk(&changed), Err(Broken::Changed(2)));
        let mut missing = chain();
        missing.remove(1);
        assert_eq!(walk(&missing), Err(Broken::Missing { expected: 2, found: 3 }));
        let (forged, _) = tie(&End { number: 1, hash: "f".repeat(64) }, &record("submit"));
        let mut replaced = chain();
        replaced[1] = forged;
        assert_eq!(walk(&replaced), Err(Broken::Before(2)));
        assert_eq!(walk(&["{}\n".to_string()]), Err(Broken::Unreadable(0)));
    }

    #[test]
    fn an_end_is_read_as_it_was_written() {
        let end = End { number: 7, hash: "ab".repeat(32) };
        assert_eq!(format!("{end}\n").parse(), Ok(end));
        assert_eq!("".parse::<End>(), Err(()));
        assert_eq!("seven ab".parse::<End>(), Err(()));
    }
}
