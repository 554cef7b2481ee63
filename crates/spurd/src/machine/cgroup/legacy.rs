//! A run's group in a hierarchy of version 1, which has one or a few controllers.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use super::folder::Folder;
use super::{Controller, Error, Limits, Part};

/// Where groups are made in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) controllers: Vec<Controller>,
    /// The group that jobs' groups are made in.
    pub(super) above: Folder,
}

/// Whether groups of memory count only direct members unless told otherwise: what is above does not change.
static IS_FLAT: OnceLock<bool> = OnceLock::new();

fn is_flat(folder: &Folder) -> bool {
    folder.number("memory.use_hierarchy") == Some(0)
}

/// The limit of memory and swap together, where the kernel counts swap.
const MEMSW: &str = "memory.memsw.limit_in_bytes";

/// So much that a run has left behind may count for the next one: far below the least that a job can be given.
const LITTLE: u64 = 1 << 20;

/// A step's group inside its job's.
pub(super) struct LegacyPart {
    place: Place,
    job: Folder,
    step: Folder,
    /// Whether it was another run's before.
    is_taken: Cell<bool>,
    /// What was counted last.
    oom_kills: Cell<Option<u64>>,
}

impl LegacyPart {
    pub(super) fn new(place: Place, job: Folder, step: Folder) -> LegacyPart {
        LegacyPart { place, job, step, is_taken: Cell::new(false), oom_kills: Cell::new(None) }
    }

    fn has(&self, controller: Controller) -> bool {
        self.place.controllers.contains(&controller)
    }

    /// Whether groups here are used again: all that their controller counts and limits can begin anew.
    fn is_kept(&self) -> bool {
        self.place.controllers == [Controller::Memory]
    }

    fn named(&self, name: &str) -> Folder {
        Folder::new(self.place.above.path().join(name))
    }

    fn limit(&self, limits: &Limits) -> Result<(), Error> {
        if self.has(Controller::Cpuset) {
            inherit_cpuset(&self.job)?;
            if let Some(cpus) = &limits.cpus {
                self.job.write("cpuset.cpus", &list(cpus))?;
            }
        }
        // On kernels before 5.11.
        if self.has(Controller::Memory)
            && *IS_FLAT.get_or_init(|| is_flat(&self.place.above))
            && is_flat(&self.job)
        {
            self.job.write("memory.use_hierarchy", "1")?;
        }
        // What limited the run before: that of memory and swap together is never the lower one.
        if self.is_taken.get() && self.job.has(MEMSW) {
            self.job.write(MEMSW, "-1")?;
        }
        if self.is_taken.get() && limits.memory_bytes.is_none() {
            self.job.write("memory.limit_in_bytes", "-1")?;
        }
        if self.has(Controller::Memory)
            && let Some(bytes) = limits.memory_bytes
        {
            self.job.write("memory.limit_in_bytes", &bytes.to_string())?;
            if let Some(swap) = limits.swap_bytes
                && self.job.has(MEMSW)
            {
                let both = bytes.saturating_add(swap).to_string();
                self.job.write(MEMSW, &both)?;
            }
        }
        if self.has(Controller::Pids)
            && let Some(processes) = limits.processes
        {
            self.job.write("pids.max", &processes.to_string())?;
        }
        Ok(())
    }

    /// Of what the job's group has, so much is the step's.
    fn limit_step(&self, limits: &Limits) -> Result<(), Error> {
        match limits.step_memory_bytes.filter(|_| self.has(Controller::Memory)) {
            Some(bytes) => self.step.write("memory.limit_in_bytes", &bytes.to_string()),
            None => Ok(()),
        }
    }

    /// On the step's own group: other steps of the job may have other devices.
    fn deny(&self, limits: &Limits) -> Result<(), Error> {
        if self.has(Controller::Devices) {
            for device in &limits.denied {
                self.step.write("devices.deny", &device.line())?;
            }
        }
        Ok(())
    }
}

impl Part for LegacyPart {
    fn holds_members(&self) -> bool {
        false
    }

    fn is_of_use(&self, limits: &Limits) -> bool {
        self.place.controllers.iter().any(|controller| match controller {
            Controller::Cpuset => limits.cpus.is_some(),
            // Memory is counted, too.
            Controller::Memory => true,
            Controller::Pids => limits.processes.is_some(),
            Controller::Devices => !limits.denied.is_empty(),
            Controller::Cpu | Controller::Freezer => false,
        })
    }

    fn make(&self, limits: &Limits) -> Result<(), Error> {
        self.job.make()?;
        self.limit(limits)?;
        self.step.make()?;
        self.limit_step(limits)?;
        self.deny(limits)?;
        if self.has(Controller::Cpuset) { inherit_cpuset(&self.step) } else { Ok(()) }
    }

    fn move_in(&self, pid: u32) -> Result<(), Error> {
        // A process that moves itself has a single thread, and moving a thread holds nobody up: a whole process
        // is moved only while nothing on the machine forks or ends.
        let file = if pid == 0 { "tasks" } else { "cgroup.procs" };
        self.step.write(file, &pid.to_string())
    }

    fn has_cradle(&self) -> bool {
        false
    }

    fn cradle(&self) -> Option<OwnedFd> {
        None
    }

    fn freeze(&self, frozen: bool) -> Result<bool, Error> {
        if !self.has(Controller::Freezer) {
            return Ok(false);
        }
        self.step.write("freezer.state", if frozen { "FROZEN" } else { "THAWED" })?;
        Ok(true)
    }

    fn kill(&self) -> Result<bool, Error> {
        Ok(false)
    }

    fn members(&self) -> Vec<i32> {
        self.step.members()
    }

    fn oom_kills(&self) -> u64 {
        if !self.has(Controller::Memory) {
            return 0;
        }
        let kills = self.step.entry("memory.oom_control", "oom_kill").unwrap_or(0);
        self.oom_kills.set(Some(kills));
        kills
    }

    fn take_spare(&self, name: &str) {
        self.is_taken.set(self.is_kept() && self.named(name).rename(&self.job));
    }

    fn keep(&self, name: &str) -> bool {
        let is_alone = |job: &Folder| job.groups_inside() == Some(1);
        let usable = self.is_kept()
            && is_alone(&self.job)
            && self.step.groups_inside() == Some(0)
            && self.oom_kills.get().unwrap_or_else(|| self.oom_kills()) == 0
            && self.job.number("memory.usage_in_bytes").is_some_and(|left| left <= LITTLE);
        let spare = self.named(name);
        if !usable || !self.job.rename(&spare) {
            return false;
        }
        // By its name nobody can make a group in it any more, but one may have been made meanwhile.
        is_alone(&spare) || !spare.rename(&self.job)
    }

    fn remove(&self) -> Result<(), Error> {
        self.step.remove()?;
        self.job.remove_if_unused();
        Ok(())
    }
}

/// A new group has neither processors nor memory, and nobody can join it before it has.
fn inherit_cpuset(folder: &Folder) -> Result<(), Error> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if folder.read(file)?.trim().is_empty() {
            folder.write(file, parent.read(file)?.trim())?;
        }
    }
    Ok(())
}

/// As the kernel reads lists: `0,2,3`.
pub(super) fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
