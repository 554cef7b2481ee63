//! What a pass must know of a class that cannot start, in a few bytes: a long queue is mostly such classes, and a
//! pass walks over all of them.

use std::collections::BTreeSet;

use crate::gains::Stamp;
use crate::nodes::{BucketKey, NodeIndex, Nodes};
use crate::queue::{Class, Key};
use crate::short::Short;

/// Valid until its class changes.
#[derive(Clone, Copy, Debug)]
pub struct Nap {
    pub key: Key,
    pub ward: u32,
    pub short: Short,
    /// The state of the nodes it was told from, and how many of them may be lost until it matters.
    version: u64,
    lost: u64,
    /// The kinds that are of use, by bits; all from the last bit on share it.
    kinds: u64,
    /// A node with less is of no use, whatever its kind.
    cores: u32,
    devices: u32,
    memory: u16,
}

/// What a node has free, and its kind.
type Freed = (u64, BucketKey);

/// What was asked about: a moment, and a state of the nodes.
type Asked = (Stamp, Stamp);

/// What nodes that gained since a moment have free, as it was found last.
#[derive(Debug, Default)]
pub struct Gained {
    known: Option<(Asked, Option<Vec<Freed>>)>,
}

impl Gained {
    fn since(&mut self, stamp: Stamp, nodes: &Nodes) -> Option<&[Freed]> {
        // Nearly all ask for the same moment.
        let asked = (stamp, nodes.changes.stamp());
        if self.known.as_ref().is_none_or(|(known, _)| *known != asked) {
            let free = |node: &NodeIndex| {
                let slot = nodes.slot(*node);
                Some((bit(slot.kind), slot.bucket()?))
            };
            let found = nodes.gains.since(stamp);
            let found = found.map(|nodes| nodes.iter().filter_map(free).collect());
            self.known = Some((asked, found));
        }
        self.known.as_ref()?.1.as_deref()
    }
}

impl Nap {
    /// That of a class that is short and plain.
    pub fn of(class: &Class, nodes: &Nodes) -> Option<Nap> {
        let (key, short) = class.first.zip(class.short)?;
        let (fits, lost) = class.fits.as_ref().zip(class.possible_until())?;
        let all = || fits.alternatives.iter().flatten();
        Some(Nap {
            key,
            ward: class.ward,
            short,
            version: nodes.version,
            lost,
            kinds: all().fold(0, |bits, fit| bits | bit(fit.kind)),
            cores: all().map(|fit| fit.cores_least).min()?,
            devices: all().map(|fit| fit.devices_least).min()?,
            memory: all().map(|fit| fit.memory_least).min()?,
        })
    }

    /// Whether nodes are as they were, or changed in a way that makes no difference but by what is free.
    fn holds(&self, nodes: &Nodes) -> bool {
        self.version == nodes.version && nodes.lost <= self.lost
    }

    /// Whether too few nodes have come to have enough. What came before everybody was told is known.
    pub fn goes_on(&mut self, nodes: &Nodes, gained: &mut Gained, told: Stamp) -> bool {
        self.short.since = self.short.since.max(told);
        if self.short.since == nodes.gains.stamp() {
            return true;
        }
        let Some(gained) = gained.since(self.short.since, nodes) else { return false };
        self.misses_more_than(gained, nodes)
    }

    /// Whether these, which came since, are too few; they are counted then.
    fn misses_more_than(&mut self, came: &[Freed], nodes: &Nodes) -> bool {
        let of_use = came.iter().filter(|freed| self.may_use(freed)).count();
        let still = self.short.less(of_use, nodes);
        self.short = still.unwrap_or(self.short);
        still.is_some()
    }
}

impl Nap {
    /// Whether what a node has free may be of use.
    fn may_use(&self, (kind, free): &Freed) -> bool {
        self.kinds & kind != 0
            && free.cores >= self.cores
            && free.devices >= self.devices
            && free.memory >= self.memory
    }
}

