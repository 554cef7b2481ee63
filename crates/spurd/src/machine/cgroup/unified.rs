//! A run's group in the hierarchy of version 2, which has all controllers or, beside version 1, none.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use super::folder::Folder;
use super::legacy::list;
use super::{Controller, Error, Limits, Part, bpf};

/// Where groups are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What can be controlled here; devices need no controller but a program.
    pub(super) controllers: Vec<Controller>,
    /// The group that jobs' groups are made in; it passes its controllers on.
    pub(super) above: Folder,
}

impl Place {
    /// Whether something can be limited here for a whole job. Devices are denied to each step by itself.
    pub(super) fn limits_jobs(&self) -> bool {
        self.controllers.iter().any(|controller| *controller != Controller::Devices)
    }

    fn pass_on(&self, folder: &Folder) -> Result<(), Error> {
        let words = enabling(&self.controllers);
        if words.is_empty() { Ok(()) } else { folder.write("cgroup.subtree_control", &words) }
    }
}

/// What `cgroup.subtree_control` is told: `+memory +pids`.
pub(super) fn enabling(controllers: &[Controller]) -> String {
    let real = controllers.iter().filter(|controller| **controller != Controller::Devices);
    real.map(|controller| format!("+{}", controller.name())).collect::<Vec<_>>().join(" ")
}

/// One processor counts for as much as a group that nobody has set anything for; the kernel takes 1 to 10000.
fn weight(cpus: u32) -> u32 {
    cpus.saturating_mul(100).clamp(1, 10_000)
}

/// A step's group inside its job's.
pub(super) struct UnifiedPart {
    pub(super) place: Place,
    /// Nothing where there is nothing that the steps of a job could share.
    pub(super) job: Option<Folder>,
    pub(super) step: Folder,
}

impl UnifiedPart {
    fn has(&self, controller: Controller) -> bool {
        self.place.controllers.contains(&controller)
    }

    fn limit(&self, job: &Folder, limits: &Limits) -> Result<(), Error> {
        if self.has(Controller::Cpuset)
            && let Some(cpus) = &limits.cpus
        {
            job.write("cpuset.cpus", &list(cpus))?;
        }
        if self.has(Controller::Cpu)
            && let Some(cpus) = limits.weight
        {
            job.write("cpu.weight", &weight(cpus).to_string())?;
        }
        if self.has(Controller::Memory)
            && let Some(bytes) = limits.memory_bytes
        {
            job.write("memory.max", &bytes.to_string())?;
            if let Some(swap) = limits.swap_bytes
                && job.has("memory.swap.max")
            {
                job.write("memory.swap.max", &swap.to_string())?;
            }
        }
        if self.has(Controller::Pids)
            && let Some(processes) = limits.processes
        {
            job.write("pids.max", &processes.to_string())?;
        }
        Ok(())
    }

    /// Of what the job's group has, so much is the step's.
    fn limit_step(&self, limits: &Limits) -> Result<(), Error> {
        match limits.step_memory_bytes.filter(|_| self.has(Controller::Memory)) {
            Some(bytes) => self.step.write("memory.max", &bytes.to_string()),
            None => Ok(()),
        }
    }

    fn deny(&self, limits: &Limits) -> Result<(), Error> {
        if !self.has(Controller::Devices) || limits.denied.is_empty() {
            return Ok(());
        }
        // On the step's own group: a job's may be there already and have its program.
        let denied =
            File::open(self.step.path()).and_then(|group| bpf::deny(group.as_fd(), &limits.denied));
        denied.map_err(|error| self.step.error("deny devices to", "", error))
    }
}

impl Part for UnifiedPart {
    fn holds_members(&self) -> bool {
        true
    }

    fn is_of_use(&self, _: &Limits) -> bool {
        true
    }

    fn make(&self, limits: &Limits) -> Result<(), Error> {
        if let Some(job) = &self.job {
            job.make()?;
            self.limit(job, limits)?;
            self.place.pass_on(job)?;
        }
        self.step.make()?;
        self.limit_step(limits)?;
        self.deny(limits)
    }

    fn move_in(&self, pid: u32) -> Result<(), Error> {
        self.step.write("cgroup.procs", &pid.to_string())
    }

    fn has_cradle(&self) -> bool {
        true
    }

    fn cradle(&self) -> Option<OwnedFd> {
        File::open(self.step.path()).ok().map(OwnedFd::from)
    }

    fn freeze(&self, frozen: bool) -> Result<bool, Error> {
        self.step.write("cgroup.freeze", if frozen { "1" } else { "0" })?;
        Ok(true)
    }

    fn kill(&self) -> Result<bool, Error> {
        // Kernels before 5.14 have none.
        if !self.step.has("cgroup.kill") {
            return Ok(false);
        }
        self.step.write("cgroup.kill", "1")?;
        Ok(true)
    }

    fn members(&self) -> Vec<i32> {
        self.step.members()
    }

    fn oom_kills(&self) -> u64 {
        let counts = self.has(Controller::Memory);
        counts.then(|| self.step.entry("memory.events", "oom_kill")).flatten().unwrap_or(0)
    }

    fn take_spare(&self, _: &str) {}

    /// Groups of version 2 cannot be renamed, nor their counts begin anew.
    fn keep(&self, _: &str) -> bool {
        false
    }

    fn remove(&self) -> Result<(), Error> {
        self.step.remove()?;
        if let Some(job) = &self.job {
            job.remove_if_unused();
        }
        Ok(())
    }
}
