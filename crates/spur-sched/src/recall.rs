//! What was found out in one pass and still holds in the next.

use std::sync::Arc;

use spur_core::ids::JobId;

use crate::fit::Fit;
use crate::gains::Stamp;
use crate::nodes::{NodeIndex, Nodes};
use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::{Shape, Sharing};
use crate::timeline::Place;

/// A place that was found for a job, or that there is none, and on what that depends.
#[derive(Clone, Debug)]
pub struct Found {
    changes: Stamp,
    calendar: u64,
    now: i64,
    fits: Arc<Fits>,
    shape: Arc<Shape>,
    place: Option<(Place, Vec<Fit>)>,
}

impl Planner {
    /// The earliest place of a job, looked for only if it may have changed since the last pass.
    pub(crate) fn recall(
        &self,
        pass: &mut Pass,
        job: JobId,
        fits: &Arc<Fits>,
        shape: &Arc<Shape>,
    ) -> Option<(Place, Vec<Fit>)> {
        let calendar = pass.calendar.signature();
        let holds = |it: &&Found| {
            Arc::ptr_eq(&it.fits, fits)
                && Arc::ptr_eq(&it.shape, shape)
                && it.calendar == calendar
                && self.same_moment(pass, it)
                && (fits.is_untouched_since(it.changes, &self.nodes)
                    || self.is_beside_the_point(pass, it))
        };
        let place = match self.found.get(&job).filter(holds) {
            Some(known) => known.place.clone(),
            None => self.earliest(pass, fits, shape, pass.now),
        };
        let (changes, now) = (self.nodes.changes.stamp(), pass.now);
        let (fits, shape) = (fits.clone(), shape.clone());
        let found = Found { changes, calendar, now, fits, shape, place: place.clone() };
        pass.found.insert(job, found);
        place
    }

    /// Whether what has changed meanwhile makes no difference to a place: none of the nodes would have done by then,
    /// and none would do now. What runs only ends, so a node that will not do at a moment does not earlier.
    fn is_beside_the_point(&self, pass: &Pass, found: &Found) -> bool {
        let Found { fits, shape, .. } = found;
        let Some((place, _)) = &found.place else { return false };
        // Where the network has a say, nodes count that are not good in the end.
        if shape.switches.is_some() || shape.segment.is_some() || !shape.sizes.is_empty() {
            return false;
        }
        let Some(changed) = self.nodes.changes.since(found.changes) else { return false };
        let within = self.within(pass, shape);
        let is_good = |node: NodeIndex| {
            let slot = self.nodes.slot(node);
            let mut kinds = fits.alternatives.iter().flatten().filter(|it| it.kind == slot.kind);
            let ahead = self.ahead(pass, fits, shape, &[], place.at, within.as_ref());
            slot.present && slot.node.usable && kinds.any(|it| ahead.is_good(it, node, place.at))
        };
        changed.iter().all(|node| {
            !pass.calendar.concerns(*node)
                && place.good.binary_search(node).is_err()
                && !is_good(*node)
        })
    }

    /// Whether time that has passed makes no difference to a place: nothing should have ended meanwhile, and
    /// nothing lies ahead that a stay could now reach.
    fn same_moment(&self, pass: &Pass, found: &Found) -> bool {
        let ends = || self.ends.first().is_some_and(|(end, ..)| *end <= pass.now);
        found.now == pass.now
            || pass.calendar.is_empty()
                && !ends()
                && found.place.as_ref().is_some_and(|(place, _)| place.at > pass.now)
    }
}

/// A class that found no place although enough is free: promises to others were in the way.
#[derive(Clone, Debug)]
pub struct Failure {
    gains: Stamp,
    changes: Stamp,
    calendar: u64,
    now: i64,
    /// Whether it would have found one but for reservations, once that was asked.
    kept_out: Option<bool>,
}

