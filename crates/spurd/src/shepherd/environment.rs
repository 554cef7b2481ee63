//! The variables a batch script is started with.

use std::collections::BTreeMap;
use std::ffi::CString;

use spur_core::hostlist;
use spur_core::job::JobSpec;
use spur_proto::internal::{Launch, NodeShare};

/// Variables by name, each once.
pub struct Environment(BTreeMap<Vec<u8>, Vec<u8>>);

impl Environment {
    fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.into(), value.to_string().into_bytes());
    }

    /// As `execve` wants it, with the number of the process it is for.
    pub fn for_task(&self, pid: u32) -> Vec<CString> {
        let mut entries = vec![CString::new(format!("SLURM_TASK_PID={pid}")).unwrap_or_default()];
        for (name, value) in &self.0 {
            entries.extend(CString::new([name.as_slice(), b"=", value].concat()));
        }
        entries
    }
}

/// What was submitted, and what Slurm tells a batch script on top.
pub fn of_batch(launch: &Launch, spec: &JobSpec, marker: String) -> Environment {
    let mut environment = submitted(&launch.environment);
    let own = launch.shares.first().cloned().unwrap_or_default();
    let nodes = hostlist::compress(launch.shares.iter().map(|share| &share.node));
    let cpus = repeated(launch.shares.iter().map(|share| share.cpus));
    let per_task = spec.cpus_per_task.unwrap_or(1).max(1);
    let tasks = repeated(launch.shares.iter().map(|share| (share.cpus / per_task).max(1)));
    let account = if spec.account.is_empty() { &launch.user_name } else { &spec.account };
    let NodeShare { node, cpus: own_cpus } = &own;
    let values: [(&str, &dyn ToString); _] = [
        ("ENVIRONMENT", &"BATCH"),
        ("HOSTNAME", node),
        ("SLURMD_NODENAME", node),
        ("SLURM_CLUSTER_NAME", &launch.cluster_name),
        ("SLURM_CPUS_ON_NODE", own_cpus),
        ("SLURM_GTIDS", &0),
        ("SLURM_JOBID", &launch.job),
        ("SLURM_JOB_ACCOUNT", account),
        ("SLURM_JOB_CPUS_PER_NODE", &cpus),
        ("SLURM_JOB_GID", &launch.gid),
        ("SLURM_JOB_ID", &launch.job),
        ("SLURM_JOB_NAME", &spec.name),
        ("SLURM_JOB_NODELIST", &nodes),
        ("SLURM_JOB_NUM_NODES", &launch.shares.len()),
        ("SLURM_JOB_PARTITION", &launch.partition),
        ("SLURM_JOB_UID", &launch.uid),
        ("SLURM_JOB_USER", &launch.user_name),
        ("SLURM_LOCALID", &0),
        ("SLURM_NNODES", &launch.shares.len()),
        ("SLURM_NODEID", &0),
        ("SLURM_NODELIST", &nodes),
        ("SLURM_PRIO_PROCESS", &0),
        ("SLURM_PROCID", &0),
        ("SLURM_TASKS_PER_NODE", &tasks),
        ("TMPDIR", &"/tmp"),
    ];
    for (name, value) in values {
        environment.set(name, value.to_string());
    }
    if let Some(tasks) = spec.ntasks {
        environment.set("SLURM_NTASKS", tasks);
        environment.set("SLURM_NPROCS", tasks);
    }
    if let Some((name, value)) = marker.split_once('=') {
        environment.set(name, value);
    }
    environment
}

/// Reads `NAME=value` entries, each ended by a NUL byte.
fn submitted(bytes: &[u8]) -> Environment {
    let entries = bytes.split(|byte| *byte == 0).filter_map(|entry| {
        let equals = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
        Some((entry[..equals].to_vec(), entry[equals + 1..].to_vec()))
    });
    Environment(entries.collect())
}

/// Slurm's short form of a number for each node: `4(x3),2`.
fn repeated(numbers: impl Iterator<Item = u32>) -> String {
    let mut groups: Vec<(u32, usize)> = Vec::new();
    for number in numbers {
        match groups.last_mut() {
            Some((same, count)) if *same == number => *count += 1,
            _ => groups.push((number, 1)),
        }
    }
    let spell = |(number, count)| match count {
        1 => format!("{number}"),
        _ => format!("{number}(x{count})"),
    };
    groups.into_iter().map(spell).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_counted() {
        assert_eq!(repeated([4, 4, 2, 4].into_iter()), "4(x2),2,4");
    }

    #[test]
    fn a_submitted_variable_gives_way_to_slurms() {
        let launch = Launch {
            job: 7,
            environment: b"A=1\0SLURM_JOB_ID=3\0=bad\0B==\0".to_vec(),
            ..Launch::default()
        };
        let environment = of_batch(&launch, &JobSpec::default(), "SPUR_RUN=x".to_string());
        let entries = environment.for_task(12);
        for entry in [c"A=1", c"B==", c"SLURM_JOB_ID=7", c"SPUR_RUN=x", c"SLURM_TASK_PID=12"] {
            assert!(entries.iter().any(|it| it.as_c_str() == entry), "{entry:?}");
        }
        assert!(!entries.iter().any(|it| it.as_c_str() == c"SLURM_JOB_ID=3"));
    }
}
