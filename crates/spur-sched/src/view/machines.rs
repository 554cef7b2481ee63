//! What nodes have, and what runs hold of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::config::words::Consume;
use spur_core::ids::NodeName;
use spur_core::job::Share;
use spur_core::node::{Kept, Node};
use spur_core::state::State;

use super::network::Way;
use super::{ViewGres, ViewNode, ViewShare};
use crate::planner::Planner;

pub(crate) fn view_node(state: &State, node: &Node, ways: &BTreeMap<NodeName, Way>) -> ViewNode {
    let partitions = state.partitions.iter().filter(|it| it.nodes.contains(&node.name));
    let mut features: Vec<Arc<str>> =
        node.active_features.iter().map(|it| it.as_str().into()).collect();
    features.sort_unstable();
    let (cores, threads) = cores(state, node);
    let kept = Kept::on(&state.settings.config, node);
    ViewNode {
        name: node.name.clone(),
        usable: node.takes_jobs(),
        weight: node.weight,
        partitions: partitions.map(|it| it.name.as_str().into()).collect(),
        features: features.into(),
        switches: ways.get(&node.name).cloned().unwrap_or_else(|| [].into()),
        sockets: node.inventory.sockets.max(1),
        cores,
        threads,
        // Where threads are given one by one each counts as a core.
        kept: match threads == node.inventory.threads_per_core.max(1) {
            true => kept.cores.into(),
            false => kept.cpus(&node.inventory).iter().collect(),
        },
        memory_mb: node.inventory.memory_mb.saturating_sub(kept.memory_mb),
        tmp_mb: node.inventory.tmp_mb,
        gres: gres(node).into(),
    }
}

/// Cores and threads of each. Where the numbers do not go together every processor counts as a core.
pub(crate) fn cores(state: &State, node: &Node) -> (u32, u32) {
    let it = &node.inventory;
    let threads = it.threads_per_core.max(1);
    let consume = state.settings.config.scheduler.consume;
    let by_core = !matches!(consume, Consume::Cpu | Consume::CpuMemory);
    match by_core && it.sockets * it.cores_per_socket * threads == it.cpus {
        true => (it.cpus / threads, threads),
        false => (it.cpus, 1),
    }
}

pub(crate) fn gres(node: &Node) -> Vec<ViewGres> {
    let shards: u64 =
        node.inventory.gres.iter().filter(|it| it.name == "shard").map(|it| it.count).sum();
    let gpus: u64 =
        node.inventory.gres.iter().filter(|it| it.name == "gpu").map(|it| it.count).sum();
    let whole = node.inventory.gres.iter().filter(|it| it.name != "shard" && !it.no_consume);
    whole
        .map(|it| {
            let devices = u32::try_from(it.count).unwrap_or(u32::MAX).min(1 << 16);
            let parts = match it.name.as_str() {
                "gpu" if gpus > 0 => (shards / gpus).max(1) as u32,
                _ => 1,
            };
            let numbers = |text: &String| -> Vec<u32> {
                let ranges = text.split(',').filter_map(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
                });
                ranges.flatten().take(1 << 16).collect()
            };
            ViewGres {
                name: it.name.as_str().into(),
                model: it.kind.as_str().into(),
                devices,
                parts,
                shared: it.name == "gpu" && shards > 0,
                near: it.cores.iter().map(numbers).collect(),
                linked: linked(&it.links, devices),
            }
        })
        .collect()
}

/// Devices with a link to each, told from lines such as `-1,4,0`.
fn linked(links: &[String], devices: u32) -> Vec<Vec<u32>> {
    if links.len() != devices as usize {
        return Vec::new();
    }
    let others = |line: &String| {
        let counts = (0..devices).zip(line.split(','));
        let fast = |count: &str| count.trim().parse::<i64>().is_ok_and(|count| count > 0);
        counts.filter(|(_, count)| fast(count)).map(|(device, _)| device).collect()
    };
    links.iter().map(others).collect()
}

/// What a run holds, as the planner counts it.
pub(super) fn view_share(
    planner: &Planner,
    state: &State,
    node: &Node,
    share: &Share,
) -> ViewShare {
    let (_, threads) = cores(state, node);
    let cores = match share.cpu_ids.is_empty() {
        false => {
            let mut cores: Vec<u32> = share.cpu_ids.iter().map(|cpu| cpu / threads).collect();
            cores.dedup();
            cores
        }
        // Nobody knows which: the first that are free.
        true => planner.free_cores(&node.name, share.cpus.div_ceil(threads)),
    };
    let groups = gres(node);
    let mut devices = Vec::new();
    for gres in &share.gres {
        let is_part = gres.name == "shard";
        let name = if is_part { "gpu" } else { gres.name.as_str() };
        let mut first = 0;
        for (place, group) in (0..).zip(&groups) {
            if &*group.name != name {
                continue;
            }
            let mine = first..first + group.devices;
            let parts = if is_part { small_part(gres.count, gres.ids.len()) } else { group.parts };
            let ids = gres.ids.iter().filter(|id| mine.contains(id));
            devices.extend(ids.map(|id| (place, id - first, parts)));
            first += group.devices;
        }
    }
    let (node, memory_mb) = (share.node.clone(), share.memory_mb);
    ViewShare { node, cores, memory_mb, devices, units: share.tasks }
}

fn small_part(count: u64, devices: u32) -> u32 {
    u32::try_from(count / u64::from(devices.max(1))).unwrap_or(u32::MAX)
}
