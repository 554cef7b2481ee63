//! What of the log is in memory: what is not applied yet, and a little more. Consensus reads that back to apply it and
//! to send it. Older entries are asked for rarely, by a controller that was away, and are read from the disk.

use std::collections::BTreeMap;
use std::ops::Range;

use openraft::{EntryPayload, LogId, Vote};

use super::{Batch, TypeConfig};
use crate::controller::proposals;

type Entry = openraft::Entry<TypeConfig>;

/// So many of the newest stay although they are applied, for controllers that are a little behind.
const NEWEST: u64 = 64;

/// The end of the log, and what else openraft asks for.
pub(super) struct Memory {
    entries: BTreeMap<u64, Entry>,
    pub(super) purged: Option<LogId<u64>>,
    pub(super) vote: Option<Vote<u64>>,
}

impl Memory {
    pub(super) fn new(
        entries: Vec<Entry>,
        purged: Option<LogId<u64>>,
        vote: Option<Vote<u64>>,
    ) -> Memory {
        let mut memory = Memory { entries: BTreeMap::new(), purged, vote };
        memory.append(entries);
        memory
    }

    /// The entries of a range that are here, the first and as many more as make up so many bytes; and where what is
    /// here begins.
    pub(super) fn read(&self, range: Range<u64>, most_bytes: usize) -> (Vec<Entry>, u64) {
        let mut bytes = 0;
        let within = |entry: &&Entry| {
            let fits = bytes == 0 || bytes < most_bytes;
            bytes += weight(entry);
            fits
        };
        let from = self.first().max(range.start).min(range.end);
        let entries = self.entries.range(from..range.end).map(|(_, entry)| entry);
        (entries.take_while(within).cloned().collect(), self.first())
    }

    /// Where what is here begins; beyond everything where nothing is.
    fn first(&self) -> u64 {
        self.entries.first_key_value().map_or(u64::MAX, |(first, _)| *first)
    }

    /// The last one there is.
    pub(super) fn last(&self) -> Option<LogId<u64>> {
        self.entries.last_key_value().map(|(_, entry)| entry.log_id)
    }

    pub(super) fn append(&mut self, entries: Vec<Entry>) {
        self.entries.extend(entries.into_iter().map(|entry| (entry.log_id.index, entry)));
    }

    pub(super) fn truncate(&mut self, from: u64) {
        self.entries.split_off(&from);
    }

    pub(super) fn purge(&mut self, upto: LogId<u64>) {
        self.entries = self.entries.split_off(&(upto.index + 1));
        self.purged = Some(upto);
    }

    /// What is applied is not cut off any more, so whatever is cut off later, the last one that is left is here.
    pub(super) fn applied(&mut self, upto: u64) {
        let Some(last) = self.last() else { return };
        let keep = upto.min(last.index.saturating_sub(NEWEST));
        while let Some(first) = self.entries.first_entry().filter(|first| *first.key() < keep) {
            first.remove();
        }
    }
}

/// About how many bytes it is on the wire.
fn weight(entry: &Entry) -> usize {
    match &entry.payload {
        EntryPayload::Normal(Batch(entries)) => {
            entries.iter().map(|entry| proposals::weight(&entry.command)).sum()
        }
        EntryPayload::Blank | EntryPayload::Membership(_) => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raft::encode;
    use crate::store;

    fn entry(index: u64) -> Entry {
        let position = store::Position { term: 1, leader: 1, index };
        Entry { log_id: encode::log_id(position), payload: EntryPayload::Blank }
    }

    #[test]
    fn what_is_applied_goes_and_the_newest_stay() {
        let mut memory = Memory::new((1..=200).map(entry).collect(), None, None);
        let indexes = |memory: &Memory, range: Range<u64>, bytes: usize| {
            let (entries, first) = memory.read(range, bytes);
            (entries.iter().map(|it| it.log_id.index).collect::<Vec<u64>>(), first)
        };
        memory.applied(100);
        assert_eq!(indexes(&memory, 98..102, usize::MAX), (vec![100, 101], 100));
        memory.applied(200);
        assert_eq!(memory.read(0..0, 0).1, 200 - NEWEST);
        assert_eq!(indexes(&memory, 190..300, 65), (vec![190, 191], 200 - NEWEST));
        memory.truncate(199);
        assert_eq!(memory.last(), Some(entry(198).log_id));
        memory.purge(entry(198).log_id);
        assert_eq!((memory.last(), indexes(&memory, 1..9, 9)), (None, (vec![], u64::MAX)));
    }
}
