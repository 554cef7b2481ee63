//! Nodes come, go and come back.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::ids::NodeName;
use crate::node::{Inventory, Link, Node};
use crate::state::{RegisterNode, Reply, State};

pub(super) fn register(state: &mut State, seen: &RegisterNode) -> Result<Reply, SlurmError> {
    let (link, boots) = match state.nodes.get(&seen.name) {
        Some(node) if node.boot_id != seen.boot_id => (Link::Up(state.now), node.boots + 1),
        Some(node) if node.link.is_up() => (node.link, node.boots),
        Some(node) => (Link::Up(state.now), node.boots),
        None => (Link::Up(state.now), 1),
    };
    // What runs there keeps what it was given, also on a node that came back smaller.
    let cpus = seen.inventory.cpus.max(state.cpus_used(&seen.name));
    let node = Node {
        name: seen.name.clone(),
        inventory: Inventory { cpus, ..seen.inventory },
        boot_id: seen.boot_id.clone(),
        boots,
        link,
    };
    state.nodes.insert(seen.name.clone(), Arc::new(node));
    Ok(Reply::Done)
}

/// Takes no new jobs there. The jobs it runs are left alone: nothing is proven about them.
pub(super) fn lost(state: &mut State, name: &NodeName) -> Result<Reply, SlurmError> {
    let node = state.nodes.get(name).ok_or(SlurmError::InvalidNodeName)?;
    if node.link.is_up() {
        let node = Node { link: Link::Down(state.now), ..(**node).clone() };
        state.nodes.insert(name.clone(), Arc::new(node));
    }
    Ok(Reply::Done)
}
