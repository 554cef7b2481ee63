//! How a run ended, as its shepherd writes it down for the agent.

use std::fs;
use std::io;
use std::path::Path;

use spur_core::job::ExitStatus;
use spur_core::state::Outcome;

use crate::agent::RunFile;
use crate::run::RunId;

/// A shepherd's last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The script's process ended with this status, as `waitpid` gave it.
    Exited(u32),
    /// The kernel killed some of the run for using more memory than it was given.
    OutOfMemory,
    /// The script could not be started, by a fault of the request.
    CouldNotStart(String),
    /// The script could not be started, by a fault of this node.
    NodeFault(String),
}

impl Ending {
    /// What the controller is told.
    pub fn outcome(&self) -> Outcome {
        match self {
            Ending::Exited(status) => Outcome::Exited(ExitStatus::from_wait(*status)),
            Ending::OutOfMemory => Outcome::OutOfMemory,
            Ending::CouldNotStart(_) => Outcome::CouldNotStart,
            Ending::NodeFault(_) => Outcome::Lost,
        }
    }

    /// Puts the file in place whole.
    pub fn write(&self, spool: &Path, run: RunId) -> io::Result<()> {
        let place = spool.join(RunFile::Exit.name(run));
        let temporary = place.with_extension("exit-new");
        fs::write(&temporary, self.to_text())?;
        fs::rename(&temporary, &place)
    }

    /// Reads the last word, if it was said.
    pub fn read(spool: &Path, run: RunId) -> io::Result<Option<Ending>> {
        match fs::read_to_string(spool.join(RunFile::Exit.name(run))) {
            Ok(text) => Ending::parse(&text).map(Some).ok_or_else(|| damaged(run)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Ending::Exited(status) => format!("{EXITED} {status}\n"),
            Ending::OutOfMemory => format!("{OUT_OF_MEMORY} \n"),
            Ending::CouldNotStart(reason) => format!("{COULD_NOT_START} {reason}\n"),
            Ending::NodeFault(reason) => format!("{NODE_FAULT} {reason}\n"),
        }
    }

    fn parse(text: &str) -> Option<Ending> {
        match text.strip_suffix('\n')?.split_once(' ')? {
            (EXITED, status) => Some(Ending::Exited(status.parse().ok()?)),
            (OUT_OF_MEMORY, _) => Some(Ending::OutOfMemory),
            (COULD_NOT_START, reason) => Some(Ending::CouldNotStart(reason.to_string())),
            (NODE_FAULT, reason) => Some(Ending::NodeFault(reason.to_string())),
            _ => None,
        }
    }
}

const EXITED: &str = "exited";
const OUT_OF_MEMORY: &str = "out-of-memory";
const COULD_NOT_START: &str = "could-not-start";
const NODE_FAULT: &str = "node-fault";

fn damaged(run: RunId) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged ending of run {run}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::ids::{Epoch, JobId};

    #[test]
    fn what_is_written_is_read() {
        let spool = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(spool.path().join("runs")).expect("makes runs");
        let run = RunId::batch(JobId(7), Epoch(1));
        assert_eq!(Ending::read(spool.path(), run).expect("reads"), None);
        let endings = [
            Ending::Exited(256),
            Ending::OutOfMemory,
            Ending::CouldNotStart("could not open /x: not\nfound".to_string()),
            Ending::NodeFault("no room".to_string()),
        ];
        for ending in endings {
            ending.write(spool.path(), run).expect("writes");
            assert_eq!(Ending::read(spool.path(), run).expect("reads"), Some(ending));
        }
    }
}
