//! The shepherd: a small process of its own for each run. It starts the script, outlives the agent, and
//! writes down how the script ended once nothing of the run is left.

mod environment;
mod hooks;
mod login;
mod plan;
mod presence;
mod sampler;
mod script;
mod step;
mod task;
mod task_hooks;
mod watch;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::unistd::Uid;
use prost::Message;
use spur_core::ids::StepId;
use spur_core::jobenv::GpuFacts;
use spur_core::step::binding::Machine;
use spur_proto::internal::Launch;

use crate::agent::RunFile;
use crate::claim::{Claim, boot_id};
use crate::confine::{self, Confines};
use crate::ending::{Ending, LastWord};
use crate::fence::Fence;
use crate::gpu::GpuFiles;
use crate::machine::cgroup::{self, Group};
use crate::processors;
use crate::run::RunId;

pub use hooks::sweep as sweep_prologs;
pub use script::remove as remove_script;

/// The first argument of a shepherd that is a program of its own.
pub const SHEPHERD: &str = "shepherd";
/// Another shepherd has the run.
pub const TAKEN: u8 = 3;
/// The run was forgotten before the shepherd came to it.
pub const FORGOTTEN: u8 = 4;

/// What the agent found out about its node before its first run: the same for all shepherds of its life, so
/// whoever makes many reads it once.
pub struct Node {
    spool: PathBuf,
    boot_id: String,
    confines: Option<Confines>,
    gpus: GpuFiles,
}

impl Node {
    /// What the spool says.
    pub fn read(spool: &Path) -> io::Result<Node> {
        Ok(Node {
            spool: spool.to_path_buf(),
            boot_id: boot_id()?,
            confines: Confines::read(spool),
            gpus: GpuFiles::read(spool),
        })
    }

    /// Where it is.
    pub fn spool(&self) -> &Path {
        &self.spool
    }
}

