//! The log: segments of framed records, appended in order, cut at either end.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use prost::Message;
use spur_core::state::{Entry, stored};
use spur_disk::frame::{self, Tail};
use spur_disk::{Disk, RealDisk};

use super::Error;
use super::mark::Mark;

/// A place in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The leader's term.
    pub term: u64,
    /// The leader.
    pub leader: u64,
    /// Counts from 0 without gaps.
    pub index: u64,
}

/// One record of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where it stands.
    pub position: Position,
    /// What it says.
    pub payload: Payload,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Nothing; a new leader writes one.
    Blank,
    /// Changes to the state, committed together.
    Entries(Arc<Vec<Entry>>),
    /// Who the controllers are, in the consensus layer's own encoding.
    Membership(Vec<u8>),
}

/// The log on disk. Nothing of it is kept in memory but where segments begin.
pub struct Log<D = RealDisk> {
    disk: D,
    /// Segments by the index of their first record.
    segments: BTreeMap<u64, Segment>,
    /// Everything up to here is gone, and stands in a snapshot.
    purged: Option<Position>,
    /// The index the next record gets.
    next: u64,
    mark: Mark,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    /// Where each record begins.
    offsets: Vec<u64>,
    len: u64,
    durable: u64,
}

impl<D: Disk> Log<D> {
    /// Opens the log and hands back all its records. A torn tail is cut off; damage is an error.
    pub fn open(mut disk: D) -> Result<(Log<D>, Vec<Record>), Error> {
        let purged = read_purged(&disk)?;
        let (mark, durable) = Mark::open(&mut disk)?;
        let next = purged.map_or(0, |position| position.index + 1);
        let mut log = Log { disk, segments: BTreeMap::new(), purged, next, mark };
        let mut records = Vec::new();
        let names = log.disk.list(SEGMENT_PREFIX)?;
        let last = names.last().cloned();
        for name in names {
            log.open_segment(&name, Some(&name) == last.as_ref(), durable, &mut records)?;
        }
        if log.next < durable {
            return Err(Error::Hole { index: log.next });
        }
        log.drop_purged_segments()?;
        Ok((log, records))
    }

    fn open_segment(
        &mut self,
        name: &str,
        is_last: bool,
        durable: u64,
        records: &mut Vec<Record>,
    ) -> Result<(), Error> {
        let bytes = self.disk.read(name)?.unwrap_or_default();
        let scan = frame::scan(&bytes);
        match scan.tail {
            Tail::Clean => {}
            // Only the last segment is written to, so only there can a write be unfinished.
            Tail::Torn if is_last => {}
            Tail::Torn => return Err(Error::Damaged { file: name.to_string(), at: scan.good }),
            Tail::Damaged { at } => return Err(Error::Damaged { file: name.to_string(), at }),
        }
        let mut segment = Segment { offsets: Vec::new(), len: scan.good, durable: scan.good };
        let mut first = None;
        for frame in &scan.frames {
            let record = decode_record(frame.payload)
                .map_err(|source| Error::Stored { file: name.to_string(), source })?;
            let index = record.position.index;
            first.get_or_insert(index);
            segment.offsets.push(frame.offset);
            if self.purged.is_some_and(|purged| index <= purged.index) {
                continue;
            }
            if index != self.next {
                return Err(Error::Hole { index: self.next });
            }
            self.next = index + 1;
            records.push(record);
        }
        // The bytes of what was acknowledged are left as they are.
        if is_last && self.next < durable {
            return Err(Error::Damaged { file: name.to_string(), at: scan.good });
        }
        if scan.tail == Tail::Torn {
            let cut = bytes.len() as u64 - scan.good;
            tracing::warn!(file = name, bytes = cut, "cut off a write that was never finished");
            self.disk.truncate(name, scan.good)?;
        }
        match first {
            Some(first) => {
                // An earlier life may have died between writing and syncing. From now on this counts.
                if is_last {
                    self.disk.sync(name)?;
                }
                self.segments.insert(first, segment);
            }
            None => self.disk.remove(name)?,
        }
        Ok(())
    }

    /// The index the next record gets.
    pub fn next_index(&self) -> u64 {
        self.next
    }

    /// Up to where the log is cut off at its beginning.
    pub fn purged(&self) -> Option<Position> {
        self.purged
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        self.segments.values().map(|segment| segment.len).sum()
    }

