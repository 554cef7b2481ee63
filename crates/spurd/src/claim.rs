//! Who runs a run: a file that only the first of several shepherds can make.

use std::fs;
use std::io;
use std::path::Path;

use crate::agent::RunFile;
use crate::machine::processes::Process;
use crate::run::RunId;

/// A shepherd, such that no other process of any time is mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its number.
    pub pid: i32,
    /// When it began, in clock ticks since boot.
    pub started: u64,
    /// The boot it lives in.
    pub boot_id: String,
}

impl Claim {
    /// This process.
    pub fn own() -> io::Result<Claim> {
        let own = Process::own().ok_or_else(|| io::Error::other("cannot read /proc/self/stat"))?;
        Ok(Claim { pid: own.pid, started: own.started, boot_id: boot_id()? })
    }

    /// Takes the run. `false` when somebody has it already.
    pub fn take(&self, spool: &Path, run: RunId) -> io::Result<bool> {
        let place = spool.join(RunFile::Shepherd.name(run));
        let temporary = place.with_extension(format!("shepherd-{}", self.pid));
        // A link appears whole or not at all, and only where nothing is yet.
        fs::write(&temporary, self.to_text())?;
        let taken = fs::hard_link(&temporary, &place);
        fs::remove_file(&temporary)?;
        match taken {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads who has taken the run, if anybody.
    pub fn read(spool: &Path, run: RunId) -> io::Result<Option<Claim>> {
        match fs::read_to_string(spool.join(RunFile::Shepherd.name(run))) {
            Ok(text) => Claim::parse(&text).map(Some).ok_or_else(|| damaged(run)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The variable by which a run's processes are known when their shepherd is gone.
    pub fn variable(&self, run: RunId) -> String {
        format!("{MARKER}={run}.{}.{}", self.pid, self.started)
    }

    fn to_text(&self) -> String {
        format!("{} {} {}\n", self.pid, self.started, self.boot_id)
    }

    fn parse(text: &str) -> Option<Claim> {
        let mut words = text.split_ascii_whitespace();
        Some(Claim {
            pid: words.next()?.parse().ok()?,
            started: words.next()?.parse().ok()?,
            boot_id: words.next()?.to_string(),
        })
    }
}

/// The name of [`Claim::variable`].
pub const MARKER: &str = "SPUR_RUN";

/// Changes when the machine reboots.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
}

fn damaged(run: RunId) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged claim of run {run}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::ids::{Epoch, JobId};

    #[test]
    fn only_the_first_takes_a_run() {
        let spool = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(spool.path().join("runs")).expect("makes runs");
        let run = RunId::batch(JobId(7), Epoch(1));
        let first = Claim::own().expect("we live");
        let second = Claim { pid: first.pid + 1, ..first.clone() };
        assert_eq!(Claim::read(spool.path(), run).expect("reads"), None);
        assert!(first.take(spool.path(), run).expect("claims"));
        assert!(!second.take(spool.path(), run).expect("claims"));
        assert_eq!(Claim::read(spool.path(), run).expect("reads"), Some(first));
        let files = fs::read_dir(spool.path().join("runs")).expect("lists").count();
        assert_eq!(files, 1, "nothing temporary is left");
    }
}
