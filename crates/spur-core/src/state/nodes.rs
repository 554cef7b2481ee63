//! Nodes come, go and come back, and are taken out of service and put back.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::ids::{NodeName, Uid};
use crate::node::{Inventory, Link, Node, Note, Service};
use crate::state::{RegisterNode, Reply, State, reboots};

pub(super) fn register(state: &mut State, seen: &RegisterNode) -> Result<Reply, SlurmError> {
    if !state.settings.admits(&seen.name) {
        return Err(SlurmError::InvalidNodeName);
    }
    let known = state.nodes.get(&seen.name).cloned();
    let (link, boots) = match &known {
        Some(node) if node.boot_id != seen.boot_id => (Link::Up(state.now), node.boots + 1),
        Some(node) if node.link.is_up() => (node.link, node.boots),
        Some(node) => (Link::Up(state.now), node.boots),
        None => (Link::Up(state.now), 1),
    };
    let rules = state.settings.node_rules(&seen.name);
    let mut service = known.as_ref().map(|node| node.service.clone()).unwrap_or_default();
    let mut reboot = known.as_ref().and_then(|node| node.reboot.clone());
    let has_restarted = known.as_ref().is_some_and(|node| node.boots != boots);
    if let Some(done) = reboot.take_if(|it| it.issued.is_some() && has_restarted) {
        reboots::complete(&mut service, done.next, state.now);
    }
    let found = seen.inventory.with_devices(&seen.name, &state.settings.config.gres);
    let configured = found.under(rules);
    let is_trial = seen.inventory.trial || rules.is_some_and(|rules| rules.trial);
    if !is_trial && let Some(reason) = found.shortage(&configured) {
        drain(&mut service, reason, Uid::ROOT, state);
    }
    let configured_features = rules.map_or(&[][..], |rules| &rules.features[..]);
    let mut features = configured_features.to_vec();
    features.extend(
        seen.inventory.features.iter().filter(|it| !configured_features.contains(it)).cloned(),
    );
    let weight = rules.map_or(1, |rules| rules.weight);
    let cpu_bind = rules.and_then(|rules| rules.cpu_bind);
    let node = Node {
        name: seen.name.clone(),
        inventory: room_for_jobs(state, &seen.name, configured),
        found: seen.inventory.clone(),
        weight: known.as_ref().map_or(weight, |node| node.weight),
        active_features: match &known {
            Some(node) if node.features == features => node.active_features.clone(),
            _ => features.clone(),
        },
        features,
        boot_id: seen.boot_id.clone(),
        boots,
        link,
        service,
        comment: known.as_ref().map(|node| node.comment.clone()).unwrap_or_default(),
        extra: known.as_ref().map(|node| node.extra.clone()).unwrap_or_default(),
        cpu_bind: known.as_ref().map_or(cpu_bind, |node| node.cpu_bind),
        launch_failures: known.filter(|it| it.boots == boots).map_or(0, |it| it.launch_failures),
        reboot,
    };
    state.nodes.insert(seen.name.clone(), Arc::new(node));
    Ok(Reply::Done)
}

/// What runs there keeps what it was given, also on a node that came back smaller.
fn room_for_jobs(state: &State, name: &NodeName, inventory: Inventory) -> Inventory {
    let cpus = inventory.cpus.max(state.cpus_used(name));
    Inventory { cpus, ..inventory }
}

/// Takes a node out of service, unless it is already: the first reason is the one to look into.
fn drain(service: &mut Service, text: String, by: Uid, state: &State) {
    if !service.drain {
        service.drain = true;
        service.reason = Some(Note { text, by, at: state.now });
    }
}

/// A program that readies the node for jobs, or tidies up after them, has failed there.
pub(super) fn hook_failed(state: &mut State, name: &NodeName, reason: &str) {
    let Some(node) = state.nodes.get(name) else { return };
    let mut node = (**node).clone();
    drain(&mut node.service, reason.to_string(), Uid::ROOT, state);
    state.nodes.insert(name.clone(), Arc::new(node));
}

/// A node could not start a script. One that fails again and again is taken out of service, so that it does not
/// eat up the queue. Where many nodes fail, it is something they share and not theirs: they stay, and the jobs
/// are held back instead, see `again`.
pub(super) fn launch_failed(state: &mut State, name: &NodeName, said: &str) {
    let Some(node) = state.nodes.get(name) else { return };
    let mut node = Node { launch_failures: node.launch_failures + 1, ..(**node).clone() };
    let is_out = |node: &&Arc<Node>| {
        let reason = node.service.reason.as_ref();
        node.service.drain && reason.is_some_and(|it| it.text.starts_with(LAUNCH_FAILED))
    };
    let out = state.nodes.values().filter(is_out).count();
    if node.launch_failures >= MOST_LAUNCH_FAILURES && out < state.nodes.len().div_ceil(2) {
        let said = if said.is_empty() { "see the log of its agent" } else { said };
        let text = format!("{LAUNCH_FAILED} {} times in a row: {said}", node.launch_failures);
        drain(&mut node.service, text, Uid::ROOT, state);
        node.launch_failures = 0;
    }
    state.nodes.insert(name.clone(), Arc::new(node));
}

/// A node has started a script.
pub(super) fn launched(state: &mut State, name: &NodeName) {
    if let Some(node) = state.nodes.get(name).filter(|node| node.launch_failures > 0) {
        let node = Node { launch_failures: 0, ..(**node).clone() };
        state.nodes.insert(name.clone(), Arc::new(node));
    }
}

const MOST_LAUNCH_FAILURES: u32 = 3;
const LAUNCH_FAILED: &str = "Launch failed";

/// Applies a changed configuration to the nodes that are there.
pub(super) fn reconfigure(state: &mut State) {
    for node in state.nodes.clone().values() {
        let rules = state.settings.node_rules(&node.name);
        let found = node.found.with_devices(&node.name, &state.settings.config.gres);
        let inventory = room_for_jobs(state, &node.name, found.under(rules));
        let mut changed = Node { inventory, ..(**node).clone() };
        if let Some(rules) = rules {
            changed.weight = rules.weight;
            if !rules.features.is_empty() {
                changed.features = rules.features.clone();
                changed.active_features = rules.features.clone();
            }
        }
        state.nodes.insert(changed.name.clone(), Arc::new(changed));
    }
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
