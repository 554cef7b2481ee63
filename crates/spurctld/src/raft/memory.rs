//! What of the log is in memory. The newest entries are there as they came: consensus reads them back to apply them
//! and to send them. Older ones are asked for rarely, by a controller that was away, and are kept in the form in which
//! they are written, which takes a fraction of the room.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use openraft::{EntryPayload, LogId, Vote};
use spur_core::state::stored;

use super::{Batch, TypeConfig, encode};
use crate::controller::proposals;
use crate::store;

type Entry = openraft::Entry<TypeConfig>;

/// So many are kept as they came.
const NEWEST: u64 = 16;
/// How many more than came are packed at a time, where a start has found many.
const CATCHING_UP: usize = 8;

/// The log since the last purge, and what else openraft asks for.
pub(super) struct Memory {
    entries: BTreeMap<u64, Held>,
    /// Those before this one are packed.
    packed: u64,
    pub(super) purged: Option<LogId<u64>>,
    pub(super) vote: Option<Vote<u64>>,
}

enum Held {
    Whole(Entry),
    Packed(Box<[u8]>),
}

impl Held {
    fn entry(&self) -> Result<Entry, stored::Error> {
        match self {
            Held::Whole(entry) => Ok(entry.clone()),
            Held::Packed(bytes) => Ok(encode::entry(store::decode_record(bytes)?)?),
        }
    }

    /// About how many bytes it is on the wire.
    fn weight(&self) -> usize {
        match self {
            Held::Packed(bytes) => bytes.len(),
            Held::Whole(entry) => match &entry.payload {
                EntryPayload::Normal(Batch(entries)) => {
                    entries.iter().map(|entry| proposals::weight(&entry.command)).sum()
                }
                EntryPayload::Blank | EntryPayload::Membership(_) => 64,
            },
        }
    }
}

impl Memory {
    pub(super) fn new(
        entries: Vec<Entry>,
        purged: Option<LogId<u64>>,
        vote: Option<Vote<u64>>,
    ) -> Memory {
        let mut memory = Memory { entries: BTreeMap::new(), packed: 0, purged, vote };
        memory.append(entries);
        memory
    }

    /// The entries of a range, each with about its bytes.
    pub(super) fn read(
        &self,
        range: impl RangeBounds<u64>,
    ) -> impl Iterator<Item = (Result<Entry, stored::Error>, usize)> {
        self.entries.range(range).map(|(_, held)| (held.entry(), held.weight()))
    }

    /// The last one there is.
    pub(super) fn last(&self) -> Result<Option<LogId<u64>>, stored::Error> {
        let last = self.entries.last_key_value().map(|(_, held)| held.entry());
        Ok(last.transpose()?.map(|entry| entry.log_id))
    }

    pub(super) fn append(&mut self, entries: Vec<Entry>) {
        let came = entries.len();
        let entries = entries.into_iter();
        self.entries.extend(entries.map(|entry| (entry.log_id.index, Held::Whole(entry))));
        self.pack(came + CATCHING_UP);
    }

    pub(super) fn truncate(&mut self, from: u64) {
        self.entries.split_off(&from);
        self.packed = self.packed.min(from);
    }

    pub(super) fn purge(&mut self, upto: LogId<u64>) {
        self.entries = self.entries.split_off(&(upto.index + 1));
        self.purged = Some(upto);
    }

    fn pack(&mut self, most: usize) {
        let Some((last, _)) = self.entries.last_key_value() else { return };
        let until = last.saturating_sub(NEWEST).max(self.packed);
        for (index, held) in self.entries.range_mut(self.packed..until).take(most) {
            if let Held::Whole(entry) = held {
                let bytes = store::encode_record(&encode::record(entry));
                *held = Held::Packed(bytes.into_boxed_slice());
            }
            self.packed = index + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64) -> Entry {
        let position = store::Position { term: 1, leader: 1, index };
        Entry { log_id: encode::log_id(position), payload: EntryPayload::Blank }
    }

    #[test]
    fn what_is_packed_reads_as_it_came() {
        let mut memory = Memory::new((1..=100).map(entry).collect(), None, None);
        (101..=120).for_each(|index| memory.append(vec![entry(index)]));
        let packed = memory.entries.values().filter(|held| matches!(held, Held::Packed(_)));
        assert_eq!(packed.count(), 103, "all but the newest");
        let read: Vec<u64> =
            memory.read(90..110).map(|(entry, _)| entry.expect("reads").log_id.index).collect();
        assert_eq!(read, (90..110).collect::<Vec<_>>());
        memory.truncate(51);
        assert_eq!(memory.last().expect("reads"), Some(entry(50).log_id));
        memory.append((51..=60).map(entry).collect());
        memory.purge(entry(40).log_id);
        let read: Vec<u64> =
            memory.read(..).map(|(entry, _)| entry.expect("reads").log_id.index).collect();
        assert_eq!(read, (41..=60).collect::<Vec<_>>());
    }
}
