//! Where a job can start at this moment.

use std::collections::BTreeSet;

use crate::fit::Fit;
use crate::nodes::NodeIndex;
use crate::pass::Pass;
use crate::place::network::{self, Barred, Within};
use crate::place::{Chosen, Search};
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::Shape;
use crate::timeline::But;

/// The most of them: it is asked for the sake of a word.
const WONDER: u32 = 64;

impl Planner {
    /// Nodes for a job now, and for how long.
    pub(crate) fn place(
        &mut self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
    ) -> Option<(Chosen, i64)> {
        self.nodes.settle();
        let left = self.secs_left(pass, shape);
        let within = self.within(pass, shape);
        // Who is drawn into a reservation is put there where there is room.
        let drawn = pass.calendar.nodes_of(&shape.drawn).filter(|_| !shape.drawn.is_empty());
        // Nobody is bound to a flexible reservation, and yet its nodes come first.
        let flexible = self.flexible(pass, shape);
        let first = drawn.or(flexible);
        let with_others = flexible.and_then(|nodes| self.beginning_with(fits, shape, nodes));
        let in_size = |shape: &Shape, secs: i64| {
            let secs = secs.min(left);
            let inside = first.and_then(|nodes| {
                self.place_for(pass, fits, shape, secs, Some(nodes), But::Nothing)
            });
            let partly = || {
                let fits = with_others.as_ref()?;
                self.place_for(pass, fits, shape, secs, None, But::Nothing)
            };
            inside.or_else(partly).or_else(|| {
                // Half inside and half outside of what draws it in is no place, as in Slurm.
                let outside = shape.outside_drawn();
                let shape = outside.as_ref().unwrap_or(shape);
                self.place_for(pass, fits, shape, secs, within.as_ref(), But::Nothing)
            })
        };
        let for_secs = |secs: i64| match shape.sizes.is_empty() {
            true if shape.widest => widest(shape, |size| in_size(size, secs)),
            true => in_size(shape, secs),
            // As many as there may be where the tasks follow the nodes, else as few.
            false if shape.units_follow_nodes => {
                shape.sizes.iter().rev().find_map(|size| in_size(&shape.on_nodes(*size), secs))
            }
            false => shape.sizes.iter().find_map(|size| in_size(&shape.on_nodes(*size), secs)),
        };
        if let Some(chosen) = for_secs(shape.secs) {
            return Some((chosen, shape.secs));
        }
        let least = shape.secs_min.filter(|least| *least < shape.secs)?;
        let mut best = (for_secs(least)?, least);
        // No longer than it must be, as in Slurm; who asks for advice is told what would do, to the minute.
        let (mut low, mut high) = (least / 60, shape.secs.div_euclid(60));
        while self.longest && low + 1 < high {
            let middle = (low + high) / 2;
            match for_secs(middle * 60) {
                Some(chosen) => (best, low) = ((chosen, middle * 60), middle),
                None => high = middle,
            }
        }
        Some(best)
    }

    /// Whether a job would start if there were no reservations, whoever else may be promised its place.
    pub(crate) fn keeps_out(
        &mut self,
        pass: &mut Pass,
        class: u32,
        fits: &Fits,
        shape: &Shape,
    ) -> bool {
        if self.reservations.is_empty() || !shape.reservation.is_empty() || pass.wondered >= WONDER
        {
            return false;
        }
        pass.wondered += 1;
        if let Some(known) = self.known_to_be_kept_out(pass, class) {
            return known;
        }
        let it = &mut self.queue.classes[class as usize];
        let spare = match it.is_possible_now(&self.nodes) {
            true => it.possible_until().map_or(0, |until| until.saturating_sub(self.nodes.lost)),
            false => 0,
        };
        let would = |but: But| self.place_for(pass, fits, shape, shape.secs, None, but).is_some();
        // Where more can be spared than reservations keep, the others would do.
        let spared = fits.wanted.is_empty() && spare >= pass.calendar.reserved_nodes();
        let out = !spared && !would(But::Jobs) && would(But::Everything) && {
            // Whoever could do with other nodes, if only they were free, waits for those, as in Slurm.
            let until = pass.now.saturating_add(shape.secs);
            let reserved = |node: &NodeIndex| pass.calendar.is_kept(*node, pass.now, until, shape);
            let mut rest = fits.clone();
            rest.barred.extend(pass.calendar.with_reservations().filter(reserved));
            fits.wanted.iter().any(reserved) || !rest.possible_now(shape, &self.nodes)
        };
        self.was_kept_out(class, out);
        out
    }

