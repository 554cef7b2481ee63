//! A place in the future: nobody lower in the queue may delay it.

use std::collections::BTreeSet;
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;
use spur_core::time::Timestamp;

use crate::decision::Preempt;
use crate::fit::Fit;
use crate::nodes::{Held, NodeIndex};
use crate::pass::Pass;
use crate::place::network::{self, Within};
use crate::planner::Planner;
use crate::possible::Fits;
use crate::preempt;
use crate::shape::Shape;
use crate::timeline::{Ahead, Place};
use crate::view::{Displaced, RunId};
use crate::waits::{Promised, Wait};

impl Planner {
    /// Finds a job a place in the future; nobody lower may delay it. A job that waits in several
    /// partitions holds its earliest place.
    pub(crate) fn promise(
        &mut self,
        pass: &mut Pass,
        job: JobId,
        class: u32,
        fits: &Arc<Fits>,
        shape: &Arc<Shape>,
        reason: Reason,
    ) {
        self.nodes.settle();
        let former = pass.places.remove(&job);
        if let Some((place, ..)) = &former {
            pass.calendar.forget(job, &place.nodes);
        }
        let found =
            self.recall(pass, job, fits, shape).map(|(place, kinds)| (place, shape.clone(), kinds));
        let found = former.into_iter().chain(found).min_by_key(|(place, ..)| place.at);
        let start = found.as_ref().map(|(place, ..)| Timestamp(place.at.max(pass.now)));
        // Of several partitions the last word counts.
        pass.special.insert(job, Some(Wait { reason, start, reserved: false }));
        let rank = self.queue.classes[class as usize].rank;
        if self.policy.preempt && rank > 0 {
            let victims = preempt::victims(self, pass.now, rank, fits, shape, &pass.displaced);
            if let Some(victims) = victims {
                pass.displaced.extend(victims.iter().map(|victim| victim.0));
                let stays = |(run, how): (RunId, Option<Displaced>)| Some((run, how?));
                let victims: Vec<_> = victims.into_iter().filter_map(stays).collect();
                if !victims.is_empty() {
                    pass.out.preempts.push(Preempt { job, victims });
                }
            }
        }
        if let Some((place, shape, kinds)) = found {
            let taken = pass.calendar.hold(&self.nodes, job, &shape, &kinds, &place);
            let partition = self.queue.classes[class as usize].partition.clone();
            pass.held.insert(job, self.promised(pass, &place, partition, taken));
            if self.queue.is_in_several(job) {
                pass.places.insert(job, (place, shape, kinds));
            }
        }
    }

    /// The earliest place of a job, not before a moment.
    pub(crate) fn earliest(
        &self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
        from: i64,
    ) -> Option<(Place, Vec<Fit>)> {
        if let Some(outside) = shape.outside_drawn() {
            let drawn = pass.calendar.nodes_of(&shape.drawn).cloned();
            let inside = drawn.and_then(|it| self.earliest_in(pass, fits, shape, from, Some(it)));
            let outside = self.earliest_in(pass, fits, &outside, from, None);
            return inside.into_iter().chain(outside).min_by_key(|(place, _)| place.at);
        }
        self.earliest_in(pass, fits, shape, from, self.within(pass, shape))
    }

    fn earliest_in(
        &self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
        from: i64,
        within: Option<BTreeSet<NodeIndex>>,
    ) -> Option<(Place, Vec<Fit>)> {
        // The smallest number of nodes that will do comes first.
        let smallest = shape.sizes.first().map(|size| shape.on_nodes(*size));
        let shape = smallest.as_ref().unwrap_or(shape);
        let ahead = |kinds: &[Fit], within: Within<'_>| {
            self.ahead(pass, fits, shape, kinds, from, within).earliest()
        };
        let found = fits.alternatives.iter().filter_map(|kinds| {
            let search = |within: Within<'_>| ahead(kinds, within);
            let place = network::earliest(&self.nodes, shape, within.as_ref(), &search)?;
            Some((place, kinds.clone()))
        });
        found.min_by_key(|(place, _)| place.at)
    }

    /// A search for a place from a moment on.
    pub(crate) fn ahead<'a>(
        &'a self,
        pass: &'a Pass,
        fits: &'a Fits,
        shape: &'a Shape,
        kinds: &'a [Fit],
        from: i64,
        within: Within<'a>,
    ) -> Ahead<'a> {
        Ahead {
            nodes: &self.nodes,
            shape,
            fits: kinds,
            calendar: &pass.calendar,
            ends: &self.ends,
            now: pass.now,
            from,
            wanted: &fits.wanted,
            barred: &fits.barred,
            within,
        }
    }

    /// A place as readers see it.
    pub(crate) fn promised(
        &self,
        pass: &Pass,
        place: &Place,
        partition: Arc<str>,
        cpus: u32,
    ) -> Promised {
        let name = |node: &NodeIndex| self.nodes.slot(*node).node.name.clone();
        let mut nodes: Vec<NodeIndex> = place.nodes.iter().map(|(node, _)| *node).collect();
        nodes.sort_by_key(|node| self.nodes.slot(*node).order);
        let at = Timestamp(place.at.max(pass.now));
        // What is to end before it begins ends by its limit at the latest.
        let ahead = |held: &&Held| held.end <= place.at;
        let ends = |node: &NodeIndex| self.nodes.slot(*node).runs.iter().filter(ahead);
        let limits = nodes.iter().flat_map(|node| ends(node).map(|held| held.limit));
        let due = Timestamp(limits.max().unwrap_or(place.at).max(at.0));
        let free = |node: &NodeIndex| {
            let slot = self.nodes.slot(*node);
            slot.free.cores * slot.node.threads.max(1)
        };
        let idle = nodes.iter().map(free).sum::<u32>().min(cpus);
        Promised { at, partition, nodes: nodes.iter().map(name).collect(), cpus, due, idle }
    }
}
