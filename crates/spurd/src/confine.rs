//! Which groups the runs of a spool are put into, and with which limits: settled by the agent when it
//! starts, read by shepherds.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use spur_core::ids::StepId;
use spur_core::idset::IdSet;
use spur_proto::internal::{Confinement, Launch, NodeShare};
use tracing::{info, warn};

use crate::agent::RunFile;
use crate::gpu::{GPU, GpuFiles, SHARD};
use crate::machine::cgroup::{Controller, Device, Group, Host, Limits};
use crate::run::RunId;

/// What an agent has found out for its shepherds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confines {
    /// The boot it holds for.
    boot_id: String,
    /// The kernel's number of each processor of the node, in the node's order. Empty where the node's
    /// processors are not those of the machine: several trial nodes of one machine must not all be
    /// pressed into the same few.
    cpus: Vec<u32>,
    /// Where groups are.
    pub host: Host,
}

/// In the spool: the boot, the processors, then [`Host::to_text`].
const FILE: &str = "cgroup";

impl Confines {
    /// Looks where groups can be made and writes it down. Within one boot the place stays the same, since
    /// runs of an earlier life are there. Says once what cannot be had.
    pub fn settle(spool: &Path, boot_id: &str, cpus: Vec<u32>) -> Option<Confines> {
        // The spool's own number is the last word: two agents of one machine never share a place.
        let name = format!("spur-{}", boot_id.rsplit(' ').next().unwrap_or_default());
        let before = Confines::read(spool)
            .filter(|before| before.boot_id == boot_id && before.host.is_usable());
        let found = match before {
            Some(before) => Ok(before.host),
            None => Host::find(&name),
        };
        let host = match found {
            Ok(host) => host,
            Err(why) => {
                warn!("jobs run without control groups, held together by sessions only: {why}");
                let _ = fs::remove_file(spool.join(FILE));
                return None;
            }
        };
        let lacks = host.lacks();
        if lacks.is_empty() {
            info!("jobs run in control groups of version {}", host.version());
        } else {
            warn!("control groups here have no {}: jobs are not held to those", lacks.join(", "));
        }
        let confines = Confines { boot_id: boot_id.to_string(), cpus, host };
        if let Err(error) = confines.write(spool) {
            warn!("jobs run without control groups: could not write {FILE}: {error}");
            return None;
        }
        Some(confines)
    }

    /// What the agent has settled, if anything.
    pub fn read(spool: &Path) -> Option<Confines> {
        Confines::parse(&fs::read_to_string(spool.join(FILE)).ok()?)
    }

    /// What a run is held to.
    pub fn limits(&self, launch: &Launch, gpus: &GpuFiles) -> Limits {
        let unsaid = Confinement::default();
        let asked = launch.confinement.as_ref().unwrap_or(&unsaid);
        // The group is the job's: its steps are bound to their parts.
        let ids = share(launch).and_then(|share| share.cpu_ids.as_ref());
        let known = |id: u32| self.cpus.get(id as usize).copied();
        let cpus: Option<Vec<u32>> = ids.and_then(|ids| ids.iter().map(known).collect());
        Limits {
            cpus: cpus.filter(|cpus| asked.cores && !cpus.is_empty()),
            weight: share(launch).map(|share| share.cpus).filter(|cpus| *cpus > 0),
            memory_bytes: asked.memory_bytes,
            swap_bytes: asked.swap_bytes,
            step_memory_bytes: asked.step_memory_bytes,
            processes: asked.processes,
            denied: if asked.devices {
                let mut files = gpus.denied(&given(launch));
                files.extend(asked.closed_files.iter().map(String::as_str));
                devices(&files)
            } else {
                Vec::new()
            },
        }
    }

    /// Whether runs on the same processors have parts of them by how many they were given.
    pub fn has_weights(&self) -> bool {
        self.host.has(Controller::Cpu)
    }

    /// Whether a run cannot open GPUs of others: only what is a device of its own can be denied.
    pub fn hides_gpus(&self, launch: &Launch, gpus: &GpuFiles) -> bool {
        let asked = launch.confinement.as_ref().is_some_and(|asked| asked.devices);
        asked
            && self.host.has(Controller::Devices)
            && gpus
                .can_be_closed(&given(launch), |file| !devices(&BTreeSet::from([file])).is_empty())
    }

    /// The groups of a run that are still there.
    pub fn groups_of(&self, run: RunId) -> Vec<Group> {
        let of_run = self.host.groups().into_iter().filter(|(job, epoch, step)| {
            (*job, *epoch) == (run.job, run.epoch) && *step == run.step.to_string()
        });
        of_run.map(|(job, epoch, step)| self.host.group(job, epoch, &step)).collect()
    }

    /// Ends and removes what belongs to no run that the spool knows.
    pub fn sweep(&self, spool: &Path) {
        self.host.remove_spares_of_the_dead();
        for (job, epoch, step) in self.host.groups() {
            let run = StepId::parse(&step).map(|step| RunId { job, epoch, step });
            if run.is_some_and(|run| spool.join(RunFile::Launch.name(run)).exists()) {
                continue;
            }
            warn!(%job, %epoch, step, "a forgotten group is ended");
            let group = self.host.group(job, epoch, &step);
            if let Err(error) = group.kill().and_then(|()| group.remove()) {
                warn!(%job, %epoch, step, "{:#}", anyhow::Error::from(error));
            }
        }
    }

