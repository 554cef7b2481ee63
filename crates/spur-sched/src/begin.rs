//! How a pass begins: who is to be looked at, in which order, and who need not be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use spur_core::job::Reason;

use crate::decision::Decisions;
use crate::nodes::Nodes;
use crate::pass::{Pass, Turn};
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::{Class, Key};
use crate::short::Gained;
use crate::timeline::{Calendar, Reserved};

impl Planner {
    /// A pass that has decided nothing yet.
    pub(crate) fn begin(&mut self) -> Pass {
        let mut pass = Pass {
            now: self.now(),
            mix: self.mix(),
            calendar: Calendar::new(self.policy.trust, self.reserved()),
            heap: BinaryHeap::new(),
            by_class: Vec::with_capacity(self.queue.classes.len()),
            special: BTreeMap::new(),
            promised: BTreeMap::new(),
            waiting: BTreeMap::new(),
            places: BTreeMap::new(),
            held: BTreeMap::new(),
            begun: BTreeMap::new(),
            failed: vec![false; self.queue.classes.len()],
            out: Decisions::default(),
            taken: Vec::new(),
            charged: Vec::new(),
            displaced: BTreeSet::new(),
            wondered: 0,
            found: BTreeMap::new(),
        };
        let mut turns: Vec<Reverse<Turn>> = Vec::new();
        let mut asleep = Asleep::new(self.queue.wards.len(), self.depth());
        let mut gained = Gained::default();
        for (id, class) in (0..).zip(&mut self.queue.classes) {
            let reason = match (class.barred, class.first) {
                (Some(reason), _) => reason,
                (None, None) => Reason::None,
                (None, Some(key)) => {
                    class.look_up(&self.nodes);
                    let never = class.fits.as_ref().and_then(|fits| fits.never);
                    if never.is_none() {
                        let sleeps = class.is_plain()
                            && class.is_still_short(&self.nodes, &mut gained)
                            && class.is_possible_now(&self.nodes);
                        pass.failed[id as usize] = sleeps;
                        match sleeps {
                            true => asleep.put(class.ward, key, id),
                            false => turns.push(Reverse((0, 0, key, id))),
                        }
                    }
                    never.unwrap_or(Reason::Priority)
                }
            };
            pass.by_class.push(reason.into());
        }
        turns.extend(asleep.first().map(|(key, class)| Reverse((0, 0, key, class))));
        pass.heap = BinaryHeap::from(turns);
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
}

impl Asleep {
    fn new(wards: usize, depth: u32) -> Asleep {
        Asleep { depth: depth as usize, wards: (0..wards).map(|_| BinaryHeap::new()).collect() }
    }

    fn put(&mut self, ward: u32, key: Key, class: u32) {
        let first = &mut self.wards[ward as usize];
        if first.len() < self.depth {
            first.push((key, class));
        } else if let Some(mut last) = first.peek_mut()
            && (key, class) < *last
        {
            *last = (key, class);
        }
    }

    fn first(self) -> impl Iterator<Item = (Key, u32)> {
        self.wards.into_iter().flatten()
    }
}
