//! Goes through the classes that sleep, in the order of the queue: who is first in a partition may be promised
//! something, and of the others only those are of interest for whom enough may be free by now.

use std::ops::Bound;

use crate::nap::{Gained, Naps};
use crate::nodes::Nodes;
use crate::queue::Key;

/// How many are looked up at once.
const CHUNK: usize = 64;

/// How far a pass has come.
#[derive(Default)]
pub(crate) struct Walk {
    wards: Vec<Ward>,
    gained: Gained,
    /// No node has gained since everybody was told.
    quiet: bool,
}

/// The same in one partition.
#[derive(Default)]
struct Ward {
    /// The next one.
    head: Option<(Key, u32)>,
    /// Who comes then, from behind.
    chunk: Vec<(Key, u32)>,
    after: Option<(Key, u32)>,
    done: bool,
}

impl Walk {
    pub(crate) fn of(naps: &Naps, nodes: &Nodes) -> Walk {
        let wards = (0..naps.wards()).map(|_| Ward::default()).collect();
        Walk { wards, gained: Gained::default(), quiet: naps.all_know(nodes) }
    }

    /// The first of those that are still of interest.
    pub(crate) fn peek(
        &mut self,
        naps: &mut Naps,
        nodes: &Nodes,
        full: &[bool],
        failed: &mut [bool],
    ) -> Option<(Key, u32)> {
        for (number, ward) in self.wards.iter_mut().enumerate() {
            while ward.head.is_none() && !ward.done {
                // Nobody else can have anything to hope for.
                if full[number] && self.quiet {
                    ward.done = true;
                    break;
                }
                let Some((key, class)) = ward.step(number, naps) else { break };
                let Some(nap) = naps.get_mut(class) else { continue };
                let sleeps = nap.goes_on(nodes, &mut self.gained);
                if !(sleeps && full[number]) {
                    failed[class as usize] = sleeps;
                    ward.head = Some((key, class));
                }
            }
        }
        self.wards.iter().filter_map(|ward| ward.head).min()
    }

    /// The one that was seen is looked at.
    pub(crate) fn pass_by(&mut self, seen: (Key, u32)) {
        self.wards.iter_mut().filter(|it| it.head == Some(seen)).for_each(|it| it.head = None);
    }
}

impl Ward {
    fn step(&mut self, number: usize, naps: &Naps) -> Option<(Key, u32)> {
        if self.chunk.is_empty() {
            let after = self.after.map_or(Bound::Unbounded, Bound::Excluded);
            let next = naps.order(number).range((after, Bound::Unbounded)).take(CHUNK);
            self.chunk.extend(next);
            self.after = self.chunk.last().copied();
            self.chunk.reverse();
        }
        let next = self.chunk.pop();
        self.done = next.is_none();
        next
    }
}
