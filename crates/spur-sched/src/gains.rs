//! Nodes that came to have more to give, as it happened: what did not fit before needs a look at these alone.

use crate::nodes::NodeIndex;

/// A moment among gains: how many there were before.
pub type Stamp = u64;

/// How many are remembered, and of how many it is worth looking at each.
const KEPT: usize = 4096;
const FEW: usize = 64;

/// The log.
#[derive(Debug, Default)]
pub struct Gains {
    forgotten: u64,
    nodes: Vec<NodeIndex>,
}

impl Gains {
    /// The present moment.
    pub fn stamp(&self) -> Stamp {
        self.forgotten + self.nodes.len() as u64
    }

    /// A node has more to give than before, or may have.
    pub fn note(&mut self, node: NodeIndex) {
        if self.nodes.len() == KEPT {
            self.forgotten += KEPT as u64;
            self.nodes.clear();
        }
        self.nodes.push(node);
    }

    /// Who gained since; nothing when that is not known any more, or takes too long to look through.
    pub fn since(&self, stamp: Stamp) -> Option<&[NodeIndex]> {
        let first = stamp.checked_sub(self.forgotten)?;
        self.nodes.get(first as usize..).filter(|nodes| nodes.len() <= FEW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_is_not_taken_for_nothing() {
        let mut gains = Gains::default();
        let before = gains.stamp();
        gains.note(7);
        assert_eq!(gains.since(before), Some(&[7][..]));
        assert_eq!(gains.since(gains.stamp()), Some(&[][..]));
        for node in 0..KEPT as u32 {
            gains.note(node);
        }
        assert_eq!(gains.since(before), None);
        assert_eq!(gains.since(gains.stamp() - 1), Some(&[KEPT as u32 - 1][..]));
    }
}
