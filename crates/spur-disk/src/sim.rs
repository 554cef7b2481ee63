//! A disk in memory that can lose, tear and refuse what was not synced.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::{Disk, Error};

/// A trouble that stays until it is lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimFault {
    /// Writes fail for want of room.
    Full,
    /// Syncs fail.
    SyncFails,
}

/// A simulated disk; clones share one content, as two openings of one directory do.
#[derive(Clone, Default)]
pub struct SimDisk {
    inner: Arc<Mutex<Inner>>,
    /// Whose handle it is: a process that was killed writes no more.
    life: u64,
}

#[derive(Default)]
struct Inner {
    files: BTreeMap<String, SimFile>,
    /// Removed, but a power cut may bring them back.
    removed: BTreeMap<String, SimFile>,
    fault: Option<SimFault>,
    /// The life whose handles work.
    life: u64,
}

#[derive(Default)]
struct SimFile {
    bytes: Vec<u8>,
    /// How much of it survives a power cut.
    synced: usize,
    /// What a power cut brings back when the last `put` was not on the platter yet.
    before_put: Option<Option<Vec<u8>>>,
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> SimDisk {
        SimDisk::default()
    }

    /// Begins or lifts a trouble.
    pub fn set_fault(&self, fault: Option<SimFault>) {
        self.lock().fault = fault;
    }

    /// The present trouble.
    pub fn fault(&self) -> Option<SimFault> {
        self.lock().fault
    }

    /// Ends the process that has this disk open: whatever threads it left can do nothing more with it. Returns
    /// the disk as the next process opens it.
    pub fn kill(&self) -> SimDisk {
        let mut inner = self.lock();
        inner.life += 1;
        SimDisk { inner: self.inner.clone(), life: inner.life }
    }

    /// Changes one bit of a file, which nobody notices until it is read.
    pub fn flip(&self, name: &str, at: usize) {
        if let Some(byte) = self.lock().files.get_mut(name).and_then(|file| file.bytes.get_mut(at))
        {
            *byte ^= 1;
        }
    }

    /// Loses power: of each file's unsynced bytes a part survives, and its end may be garbage.
    /// `chance(n)` returns a number below `n`.
    pub fn crash(&self, mut chance: impl FnMut(usize) -> usize) {
        let mut inner = self.lock();
        for (name, file) in std::mem::take(&mut inner.removed) {
            if chance(2) == 0 {
                inner.files.entry(name).or_insert(file);
            }
        }
        inner.files.retain(|_, file| match file.before_put.take() {
            Some(before) if chance(2) == 0 => {
                file.bytes = before.clone().unwrap_or_default();
                file.synced = file.bytes.len();
                before.is_some()
            }
            _ => true,
        });
        for file in inner.files.values_mut() {
            let kept = file.synced + chance(file.bytes.len() - file.synced + 1);
            file.bytes.truncate(kept);
            if kept > file.synced && chance(2) == 0 {
                let torn = file.synced + chance(kept - file.synced);
                file.bytes[torn] ^= 0x55;
            }
            file.synced = kept;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder panics")
    }

    /// As [`SimDisk::lock`], for those who live.
    fn open(&self, attempt: &'static str, name: &str) -> Result<MutexGuard<'_, Inner>, Error> {
        let inner = self.lock();
        if inner.life != self.life {
            return Err(Error::new(attempt, name, io::Error::other("the process is dead")));
        }
        Ok(inner)
    }
}

impl Inner {
    fn may_write(&self, attempt: &'static str, name: &str) -> Result<(), Error> {
        match self.fault {
            Some(SimFault::Full) => {
                Err(Error::new(attempt, name, io::ErrorKind::StorageFull.into()))
            }
            _ => Ok(()),
        }
    }

    fn may_sync(&self, attempt: &'static str, name: &str) -> Result<(), Error> {
        match self.fault {
            Some(SimFault::SyncFails) => {
                Err(Error::new(attempt, name, io::Error::other("I/O error")))
            }
            _ => Ok(()),
        }
    }
}

impl Disk for SimDisk {
    fn list(&self, prefix: &str) -> Result<Vec<String>, Error> {
        Ok(self.lock().files.keys().filter(|name| name.starts_with(prefix)).cloned().collect())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.lock().files.get(name).map(|file| file.bytes.clone()))
    }

    fn read_part(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let inner = self.lock();
        let whole = inner.files.get(name).map_or(&[][..], |file| &file.bytes);
        let part = usize::try_from(offset).ok().and_then(|from| whole.get(from..from + len));
        let short = || Error::new("read", name, io::ErrorKind::UnexpectedEof.into());
        part.map(<[u8]>::to_vec).ok_or_else(short)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let mut inner = self.open("append to", name)?;
        inner.may_write("append to", name)?;
        inner.files.entry(name.to_string()).or_default().bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self, name: &str) -> Result<(), Error> {
        let mut inner = self.open("sync", name)?;
        inner.may_sync("sync", name)?;
        if let Some(file) = inner.files.get_mut(name) {
            file.synced = file.bytes.len();
        }
        Ok(())
    }

    fn truncate(&mut self, name: &str, len: u64) -> Result<(), Error> {
        let mut inner = self.open("truncate", name)?;
        inner.may_sync("truncate", name)?;
        let file = inner.files.entry(name.to_string()).or_default();
        file.bytes.truncate(len as usize);
        file.synced = file.bytes.len();
        Ok(())
    }

    fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let mut inner = self.open("replace", name)?;
        inner.may_write("replace", name)?;
        inner.may_sync("replace", name)?;
        let file = SimFile { bytes: bytes.to_vec(), synced: bytes.len(), before_put: None };
        inner.files.insert(name.to_string(), file);
        Ok(())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let mut inner = self.open("write", name)?;
        inner.may_write("write", name)?;
        let before = match inner.files.remove(name) {
            Some(SimFile { before_put: Some(before), .. }) => before,
            Some(file) => Some(file.bytes),
            None => None,
        };
        let file = SimFile { bytes: bytes.to_vec(), synced: bytes.len(), before_put: Some(before) };
        inner.files.insert(name.to_string(), file);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), Error> {
        let mut inner = self.open("remove", name)?;
        if let Some(file) = inner.files.remove(name) {
            inner.removed.insert(name.to_string(), file);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_keeps_what_was_synced_and_may_lose_the_rest() {
        let mut disk = SimDisk::new();
        disk.append("log", b"kept").expect("appends");
        disk.sync("log").expect("syncs");
        disk.append("log", b"lost").expect("appends");
        disk.clone().crash(|_| 0);
        assert_eq!(disk.read("log").expect("reads"), Some(b"kept".to_vec()));
    }

    #[test]
    fn full_disk_refuses_and_recovers() {
        let mut disk = SimDisk::new();
        disk.set_fault(Some(SimFault::Full));
        assert!(disk.append("log", b"x").is_err_and(|error| error.is_full()));
        disk.set_fault(None);
        assert!(disk.append("log", b"x").is_ok());
    }
}
