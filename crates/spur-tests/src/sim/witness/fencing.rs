//! Whom agents obey, what they take up again, and what they leave alone.

use spur_proto::internal::controller_message::Message as AgentHears;
use spurd::agent::Output;

use super::Witness;
use crate::sim::node::Node;

/// What an agent has heard.
#[derive(Default)]
pub(super) struct Heard {
    /// The highest term, ever.
    term: u64,
    /// When the present stream was opened.
    connected: u64,
    /// The session that was opened on it, and until when its lease lasts.
    session: Option<(u64, u64)>,
}

impl Witness {
    /// An agent has a new stream.
    pub fn connects(&mut self, node: usize, now: u64) {
        let heard = self.heard.entry(node).or_default();
        heard.connected = now;
        heard.session = None;
    }

    /// An agent took in a message and did this about it.
    pub fn obeys(&mut self, node: usize, now: u64, message: &AgentHears, did: &[Output]) {
        let heard = self.heard.entry(node).or_default();
        let term = match message {
            AgentHears::Welcome(it) => Some(it.term),
            AgentHears::Beat(it) => Some(it.term),
            AgentHears::Launches(it) => Some(it.term),
            AgentHears::Kills(it) => Some(it.term),
            AgentHears::Signals(it) => Some(it.term),
            _ => None,
        };
        let is_stale = term.is_some_and(|term| term < heard.term);
        let acts = |output: &Output| {
            matches!(
                output,
                Output::Spawn(..) | Output::Kill(_) | Output::Signal(..) | Output::Suspend(_)
            ) || matches!(output, Output::Heard(_) | Output::Trust(_))
        };
        let in_lease = match message {
            AgentHears::Launches(launches) => heard
                .session
                .is_some_and(|(session, lease)| session == launches.session && now < lease),
            _ => true,
        };
        let spawns = did.iter().any(|output| matches!(output, Output::Spawn(..)));
        let highest = heard.term;
        if !is_stale {
            heard.term = heard.term.max(term.unwrap_or(0));
            match message {
                AgentHears::Welcome(it) if it.echo_ms >= heard.connected => {
                    let lease = it.echo_ms + it.lease_ms;
                    if did.iter().any(|output| matches!(output, Output::Heard(_))) {
                        heard.session = Some((it.session, lease));
                    }
                }
                AgentHears::Beat(it) => {
                    if let Some((_, lease)) = &mut heard.session {
                        *lease = (*lease).max(it.echo_ms + it.lease_ms);
                    }
                }
                _ => {}
            }
        }
        if is_stale && did.iter().any(acts) {
            let what = format!("n{} obeys {term:?} after term {highest}", node + 1);
            self.complain("I6 stale-leader-fenced", what);
        }
        if spawns && !in_lease {
            let what = format!("n{} launches outside of a lease", node + 1);
            self.complain("I6 stale-leader-fenced", what);
        }
    }

    /// Nobody has said anything to an agent, and it did this.
    pub fn acts_alone(&mut self, node: usize, did: &[Output]) {
        if did.iter().any(|output| {
            matches!(output, Output::Kill(_) | Output::Signal(..) | Output::Suspend(_))
        }) {
            let what = format!("n{} ends a run that nobody told it to end", node + 1);
            self.complain("I18 outage-harmless", what);
        }
    }

    /// An agent's process is gone. What it has heard of terms is on its disk, unless the power went too.
    pub fn dies(&mut self, node: usize, power: bool) {
        let heard = self.heard.entry(node).or_default();
        heard.session = None;
        if power {
            heard.term = 0;
        }
    }

    /// An agent has started: what runs on its node it answers for.
    pub fn readopts(&mut self, node: &Node) {
        let Some(agent) = &node.agent else { return };
        let lost: Vec<_> = node.alive().filter(|run| !agent.table().any(|it| it == *run)).collect();
        if !lost.is_empty() {
            self.complain("I12 readopt", format!("{} does not know {lost:?}", node.name));
        }
    }
}
