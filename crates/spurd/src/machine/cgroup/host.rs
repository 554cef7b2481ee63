//! What this machine offers for groups, decided once by the agent and read by every shepherd.

use std::fs;
use std::path::Path;

use spur_core::ids::{Epoch, JobId};

use super::discover::{Hierarchy, hierarchies};
use super::folder::Folder;
use super::legacy::{self, LegacyPart};
use super::unified::{self, UnifiedPart, enabling};
use super::{Controller, Error, Group, Part, Process, bpf};

/// The places where groups of runs are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What the names of groups begin with: others make groups in the same places.
    name: String,
    unified: Option<unified::Place>,
    legacy: Vec<legacy::Place>,
}

impl Host {
    /// Looks where this process can make groups whose names begin with this one. Why there is no such
    /// place is told in words for the log.
    pub fn find(name: &str) -> Result<Host, String> {
        let read = |file| fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
        let found = hierarchies(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?);
        if found.is_empty() {
            return Err("no control groups are mounted".to_string());
        }
        let mut complaints = Vec::new();
        let mut host = Host { name: name.to_string(), unified: None, legacy: Vec::new() };
        for hierarchy in found.iter().filter(|it| it.controllers.is_none()).take(1) {
            match unified_place(hierarchy, name) {
                Ok(place) => host.unified = Some(place),
                Err(error) => complaints.push(error),
            }
        }
        for hierarchy in &found {
            let Some(controllers) = &hierarchy.controllers else { continue };
            let controllers: Vec<Controller> =
                controllers.iter().copied().filter(|it| !host.has(*it)).collect();
            let above = Folder::new(&hierarchy.own);
            match try_out(&above, name) {
                Ok(()) if controllers.is_empty() => {}
                Ok(()) => host.legacy.push(legacy::Place { controllers, above }),
                Err(error) => complaints.push(told(&error)),
            }
        }
        if host.unified.is_none() && host.legacy.is_empty() {
            return Err(complaints.join("; "));
        }
        Ok(host)
    }

    /// Whether groups can still be made there.
    pub fn is_usable(&self) -> bool {
        self.places().all(|above| try_out(above, &self.name).is_ok())
    }

    /// Whether this can be controlled here.
    pub fn has(&self, controller: Controller) -> bool {
        let unified = self.unified.as_ref().is_some_and(|place| {
            // Any group of version 2 can be frozen.
            controller == Controller::Freezer || place.controllers.contains(&controller)
        });
        unified || self.legacy.iter().any(|place| place.controllers.contains(&controller))
    }

