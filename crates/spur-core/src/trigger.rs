//! Triggers: programs that the controller runs once something has happened.

use crate::ids::JobId;
use crate::job::Owner;
use crate::time::Timestamp;

/// What a trigger is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// These nodes; none means all.
    Nodes(Vec<String>),
    /// The controllers.
    Controller,
}

/// A trigger that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its number.
    pub id: u32,
    /// Who set it; the program is run as this user.
    pub owner: Owner,
    /// What it is about.
    pub about: Subject,
    /// What has to happen, as bits of [`EVENTS`].
    pub events: u32,
    /// How many seconds after that, or before.
    pub offset_secs: i32,
    /// The program, with its arguments.
    pub program: String,
    /// It stays after the program was run.
    pub permanent: bool,
    /// When it was set.
    pub since: Timestamp,
    /// Nodes in the state it waits for.
    pub seen: Vec<Seen>,
    /// When what it waits for has happened, where that is no state of nodes.
    pub happened: Option<Timestamp>,
}

/// A node in the state that a trigger waits for.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Seen {
    /// Which.
    #[prost(string, tag = "1")]
    pub node: String,
    /// Since when.
    #[prost(int64, tag = "2")]
    pub since: i64,
    /// The program was told of it, or it was so when the trigger was set.
    #[prost(bool, tag = "3")]
    pub told: bool,
}

/// What a look at a trigger brought.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Notice {
    /// Which trigger.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Nodes in the state it waits for.
    #[prost(message, repeated, tag = "2")]
    pub seen: Vec<Seen>,
    /// The program is to be run, and told this.
    #[prost(string, optional, tag = "3")]
    pub run: Option<String>,
    /// What it waits for can no longer happen.
    #[prost(bool, tag = "4")]
    pub over: bool,
}

/// What kind of thing an event happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Job,
    Node,
    Slurmctld,
    Slurmdbd,
    Database,
    Other,
}

impl Kind {
    /// As `strigger --get` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Job => "job",
            Kind::Node => "node",
            Kind::Slurmctld => "slurmctld",
            Kind::Slurmdbd => "slurmdbd",
            Kind::Database => "database",
            Kind::Other => "other",
        }
    }
}

/// Something that can happen.
#[derive(Debug)]
pub struct Event {
    /// The option that asks for it, and what `--get` shows.
    pub name: &'static str,
    /// To whom, unless a job is named.
    pub kind: Kind,
    /// What of it the controller notices.
    pub watch: Watch,
}

/// How the controller notices an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// A job's run comes to an end.
    JobEnd,
    /// A job's time limit.
    JobLimit,
    /// Nodes that are out of reach or out of service.
    Down,
    /// Nodes that are not.
    Up,
    /// Nodes that are drained and have no job any more.
    Drained,
    /// Nodes that are about to fail.
    Failing,
    /// Nodes with nothing to do.
    Idle,
    /// Another configuration is in force.
    Reconfigured,
    /// Another controller leads, or the same one started again.
    NewLeader,
    /// There is nothing of the kind here.
    Nothing,
}

const fn event(name: &'static str, kind: Kind, watch: Watch) -> Event {
    Event { name, kind, watch }
}

/// All there are. A bit of [`Trigger::events`] is a row's place, so rows are only added at the end.
#[rustfmt::skip]
pub const EVENTS: &[Event] = &[
    event("down", Kind::Node, Watch::Down),
    event("up", Kind::Node, Watch::Up),
    event("drained", Kind::Node, Watch::Drained),
    event("fail", Kind::Node, Watch::Failing),
    event("idle", Kind::Node, Watch::Idle),
    event("reconfig", Kind::Node, Watch::Reconfigured),
    event("time", Kind::Job, Watch::JobLimit),
    event("fini", Kind::Job, Watch::JobEnd),
    event("primary_slurmctld_failure", Kind::Slurmctld, Watch::NewLeader),
    event("primary_slurmctld_resumed_operation", Kind::Slurmctld, Watch::NewLeader),
    event("primary_slurmctld_resumed_control", Kind::Slurmctld, Watch::NewLeader),
    event("backup_slurmctld_assumed_control", Kind::Slurmctld, Watch::NewLeader),
    event("primary_slurmctld_acct_buffer_full", Kind::Slurmctld, Watch::Nothing),
    event("backup_slurmctld_failure", Kind::Slurmctld, Watch::Nothing),
    event("backup_slurmctld_resumed_operation", Kind::Slurmctld, Watch::Nothing),
    event("primary_slurmdbd_failure", Kind::Slurmdbd, Watch::Nothing),
    event("primary_slurmdbd_resumed_operation", Kind::Slurmdbd, Watch::Nothing),
    event("primary_database_failure", Kind::Database, Watch::Nothing),
    event("primary_database_resumed_operation", Kind::Database, Watch::Nothing),
    event("burst_buffer", Kind::Other, Watch::Nothing),
];

/// The bit of an event.
pub fn bit(name: &str) -> Option<u32> {
    EVENTS.iter().position(|event| event.name == name).map(|at| 1 << at)
}

/// The events that bits stand for.
pub fn events(bits: u32) -> impl Iterator<Item = &'static Event> {
    EVENTS.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1).map(|(_, event)| event)
}

/// As `strigger --get` names them: one by its name, several not at all.
pub fn word(bits: u32) -> &'static str {
    let mut all = events(bits);
    match (all.next(), all.next()) {
        (Some(event), None) => event.name,
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_bit_and_a_word() {
        for event in EVENTS {
            let bit = bit(event.name).expect("it is in the table");
            assert_eq!(word(bit), event.name);
        }
        assert_eq!(word(0b11), "unknown");
        assert_eq!(bit("front_end"), None);
    }
}