    /// Reads back what it has of these records, the first and as many more as make up so many bytes.
    pub fn read(&self, range: Range<u64>, most_bytes: usize) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        let mut bytes = 0;
        let first = self.segments.range(..=range.start).next_back().map_or(0, |(first, _)| *first);
        for (first, segment) in self.segments.range(first..range.end.max(first)) {
            let skipped = range.start.saturating_sub(*first) as usize;
            let offsets = segment.offsets.iter().enumerate().skip(skipped);
            for (place, offset) in offsets.take_while(|(it, _)| first + (*it as u64) < range.end) {
                if bytes >= most_bytes && !records.is_empty() {
                    return Ok(records);
                }
                let end = segment.offsets.get(place + 1).copied().unwrap_or(segment.len);
                let name = segment_name(*first);
                let part = self.disk.read_part(&name, *offset, (end - offset) as usize)?;
                let damaged = || Error::Damaged { file: name.clone(), at: *offset };
                let frame = frame::read_part(&part, *offset).ok_or_else(damaged)?;
                let record = decode_record(frame.payload)
                    .map_err(|source| Error::Stored { file: name.clone(), source })?;
                bytes += part.len();
                records.push(record);
            }
        }
        Ok(records)
    }

    /// Writes records behind the last and makes them durable, all with one sync.
    pub fn append(&mut self, records: &[Record]) -> Result<(), Error> {
        let (Some(begin), Some(end)) = (records.first(), records.last()) else { return Ok(()) };
        let first = match self.segments.last_key_value() {
            Some((first, segment)) if segment.len < SEGMENT_BYTES => *first,
            _ => begin.position.index,
        };
        let name = segment_name(first);
        let segment = self.segments.entry(first).or_default();
        let mut bytes = Vec::new();
        let mut offsets = Vec::new();
        for record in records {
            offsets.push(segment.len + bytes.len() as u64);
            frame::write(&mut bytes, segment.len, segment.durable, &encode_record(record));
        }
        let written = self.disk.append(&name, &bytes).and_then(|()| self.disk.sync(&name));
        if let Err(error) = written {
            // A part may have been written: cut it off, so that a later record does not stand behind it.
            let _ = self.disk.truncate(&name, segment.len);
            return Err(error.into());
        }
        segment.offsets.append(&mut offsets);
        segment.len += bytes.len() as u64;
        segment.durable = segment.len;
        self.next = end.position.index + 1;
        self.mark.raise(&mut self.disk, self.next);
        Ok(())
    }

    /// Removes the record at `from` and all behind it.
    pub fn truncate(&mut self, from: u64) -> Result<(), Error> {
        self.mark.lower(&mut self.disk, from)?;
        while let Some(mut entry) = self.segments.last_entry() {
            let first = *entry.key();
            if first >= from {
                self.disk.remove(&segment_name(first))?;
                entry.remove();
                continue;
            }
            let segment = entry.get_mut();
            let keep = (from - first) as usize;
            if let Some(offset) = segment.offsets.get(keep).copied() {
                self.disk.truncate(&segment_name(first), offset)?;
                segment.offsets.truncate(keep);
                segment.len = offset;
                segment.durable = offset;
            }
            break;
        }
        self.next = self.next.min(from);
        Ok(())
    }

    /// Forgets everything up to `upto`, which a snapshot on disk covers. What it marks is kept before
    /// anything is removed, so that a restart never looks for the missing part.
    pub fn purge(&mut self, upto: Position) -> Result<(), Error> {
        self.disk.replace(PURGED, &position_bytes(upto))?;
        self.purged = Some(upto);
        self.next = self.next.max(upto.index + 1);
        self.drop_purged_segments()
    }

    fn drop_purged_segments(&mut self) -> Result<(), Error> {
        let Some(purged) = self.purged else { return Ok(()) };
        while let Some((first, segment)) = self.segments.first_key_value() {
            if first + segment.offsets.len() as u64 > purged.index + 1 {
                break;
            }
            self.disk.remove(&segment_name(*first))?;
            let first = *first;
            self.segments.remove(&first);
        }
        Ok(())
    }

    /// Keeps a small thing durably: the vote, for one.
    pub fn keep(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let mut framed = Vec::new();
        frame::write(&mut framed, 0, 0, bytes);
        Ok(self.disk.replace(name, &framed)?)
    }

    /// Reads a small thing back.
    pub fn kept(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(bytes) = self.disk.read(name)? else { return Ok(None) };
        match frame::scan(&bytes).frames.first() {
            Some(frame) => Ok(Some(frame.payload.to_vec())),
            None => Err(Error::Damaged { file: name.to_string(), at: 0 }),
        }
    }
}