    /// What cannot be controlled here, by the kernel's words.
    pub fn lacks(&self) -> Vec<&'static str> {
        // Who has processors of their own needs no part of others'.
        let needed = Controller::ALL.into_iter().filter(|it| *it != Controller::Cpu);
        let lacking = needed.filter(|controller| !self.has(*controller));
        lacking.map(Controller::name).collect()
    }

    /// Which versions are in use, in words.
    pub fn version(&self) -> &'static str {
        match (&self.unified, self.legacy.is_empty()) {
            (Some(_), true) => "2",
            (Some(_), false) => "1 and 2",
            (None, _) => "1",
        }
    }

    /// The group of one step of a run: `batch`, `0` …
    pub fn group(&self, job: JobId, epoch: Epoch, step: &str) -> Group {
        let (job_id, step_name) = (job, step);
        let folders = |above: &Folder| {
            let job = above.path().join(format!("{}{JOB}{job}.{epoch}", self.name));
            let step = job.join(format!("step_{step}"));
            (Folder::new(job), Folder::new(step))
        };
        let unified = self.unified.iter().map(|place| {
            let (job, mut step) = folders(&place.above);
            let job = place.limits_jobs().then_some(job);
            if job.is_none() {
                let name = format!("{}{JOB}{}.{epoch}{STEP}{step_name}", self.name, job_id);
                step = Folder::new(place.above.path().join(name));
            }
            Box::new(UnifiedPart { place: place.clone(), job, step }) as Box<dyn Part>
        });
        let legacy = self.legacy.iter().map(|place| {
            let (job, step) = folders(&place.above);
            Box::new(LegacyPart::new(place.clone(), job, step)) as Box<dyn Part>
        });
        Group { parts: unified.chain(legacy).collect(), spare: None }
    }

    /// What a group is called that a process keeps for its next run.
    pub(super) fn spare(&self, process: i32) -> String {
        format!("{}{SPARE}{process}", self.name)
    }

    /// Removes what a process has kept.
    pub fn remove_spare(&self, process: i32) {
        let name = self.spare(process);
        let places = self.legacy.iter().map(|place| place.above.path().join(&name));
        places.map(Folder::new).for_each(|folder| drop(folder.remove()));
    }

    /// Removes what processes have kept that are no more.
    pub fn remove_spares_of_the_dead(&self) {
        let dead = self.spares().into_iter().filter(|process| Process::look(*process).is_none());
        dead.for_each(|process| self.remove_spare(process));
    }

    /// The processes that have kept something.
    pub(super) fn spares(&self) -> Vec<i32> {
        let folders = self.places().flat_map(Folder::inner);
        let processes = folders.filter_map(|folder| {
            let name = folder.path().file_name()?.to_str()?;
            name.strip_prefix(&self.name)?.strip_prefix(SPARE)?.parse().ok()
        });
        processes.collect()
    }

    /// The groups of runs that are there, each step by itself.
    pub fn groups(&self) -> Vec<(JobId, Epoch, String)> {
        let jobs = self.places().flat_map(Folder::inner);
        let mut found: Vec<(JobId, Epoch, String)> = jobs
            .filter_map(|folder| Some((self.parse_job(folder.path())?, folder)))
            .flat_map(|((job, epoch, alone), folder)| {
                if let Some(step) = alone {
                    return vec![(job, epoch, step)];
                }
                let steps = folder.inner().into_iter().filter_map(|step| {
                    Some(step.path().file_name()?.to_str()?.strip_prefix("step_")?.to_string())
                });
                steps.map(move |step| (job, epoch, step)).collect::<Vec<_>>()
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// The name, then one line a hierarchy: its version, its controllers, and where.
    pub fn to_text(&self) -> String {
        let names = |controllers: &[Controller]| {
            controllers.iter().map(|it| it.name()).collect::<Vec<_>>().join(",")
        };
        let unified = self.unified.iter().map(|place| {
            format!("2 {} {}\n", names(&place.controllers), place.above.path().display())
        });
        let legacy = self.legacy.iter().map(|place| {
            format!("1 {} {}\n", names(&place.controllers), place.above.path().display())
        });
        [format!("{}\n", self.name)].into_iter().chain(unified).chain(legacy).collect()
    }

    /// Reads [`Host::to_text`].
    pub fn parse(text: &str) -> Option<Host> {
        let (name, places) = text.split_once('\n')?;
        let mut host = Host { name: name.to_string(), unified: None, legacy: Vec::new() };
        for line in places.lines() {
            let mut words = line.splitn(3, ' ');
            let (version, names, above) = (words.next()?, words.next()?, words.next()?);
            let controllers = names.split(',').filter_map(Controller::parse).collect();
            let above = Folder::new(above);
            match version {
                "2" => host.unified = Some(unified::Place { controllers, above }),
                "1" => host.legacy.push(legacy::Place { controllers, above }),
                _ => return None,
            }
        }
        (host.unified.is_some() || !host.legacy.is_empty()).then_some(host)
    }

    fn places(&self) -> impl Iterator<Item = &Folder> {
        let legacy = self.legacy.iter().map(|place| &place.above);
        self.unified.iter().map(|place| &place.above).chain(legacy)
    }

    /// Reads the name of a job's group, or of a step's that is in none.
    fn parse_job(&self, folder: &Path) -> Option<(JobId, Epoch, Option<String>)> {
        let name = folder.file_name()?.to_str()?;
        let (job, epoch) = name.strip_prefix(&self.name)?.strip_prefix(JOB)?.split_once('.')?;
        let (epoch, step) = match epoch.split_once(STEP) {
            Some((epoch, step)) => (epoch, Some(step.to_string())),
            None => (epoch, None),
        };
        Some((JobId(job.parse().ok()?), Epoch(epoch.parse().ok()?), step))
    }
}

const JOB: &str = "-job_";
const STEP: &str = "-step_";
const SPARE: &str = "-spare_";

/// Makes a group and removes it again.
fn try_out(above: &Folder, name: &str) -> Result<(), Error> {
    let trial = Folder::new(above.path().join(format!("{name}-trial-{}", std::process::id())));
    trial.make()?;
    trial.remove()
}

/// Finds a group whose controllers can be passed on: our own if we can leave it, or the topmost.
fn unified_place(hierarchy: &Hierarchy, name: &str) -> Result<unified::Place, String> {
    let own = Folder::new(&hierarchy.own);
    let top = Folder::new(&hierarchy.top);
    let in_leaf = hierarchy.own.file_name().is_some_and(|name| name == LEAF);
    let left = own.parent().filter(|_| in_leaf && own != top);
    let candidates = left.into_iter().chain([own, top]);
    let mut complaint = String::new();
    for above in candidates {
        match place_below(&above, name) {
            Ok(place) => return Ok(place),
            Err(error) => complaint = told(&error),
        }
    }
    Err(complaint)
}

fn place_below(above: &Folder, name: &str) -> Result<unified::Place, Error> {
    let offered = above.read("cgroup.controllers")?;
    let mut controllers: Vec<Controller> =
        offered.split_ascii_whitespace().filter_map(Controller::parse).collect();
    let has_weights = controllers.contains(&Controller::Cpu);
    controllers.retain(|controller| *controller != Controller::Cpu);
    let words = enabling(&controllers);
    if !words.is_empty() && above.write("cgroup.subtree_control", &words).is_err() {
        // A group with members cannot pass controllers on. Ours we can leave, if nobody else is in it.
        let leaf = Folder::new(above.path().join(LEAF));
        if above.read("cgroup.procs")?.trim() == std::process::id().to_string() {
            leaf.make()?;
            leaf.write("cgroup.procs", "0")?;
        }
        above.write("cgroup.subtree_control", &words)?;
    }
    // Refused where processes with real-time priorities are about; nothing else depends on it.
    let weights = [Controller::Cpu];
    if has_weights && above.write("cgroup.subtree_control", &enabling(&weights)).is_ok() {
        controllers.extend(weights);
    }
    if bpf::is_possible() {
        controllers.push(Controller::Devices);
    }
    try_out(above, name)?;
    Ok(unified::Place { controllers, above: above.clone() })
}

/// Where the agent itself goes in a group that was handed to it.
const LEAF: &str = "agent";

fn told(error: &Error) -> String {
    format!("{error}: {}", error.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_reads_back() {
        let text =
            "spur-7\n2 pids,devices /sys/fs/cgroup/unified/spur ab\n1 memory /m/a\n1 cpuset /c\n";
        let host = Host::parse(text).expect("reads");
        assert_eq!(host.to_text(), text);
        assert!(host.has(Controller::Devices) && host.has(Controller::Memory));
        assert!(host.has(Controller::Freezer), "any group of version 2 can be frozen");
        assert_eq!(host.lacks(), Vec::<&str>::new());
        assert_eq!(
            Host::parse("a\n2  /x\n").map(|host| host.to_text()).as_deref(),
            Some("a\n2  /x\n")
        );
        assert_eq!(Host::parse(""), None);
        assert_eq!(Host::parse("a\n3 memory /x\n"), None);
    }
}
