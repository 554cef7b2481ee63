//! What a pass must know of a class that cannot start, in a few bytes: a long queue is mostly such classes, and a
//! pass walks over all of them.

use crate::gains::Stamp;
use crate::nodes::{NodeIndex, Nodes};
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

/// Nodes that gained since a moment.
#[derive(Debug, Default)]
pub struct Gained<'a> {
    known: Option<(Stamp, Option<&'a [NodeIndex]>)>,
}

impl<'a> Gained<'a> {
    fn since(&mut self, stamp: Stamp, nodes: &'a Nodes) -> Option<&'a [NodeIndex]> {
        // Nearly all ask for the same moment.
        match self.known {
            Some((since, known)) if since == stamp => known,
            _ => {
                let found = nodes.gains.since(stamp);
                self.known = Some((stamp, found));
                found
            }
        }
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
    pub fn holds(&self, nodes: &Nodes) -> bool {
        self.version == nodes.version && nodes.lost <= self.lost
    }

    /// Whether too few nodes have come to have enough.
    pub fn goes_on<'a>(&mut self, nodes: &'a Nodes, gained: &mut Gained<'a>) -> bool {
        let Some(gained) = gained.since(self.short.since, nodes) else { return false };
        let may_do = |node: &&NodeIndex| {
            let slot = nodes.slot(**node);
            self.kinds & bit(slot.kind) != 0
                && slot.bucket().is_some_and(|free| {
                    free.cores >= self.cores
                        && free.devices >= self.devices
                        && free.memory >= self.memory
                })
        };
        let still = self.short.less(gained.iter().filter(may_do).count(), nodes);
        self.short = still.unwrap_or(self.short);
        still.is_some()
    }
}

fn bit(kind: u32) -> u64 {
    1 << kind.min(63)
}
