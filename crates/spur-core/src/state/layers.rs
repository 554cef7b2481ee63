//! Processors that several jobs have at a time, where a partition lets them.

use std::collections::BTreeMap;

use crate::ids::NodeName;
use crate::job::{Job, Share};
use crate::state::State;

/// Processors of a node that somebody has, each counted once.
pub(super) fn distinct(state: &State, node: &NodeName) -> u32 {
    holders(state, node).len() as u32
}

/// Whether there is room for one more job on these processors, of which so many may share each.
pub(super) fn has_room(state: &State, share: &Share, layers: u32) -> bool {
    let holders = holders(state, &share.node);
    share.cpu_ids.iter().all(|cpu| match holders.get(&cpu) {
        None => true,
        Some((count, least)) => *count < layers && *count < *least,
    })
}

/// How many jobs have each processor, and how many the strictest of them puts up with.
fn holders(state: &State, node: &NodeName) -> BTreeMap<u32, (u32, u32)> {
    let mut holders = BTreeMap::new();
    let here = state.index.on_node.get(node).into_iter().flat_map(|jobs| jobs.keys());
    let awake = here.filter_map(|id| state.jobs.get(id)).filter(|job| !job.asleep);
    for (job, share) in awake.flat_map(|job| on(job, node).map(move |share| (job, share))) {
        for cpu in share.cpu_ids.iter() {
            let (count, least) = holders.entry(cpu).or_insert((0, u32::MAX));
            *count += 1;
            *least = (*least).min(job.granted.layers.max(1));
        }
    }
    holders
}

fn on<'a>(job: &'a Job, node: &'a NodeName) -> impl Iterator<Item = &'a Share> {
    let held = job.phase.holds().into_iter().flat_map(|held| &held.shares);
    held.filter(move |share| share.node == *node)
}
