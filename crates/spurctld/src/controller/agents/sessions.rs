//! The streams that are open, and when each node was last heard: who has a session, who is lost, whose runs are given
//! up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::ids::{Epoch, JobId, NodeName};
use spur_core::job::Phase;
use spur_core::state::{Command, State};
use spur_proto::internal::Acknowledge;
use spur_proto::internal::controller_message::Message as AgentHears;

use super::super::{Connection, Now, Output};
use super::network::Network;
use super::{LEASE_MS, RunKey};

/// A node unheard of for this long takes no new jobs. Longer than the lease: the agent's ran out before.
const SILENCE_MS: u64 = LEASE_MS + LEASE_MS / 4;

/// How long after it was heard last an agent may still be answered by a leader that knows no better: its
/// lease, and what it waits beyond that before it hangs up.
const ECHO_MS: u64 = LEASE_MS + 5_000;

/// So many nodes, or a twentieth of all, count as lost at a time.
const LOST_AT_ONCE: usize = 8;
const LOST_PAUSE_MS: u64 = 5_000;

/// The streams that are open, and when each node was last heard.
#[derive(Debug)]
pub(in crate::controller) struct Agents {
    pub(super) sessions: BTreeMap<NodeName, Session>,
    pub(super) nodes: BTreeMap<Connection, NodeName>,
    pub(super) heard_ms: BTreeMap<NodeName, u64>,
    next_number: u64,
    /// Where each takes connections; kept while a stream is cut, since the agent may be there all the same.
    pub(super) addresses: Arc<BTreeMap<NodeName, String>>,
    /// How busy each is, as it last said.
    pub(super) loads: BTreeMap<NodeName, Load>,
    pub(super) network: Network,
    /// The same as readers see it: told a few times a minute, since it changes with every heartbeat.
    told_loads: Arc<BTreeMap<NodeName, Load>>,
    told_ms: u64,
    /// When more nodes may count as lost.
    lost_again_ms: u64,
}

/// How busy a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// In hundredths.
    pub centi: Option<u32>,
    /// In MiB.
    pub free_memory_mb: Option<u64>,
}

/// How long readers see the same loads.
const LOADS_MS: u64 = 5_000;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) id: u64,
    /// The node's registration is applied. Nothing is launched before: its boot decides what is lost.
    pub(super) registered: bool,
    /// A table is asked for: the marker, and the runs that were expected when it was.
    pub(super) asked: Option<(u64, BTreeSet<RunKey>)>,
}

impl Agents {
    /// `life` sets this controller's session numbers apart from those of others.
    pub(in crate::controller) fn new(life: u64) -> Agents {
        Agents {
            sessions: BTreeMap::new(),
            nodes: BTreeMap::new(),
            heard_ms: BTreeMap::new(),
            next_number: life,
            addresses: Arc::default(),
            loads: BTreeMap::new(),
            network: Network::default(),
            told_loads: Arc::default(),
            told_ms: 0,
            lost_again_ms: 0,
        }
    }

    /// How busy each node is.
    pub(in crate::controller) fn loads(&self) -> &Arc<BTreeMap<NodeName, Load>> {
        &self.told_loads
    }

    /// Tells readers how busy nodes are, once in a while.
    pub(in crate::controller) fn tell_loads(&mut self, now: Now) {
        if now.boot_ms < self.told_ms + LOADS_MS || *self.told_loads == self.loads {
            return;
        }
        self.told_ms = now.boot_ms;
        self.told_loads = Arc::new(self.loads.clone());
    }

