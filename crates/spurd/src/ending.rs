//! How a run ended, as its shepherd writes it down for the agent.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use prost::Message;
use spur_core::job::ExitStatus;
use spur_core::state::Outcome;
use spur_core::views::Usage;

use crate::agent::{Account, RunFile};
use crate::claim::Claim;
use crate::fence::REASON;
use crate::run::RunId;

/// A shepherd's last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWord {
    /// How it ended.
    pub ending: Ending,
    /// What was used until then.
    pub usage: Usage,
}

/// How a run ended.
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
    /// Nothing was started: the node could not be made ready.
    PrologFailed(String),
    /// All is over, but the node could not be tidied up.
    EpilogFailed(String),
}

impl From<Ending> for LastWord {
    fn from(ending: Ending) -> LastWord {
        LastWord { ending, usage: Usage::default() }
    }
}

impl LastWord {
    /// What the controller is told beside how it ended.
    pub fn account(self) -> Account {
        let said = match self.ending {
            Ending::NodeFault(reason) => reason,
            _ => String::new(),
        };
        Account { usage: self.usage, said }
    }

    /// Says it: behind the claim, in the same file. It counts once its end is there.
    pub fn write(&self, spool: &Path, run: RunId, claim: &Claim) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(spool.join(RunFile::Shepherd.name(run)))?;
        file.write_all_at(format!("{}{END}", self.to_text()).as_bytes(), claim.length())
    }

    /// Reads the last word, if it was said.
    pub fn read(spool: &Path, run: RunId) -> io::Result<Option<LastWord>> {
        let file = |file: RunFile| match fs::read_to_string(spool.join(file.name(run))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => text.map(Some),
        };
        if let Some(text) = file(RunFile::Shepherd)?
            && let Some((_, text)) = text.split_once('\n')
            && let Some(text) = text.strip_suffix(END)
        {
            return LastWord::parse(text).map(Some).ok_or_else(|| damaged(run));
        }
        // Shepherds of an earlier version write a file of its own.
        let Some(text) = file(RunFile::Exit)? else { return Ok(None) };
        LastWord::parse(&text).map(Some).ok_or_else(|| damaged(run))
    }

    fn to_text(&self) -> String {
        let usage = self.usage.encode_to_vec();
        let digits: String = usage.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{USAGE} {digits}\n{}", self.ending.to_text())
    }

    /// A word without usage is one of an earlier version.
    fn parse(text: &str) -> Option<LastWord> {
        let Some(rest) = text.strip_prefix(USAGE) else {
            return Some(Ending::parse(text)?.into());
        };
        let (digits, ending) = rest.strip_prefix(' ')?.split_once('\n')?;
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        let usage = Usage::decode(bytes?.as_slice()).ok()?;
        Some(LastWord { ending: Ending::parse(ending)?, usage })
    }
}

impl Ending {
    /// What the controller is told.
    pub fn outcome(&self) -> Outcome {
        match self {
            Ending::Exited(status) => Outcome::Exited(ExitStatus::from_wait(*status)),
            Ending::OutOfMemory => Outcome::OutOfMemory,
            Ending::CouldNotStart(_) => Outcome::CouldNotStart,
            // It had begun, and others may run it by now: that is no failed launch.
            Ending::NodeFault(reason) if reason == REASON => Outcome::Lost,
            Ending::NodeFault(_) => Outcome::NodeFault,
            Ending::PrologFailed(_) => Outcome::PrologFailed,
            Ending::EpilogFailed(_) => Outcome::EpilogFailed,
        }
    }

    fn to_text(&self) -> String {
        match self {
            Ending::Exited(status) => format!("{EXITED} {status}\n"),
            Ending::OutOfMemory => format!("{OUT_OF_MEMORY} \n"),
            Ending::CouldNotStart(reason) => format!("{COULD_NOT_START} {reason}\n"),
            Ending::NodeFault(reason) => format!("{NODE_FAULT} {reason}\n"),
            Ending::PrologFailed(reason) => format!("{PROLOG_FAILED} {reason}\n"),
            Ending::EpilogFailed(reason) => format!("{EPILOG_FAILED} {reason}\n"),
        }
    }

    fn parse(text: &str) -> Option<Ending> {
        match text.strip_suffix('\n')?.split_once(' ')? {
            (EXITED, status) => Some(Ending::Exited(status.parse().ok()?)),
            (OUT_OF_MEMORY, _) => Some(Ending::OutOfMemory),
            (COULD_NOT_START, reason) => Some(Ending::CouldNotStart(reason.to_string())),
            (NODE_FAULT, reason) => Some(Ending::NodeFault(reason.to_string())),
            (PROLOG_FAILED, reason) => Some(Ending::PrologFailed(reason.to_string())),
            (EPILOG_FAILED, reason) => Some(Ending::EpilogFailed(reason.to_string())),
            _ => None,
        }
    }
}

/// Without it a last word was not said to its end.
const END: &str = "end\n";

const USAGE: &str = "usage";
const EXITED: &str = "exited";
const OUT_OF_MEMORY: &str = "out-of-memory";
const COULD_NOT_START: &str = "could-not-start";
const NODE_FAULT: &str = "node-fault";
const PROLOG_FAILED: &str = "prolog-failed";
const EPILOG_FAILED: &str = "epilog-failed";

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
        assert_eq!(LastWord::read(spool.path(), run).expect("reads"), None);
        let claim = Claim { pid: 7, started: 70, boot_id: "boot".to_string() };
        assert!(claim.take(spool.path(), run, None).expect("claims"));
        assert_eq!(LastWord::read(spool.path(), run).expect("reads"), None, "it lives");
        let endings = [
            Ending::Exited(256),
            Ending::OutOfMemory,
            Ending::CouldNotStart("could not open /x: not\nfound".to_string()),
            Ending::NodeFault("no room".to_string()),
            Ending::PrologFailed("/p exited with 1".to_string()),
            Ending::EpilogFailed("/e exited with 1".to_string()),
        ];
        for ending in endings {
            let usage = Usage { user_micros: 300, tasks: 1, ..Usage::default() };
            let last = LastWord { ending, usage };
            let file = spool.path().join(RunFile::Shepherd.name(run));
            fs::write(&file, claim.line()).expect("begins anew");
            last.write(spool.path(), run, &claim).expect("writes");
            assert_eq!(LastWord::read(spool.path(), run).expect("reads"), Some(last));
            assert_eq!(Claim::read(spool.path(), run).expect("reads"), Some(claim.clone()));
            let whole = fs::read(&file).expect("reads");
            fs::write(&file, &whole[..whole.len() - 1]).expect("cuts");
            assert_eq!(LastWord::read(spool.path(), run).expect("reads"), None, "not to its end");
        }
    }

    #[test]
    fn the_word_of_an_earlier_version_is_understood() {
        let spool = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(spool.path().join("runs")).expect("makes runs");
        let run = RunId::batch(JobId(7), Epoch(1));
        fs::write(spool.path().join("runs/7.1.shepherd"), "7 70 boot\n").expect("writes");
        fs::write(spool.path().join("runs/7.1.exit"), "exited 256\n").expect("writes");
        let read = LastWord::read(spool.path(), run).expect("reads");
        assert_eq!(read, Some(Ending::Exited(256).into()));
        assert_eq!(LastWord::parse("exited 256\n"), Some(Ending::Exited(256).into()));
        assert_eq!(LastWord::parse("usage zz\nexited 256\n"), None);
    }
}
