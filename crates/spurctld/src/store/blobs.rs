//! Scripts and environments, each once, by hash.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::blob::BlobHash;
use spur_disk::{Disk, Error, RealDisk};

/// A folder of blobs. The log or a snapshot also has each, so that a lost file comes back on replay.
pub struct Blobs<D = RealDisk> {
    disk: D,
    /// The last ones used: a loop of equal jobs reads them once.
    recent: Vec<(BlobHash, Vec<u8>)>,
    /// Those there was no room for; they are written as soon as there is.
    unsaved: BTreeMap<BlobHash, Vec<u8>>,
    /// Held by whoever still reads what an earlier state had.
    pins: Pin,
    /// Those to be dropped once nobody holds a pin.
    doomed: BTreeSet<BlobHash>,
}

/// As long as it is held, no blob is dropped.
#[derive(Clone, Debug, Default)]
pub struct Pin(Arc<()>);

impl<D: Disk> Blobs<D> {
    /// Uses a disk.
    pub fn new(disk: D) -> Blobs<D> {
        Blobs {
            disk,
            recent: Vec::new(),
            unsaved: BTreeMap::new(),
            pins: Pin::default(),
            doomed: BTreeSet::new(),
        }
    }

    /// Keeps some bytes under their hash; on a full disk in memory, until [`Blobs::tidy`].
    pub fn keep(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<(), Error> {
        self.note(hash, bytes.to_vec());
        self.doomed.remove(&hash);
        match self.disk.put(&name(hash), bytes) {
            Err(error) if error.is_full() => {
                self.unsaved.insert(hash, bytes.to_vec());
                Ok(())
            }
            kept => kept,
        }
    }

    /// Keeps every blob of the present state until the pin is let go of.
    pub fn pin(&self) -> Pin {
        self.pins.clone()
    }

    /// Does what had to wait: writes what there was no room for, drops what somebody still read.
    pub fn tidy(&mut self) -> Result<(), Error> {
        for (hash, bytes) in std::mem::take(&mut self.unsaved) {
            self.keep(hash, &bytes)?;
        }
        for hash in std::mem::take(&mut self.doomed) {
            self.discard(hash)?;
        }
        Ok(())
    }

    /// Drops all but those that are used: a state that came from another controller has its own.
    pub fn keep_only(&mut self, is_used: impl Fn(&BlobHash) -> bool) -> Result<(), Error> {
        for name in self.disk.list(FOLDER)? {
            let hash = name.strip_prefix(FOLDER).and_then(BlobHash::parse);
            if let Some(hash) = hash.filter(|hash| !is_used(hash)) {
                self.discard(hash)?;
            }
        }
        self.unsaved.retain(|hash, _| is_used(hash));
        Ok(())
    }

    /// The bytes of this hash. Bytes that no longer match are as good as none.
    pub fn get(&mut self, hash: BlobHash) -> Result<Option<Vec<u8>>, Error> {
        if let Some((_, bytes)) = self.recent.iter().find(|(recent, _)| *recent == hash) {
            return Ok(Some(bytes.clone()));
        }
        if let Some(bytes) = self.unsaved.get(&hash) {
            return Ok(Some(bytes.clone()));
        }
        let found = self.disk.read(&name(hash))?.filter(|bytes| BlobHash::of(bytes) == hash);
        if let Some(bytes) = &found {
            self.note(hash, bytes.clone());
        }
        Ok(found)
    }

    /// Drops the bytes of this hash.
    pub fn discard(&mut self, hash: BlobHash) -> Result<(), Error> {
        self.recent.retain(|(recent, _)| *recent != hash);
        self.unsaved.remove(&hash);
        if Arc::strong_count(&self.pins.0) > 1 {
            self.doomed.insert(hash);
            return Ok(());
        }
        self.disk.remove(&name(hash))
    }

    fn note(&mut self, hash: BlobHash, bytes: Vec<u8>) {
        self.recent.retain(|(recent, _)| *recent != hash);
        self.recent.push((hash, bytes));
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
    }
}

const RECENT: usize = 64;
const FOLDER: &str = "blobs/";

fn name(hash: BlobHash) -> String {
    format!("{FOLDER}{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_disk::SimDisk;

    fn kept(blobs: &mut Blobs<SimDisk>, bytes: &[u8]) -> BlobHash {
        let hash = BlobHash::of(bytes);
        blobs.keep(hash, bytes).expect("keeps");
        hash
    }

    #[test]
    fn what_a_reader_needs_is_dropped_after_it_is_done() {
        let disk = SimDisk::new();
        let mut blobs = Blobs::new(disk.clone());
        let (one, two) = (kept(&mut blobs, b"one"), kept(&mut blobs, b"two"));
        let pin = blobs.pin();
        blobs.discard(one).expect("discards");
        blobs.discard(two).expect("discards");
        assert_eq!(Blobs::new(disk.clone()).get(one).expect("reads"), Some(b"one".to_vec()));
        // Used again before it was gone.
        blobs.keep(two, b"two").expect("keeps");
        drop(pin);
        blobs.tidy().expect("tidies");
        assert_eq!(disk.list("blobs/").expect("lists"), [name(two)]);
    }

    #[test]
    fn a_new_state_keeps_only_its_own() {
        let disk = SimDisk::new();
        let mut blobs = Blobs::new(disk.clone());
        let (_, two) = (kept(&mut blobs, b"one"), kept(&mut blobs, b"two"));
        blobs.keep_only(|hash| *hash == two).expect("keeps");
        assert_eq!(disk.list("blobs/").expect("lists"), [name(two)]);
    }
}