/// The notes of all classes. A pass looks through them only when something has changed that may concern them.
#[derive(Debug, Default)]
pub struct Naps {
    notes: Vec<Option<Nap>>,
    /// Which classes have one.
    asleep: Vec<bool>,
    /// Those by partition, in the order of the queue.
    order: Vec<BTreeSet<(Key, u32)>>,
    /// Everybody knows who gained before.
    told: Stamp,
    /// The state of the nodes that all were told from, and how many may be lost until it matters to one of them.
    version: u64,
    lost: u64,
}

impl Naps {
    /// There is one more class.
    pub fn grow(&mut self) {
        self.notes.push(None);
        self.asleep.push(false);
    }

    /// Which classes sleep.
    pub fn asleep(&self) -> &[bool] {
        &self.asleep
    }

    pub fn get_mut(&mut self, class: u32) -> Option<&mut Nap> {
        self.notes[class as usize].as_mut()
    }

    /// A class sleeps from now on.
    pub fn put(&mut self, class: u32, nap: Option<Nap>) {
        self.wake(class);
        let Some(nap) = nap else { return };
        let ward = nap.ward as usize;
        if self.order.len() <= ward {
            self.order.resize_with(ward + 1, BTreeSet::new);
        }
        self.order[ward].insert((nap.key, class));
        self.lost = self.lost.min(nap.lost);
        self.asleep[class as usize] = true;
        self.notes[class as usize] = Some(nap);
    }

    /// A class has to be looked at again; what was known of it.
    pub fn wake(&mut self, class: u32) -> Option<Nap> {
        let mut nap = self.notes[class as usize].take()?;
        nap.short.since = nap.short.since.max(self.told);
        self.asleep[class as usize] = false;
        self.order[nap.ward as usize].remove(&(nap.key, class));
        Some(nap)
    }

    /// Those whose notes hold no longer, because nodes changed otherwise than in what is free.
    pub fn spoilt(&mut self, nodes: &Nodes) -> Vec<u32> {
        if self.version == nodes.version && nodes.lost <= self.lost {
            return Vec::new();
        }
        (self.version, self.lost) = (nodes.version, u64::MAX);
        let mut spoilt = Vec::new();
        for (class, nap) in (0..).zip(&self.notes) {
            match nap {
                Some(nap) if nap.holds(nodes) => self.lost = self.lost.min(nap.lost),
                Some(_) => spoilt.push(class),
                None => {}
            }
        }
        spoilt
    }

    /// In how many partitions some may sleep.
    pub fn wards(&self) -> usize {
        self.order.len()
    }

    /// Who sleeps in a partition, in the order of the queue.
    pub fn order(&self, ward: usize) -> &BTreeSet<(Key, u32)> {
        &self.order[ward]
    }

    /// Those for whom enough may have come since all were told, by partition and in the order of the queue; nothing
    /// when too many nodes gained to tell. The others have counted what came.
    pub fn stirred(&mut self, nodes: &Nodes, gained: &mut Gained) -> Option<Vec<Vec<(Key, u32)>>> {
        let (told, now) = (self.told, nodes.gains.stamp());
        let came = gained.since(told, nodes)?;
        let mut stirred = vec![Vec::new(); self.order.len()];
        if came.is_empty() {
            return Some(stirred);
        }
        for (class, nap) in (0..).zip(&mut self.notes) {
            let Some(nap) = nap.as_mut().filter(|nap| came.iter().any(|it| nap.may_use(it))) else {
                continue;
            };
            // Who has counted some of them already looks for itself.
            if nap.short.since > told && nap.short.since < now
                || nap.short.since <= told && !nap.misses_more_than(came, nodes)
            {
                stirred[nap.ward as usize].push((nap.key, class));
            }
        }
        stirred.iter_mut().for_each(|ward| ward.sort_unstable());
        Some(stirred)
    }

    /// Up to when all know who gained.
    pub fn told(&self) -> Stamp {
        self.told
    }

    /// All have been told of who gained before.
    pub fn tell(&mut self, stamp: Stamp) {
        self.told = stamp;
    }
}

fn bit(kind: u32) -> u64 {
    1 << kind.min(63)
}
