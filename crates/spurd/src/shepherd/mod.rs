//! The shepherd: a small process of its own for each run. It starts the script, outlives the agent, and
//! writes down how the script ended once nothing of the run is left.

mod environment;
mod plan;
mod script;
mod task;
mod watch;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use prost::Message;
use spur_core::ids::{Epoch, JobId};
use spur_proto::internal::Launch;

use crate::agent::RunFile;
use crate::claim::Claim;
use crate::confine::Confines;
use crate::ending::Ending;
use crate::machine::cgroup::{self, Group};

pub use script::remove as remove_script;

/// Another shepherd has the run.
pub const TAKEN: u8 = 3;
/// The run was forgotten before the shepherd came to it.
pub const FORGOTTEN: u8 = 4;

/// Runs `spurd shepherd SPOOL JOB EPOCH`, given what follows `shepherd`.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    // First of all: from here on a request to end the run waits until it can be heeded.
    let _ = SigSet::all().thread_block();
    match Run::parse(&arguments).and_then(|run| run.shepherd()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("spurd shepherd {arguments:?}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The step that a job's script is.
const BATCH_STEP: &str = "batch";

/// What a shepherd is for.
struct Run {
    spool: PathBuf,
    job: JobId,
    epoch: Epoch,
}

impl Run {
    fn parse(arguments: &[OsString]) -> Result<Run> {
        let [spool, job, epoch] = arguments else {
            return Err(anyhow!("usage: spurd shepherd SPOOL JOB EPOCH"));
        };
        let number = |text: &OsString| text.to_str().and_then(|text| text.parse().ok());
        Ok(Run {
            spool: PathBuf::from(spool),
            job: JobId(number(job).context("the job is no number")?),
            epoch: Epoch(number(epoch).context("the epoch is no number")?),
        })
    }

    fn shepherd(&self) -> Result<u8> {
        stand_alone()?;
        let claim = Claim::own()?;
        if !claim.take(&self.spool, self.job, self.epoch).context("could not claim the run")? {
            return Ok(TAKEN);
        }
        // Looked for only now: whoever forgets a run removes the launch first and the claim last, so a
        // shepherd that comes late finds either a claim or no launch.
        let launch = self.spool.join(RunFile::Launch.name(self.job, self.epoch));
        if !launch.exists() {
            fs::remove_file(self.spool.join(RunFile::Shepherd.name(self.job, self.epoch)))?;
            return Ok(FORGOTTEN);
        }
        let ending = self.run(&launch, &claim);
        self.remove_group();
        script::remove(&self.spool, self.job, self.epoch);
        self.write_down(&ending)?;
        Ok(0)
    }

    fn run(&self, launch: &Path, claim: &Claim) -> Ending {
        let read = || -> Result<Launch> { Ok(Launch::decode(fs::read(launch)?.as_slice())?) };
        let launch = match read() {
            Ok(launch) => launch,
            Err(error) => return Ending::NodeFault(format!("unreadable launch: {error:#}")),
        };
        let marker = claim.variable(self.job, self.epoch);
        let group = match self.group(&launch) {
            Ok(group) => group,
            Err(error) => {
                return Ending::NodeFault(format!("{:#}", anyhow::Error::from(error)));
            }
        };
        let plan = match plan::Plan::make(&self.spool, launch, marker, group) {
            Ok(plan) => plan,
            Err(plan::Error::Request(reason)) => return Ending::CouldNotStart(reason),
            Err(plan::Error::Node(reason)) => return Ending::NodeFault(reason),
        };
        watch::run(&plan).unwrap_or_else(|error| Ending::NodeFault(format!("{error:#}")))
    }

    /// Makes the run's group, where the agent found that there can be one.
    fn group(&self, launch: &Launch) -> Result<Option<Group>, cgroup::Error> {
        let Some(confines) = Confines::read(&self.spool) else { return Ok(None) };
        let group = confines.host.group(self.job, self.epoch, BATCH_STEP);
        group.make(&confines.limits(launch))?;
        Ok(Some(group))
    }

    fn remove_group(&self) {
        let Some(Confines { host, .. }) = Confines::read(&self.spool) else { return };
        if let Err(error) = host.group(self.job, self.epoch, BATCH_STEP).remove() {
            eprintln!("spurd shepherd: {:#}", anyhow::Error::from(error));
        }
    }

    /// Without this file the run counts as lost, so a full disk is waited out.
    fn write_down(&self, ending: &Ending) -> Result<()> {
        loop {
            match ending.write(&self.spool, self.job, self.epoch) {
                Ok(()) => return Ok(()),
                Err(error) if is_full(&error) => std::thread::sleep(Duration::from_secs(1)),
                Err(error) => return Err(error).context("could not write the ending"),
            }
        }
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// Leaves the agent's session, and becomes the parent of every orphan of the run.
fn stand_alone() -> Result<()> {
    // Refused only to the leader of a group, and one of those is apart already.
    let _ = nix::unistd::setsid();
    prctl::set_child_subreaper(true).context("could not become a subreaper")?;
    prctl::set_name(c"spurd-shepherd").context("could not set the name")?;
    std::env::set_current_dir("/").context("could not leave the working directory")
}
