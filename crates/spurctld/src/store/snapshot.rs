//! Snapshots: one file of framed records, written whole and verified before the log behind it goes.

use prost::Message;
use spur_core::blob::BlobHash;
use spur_core::state::{State, stored};
use spur_disk::Disk;
use spur_disk::frame::{self, Tail};

use super::log::{Position, StoredPosition};
use super::{Blobs, Error};

/// What a snapshot covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMeta {
    /// The last record whose effects it has.
    pub last: Option<Position>,
    /// Who the controllers were, in the consensus layer's own encoding.
    pub membership: Vec<u8>,
}

/// A state with its blobs, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What it covers.
    pub meta: SnapshotMeta,
    /// Framed records.
    pub bytes: Vec<u8>,
}

const FILE: &str = "snapshot";

impl Snapshot {
    /// Puts a snapshot together.
    pub fn build<D: Disk>(
        state: &State,
        meta: SnapshotMeta,
        blobs: &mut Blobs<D>,
    ) -> Result<Snapshot, Error> {
        let mut bytes = Vec::new();
        let mut put =
            |record: StoredRecord| frame::write(&mut bytes, 0, 0, &record.encode_to_vec());
        put(StoredRecord {
            last: meta.last.map(StoredPosition::from),
            membership: Some(meta.membership.clone()),
            ..StoredRecord::default()
        });
        for hash in state.blobs.keys() {
            let blob = blobs.get(*hash)?.ok_or(Error::MissingBlob { hash: *hash })?;
            put(StoredRecord { blob: Some(blob), ..StoredRecord::default() });
        }
        stored::encode(state, |record| {
            put(StoredRecord { state: Some(record), ..StoredRecord::default() });
        });
        put(StoredRecord { end: true, ..StoredRecord::default() });
        Ok(Snapshot { meta, bytes })
    }

    /// Keeps the snapshot in place of the last one.
    pub fn save(&self, disk: &mut impl Disk) -> Result<(), Error> {
        Ok(disk.replace(FILE, &self.bytes)?)
    }

    /// The snapshot on disk, if there is one.
    pub fn load(disk: &impl Disk) -> Result<Option<Snapshot>, Error> {
        disk.read(FILE)?.map(Snapshot::parse).transpose()
    }

    /// Checks bytes that came from a disk or a peer.
    pub fn parse(bytes: Vec<u8>) -> Result<Snapshot, Error> {
        let records = records(&bytes)?;
        let first = records.first().cloned().unwrap_or_default();
        if !records.last().is_some_and(|record| record.end) {
            return Err(Error::Damaged { file: FILE.to_string(), at: bytes.len() as u64 });
        }
        let meta = SnapshotMeta {
            last: first.last.map(Position::from),
            membership: first.membership.unwrap_or_default(),
        };
        Ok(Snapshot { meta, bytes })
    }

    /// Unpacks the state; its blobs go to where blobs are.
    pub fn open<D: Disk>(&self, blobs: &mut Blobs<D>) -> Result<State, Error> {
        let mut reader = stored::Reader::default();
        for record in records(&self.bytes)? {
            if let Some(blob) = record.blob {
                let hash = BlobHash::of(&blob);
                if blobs.get(hash)?.is_none() {
                    blobs.keep(hash, &blob)?;
                }
            }
            if let Some(state) = record.state {
                reader.take(&state).map_err(unreadable)?;
            }
        }
        reader.finish().map_err(unreadable)
    }
}

fn records(bytes: &[u8]) -> Result<Vec<StoredRecord>, Error> {
    let scan = frame::scan(bytes);
    if scan.tail != Tail::Clean {
        return Err(Error::Damaged { file: FILE.to_string(), at: scan.good });
    }
    let decode = |frame: &frame::Frame<'_>| StoredRecord::decode(frame.payload);
    let records: Result<_, _> = scan.frames.iter().map(decode).collect();
    records.map_err(|error| unreadable(error.into()))
}

fn unreadable(source: stored::Error) -> Error {
    Error::Stored { file: FILE.to_string(), source }
}

#[derive(Clone, PartialEq, Message)]
struct StoredRecord {
    #[prost(message, optional, tag = "1")]
    last: Option<StoredPosition>,
    #[prost(bytes = "vec", optional, tag = "2")]
    membership: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    blob: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    state: Option<Vec<u8>>,
    #[prost(bool, tag = "5")]
    end: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_disk::SimDisk;

    #[test]
    fn comes_back_whole_or_not_at_all() {
        let mut disk = SimDisk::new();
        let mut blobs = Blobs::new(disk.clone());
        let state = State::new();
        let last = Some(Position { term: 2, leader: 1, index: 9 });
        let meta = SnapshotMeta { last, membership: vec![1, 2] };
        let snapshot = Snapshot::build(&state, meta, &mut blobs).expect("builds");
        snapshot.save(&mut disk).expect("saves");
        let loaded = Snapshot::load(&disk).expect("loads").expect("is there");
        assert_eq!(loaded, snapshot);
        assert_eq!(loaded.open(&mut blobs).expect("opens"), state);
        for cut in 0..snapshot.bytes.len() {
            assert!(Snapshot::parse(snapshot.bytes[..cut].to_vec()).is_err());
        }
    }
}
