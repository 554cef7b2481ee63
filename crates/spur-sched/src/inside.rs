//! Jobs that name reservations: when they may start, where, and for how long.

use std::collections::BTreeSet;
use std::sync::Arc;

use spur_core::job::Reason;
use spur_core::reservation::names;

use crate::nodes::NodeIndex;
use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::Shape;
use crate::view::ViewReservation;

impl Planner {
    pub(crate) fn outside_reservation(&self, pass: &Pass, shape: &Shape) -> Option<Reason> {
        if shape.reservation.is_empty() {
            return None;
        }
        let mut known = names(&shape.reservation).filter_map(|name| self.reservations.get(name));
        match known.next() {
            None => Some(Reason::ReservationDeleted),
            Some(first) => {
                let open = |it: &Arc<ViewReservation>| {
                    it.flexible || it.start.0 <= pass.now && pass.now < it.end.0
                };
                let any = open(first) || known.any(open);
                (!any).then_some(Reason::Reservation)
            }
        }
    }

    /// The nodes a job is bound to by the reservations it names; none when it is bound to none.
    pub(crate) fn within(&self, pass: &Pass, shape: &Shape) -> Option<BTreeSet<NodeIndex>> {
        if shape.reservation.is_empty() {
            return None;
        }
        let mut all = BTreeSet::new();
        for name in names(&shape.reservation) {
            let Some(it) = self.reservations.get(name) else { continue };
            if it.flexible || it.anywhere {
                return None;
            }
            all.extend(pass.calendar.nodes_of(name).into_iter().flatten());
        }
        Some(all)
    }

    /// Nodes of a reservation that a job names and is not bound to.
    pub(crate) fn flexible<'a>(
        &self,
        pass: &'a Pass,
        shape: &Shape,
    ) -> Option<&'a BTreeSet<NodeIndex>> {
        let mut flexible = names(&shape.reservation)
            .filter(|name| self.reservations.get(*name).is_some_and(|it| it.flexible));
        flexible.next().and_then(|name| pass.calendar.nodes_of(name))
    }

    /// A job as if it had asked for those of some nodes that have room for it.
    pub(crate) fn beginning_with(
        &self,
        fits: &Fits,
        shape: &Shape,
        nodes: &BTreeSet<NodeIndex>,
    ) -> Option<Fits> {
        let has_room = |node: &NodeIndex| {
            let slot = self.nodes.slot(*node);
            let fit = fits.of_kind(slot.kind).filter(|_| slot.present && slot.node.usable);
            fit.is_some_and(|fit| fit.room(shape, slot, &slot.free, i64::MIN) > 0)
        };
        let most = shape.nodes_max as usize;
        let wanted: Vec<NodeIndex> = nodes.iter().copied().filter(has_room).take(most).collect();
        let helps = fits.wanted.is_empty() && !wanted.is_empty();
        helps.then(|| Fits { wanted, ..fits.clone() })
    }

    /// How long a job may run: no longer than its reservation.
    pub(crate) fn secs_left(&self, pass: &Pass, shape: &Shape) -> i64 {
        let mine = names(&shape.reservation).filter_map(|name| self.reservations.get(name));
        let open = mine.filter(|it| it.start.0 <= pass.now && pass.now < it.end.0);
        let left = open.map(|it| if it.flexible { i64::MAX } else { it.end.0 - pass.now }).max();
        left.unwrap_or(i64::MAX)
    }
}