impl Failure {
    /// Whether the same is promised as then. What is promised does not come nearer without the calendar
    /// changing; only a reservation passes.
    fn is_of(&self, pass: &Pass) -> bool {
        self.calendar == pass.calendar.signature()
            && (self.now == pass.now || !pass.calendar.has_reservations())
    }
}

impl Planner {
    /// Remembers that a class found no place just now.
    pub(crate) fn failed(&mut self, pass: &Pass, class: u32) {
        let (calendar, now) = (pass.calendar.signature(), pass.now);
        let (gains, changes) = (self.nodes.gains.stamp(), self.nodes.changes.stamp());
        let it = &mut self.queue.classes[class as usize];
        let failure = Failure { gains, changes, calendar, now, kept_out: None };
        it.failure = Some(failure).filter(|_| it.is_plain());
    }

    /// Whether a class found no place before, and nothing has changed that could concern it.
    pub(crate) fn is_as_before(&self, pass: &Pass, class: u32) -> bool {
        let it = &self.queue.classes[class as usize];
        let (Some(failure), Some(fits)) = (&it.failure, &it.fits) else { return false };
        failure.is_of(pass)
            && it.is_plain()
            && fits.is_untouched_since(failure.changes, &self.nodes)
    }

    /// Whether a class found no place before, and all that was in its way still is. It is not short.
    pub(crate) fn fails_still(&mut self, pass: &Pass, class: u32) -> bool {
        let it = &self.queue.classes[class as usize];
        let (Some(failure), Some(fits)) = (&it.failure, &it.fits) else { return false };
        let still = failure.is_of(pass)
            && it.is_plain()
            && is_simple(&it.shape, fits, &self.nodes)
            // Less being free elsewhere does not help it.
            && !it.gained_since(failure.gains, &self.nodes);
        let (gains, changes) = (self.nodes.gains.stamp(), self.nodes.changes.stamp());
        let failure = &mut self.queue.classes[class as usize].failure;
        let known = failure.take().filter(|_| still);
        *failure = known.map(|it| Failure { gains, changes, kept_out: None, ..it });
        still
    }

    /// Whether reservations kept a class out, if that is known.
    pub(crate) fn known_to_be_kept_out(&self, pass: &Pass, class: u32) -> Option<bool> {
        let it = &self.queue.classes[class as usize];
        let (failure, fits) = (it.failure.as_ref()?, it.fits.as_ref()?);
        let same = failure.calendar == pass.calendar.signature() && failure.now == pass.now;
        let same = same && fits.is_untouched_since(failure.changes, &self.nodes);
        failure.kept_out.filter(|_| same)
    }

    /// Remembers whether reservations kept a class out that has just failed.
    pub(crate) fn was_kept_out(&mut self, class: u32, out: bool) {
        let changes = self.nodes.changes.stamp();
        if let Some(failure) = &mut self.queue.classes[class as usize].failure {
            (failure.kept_out, failure.changes) = (Some(out), changes);
        }
    }
}

/// Whether any nodes that have room will do, so that all of them were looked at.
fn is_simple(shape: &Shape, fits: &Fits, nodes: &Nodes) -> bool {
    shape.units_each().is_some()
        && !shape.contiguous
        && !shape.widest
        && shape.sizes.is_empty()
        && fits.counted.is_empty()
        && matches!(shape.sharing, Sharing::Anybody | Sharing::Nobody)
        && shape.cap.is_none()
        && shape.user.is_none()
        && (shape.nodes_max == 1 || nodes.domains.is_empty())
}

impl Fits {
    /// Whether nothing has changed on nodes of its kinds.
    pub fn is_untouched_since(&self, stamp: Stamp, nodes: &Nodes) -> bool {
        let of_use = |kind: u32| self.alternatives.iter().flatten().any(|fit| fit.kind == kind);
        let changed = nodes.changes.since(stamp);
        changed.is_some_and(|changed| !changed.iter().any(|it| of_use(nodes.slot(*it).kind)))
    }
}
