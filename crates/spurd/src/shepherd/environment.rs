//! The variables a batch script is started with: what was submitted, and what Slurm tells on top.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use spur_core::filename;
use spur_core::hostlist;
use spur_core::job::JobSpec;
use spur_core::job::array;
use spur_core::jobenv::{self, ArrayFacts, GpuFacts, HereFacts, JobFacts};
use spur_proto::internal::{Component, Launch};

use super::task_hooks::Variables;
use crate::confine;
use crate::machine::limits::Limits;

/// Everything but the number of the process.
pub struct Environment {
    submitted: BTreeMap<Vec<u8>, Vec<u8>>,
    job: JobFacts,
    here: HereFacts,
    /// The variable that marks the run's processes.
    marker: String,
    /// What the script is held to.
    pub limits: Limits,
}

/// Where temporary files go unless the user says otherwise.
pub const TMP_DIR: &str = "/tmp";

impl Environment {
    /// Of a job's batch script.
    pub fn new(
        launch: &Launch,
        spec: &JobSpec,
        marker: String,
        gpus: Option<GpuFacts>,
    ) -> Environment {
        let mut submitted = submitted(&launch.environment);
        forget_choices(&mut submitted, gpus.as_ref());
        let limits = Limits::take(&mut submitted, &launch.let_through);
        let own = launch.shares.first().cloned().unwrap_or_default();
        let shards = confine::shards(launch);
        let here = HereFacts {
            node: own.node,
            node_id: 0,
            cpus: own.cpus,
            topology: launch.topology.clone(),
            tmp_dir: String::new(),
            gpus,
            shards,
        };
        Environment { job: facts(launch, spec, &submitted), submitted, here, marker, limits }
    }

    /// Where the user wants temporary files, if said.
    pub fn tmp_dir(&self) -> Option<&Path> {
        let value = self.submitted.get(b"TMPDIR".as_slice())?;
        Some(Path::new(OsStr::from_bytes(value)))
    }

    /// All of it.
    pub fn for_task(&self, pid: u32, tmp_dir: &Path) -> Variables {
        let mut variables = self.submitted.clone();
        for (name, value) in jobenv::batch(&self.job, &self.here, pid) {
            variables.insert(name.into_bytes(), value.into_bytes());
        }
        variables.insert(b"TMPDIR".to_vec(), tmp_dir.as_os_str().as_bytes().to_vec());
        if let Some((name, value)) = self.marker.split_once('=') {
            variables.insert(name.into(), value.into());
        }
        variables
    }
}

/// What the names of its files are filled in with.
pub(super) fn file_values(launch: &Launch, spec: &JobSpec) -> filename::Values {
    filename::Values {
        job: launch.job,
        node_name: launch.shares.first().map_or(String::new(), |share| share.node.clone()),
        user: launch.user_name.clone(),
        job_name: spec.name.clone(),
        array_job: launch.array_task.map(|_| launch.array_job),
        array_task: launch.array_task,
        ..filename::Values::default()
    }
}

pub(super) fn facts(
    launch: &Launch,
    spec: &JobSpec,
    submitted: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> JobFacts {
    let said = |name: &str| {
        let value = submitted.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value));
        value.unwrap_or_default().into_owned()
    };
    let cpus: Vec<u32> = launch.shares.iter().map(|share| share.cpus).collect();
    JobFacts {
        job_id: launch.job,
        partition: launch.partition.clone(),
        user_name: launch.user_name.clone(),
        uid: launch.uid,
        gid: launch.gid,
        cluster: launch.cluster_name.clone(),
        working_cluster: launch.working_cluster.clone(),
        nodes: hostlist::compress(launch.shares.iter().map(|share| &share.node)),
        // Only sbatch knows from where it was called, and says so in the environment it sends.
        submit_dir: said("SLURM_SUBMIT_DIR"),
        submit_host: said("SLURM_SUBMIT_HOST"),
        restarts: launch.restarts,
        array: array_facts(launch, spec),
        components: launch.components.iter().map(|it| component(launch, it)).collect(),
        ..JobFacts::of_spec(spec, &cpus)
    }
}

