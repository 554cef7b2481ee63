//! Fragmentation of devices (FGD, Weng et al. 2023): how much of what is free on a node the usual jobs
//! cannot use, and how much worse a placement makes it.
//!
//! One thing is told more sharply than in the paper. There a node is of use to a usual job as soon as one
//! such job fits; here only as many of its devices count as its free cores could feed if the node were
//! filled with such jobs. Devices that lack the processors beside them are then seen to be lost while
//! something can still be done about it.
//!
//! And what some insist on has a price: a model that those who want no other would use up of a full cluster is
//! given to the others last.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::node::features::{self, Features};

use crate::fit::Fit;
use crate::nodes::{Free, Kind, Slot};
use crate::shape::{Per, Shape, Wish};
use crate::view::ViewGres;

/// The usual jobs: cores and devices on a node, and how many there are of each.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    /// Each with its part of all, in millionths, and which of the wishes it has.
    usual: Vec<(Usual, i64, usize)>,
    wishes: Vec<Granted>,
}

/// What a usual job takes of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usual {
    pub cores: u32,
    /// Whole devices, or 1 where parts are asked for.
    pub devices: u32,
    /// Parts of a device in thousandths; a whole one is 1000.
    pub each: u32,
    /// What it insists on.
    pub wish: Wish,
}

