//! Goes through the classes that sleep, in the order of the queue: who is first in a partition may be promised
//! something, and of the others only those are of interest for whom enough may be free by now.

use std::ops::Bound;

use crate::gains::Stamp;
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
    /// Who may have come to fit, by partition, and at which moment that was told; nothing for anybody.
    stirred: Option<(Stamp, Option<Vec<Vec<Sleeper>>>)>,
}

/// A class that sleeps.
type Sleeper = (Key, u32);

/// The same in one partition.
#[derive(Default)]
struct Ward {
    /// The next one.
    head: Option<Sleeper>,
    /// The last one that was looked at.
    last: Option<Sleeper>,
    /// Where among those that were stirred the next one is.
    at: usize,
    /// Who comes then, from behind.
    chunk: Vec<Sleeper>,
    done: bool,
}

impl Walk {
    pub(crate) fn of(naps: &Naps) -> Walk {
        let wards = (0..naps.wards()).map(|_| Ward::default()).collect();
        Walk { wards, ..Walk::default() }
    }

    /// The first of those that are still of interest.
    pub(crate) fn peek(
        &mut self,
        naps: &mut Naps,
        nodes: &Nodes,
        full: &[bool],
        failed: &mut [bool],
    ) -> Option<Sleeper> {
        let told = naps.told();
        for (number, ward) in self.wards.iter_mut().enumerate() {
            while ward.head.is_none() && !ward.done {
                if full[number] {
                    let now = nodes.gains.stamp();
                    if self.stirred.as_ref().is_none_or(|(at, _)| *at != now) {
                        self.stirred = Some((now, naps.stirred(nodes, &mut self.gained)));
                    }
                }
                // Nobody else can have anything to hope for where as much is promised as is to be.
                let stirred = self.stirred.as_ref().filter(|_| full[number]);
                let stirred = stirred.and_then(|(_, all)| all.as_ref());
                let Some((key, class)) = ward.step(number, naps, stirred) else { break };
                let Some(nap) = naps.get_mut(class) else { continue };
                let sleeps = nap.goes_on(nodes, &mut self.gained, told);
                if !(sleeps && full[number]) {
                    failed[class as usize] = sleeps;
                    ward.head = Some((key, class));
                }
            }
        }
        self.wards.iter().filter_map(|ward| ward.head).min()
    }

    /// The one that was seen is looked at.
    pub(crate) fn pass_by(&mut self, seen: Sleeper) {
        self.wards.iter_mut().filter(|it| it.head == Some(seen)).for_each(|it| it.head = None);
    }
}

impl Ward {
    fn step(
        &mut self,
        number: usize,
        naps: &Naps,
        stirred: Option<&Vec<Vec<Sleeper>>>,
    ) -> Option<Sleeper> {
        let next = match stirred.and_then(|all| all.get(number)) {
            Some(all) => {
                // Mostly it is the one behind the last.
                let behind = self.at.checked_sub(1).and_then(|last| all.get(last));
                if self.last.is_none() || behind != self.last.as_ref() {
                    self.at = all.partition_point(|it| self.last.is_some_and(|last| *it <= last));
                }
                self.at += 1;
                all.get(self.at - 1).copied()
            }
            None => self.in_order(number, naps),
        };
        self.last = next.or(self.last);
        self.done = next.is_none();
        next
    }

    /// The next one of all.
    fn in_order(&mut self, number: usize, naps: &Naps) -> Option<Sleeper> {
        if self.chunk.is_empty() {
            let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
            let next = naps.order(number).range((after, Bound::Unbounded)).take(CHUNK);
            self.chunk.extend(next);
            self.chunk.reverse();
        }
        self.chunk.pop()
    }
}
