//! A job or a step as `sacct` and `sstat` see it.

use crate::limit::Limit;

/// One line of `sacct`: a job, or a step of it.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AccountingView {
    #[prost(string, tag = "1")]
    pub cluster: String,
    #[prost(uint32, tag = "2")]
    pub job_id: u32,
    #[prost(uint32, tag = "3")]
    pub array_job_id: u32,
    #[prost(uint32, optional, tag = "4")]
    pub array_task_id: Option<u32>,
    #[prost(string, tag = "5")]
    pub array_task_string: String,
    #[prost(uint32, tag = "6")]
    pub array_max_tasks: u32,
    #[prost(uint32, tag = "7")]
    pub het_job_id: u32,
    #[prost(uint32, tag = "8")]
    pub het_job_offset: u32,
    /// Empty for the job itself; `0`, `batch`, `extern`.
    #[prost(string, tag = "9")]
    pub step_id: String,
    #[prost(string, tag = "10")]
    pub name: String,
    #[prost(string, tag = "11")]
    pub account: String,
    #[prost(string, tag = "12")]
    pub user_name: String,
    #[prost(uint32, tag = "13")]
    pub uid: u32,
    #[prost(string, tag = "14")]
    pub group_name: String,
    #[prost(uint32, tag = "15")]
    pub gid: u32,
    #[prost(string, tag = "16")]
    pub partition: String,
    #[prost(string, tag = "17")]
    pub qos: String,
    #[prost(uint32, tag = "18")]
    pub qos_id: u32,
    #[prost(string, tag = "19")]
    pub qos_requested: String,
    #[prost(uint32, tag = "20")]
    pub association_id: u32,
    #[prost(string, tag = "21")]
    pub wckey: String,
    #[prost(uint32, tag = "22")]
    pub wckey_id: u32,
    /// Slurm's number, as of jobs.
    #[prost(uint32, tag = "23")]
    pub state: u32,
    /// Who cancelled it.
    #[prost(uint32, optional, tag = "24")]
    pub cancelled_by: Option<u32>,
    #[prost(uint32, tag = "25")]
    pub reason: u32,
    #[prost(uint32, tag = "26")]
    pub exit_status: u32,
    #[prost(uint32, tag = "27")]
    pub derived_exit_status: u32,
    #[prost(int64, tag = "28")]
    pub submit_time: i64,
    #[prost(int64, tag = "29")]
    pub eligible_time: i64,
    #[prost(int64, tag = "30")]
    pub start_time: i64,
    #[prost(int64, tag = "31")]
    pub end_time: i64,
    #[prost(int64, tag = "32")]
    pub suspended_secs: i64,
    /// Minutes.
    #[prost(message, optional, tag = "33")]
    pub time_limit: Option<Limit>,
    /// Compressed.
    #[prost(string, tag = "34")]
    pub nodes: String,
    #[prost(uint32, tag = "35")]
    pub node_count: u32,
    #[prost(uint32, tag = "36")]
    pub nodes_requested: u32,
    #[prost(uint32, tag = "37")]
    pub cpus_allocated: u32,
    #[prost(uint32, tag = "38")]
    pub cpus_requested: u32,
    #[prost(uint32, tag = "39")]
    pub tasks: u32,
    #[prost(uint64, optional, tag = "40")]
    pub memory_per_cpu_mb: Option<u64>,
    #[prost(uint64, optional, tag = "41")]
    pub memory_per_node_mb: Option<u64>,
    /// In the order of names: `billing=4,cpu=4,mem=4000M,node=2`.
    #[prost(string, tag = "42")]
    pub tres_allocated: String,
    #[prost(string, tag = "43")]
    pub tres_requested: String,
    #[prost(uint32, tag = "44")]
    pub priority: u32,
    #[prost(string, tag = "45")]
    pub reservation: String,
    #[prost(uint32, tag = "46")]
    pub reservation_id: u32,
    #[prost(string, tag = "47")]
    pub constraints: String,
    #[prost(string, tag = "48")]
    pub comment: String,
    #[prost(string, tag = "49")]
    pub admin_comment: String,
    #[prost(string, tag = "50")]
    pub system_comment: String,
    #[prost(string, tag = "51")]
    pub extra: String,
    #[prost(string, tag = "52")]
    pub container: String,
    #[prost(string, repeated, tag = "53")]
    pub flags: Vec<String>,
    #[prost(string, tag = "54")]
    pub licenses: String,
    #[prost(string, tag = "55")]
    pub mcs_label: String,
    #[prost(string, tag = "56")]
    pub work_dir: String,
    #[prost(string, tag = "57")]
    pub submit_line: String,
    #[prost(string, tag = "58")]
    pub standard_input: String,
    #[prost(string, tag = "59")]
    pub standard_output: String,
    #[prost(string, tag = "60")]
    pub standard_error: String,
    /// How tasks are laid out; steps only.
    #[prost(string, tag = "61")]
    pub layout: String,
    #[prost(string, tag = "62")]
    pub failed_node: String,
    #[prost(uint32, tag = "63")]
    pub restarts: u32,
    #[prost(uint64, tag = "64")]
    pub user_cpu_micros: u64,
    #[prost(uint64, tag = "65")]
    pub system_cpu_micros: u64,
    #[prost(uint64, tag = "66")]
    pub cpu_frequency_khz: u64,
    #[prost(string, tag = "67")]
    pub requested_cpu_frequency_min: String,
    #[prost(string, tag = "68")]
    pub requested_cpu_frequency_max: String,
    #[prost(string, tag = "69")]
    pub requested_cpu_frequency_governor: String,
    #[prost(uint64, optional, tag = "70")]
    pub consumed_energy_joules: Option<u64>,
    /// What tasks took in, by name; steps only.
    #[prost(message, repeated, tag = "71")]
    pub usage_in: Vec<TresUsage>,
    /// What tasks put out, by name; steps only.
    #[prost(message, repeated, tag = "72")]
    pub usage_out: Vec<TresUsage>,
    /// Steps of a job, for JSON.
    #[prost(message, repeated, tag = "73")]
    pub steps: Vec<AccountingView>,
    #[prost(uint64, tag = "74")]
    pub database_index: u64,
    #[prost(uint32, tag = "75")]
    pub segment_size: u32,
    #[prost(string, tag = "76")]
    pub sluid: String,
    /// Processes; running steps only.
    #[prost(string, tag = "77")]
    pub pids: String,
    /// Names what was run and with which variables, where the site keeps that.
    #[prost(string, tag = "78")]
    pub script_hash: String,
    #[prost(string, tag = "79")]
    pub environment_hash: String,
    /// The texts themselves; only for those who ask, and may.
    #[prost(bytes = "vec", tag = "80")]
    pub script: Vec<u8>,
    #[prost(bytes = "vec", tag = "81")]
    pub environment: Vec<u8>,
}

