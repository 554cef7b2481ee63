//! Processors that others have too, for jobs that put up with that.

use crate::nodes::{Free, Slot};
use crate::place::{Candidate, Search, shares};
use crate::shape::Sharing;

/// Cores of a node that a job may have which shares each with others, those with fewest first, and what is
/// free if they are.
pub fn shared(slot: &Slot, layers: u32) -> (Vec<u32>, Free) {
    // How many have each core, and how many the strictest of them puts up with.
    let mut holders = vec![(0u32, u32::MAX); slot.node.cores as usize];
    for held in &slot.runs {
        for core in held.cores.iter() {
            if let Some((count, least)) = holders.get_mut(core as usize) {
                (*count, *least) = (*count + 1, (*least).min(held.sharing.layers()));
            }
        }
    }
    for core in slot.node.kept.iter() {
        if let Some(holders) = holders.get_mut(*core as usize) {
            *holders = (u32::MAX, 0);
        }
    }
    let free = |(count, least): &(u32, u32)| *count < layers && (*count == 0 || count < least);
    let all = (0..).zip(holders).filter(|(_, holders)| free(holders));
    let mut cores: Vec<(u32, u32)> = all.map(|(core, (count, _))| (count, core)).collect();
    cores.sort_unstable();
    let cores: Vec<u32> = cores.into_iter().map(|(_, core)| core).collect();
    let free = Free { cores: cores.len() as u32, ..slot.free.clone() };
    (cores, free)
}

impl Search<'_> {
    /// Nodes where others have the cores too; the least loaded first.
    pub(super) fn layered(&self) -> Option<Vec<Candidate>> {
        let Sharing::Cores(layers) = self.shape.sharing else { return None };
        let shape = self.shape;
        let least = shape.units_least();
        let mut all: Vec<((bool, u32, u64), Candidate)> = Vec::new();
        for (node, slot) in (0..).zip(&self.nodes.slots) {
            let out = self.barred.contains(&node)
                || self.within.is_some_and(|within| !within.contains(&node))
                || !slot.present
                || !slot.node.usable
                || !shares(shape, slot);
            let until = self.now.saturating_add(self.secs);
            let kept = self.calendar.reserved(node, self.now, until, shape);
            let Some(fit) = self.fit_of(node).filter(|_| !out && kept.is_none()) else { continue };
            let (_, free) = shared(slot, layers);
            let room = fit.room(shape, slot, &free, self.now);
            if room >= least {
                let load = slot.runs.len() as u32;
                let key = (!self.wanted.contains(&node), load, slot.order);
                all.push((key, Candidate { node, room }));
            }
        }
        all.sort_by_key(|(key, _)| *key);
        let mut found: Vec<Candidate> = Vec::new();
        let mut units = 0u32;
        for (_, candidate) in all {
            let enough = found.len() >= shape.nodes_min as usize && units >= shape.units;
            if enough || found.len() == shape.nodes_max as usize {
                break;
            }
            units = units.saturating_add(candidate.room);
            found.push(candidate);
        }
        let named = self.wanted.iter().all(|node| found.iter().any(|it| it.node == *node));
        let enough = found.len() >= shape.nodes_min as usize && units >= shape.units;
        (enough && named).then_some(found)
    }
}
