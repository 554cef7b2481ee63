//! How far the log was known to be durable, beside the log: a log that ends before that has lost what was
//! acknowledged, however clean its end looks.
//!
//! The mark is a hint that costs no sync. It is written after the log was synced, so what a power cut leaves
//! of it is never ahead of the log; after a mere crash all of it is there.

use spur_disk::{Disk, Error, frame};

const FILE: &str = "synced";

/// A file this long is begun anew.
const LONGEST: u64 = 64 << 10;

/// The mark's file.
#[derive(Debug, Default)]
pub(super) struct Mark {
    len: u64,
}

impl Mark {
    /// The mark, and the index that the log had reached by it.
    pub(super) fn open(disk: &mut impl Disk) -> Result<(Mark, u64), Error> {
        let bytes = disk.read(FILE)?.unwrap_or_default();
        let scan = frame::scan(&bytes);
        let last = scan.frames.last().and_then(|frame| frame.payload.try_into().ok());
        // Its own end may be torn; what is written next must not stand behind that.
        Ok((Mark { len: LONGEST }, last.map_or(0, u64::from_le_bytes)))
    }

    /// The log is durable up to before this index.
    pub(super) fn raise(&mut self, disk: &mut impl Disk, next: u64) {
        let begins = self.len >= LONGEST;
        let base = if begins { 0 } else { self.len };
        let bytes = framed(base, next);
        let written = if begins { disk.put(FILE, &bytes) } else { disk.append(FILE, &bytes) };
        // Only a hint: without it the log is as good as it was.
        self.len = if written.is_ok() { base + bytes.len() as u64 } else { LONGEST };
    }

    /// The log is about to be cut off from this index on.
    pub(super) fn lower(&mut self, disk: &mut impl Disk, next: u64) -> Result<(), Error> {
        let bytes = framed(0, next);
        disk.replace(FILE, &bytes)?;
        self.len = bytes.len() as u64;
        Ok(())
    }
}

fn framed(base: u64, next: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, base, base, &next.to_le_bytes());
    bytes
}
