//! Records that accounting may not have yet, in segment files beside the log.
//!
//! A record can always be made again from the log, so nothing is synced until a snapshot is about to let
//! the log go. Only the place of the last record is in memory, however long the database is away.

use prost::Message;
use spur_core::views::AccountingRecord;
use spur_disk::{Disk, Error, frame};

/// Segment files, named by the first number in them.
const PREFIX: &str = "accounting/";

/// A segment is closed when it has grown to this.
const SEGMENT_BYTES: u64 = 1 << 20;

/// The side that writes.
pub struct Outbox<D> {
    disk: D,
    segment: Option<Segment>,
    /// The number of the last record in the files, or waiting to be written.
    last: u64,
    /// What the disk had no room for yet.
    unwritten: Vec<AccountingRecord>,
}

struct Segment {
    name: String,
    len: u64,
    durable: u64,
}

/// Whether a controller has kept records here before, be they sent by now or not.
pub fn is_begun(state_dir: &std::path::Path) -> bool {
    state_dir.join(PREFIX).is_dir()
}

impl<D: Disk> Outbox<D> {
    /// Opens what an earlier life left. A torn tail is cut off: the log tells it again.
    pub fn open(mut disk: D) -> Result<Outbox<D>, Error> {
        let mut last = 0;
        let mut segment = None;
        if let Some(name) = disk.list(PREFIX)?.pop() {
            let bytes = disk.read(&name)?.unwrap_or_default();
            let scan = frame::scan(&bytes);
            if scan.good < bytes.len() as u64 {
                disk.truncate(&name, scan.good)?;
            }
            last = first_of(&name).saturating_sub(1);
            if let Some(record) = scan.frames.last().and_then(|frame| decode(frame.payload)) {
                last = record.number;
            }
            // An earlier life may have died between writing and syncing. From now on this counts.
            disk.sync(&name)?;
            segment = Some(Segment { name, len: scan.good, durable: scan.good });
        }
        Ok(Outbox { disk, segment, last, unwritten: Vec::new() })
    }

    /// Keeps records, but for those it has: after a restart the log tells them once more.
    pub fn add(&mut self, records: Vec<AccountingRecord>) -> Result<(), Error> {
        let last = self.last;
        self.unwritten.extend(records.into_iter().filter(|record| record.number > last));
        self.last = self.unwritten.last().map_or(last, |record| record.number);
        self.write()
    }

    /// Writes what there was no room for before.
    pub fn write(&mut self) -> Result<(), Error> {
        let Some(first) = self.unwritten.first().map(|record| record.number) else {
            return Ok(());
        };
        if self.segment.as_ref().is_none_or(|segment| segment.len >= SEGMENT_BYTES) {
            self.sync_segment()?;
            let name = name_of(first);
            // Left by a write that was cut off entirely, if it is there at all.
            self.disk.remove(&name)?;
            self.segment = Some(Segment { name, len: 0, durable: 0 });
        }
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let mut bytes = Vec::new();
        for record in &self.unwritten {
            frame::write(&mut bytes, segment.len, segment.durable, &record.encode_to_vec());
        }
        self.disk.append(&segment.name, &bytes)?;
        segment.len += bytes.len() as u64;
        self.unwritten.clear();
        Ok(())
    }

    /// Makes everything durable. The log may be cut only after this.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.write()?;
        self.sync_segment()
    }

    fn sync_segment(&mut self) -> Result<(), Error> {
        if let Some(segment) = &mut self.segment
            && segment.durable < segment.len
        {
            self.disk.sync(&segment.name)?;
            segment.durable = segment.len;
        }
        Ok(())
    }
}

/// The side that reads. It remembers where it stopped, so that what was read once is not gone through again.
#[derive(Default)]
pub struct Reader {
    /// The number of the last record read, its segment, and where that goes on.
    stopped: Option<(u64, String, u64)>,
}

impl Reader {
    /// The next records behind this number, as many as fit in one message.
    pub fn read_after(
        &mut self,
        disk: &impl Disk,
        after: u64,
    ) -> Result<Vec<AccountingRecord>, Error> {
        let names = disk.list(PREFIX)?;
        let from = names.iter().rposition(|name| first_of(name) <= after + 1).unwrap_or(0);
        let stopped = self.stopped.take().filter(|(number, ..)| *number == after);
        let mut records: Vec<AccountingRecord> = Vec::new();
        let mut size = 0;
        for name in &names[from.min(names.len())..] {
            let bytes = disk.read(name)?.unwrap_or_default();
            let mut at = match &stopped {
                Some((_, segment, at)) if segment == name => *at as usize,
                _ => 0,
            };
            while let Some(frame) = frame::read(&bytes, at) {
                let begins = at;
                at += frame::framed_len(frame.payload.len()) as usize;
                let Some(record) = decode(frame.payload).filter(|record| record.number > after)
                else {
                    continue;
                };
                // What a snapshot skipped ends a message: others have it.
                let is_gap = records.last().is_some_and(|last| last.number + 1 < record.number);
                if is_gap {
                    at = begins;
                    break;
                }
                size += frame.payload.len();
                records.push(record);
                if records.len() >= BATCH || size >= BATCH_BYTES {
                    break;
                }
            }
            if let Some(last) = records.last() {
                self.stopped = Some((last.number, name.clone(), at as u64));
                break;
            }
        }
        Ok(records)
    }
}

/// Removes the segments of which accounting has everything; the last one is still written to.
pub fn trim(disk: &mut impl Disk, acknowledged: u64) -> Result<(), Error> {
    let names = disk.list(PREFIX)?;
    for pair in names.windows(2) {
        if first_of(&pair[1]) <= acknowledged + 1 {
            disk.remove(&pair[0])?;
        }
    }
    Ok(())
}

