//! Leaf by leaf, as Slurm chooses below a tree of switches for jobs that ask for no devices.
//!
//! Of the leaves that have as many nodes as the job still lacks the one with the fewest goes first, and where none has,
//! the one with most. How many processors they have does not count: `-n4` gets a leaf of few nodes, and what is missing
//! from the next. Nodes of a leaf are taken in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::line::{LOOK, Need, Stop};
use super::{Candidate, Chosen, Search};
use crate::nodes::Nodes;
use crate::shape::Shape;

/// Whether nodes for such a job are chosen leaf by leaf. A leaf with nothing above it is a block.
pub fn are_followed(nodes: &Nodes, shape: &Shape) -> bool {
    let plain = shape.gres.is_empty() && !shape.contiguous && !shape.spread;
    plain && nodes.slots.len() <= LOOK && nodes.domains.values().any(|it| it.height > 0)
}

/// Nodes of a leaf that would do.
type Leaf<'a> = Vec<&'a Stop>;

impl Search<'_> {
    pub(super) fn leaf_by_leaf(&self, stops: &[Stop]) -> Option<Chosen> {
        let (most, wide) = self.most();
        let mut need = Need::of(self.shape);
        let mut found: Vec<&Candidate> = Vec::new();
        let is_named = |stop: &&Stop| self.wanted.contains(&stop.candidate.node);
        for stop in stops.iter().filter(is_named) {
            need.take(stop);
            found.push(&stop.candidate);
        }
        if found.len() < self.wanted.len() {
            return None;
        }
        let full =
            |need: &Need, found: &[&Candidate]| found.len() >= most || need.is_met() && !wide;
        // The lightest first, and of those the ones beside what was asked for by name.
        let mut weights: Vec<u32> = stops.iter().map(|stop| stop.weight).collect();
        weights.sort_unstable();
        weights.dedup();
        for weight in weights {
            let light = stops.iter().filter(|stop| stop.weight == weight && !is_named(stop));
            let mut leaves = self.by_leaf(light);
            while !full(&need, &found) && !leaves.is_empty() {
                let lacks = if wide { most - found.len() } else { need.nodes as usize };
                let next = self.next_leaf(&leaves, &found, lacks);
                for stop in leaves.remove(next) {
                    if full(&need, &found) {
                        break;
                    }
                    if found.len() + 1 == most && stop.cpus < need.cpus {
                        continue;
                    }
                    need.take(stop);
                    found.push(&stop.candidate);
                }
            }
        }
        need.is_met().then(|| self.dealt(&found)).flatten()
    }

    /// Nodes by their leaves, in order.
    fn by_leaf<'a>(&self, stops: impl Iterator<Item = &'a Stop>) -> Vec<Leaf<'a>> {
        let mut leaves: BTreeMap<&Arc<[Arc<str>]>, Leaf<'a>> = BTreeMap::new();
        for stop in stops {
            leaves.entry(self.way(&stop.candidate)).or_default().push(stop);
        }
        let mut leaves: Vec<Leaf<'a>> = leaves.into_values().collect();
        leaves.sort_by_key(|leaf| self.nodes.rank(leaf[0].candidate.node));
        leaves
    }

    fn way(&self, candidate: &Candidate) -> &Arc<[Arc<str>]> {
        &self.nodes.slot(candidate.node).node.switches
    }

    /// Which leaf goes next where so many nodes are lacking.
    fn next_leaf(&self, leaves: &[Leaf<'_>], found: &[&Candidate], lacks: usize) -> usize {
        let fit = |leaf: &Leaf<'_>| {
            let way = self.way(&leaf[0].candidate);
            let apart = self.wanted.is_empty() || !found.iter().any(|it| self.way(it) == way);
            let enough = leaf.len() >= lacks;
            let size = leaf.len() as isize;
            (apart, !enough, if enough { size } else { -size })
        };
        let best = leaves.iter().enumerate().min_by_key(|(_, leaf)| fit(leaf));
        best.map_or(0, |(place, _)| place)
    }
}
