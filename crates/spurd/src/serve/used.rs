//! Step credentials that somebody came with, kept over restarts of the agent: they are good for one use.
//!
//! The file is not synced. It has to outlive the agent, not the machine: with the machine go the steps that its
//! credentials were for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use spur_proto::credential::Used;
use spur_proto::internal::Credential;

/// When it expires and its number, eight bytes each.
const RECORD: usize = 16;

/// So many that have expired are not worth a new file.
const SLACK: usize = 4096;

/// What was used, and the file that says so.
pub struct Kept {
    used: Used,
    path: PathBuf,
    file: File,
    /// How many the file has.
    written: usize,
}

impl Kept {
    /// Reads what an earlier agent of this spool has kept.
    pub fn open(spool: &Path, now: i64) -> io::Result<Kept> {
        let path = spool.join("credentials");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut used = Used::default();
        for record in bytes.chunks_exact(RECORD) {
            let (expires, serial) = record.split_at(8);
            let expires = i64::from_le_bytes(expires.try_into().expect("eight bytes"));
            if expires >= now {
                let serial = u64::from_le_bytes(serial.try_into().expect("eight bytes"));
                used.remember(expires, serial);
            }
        }
        let file = begin(&path, &used)?;
        let written = used.all().len();
        Ok(Kept { used, path, file, written })
    }

    /// Takes a credential that was verified; once, and not at all where that cannot be kept.
    pub fn take(&mut self, credential: &Credential, now: i64) -> anyhow::Result<()> {
        self.used.take(credential, now)?;
        if self.written > self.used.all().len() + SLACK {
            self.file = begin(&self.path, &self.used)?;
            self.written = self.used.all().len();
        } else {
            self.file.write_all(&record((credential.expires, credential.serial)))?;
            self.written += 1;
        }
        Ok(())
    }
}

fn record((expires, serial): (i64, u64)) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&expires.to_le_bytes());
    record[8..].copy_from_slice(&serial.to_le_bytes());
    record
}

/// A file of those alone, in the place of the one before.
fn begin(path: &Path, used: &Used) -> io::Result<File> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let records: Vec<u8> = used.all().flat_map(record).collect();
    file.write_all(&records)?;
    fs::rename(&new, path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(expires: i64, serial: u64) -> Credential {
        Credential { expires, serial, ..Credential::default() }
    }

    #[test]
    fn a_credential_that_was_used_stays_used_over_a_restart() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut kept = Kept::open(dir.path(), 0).expect("opens");
        for serial in 0..3 {
            kept.take(&credential(100, serial), 50).expect("the first time");
        }
        // An agent that is killed while it writes leaves half a record.
        kept.file.write_all(&[7; 5]).expect("is written");
        drop(kept);
        let mut kept = Kept::open(dir.path(), 60).expect("opens");
        assert!(kept.take(&credential(100, 2), 60).is_err());
        assert!(kept.take(&credential(100, 3), 60).is_ok());
        drop(kept);
        let mut kept = Kept::open(dir.path(), 101).expect("opens");
        assert!(kept.used.all().next().is_none(), "they have expired");
        for serial in 0..SLACK as u64 * 3 {
            let now = 200 + serial as i64;
            kept.take(&credential(now + 60, serial), now).expect("the first time");
        }
        let length = fs::metadata(dir.path().join("credentials")).expect("is there").len();
        assert!(length < 2 * (SLACK * RECORD) as u64, "the file does not grow without end");
    }
}
