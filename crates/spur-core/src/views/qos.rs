//! A QOS as `sacctmgr show qos` sees it.

use crate::limit::Limit;

/// One QOS.
#[derive(Clone, PartialEq, prost::Message)]
pub struct QosView {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub description: String,
    #[prost(uint32, tag = "4")]
    pub priority: u32,
    #[prost(string, repeated, tag = "5")]
    pub flags: Vec<String>,
    #[prost(uint32, tag = "6")]
    pub grace_secs: u32,
    #[prost(string, repeated, tag = "7")]
    pub preempt: Vec<String>,
    #[prost(string, tag = "8")]
    pub preempt_mode: String,
    #[prost(uint32, optional, tag = "9")]
    pub preempt_exempt_secs: Option<u32>,
    #[prost(double, tag = "10")]
    pub usage_factor: f64,
    #[prost(double, optional, tag = "11")]
    pub usage_threshold: Option<f64>,
    #[prost(double, optional, tag = "12")]
    pub limit_factor: Option<f64>,
    #[prost(message, optional, tag = "13")]
    pub grp_jobs: Option<Limit>,
    #[prost(message, optional, tag = "14")]
    pub grp_jobs_accrue: Option<Limit>,
    #[prost(message, optional, tag = "15")]
    pub grp_submit: Option<Limit>,
    /// Minutes.
    #[prost(message, optional, tag = "16")]
    pub grp_wall: Option<Limit>,
    #[prost(string, tag = "17")]
    pub grp_tres: String,
    #[prost(string, tag = "18")]
    pub grp_tres_mins: String,
    #[prost(string, tag = "19")]
    pub grp_tres_run_mins: String,
    #[prost(string, tag = "20")]
    pub max_tres_per_job: String,
    #[prost(string, tag = "21")]
    pub max_tres_per_node: String,
    #[prost(string, tag = "22")]
    pub max_tres_mins_per_job: String,
    /// Minutes.
    #[prost(message, optional, tag = "23")]
    pub max_wall: Option<Limit>,
    #[prost(string, tag = "24")]
    pub max_tres_per_user: String,
    #[prost(message, optional, tag = "25")]
    pub max_jobs_per_user: Option<Limit>,
    #[prost(message, optional, tag = "26")]
    pub max_jobs_accrue_per_user: Option<Limit>,
    #[prost(message, optional, tag = "27")]
    pub max_submit_per_user: Option<Limit>,
    #[prost(string, tag = "28")]
    pub max_tres_run_mins_per_user: String,
    #[prost(string, tag = "29")]
    pub max_tres_per_account: String,
    #[prost(message, optional, tag = "30")]
    pub max_jobs_per_account: Option<Limit>,
    #[prost(message, optional, tag = "31")]
    pub max_jobs_accrue_per_account: Option<Limit>,
    #[prost(message, optional, tag = "32")]
    pub max_submit_per_account: Option<Limit>,
    #[prost(string, tag = "33")]
    pub max_tres_run_mins_per_account: String,
    #[prost(string, tag = "34")]
    pub min_tres_per_job: String,
    #[prost(uint32, optional, tag = "35")]
    pub min_priority_threshold: Option<u32>,
    /// How often its usage was set to nothing.
    #[prost(uint32, tag = "36")]
    pub usage_resets: u32,
}
