//! With which of Slurm's words a job waits that finds no place.
//!
//! Slurm goes through the queue in order. Of a partition the first one waits for `Resources`, and everybody behind it has
//! `Priority`; from jobs of other partitions all its nodes are kept meanwhile. Who asked for nodes by name keeps those
//! alone, and closes no partition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::job::Reason;

use crate::nodes::{Kind, NodeIndex};
use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::Key;
use crate::shape::Shape;
use crate::waits::Wait;

/// What is kept for those that wait, so far in the order of the queue.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Since whom everybody of a partition, or of a reservation in it, is behind somebody else.
    closed: BTreeMap<Arc<str>, Key>,
    /// Partitions whose nodes are kept from the others'.
    partitions: BTreeSet<Arc<str>>,
    /// Nodes that were asked for by name.
    nodes: BTreeSet<NodeIndex>,
}

/// How a job stands to those before it.
pub(crate) enum Stand {
    /// Nobody is in its way but who runs.
    First,
    /// Another one of its partition comes first.
    After,
    /// What is not kept for others would not do.
    Behind,
    /// These, which it asked for by name, are kept for others.
    Without(Vec<NodeIndex>),
}

impl Stand {
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Stand::First => Reason::Resources,
            Stand::After => Reason::Priority,
            Stand::Behind | Stand::Without(_) => Reason::ReqNodeNotAvail,
        }
    }
}

impl Kept {
    /// A job waits; `ward` is its partition, or the reservation in it.
    pub(crate) fn put(
        &mut self,
        key: Key,
        ward: &Arc<str>,
        partition: &Arc<str>,
        wanted: &[NodeIndex],
        stand: &Stand,
    ) {
        match stand {
            Stand::After | Stand::Without(_) => {}
            Stand::First | Stand::Behind if wanted.is_empty() => {
                self.closed.entry(ward.clone()).or_insert(key);
                // Those that wait for a reservation hold up nobody outside of it.
                if ward == partition {
                    self.partitions.insert(partition.clone());
                }
            }
            Stand::First => self.nodes.extend(wanted),
            Stand::Behind => {}
        }
    }

    /// The same for who comes after those looked at so far; whether nobody was in front of them.
    pub(crate) fn close_behind(&mut self, ward: &Arc<str>, key: Key) -> bool {
        let first = !self.closed.contains_key(ward);
        self.closed.entry(ward.clone()).or_insert(key);
        first
    }

    /// Everybody of a partition is behind somebody from now on; whether nobody was before.
    pub(crate) fn close(&mut self, partition: &Arc<str>, key: Key) -> bool {
        self.closed.insert(partition.clone(), key).is_none()
    }
}

impl Planner {
    /// How a job stands to those before it.
    pub(crate) fn stand(
        &self,
        kept: &Kept,
        ward: &Arc<str>,
        partition: &Arc<str>,
        fits: &Fits,
        shape: &Shape,
    ) -> Stand {
        if kept.closed.contains_key(ward) {
            return Stand::After;
        }
        let others: Vec<_> = kept.partitions.iter().filter(|other| *other != partition).collect();
        if others.is_empty() && kept.nodes.is_empty() {
            return Stand::First;
        }
        let meets = |kind: &Kind| others.iter().any(|other| kind.partitions.contains(*other));
        let own = self.nodes.kinds.iter().filter(|kind| !kind.members.is_empty());
        let mut own = own.filter(|kind| kind.partitions.contains(partition)).map(meets);
        let Some(first) = own.next() else { return Stand::First };
        // Mostly all of its nodes are theirs, or none.
        let alike = own.all(|other| other == first);
        if alike && first {
            return Stand::Behind;
        }
        if alike && kept.nodes.is_empty() {
            return Stand::First;
        }
        let is_theirs = |kind: u32| meets(&self.nodes.kinds[kind as usize]);
        if !fits.wanted.is_empty() {
            let is_kept = |node: &&NodeIndex| {
                kept.nodes.contains(node) || is_theirs(self.nodes.slot(**node).kind)
            };
            let without: Vec<NodeIndex> = fits.wanted.iter().filter(is_kept).copied().collect();
            return if without.is_empty() { Stand::First } else { Stand::Without(without) };
        }
        let mut rest = fits.clone();
        let counted = rest.counted.iter_mut().map(|(_, fits)| fits);
        for fits in rest.alternatives.iter_mut().chain(counted) {
            fits.retain(|fit| !is_theirs(fit.kind));
        }
        rest.barred.extend(&kept.nodes);
        match rest.possible_now(shape, &self.nodes) {
            true => Stand::First,
            false => Stand::Behind,
        }
    }

