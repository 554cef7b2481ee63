//! What of a node is taken.

use std::collections::BTreeMap;

use crate::job::Share;
use crate::node::Inventory;

/// Sums over the jobs on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Processors.
    pub cpus: u32,
    /// Memory.
    pub memory_mb: u64,
    /// Generic resources by name and type.
    pub gres: BTreeMap<(String, String), u64>,
}

impl Used {
    /// Takes a job's share.
    pub fn add(&mut self, share: &Share) {
        self.cpus += share.cpus;
        self.memory_mb += share.memory_mb;
        for gres in &share.gres {
            *self.gres.entry((gres.name.clone(), gres.kind.clone())).or_default() += gres.count;
        }
    }

    /// Whether a node has that much.
    pub fn fits(&self, node: &Inventory) -> bool {
        let has = |(name, kind): &(String, String)| -> u64 {
            let of_kind = node.gres.iter().filter(|gres| gres.gives(name, kind));
            of_kind.map(|gres| if gres.no_consume { u64::MAX } else { gres.count }).sum()
        };
        self.cpus <= node.cpus
            && (self.memory_mb <= node.memory_mb || node.memory_mb == 0)
            && self.gres.iter().all(|(gres, count)| *count <= has(gres))
    }
}
