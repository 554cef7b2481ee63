//! The names in a node's spool, and what each file means.

use spur_core::state::Outcome;
use spur_core::views::Usage;
use spur_disk::{Disk, Error};

use crate::run::RunId;

/// What is told of a run that is over, beside how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What it used.
    pub usage: Usage,
    /// What was at fault, if it was the node.
    pub said: String,
}

/// What became of a run whose launch is in the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its shepherd lives.
    Alive,
    /// Its shepherd has written how it ended.
    Over(Outcome, Box<Account>),
    /// No shepherd has ever taken it.
    Unclaimed,
    /// Its shepherd is dead and has left no word.
    Gone,
}

/// The files of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFile {
    /// The launch as the controller sent it; written by the agent before anything is started.
    Launch,
    /// Who the shepherd is; made by the shepherd, and only by the first.
    Shepherd,
    /// How it ended; written by the shepherd before it goes.
    Exit,
    /// Where a step's shepherd takes over connections; made by the agent.
    Socket,
    /// Words for its output, one notice behind the other; written by the agent.
    Words,
}

impl RunFile {
    /// The file's name in the spool.
    pub fn name(self, run: RunId) -> String {
        let kind = match self {
            RunFile::Launch => "launch",
            RunFile::Shepherd => "shepherd",
            RunFile::Exit => "exit",
            RunFile::Socket => "sock",
            RunFile::Words => "words",
        };
        format!("runs/{run}.{kind}")
    }
}

/// The runs with a launch in the spool.
pub(super) fn launches(disk: &impl Disk) -> Result<Vec<RunId>, Error> {
    let parse = |name: String| RunId::parse(name.strip_prefix("runs/")?.strip_suffix(".launch")?);
    Ok(disk.list("runs/")?.into_iter().filter_map(parse).collect())
}

/// Removes a run's files: the launch first and the claim last, so that a shepherd which comes late finds
/// either a claim or nothing to run. What a crash leaves is swept at the next start.
pub(super) fn remove_run(disk: &mut impl Disk, run: RunId) -> Result<(), Error> {
    let order =
        [RunFile::Launch, RunFile::Exit, RunFile::Socket, RunFile::Words, RunFile::Shepherd];
    order.iter().try_for_each(|file| disk.remove(&file.name(run)))
}

pub(super) fn read_term(disk: &impl Disk) -> Result<u64, Error> {
    let text = disk.read("term")?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).trim().parse().unwrap_or(0))
}

pub(super) fn write_term(disk: &mut impl Disk, term: u64) -> Result<(), Error> {
    disk.put("term", term.to_string().as_bytes())
}

/// Whether the spool was left in the machine's present boot.
pub(super) fn is_same_boot(disk: &impl Disk, boot_id: &str) -> Result<bool, Error> {
    Ok(disk.read("boot")?.is_some_and(|before| before == boot_id.as_bytes()))
}

/// Notes the machine's present boot.
pub(super) fn write_boot(disk: &mut impl Disk, boot_id: &str) -> Result<(), Error> {
    disk.put("boot", boot_id.as_bytes())
}

/// A number over all runs of a table, in whatever order; both ends compute it.
pub fn digest(runs: impl Iterator<Item = RunId>) -> u64 {
    spur_proto::digest(runs.map(RunId::parts))
}
