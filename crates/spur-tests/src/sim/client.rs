//! Users: each request is repeated under its id until it is answered, whatever happens in between.

use std::collections::BTreeMap;

use spur_core::auth::{Actor, Level};
use spur_core::blob::BlobHash;
use spur_core::ids::{Gid, JobId, Uid};
use spur_core::job::{JobSpec, Owner, RequestId};
use spur_core::limit::Limit;
use spur_core::state::{
    Administer, Assignment, Blob, Command, Control, JobAction, Noun, Submit, Verb,
};
use spur_core::time::Timestamp;
use spurctld::controller::Ticket;

use super::books::FEW;
use super::chance::Chance;

/// All users of the schedule.
#[derive(Default)]
pub struct Clients {
    /// Requests that have no answer yet.
    pub open: BTreeMap<u64, Submit>,
    /// The id each request was told.
    pub told: BTreeMap<u64, JobId>,
    /// Who waits for which ticket, in the controller's present life.
    pub tickets: BTreeMap<Ticket, u64>,
    next: u64,
}

impl Clients {
    /// A new request that so many nodes of four processors can fulfil.
    pub fn think_of_a_job(&mut self, chance: &mut Chance, nodes: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        let script = format!("#!/bin/sh\nscript {}\n", chance.below(3)).into_bytes();
        let environment = b"A=1".to_vec();
        let spec = JobSpec {
            name: format!("job {number}"),
            nodes_min: Some(chance.between(1, nodes) as u32).filter(|_| chance.one_in(3)),
            ntasks: Some(chance.between(1, 4) as u32),
            time_limit: Some(Limit::Is(chance.between(1, 3))).filter(|_| chance.one_in(4)),
            partition: if chance.one_in(5) { "high" } else { "low" }.to_string(),
            qos: if chance.one_in(4) { FEW.0 } else { "" }.to_string(),
            ..JobSpec::default()
        };
        // Some wait for a job before them to end well; whoever waits in vain goes.
        let spec = match self.told.values().nth(chance.below(8) as usize).copied() {
            Some(before) if chance.one_in(3) => {
                let mut spec = JobSpec { dependency: format!("afterok:{before}"), ..spec };
                spec.lifecycle_mut().kill_on_invalid_dep = Some(true);
                spec
            }
            _ => spec,
        };
        // Two components that fit on one node, or some tasks of which not all run at once.
        let het = chance.one_in(6);
        let spec = match het {
            true => JobSpec { nodes_min: None, ntasks: Some(2), ..spec },
            false if chance.one_in(6) => JobSpec {
                nodes_min: None,
                ntasks: Some(1),
                array: format!("0-{}%{}", chance.between(1, 3), chance.between(1, 2)),
                ..spec
            },
            false => spec,
        };
        let second = JobSpec { ntasks: Some(chance.between(1, 2) as u32), ..spec.clone() };
        let others = if het { vec![second] } else { Vec::new() };
        let submit = Submit {
            request: RequestId(u128::from(number) + 1),
            owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "alice".to_string() },
            spec,
            others,
            script: BlobHash::of(&script),
            environment: BlobHash::of(&environment),
            blobs: vec![Blob { bytes: script }, Blob { bytes: environment }],
        };
        self.open.insert(number, submit);
        number
    }

    /// The command of a request that is still open.
    pub fn command(&self, number: u64) -> Option<Command> {
        self.open.get(&number).map(|submit| Command::Submit(Box::new(submit.clone())))
    }
}

/// Cancels a job as its owner.
pub fn cancel(job: JobId) -> Command {
    let by = Actor::user(Uid(1000), Gid(1000), Level::None);
    Command::Control(Box::new(Control::cancel(job, by)))
}

/// What somebody tries who may do nothing to a job, or to the cluster.
pub fn intrude(job: JobId, chance: &mut Chance) -> Command {
    let by = Actor::user(INTRUDER, Gid(INTRUDER.0), Level::None);
    let action = match chance.below(6) {
        0 => JobAction::Cancel,
        1 => JobAction::Hold { as_user: true },
        2 => JobAction::Requeue { hold: true },
        3 => JobAction::Suspend,
        4 => {
            let said = Assignment { key: "TimeLimit".to_string(), value: "1".to_string() };
            JobAction::Update(vec![said])
        }
        _ => {
            let said = [("State", "DRAIN"), ("Reason", "mine")];
            let said = said
                .map(|(key, value)| Assignment { key: key.to_string(), value: value.to_string() });
            return Command::Administer(Box::new(Administer {
                noun: Noun::Node,
                verb: Verb::Update,
                name: "n1".to_string(),
                assignments: said.to_vec(),
                by,
                request: None,
            }));
        }
    };
    Command::Control(Box::new(Control { job, tasks: None, action, by, request: None }))
}

/// Who may do nothing.
pub const INTRUDER: Uid = Uid(2000);

/// Keeps a node from the others for some minutes, whatever runs there.
pub fn reserve(now: Timestamp, node: u64, minutes: u64) -> Command {
    let said = [
        ("StartTime", now.0.to_string()),
        ("Duration", minutes.to_string()),
        ("Nodes", format!("n{node}")),
        ("Users", "root".to_string()),
        ("Flags", "ignore_jobs,overlap".to_string()),
    ];
    let said = said.map(|(key, value)| Assignment { key: key.to_string(), value });
    Command::Administer(Box::new(Administer {
        noun: Noun::Reservation,
        verb: Verb::Create,
        name: String::new(),
        assignments: said.to_vec(),
        by: Actor::Controller,
        request: None,
    }))
}
