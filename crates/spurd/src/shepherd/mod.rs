//! The shepherd: a small process of its own for each run. It starts the script, outlives the agent, and
//! writes down how the script ended once nothing of the run is left.

mod duty;
mod environment;
mod hooks;
mod login;
mod pause;
mod plan;
mod presence;
mod sampler;
mod script;
mod step;
mod task;
mod task_hooks;
mod watch;
mod words;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::Uid;
use prost::Message;
use spur_core::ids::StepId;
use spur_core::jobenv::GpuFacts;
use spur_core::step::binding::Machine;
use spur_proto::internal::Launch;

use self::words::Words;
use crate::agent::RunFile;
use crate::claim::{Claim, boot_id};
use crate::confine::{self, Confines};
use crate::ending::{Ending, LastWord};
use crate::fence::Fence;
use crate::gpu::GpuFiles;
use crate::machine::cgroup::{self, Group};
use crate::machine::hosts;
use crate::processors;
use crate::run::RunId;

use duty::Own;
pub use duty::{Request, live};
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
    /// What the machine calls itself.
    machine: String,
    boot_id: String,
    confines: Option<Confines>,
    gpus: GpuFiles,
}

impl Node {
    /// What the spool says.
    pub fn read(spool: &Path) -> io::Result<Node> {
        Ok(Node {
            spool: spool.to_path_buf(),
            machine: nix::unistd::gethostname()?.to_string_lossy().into_owned(),
            boot_id: boot_id()?,
            confines: Confines::read(spool),
            gpus: GpuFiles::read(spool),
        })
    }
}

/// Runs `spurd shepherd SPOOL RUN`, given what follows `shepherd`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let [spool, run] = arguments else {
        eprintln!("usage: spurd shepherd SPOOL RUN");
        return ExitCode::FAILURE;
    };
    if let Err(error) = hosts::show(Path::new(spool)) {
        eprintln!("spurd shepherd: its run cannot look up the names of nodes: {error}");
    }
    match Node::read(Path::new(spool)) {
        Ok(node) => duty::one(&node, &run.to_string_lossy()),
        Err(error) => {
            eprintln!("spurd shepherd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a run is held in, and what it sees of the node.
pub(crate) struct Room {
    /// Where there can be groups.
    group: Option<Rc<Group>>,
    /// If it was given any.
    gpus: Option<GpuFacts>,
    /// The processors, where tasks can be bound to them.
    machine: Option<Machine>,
}

/// What a shepherd is for.
struct Run<'a> {
    node: &'a Node,
    run: RunId,
    own: &'a mut Own,
}

impl Run<'_> {
    /// Returns when the run is over and its end written down.
    fn shepherd(mut self, spare: Option<PathBuf>) -> Result<u8> {
        let claim = self.own.claim.clone();
        if !claim.take(&self.node.spool, self.run, spare).context("could not claim the run")? {
            return Ok(TAKEN);
        }
        // Looked for only now: whoever forgets a run removes the launch first and the claim last, so a
        // shepherd that comes late finds either a claim or no launch.
        let launch = match fs::read(self.node.spool.join(RunFile::Launch.name(self.run))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::remove_file(self.node.spool.join(RunFile::Shepherd.name(self.run)))?;
                return Ok(FORGOTTEN);
            }
            launch => launch,
        };
        let last = self.run(launch, &claim);
        script::put_away(&self.node.spool, self.run, &mut self.own.script);
        self.write_down(&last, &claim)?;
        Ok(0)
    }

    fn run(&mut self, launch: io::Result<Vec<u8>>, claim: &Claim) -> LastWord {
        let read = || -> Result<Launch> { Ok(Launch::decode(launch?.as_slice())?) };
        let launch = match read() {
            Ok(launch) => launch,
            Err(error) => {
                return Ending::NodeFault(format!("unreadable launch: {error:#}")).into();
            }
        };
        self.take_name(&launch);
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
        let room = match self.room(&launch) {
            Ok(room) => room,
            Err(error) => {
                return Ending::NodeFault(format!("{:#}", anyhow::Error::from(error))).into();
            }
        };
        let group = room.group.clone();
        let last = self.run_in(room, launch, claim.variable(self.run));
        if let Some(Err(error)) = group.map(|group| group.put_away()) {
            eprintln!("spurd shepherd: {:#}", anyhow::Error::from(error));
        }
        last
    }

    fn run_in(&mut self, room: Room, launch: Launch, marker: String) -> LastWord {
        let fault = |error: anyhow::Error| Ending::NodeFault(format!("{error:#}")).into();
        let fence = Fence::of(&self.node.spool, &self.node.boot_id, &launch);
        if launch.step.is_some() {
            let words = Words::at(self.node.spool.join(RunFile::Words.name(self.run)));
            return step::run(&launch, &marker, room, fence, words).unwrap_or_else(fault);
        }
        let spool = &self.node.spool;
        let mut plan = match plan::Plan::make(spool, self.own, launch, marker, room, fence) {
            Ok(plan) => plan,
            Err(plan::Error::Request(reason)) => return Ending::CouldNotStart(reason).into(),
            Err(plan::Error::Node(reason)) => return Ending::NodeFault(reason).into(),
        };
        watch::run(&mut plan).unwrap_or_else(fault)
    }

    /// Makes the run's group, where the agent found that there can be one.
    fn room(&self, launch: &Launch) -> Result<Room, cgroup::Error> {
        let files = &self.node.gpus;
        let given = confine::given(launch);
        let machine = launch.step.is_some().then(|| processors::read(&self.node.spool)).flatten();
        let Some(confines) = &self.node.confines else {
            return Ok(Room { group: None, gpus: files.facts(&given, false), machine });
        };
        let RunId { job, epoch, step } = self.run;
        let mut group = confines.host.group(job, epoch, &step.to_string());
        if step == StepId::BATCH {
            group.use_spare(&confines.host, self.own.claim.pid);
        }
        group.make(&confines.limits(launch, files))?;
        let gpus = files.facts(&given, confines.hides_gpus(launch, files));
        Ok(Room { group: Some(Rc::new(group)), gpus, machine })
    }

    /// Where a node goes by another name than its machine, its jobs see the node's. Only root can give them one.
    fn take_name(&self, launch: &Launch) {
        let node = confine::share(launch).map_or("", |share| share.node.as_str());
        let is_own = self.node.machine.split('.').next() == Some(node);
        if node.is_empty() || is_own || !Uid::effective().is_root() {
            return;
        }
        // Anew for each run, since root's may have changed it. A machine that has no such names shows its own, as
        // it would anyway.
        if unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
            let _ = nix::unistd::sethostname(node);
        }
    }

    /// Without this file the run counts as lost, so a full disk is waited out.
    fn write_down(&self, last: &LastWord, claim: &Claim) -> Result<()> {
        loop {
            // By its name: a run that the agent has forgotten has none, and its file may be another's by now.
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
