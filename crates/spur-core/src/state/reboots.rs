//! Nodes that are to restart: asked for, told once they are idle, and back in time or not.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::ids::{NodeName, Uid};
use crate::node::{NextState, Node, Note, Reboot, Service};
use crate::state::{Reply, State};
use crate::time::Timestamp;

/// Somebody wants a node to restart. One that is to restart already is left to it.
pub(super) fn ask(
    node: &mut Node,
    asap: bool,
    next: Option<NextState>,
    said: Option<Note>,
    now: Note,
) {
    if node.reboot.is_some() {
        return;
    }
    let drained = asap && !node.service.drain;
    node.service.drain |= asap;
    let usual = if asap { "Reboot ASAP" } else { "reboot requested" };
    let usual = || Some(Note { text: usual.to_string(), ..now });
    node.service.reason = said.or_else(|| node.service.reason.take()).or_else(usual);
    let next = next.or(asap.then_some(NextState::Resume));
    node.reboot = Some(Reboot { drained, next, issued: None });
}

/// It shall not restart after all.
pub(super) fn cancel(node: &mut Node) -> Result<(), SlurmError> {
    if !is_waiting(node) {
        return Err(SlurmError::InvalidNodeState);
    }
    if node.reboot.take().is_some_and(|reboot| reboot.drained) {
        node.service.drain = false;
    }
    if node.service.is_open() {
        node.service.reason = None;
    }
    Ok(())
}

/// Whether a restart is asked for and has not begun.
pub(super) fn is_waiting(node: &Node) -> bool {
    node.reboot.is_some() && node.restarting().is_none()
}

/// A node has come back from the restart that it was told to make.
pub(super) fn complete(service: &mut Service, next: Option<NextState>, now: Timestamp) {
    match next {
        Some(NextState::Resume) => *service = Service::default(),
        Some(NextState::Down) => {
            service.drain = false;
            service.down = true;
            add(service, "reboot complete", now);
        }
        None if service.is_open() => service.reason = None,
        None => {}
    }
}

fn add(service: &mut Service, words: &str, at: Timestamp) {
    let before = service.reason.take().map(|note| note.text).unwrap_or_default();
    service.reason = Some(Note { text: format!("{before} : {words}"), by: Uid::ROOT, at });
}

/// What is due for a node.
enum Due {
    /// It is idle: its agent is to be told.
    Begin,
    /// It has not come back in time.
    TooLate,
}

impl State {
    /// Whether something is due for a node that is to restart.
    pub fn reboot_is_due(&self, now: Timestamp) -> bool {
        self.nodes.values().any(|node| self.reboot_due(node, now).is_some())
    }

    fn reboot_due(&self, node: &Node, now: Timestamp) -> Option<Due> {
        match node.reboot.as_ref()?.issued {
            Some(at) => {
                (now > at.plus_secs(self.reboot_timeout(&node.name))).then_some(Due::TooLate)
            }
            None => {
                let jobs = self.index.on_node.get(&node.name);
                let is_idle = jobs.is_none_or(|jobs| jobs.is_empty());
                (is_idle && node.link.is_up()).then_some(Due::Begin)
            }
        }
    }

    /// The longest that a partition of the node says, or else the cluster.
    fn reboot_timeout(&self, name: &NodeName) -> i64 {
        let with_it = self.partitions.iter().filter(|it| it.nodes.contains(name));
        let longest = with_it.filter_map(|it| it.rules.resume_timeout).map(|it| it.0).max();
        i64::try_from(longest.unwrap_or(self.settings.config.power.resume_timeout.0))
            .unwrap_or(i64::MAX)
    }
}

/// Lets idle nodes begin, and gives up those that took too long.
pub(super) fn due(state: &mut State) -> Result<Reply, SlurmError> {
    for node in state.nodes.clone().values() {
        let Some(due) = state.reboot_due(node, state.now) else { continue };
        let mut node = (**node).clone();
        match (due, &mut node.reboot) {
            (Due::Begin, Some(reboot)) => {
                reboot.issued = Some(state.now);
                add(&mut node.service, "reboot issued", state.now);
            }
            _ => {
                node.reboot = None;
                node.service.down = true;
                add(&mut node.service, "reboot timed out", state.now);
            }
        }
        state.nodes.insert(node.name.clone(), Arc::new(node));
    }
    Ok(Reply::Done)
}
