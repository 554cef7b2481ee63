//! How a pass begins: who is to be looked at, in which order, and who need not be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::job::Reason;

use crate::decision::Decisions;
use crate::nap::Nap;
use crate::nodes::{NodeIndex, Nodes};
use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::Class;
use crate::reasons::Kept;
use crate::timeline::{Calendar, Reserved};
use crate::turns::{Turn, Turns};
use crate::walk::Walk;

impl Planner {
    /// A pass that has decided nothing yet.
    pub(crate) fn begin(&mut self) -> Pass {
        let mut pass = Pass {
            now: self.now(),
            mix: self.mix(),
            calendar: Calendar::new(self.policy.trust, self.reserved()),
            turns: Turns::default(),
            walk: Walk::default(),
            since: self.nodes.gains.stamp(),
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
        for class in self.queue.naps.spoilt(&self.nodes) {
            let known = self.queue.naps.wake(class);
            let it = &mut self.queue.classes[class as usize];
            it.short = known.map_or(it.short, |nap| Some(nap.short));
        }
        pass.failed.copy_from_slice(self.queue.naps.asleep());
        let mut turns: Vec<Turn> = Vec::new();
        let awake: Vec<u32> = (0..).zip(&pass.failed).filter(|it| !it.1).map(|it| it.0).collect();
        for id in awake {
            let beyond = self.beyond_jobs(id);
            let class = &mut self.queue.classes[id as usize];
            let reason = match (class.barred, class.first) {
                (Some(reason), _) => beyond.unwrap_or(reason),
                (None, None) => Reason::None,
                (None, Some(key)) => {
                    class.look_up(&self.nodes);
                    let never = class.fits.as_ref().and_then(|fits| fits.never);
                    if never.is_none() {
                        let sleeps = class.is_plain()
                            && class.is_still_short(&self.nodes)
                            && class.is_possible_now(&self.nodes);
                        pass.failed[id as usize] = sleeps;
                        match sleeps {
                            true => self.queue.naps.put(id, Nap::of(class, &self.nodes)),
                            false => turns.push((0, 0, key, id)),
                        }
                    }
                    never.unwrap_or(Reason::Priority)
                }
            };
            pass.by_class[id as usize] = reason.into();
        }
        pass.turns = Turns::of(turns);
        pass.walk = Walk::of(&self.queue.naps);
        pass
    }
}

impl Planner {
    /// That as many jobs run as may is told before what else of the rules bars a job, as in Slurm.
    fn beyond_jobs(&self, class: u32) -> Option<Reason> {
        let class = &self.queue.classes[class as usize];
        let name = class.barred?.name();
        let by_rules = name.starts_with("Assoc") || name.starts_with("QOS");
        if !by_rules && class.barred != Some(Reason::AccountNotAllowed) {
            return None;
        }
        let known = class.charges.iter();
        let known = known.filter_map(|it| Some((it, self.counters.get(&it.counter)?)));
        let mut over = known.filter(|(charge, tally)| tally.is_over(charge, None));
        let found = over.find(|(_, tally)| tally.reason.name().contains("Jobs"));
        found.map(|(_, tally)| tally.reason)
    }

    /// What reservations keep.
    fn reserved(&mut self) -> Arc<Reserved> {
        if let Some((version, known)) = &self.kept
            && *version == self.nodes.version
        {
            return known.clone();
        }
        self.kept_times += 1;
        let mut reserved = Reserved::new(self.kept_times);
        // Times at which nodes are another reservation's although others keep them.
        let mut over: BTreeMap<NodeIndex, Vec<(i64, i64)>> = BTreeMap::new();
        for reservation in self.reservations.values().filter(|it| it.over && it.cores.is_empty()) {
            for node in reservation.nodes.iter().filter_map(|node| self.nodes.present(node)) {
                over.entry(node).or_default().extend(reservation.turns());
            }
        }
        for (name, reservation) in &self.reservations {
            for (place, node) in reservation.nodes.iter().enumerate() {
                let Some(node) = self.nodes.present(node) else { continue };
                let above = over.get(&node).filter(|_| !reservation.over);
                let turns = reservation.turns_beside(above.map_or(&[], |it| it));
                reserved.keep(name, node, reservation.cores.get(place).copied(), turns);
            }
            reserved.nodes.entry(name.clone()).or_default();
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
