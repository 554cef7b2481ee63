//! The leader's side of the agents' streams: what agents say, and what is answered at once.

mod errands;
mod launch;
mod network;
mod sessions;
mod tables;

use std::sync::Arc;

use spur_core::auth::Actor;
use spur_core::ids::{Epoch, JobId, NodeName, StepId, Uid};
use spur_core::job::{ExitStatus, Job};
use spur_core::node::Service;
use spur_core::state::{
    Administer, Assignment, Command, Finish, Noun, Outcome, RegisterNode, Verb,
};
use spur_disk::Disk;
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_proto::internal::{self, Beat, Heartbeat, Hello, Reboot, Report, Run, Welcome};
use spur_proto::{step_name, step_of};

pub(super) use sessions::Agents;
pub use sessions::Load;

use self::sessions::Session;
use self::tables::expected;
use super::proposals::Waiter;
use super::{Connection, Controller, Now, Output, Role, health};
use crate::store;

/// How long an agent obeys launches after it asked for the lease.
pub const LEASE_MS: u64 = 10_000;

/// What a node may say about its health; the state keeps it.
const LONGEST_REASON: usize = 1024;

/// A step in a run of a job.
type RunKey = (JobId, Epoch, StepId);

/// What the reason of a node begins with that was found not to be fit.
const UNFIT: &str = "Health: ";

impl<D: Disk> Controller<D> {
    pub(super) fn agent_says(
        &mut self,
        now: Now,
        connection: Connection,
        message: AgentSays,
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let Role::Leader(term) = self.role else {
            out.push(Output::HangUp(connection));
            return Ok(());
        };
        if let AgentSays::Hello(hello) = message {
            self.greet(now, connection, hello, term, out);
            return Ok(());
        }
        let Some(node) = self.agents.nodes.get(&connection).cloned() else {
            out.push(Output::HangUp(connection));
            return Ok(());
        };
        self.agents.heard_ms.insert(node.clone(), now.boot_ms);
        match message {
            AgentSays::Heartbeat(heartbeat) => self.beat(now, &node, heartbeat, term, out),
            AgentSays::Table(table) => self.compare(&node, table, term, out)?,
            AgentSays::Reports(reports) => self.reported(connection, node, &reports.reports),
            AgentSays::Health(told) if told.problems.is_empty() => self.mended(&node),
            AgentSays::Health(told) => self.unfit(&node, &told.problems),
            AgentSays::PortTaken(told) => {
                let (job, epoch) = (JobId(told.job), Epoch(told.epoch));
                // A node speaks for jobs that begin on it, and no others.
                let leads = |job: &Arc<Job>| {
                    job.phase.holds().and_then(|held| held.first_node()) == Some(&node)
                };
                if !self.state.jobs.get(&job).is_some_and(leads) {
                    return Ok(());
                }
                let taken = u16::try_from(told.port).unwrap_or_default();
                let command = Command::AnotherPort { job, epoch, taken };
                self.proposals.add(command, Waiter::Nobody);
            }
            AgentSays::Hello(_) => {}
        }
        Ok(())
    }

    /// Takes a node out of service that says what is wrong with it.
    fn unfit(&mut self, node: &NodeName, problems: &[String]) {
        let mut reason = format!("{UNFIT}{}", problems.join("; "));
        reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
        let is_told = match self.state.nodes.get(node).map(|node| &node.service) {
            // Somebody else's reason stays.
            Some(service) if service.drain => {
                let before = service.reason.as_ref().filter(|_| is_ours(service));
                before.is_none_or(|before| before.text == reason)
            }
            service => service.is_none(),
        };
        if !is_told {
            self.update(node, &[("State", "DRAIN"), ("Reason", &reason)]);
        }
    }

    /// Puts a node back whose trouble has passed, if that was all that kept it out.
    fn mended(&mut self, node: &NodeName) {
        let service = self.state.nodes.get(node).map(|node| &node.service);
        if service.is_some_and(|it| it.drain && !it.down && !it.fail && is_ours(it)) {
            self.update(node, &[("State", "RESUME")]);
        }
    }

    fn update(&mut self, node: &NodeName, words: &[(&str, &str)]) {
        let say = |(key, value): &(&str, &str)| Assignment {
            key: (*key).to_string(),
            value: (*value).to_string(),
        };
        let command = Command::Administer(Box::new(Administer {
            noun: Noun::Node,
            verb: Verb::Update,
            name: node.to_string(),
            assignments: words.iter().map(say).collect(),
            by: Actor::Controller,
            request: None,
        }));
        self.proposals.add(command, Waiter::Nobody);
    }

