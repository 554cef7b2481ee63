//! Nodes come, go and come back.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::ids::NodeName;
use crate::node::{Link, Node};
use crate::state::{RegisterNode, Reply, State};

pub(super) fn register(state: &mut State, seen: &RegisterNode) -> Result<Reply, SlurmError> {
    let link = match state.nodes.get(&seen.name) {
        Some(node) if node.link.is_up() && node.boot_id == seen.boot_id => node.link,
        _ => Link::Up(state.now),
    };
    let node = Node {
        name: seen.name.clone(),
        inventory: seen.inventory,
        boot_id: seen.boot_id.clone(),
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
