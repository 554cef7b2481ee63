//! A partition as `sinfo` and its relatives see it.

use crate::limit::Limit;

/// One partition as shown.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct PartitionView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bool, tag = "2")]
    pub is_default: bool,
    /// Whether jobs may start in it.
    #[prost(bool, tag = "3")]
    pub is_up: bool,
    /// Minutes.
    #[prost(message, optional, tag = "4")]
    pub max_time: Option<Limit>,
    /// Minutes.
    #[prost(message, optional, tag = "5")]
    pub default_time: Option<Limit>,
    /// Compressed, as `n[1-4]`.
    #[prost(string, tag = "6")]
    pub nodes: String,
    /// `UP`, `DOWN`, `DRAIN` or `INACTIVE`; empty counts as what `is_up` says.
    #[prost(string, tag = "7")]
    pub state: String,
    #[prost(uint32, tag = "8")]
    pub total_nodes: u32,
    #[prost(uint32, tag = "9")]
    pub total_cpus: u32,
    #[prost(string, tag = "10")]
    pub allow_alloc_nodes: String,
    #[prost(string, tag = "11")]
    pub allow_accounts: String,
    #[prost(string, tag = "12")]
    pub deny_accounts: String,
    #[prost(string, tag = "13")]
    pub allow_groups: String,
    #[prost(string, tag = "14")]
    pub allow_qos: String,
    #[prost(string, tag = "15")]
    pub deny_qos: String,
    #[prost(string, tag = "16")]
    pub qos: String,
    #[prost(string, tag = "17")]
    pub alternate: String,
    #[prost(string, tag = "18")]
    pub billing_weights: String,
    #[prost(string, tag = "19")]
    pub tres: String,
    #[prost(uint64, optional, tag = "20")]
    pub default_memory_per_cpu_mb: Option<u64>,
    #[prost(uint64, optional, tag = "21")]
    pub default_memory_per_node_mb: Option<u64>,
    #[prost(uint64, optional, tag = "22")]
    pub max_memory_per_cpu_mb: Option<u64>,
    #[prost(uint64, optional, tag = "23")]
    pub max_memory_per_node_mb: Option<u64>,
    /// Unset counts as unlimited.
    #[prost(message, optional, tag = "24")]
    pub max_cpus_per_node: Option<Limit>,
    /// Unset counts as unlimited.
    #[prost(message, optional, tag = "25")]
    pub max_cpus_per_socket: Option<Limit>,
    /// Unset counts as unlimited.
    #[prost(message, optional, tag = "26")]
    pub max_nodes: Option<Limit>,
    #[prost(uint32, tag = "27")]
    pub min_nodes: u32,
    /// `NO`, `EXCLUSIVE`, `YES:4` or `FORCE:4`.
    #[prost(string, tag = "28")]
    pub over_subscribe: String,
    /// Minutes.
    #[prost(message, optional, tag = "29")]
    pub over_time_limit: Option<Limit>,
    #[prost(uint32, tag = "30")]
    pub priority_job_factor: u32,
    #[prost(uint32, tag = "31")]
    pub priority_tier: u32,
    #[prost(string, tag = "32")]
    pub preempt_mode: String,
    #[prost(uint32, tag = "33")]
    pub grace_secs: u32,
    #[prost(bool, tag = "34")]
    pub root_only: bool,
    #[prost(bool, tag = "35")]
    pub hidden: bool,
    #[prost(bool, tag = "36")]
    pub disable_root_jobs: bool,
    #[prost(bool, tag = "37")]
    pub reservation_required: bool,
    #[prost(bool, tag = "38")]
    pub least_loaded_nodes: bool,
    #[prost(bool, tag = "39")]
    pub exclusive_user: bool,
    #[prost(bool, tag = "40")]
    pub power_down_on_idle: bool,
    #[prost(uint32, optional, tag = "41")]
    pub resume_timeout_secs: Option<u32>,
    #[prost(uint32, optional, tag = "42")]
    pub suspend_timeout_secs: Option<u32>,
    #[prost(uint32, optional, tag = "43")]
    pub suspend_time_secs: Option<u32>,
    #[prost(string, tag = "44")]
    pub job_defaults: String,
    #[prost(string, tag = "45")]
    pub node_sets: String,
    #[prost(uint32, tag = "46")]
    pub cpu_binding: u32,
}
