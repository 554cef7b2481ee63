//! Steps: what `srun` asks for.

pub mod binding;
pub mod gpus;
pub mod layout;
pub mod refusal;

use crate::job::JobSpec;

/// A step as asked for.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct StepSpec {
    /// `--label`: each line of output starts with the task's number.
    #[prost(bool, tag = "1")]
    pub label: bool,
    /// Tasks, resources, files and names, in the words of a job.
    #[prost(message, optional, boxed, tag = "2")]
    pub request: Option<Box<JobSpec>>,
    /// `--unbuffered`
    #[prost(bool, tag = "3")]
    pub unbuffered: bool,
    /// `--pty`: a terminal for task zero.
    #[prost(bool, tag = "4")]
    pub pty: bool,
    /// `--cpu-bind`
    #[prost(string, tag = "5")]
    pub cpu_bind: String,
    /// `--accel-bind`
    #[prost(string, tag = "6")]
    pub accel_bind: String,
    /// `--mpi`
    #[prost(string, tag = "7")]
    pub mpi: String,
    /// `--multi-prog`: the command is a file that says who runs what.
    #[prost(bool, tag = "8")]
    pub multi_prog: bool,
    /// `--overlap`: share the job's resources with other steps.
    #[prost(bool, tag = "9")]
    pub overlap: bool,
    /// `--exact` or `--exclusive`: take no more than asked for.
    #[prost(bool, tag = "10")]
    pub exact: bool,
    /// `--whole`: take everything the job has on the nodes.
    #[prost(bool, tag = "11")]
    pub whole: bool,
    /// `--kill-on-bad-exit`
    #[prost(bool, optional, tag = "12")]
    pub kill_on_bad_exit: Option<bool>,
    /// `--wait`: seconds between the first task's end and the end of the others.
    #[prost(uint32, optional, tag = "13")]
    pub wait_secs: Option<u32>,
    /// `--relative`: the first node, counted within the job.
    #[prost(uint32, optional, tag = "14")]
    pub relative: Option<u32>,
    /// `--task-prolog`
    #[prost(string, tag = "15")]
    pub task_prolog: String,
    /// `--task-epilog`
    #[prost(string, tag = "16")]
    pub task_epilog: String,
    /// `--preserve-env`: leave the variables about nodes and tasks alone.
    #[prost(bool, tag = "17")]
    pub preserve_env: bool,
    /// `--bcast`: copy the program to this path on each node; empty for a default.
    #[prost(string, optional, tag = "18")]
    pub bcast: Option<String>,
    /// `--bcast-exclude`
    #[prost(string, tag = "19")]
    pub bcast_exclude: String,
    /// `--compress`
    #[prost(string, optional, tag = "20")]
    pub compress: Option<String>,
    /// `--send-libs`
    #[prost(bool, optional, tag = "21")]
    pub send_libs: Option<bool>,
    /// `--het-group`: which components of a heterogeneous job.
    #[prost(string, tag = "22")]
    pub het_group: String,
    /// `--interactive`: the step of an interactive allocation.
    #[prost(bool, tag = "23")]
    pub interactive: bool,
    /// `--slurmd-debug`: how much the node agent prints.
    #[prost(uint32, optional, tag = "24")]
    pub slurmd_debug: Option<u32>,
    /// `--external-launcher`: the tasks are started by somebody else.
    #[prost(string, optional, tag = "25")]
    pub external_launcher: Option<String>,
    /// `--wait-for-children`: a task ends with the last of its processes.
    #[prost(bool, tag = "26")]
    pub wait_for_children: bool,
    /// `--treewidth`
    #[prost(uint32, optional, tag = "27")]
    pub treewidth: Option<u32>,
    /// `SLURM_STEP_GRES`: what the step takes of the job's generic resources.
    #[prost(string, tag = "28")]
    pub gres: String,
    /// The machine that `srun` runs on.
    #[prost(string, tag = "60")]
    pub srun_host: String,
    /// Its process there.
    #[prost(uint32, tag = "61")]
    pub srun_pid: u32,
    /// The kind at the end of `cpu_bind` follows from other options.
    #[prost(bool, tag = "62")]
    pub cpu_bind_implied: bool,
}
