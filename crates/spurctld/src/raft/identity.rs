//! Who this controller is among the others. A number is used by one state directory only, and never again
//! once that directory has lost what its votes rest on.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use prost::Message;
use spur_disk::{Disk, RealDisk, frame};

/// The number of the controller that begins a cluster, and of directories older than this file.
pub const FIRST: u64 = 1;

const FILE: &str = "member";

/// Everything a member keeps: set aside together or not at all.
const BELONGINGS: [&str; 6] = [FILE, "log", "purged", "vote", "snapshot", "blobs"];

/// A controller's place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number.
    pub id: u64,
    /// It was accepted as a voter, so its log and its vote count.
    pub joined: bool,
    /// It was removed, and serves nobody.
    pub removed: bool,
}

impl Identity {
    /// A number nobody has had.
    pub fn new() -> anyhow::Result<Identity> {
        // 32 bits, so that a term and a number fit into one word; see `fence`.
        let id = (random()? >> 32).max(FIRST + 1);
        Ok(Identity { id, joined: false, removed: false })
    }

    /// What the directory says.
    pub fn load(state_dir: &Path) -> anyhow::Result<Option<Identity>> {
        let Some(bytes) = RealDisk::open(state_dir)?.read(FILE)? else { return Ok(None) };
        let scan = frame::scan(&bytes);
        let stored = scan.frames.first().map(|frame| StoredMember::decode(frame.payload));
        let stored = stored.context("the file member is damaged")?.context("the file member")?;
        Ok(Some(Identity { id: stored.id, joined: stored.joined, removed: stored.removed }))
    }

    /// Keeps it.
    pub fn save(self, state_dir: &Path) -> anyhow::Result<()> {
        let stored = StoredMember { id: self.id, joined: self.joined, removed: self.removed };
        let mut bytes = Vec::new();
        frame::write(&mut bytes, 0, 0, &stored.encode_to_vec());
        Ok(RealDisk::open(state_dir)?.replace(FILE, &bytes)?)
    }
}

/// Puts everything into a folder beside, whose name is returned: nothing that may still be read by
/// somebody is destroyed.
pub fn set_aside(state_dir: &Path) -> anyhow::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let name = format!("damaged-{now}");
    let aside = state_dir.join(&name);
    let failed = || format!("could not set the damaged state aside in {}", aside.display());
    fs::create_dir(&aside).with_context(failed)?;
    // The identity first: whatever is left behind then belongs to nobody.
    for belonging in BELONGINGS {
        match fs::rename(state_dir.join(belonging), aside.join(belonging)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(failed);
            }
            _ => {}
        }
    }
    fs::File::open(state_dir).and_then(|dir| dir.sync_all()).with_context(failed)?;
    Ok(name)
}

/// One number for a leader's term that grows with every leader there is: openraft orders leaders of one
/// term by their number.
pub fn fence(term: u64, id: u64) -> u64 {
    term << 32 | (id & 0xffff_ffff)
}

/// Eight random bytes.
pub fn random() -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    let read = fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    read.context("could not read /dev/urandom")?;
    Ok(u64::from_le_bytes(bytes))
}

#[derive(Clone, PartialEq, Message)]
struct StoredMember {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(bool, tag = "2")]
    joined: bool,
    #[prost(bool, tag = "3")]
    removed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_of_one_term_are_told_apart_in_openrafts_order() {
        assert!(fence(2, 1) > fence(1, u64::from(u32::MAX)));
        assert!(fence(2, 7) > fence(2, 1));
        // Terms were told as they are before there was more than one controller.
        assert!(fence(1, 1) > 1_000_000);
    }

    #[test]
    fn what_is_set_aside_is_kept_and_leaves_an_empty_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        Identity::new().expect("a number").save(dir.path()).expect("saves");
        fs::create_dir(dir.path().join("log")).expect("a folder");
        fs::write(dir.path().join("log/0"), "bytes").expect("a file");
        let aside = set_aside(dir.path()).expect("sets aside");
        assert_eq!(Identity::load(dir.path()).expect("reads"), None);
        assert!(!dir.path().join("log").exists());
        let kept = fs::read(dir.path().join(aside).join("log/0")).expect("is kept");
        assert_eq!(kept, b"bytes");
    }
}
