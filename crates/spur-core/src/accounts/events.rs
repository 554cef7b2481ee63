//! What accounting is told of nodes: when one goes out of service and comes back, and what the cluster has.

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use std::sync::Arc;

use crate::accounts::limits::Needs;
use crate::accounts::needs;
use crate::hostlist;
use crate::ids::NodeName;
use crate::node::{Link, Node};
use crate::reservation::Reservation;
use crate::state::{Capacity, State};
use crate::time::Timestamp;
use crate::tres::{self, Tres};
use crate::views::{AccountingRecord, EventView};

/// The records that a change of nodes calls for; what the cluster has is noted in the state.
pub fn of_change(state: &mut State, before: &OrdMap<NodeName, Arc<Node>>) -> Vec<AccountingRecord> {
    if before.ptr_eq(&state.nodes) {
        return Vec::new();
    }
    let mut events = Vec::new();
    for change in before.diff(&state.nodes) {
        let (old, new) = match change {
            DiffItem::Add(_, new) => (None, Some(new)),
            DiffItem::Update { old: (_, old), new: (_, new) } => (Some(old), Some(new)),
            DiffItem::Remove(_, old) => (Some(old), None),
        };
        let then = old.and_then(|node| trouble(node));
        let now = new.and_then(|node| trouble(node));
        if then == now {
            continue;
        }
        if let Some(then) = then {
            events.push(EventView { end_time: state.now.0, ..then });
        }
        events.extend(now);
    }
    let has = capacity(state);
    if has.tres != state.capacity.tres || has.nodes != state.capacity.nodes {
        let of_cluster = |it: &Capacity, end_time: i64| EventView {
            start_time: it.since.0,
            end_time,
            reason: "Cluster Registered TRES".to_string(),
            tres: it.tres.clone(),
            nodes: it.nodes.clone(),
            ..EventView::default()
        };
        if !state.capacity.tres.is_empty() {
            events.push(of_cluster(&state.capacity, state.now.0));
        }
        events.push(of_cluster(&has, 0));
        state.capacity = has;
    }
    let cluster = &state.settings.cluster_name;
    let record = |event: EventView| AccountingRecord {
        event: Some(EventView { cluster: cluster.clone(), ..event }),
        ..AccountingRecord::default()
    };
    events.into_iter().map(record).collect()
}

/// The records that a change of reservations calls for: each is kept with its time and what it kept from others.
pub fn of_reservations(
    state: &State,
    before: &OrdMap<String, Arc<Reservation>>,
) -> Vec<AccountingRecord> {
    if before.ptr_eq(&state.reservations) {
        return Vec::new();
    }
    let mut events = Vec::new();
    for change in before.diff(&state.reservations) {
        let (old, new) = match change {
            DiffItem::Add(_, new) => (None, Some(new)),
            DiffItem::Update { old: (_, old), new: (_, new) } => (Some(old), Some(new)),
            DiffItem::Remove(_, old) => (Some(old), None),
        };
        let (then, now) = (old.map(|it| kept(state, it)), new.map(|it| kept(state, it)));
        if then == now {
            continue;
        }
        // A row is written over by the next of the same start. What had not begun was never there.
        let begins = now.as_ref().map(|it| it.start_time);
        events.extend(then.filter(|it| Some(it.start_time) != begins).map(|it| EventView {
            end_time: it.end_time.min(state.now.0).max(it.start_time),
            ..it
        }));
        events.extend(now);
    }
    let cluster = &state.settings.cluster_name;
    let record = |event: EventView| AccountingRecord {
        event: Some(EventView { cluster: cluster.clone(), ..event }),
        ..AccountingRecord::default()
    };
    events.into_iter().map(record).collect()
}

/// A reservation as accounting keeps it.
fn kept(state: &State, it: &Reservation) -> EventView {
    let mut sum = Needs::new();
    for (place, name) in it.nodes.iter().enumerate() {
        let Some(node) = state.nodes.get(name) else { continue };
        let mut has = of_node(node);
        if let Some(cores) = it.cores.get(place) {
            has.insert(Tres::Cpu, u64::from(*cores));
        }
        for (tres, amount) in has {
            *sum.entry(tres).or_insert(0) += amount;
        }
    }
    EventView {
        reservation: it.name.clone(),
        state: it.flags.words().join(","),
        users: it.users.clone(),
        accounts: it.accounts.clone(),
        start_time: it.start.0,
        end_time: it.end.0,
        tres: listed(&sum),
        nodes: hostlist::compress(it.nodes.iter().map(|name| name.as_str())),
        ..EventView::default()
    }
}

/// Why a node is out of service, and since when.
fn trouble(node: &Node) -> Option<EventView> {
    let note = node.service.reason.as_ref();
    let state = match (node.link, &node.service) {
        (Link::Down(_), _) => "DOWN",
        (_, service) if service.down || node.restarting().is_some() => "DOWN",
        (_, service) if service.drain => "DRAIN",
        (_, service) if service.fail => "FAIL",
        _ => return None,
    };
    let since = match (node.link, note) {
        (Link::Down(since), _) => since,
        (_, Some(note)) => note.at,
        // Nobody said since when, so nobody could be told when it is over.
        _ => return None,
    };
    let reason = match (node.link, note) {
        (_, Some(note)) => note.text.clone(),
        _ => "Not responding".to_string(),
    };
    Some(EventView {
        node: node.name.to_string(),
        start_time: since.0,
        state: state.to_string(),
        reason,
        uid: note.map(|note| note.by.0),
        tres: listed(&of_node(node)),
        ..EventView::default()
    })
}

fn capacity(state: &State) -> Capacity {
    let mut sum = Needs::new();
    for node in state.nodes.values() {
        let mut has = of_node(node);
        let on = state.partitions.iter().filter(|it| it.nodes.contains(&node.name));
        needs::bill_most(&mut has, on.map(|it| &*it.rules), &state.settings.config.priority);
        for (tres, amount) in has {
            *sum.entry(tres).or_insert(0) += amount;
        }
    }
    let nodes = hostlist::compress(state.nodes.keys().map(|name| name.as_str()));
    Capacity { since: Timestamp(state.now.0), tres: listed(&sum), nodes }
}

fn of_node(node: &Node) -> Needs {
    let inventory = &node.inventory;
    let cpus = u64::from(inventory.cpus);
    let mut has = Needs::from([
        (Tres::Cpu, cpus),
        (Tres::Memory, inventory.memory_mb),
        (Tres::Node, 1),
        (Tres::Billing, cpus),
    ]);
    for gres in &inventory.gres {
        let tres = Tres::Named { kind: "gres".to_string(), name: gres.name.clone() };
        *has.entry(tres).or_insert(0) += gres.count;
        if !gres.kind.is_empty() {
            let name = format!("{}:{}", gres.name, gres.kind);
            let tres = Tres::Named { kind: "gres".to_string(), name };
            *has.entry(tres).or_insert(0) += gres.count;
        }
    }
    has
}

fn listed(amounts: &Needs) -> String {
    tres::display(&amounts.iter().map(|(tres, amount)| (tres.clone(), Some(*amount))).collect())
}