/// Something accounting is told. Each is applied once, in the order of the numbers.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AccountingRecord {
    /// Counts the records of one log from 1, without gaps.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Which run of its job this is about; each has a row of its own.
    #[prost(uint32, tag = "2")]
    pub run: u32,
    /// The row as it stands now.
    #[prost(message, optional, tag = "3")]
    pub job: Option<AccountingView>,
    /// A node's trouble, or what the cluster has, as it stands now.
    #[prost(message, optional, tag = "4")]
    pub event: Option<EventView>,
    /// Script and environment, where the site keeps them; with the first word about a job.
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub texts: Vec<Vec<u8>>,
}

/// A node that was out of service for a time, or what a cluster had.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct EventView {
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// Empty for the cluster itself.
    #[prost(string, tag = "2")]
    pub node: String,
    #[prost(int64, tag = "3")]
    pub start_time: i64,
    /// 0 while it lasts.
    #[prost(int64, tag = "4")]
    pub end_time: i64,
    /// `DOWN`, `DRAIN`; empty for the cluster.
    #[prost(string, tag = "5")]
    pub state: String,
    #[prost(string, tag = "6")]
    pub reason: String,
    /// Who said so.
    #[prost(uint32, optional, tag = "7")]
    pub uid: Option<u32>,
    /// What the node or the cluster has: `cpu=4,mem=4000M,node=1`.
    #[prost(string, tag = "8")]
    pub tres: String,
    /// The cluster's nodes, compressed.
    #[prost(string, tag = "9")]
    pub nodes: String,
    /// A reservation that kept nodes, by its name; it is no node's trouble. Its state are its flags.
    #[prost(string, tag = "10")]
    pub reservation: String,
    /// Who it was kept for: what they did not use of it is charged to them.
    #[prost(string, repeated, tag = "11")]
    pub users: Vec<String>,
    #[prost(string, repeated, tag = "12")]
    pub accounts: Vec<String>,
}

/// What jobs used within a time, by whom they are charged to and how large they were.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UsageView {
    #[prost(string, tag = "1")]
    pub cluster: String,
    #[prost(string, tag = "2")]
    pub account: String,
    #[prost(string, tag = "3")]
    pub user_name: String,
    #[prost(uint32, tag = "4")]
    pub uid: u32,
    #[prost(string, tag = "5")]
    pub wckey: String,
    #[prost(uint32, tag = "6")]
    pub cpus: u32,
    #[prost(uint64, tag = "7")]
    pub jobs: u64,
    /// Seconds of each resource.
    #[prost(message, repeated, tag = "8")]
    pub seconds: Vec<TresSeconds>,
    /// Processors times seconds that jobs waited though they could have started.
    #[prost(uint64, tag = "9")]
    pub planned_cpu_seconds: u64,
    #[prost(uint32, tag = "10")]
    pub gid: u32,
    /// Of the jobs, those that began within the time.
    #[prost(uint64, tag = "11")]
    pub began: u64,
}

/// Seconds of one resource.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TresSeconds {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub seconds: u64,
}

/// How much of one resource the tasks of a step used.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TresUsage {
    /// `cpu` (milliseconds), `mem` and `vmem` (bytes), `pages`, `energy`, `fs/disk` (bytes).
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub max: u64,
    #[prost(string, tag = "3")]
    pub max_node: String,
    #[prost(uint32, tag = "4")]
    pub max_task: u32,
    #[prost(uint64, tag = "5")]
    pub min: u64,
    #[prost(string, tag = "6")]
    pub min_node: String,
    #[prost(uint32, tag = "7")]
    pub min_task: u32,
    #[prost(uint64, tag = "8")]
    pub average: u64,
    #[prost(uint64, tag = "9")]
    pub total: u64,
}
