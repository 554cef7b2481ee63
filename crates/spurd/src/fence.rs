//! Runs that end by themselves when no controller is heard, so that they can be begun elsewhere: when one was
//! heard last is kept in the spool, where their shepherds look, whether the agent lives or not.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use spur_proto::internal::Launch;
use tracing::warn;

use crate::agent::Millis;
use crate::claim::boot_id;
use crate::machine::clock::boot_time;

/// How long a run may still live if nobody is heard any more; nothing if it must end now.
pub fn left(now: Millis, heard: Millis, fence_secs: u32) -> Option<Duration> {
    let end = heard.0.saturating_add(u64::from(fence_secs) * 1000);
    end.checked_sub(now.0).filter(|left| *left > 0).map(Duration::from_millis)
}

const FILE: &str = "heard";

/// Where the agent notes when it was heard. The file is written in place: that needs no room on the disk.
pub struct Heard {
    file: File,
    boot: String,
    last: Millis,
}

impl Heard {
    /// What was noted in this boot of the machine stays.
    pub fn open(spool: &Path) -> Result<Heard> {
        let boot = boot_id().context("could not read the boot id")?;
        let path = spool.join(FILE);
        let open = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600).open(&path)
        };
        let file = open().with_context(|| format!("could not open {}", path.display()))?;
        let last = read(spool, &boot).unwrap_or_default();
        Ok(Heard { file, boot, last })
    }

    /// A controller answered what was said then.
    pub fn note(&mut self, at: Millis) {
        if at <= self.last {
            return;
        }
        self.last = at;
        if let Err(error) = self.file.write_all_at(text(at, &self.boot).as_bytes(), 0) {
            warn!("could not note that a controller was heard: {error}");
        }
    }
}

/// Always of the same length.
fn text(at: Millis, boot: &str) -> String {
    format!("{:020} {boot}\n", at.0)
}

/// When a controller was heard last in this boot; nothing if never.
fn read(spool: &Path, boot: &str) -> Option<Millis> {
    let told = fs::read_to_string(spool.join(FILE)).ok()?;
    let (at, of) = told.trim_end().split_once(' ')?;
    (of == boot).then_some(Millis(at.parse().ok()?))
}

/// When a run must end by itself.
pub struct Fence {
    spool: PathBuf,
    boot: String,
    secs: Option<u32>,
    /// Once it was due it stays so.
    tripped: Cell<bool>,
}

impl Fence {
    /// As its launch says.
    pub fn of(spool: &Path, boot_id: &str, launch: &Launch) -> Fence {
        let (secs, tripped) = (launch.fence_secs, Cell::new(false));
        Fence { spool: spool.to_path_buf(), boot: boot_id.to_string(), secs, tripped }
    }

    /// How long nobody needs to look again: forever without a fence, nothing at all when the run must end.
    pub fn look(&self) -> Look {
        let Some(secs) = self.secs else { return Look::Never };
        let heard = read(&self.spool, &self.boot).unwrap_or_default();
        match left(boot_time(), heard, secs).filter(|_| !self.tripped.get()) {
            Some(left) => Look::In(left),
            None => {
                self.tripped.set(true);
                Look::Due
            }
        }
    }

    /// Whether it was due.
    pub fn has_tripped(&self) -> bool {
        self.tripped.get()
    }
}

/// When to look at a fence again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is none.
    Never,
    /// Not before then.
    In(Duration),
    /// The run must end at once.
    Due,
}

/// What is said of a run that ended by its fence.
pub const REASON: &str = "no controller was heard for too long";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_counted_from_the_last_answer() {
        let left = |now, heard| left(Millis(now), Millis(heard), 20);
        assert_eq!(left(5_000, 4_000), Some(Duration::from_secs(19)));
        assert_eq!(left(24_000, 4_000), None);
        assert_eq!(left(23_999, 4_000), Some(Duration::from_millis(1)));
        assert_eq!(left(90_000, 0), None, "never heard");
    }

    #[test]
    fn a_run_looks_at_what_the_agent_noted() {
        let spool = tempfile::tempdir().expect("a folder");
        let launch = |secs| Launch { fence_secs: secs, ..Launch::default() };
        let boot = boot_id().expect("a boot");
        let fence = |secs| Fence::of(spool.path(), &boot, &launch(secs));
        assert_eq!(fence(None).look(), Look::Never);
        assert_eq!(fence(Some(1)).look(), Look::Due, "nobody was ever heard");
        let mut heard = Heard::open(spool.path()).expect("opens");
        heard.note(boot_time());
        heard.note(Millis(1));
        assert!(matches!(fence(Some(600)).look(), Look::In(left) if left.as_secs() >= 500));
        let other = Fence { boot: "another".to_string(), ..fence(Some(600)) };
        assert_eq!(other.look(), Look::Due, "what was noted before a reboot is void");
    }
}
