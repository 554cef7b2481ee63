//! A run's group in a hierarchy of version 1, which has one or a few controllers.

use std::os::fd::OwnedFd;

use super::folder::Folder;
use super::{Controller, Error, Limits, Part, Usage};

/// Where groups are made in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) controllers: Vec<Controller>,
    /// The group that jobs' groups are made in.
    pub(super) above: Folder,
}

/// A step's group inside its job's.
pub(super) struct LegacyPart {
    pub(super) place: Place,
    pub(super) job: Folder,
    pub(super) step: Folder,
}

impl LegacyPart {
    fn has(&self, controller: Controller) -> bool {
        self.place.controllers.contains(&controller)
    }

    fn limit(&self, limits: &Limits) -> Result<(), Error> {
        if self.has(Controller::Cpuset) {
            inherit_cpuset(&self.job)?;
            if let Some(cpus) = &limits.cpus {
                self.job.write("cpuset.cpus", &list(cpus))?;
            }
        }
        // Kernels before 5.11 count only direct members unless told otherwise.
        if self.has(Controller::Memory) && self.job.number("memory.use_hierarchy") == Some(0) {
            self.job.write("memory.use_hierarchy", "1")?;
        }
        if self.has(Controller::Memory)
            && let Some(bytes) = limits.memory_bytes
        {
            self.job.write("memory.limit_in_bytes", &bytes.to_string())?;
            if let Some(swap) = limits.swap_bytes
                && self.job.has("memory.memsw.limit_in_bytes")
            {
                let both = bytes.saturating_add(swap).to_string();
                self.job.write("memory.memsw.limit_in_bytes", &both)?;
            }
        }
        if self.has(Controller::Pids)
            && let Some(processes) = limits.processes
        {
            self.job.write("pids.max", &processes.to_string())?;
        }
        Ok(())
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
        self.deny(limits)?;
        if self.has(Controller::Cpuset) { inherit_cpuset(&self.step) } else { Ok(()) }
    }

    fn move_in(&self, pid: u32) -> Result<(), Error> {
        self.step.write("cgroup.procs", &pid.to_string())
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

    fn measure(&self, usage: &mut Usage) {
        if self.has(Controller::Memory) {
            usage.memory_bytes = self.step.entry("memory.stat", "total_rss");
            usage.memory_peak_bytes = self.step.number("memory.max_usage_in_bytes");
            usage.oom_kills = self.step.entry("memory.oom_control", "oom_kill").unwrap_or(0);
        }
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
