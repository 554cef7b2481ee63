//! A job as `squeue` and its relatives see it.

use crate::limit::Limit;

/// One job, or one pending array, as shown. Times are seconds since the epoch; 0 means "not yet".
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct JobView {
    #[prost(uint32, tag = "1")]
    pub job_id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub partition: String,
    #[prost(string, tag = "4")]
    pub account: String,
    #[prost(uint32, tag = "5")]
    pub uid: u32,
    #[prost(uint32, tag = "6")]
    pub gid: u32,
    /// The owner's name, as the controller's machine knows it.
    #[prost(string, tag = "7")]
    pub user_name: String,
    /// Slurm's number of the base state, flags in the bits above; see `job/state.rs`.
    #[prost(uint32, tag = "8")]
    pub state: u32,
    /// Slurm's number of the reason; see `job/reason.rs`.
    #[prost(uint32, tag = "9")]
    pub reason: u32,
    #[prost(int64, tag = "10")]
    pub submit_time: i64,
    #[prost(int64, tag = "11")]
    pub start_time: i64,
    #[prost(int64, tag = "12")]
    pub end_time: i64,
    /// Minutes.
    #[prost(message, optional, tag = "13")]
    pub time_limit: Option<Limit>,
    /// Compressed, as `n[1-4]`.
    #[prost(string, tag = "14")]
    pub nodes: String,
    #[prost(uint32, tag = "15")]
    pub num_nodes: u32,
    #[prost(uint32, tag = "16")]
    pub num_tasks: u32,
    #[prost(uint32, tag = "17")]
    pub num_cpus: u32,
    #[prost(uint32, tag = "18")]
    pub priority: u32,
    /// As `wait(2)` gives it: the exit code above eight bits of signal.
    #[prost(uint32, tag = "19")]
    pub exit_status: u32,
    #[prost(string, tag = "20")]
    pub work_dir: String,
    #[prost(string, tag = "21")]
    pub command: String,
    #[prost(string, tag = "22")]
    pub standard_output: String,
    #[prost(string, tag = "23")]
    pub standard_error: String,
    #[prost(string, tag = "24")]
    pub batch_host: String,
    /// How often the job was started again.
    #[prost(uint32, tag = "25")]
    pub restarts: u32,
}
