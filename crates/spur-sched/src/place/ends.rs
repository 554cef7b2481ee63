//! Where a gang that fits on one node is best off: where a node in use is kept least longer for it, so that whole
//! nodes come free soon for those that need them.

use crate::fit::Fit;
use crate::nodes::NodeIndex;
use crate::place::{Candidate, Choice, DAY, Offer, Search};

/// So many nodes with room are enough to choose from.
const ENOUGH: usize = 256;

impl Search<'_> {
    /// Whether nodes are chosen that way: for a job on one node that asks for whole devices.
    pub(super) fn goes_by_ends(&self, fits: &[Fit], most: u32) -> bool {
        self.choice == Choice::Tight
            && most == 1
            && !self.shape.gres.is_empty()
            && !self.shape.spread
            && !fits.iter().any(|fit| self.in_parts(fit))
    }

    /// The first of those that are kept the fewest days longer than what runs there keeps them anyway.
    pub(super) fn kept_least(&self, offers: &[Offer<'_>], each: u32) -> Option<Candidate> {
        let end = self.now.saturating_add(self.calendar.likely(self.shape, self.secs));
        let longer = |node: NodeIndex| {
            let ends = self.nodes.slot(node).runs.iter().map(|held| held.end);
            (end - ends.max().unwrap_or(self.now).max(self.now)).max(0) / DAY
        };
        let fitting = offers.iter().flat_map(|offer| {
            let nodes = self.in_turn(offer);
            nodes.filter(|node| self.room(offer.fit, *node) >= each)
        });
        let mut best: Option<(i64, NodeIndex)> = None;
        for node in fitting.take(ENOUGH) {
            let days = longer(node);
            if best.is_none_or(|(least, _)| days < least) {
                best = Some((days, node));
            }
            if days == 0 {
                break;
            }
        }
        best.map(|(_, node)| Candidate { node, room: each })
    }
}
