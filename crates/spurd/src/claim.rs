//! Who runs a run: a file that only the first of several shepherds can make.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

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
        Claim::own_in(boot_id()?)
    }

    /// This process, in the boot that this is.
    pub fn own_in(boot_id: String) -> io::Result<Claim> {
        let own = Process::own().ok_or_else(|| io::Error::other("cannot read /proc/self/stat"))?;
        Ok(Claim { pid: own.pid, started: own.started, boot_id })
    }

    /// Takes the run, with an empty file that nobody else uses if there is one to spare. `false` when somebody
    /// has it already.
    pub fn take(&self, spool: &Path, run: RunId, spare: Option<PathBuf>) -> io::Result<bool> {
        let place = spool.join(RunFile::Shepherd.name(run));
        let spare = spare.and_then(|spare| {
            // What is in it is shorter than any claim.
            let file = OpenOptions::new().write(true).open(&spare).ok()?;
            Some((file, spare))
        });
        let (mut file, temporary) = match spare {
            Some(spare) => spare,
            None => {
                let own = place.with_extension(format!("shepherd-{}", self.pid));
                let mut options = OpenOptions::new();
                (options.write(true).create(true).truncate(true).mode(0o600).open(&own)?, own)
            }
        };
        file.write_all(self.line().as_bytes())?;
        let taken = appear(&temporary, &place);
        if !matches!(taken, Ok(true)) {
            fs::remove_file(&temporary)?;
        }
        taken
    }

    /// Where in the file of the claim its last word begins.
    pub fn length(&self) -> u64 {
        self.line().len() as u64
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

    /// All there is to say.
    pub fn line(&self) -> String {
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

/// Has a file appear whole under a name, and only where nothing is yet. `false` where something is.
fn appear(temporary: &Path, place: &Path) -> io::Result<bool> {
    match renameat2(AT_FDCWD, temporary, AT_FDCWD, place, RenameFlags::RENAME_NOREPLACE) {
        Ok(()) => return Ok(true),
        Err(Errno::EEXIST) => return Ok(false),
        // Some file systems cannot.
        Err(Errno::EINVAL | Errno::ENOSYS) => {}
        Err(errno) => return Err(errno.into()),
    }
    match fs::hard_link(temporary, place) {
        Ok(()) => fs::remove_file(temporary).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
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
        let spare = spool.path().join("spare");
        fs::write(&spare, "").expect("writes");
        assert!(first.take(spool.path(), run, Some(spare.clone())).expect("claims"));
        assert!(!spare.exists(), "it is in use");
        assert!(!second.take(spool.path(), run, None).expect("claims"));
        fs::write(&spare, "").expect("writes");
        assert!(!second.take(spool.path(), run, Some(spare)).expect("claims"));
        assert_eq!(Claim::read(spool.path(), run).expect("reads"), Some(first));
        let files = fs::read_dir(spool.path().join("runs")).expect("lists").count();
        assert_eq!(files, 1, "nothing temporary is left");
    }
}