impl Usual {
    /// What a shape takes of a node with all it wants free, where a device has so many parts.
    pub fn of(shape: &Shape, parts: u32) -> Option<Usual> {
        let units = shape.units_each().unwrap_or(1);
        let need = shape.gres.first().filter(|need| need.count > 0)?;
        let count = if need.per == Per::Unit { need.count * units } else { need.count };
        let cores = rounded(shape.cpus_of(units));
        Some(match need.parts {
            true => Usual {
                cores,
                devices: 1,
                each: thousandths(need.count, parts),
                wish: shape.wish(),
            },
            false => Usual { cores, devices: count, each: 1000, wish: shape.wish() },
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

/// The whole, in millionths.
const ONE: i64 = 1_000_000;

/// Harm that makes no difference, in millionths of a thousandth of a device.
const GRAIN: i64 = 1000;

impl Mix {
    /// The most frequent of these, on these kinds of nodes.
    pub fn of(counts: &BTreeMap<Usual, u64>, kinds: &[Kind]) -> Mix {
        let mut demand: BTreeMap<&Wish, u64> = BTreeMap::new();
        for (it, count) in counts {
            *demand.entry(&it.wish).or_default() += count * u64::from(it.devices * it.each);
        }
        let asked: u64 = demand.values().sum();
        let wishes: Vec<Granted> =
            demand.iter().map(|(wish, part)| Granted::of(wish, (*part, asked), kinds)).collect();
        let place = |it: &Usual| wishes.partition_point(|granted| granted.wish < it.wish);
        let mut all: Vec<(u64, &Usual)> = counts.iter().map(|(it, count)| (*count, it)).collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        all.truncate(USUAL);
        let total: u64 = all.iter().map(|(count, _)| count).sum();
        let share =
            |count: u64| (u128::from(count) * ONE as u128 / u128::from(total.max(1))) as i64;
        let usual = all.into_iter().map(|(count, it)| (it.clone(), share(count), place(it)));
        let usual = usual.collect();
        Mix { usual, wishes }
    }

    /// How much more of a node would be of no use, and what would be left of its devices; nothing where the
    /// job does not fit.
    pub fn harm(&self, shape: &Shape, fit: &Fit, slot: &Slot, units: u32) -> Option<(i64, u32)> {
        let mut after = slot.free.clone();
        fit.take(shape, slot, &mut after, units)?;
        let wholes: Vec<u32> = slot.wholes().collect();
        let admitted: Vec<bool> =
            self.wishes.iter().map(|it| it.admits(&slot.node.features, &slot.node.gres)).collect();
        let (before, had) = self.useless(&slot.free, &wholes, &admitted);
        let (useless, left) = self.useless(&after, &wholes, &admitted);
        let mine = self.wishes.iter().zip(&admitted).filter(|(_, admitted)| **admitted);
        let price: i64 = mine.map(|(it, _)| it.price).sum();
        // Twice: for less those who insist find what they want taken before the cluster is full, for more it is left
        // idle at the end.
        let lost = i64::from(had.saturating_sub(left)) * price * 2;
        Some(((useless - before + lost) / GRAIN, left))
    }

    /// How much of what is free is of no use to the usual job, and how much is free.
    fn useless(&self, free: &Free, wholes: &[u32], admitted: &[bool]) -> (i64, u32) {
        let lefts: Vec<u32> = (free.parts.iter().zip(wholes))
            .map(|(free, whole)| thousandths(*free, *whole))
            .collect();
        let all: u32 = lefts.iter().sum();
        let mut useless = 0;
        for (usual, share, wish) in &self.usual {
            if !admitted[*wish] {
                useless += i64::from(all) * share;
                continue;
            }
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

/// A wish, and what it costs to give others what would grant it.
#[derive(Clone, Debug)]
struct Granted {
    wish: Wish,
    features: Option<Features>,
    /// The part of what would grant it that those who insist would use of a full cluster, in millionths.
    price: i64,
}

impl Granted {
    /// A wish of those who ask for so much of all that is asked for.
    fn of(wish: &Wish, (part, asked): (u64, u64), kinds: &[Kind]) -> Granted {
        let features = features::parse(&wish.constraint).ok().flatten();
        let mut granted = Granted { wish: wish.clone(), features, price: 0 };
        let devices = |kind: &Kind| {
            let nodes: u32 = kind.members.values().map(|(all, _)| all).sum();
            u128::from(nodes) * u128::from(kind.devices())
        };
        let all: u128 = kinds.iter().map(devices).sum();
        let fits = |kind: &&Kind| granted.admits(&kind.features, &kind.gres);
        let there: u128 = kinds.iter().filter(fits).map(devices).sum();
        // Who insists on nothing is no worse off.
        if there > 0 && there < all {
            let price = u128::from(part) * all * ONE as u128 / (u128::from(asked.max(1)) * there);
            granted.price = price.min(ONE as u128) as i64;
        }
        granted
    }

    /// Whether nodes with these features and devices grant it.
    fn admits(&self, names: &[Arc<str>], gres: &[ViewGres]) -> bool {
        let has = |name: &str| names.iter().any(|it| &**it == name);
        let model = self.wish.model.is_empty() || gres.iter().any(|it| it.model == self.wish.model);
        model && self.features.as_ref().is_none_or(|features| features.admits(&has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(cores: u32, each: u32) -> Usual {
        Usual { cores, devices: 1, each, wish: Wish::default() }
    }

    fn mix(usual: &[(Usual, u64)]) -> Mix {
        Mix::of(&usual.iter().cloned().collect(), &[])
    }

    fn useless(mix: &Mix, cores: u32, parts: &[u32]) -> i64 {
        let free = Free { cores, memory_mb: 0, parts: parts.to_vec() };
        mix.useless(&free, &vec![1000; parts.len()], &[true]).0 / 1_000_000
    }

    #[test]
    fn what_is_left_of_a_device_counts_by_who_could_use_it() {
        let both = mix(&[(usual(8, 1000), 1), (usual(4, 500), 1)]);
        assert_eq!(useless(&both, 64, &[1000, 1000]), 0);
        // Half a device is of no use to every second job, a quarter to nobody.
        assert_eq!(useless(&both, 64, &[1000, 500]), 250);
        assert_eq!(useless(&both, 64, &[1000, 250]), 250);
    }

    #[test]
    fn devices_without_cores_beside_them_are_lost() {
        let whole = mix(&[(usual(8, 1000), 1)]);
        assert_eq!(useless(&whole, 32, &[1000; 4]), 0);
        // Cores for one and a half of four devices.
        assert_eq!(useless(&whole, 12, &[1000; 4]), 2500);
        assert_eq!(useless(&whole, 7, &[1000; 4]), 4000);
    }
}