    fn write(&self, spool: &Path) -> io::Result<()> {
        let temporary = spool.join("cgroup-new");
        let cpus: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
        let text = format!("{}\n{}\n{}", self.boot_id, cpus.join(","), self.host.to_text());
        fs::write(&temporary, text)?;
        fs::rename(temporary, spool.join(FILE))
    }

    fn parse(text: &str) -> Option<Confines> {
        let (boot_id, rest) = text.split_once('\n')?;
        let (cpus, host) = rest.split_once('\n')?;
        let cpus: Option<Vec<u32>> =
            cpus.split(',').filter(|cpu| !cpu.is_empty()).map(|cpu| cpu.parse().ok()).collect();
        Some(Confines { boot_id: boot_id.to_string(), cpus: cpus?, host: Host::parse(host)? })
    }
}

/// What the job has on this node.
pub fn share(launch: &Launch) -> Option<&NodeShare> {
    let here = launch.step.as_ref().and_then(|step| step.nodes.get(step.node_id as usize));
    let here = here.and_then(|here| launch.shares.iter().find(|it| it.node == here.node));
    here.or(launch.shares.first())
}

/// The processors that a run has here: a step's own, or all of its job's.
pub fn cpu_ids(launch: &Launch) -> Option<&IdSet> {
    let step = launch.step.as_ref().and_then(|step| step.nodes.get(step.node_id as usize));
    let own = step.and_then(|step| step.cpu_ids.as_ref()).filter(|ids| !ids.is_empty());
    own.or_else(|| share(launch)?.cpu_ids.as_ref())
}

/// Parts of GPUs that a run was given here.
pub fn shards(launch: &Launch) -> u32 {
    let gres = share(launch).map(|share| &share.gres[..]).unwrap_or_default();
    gres.iter().filter(|gres| gres.name == SHARD).map(|gres| gres.count as u32).sum()
}

/// The node's numbers of the GPUs that a run was given here, whole or in part.
pub fn given(launch: &Launch) -> Vec<u32> {
    if let Some(own) = own_gpus(launch) {
        return own.iter().collect();
    }
    let gres = share(launch).map(|share| &share.gres[..]).unwrap_or_default();
    let gres = gres.iter().filter(|gres| gres.name == GPU || gres.name == SHARD);
    let given: BTreeSet<u32> = gres.flat_map(|gres| gres.ids.iter()).collect();
    given.into_iter().collect()
}

/// Those that a step took of its job's, if it did not take them all.
pub fn own_gpus(launch: &Launch) -> Option<&IdSet> {
    let step = launch.step.as_ref()?;
    step.nodes.get(step.node_id as usize)?.gpus.as_ref()
}

/// The numbers of those that are there, but for what every program needs, by whatever name somebody may call it.
fn devices(files: &BTreeSet<&str>) -> Vec<Device> {
    let numbers = files.iter().filter_map(|file| Device::of(Path::new(file)).ok()?);
    let mut found: Vec<Device> = numbers.filter(|device| !device.is_everybodys()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_proto::internal::{StepLaunch, StepNode};

    fn confines(cpus: &str) -> Confines {
        Confines::parse(&format!("boot\n{cpus}\nspur\n1 memory /nowhere\n")).expect("reads")
    }

    #[test]
    fn what_is_settled_reads_back() {
        let spool = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(Confines::read(spool.path()), None);
        for cpus in ["", "0,2,1,3"] {
            confines(cpus).write(spool.path()).expect("writes");
            assert_eq!(Confines::read(spool.path()), Some(confines(cpus)));
        }
    }

    #[test]
    fn processors_are_named_by_the_kernels_numbers() {
        let share =
            NodeShare { cpu_ids: Some([1, 2].into_iter().collect()), ..NodeShare::default() };
        let mut launch = Launch {
            shares: vec![share],
            confinement: Some(Confinement { cores: true, ..Confinement::default() }),
            ..Launch::default()
        };
        assert_eq!(
            confines("0,2,1,3").limits(&launch, &GpuFiles::default()).cpus,
            Some(vec![2, 1])
        );
        assert_eq!(confines("").limits(&launch, &GpuFiles::default()).cpus, None, "a trial node");
        assert_eq!(
            confines("0,2").limits(&launch, &GpuFiles::default()).cpus,
            None,
            "more than there are"
        );
        let own = StepNode { cpu_ids: Some([2].into_iter().collect()), ..StepNode::default() };
        launch.step = Some(StepLaunch { nodes: vec![own], ..StepLaunch::default() });
        let of_job = confines("0,2,1,3").limits(&launch, &GpuFiles::default());
        assert_eq!(of_job.cpus, Some(vec![2, 1]), "the group is the job's");
        let of_step: Vec<u32> = cpu_ids(&launch).expect("it has some").iter().collect();
        assert_eq!(of_step, [2], "a step has its part");
        launch.confinement = None;
        assert_eq!(
            confines("0,2,1,3").limits(&launch, &GpuFiles::default()).cpus,
            None,
            "not asked for"
        );
    }
}
