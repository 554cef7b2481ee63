//! Jobs for which less is free than they need, whatever is promised to whom. Most of a long queue are such
//! jobs, and they stay so until a node gains that is of use to them: a pass need not look at them again.

use crate::fit::Fit;
use crate::gains::Stamp;
use crate::nodes::{BucketKey, Nodes, Slot};
use crate::possible::Fits;
use crate::queue::Class;
use crate::shape::{Shape, Sharing};

/// That less was free than a job needs.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    pub since: Stamp,
    /// How many nodes with room are missing at least.
    nodes: u32,
}

impl Short {
    /// What is missing after so many have come since; nothing when they may be enough.
    pub fn less(self, came: usize, nodes: &Nodes) -> Option<Short> {
        let left = u64::from(self.nodes).checked_sub(came as u64).filter(|left| *left > 0)?;
        Some(Short { since: nodes.gains.stamp(), nodes: left as u32 })
    }
}

impl Class {
    /// Whether it was found to be short, and too few nodes have come since that have room for it.
    pub fn is_still_short(&mut self, nodes: &Nodes) -> bool {
        let (Some(short), Some(fits)) = (self.short, &self.fits) else { return false };
        let Some(gained) = nodes.gains.since(short.since) else { return false };
        let came = gained.iter().filter(|node| fits.have_room_on(&self.shape, nodes.slot(**node)));
        // Who has come may be gone before it is looked at, so a class that is not short any more keeps
        // what is known.
        let still = short.less(came.count(), nodes);
        self.short = still.or(self.short);
        still.is_some()
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
        if self.is_still_short(nodes) {
            return true;
        }
        let missing = self.fits.as_ref().and_then(|fits| fits.missing(&self.shape, nodes));
        self.short = missing.map(|missing| Short { since: nodes.gains.stamp(), nodes: missing });
        self.short.is_some()
    }
}

impl Fits {
    /// Whether a node has room for a job.
    fn have_room_on(&self, shape: &Shape, slot: &Slot) -> bool {
        let Some(key) = slot.bucket() else { return false };
        let mut kinds = self.alternatives.iter().flatten().filter(|fit| fit.kind == slot.kind);
        kinds.any(|fit| fit.may_do(&key) && fit.has_room(shape, slot))
    }

    /// How many nodes with room are missing at least, if all there are together are too few. That they are not
    /// may be wrong.
    fn missing(&self, shape: &Shape, nodes: &Nodes) -> Option<u32> {
        let plain = !matches!(shape.sharing, Sharing::Cores(_)) && shape.sizes.is_empty();
        if !plain || !self.counted.is_empty() {
            return None;
        }
        let mut least = u32::MAX;
        for kinds in &self.alternatives {
            least = least.min(missing(shape, nodes, kinds)?);
        }
        Some(least)
    }
}

impl Fit {
    /// Whether a node has room for as much of a job as it must take.
    fn has_room(&self, shape: &Shape, slot: &Slot) -> bool {
        self.room(shape, slot, &slot.free, i64::MIN) >= shape.units_each().unwrap_or(1)
    }
}

fn missing(shape: &Shape, nodes: &Nodes, kinds: &[Fit]) -> Option<u32> {
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
                return None;
            }
        }
    }
    // Where nodes take what they can, one more may be all that was wanted.
    let wanted = if each.is_some() { shape.nodes_min - count } else { 1 };
    Some(wanted.max(1))
}