/// A segment this large is left alone and a new one begun.
const SEGMENT_BYTES: u64 = 16 << 20;
const SEGMENT_PREFIX: &str = "log/";
const PURGED: &str = "purged";

/// Padded, so that names sort as numbers do.
fn segment_name(first: u64) -> String {
    format!("{SEGMENT_PREFIX}{first:020}")
}

fn read_purged(disk: &impl Disk) -> Result<Option<Position>, Error> {
    let Some(bytes) = disk.read(PURGED)? else { return Ok(None) };
    let stored = StoredPosition::decode(&bytes[..])
        .map_err(|error| Error::Stored { file: PURGED.to_string(), source: error.into() })?;
    Ok(Some(stored.into()))
}

/// A position in its stored form.
pub fn position_bytes(position: Position) -> Vec<u8> {
    StoredPosition::from(position).encode_to_vec()
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredPosition {
    #[prost(uint64, tag = "1")]
    term: u64,
    #[prost(uint64, tag = "2")]
    leader: u64,
    #[prost(uint64, tag = "3")]
    index: u64,
}

impl From<Position> for StoredPosition {
    fn from(position: Position) -> StoredPosition {
        StoredPosition { term: position.term, leader: position.leader, index: position.index }
    }
}

impl From<StoredPosition> for Position {
    fn from(stored: StoredPosition) -> Position {
        Position { term: stored.term, leader: stored.leader, index: stored.index }
    }
}

#[derive(Clone, PartialEq, Message)]
struct StoredRecord {
    #[prost(message, required, tag = "1")]
    position: StoredPosition,
    /// What `stored::encode_entries` wrote.
    #[prost(bytes = "vec", optional, tag = "2")]
    entries: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    membership: Option<Vec<u8>>,
}

/// A record in its stored form, which is also how it travels between controllers.
pub fn encode_record(record: &Record) -> Vec<u8> {
    let mut stored = StoredRecord { position: record.position.into(), ..StoredRecord::default() };
    match &record.payload {
        Payload::Blank => {}
        Payload::Entries(entries) => stored.entries = Some(stored::encode_entries(entries)),
        Payload::Membership(bytes) => stored.membership = Some(bytes.clone()),
    }
    stored.encode_to_vec()
}

/// Reads a record's stored form.
pub fn decode_record(bytes: &[u8]) -> Result<Record, stored::Error> {
    let stored = StoredRecord::decode(bytes)?;
    let payload = match (stored.entries, stored.membership) {
        (Some(entries), _) => Payload::Entries(Arc::new(stored::decode_entries(&entries)?)),
        (None, Some(membership)) => Payload::Membership(membership),
        (None, None) => Payload::Blank,
    };
    Ok(Record { position: stored.position.into(), payload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_disk::SimDisk;

    fn record(index: u64) -> Record {
        let position = Position { term: 1, leader: 1, index };
        Record { position, payload: Payload::Membership(vec![index as u8; 10]) }
    }

    fn records(range: std::ops::Range<u64>) -> Vec<Record> {
        range.map(record).collect()
    }

    fn written(disk: &SimDisk) -> Log<SimDisk> {
        let (mut log, found) = Log::open(disk.clone()).expect("opens");
        assert_eq!(found, []);
        log.append(&records(0..5)).expect("appends");
        log.append(&records(5..8)).expect("appends");
        log
    }

    #[test]
    fn reads_back_what_was_appended() {
        let disk = SimDisk::new();
        written(&disk);
        disk.crash(|_| 0);
        let (log, found) = Log::open(disk).expect("opens");
        assert_eq!(found, records(0..8));
        assert_eq!(log.next_index(), 8);
    }

    #[test]
    fn any_part_of_it_reads_back() {
        let disk = SimDisk::new();
        let mut log = written(&disk);
        log.purge(record(1).position).expect("purges");
        log.segments.insert(8, Segment::default());
        log.append(&records(8..11)).expect("appends");
        assert_eq!(log.disk.list("log/").expect("lists").len(), 2, "two segments");
        let whole = usize::MAX;
        assert_eq!(log.read(3..10, whole).expect("reads"), records(3..10));
        assert_eq!(log.read(8..99, whole).expect("reads"), records(8..11));
        assert_eq!(log.read(11..99, whole).expect("reads"), []);
        assert_eq!(log.read(3..3, whole).expect("reads"), []);
        // At least one, and no more than were asked for.
        assert_eq!(log.read(3..10, 0).expect("reads"), records(3..4));
        let two = frame::framed_len(encode_record(&record(3)).len()) as usize + 1;
        assert_eq!(log.read(3..10, two).expect("reads"), records(3..5));
        let name = disk.list("log/").expect("lists")[0].clone();
        let mut bytes = disk.read(&name).expect("reads").expect("is there");
        *bytes.last_mut().expect("has some") ^= 1;
        disk.clone().replace(&name, &bytes).expect("replaces");
        assert!(matches!(log.read(7..8, whole), Err(Error::Damaged { .. })));
    }

    #[test]
    fn cut_at_the_end_it_goes_on_from_there() {
        let disk = SimDisk::new();
        let mut log = written(&disk);
        log.truncate(6).expect("truncates");
        log.append(&records(6..7)).expect("appends");
        assert_eq!(Log::open(disk).expect("opens").1, records(0..7));
    }

    #[test]
    fn purged_records_stay_gone_and_the_log_restarts_behind_them() {
        let disk = SimDisk::new();
        let mut log = written(&disk);
        log.purge(record(4).position).expect("purges");
        assert_eq!(Log::open(disk.clone()).expect("opens").1, records(5..8));
        log.purge(record(7).position).expect("purges");
        assert_eq!(disk.list("log/").expect("lists"), Vec::<String>::new());
        let (mut log, found) = Log::open(disk.clone()).expect("opens");
        assert_eq!((found, log.next_index()), (vec![], 8));
        log.append(&records(8..9)).expect("appends");
        assert_eq!(Log::open(disk).expect("opens").1, records(8..9));
    }

    #[test]
    fn a_purged_segment_that_a_power_cut_brings_back_is_ignored() {
        let disk = SimDisk::new();
        let mut log = written(&disk);
        log.purge(record(7).position).expect("purges");
        log.append(&records(8..9)).expect("appends");
        disk.crash(|_| 0);
        assert_eq!(Log::open(disk).expect("opens").1, records(8..9));
    }

    #[test]
    fn damage_is_named_and_nothing_is_skipped() {
        let disk = SimDisk::new();
        written(&disk);
        let name = disk.list("log/").expect("lists")[0].clone();
        let mut bytes = disk.read(&name).expect("reads").expect("is there");
        bytes[30] ^= 1;
        disk.clone().replace(&name, &bytes).expect("replaces");
        let error = Log::open(disk).err().expect("refuses").to_string();
        assert!(error.contains("damaged at byte 0"), "{error}");
    }

    #[test]
    fn an_end_that_is_missing_is_named() {
        let disk = SimDisk::new();
        written(&disk);
        let name = disk.list("log/").expect("lists")[0].clone();
        let bytes = disk.read(&name).expect("reads").expect("is there");
        for cut in 1..bytes.len() {
            let disk = disk.clone();
            disk.clone().replace(&name, &bytes[..bytes.len() - cut]).expect("replaces");
            assert!(matches!(Log::open(disk).err(), Some(Error::Damaged { .. })), "cut by {cut}");
        }
        disk.clone().remove(&name).expect("removes");
        assert!(Log::open(disk.clone()).is_err(), "all of it is missing");
        // What was never acknowledged may be missing.
        let torn = [&bytes[..], b"SPUR and then the power went"].concat();
        disk.clone().replace(&name, &torn).expect("replaces");
        assert_eq!(Log::open(disk).expect("opens").1, records(0..8));
    }

    #[test]
    fn what_a_new_leader_cut_off_is_not_missed() {
        let disk = SimDisk::new();
        written(&disk).truncate(3).expect("truncates");
        disk.crash(|_| 0);
        assert_eq!(Log::open(disk).expect("opens").1, records(0..3));
    }

    #[test]
    fn what_was_found_once_is_found_again() {
        let disk = SimDisk::new();
        let mut log = written(&disk);
        // Killed between writing and syncing, then the power goes: what a life in between has read must stay.
        disk.set_fault(Some(spur_disk::SimFault::SyncFails));
        assert!(log.append(&records(8..9)).is_err());
        disk.set_fault(None);
        assert_eq!(Log::open(disk.clone()).expect("opens").1, records(0..9));
        disk.crash(|_| 0);
        assert_eq!(Log::open(disk).expect("opens").1, records(0..9));
    }

    #[test]
    fn a_full_disk_leaves_the_log_usable() {
        let disk = SimDisk::new();
        let mut log = written(&disk);
        disk.set_fault(Some(spur_disk::SimFault::Full));
        assert!(log.append(&records(8..9)).is_err());
        disk.set_fault(None);
        log.append(&records(8..10)).expect("appends");
        assert_eq!(Log::open(disk).expect("opens").1, records(0..10));
    }
}
