//! Who is to be looked at in a pass, one after another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::queue::Key;

/// When a class is looked at: in turn, or behind the promises by how long its jobs take.
pub(crate) type Turn = (u8, i64, Key, u32);

/// Who is to be looked at: those known from the start, sorted once, and those that came in between.
#[derive(Default)]
pub(crate) struct Turns {
    /// The next one is the last.
    first: Vec<Turn>,
    more: BinaryHeap<Reverse<Turn>>,
}

impl Turns {
    pub(crate) fn of(mut first: Vec<Turn>) -> Turns {
        first.sort_unstable_by(|a, b| b.cmp(a));
        Turns { first, more: BinaryHeap::new() }
    }

    pub(crate) fn put(&mut self, turn: Turn) {
        self.more.push(Reverse(turn));
    }

    /// The next one.
    pub(crate) fn peek(&self) -> Option<Turn> {
        let more = self.more.peek().map(|Reverse(more)| *more);
        self.first.last().copied().into_iter().chain(more).min()
    }

    pub(crate) fn next(&mut self) -> Option<Turn> {
        match (self.first.last(), self.more.peek()) {
            (Some(first), Some(Reverse(more))) if more < first => self.more.pop().map(|it| it.0),
            (None, _) => self.more.pop().map(|it| it.0),
            _ => self.first.pop(),
        }
    }
}
