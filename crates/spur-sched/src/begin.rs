//! How a pass begins: who is to be looked at, in which order, and who need not be.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;

use crate::decision::Decisions;
use crate::nap::{Gained, Nap};
use crate::nodes::Nodes;
use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::{Class, Key};
use crate::reasons::Kept;
use crate::timeline::{Calendar, Reserved};
use crate::turns::{Turn, Turns};

impl Planner {
    /// A pass that has decided nothing yet.
    pub(crate) fn begin(&mut self) -> Pass {
        let mut pass = Pass {
            now: self.now(),
            mix: self.mix(),
            calendar: Calendar::new(self.policy.trust, self.reserved()),
            turns: Turns::default(),
            by_class: vec![Reason::Priority.into(); self.queue.classes.len()],
            special: BTreeMap::new(),
            promised: BTreeMap::new(),
            kept: Kept::default(),
            named: false,
            unavailable: BTreeMap::new(),
            places: BTreeMap::new(),
            held: BTreeMap::new(),
            begun: BTreeMap::new(),
            failed: vec![false; self.queue.classes.len()],
            full: vec![false; self.queue.wards.len()],
            out: Decisions::default(),
            taken: Vec::new(),
            charged: Vec::new(),
            displaced: BTreeSet::new(),
            wondered: 0,
            found: BTreeMap::new(),
        };
        let mut turns: Vec<Turn> = Vec::new();
        let mut asleep = Asleep::new(self.queue.wards.len(), self.depth());
        let mut gained = Gained::default();
        let all = self.queue.classes.iter_mut().zip(&mut self.queue.naps);
        for (id, (class, nap)) in (0..).zip(all) {
            if let Some(nap) = nap.as_mut().filter(|nap| nap.holds(&self.nodes)) {
                match nap.goes_on(&self.nodes, &mut gained) {
                    true => {
                        pass.failed[id as usize] = true;
                        asleep.put(nap.ward, nap.key, id);
                    }
                    // When its turn comes, somebody else may have what woke it.
                    false => turns.push((0, 0, nap.key, id)),
                }
                continue;
            }
            let known = nap.take();
            let reason = match (class.barred, class.first) {
                (Some(reason), _) => reason,
                (None, None) => Reason::None,
                (None, Some(key)) => {
                    class.short = known.map_or(class.short, |nap| Some(nap.short));
                    class.look_up(&self.nodes);
                    let never = class.fits.as_ref().and_then(|fits| fits.never);
                    if never.is_none() {
                        let sleeps = class.is_plain()
                            && class.is_still_short(&self.nodes)
                            && class.is_possible_now(&self.nodes);
                        pass.failed[id as usize] = sleeps;
                        match sleeps {
                            true => {
                                *nap = Nap::of(class, &self.nodes);
                                asleep.put(class.ward, key, id);
                            }
                            false => turns.push((0, 0, key, id)),
                        }
                    }
                    never.unwrap_or(Reason::Priority)
                }
            };
            pass.by_class[id as usize] = reason.into();
        }
        turns.extend(asleep.first().map(|(key, class)| (0, 0, key, class)));
        pass.turns = Turns::of(turns);
        pass
    }
}

impl Planner {
    /// What reservations keep.
    fn reserved(&mut self) -> Arc<Reserved> {
        if let Some((version, known)) = &self.kept
            && *version == self.nodes.version
        {
            return known.clone();
        }
        self.kept_times += 1;
        let mut reserved = Reserved::new(self.kept_times);
        for (name, reservation) in &self.reservations {
            let known = reservation.nodes.iter().enumerate().filter_map(|(place, node)| {
                Some((self.nodes.index(node)?, reservation.cores.get(place).copied()))
            });
            reserved.keep(name, known.collect(), reservation.turns());
        }
        let reserved = Arc::new(reserved);
        self.kept = Some((self.nodes.version, reserved.clone()));
        reserved
    }
}

impl Class {
    /// Finds out where its jobs can be, if that is not known.
    fn look_up(&mut self, nodes: &Nodes) {
        if self.fits.as_ref().is_none_or(|fits| fits.version != nodes.version) {
            self.fits = Some(Arc::new(Fits::of(&self.shape, &self.partition, nodes)));
            (self.short, self.possible, self.failure) = (None, None, None);
        }
    }

    /// Whether nothing but free nodes decides about its jobs.
    pub(crate) fn is_plain(&self) -> bool {
        self.charges.is_empty()
            && self.with.is_empty()
            && self.in_several == 0
            && self.shape.reservation.is_empty()
            && self.shape.drawn.is_empty()
            && !self.shape.humble
    }

    /// How many nodes may have been lost before it must be asked again whether its jobs are possible; nothing when they
    /// are not.
    pub(crate) fn possible_until(&self) -> Option<u64> {
        let (lost, _, spare) = self.possible?;
        Some(lost + u64::from(spare?))
    }

    /// Whether the nodes that take jobs at present would do if they were empty.
    pub(crate) fn is_possible_now(&mut self, nodes: &Nodes) -> bool {
        if let Some((at, usable, spare)) = self.possible {
            match spare {
                Some(spare) if nodes.lost - at <= u64::from(spare) => return true,
                None if usable == nodes.usable => return false,
                _ => {}
            }
        }
        let fits = self.fits.as_ref();
        let spare = fits.and_then(|fits| fits.spare_now(&self.shape, nodes));
        self.possible = Some((nodes.lost, nodes.usable, spare));
        spare.is_some()
    }
}

/// Classes that cannot start, by partition: of each the first few, to which something may be promised.
struct Asleep {
    depth: usize,
    wards: Vec<BinaryHeap<(Key, u32)>>,
    /// Who comes after this one in its partition is not among them.
    last: Vec<Key>,
}

impl Asleep {
    fn new(wards: usize, depth: u32) -> Asleep {
        Asleep {
            depth: depth as usize,
            wards: (0..wards).map(|_| BinaryHeap::new()).collect(),
            last: vec![(u64::MAX, JobId(u32::MAX)); wards],
        }
    }

    fn put(&mut self, ward: u32, key: Key, class: u32) {
        let last = &mut self.last[ward as usize];
        if key > *last {
            return;
        }
        let first = &mut self.wards[ward as usize];
        first.push((key, class));
        if first.len() > self.depth {
            first.pop();
        }
        if first.len() == self.depth {
            *last = first.peek().map_or(*last, |(key, _)| *key);
        }
    }

    fn first(self) -> impl Iterator<Item = (Key, u32)> {
        self.wards.into_iter().flatten()
    }
}
