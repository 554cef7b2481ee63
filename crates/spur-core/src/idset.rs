//! Sets of small numbers, kept as ranges: CPUs and devices of a node.

use std::fmt;

/// Numbers in rising order. As a record it is its ranges, first and last of each in turn.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct IdSet {
    #[prost(uint32, repeated, tag = "1")]
    bounds: Vec<u32>,
}

impl IdSet {
    /// The numbers from 0 on, so many.
    pub fn first(count: u32) -> IdSet {
        if count == 0 { IdSet::default() } else { IdSet { bounds: vec![0, count - 1] } }
    }

    /// How many.
    pub fn len(&self) -> u32 {
        self.ranges().map(|(first, last)| last - first + 1).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Each number.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges().flat_map(|(first, last)| first..=last)
    }

    /// Whether a number is in it.
    pub fn contains(&self, id: u32) -> bool {
        self.ranges().any(|(first, last)| first <= id && id <= last)
    }

    /// Whether a number is in both.
    pub fn meets(&self, other: &IdSet) -> bool {
        self.ranges().any(|(first, last)| {
            other
                .ranges()
                .any(|(their_first, their_last)| first <= their_last && their_first <= last)
        })
    }

    fn ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        // Read from a disk or a wire, a pair may be turned around: it is then empty.
        self.bounds
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .filter(|(first, last)| first <= last)
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> IdSet {
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut bounds: Vec<u32> = Vec::new();
        for id in ids {
            match bounds.last_mut() {
                Some(last) if *last + 1 == id => *last = id,
                _ => bounds.extend([id, id]),
            }
        }
        IdSet { bounds }
    }
}

impl fmt::Display for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.ranges().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_touch_are_one_range() {
        let ids: IdSet = [7, 1, 2, 3, 2].into_iter().collect();
        assert_eq!(ids.to_string(), "1-3,7");
        assert_eq!((ids.len(), ids.contains(2), ids.contains(4)), (4, true, false));
        assert_eq!(ids.iter().collect::<Vec<_>>(), [1, 2, 3, 7]);
    }

    #[test]
    fn sets_meet_where_they_share_a_number() {
        let low = IdSet::first(4);
        assert!(low.meets(&[3, 9].into_iter().collect()));
        assert!(!low.meets(&[4, 9].into_iter().collect()));
        assert!(!low.meets(&IdSet::default()));
    }
}