    /// Goes through everybody once more where somebody waits who asked for nodes by name: then more than the first
    /// of a partition wait for something else than their turn.
    pub(crate) fn tell_reasons(&mut self, pass: &mut Pass) {
        if pass.named {
            self.tell_of_named(pass);
        }
        self.tell_last_words(pass);
    }

    /// Who waits in several partitions, and is behind somebody in the last of them, says so, as in Slurm.
    fn tell_last_words(&self, pass: &mut Pass) {
        let Pass { special, kept, .. } = pass;
        for (job, said) in special.iter_mut() {
            let Some(wait) = said.as_mut().filter(|wait| !wait.reserved) else { continue };
            let Some((key, class)) = self.queue.last_place(*job) else { continue };
            let class = &self.queue.classes[class as usize];
            let closed = kept.closed.get(&class.shape.ward(&class.partition));
            let for_nodes = [Reason::Resources, Reason::ReqNodeNotAvail];
            if closed.is_some_and(|closed| *closed < key) && for_nodes.contains(&wait.reason) {
                wait.reason = Reason::Priority;
            }
        }
    }

    fn tell_of_named(&mut self, pass: &mut Pass) {
        let mut kept = Kept::default();
        let mut others: Vec<(u32, Key, Vec<NodeIndex>)> = Vec::new();
        for (key, id) in self.waiting_for_nodes(pass) {
            let class = &self.queue.classes[id as usize];
            let Some(fits) = class.fits.clone() else { continue };
            let ward = class.shape.ward(&class.partition);
            let stand = self.stand(&kept, &ward, &class.partition, &fits, &class.shape);
            let usual = pass.by_class[id as usize];
            let said = pass.special.entry(key.1).or_insert(Some(usual));
            if !said.is_some_and(|wait| wait.reserved) || !fits.wanted.is_empty() {
                kept.put(key, &ward, &class.partition, &fits.wanted, &stand);
            }
            // Of several partitions the last word counts.
            if let Some(wait) = said
                && !wait.reserved
            {
                wait.reason = stand.reason();
            }
            let after = (std::ops::Bound::Excluded(key), std::ops::Bound::Unbounded);
            let next = class.jobs.range(after).next().copied();
            match stand {
                Stand::Without(nodes) => others.push((id, next.unwrap_or(key), nodes)),
                Stand::First if !fits.wanted.is_empty() => {
                    others.extend(next.map(|next| (id, next, fits.wanted.clone())));
                }
                _ => {}
            }
        }
        for (id, key, nodes) in others {
            let class = &self.queue.classes[id as usize];
            let usual = &mut pass.by_class[id as usize];
            let closed = kept.closed.get(&class.shape.ward(&class.partition));
            if !usual.reserved && closed.is_none_or(|closed| key < *closed) {
                *usual = Wait::from(Reason::ReqNodeNotAvail);
            }
            let name = |node: &NodeIndex| self.nodes.slot(*node).node.name.clone();
            pass.unavailable.insert(id, nodes.iter().map(name).collect());
        }
    }

    /// The first of each class that waits for nodes, in the order of the queue.
    fn waiting_for_nodes(&mut self, pass: &Pass) -> Vec<(Key, u32)> {
        let mut found: Vec<(Key, u32)> = Vec::new();
        for (id, class) in (0..).zip(&mut self.queue.classes) {
            let waits = |key: &&Key| pass.special.get(&key.1) != Some(&None);
            let Some(key) = class.jobs.iter().find(waits).copied() else { continue };
            let never = class.fits.as_ref().is_none_or(|fits| fits.never.is_some());
            if class.barred.is_some() || never || class.shape.humble || !class.with.is_empty() {
                continue;
            }
            let told = pass.special.get(&key.1).copied().flatten();
            let reason = told.unwrap_or(pass.by_class[id as usize]).reason;
            let for_nodes = [Reason::Resources, Reason::Priority, Reason::ReqNodeNotAvail];
            if for_nodes.contains(&reason) && class.is_possible_now(&self.nodes) {
                found.push((key, id));
            }
        }
        found.sort_unstable();
        found
    }
}
