//! What happens on nodes: agents begin and are fed, shepherds take runs and end them.

use spur_core::job::ExitStatus;
use spur_core::state::Outcome;
use spur_proto::internal::controller_message::Message as AgentHears;
use spurd::agent::{self, Millis};
use spurd::fence;

use super::node::{Run, Shepherd};
use super::world::{Event, World};

impl World {
    pub(super) fn start_agent(&mut self, node: usize) {
        if self.nodes[node].agent.is_some() {
            return;
        }
        let outputs = self.nodes[node].start();
        self.witness.readopts(&self.nodes[node]);
        let life = self.nodes[node].life;
        if self.nodes[node].agent.is_none() {
            self.after(1000, Event::StartAgent(node));
            return;
        }
        for output in outputs {
            self.agent_does(node, output);
        }
        self.agent_flush(node);
        self.after(1, Event::Dial(node, life));
        self.after(1000, Event::Heartbeat(node, life));
    }

    pub(super) fn agent_feed(&mut self, node: usize, input: agent::Input) {
        let now = Millis(self.now);
        let Some(agent) = self.nodes[node].agent.as_mut() else { return };
        // No room: what was said is not done; the controller notices and says it again.
        let outputs = agent.on(now, input).unwrap_or_default();
        self.witness.acts_alone(node, &outputs);
        outputs.into_iter().for_each(|output| self.agent_does(node, output));
        self.agent_flush(node);
    }

    pub(super) fn agent_hears(&mut self, node: usize, message: AgentHears) {
        let now = Millis(self.now);
        let Some(agent) = self.nodes[node].agent.as_mut() else { return };
        let outputs = agent.on(now, agent::Input::Heard(message.clone()));
        if let Ok(outputs) = &outputs {
            self.witness.obeys(node, self.now, &message, outputs);
        }
        outputs.unwrap_or_default().into_iter().for_each(|output| self.agent_does(node, output));
        self.agent_flush(node);
    }

    pub(super) fn agent_flush(&mut self, node: usize) {
        let Some(agent) = self.nodes[node].agent.as_mut() else { return };
        if let Ok(outputs) = agent.flush() {
            outputs.into_iter().for_each(|output| self.agent_does(node, output));
        }
    }

    pub(super) fn agent_does(&mut self, node: usize, output: agent::Output) {
        match output {
            agent::Output::Say(message) => self.say(node, message),
            agent::Output::Spawn(run, _) => {
                let delay = self.chance.between(1, 30);
                self.after(delay, Event::Claim(node, run, self.boots[node]));
            }
            agent::Output::Kill(run) => {
                let delay = self.chance.between(30, 3000);
                let exit = Outcome::Exited(ExitStatus { code: 0, signal: 15 });
                self.after(delay, Event::Exit(node, run, self.boots[node], exit));
            }
            agent::Output::Signal(..)
            | agent::Output::Suspend(..)
            | agent::Output::Notice(..)
            | agent::Output::Farewell(..)
            | agent::Output::Trust(_)
            | agent::Output::Reboot(_)
            | agent::Output::CareFor(_) => {}
            agent::Output::Heard(at) => {
                self.nodes[node].heard = self.nodes[node].heard.max(at);
            }
            agent::Output::HangUp => {
                if let Some(connection) = self.connection_of(node) {
                    self.hang_up(connection);
                }
            }
        }
    }

    /// The first shepherd of a run wins; a second finds the claim and goes.
    pub(super) fn claim(&mut self, node: usize, run: Run) {
        if self.nodes[node].shepherds.contains_key(&run) {
            return;
        }
        let fence_secs = self.nodes[node].fence_of(run);
        if self.nodes[node].is_fenced(Millis(self.now), fence_secs) {
            self.nodes[node].shepherds.insert(run, Shepherd { exit: None, fence_secs });
            return self.exit(node, run, Outcome::Lost);
        }
        let name = self.nodes[node].name.clone();
        self.trace(|| format!("{name} begins {run:?}"));
        if fence_secs.is_some() {
            self.after(1, Event::Fence(node, run, self.boots[node]));
        }
        self.witness.spawns(&self.nodes, &name, run);
        self.nodes[node].shepherds.insert(run, Shepherd { exit: None, fence_secs });
        let code = if self.chance.one_in(4) { self.chance.below(256) as u8 } else { 0 };
        let runs_for = if self.chance.one_in(6) { 200_000 } else { self.chance.between(1, 30_000) };
        let exit = Outcome::Exited(ExitStatus { code, signal: 0 });
        self.after(runs_for, Event::Exit(node, run, self.boots[node], exit));
    }

    /// As a shepherd does: it waits for as long as its run may live if nobody is heard, and looks again.
    pub(super) fn look_at_fence(&mut self, node: usize, run: Run) {
        let there = &self.nodes[node];
        let Some(Shepherd { exit: None, fence_secs: Some(secs) }) = there.shepherds.get(&run)
        else {
            return;
        };
        match fence::left(Millis(self.now), there.heard, *secs) {
            Some(left) => {
                self.after(left.as_millis() as u64, Event::Fence(node, run, self.boots[node]))
            }
            None => self.exit(node, run, Outcome::Lost),
        }
    }

    pub(super) fn exit(&mut self, node: usize, run: Run, exit: Outcome) {
        let Some(shepherd) = self.nodes[node].shepherds.get_mut(&run) else { return };
        if shepherd.exit.is_some() {
            return;
        }
        shepherd.exit = Some(exit);
        self.trace(|| format!("n{} ends {run:?} {exit:?}", node + 1));
        match exit {
            Outcome::Exited(exit) => self.witness.exits(run, exit),
            _ => self.witness.fenced(run),
        }
        let life = self.nodes[node].life;
        let delay = self.chance.between(1, 10);
        self.after(delay, Event::Reaped(node, life, run, exit));
    }
}
