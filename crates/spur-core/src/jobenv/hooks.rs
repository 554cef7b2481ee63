//! The environment of the programs that a site has run around a job on its nodes: Slurm's variables about
//! the job, and nothing that the user could have named.

use super::{HereFacts, JobFacts, batch};

/// What such a program is told beside what the job itself is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookFacts {
    /// When it is run: `prolog_slurmd`.
    pub context: &'static str,
    /// `--comment`
    pub comment: String,
    /// `--constraint`
    pub constraints: String,
    /// Where the job runs.
    pub work_dir: String,
    /// Where it reads from.
    pub input: String,
    /// Where it writes to.
    pub output: String,
    /// Where its errors go, if not there.
    pub error: String,
    /// Tasks, where they were asked for.
    pub tasks: Option<u32>,
}

/// Variables that a batch script has too.
const SHARED: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ROCR_VISIBLE_DEVICES",
    "SLURMD_NODENAME",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_CLUSTER_NAME",
    "SLURM_JOBID",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_GID",
    "SLURM_JOB_GPUS",
    "SLURM_JOB_ID",
    "SLURM_JOB_LICENSES",
    "SLURM_JOB_NAME",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_JOB_RESERVATION",
    "SLURM_JOB_UID",
    "SLURM_JOB_USER",
    "SLURM_NODELIST",
    "ZE_AFFINITY_MASK",
];

type Row = (&'static str, fn(&JobFacts, &HookFacts) -> Option<String>);

/// Variables of its own.
#[rustfmt::skip]
static OWN: &[Row] = &[
    ("SLURM_JOB_COMMENT", |_, hook| text(&hook.comment)),
    ("SLURM_JOB_CONSTRAINTS", |_, hook| text(&hook.constraints)),
    ("SLURM_JOB_NTASKS", |_, hook| hook.tasks.map(|tasks| tasks.to_string())),
    ("SLURM_JOB_RESTART_COUNT", |job, _| Some(job.restarts.to_string())),
    ("SLURM_JOB_STDERR", |_, hook| text(&hook.error)),
    ("SLURM_JOB_STDIN", |_, hook| text(&hook.input)),
    ("SLURM_JOB_STDOUT", |_, hook| text(&hook.output)),
    ("SLURM_JOB_WORK_DIR", |_, hook| text(&hook.work_dir)),
    ("SLURM_SCRIPT_CONTEXT", |_, hook| text(hook.context)),
    ("SLURM_UID", |job, _| Some(job.uid.to_string())),
];

/// All of it. Values with a NUL byte in them are left out.
pub fn hook(job: &JobFacts, here: &HereFacts, hook: &HookFacts) -> Vec<(String, String)> {
    let mut variables = batch(job, here, 0);
    variables.retain(|(name, _)| SHARED.contains(&name.as_str()));
    let own = OWN.iter().filter_map(|(name, get)| Some(((*name).to_string(), get(job, hook)?)));
    variables.extend(own);
    variables.retain(|(_, value)| !value.contains('\0'));
    variables.sort();
    variables
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prolog_is_told_what_slurm_tells_one() {
        let job = JobFacts {
            job_id: 1,
            account: "root".to_string(),
            partition: "debug".to_string(),
            user_name: "root".to_string(),
            cluster: "oracle".to_string(),
            nodes: "n[1-2]".to_string(),
            cpus_per_node: vec![1, 1],
            ..JobFacts::default()
        };
        let here = HereFacts { node: "n2".to_string(), cpus: 1, ..HereFacts::default() };
        let facts = HookFacts {
            context: "prolog_slurmd",
            comment: "a comment".to_string(),
            work_dir: "/tmp".to_string(),
            input: "/dev/null".to_string(),
            output: "/tmp/out\0".to_string(),
            tasks: Some(2),
            ..HookFacts::default()
        };
        let told: Vec<String> =
            hook(&job, &here, &facts).into_iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            told,
            [
                "SLURMD_NODENAME=n2",
                "SLURM_CLUSTER_NAME=oracle",
                "SLURM_JOBID=1",
                "SLURM_JOB_ACCOUNT=root",
                "SLURM_JOB_COMMENT=a comment",
                "SLURM_JOB_CPUS_PER_NODE=1(x2)",
                "SLURM_JOB_GID=0",
                "SLURM_JOB_ID=1",
                "SLURM_JOB_NODELIST=n[1-2]",
                "SLURM_JOB_NTASKS=2",
                "SLURM_JOB_NUM_NODES=2",
                "SLURM_JOB_PARTITION=debug",
                "SLURM_JOB_RESTART_COUNT=0",
                "SLURM_JOB_STDIN=/dev/null",
                "SLURM_JOB_UID=0",
                "SLURM_JOB_USER=root",
                "SLURM_JOB_WORK_DIR=/tmp",
                "SLURM_NODELIST=n[1-2]",
                "SLURM_SCRIPT_CONTEXT=prolog_slurmd",
                "SLURM_UID=0",
            ]
        );
    }
}