/// Runs `spurd shepherd SPOOL RUN`, given what follows `shepherd`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let [spool, run] = arguments else {
        eprintln!("usage: spurd shepherd SPOOL RUN");
        return ExitCode::FAILURE;
    };
    match Node::read(Path::new(spool)) {
        Ok(node) => run_one(&node, run, None),
        Err(error) => {
            eprintln!("spurd shepherd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Cares for the run of this name. An empty file in the spool may be given to it.
pub fn run_one(node: &Node, name: &OsStr, spare: Option<PathBuf>) -> ExitCode {
    // First of all: from here on a request to end the run waits until it can be heeded.
    let _ = SigSet::all().thread_block();
    match Run::parse(node, name).and_then(|run| run.shepherd(spare)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("spurd shepherd {name:?}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What a run is held in, and what it sees of the node.
pub(crate) struct Room {
    /// Where there can be groups.
    group: Option<Group>,
    /// If it was given any.
    gpus: Option<GpuFacts>,
    /// The processors, where tasks can be bound to them.
    machine: Option<Machine>,
}

/// What a shepherd is for.
struct Run<'a> {
    node: &'a Node,
    run: RunId,
}

impl<'a> Run<'a> {
    fn parse(node: &'a Node, name: &OsStr) -> Result<Run<'a>> {
        let run = name.to_str().and_then(RunId::parse).context("this names no run")?;
        Ok(Run { node, run })
    }

    fn shepherd(&self, spare: Option<PathBuf>) -> Result<u8> {
        stand_alone()?;
        let claim = Claim::own_in(self.node.boot_id.clone())?;
        if !claim.take(&self.node.spool, self.run, spare).context("could not claim the run")? {
            return Ok(TAKEN);
        }
        // Looked for only now: whoever forgets a run removes the launch first and the claim last, so a
        // shepherd that comes late finds either a claim or no launch.
        let launch = self.node.spool.join(RunFile::Launch.name(self.run));
        if !launch.exists() {
            fs::remove_file(self.node.spool.join(RunFile::Shepherd.name(self.run)))?;
            return Ok(FORGOTTEN);
        }
        let last = self.run(&launch, &claim);
        self.remove_group();
        script::put_away(&self.node.spool, self.run);
        self.write_down(&last, &claim)?;
        Ok(0)
    }

    fn run(&self, launch: &Path, claim: &Claim) -> LastWord {
        let read = || -> Result<Launch> { Ok(Launch::decode(fs::read(launch)?.as_slice())?) };
        let launch = match read() {
            Ok(launch) => launch,
            Err(error) => {
                return Ending::NodeFault(format!("unreadable launch: {error:#}")).into();
            }
        };
        take_name(&launch);
        if self.run.step == StepId::EXTERN {
            let gpus = self.node.gpus.facts(&confine::given(&launch), false);
            let ended = presence::run(&self.node.spool, &launch, gpus);
            return ended.unwrap_or_else(|error| Ending::NodeFault(format!("{error:#}")).into());
        }
        if launch.hooks.is_some() {
            let gpus = self.node.gpus.facts(&confine::given(&launch), false);
            if let Err(error) = hooks::ensure_prolog(&self.node.spool, &launch, gpus) {
                if launch.step.is_some() {
                    step::refuse("Job prolog failed");
                }
                return Ending::PrologFailed(format!("{error:#}")).into();
            }
        }
        let marker = claim.variable(self.run);
        let room = match self.room(&launch) {
            Ok(room) => room,
            Err(error) => {
                return Ending::NodeFault(format!("{:#}", anyhow::Error::from(error))).into();
            }
        };
        let fence = Fence::of(&self.node.spool, &self.node.boot_id, &launch);
        if launch.step.is_some() {
            let ended = step::run(&launch, &marker, room, fence);
            return ended.unwrap_or_else(|error| Ending::NodeFault(format!("{error:#}")).into());
        }
        let mut plan = match plan::Plan::make(&self.node.spool, launch, marker, room, fence) {
            Ok(plan) => plan,
            Err(plan::Error::Request(reason)) => return Ending::CouldNotStart(reason).into(),
            Err(plan::Error::Node(reason)) => return Ending::NodeFault(reason).into(),
        };
        watch::run(&mut plan).unwrap_or_else(|error| Ending::NodeFault(format!("{error:#}")).into())
    }

    /// Makes the run's group, where the agent found that there can be one.
    fn room(&self, launch: &Launch) -> Result<Room, cgroup::Error> {
        let files = &self.node.gpus;
        let given = confine::given(launch);
        let machine = launch.step.is_some().then(|| processors::read(&self.node.spool)).flatten();
        let Some(confines) = &self.node.confines else {
            return Ok(Room { group: None, gpus: files.facts(&given, false), machine });
        };
        let mut group =
            confines.host.group(self.run.job, self.run.epoch, &self.run.step.to_string());
        group.make(&confines.limits(launch, files))?;
        let gpus = files.facts(&given, confines.hides_devices(launch));
        Ok(Room { group: Some(group), gpus, machine })
    }

    fn remove_group(&self) {
        let Some(Confines { host, .. }) = &self.node.confines else { return };
        let RunId { job, epoch, step } = self.run;
        if let Err(error) = host.group(job, epoch, &step.to_string()).remove() {
            eprintln!("spurd shepherd: {:#}", anyhow::Error::from(error));
        }
    }

    /// Without this file the run counts as lost, so a full disk is waited out.
    fn write_down(&self, last: &LastWord, claim: &Claim) -> Result<()> {
        loop {
            match last.write(&self.node.spool, self.run, claim) {
                Ok(()) => return Ok(()),
                Err(error) if is_full(&error) => std::thread::sleep(Duration::from_secs(1)),
                Err(error) => return Err(error).context("could not write the ending"),
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// Where a node goes by another name than its machine, its jobs see the node's. Only root can give them one.
fn take_name(launch: &Launch) {
    let node = confine::share(launch).map_or("", |share| share.node.as_str());
    let own = nix::unistd::gethostname().unwrap_or_default();
    let own = own.to_string_lossy();
    if node.is_empty() || own.split('.').next() == Some(node) || !Uid::effective().is_root() {
        return;
    }
    // A machine that has no such names shows its own, as it would anyway.
    if unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
        let _ = nix::unistd::sethostname(node);
    }
}

/// Leaves the agent's session, and becomes the parent of every orphan of the run.
fn stand_alone() -> Result<()> {
    // Refused only to the leader of a group, and one of those is apart already.
    let _ = nix::unistd::setsid();
    prctl::set_child_subreaper(true).context("could not become a subreaper")?;
    prctl::set_name(c"spurd-shepherd").context("could not set the name")?;
    std::env::set_current_dir("/").context("could not leave the working directory")
}
