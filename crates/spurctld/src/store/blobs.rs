//! Scripts and environments, each once, by hash.

use std::collections::BTreeMap;

use spur_core::blob::BlobHash;
use spur_disk::{Disk, Error, RealDisk};

/// A folder of blobs. The log or a snapshot also has each, so that a lost file comes back on replay.
pub struct Blobs<D = RealDisk> {
    disk: D,
    /// The last ones used: a loop of equal jobs reads them once.
    recent: Vec<(BlobHash, Vec<u8>)>,
    /// Those there was no room for; they are written as soon as there is.
    unsaved: BTreeMap<BlobHash, Vec<u8>>,
}

impl<D: Disk> Blobs<D> {
    /// Uses a disk.
    pub fn new(disk: D) -> Blobs<D> {
        Blobs { disk, recent: Vec::new(), unsaved: BTreeMap::new() }
    }

    /// Keeps some bytes under their hash; on a full disk in memory, until [`Blobs::save_unsaved`].
    pub fn keep(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<(), Error> {
        self.note(hash, bytes.to_vec());
        match self.disk.put(&name(hash), bytes) {
            Err(error) if error.is_full() => {
                self.unsaved.insert(hash, bytes.to_vec());
                Ok(())
            }
            kept => kept,
        }
    }

    /// Tries again to write what there was no room for.
    pub fn save_unsaved(&mut self) -> Result<(), Error> {
        for (hash, bytes) in std::mem::take(&mut self.unsaved) {
            self.keep(hash, &bytes)?;
        }
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

fn name(hash: BlobHash) -> String {
    format!("blobs/{hash}")
}
