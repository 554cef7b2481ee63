//! A leader that sleeps while another takes over, wakes up, and goes on for a moment as if it still led.

use spur_disk::SimDisk;
use spur_proto::internal::agent_message::Message as AgentSays;
use spurctld::controller::{Connection, Controller, Input, Output};

use super::world::{Event, World};

/// A controller that does not know that it was replaced.
pub(super) struct Stale {
    controller: Controller<SimDisk>,
    /// Which of the controllers' lives it is in.
    life: u64,
    /// What agents said to it while it slept; none once it is awake.
    asleep: Option<Vec<(Connection, AgentSays)>>,
}

impl Stale {
    /// Which of the controllers' lives it is in.
    pub(super) fn life(&self) -> u64 {
        self.life
    }
}

impl World {
    /// The leader stops in its tracks. Nobody notices at once: its streams stay open.
    pub(super) fn fall_asleep(&mut self) {
        self.bury();
        let Some(life) = self.host.stop() else { return };
        self.stale =
            Some(Stale { controller: life.controller, life: self.life, asleep: Some(Vec::new()) });
        self.clients.tickets.clear();
        let elected = self.chance.between(500, 3000);
        self.after(elected, Event::StartController);
        let wakes = self.chance.between(1000, 60_000);
        self.after(wakes, Event::Wake(self.life));
    }

    /// It takes up what has gathered, and soon hears that another leads.
    pub(super) fn wake(&mut self, life: u64) {
        let Some(stale) = self.stale.as_mut().filter(|stale| stale.life == life) else { return };
        let gathered = stale.asleep.take().unwrap_or_default();
        for (connection, message) in gathered {
            self.feed_stale(Input::Agent(connection, message));
        }
        self.feed_stale(Input::Tick);
        let heard = self.chance.between(1, 1500);
        self.after(heard, Event::Bury(life));
    }

    /// Whether this life is the sleeper's.
    pub(super) fn is_stale(&self, life: u64) -> bool {
        self.stale.as_ref().is_some_and(|stale| stale.life == life)
    }

    /// An agent that still has a stream to it speaks.
    pub(super) fn stale_hears(&mut self, connection: Connection, message: AgentSays) {
        let Some(stale) = self.stale.as_mut() else { return };
        match &mut stale.asleep {
            Some(gathered) => gathered.push((connection, message)),
            None => self.feed_stale(Input::Agent(connection, message)),
        }
    }

    /// It speaks to agents as before; what it proposes nobody accepts, and what it answers nobody waits for.
    pub(super) fn feed_stale(&mut self, input: Input) {
        let now = self.clock();
        let Some(stale) = self.stale.as_mut() else { return };
        let outputs = match stale.controller.on(now, input) {
            Ok(mut outputs) => {
                outputs.extend(stale.controller.flush(now));
                outputs
            }
            // Its disk is another's by now.
            Err(_) => return self.bury(),
        };
        for output in outputs {
            match output {
                Output::Tell(connection, message) => self.tell(connection, message),
                Output::HangUp(connection) => self.hang_up(connection),
                Output::Propose(_)
                | Output::Answer(..)
                | Output::Record(_)
                | Output::Run(_)
                | Output::Plan => {}
            }
        }
    }

    /// It hears of its successor, or dies.
    pub(super) fn bury(&mut self) {
        let Some(stale) = self.stale.take() else { return };
        let streams = self.streams.iter().filter(|(_, it)| it.controller_life == stale.life);
        let lost: Vec<Connection> = streams.map(|(connection, _)| *connection).collect();
        for connection in lost {
            self.hang_up(connection);
        }
    }
}
