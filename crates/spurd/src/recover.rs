//! What became of a run: its files and the living processes tell, also to an agent that has just started.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spur_core::ids::{Epoch, JobId};
use tracing::warn;

use crate::agent::RunFile;
use crate::claim::Claim;
use crate::confine::Confines;
use crate::ending::LastWord;
use crate::machine::pidfd::Pidfd;
use crate::machine::processes::{self, Process};
use crate::run::RunId;
use crate::shepherd;

/// What became of a run.
#[derive(Debug)]
pub enum Fate {
    /// Its shepherd lives.
    Alive(Pidfd),
    /// Its shepherd has written how it ended.
    Over(Box<LastWord>),
    /// Nobody has taken it.
    Unclaimed,
    /// Its shepherd is dead and has left no word; something of the run may be left.
    Gone(Claim),
}

/// Looks at a run's files and at its shepherd.
pub fn look(spool: &Path, run: RunId, boot_id: &str) -> io::Result<Fate> {
    if let Some(last) = LastWord::read(spool, run)? {
        return Ok(Fate::Over(Box::new(last)));
    }
    let Some(claim) = Claim::read(spool, run)? else { return Ok(Fate::Unclaimed) };
    if claim.boot_id == boot_id {
        let shepherd = Process { pid: claim.pid, parent: 0, session: 0, started: claim.started };
        if let Some(held) = shepherd.hold()? {
            return Ok(Fate::Alive(held));
        }
    }
    // It may have written its last word while we looked for it.
    match LastWord::read(spool, run)? {
        Some(last) => Ok(Fate::Over(Box::new(last))),
        None => Ok(Fate::Gone(claim)),
    }
}

/// What a dead shepherd has left behind.
#[derive(Clone, Debug)]
pub struct Remains {
    spool: PathBuf,
    run: RunId,
    claim: Claim,
}

impl Remains {
    /// Of a run that is [`Fate::Gone`] in this very boot.
    pub fn new(spool: &Path, run: RunId, claim: Claim) -> Remains {
        Remains { spool: spool.to_path_buf(), run, claim }
    }

    /// Kills what is left until nothing is. Blocks; what hangs in the kernel is waited for.
    pub fn remove(&self) {
        let mut pause = Duration::from_millis(1);
        while !self.processes().is_empty() {
            processes::kill_all(|| self.processes());
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(1));
        }
        self.remove_groups();
        shepherd::remove_script(&self.spool, self.run);
    }

    /// Everybody in the run's groups ends with them, whoever they are.
    fn remove_groups(&self) {
        let Some(confines) = Confines::read(&self.spool) else { return };
        for group in confines.groups_of(self.run) {
            let mut pause = Duration::from_millis(1);
            while !group.is_empty() {
                let _ = group.kill();
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(1));
            }
            if let Err(error) = group.remove() {
                warn!(run = %self.run, "{:#}", anyhow::Error::from(error));
            }
        }
    }

    /// Processes started with the run's marker, everybody in a session with one of them, and all their
    /// descendants. Only who has cleared its environment *and* left the session *and* the family is
    /// missed.
    fn processes(&self) -> Vec<Process> {
        let marker = self.claim.variable(self.run);
        let all = processes::all();
        let marked: Vec<&Process> =
            all.iter().filter(|it| processes::has_variable(it.pid, &marker)).collect();
        let own = Process::own();
        // The shepherd's own session is the agent's when it died before it could leave.
        let sessions: Vec<i32> = marked.iter().map(|it| it.session).collect();
        let in_session = |process: &Process| {
            sessions.contains(&process.session)
                && own.is_none_or(|own| own.session != process.session)
        };
        processes::family(&all, |it| marked.contains(&it) || in_session(it))
    }
}

/// Removes scripts and files of runs whose launch is gone: an agent died while it forgot them.
pub fn sweep(spool: &Path) -> io::Result<()> {
    let known = |run: &str| {
        let launch = RunId::parse(run).map(|run| RunFile::Launch.name(run));
        launch.is_none_or(|launch| spool.join(launch).exists())
    };
    for entry in entries(&spool.join("scripts"))? {
        if entry.file_name().to_str().is_some_and(|run| !known(run)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    for entry in entries(&spool.join("runs"))? {
        if entry.file_name().to_str().is_some_and(|name| !known(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    let names = entries(&spool.join("runs"))?.into_iter();
    let jobs: BTreeSet<(JobId, Epoch)> = names
        .filter_map(|entry| RunId::parse(entry.file_name().to_str()?))
        .map(|run| (run.job, run.epoch))
        .collect();
    let is_here = |run: RunId| jobs.contains(&(run.job, run.epoch));
    shepherd::sweep_prologs(spool, |name| RunId::parse(name).is_some_and(is_here))
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
