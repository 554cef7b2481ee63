//! Jobs for which less is free than they need, whatever is promised to whom. Most of a long queue are such
//! jobs, and they stay so until a node gains that is of use to them: a pass need not look at them again.

use crate::fit::Fit;
use crate::gains::Stamp;
use crate::nodes::{BucketKey, Nodes, Slot};
use crate::possible::Fits;
use crate::queue::Class;
use crate::shape::{Shape, Sharing};

/// What some nodes that gained have free, each with its kind.
#[derive(Debug, Default)]
pub struct Gained {
    since: Option<Stamp>,
    free: Option<Vec<(u32, BucketKey)>>,
}

impl Gained {
    fn since(&mut self, stamp: Stamp, nodes: &Nodes) -> Option<&[(u32, BucketKey)]> {
        // Nearly all classes ask for the same moment.
        if self.since != Some(stamp) {
            self.since = Some(stamp);
            self.free = nodes.gains.since(stamp).map(|gained| {
                let slots = gained.iter().map(|node| nodes.slot(*node));
                slots.filter_map(|slot| Some((slot.kind, slot.bucket()?))).collect()
            });
        }
        self.free.as_deref()
    }
}

impl Class {
    /// Whether it was found to be short, and nothing has come since that is of use to it.
    pub fn is_still_short(&mut self, nodes: &Nodes, gained: &mut Gained) -> bool {
        let (Some(stamp), Some(fits)) = (self.short, &self.fits) else { return false };
        let still = gained.since(stamp, nodes).is_some_and(|gained| {
            let of_use = |(kind, key): &(u32, BucketKey)| {
                fits.alternatives.iter().flatten().any(|fit| fit.kind == *kind && fit.may_do(key))
            };
            !gained.iter().any(of_use)
        });
        self.short = still.then(|| nodes.gains.stamp());
        still
    }

    /// Whether a node has come to have more that may be of use to it.
    pub fn gained_since(&self, stamp: Stamp, nodes: &Nodes) -> bool {
        let Some(fits) = &self.fits else { return true };
        let of_use = |slot: &Slot| {
            slot.bucket().is_some_and(|key| {
                let mut kinds = fits.alternatives.iter().flatten();
                kinds.any(|fit| fit.kind == slot.kind && fit.may_do(&key))
            })
        };
        let gained = nodes.gains.since(stamp);
        gained.is_none_or(|gained| gained.iter().any(|node| of_use(nodes.slot(*node))))
    }

    /// Whether it is short.
    pub fn is_short(&mut self, nodes: &Nodes) -> bool {
        if self.is_still_short(nodes, &mut Gained::default()) {
            return true;
        }
        let short = self.fits.as_ref().is_some_and(|fits| fits.is_short(&self.shape, nodes));
        self.short = short.then(|| nodes.gains.stamp());
        short
    }
}

impl Fits {
    /// Whether all nodes with room together are too few. A "no" may be wrong.
    fn is_short(&self, shape: &Shape, nodes: &Nodes) -> bool {
        let plain = !matches!(shape.sharing, Sharing::Cores(_)) && shape.sizes.is_empty();
        plain
            && self.counted.is_empty()
            && !self.alternatives.iter().any(|kinds| enough(shape, nodes, kinds))
    }
}

fn enough(shape: &Shape, nodes: &Nodes, kinds: &[Fit]) -> bool {
    let each = shape.units_each();
    let (mut count, mut units) = (0, 0);
    for fit in kinds {
        let least = BucketKey { cores: fit.cores_least, ..BucketKey::LEAST };
        let buckets = nodes.kinds[fit.kind as usize].buckets.range(least..);
        for (_, node) in buckets.filter(|(key, _)| fit.may_do(key)).flat_map(|(_, nodes)| nodes) {
            let slot = nodes.slot(*node);
            let room = fit.room(shape, slot, &slot.free, i64::MIN);
            if room < each.unwrap_or(1) {
                continue;
            }
            (count, units) = (count + 1, units + u64::from(room));
            if count >= shape.nodes_min && (each.is_some() || units >= u64::from(shape.units)) {
                return true;
            }
        }
    }
    false
}
