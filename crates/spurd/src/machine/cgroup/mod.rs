//! Control groups: what a run may use is set on its group, and everybody in the group ends with it.
//!
//! A machine has one hierarchy of version 2, several of version 1, or both; [`Host`] knows which, and
//! every one of them has a [`Part`] of a run's group.

mod bpf;
mod devices;
mod discover;
mod folder;
mod host;
mod legacy;
mod unified;

use std::io;
use std::os::fd::OwnedFd;

use super::processes::Process;

pub use devices::Device;
pub use host::Host;

/// What the members of a group may use together. What is not said is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The processors they may run on.
    pub cpus: Option<Vec<u32>>,
    /// How many processors they count for where they run beside others on the same ones.
    pub weight: Option<u32>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Swap, beside the memory.
    pub swap_bytes: Option<u64>,
    /// Memory of the step alone, where it has less than its job.
    pub step_memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Device files they must not open.
    pub denied: Vec<Device>,
}

/// What can be controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Which processors.
    Cpuset,
    /// How much of processors that others use too; of version 2 only, since a further hierarchy of version 1 would cost
    /// every run more than it is worth.
    Cpu,
    /// How much memory.
    Memory,
    /// How many processes.
    Pids,
    /// Which devices.
    Devices,
    /// Stops all at once; of version 1 only, since every group of version 2 can be.
    Freezer,
}

impl Controller {
    const ALL: [Controller; 6] = [
        Controller::Cpuset,
        Controller::Cpu,
        Controller::Memory,
        Controller::Pids,
        Controller::Devices,
        Controller::Freezer,
    ];

    /// The kernel's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Controller::Cpuset => "cpuset",
            Controller::Cpu => "cpu",
            Controller::Memory => "memory",
            Controller::Pids => "pids",
            Controller::Devices => "devices",
            Controller::Freezer => "freezer",
        }
    }

    fn parse(name: &str) -> Option<Controller> {
        Controller::ALL.into_iter().find(|controller| controller.name() == name)
    }
}

/// What was attempted on a group and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt} {path}")]
pub struct Error {
    attempt: &'static str,
    path: String,
    #[source]
    source: io::Error,
}

/// A run's group in one hierarchy.
trait Part {
    /// Whether it alone keeps members together, so that others can do without them.
    fn holds_members(&self) -> bool;
    /// Whether it would hold members to something, or count what they use.
    fn is_of_use(&self, limits: &Limits) -> bool;
    /// Makes it, with the limits that this hierarchy knows of; one that is there is fine.
    fn make(&self, limits: &Limits) -> Result<(), Error>;
    /// Puts a process into it; 0 is the calling one.
    fn move_in(&self, pid: u32) -> Result<(), Error>;
    /// Whether processes can be born into it.
    fn has_cradle(&self) -> bool;
    /// A descriptor that a process can be born into.
    fn cradle(&self) -> Option<OwnedFd>;
    /// Stops all members, or lets them go on. Whether this hierarchy can.
    fn freeze(&self, frozen: bool) -> Result<bool, Error>;
    /// Kills all members at once. Whether this hierarchy can.
    fn kill(&self) -> Result<bool, Error>;
    /// Its members.
    fn members(&self) -> Vec<i32>;
    /// How many members were killed for want of memory, where this hierarchy counts that.
    fn oom_kills(&self) -> u64;
    /// Puts a group that was [kept](Part::keep) under a name in its place, if there is one.
    fn take_spare(&self, name: &str);
    /// Keeps the group under another name for the next run, if nothing of the last one is left in it. Whether it does.
    fn keep(&self, name: &str) -> bool;
    /// Removes it. One that is not there is fine, one with members is an error.
    fn remove(&self) -> Result<(), Error>;
}

/// A run's group in all hierarchies of the machine.
pub struct Group {
    parts: Vec<Box<dyn Part>>,
    /// What it is called between two runs, if it is used again.
    spare: Option<String>,
}

impl Group {
    /// Makes the group with its limits, where there is something to limit or to count: a hierarchy that has
    /// nothing to say about a run costs it a good part of its start. What was made is removed when something
    /// fails.
    pub fn make(&mut self, limits: &Limits) -> Result<(), Error> {
        if self.parts.iter().any(|part| part.holds_members()) {
            self.parts.retain(|part| part.holds_members() || part.is_of_use(limits));
        }
        if let Some(name) = &self.spare {
            self.parts.iter().for_each(|part| part.take_spare(name));
        }
        let mut made = Ok(());
        for _ in 0..ATTEMPTS {
            made = self.parts.iter().try_for_each(|part| part.make(limits));
            // The last step of the job that was here may just be taking the job's group away.
            match &made {
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
        if made.is_err() {
            let _ = self.remove();
        }
        made
    }

    /// Something a process can be born into, which spares it from being moved.
    pub fn cradle(&self) -> Option<OwnedFd> {
        self.parts.iter().find_map(|part| part.cradle())
    }

    /// Puts the calling process into the group. `born_in` tells that it came out of the cradle.
    pub fn join(&self, born_in: bool) -> Result<(), Error> {
        let mut others = self.parts.iter().filter(|part| !(born_in && part.has_cradle()));
        others.try_for_each(|part| part.move_in(0))
    }

    /// Puts another process into the group.
    #[cfg(test)]
    fn move_in(&self, pid: u32) -> Result<(), Error> {
        self.parts.iter().try_for_each(|part| part.move_in(pid))
    }

    /// Who is in it.
    pub fn members(&self) -> Vec<Process> {
        let mut members: Vec<i32> = self.parts.iter().flat_map(|part| part.members()).collect();
        members.sort_unstable();
        members.dedup();
        members.into_iter().filter_map(Process::look).collect()
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.members().is_empty())
    }

    /// Stops all members, or lets them go on. Whether any hierarchy can.
    pub fn freeze(&self, frozen: bool) -> Result<bool, Error> {
        first(&self.parts, |part| part.freeze(frozen))
    }

    /// Kills all members. Those that multiply meanwhile are stopped first.
    pub fn kill(&self) -> Result<(), Error> {
        if first(&self.parts, |part| part.kill())? {
            return Ok(());
        }
        let frozen = self.freeze(true)?;
        self.members().iter().for_each(|member| member.signal(libc::SIGKILL));
        if frozen {
            self.freeze(false)?;
        }
        Ok(())
    }

    /// How many members were killed for want of memory.
    pub fn oom_kills(&self) -> u64 {
        self.parts.iter().map(|part| part.oom_kills()).max().unwrap_or(0)
    }

    /// Has parts of it be those of a group that this process had before, and kept for its next one where possible.
    pub fn use_spare(&mut self, host: &Host, process: i32) {
        self.spare = Some(host.spare(process));
    }

    /// The run is over: what can be used again is kept, the rest removed.
    pub fn put_away(&self) -> Result<(), Error> {
        let kept = |part: &dyn Part| self.spare.as_ref().is_some_and(|name| part.keep(name));
        let rest = self.parts.iter().filter(|part| !kept(&***part));
        rest.map(|part| part.remove()).collect::<Vec<_>>().into_iter().collect()
    }

    /// Removes the group from every hierarchy.
    pub fn remove(&self) -> Result<(), Error> {
        let removed: Vec<Result<(), Error>> = self.parts.iter().map(|part| part.remove()).collect();
        removed.into_iter().collect()
    }
}

const ATTEMPTS: usize = 5;

fn first(
    parts: &[Box<dyn Part>],
    attempt: impl Fn(&dyn Part) -> Result<bool, Error>,
) -> Result<bool, Error> {
    for part in parts {
        if attempt(&**part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
