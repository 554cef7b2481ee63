//! Streams between agents and controllers: in order, until they are cut; and ghosts of what was said on them.

use spur_core::job::ExitStatus;
use spur_core::state::Outcome;
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_proto::internal::controller_message::Message as AgentHears;
use spurctld::controller::{self, Connection};
use spurd::agent;

use super::node::Run;
use super::world::{Event, World};

/// A stream between an agent and a controller.
pub(super) struct Stream {
    pub(super) node: usize,
    pub(super) agent_life: u64,
    pub(super) controller_life: u64,
    pub(super) open: bool,
    /// Messages of one direction keep their order.
    pub(super) last_up: u64,
    pub(super) last_down: u64,
}

impl World {
    pub(super) fn dial(&mut self, node: usize, life: u64) {
        if life != self.nodes[node].life {
            return;
        }
        if self.cut[node] || self.host.life.is_none() {
            // Who finds nobody for long tries less often.
            let longest = if self.now < self.away_until { 10_000 } else { 1000 };
            let delay = self.chance.between(100, longest);
            self.after(delay, Event::Dial(node, life));
            return;
        }
        self.connections += 1;
        let connection = Connection(self.connections);
        let stream = Stream {
            node,
            agent_life: life,
            controller_life: self.life,
            open: true,
            last_up: self.now,
            last_down: self.now,
        };
        self.streams.insert(connection, stream);
        self.witness.connects(node, self.now);
        self.agent_feed(node, agent::Input::Connected);
    }

    pub(super) fn connection_of(&self, node: usize) -> Option<Connection> {
        let life = self.nodes[node].life;
        let mine =
            |stream: &&Stream| stream.node == node && stream.open && stream.agent_life == life;
        self.streams.iter().find(|(_, stream)| mine(stream)).map(|(connection, _)| *connection)
    }

    pub(super) fn say(&mut self, node: usize, message: AgentSays) {
        let Some(connection) = self.connection_of(node) else { return };
        if self.cut[node] {
            return self.lose(connection);
        }
        let at = self.now + self.latency();
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        stream.last_up = stream.last_up.max(at);
        let (at, life) = (stream.last_up, stream.controller_life);
        if let AgentSays::Reports(reports) = &message {
            for report in &reports.reports {
                if report.sequence != 0 && report.outcome() == spur_proto::internal::Outcome::Exited
                {
                    let run = Run::from(report);
                    let exit = ExitStatus::from_wait(report.exit_status);
                    self.witness.hears(run, Outcome::Exited(exit));
                }
            }
        }
        self.after(at - self.now, Event::ToController(life, connection, message));
    }

    pub(super) fn tell(&mut self, connection: Connection, message: AgentHears) {
        let at = self.now + self.latency();
        let ghost_after = self.chance.between(100, 60_000);
        let is_ghost = self.chance.one_in(20) && !self.healed;
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        let (node, life) = (stream.node, stream.agent_life);
        stream.last_down = stream.last_down.max(at);
        let at = stream.last_down;
        if self.cut[node] {
            return self.lose(connection);
        }
        if is_ghost {
            self.after(ghost_after, Event::ToAgent(node, life, connection, message.clone(), true));
        }
        self.after(at - self.now, Event::ToAgent(node, life, connection, message, false));
    }

    /// A message is lost with its stream: nothing behind it arrives either. Both ends notice, some time.
    pub(super) fn lose(&mut self, connection: Connection) {
        self.hang_up(connection);
    }

    pub(super) fn hang_up(&mut self, connection: Connection) {
        let Some(mut stream) = self.streams.remove(&connection) else { return };
        stream.open = false;
        let (node, life) = (stream.node, stream.agent_life);
        if stream.controller_life == self.life {
            self.feed(controller::Input::AgentGone(connection));
        } else if self.is_stale(stream.controller_life) {
            self.feed_stale(controller::Input::AgentGone(connection));
        }
        if life == self.nodes[node].life {
            self.agent_feed(node, agent::Input::Disconnected);
            let delay = self.chance.between(100, 1000);
            self.after(delay, Event::Dial(node, life));
        }
    }

    pub(super) fn drop_streams_of(&mut self, node: usize) {
        let lost: Vec<Connection> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.node == node)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in lost {
            self.hang_up(connection);
        }
    }
}
