//! What jobs of a partition may have of a node together.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::job::{Job, Share};
use crate::partition::Partition;
use crate::state::State;

/// Whether jobs of a partition have no more processors of a node than it allows, with one more share.
pub(super) fn hold(state: &State, partition: &Partition, share: &Share) -> bool {
    let most = partition.rules.max_cpus_per_node.0.number();
    let of_socket = partition.rules.max_cpus_per_socket.0.number();
    if most.is_none() && of_socket.is_none() {
        return true;
    }
    let here = state.index.on_node.get(&share.node).into_iter().flat_map(|jobs| jobs.iter());
    let of_partition = here.filter_map(|(id, cpus)| {
        let job = state.jobs.get(id)?;
        let there = state.partition_of(job).is_some_and(|it| it.name == partition.name);
        there.then_some((job, u64::from(*cpus)))
    });
    let of_partition: Vec<(&Arc<Job>, u64)> = of_partition.collect();
    let held: u64 = of_partition.iter().map(|(_, cpus)| cpus).sum();
    let sockets = of_socket.zip(state.nodes.get(&share.node));
    let sockets_hold = sockets.is_none_or(|(most, node)| {
        let each = (node.inventory.cores_per_socket * node.inventory.threads_per_core).max(1);
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let there = of_partition.iter().filter(|(job, _)| !job.asleep);
        let shares = there.filter_map(|(job, _)| job.phase.holds()).flat_map(|held| &held.shares);
        let shares = shares.filter(|it| it.node == share.node).chain([share]);
        for cpu in shares.flat_map(|it| it.cpu_ids.iter()) {
            *counts.entry(cpu / each).or_default() += 1;
        }
        counts.values().all(|count| *count <= most)
    });
    most.is_none_or(|most| held + u64::from(share.cpus) <= most) && sockets_hold
}