    fn place_for(
        &self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
        secs: i64,
        within: Within<'_>,
        but: But,
    ) -> Option<Chosen> {
        let inside = |kinds: &[Fit], shape: &Shape, barred: &Barred, within: Within<'_>| {
            Search {
                nodes: &self.nodes,
                shape,
                fits: kinds,
                calendar: &pass.calendar,
                mix: &pass.mix,
                choice: self.policy.choice,
                now: pass.now,
                secs,
                wanted: &fits.wanted,
                barred,
                within,
                but,
            }
            .choose()
        };
        let search = |shape: &Shape, barred: &Barred, within: Within<'_>| {
            if !fits.counted.is_empty() {
                let part = |kinds: &[Fit], shape: &Shape, barred: &Barred| {
                    inside(kinds, shape, barred, within)
                };
                let kind_of = |node: NodeIndex| self.nodes.slot(node).kind;
                return counted(fits, shape, kind_of, part);
            }
            fits.alternatives.iter().find_map(|kinds| inside(kinds, shape, barred, within))
        };
        network::place(&self.nodes, shape, &fits.barred, within, &search)
    }
}

/// Nodes for a job on as many as may be.
fn widest(shape: &Shape, search: impl Fn(&Shape) -> Option<Chosen>) -> Option<Chosen> {
    let mut best = search(shape)?;
    if best.len() as u32 == shape.nodes_max {
        return Some(best);
    }
    let (mut low, mut high) = (best.len() as u32, shape.nodes_max.saturating_add(1));
    // Mostly the most will do.
    let mut next = shape.nodes_max;
    while low + 1 < high {
        match search(&shape.on_nodes(next)) {
            Some(chosen) => (best, low) = (chosen, next),
            None => high = next,
        }
        next = low + (high - low) / 2;
    }
    Some(best)
}

/// So many nodes with each feature, then any for the rest.
fn counted(
    fits: &Fits,
    shape: &Shape,
    kind_of: impl Fn(NodeIndex) -> u32,
    search: impl Fn(&[Fit], &Shape, &BTreeSet<NodeIndex>) -> Option<Chosen>,
) -> Option<Chosen> {
    let mut barred = fits.barred.clone();
    let mut all: Chosen = Vec::new();
    let each = (shape.units / shape.nodes_min.max(1)).max(1);
    // Those that fewest kinds have come first: they may stand for the others as well.
    let mut counts: Vec<(u32, &Vec<Fit>)> =
        fits.counted.iter().map(|(count, kinds)| (*count, kinds)).collect();
    counts.sort_by_key(|(_, kinds)| kinds.len());
    let last = counts.len();
    counts.extend(fits.alternatives.first().map(|kinds| (shape.nodes_min, kinds)));
    for (place, (count, kinds)) in counts.into_iter().enumerate() {
        let stands = |(node, _): &&(NodeIndex, u32)| {
            let kind = kind_of(*node);
            place == last || !fits.apart && kinds.iter().any(|fit| fit.kind == kind)
        };
        let count = count.saturating_sub(all.iter().filter(stands).count() as u32);
        if count == 0 {
            continue;
        }
        let part = Shape {
            nodes_min: count,
            nodes_max: count,
            units: each * count,
            units_per_node: Some(each),
            nodelist: Vec::new(),
            ..shape.clone()
        };
        let found = search(kinds, &part, &barred)?;
        barred.extend(found.iter().map(|(node, _)| *node));
        all.extend(found);
    }
    Some(all)
}
