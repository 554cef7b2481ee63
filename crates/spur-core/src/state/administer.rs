//! What administrators do to nodes, partitions and reservations at run time.

use std::sync::Arc;

use crate::auth::{Action, Target, may};
use crate::config::{Config, NodeList, sections};
use crate::errors::SlurmError;
use crate::hostlist;
use crate::ids::{NodeName, Uid};
use crate::job::Phase;
use crate::node::{Node, Note};
use crate::partition::Partition;
use crate::reservation::Reservation;
use crate::state::{Administer, Effect, Noun, Reply, State, Verb, fences, reboots, reservations};
use crate::update::{self, NodeChange, NodeVerb};

pub(super) fn administer(
    state: &mut State,
    change: &Administer,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let action = match change.noun {
        Noun::Reservation => Action::Reserve,
        Noun::Node | Noun::Partition => Action::Administer,
    };
    may(&change.by, action, Target::Cluster)?;
    match (change.noun, change.verb) {
        (Noun::Node, Verb::Update) => nodes(state, change, effects),
        (Noun::Partition, Verb::Create) => create_partition(state, change),
        (Noun::Partition, Verb::Update) => update_partition(state, change),
        (Noun::Partition, Verb::Delete) => delete_partition(state, &change.name),
        (Noun::Node, Verb::Delete) => delete_nodes(state, change),
        (Noun::Reservation, Verb::Create) => reservations::create(state, change),
        (Noun::Reservation, Verb::Update) => reservations::update(state, change),
        (Noun::Reservation, Verb::Delete) => reservations::delete(state, &change.name),
        (Noun::Node, Verb::Create) => Err(SlurmError::NotSupported),
    }
}

fn names(change: &Administer) -> Result<Vec<NodeName>, SlurmError> {
    let names = hostlist::expand(&change.name).map_err(|_| SlurmError::InvalidNodeName)?;
    Ok(names.into_iter().map(NodeName::from).collect())
}

fn nodes(
    state: &mut State,
    administer: &Administer,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let mut change = NodeChange::default();
    for assignment in &administer.assignments {
        let set = update::node::set(&mut change, &assignment.key, &assignment.value);
        set.ok_or(SlurmError::NotSupported)??;
    }
    let by = administer.by.uid().unwrap_or_default();
    let names = match administer.name.eq_ignore_ascii_case("all") {
        true => state.nodes.keys().cloned().collect(),
        false => names(administer)?,
    };
    let found: Vec<Arc<Node>> =
        names.iter().filter_map(|name| state.nodes.get(name).cloned()).collect();
    if found.len() < names.len() {
        return Err(SlurmError::InvalidNodeName);
    }
    // A node in service has nothing to come back from; of several it is enough that one has.
    let is_well = |node: &Arc<Node>| node.takes_jobs() && node.reboot.is_none();
    if change.verb == Some(NodeVerb::Resume) && found.iter().all(is_well) {
        return Err(SlurmError::InvalidNodeState);
    }
    if change.verb == Some(NodeVerb::CancelReboot)
        && !found.iter().all(|it| reboots::is_waiting(it))
    {
        return Err(SlurmError::InvalidNodeState);
    }
    let has_program = state.settings.config.agent.reboot_program.is_some();
    if matches!(change.verb, Some(NodeVerb::Reboot { .. })) && !has_program {
        return Err(SlurmError::NotSupported);
    }
    for node in found {
        let node = changed(state, &node, &change, by)?;
        let name = node.name.clone();
        state.nodes.insert(name.clone(), Arc::new(node));
        if change.verb == Some(NodeVerb::Down) {
            fences::is_down(state, &name, effects)?;
        }
    }
    Ok(Reply::Done)
}

fn changed(state: &State, node: &Node, change: &NodeChange, by: Uid) -> Result<Node, SlurmError> {
    let mut node = node.clone();
    let note = |text: &str| Some(Note { text: text.to_string(), by, at: state.now });
    let said = change.reason.as_deref().filter(|reason| !reason.is_empty());
    match change.verb {
        // A node is taken out of service for a reason.
        Some(NodeVerb::Drain | NodeVerb::Down | NodeVerb::Fail)
            if said.is_none() && node.service.reason.is_none() =>
        {
            return Err(SlurmError::InvalidNodeState);
        }
        Some(NodeVerb::Drain) => node.service.drain = true,
        Some(NodeVerb::Down) => node.service.down = true,
        Some(NodeVerb::Fail) => node.service.fail = true,
        Some(NodeVerb::Undrain) => {
            node.service.drain = false;
            if !node.service.down && !node.service.fail {
                node.service = Default::default();
            }
        }
        Some(NodeVerb::Resume | NodeVerb::Idle) => {
            node.service = Default::default();
            node.reboot = None;
        }
        Some(NodeVerb::Reboot { asap }) => {
            let now = Note { text: String::new(), by, at: state.now };
            reboots::ask(&mut node, asap, change.next_state, said.and_then(note), now);
            return Ok(node);
        }
        Some(NodeVerb::CancelReboot) => reboots::cancel(&mut node)?,
        Some(NodeVerb::Power) => return Err(SlurmError::InvalidNodeState),
        Some(NodeVerb::NoResponse) | None => {}
    }
    let closed = node.service.drain || node.service.down || node.service.fail;
    match (change.verb, said) {
        (Some(NodeVerb::Resume | NodeVerb::Idle), _) => {}
        // A node in service has no reason not to be.
        (_, Some(_)) if !closed => {}
        (_, Some(reason)) => node.service.reason = note(reason),
        (_, None) if change.reason.is_some() => node.service.reason = None,
        (_, None) => {}
    }
    node.weight = change.weight.unwrap_or(node.weight);
    if let Some(features) = &change.features {
        node.features = features.clone();
        node.active_features = features.clone();
    }
    if let Some(active) = &change.active_features {
        if active.iter().any(|feature| !node.features.contains(feature)) {
            return Err(SlurmError::ActiveFeatureNotSubset);
        }
        node.active_features = active.clone();
    }
    node.comment = change.comment.clone().unwrap_or(node.comment);
    node.extra = change.extra.clone().unwrap_or(node.extra);
    node.cpu_bind = change.cpu_bind.unwrap_or(node.cpu_bind);
    Ok(node)
}

