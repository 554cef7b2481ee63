//! Fragmentation of devices (FGD, Weng et al. 2023): how much of what is free on a node the usual jobs
//! cannot use, and how much worse a placement makes it.
//!
//! One thing is told more sharply than in the paper. There a node is of use to a usual job as soon as one
//! such job fits; here only as many of its devices count as its free cores could feed if the node were
//! filled with such jobs. Devices that lack the processors beside them are then seen to be lost while
//! something can still be done about it.

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
    /// What a shape takes of a node with all it wants free, where a device has so many parts.
    pub fn of(shape: &Shape, parts: u32) -> Option<Usual> {
        let units = shape.units_each().unwrap_or(1);
        let need = shape.gres.first()?;
        let count = if need.per == Per::Unit { need.count * units } else { need.count };
        let cores = rounded(units * shape.unit_cpus);
        Some(match need.parts {
            true => Usual { cores, devices: 1, each: thousandths(need.count, parts) },
            false => Usual { cores, devices: count, each: 1000 },
        })
    }
}

/// So many parts of a device.
pub fn thousandths(count: u32, parts: u32) -> u32 {
    (u64::from(count) * 1000 / u64::from(parts.max(1))).min(1000) as u32
}

/// Jobs that differ little are alike: eight steps for each doubling.
pub fn rounded(cores: u32) -> u32 {
    let step = (cores.max(1).ilog2().saturating_sub(3)).min(16);
    cores.div_ceil(1 << step) << step
}

/// Kinds of jobs that are looked at: the most frequent ones.
const USUAL: usize = 64;

/// Harm that makes no difference, in millionths of a thousandth of a device.
const GRAIN: i64 = 1000;

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

    /// How much more of a node would be of no use, and what would be left of its devices; nothing where the
    /// job does not fit.
    pub fn harm(&self, shape: &Shape, fit: &Fit, slot: &Slot, units: u32) -> Option<(i64, u32)> {
        let mut after = slot.free.clone();
        fit.take(shape, slot, &mut after, units)?;
        let wholes: Vec<u32> = slot.wholes().collect();
        let (before, _) = self.useless(&slot.free, &wholes);
        let (useless, left) = self.useless(&after, &wholes);
        Some(((useless - before) / GRAIN, left))
    }

    /// How much of what is free is of no use to the usual job, and how much is free.
    fn useless(&self, free: &Free, wholes: &[u32]) -> (i64, u32) {
        let lefts: Vec<u32> = (free.parts.iter().zip(wholes))
            .map(|(free, whole)| thousandths(*free, *whole))
            .collect();
        let all: u32 = lefts.iter().sum();
        let mut useless = 0;
        for (usual, share) in &self.usual {
            let fitting = lefts.iter().filter(|left| **left >= usual.each);
            let (count, of_use) =
                fitting.fold((0, 0), |(count, sum), left| (count + 1, sum + left));
            let fits = free.cores >= usual.cores && count >= usual.devices;
            let of_use = if fits { of_use.min(usual.fed_by(free.cores)) } else { 0 };
            useless += i64::from(all - of_use) * share;
        }
        (useless, all)
    }
}

impl Usual {
    /// Thousandths of devices that such jobs would use if they had so many cores.
    fn fed_by(&self, cores: u32) -> u32 {
        let devices = u64::from(self.devices) * u64::from(self.each);
        let fed = u64::from(cores) * devices / u64::from(self.cores.max(1));
        u32::try_from(fed).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Usual = Usual { cores: 8, devices: 1, each: 1000 };
    const HALF: Usual = Usual { cores: 4, devices: 1, each: 500 };

    fn mix(usual: &[(Usual, u64)]) -> Mix {
        Mix::of(&usual.iter().copied().collect())
    }

    fn useless(mix: &Mix, cores: u32, parts: &[u32]) -> i64 {
        let free = Free { cores, memory_mb: 0, parts: parts.to_vec() };
        mix.useless(&free, &vec![1000; parts.len()]).0 / 1_000_000
    }

    #[test]
    fn what_is_left_of_a_device_counts_by_who_could_use_it() {
        let both = mix(&[(ONE, 1), (HALF, 1)]);
        assert_eq!(useless(&both, 64, &[1000, 1000]), 0);
        // Half a device is of no use to every second job, a quarter to nobody.
        assert_eq!(useless(&both, 64, &[1000, 500]), 250);
        assert_eq!(useless(&both, 64, &[1000, 250]), 250);
    }

    #[test]
    fn devices_without_cores_beside_them_are_lost() {
        let whole = mix(&[(ONE, 1)]);
        assert_eq!(useless(&whole, 32, &[1000; 4]), 0);
        // Cores for one and a half of four devices.
        assert_eq!(useless(&whole, 12, &[1000; 4]), 2500);
        assert_eq!(useless(&whole, 7, &[1000; 4]), 4000);
    }
}