/// What its variables tell about one component of a heterogeneous job.
fn component(launch: &Launch, it: &Component) -> JobFacts {
    let spec = it.spec.clone().unwrap_or_default();
    let cpus: Vec<u32> = it.shares.iter().map(|share| share.cpus).collect();
    JobFacts {
        job_id: it.job,
        partition: it.partition.clone(),
        user_name: launch.user_name.clone(),
        uid: launch.uid,
        gid: launch.gid,
        cluster: launch.cluster_name.clone(),
        nodes: hostlist::compress(it.shares.iter().map(|share| &share.node)),
        ..JobFacts::of_spec(&spec, &cpus)
    }
}

/// Its place in an array, and the array's own numbers as they were asked for.
fn array_facts(launch: &Launch, spec: &JobSpec) -> Option<ArrayFacts> {
    let task_id = launch.array_task?;
    let tasks = array::parse(&spec.array, u32::MAX).ok()??;
    // Of several ranges the last step that was said holds for all of it, as Slurm tells it.
    let step =
        tasks.ranges.iter().rev().map(|range| range.step).find(|step| *step > 1).unwrap_or(1);
    Some(ArrayFacts {
        job_id: launch.array_job,
        task_id,
        count: tasks.ids().count() as u32,
        min: tasks.first().unwrap_or(task_id),
        max: tasks.ranges.iter().map(|range| range.last).max().unwrap_or(task_id),
        step,
    })
}

/// Reads `NAME=value` entries, each ended by a NUL byte.
pub(super) fn submitted(bytes: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| {
        let equals = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
        Some((entry[..equals].to_vec(), entry[equals + 1..].to_vec()))
    });
    entries.collect()
}

/// Takes out what chooses among the GPUs of another place; the variables that hold here come later.
pub(super) fn forget_choices(submitted: &mut BTreeMap<Vec<u8>, Vec<u8>>, gpus: Option<&GpuFacts>) {
    if gpus.is_some_and(|gpus| !gpus.given.is_empty()) {
        submitted.retain(|name, _| !jobenv::GPU_CHOICES.iter().any(|it| it.as_bytes() == name));
    }
}

#[cfg(test)]
mod tests {
    use super::super::task_hooks;
    use super::*;
    use spur_proto::internal::NodeShare;

    #[test]
    fn choices_among_other_gpus_are_forgotten_where_there_are_some() {
        let text = b"HIP_VISIBLE_DEVICES=4\0CUDA_VISIBLE_DEVICES=4\0A=1\0";
        let mut variables = submitted(text);
        forget_choices(&mut variables, None);
        assert_eq!(variables.len(), 3);
        forget_choices(&mut variables, Some(&GpuFacts::declared(&[0])));
        assert_eq!(variables.keys().collect::<Vec<_>>(), [&b"A".to_vec()]);
    }

    #[test]
    fn a_submitted_variable_gives_way_to_slurms() {
        let launch = Launch {
            job: 7,
            epoch: 2,
            restarts: 1,
            shares: vec![NodeShare { node: "n1".to_string(), cpus: 2, ..NodeShare::default() }],
            environment: b"A=1\0SLURM_JOB_ID=3\0=bad\0B==\0\xff=\xfe\0".to_vec(),
            ..Launch::default()
        };
        let environment =
            Environment::new(&launch, &JobSpec::default(), "SPUR_RUN=x".to_string(), None);
        let entries = task_hooks::entries(&environment.for_task(12, Path::new("/there")));
        let expected = [
            c"A=1",
            c"B==",
            c"\xff=\xfe",
            c"SLURM_JOB_ID=7",
            c"SLURM_JOB_NODELIST=n1",
            c"SLURM_CPUS_ON_NODE=2",
            c"SLURM_RESTART_COUNT=1",
            c"SLURM_TASK_PID=12",
            c"SPUR_RUN=x",
            c"TMPDIR=/there",
        ];
        for entry in expected {
            assert!(entries.iter().any(|it| it.as_c_str() == entry), "{entry:?}");
        }
        assert!(!entries.iter().any(|it| it.as_c_str() == c"SLURM_JOB_ID=3"));
    }
}