/// The most records in one message.
pub(super) const BATCH: usize = 1000;

/// The most bytes in one message, roughly.
const BATCH_BYTES: usize = 4 << 20;

fn name_of(first: u64) -> String {
    format!("{PREFIX}{first:020}")
}

fn first_of(name: &str) -> u64 {
    name.strip_prefix(PREFIX).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn decode(payload: &[u8]) -> Option<AccountingRecord> {
    AccountingRecord::decode(payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_disk::{RealDisk, SimDisk};

    fn records(numbers: std::ops::RangeInclusive<u64>) -> Vec<AccountingRecord> {
        let job = spur_core::views::AccountingView { name: "x".repeat(1000), ..Default::default() };
        let record = |number| AccountingRecord {
            number,
            run: 1,
            job: Some(job.clone()),
            ..Default::default()
        };
        numbers.map(record).collect()
    }

    fn numbers(disk: &RealDisk, after: u64) -> Vec<u64> {
        read(&mut Reader::default(), disk, after)
    }

    fn read(reader: &mut Reader, disk: &RealDisk, after: u64) -> Vec<u64> {
        let records = reader.read_after(disk, after).unwrap();
        records.iter().map(|record| record.number).collect()
    }

    #[test]
    fn what_is_told_again_after_a_restart_is_kept_once() {
        let dir = tempfile::tempdir().unwrap();
        let disk = || RealDisk::open(dir.path()).unwrap();
        Outbox::open(disk()).unwrap().add(records(1..=3)).unwrap();
        let mut outbox = Outbox::open(disk()).unwrap();
        outbox.add(records(2..=5)).unwrap();
        assert_eq!(numbers(&disk(), 0), [1, 2, 3, 4, 5]);
        assert_eq!(numbers(&disk(), 4), [5]);
        assert_eq!(numbers(&disk(), 5), [0; 0]);
    }

    #[test]
    fn what_accounting_has_is_removed_segment_by_segment() {
        let dir = tempfile::tempdir().unwrap();
        let disk = || RealDisk::open(dir.path()).unwrap();
        let mut outbox = Outbox::open(disk()).unwrap();
        for batch in 0..40 {
            outbox.add(records(batch * 100 + 1..=batch * 100 + 100)).unwrap();
        }
        outbox.sync().unwrap();
        let segments = disk().list(PREFIX).unwrap().len();
        assert!(segments > 2, "{segments}");
        trim(&mut disk(), 2500).unwrap();
        assert!(disk().list(PREFIX).unwrap().len() < segments);
        let mut read = 2500;
        while let Some(last) = numbers(&disk(), read).last() {
            assert_eq!(numbers(&disk(), read)[0], read + 1);
            read = *last;
        }
        assert_eq!(read, 4000);
    }

    #[test]
    fn a_message_has_no_gap_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let disk = || RealDisk::open(dir.path()).unwrap();
        let mut outbox = Outbox::open(disk()).unwrap();
        outbox.add(records(1..=2)).unwrap();
        outbox.add(records(7..=8)).unwrap();
        assert_eq!(numbers(&disk(), 0), [1, 2]);
        assert_eq!(numbers(&disk(), 2), [7, 8]);
    }

    #[test]
    fn a_reader_goes_on_where_it_stopped_and_finds_its_way_back() {
        let dir = tempfile::tempdir().unwrap();
        let disk = || RealDisk::open(dir.path()).unwrap();
        let mut outbox = Outbox::open(disk()).unwrap();
        let mut reader = Reader::default();
        let (mut written, mut reached) = (0, 0);
        for batch in 0..40 {
            outbox.add(records(written + 1..=written + 70)).unwrap();
            written += 70;
            if batch % 3 == 0 {
                while let Some(last) = read(&mut reader, &disk(), reached).last() {
                    assert_eq!(read(&mut reader, &disk(), reached)[0], reached + 1);
                    assert_eq!(read(&mut reader, &disk(), reached).last(), Some(last));
                    reached = *last;
                }
                assert_eq!(reached, written);
            }
        }
        assert_eq!(read(&mut reader, &disk(), 5)[..2], [6, 7], "asked for what was read before");
    }

    /// The log may be cut once everything is synced, and what an earlier life wrote is a part of everything.
    #[test]
    fn what_an_earlier_life_did_not_sync_survives_a_power_cut_after_the_next_sync() {
        let disk = SimDisk::new();
        Outbox::open(disk.clone()).unwrap().add(records(1..=3)).unwrap();
        Outbox::open(disk.clone()).unwrap().sync().unwrap();
        disk.crash(|_| 0);
        let told = Reader::default().read_after(&disk, 0).unwrap();
        assert_eq!(told.len(), 3);
    }

    #[test]
    fn a_torn_tail_is_cut_and_told_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = RealDisk::open(dir.path()).unwrap();
        Outbox::open(RealDisk::open(dir.path()).unwrap()).unwrap().add(records(1..=3)).unwrap();
        let name = disk.list(PREFIX).unwrap().pop().unwrap();
        let len = disk.read(&name).unwrap().unwrap().len() as u64;
        disk.truncate(&name, len - 7).unwrap();
        let mut outbox = Outbox::open(RealDisk::open(dir.path()).unwrap()).unwrap();
        outbox.add(records(1..=4)).unwrap();
        assert_eq!(numbers(&disk, 0), [1, 2, 3, 4]);
    }
}
