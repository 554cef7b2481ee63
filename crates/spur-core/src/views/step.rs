//! A step as `squeue -s` and `scontrol show step` see it.

use crate::limit::Limit;

/// One running step.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct StepView {
    #[prost(uint32, tag = "1")]
    pub job_id: u32,
    /// The array the job belongs to; 0 for none.
    #[prost(uint32, tag = "2")]
    pub array_job_id: u32,
    #[prost(uint32, optional, tag = "3")]
    pub array_task_id: Option<u32>,
    #[prost(uint32, tag = "4")]
    pub het_job_id: u32,
    #[prost(uint32, tag = "5")]
    pub het_job_offset: u32,
    /// `0`, `1`, `batch`, `extern` or `interactive`.
    #[prost(string, tag = "6")]
    pub step_id: String,
    #[prost(string, tag = "7")]
    pub name: String,
    #[prost(string, tag = "8")]
    pub user_name: String,
    #[prost(uint32, tag = "9")]
    pub uid: u32,
    #[prost(string, tag = "10")]
    pub partition: String,
    /// Slurm's number, as of jobs.
    #[prost(uint32, tag = "11")]
    pub state: u32,
    #[prost(int64, tag = "12")]
    pub start_time: i64,
    #[prost(int64, tag = "13")]
    pub suspended_secs: i64,
    /// Minutes.
    #[prost(message, optional, tag = "14")]
    pub time_limit: Option<Limit>,
    /// Compressed.
    #[prost(string, tag = "15")]
    pub nodes: String,
    #[prost(uint32, tag = "16")]
    pub num_nodes: u32,
    #[prost(uint32, tag = "17")]
    pub num_tasks: u32,
    #[prost(uint32, tag = "18")]
    pub num_cpus: u32,
    #[prost(string, tag = "19")]
    pub cluster: String,
    #[prost(string, tag = "20")]
    pub container: String,
    #[prost(string, tag = "21")]
    pub container_id: String,
    #[prost(string, tag = "22")]
    pub network: String,
    #[prost(string, tag = "23")]
    pub reserved_ports: String,
    #[prost(string, tag = "24")]
    pub tres_allocated: String,
    #[prost(string, tag = "25")]
    pub tres_per_step: String,
    #[prost(string, tag = "26")]
    pub tres_per_node: String,
    #[prost(string, tag = "27")]
    pub tres_per_socket: String,
    #[prost(string, tag = "28")]
    pub tres_per_task: String,
    #[prost(string, tag = "29")]
    pub tres_bind: String,
    #[prost(string, tag = "30")]
    pub tres_freq: String,
    #[prost(string, tag = "31")]
    pub cpus_per_tres: String,
    #[prost(string, tag = "32")]
    pub memory_per_tres: String,
    #[prost(string, tag = "33")]
    pub cpu_frequency: String,
    #[prost(string, tag = "34")]
    pub distribution: String,
    #[prost(string, tag = "35")]
    pub submit_line: String,
    #[prost(string, tag = "36")]
    pub srun_host: String,
    #[prost(uint32, tag = "37")]
    pub srun_pid: u32,
    #[prost(string, tag = "38")]
    pub standard_input: String,
    #[prost(string, tag = "39")]
    pub standard_output: String,
    #[prost(string, tag = "40")]
    pub standard_error: String,
    /// While its job is paused: how long it had run.
    #[prost(int64, optional, tag = "41")]
    pub run_secs_before_suspend: Option<i64>,
}
