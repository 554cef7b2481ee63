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
use std::time::Duration;

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
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Device files they must not open.
    pub denied: Vec<Device>,
}

/// What the members of a group have used together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user mode.
    pub user: Option<Duration>,
    /// Processor time in the kernel.
    pub system: Option<Duration>,
    /// Memory now, without what could be read again from a file.
    pub memory_bytes: Option<u64>,
    /// Memory at its highest, page cache included.
    pub memory_peak_bytes: Option<u64>,
    /// Read from disks.
    pub read_bytes: Option<u64>,
    /// Written to disks.
    pub written_bytes: Option<u64>,
    /// How many were killed for want of memory.
    pub oom_kills: u64,
}

/// What can be controlled, and on most machines counted.
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
    /// A descriptor that a process can be born into.
    fn cradle(&self) -> Option<OwnedFd>;
    /// Stops all members, or lets them go on. Whether this hierarchy can.
    fn freeze(&self, frozen: bool) -> Result<bool, Error>;
    /// Kills all members at once. Whether this hierarchy can.
    fn kill(&self) -> Result<bool, Error>;
    /// Its members.
    fn members(&self) -> Vec<i32>;
    /// Adds what this hierarchy counts.
    fn measure(&self, usage: &mut Usage);
    /// Removes it. One that is not there is fine, one with members is an error.
    fn remove(&self) -> Result<(), Error>;
}

/// A run's group in all hierarchies of the machine.
pub struct Group {
    parts: Vec<Box<dyn Part>>,
}

impl Group {
    /// Makes the group with its limits, where there is something to limit or to count: a hierarchy that has
    /// nothing to say about a run costs it a good part of its start. What was made is removed when something
    /// fails.
    pub fn make(&mut self, limits: &Limits) -> Result<(), Error> {
        if self.parts.iter().any(|part| part.holds_members()) {
            self.parts.retain(|part| part.holds_members() || part.is_of_use(limits));
        }
        let made = self.parts.iter().try_for_each(|part| part.make(limits));
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
        let has_cradle = |part: &dyn Part| born_in && part.cradle().is_some();
        self.parts.iter().filter(|part| !has_cradle(&***part)).try_for_each(|part| part.move_in(0))
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

    /// What the members have used so far.
    pub fn measure(&self) -> Usage {
        let mut usage = Usage::default();
        self.parts.iter().for_each(|part| part.measure(&mut usage));
        usage
    }

    /// Removes the group from every hierarchy.
    pub fn remove(&self) -> Result<(), Error> {
        let removed: Vec<Result<(), Error>> = self.parts.iter().map(|part| part.remove()).collect();
        removed.into_iter().collect()
    }
}

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