    fn greet(
        &mut self,
        now: Now,
        connection: Connection,
        hello: Hello,
        term: u64,
        out: &mut Vec<Output>,
    ) {
        let name = NodeName::from(hello.node);
        let id = self.agents.number();
        let session = Session { connection, id, registered: false, asked: None };
        if let Some(former) = self.agents.sessions.insert(name.clone(), session)
            && former.connection != connection
        {
            self.agents.nodes.remove(&former.connection);
            out.push(Output::HangUp(former.connection));
        }
        self.agents.nodes.insert(connection, name.clone());
        self.agents.heard_ms.insert(name.clone(), now.boot_ms);
        if self.agents.addresses.get(&name) != Some(&hello.address) {
            Arc::make_mut(&mut self.agents.addresses).insert(name.clone(), hello.address.clone());
        }
        let node = RegisterNode {
            name: name.clone(),
            inventory: hello.inventory.map(|it| *it).unwrap_or_default(),
            boot_id: hello.boot_id,
        };
        self.proposals
            .add(Command::RegisterNode(node), Waiter::Registration { node: name, session: id });
        let welcome = Welcome {
            session: id,
            term,
            echo_ms: hello.sent_at_ms,
            lease_ms: LEASE_MS,
            public_key: self.public_key.clone(),
        };
        out.push(Output::Tell(connection, AgentHears::Welcome(welcome)));
    }

    /// The node is known with its present boot: now the tables can be compared.
    pub(super) fn registered(&mut self, node: &NodeName, id: u64, out: &mut Vec<Output>) {
        let Some(session) = self.agents.sessions.get_mut(node) else { return };
        if session.id == id {
            session.registered = true;
            self.ask_table(node, out);
        }
    }

    fn beat(
        &mut self,
        now: Now,
        node: &NodeName,
        beat: Heartbeat,
        term: u64,
        out: &mut Vec<Output>,
    ) {
        let load = Load { centi: beat.load_centi, free_memory_mb: beat.free_memory_mb };
        self.agents.loads.insert(node.clone(), load);
        let Some(session) = self.agents.sessions.get(node) else { return };
        let (connection, busy) =
            (session.connection, !session.registered || session.asked.is_some());
        let has_jobs = self.state.index.on_node.get(node).is_some_and(|jobs| !jobs.is_empty());
        let health = health::rules(&self.state.settings.config.health_check, has_jobs);
        let wall_ms = now.wall.0.saturating_mul(1000);
        let program = self.state.settings.config.agent.reboot_program.clone();
        let reboot = self.state.nodes.get(node).and_then(|node| node.restarting());
        let reboot = program.zip(reboot).map(|(program, at)| Reboot { program, marker: at.0 });
        let (echo_ms, lease_ms) = (beat.sent_at_ms, LEASE_MS);
        let answer = Beat { term, echo_ms, lease_ms, health, wall_ms, reboot };
        out.push(Output::Tell(connection, AgentHears::Beat(answer)));
        // The link is down in the state, but here it is: it was cut for a while and the stream held.
        if let Some(known) = self.state.nodes.get(node)
            && !known.link.is_up()
        {
            let node = RegisterNode {
                name: node.clone(),
                inventory: known.found.clone(),
                boot_id: known.boot_id.clone(),
            };
            self.proposals.add(Command::RegisterNode(node), Waiter::Nobody);
        }
        if !busy && spur_proto::digest(expected(&self.state, node)) != beat.digest {
            self.ask_table(node, out);
        }
    }

    fn reported(&mut self, connection: Connection, node: NodeName, reports: &[Report]) {
        let sequences = reports
            .iter()
            .map(|report| report.sequence)
            .filter(|sequence| *sequence != 0)
            .collect();
        let finishes = reports.iter().map(finish).collect();
        let waiter = Waiter::Agent { connection, sequences };
        self.proposals.add(Command::Finished { node, finishes }, waiter);
    }
}

/// Whether the node is out of service for what it said of itself, and for nothing else that anybody said.
fn is_ours(service: &Service) -> bool {
    let reason = service.reason.as_ref();
    reason.is_some_and(|it| it.by == Uid::ROOT && it.text.starts_with(UNFIT))
}

fn run_key(run: &Run) -> RunKey {
    (JobId(run.job), Epoch(run.epoch), step_of(run.step))
}

fn run_message((job, epoch, step): RunKey) -> Run {
    Run { job: job.0, epoch: epoch.0, step: step_name(step) }
}

/// More of what a node says about a run is not kept.
const MOST_SAID: usize = 500;

fn finish(report: &Report) -> Finish {
    let outcome = match report.outcome() {
        internal::Outcome::Exited => Outcome::Exited(ExitStatus::from_wait(report.exit_status)),
        internal::Outcome::CouldNotStart => Outcome::CouldNotStart,
        internal::Outcome::Lost => Outcome::Lost,
        internal::Outcome::OutOfMemory => Outcome::OutOfMemory,
        internal::Outcome::PrologFailed => Outcome::PrologFailed,
        internal::Outcome::EpilogFailed => Outcome::EpilogFailed,
        internal::Outcome::NodeFault => Outcome::NodeFault,
        internal::Outcome::ShepherdLost => Outcome::ShepherdLost,
    };
    let step = step_of(report.step);
    let usage = report.usage.map(Box::new);
    let said = report.said.chars().take(MOST_SAID).collect();
    let (job, epoch) = (JobId(report.job), Epoch(report.epoch));
    Finish { job, epoch, step, outcome, usage, said }
}