    /// A new leader counts every node as just heard: silence before its time proves nothing.
    pub(in crate::controller) fn begin_term<'a>(
        &mut self,
        now: Now,
        nodes: impl Iterator<Item = &'a NodeName>,
    ) {
        self.heard_ms = nodes.map(|node| (node.clone(), now.boot_ms)).collect();
    }

    /// Ends all sessions and tells which streams to close.
    pub(in crate::controller) fn end_term(&mut self) -> impl Iterator<Item = Connection> + use<> {
        self.sessions.clear();
        std::mem::take(&mut self.nodes).into_keys()
    }

    /// Ends the session of a node and tells which stream to close.
    pub(in crate::controller) fn drop_session(&mut self, node: &NodeName) -> Option<Connection> {
        let session = self.sessions.remove(node)?;
        self.nodes.remove(&session.connection);
        Some(session.connection)
    }

    pub(in crate::controller) fn gone(&mut self, connection: Connection) {
        let Some(node) = self.nodes.remove(&connection) else { return };
        if self.sessions.get(&node).is_some_and(|session| session.connection == connection) {
            self.sessions.remove(&node);
        }
    }

    /// Confirms reports that are committed now.
    pub(in crate::controller) fn acknowledge(
        &self,
        connection: Connection,
        sequences: Vec<u64>,
    ) -> Option<Output> {
        let open = self.nodes.contains_key(&connection) && !sequences.is_empty();
        let message = AgentHears::Acknowledge(Acknowledge { sequences });
        open.then_some(Output::Tell(connection, message))
    }

    /// Nodes that count as lost from now on. Where many fall silent at one moment it is rather the line to them,
    /// or this controller, that failed: they are given up a few at a time, so that those which come back in
    /// between are spared.
    pub(in crate::controller) fn lost(&mut self, now: Now, state: &State) -> Vec<NodeName> {
        if now.boot_ms < self.lost_again_ms {
            return Vec::new();
        }
        let mut silent = self.silent(now, state);
        let most = LOST_AT_ONCE.max(state.nodes.len() / 20);
        if silent.len() > most {
            tracing::warn!(nodes = silent.len(), "many nodes are silent: given up a few at a time");
            silent.truncate(most);
            self.lost_again_ms = now.boot_ms + LOST_PAUSE_MS;
        }
        silent
    }

    /// Nodes that have been silent for too long and count as there.
    fn silent(&self, now: Now, state: &State) -> Vec<NodeName> {
        let is_silent = |name: &NodeName| {
            let heard = self.heard_ms.get(name).copied().unwrap_or(0);
            now.boot_ms.saturating_sub(heard) > SILENCE_MS
        };
        let up = state.nodes.values().filter(|node| node.link.is_up());
        up.map(|node| &node.name).filter(|name| is_silent(name)).cloned().collect()
    }

    /// Runs that their nodes must have ended by themselves, by node. An agent hears no later than a while
    /// after it was heard last: it hangs up when nobody answers, and a leader that was replaced without
    /// noticing answers no longer than that.
    pub(in crate::controller) fn given_up(&self, now: Now, state: &State) -> Vec<Command> {
        let mut found: BTreeMap<&NodeName, Vec<(JobId, Epoch)>> = BTreeMap::new();
        for job in state.index.active.iter().filter_map(|id| state.jobs.get(id)) {
            let Some(secs) = job.granted.fence_secs else { continue };
            let lives_ms = u64::from(secs) * 1000;
            let patience_ms = lives_ms + (lives_ms / 4).max(ECHO_MS);
            for share in job.phase.holds().into_iter().flat_map(|held| &held.shares) {
                let heard = self.heard_ms.get(&share.node).copied().unwrap_or(0);
                let is_left = matches!(job.phase, Phase::Running { .. })
                    || job.steps.on(&share.node).next().is_some();
                if now.boot_ms.saturating_sub(heard) > patience_ms && is_left {
                    found.entry(&share.node).or_default().push((job.id, job.epoch));
                }
            }
        }
        let lost = found.keys().map(|node| Command::NodeLost { node: (*node).clone() });
        let lost: Vec<Command> = lost.collect();
        let given_up =
            found.into_iter().map(|(node, runs)| Command::GiveUp { node: node.clone(), runs });
        lost.into_iter().chain(given_up).collect()
    }

    pub(super) fn is_registered(&self, node: &NodeName) -> bool {
        self.sessions.get(node).is_some_and(|session| session.registered)
    }

    /// Where agents take connections.
    pub(in crate::controller) fn addresses(&self) -> &Arc<BTreeMap<NodeName, String>> {
        &self.addresses
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number = self.next_number.wrapping_add(1);
        self.next_number
    }
}