/// Forgets nodes on which nothing runs and that no reservation has. An agent that is there comes back with its
/// next start.
fn delete_nodes(state: &mut State, change: &Administer) -> Result<Reply, SlurmError> {
    let names = names(change)?;
    for name in &names {
        state.nodes.get(name).ok_or(SlurmError::InvalidNodeName)?;
        let has = |reservation: &Arc<Reservation>| reservation.nodes.contains(name);
        let is_busy = state.index.on_node.get(name).is_some_and(|jobs| !jobs.is_empty());
        if is_busy || state.reservations.values().any(has) {
            return Err(SlurmError::NodesBusy);
        }
    }
    for name in &names {
        state.nodes.remove(name);
    }
    Ok(Reply::Done)
}

fn create_partition(state: &mut State, change: &Administer) -> Result<Reply, SlurmError> {
    if state.partition(&change.name).is_some() || change.name.is_empty() {
        return Err(SlurmError::InvalidPartitionName);
    }
    // Without a word about them it has no nodes, unlike a partition of the configuration.
    let fresh = sections::Partition {
        name: change.name.clone(),
        nodes: NodeList::default(),
        min_nodes: 1,
        ..sections::Partition::default()
    };
    put_partition(state, fresh, change)
}

fn update_partition(state: &mut State, change: &Administer) -> Result<Reply, SlurmError> {
    let present = state.partition(&change.name).ok_or(SlurmError::InvalidPartitionName)?;
    put_partition(state, (*present.rules).clone(), change)
}

fn put_partition(
    state: &mut State,
    mut rules: sections::Partition,
    change: &Administer,
) -> Result<Reply, SlurmError> {
    for assignment in &change.assignments {
        update::partition::set(&mut rules, &assignment.key, &assignment.value)?;
    }
    let known = |name: &NodeName| {
        let sets = &state.settings.config.node_sets;
        state.nodes.contains_key(name) || sets.iter().any(|set| set.name == name.as_str())
    };
    let is_nodes = |key: &str| key.trim_end_matches(['+', '-']).eq_ignore_ascii_case("nodes");
    let is_said = change.assignments.iter().any(|said| is_nodes(&said.key));
    if is_said && !rules.nodes.names().iter().all(known) {
        return Err(SlurmError::InvalidNodeName);
    }
    // One that is the default for being alone stays it when another comes.
    let present = state.partitions.iter().map(|partition| sections::Partition {
        default: partition.is_default.then_some(true).or(partition.rules.default),
        ..(*partition.rules).clone()
    });
    let mut all: Vec<sections::Partition> = present.collect();
    if rules.default == Some(true) {
        all.iter_mut().for_each(|other| other.default = other.default.and(Some(false)));
    }
    match all.iter_mut().find(|other| other.name == rules.name) {
        Some(place) => *place = rules,
        None => all.push(rules),
    }
    set_partitions(state, all);
    Ok(Reply::Done)
}

fn delete_partition(state: &mut State, name: &str) -> Result<Reply, SlurmError> {
    if state.partition(name).is_none() {
        return Err(SlurmError::InvalidPartitionName);
    }
    let is_in_use = |job: &crate::job::Job| {
        !matches!(job.phase, Phase::Ended { .. })
            && job.spec.partition.split(',').any(|it| it == name)
    };
    if state.jobs.values().any(|job| is_in_use(job)) {
        return Err(SlurmError::PartitionInUse);
    }
    let all = state.partitions.iter().filter(|partition| partition.name != name);
    let all = all.map(|partition| (*partition.rules).clone()).collect();
    set_partitions(state, all);
    Ok(Reply::Done)
}

fn set_partitions(state: &mut State, partitions: Vec<sections::Partition>) {
    let config = Config { partitions, ..(*state.settings.config).clone() };
    let made = config.partitions.iter().map(|rules| Partition::of(&config, rules));
    state.partitions = Arc::new(made.collect());
}
