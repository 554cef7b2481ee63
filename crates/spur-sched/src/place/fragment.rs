//! Fragmentation of devices (FGD, Weng et al. 2023): how much of what is free on a node the usual jobs
//! cannot use, and how much worse a placement makes it.

use std::collections::BTreeMap;

use crate::fit::Fit;
use crate::nodes::{Free, Slot};
use crate::shape::{Per, Shape};

/// The usual jobs: cores and devices on a node, and how many there are of each.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    usual: Vec<(Usual, i64)>,
}

/// What a usual job takes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usual {
    pub cores: u32,
    /// Whole devices, or 1 where parts are asked for.
    pub devices: u32,
    /// Parts of a device in thousandths; a whole one is 1000.
    pub each: u32,
}

impl Usual {
    /// What a shape takes of a node with all it wants free.
    pub fn of(shape: &Shape) -> Option<Usual> {
        let units = shape.units_each().unwrap_or(1);
        let need = shape.gres.first()?;
        let count = if need.per == Per::Unit { need.count * units } else { need.count };
        let cores = rounded(units * shape.unit_cpus);
        Some(match need.parts {
            true => Usual { cores, devices: 1, each: need.count.min(1000) },
            false => Usual { cores, devices: count, each: 1000 },
        })
    }
}

/// Jobs that differ little are alike: four steps for each doubling.
pub fn rounded(cores: u32) -> u32 {
    let step = (cores.max(1).ilog2().saturating_sub(2)).min(16);
    cores.div_ceil(1 << step) << step
}

/// Kinds of jobs that are looked at: the most frequent ones.
const USUAL: usize = 64;

impl Mix {
    /// The most frequent of these.
    pub fn of(counts: &BTreeMap<Usual, u64>) -> Mix {
        let mut all: Vec<(Usual, u64)> = counts.iter().map(|(it, count)| (*it, *count)).collect();
        all.sort_by_key(|(it, count)| (std::cmp::Reverse(*count), *it));
        all.truncate(USUAL);
        let total: u64 = all.iter().map(|(_, count)| count).sum();
        let usual = all.into_iter();
        let share = |count: u64| (count as u128 * 1_000_000 / u128::from(total.max(1))) as i64;
        Mix { usual: usual.map(|(it, count)| (it, share(count))).collect() }
    }

    /// How much more of the node would be of no use.
    pub fn harm(&self, shape: &Shape, fit: &Fit, slot: &Slot, units: u32) -> i64 {
        let mut after = slot.free.clone();
        if fit.take(shape, slot, &mut after, units).is_none() {
            return i64::MAX;
        }
        let wholes: Vec<u32> =
            slot.node.gres.iter().flat_map(|it| (0..it.devices).map(|_| it.parts)).collect();
        self.useless(&after, &wholes) - self.useless(&slot.free, &wholes)
    }

    fn useless(&self, free: &Free, wholes: &[u32]) -> i64 {
        let lefts: Vec<u32> = (free.parts.iter().zip(wholes))
            .map(|(free, whole)| (u64::from(*free) * 1000 / u64::from((*whole).max(1))) as u32)
            .collect();
        let all: u32 = lefts.iter().sum();
        let mut useless = 0;
        for (usual, share) in &self.usual {
            let fitting: Vec<u32> =
                lefts.iter().copied().filter(|left| *left >= usual.each).collect();
            let fits = free.cores >= usual.cores && fitting.len() >= usual.devices as usize;
            let lost = if fits { all - fitting.iter().sum::<u32>() } else { all };
            useless += i64::from(lost) * share;
        }
        useless
    }
}
