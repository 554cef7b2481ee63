//! What makes up a job's priority, as `sprio` shows it.

/// One pending job in one partition, or the weights.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PriorityView {
    #[prost(uint32, tag = "1")]
    pub job_id: u32,
    #[prost(uint32, tag = "2")]
    pub array_job_id: u32,
    #[prost(uint32, optional, tag = "3")]
    pub array_task_id: Option<u32>,
    #[prost(string, tag = "4")]
    pub array_task_string: String,
    #[prost(string, tag = "5")]
    pub partition: String,
    #[prost(string, tag = "6")]
    pub user_name: String,
    #[prost(string, tag = "7")]
    pub account: String,
    #[prost(string, tag = "8")]
    pub qos: String,
    #[prost(string, tag = "9")]
    pub cluster: String,
    #[prost(uint32, tag = "10")]
    pub priority: u32,
    #[prost(int64, tag = "11")]
    pub site: i64,
    #[prost(int64, tag = "12")]
    pub nice: i64,
    /// Between 0 and 1.
    #[prost(double, tag = "13")]
    pub age: f64,
    #[prost(double, tag = "14")]
    pub association: f64,
    #[prost(double, tag = "15")]
    pub fairshare: f64,
    #[prost(double, tag = "16")]
    pub job_size: f64,
    #[prost(double, tag = "17")]
    pub partition_factor: f64,
    #[prost(double, tag = "18")]
    pub qos_factor: f64,
    #[prost(uint32, tag = "19")]
    pub age_weight: u32,
    #[prost(uint32, tag = "20")]
    pub association_weight: u32,
    #[prost(uint32, tag = "21")]
    pub fairshare_weight: u32,
    #[prost(uint32, tag = "22")]
    pub job_size_weight: u32,
    #[prost(uint32, tag = "23")]
    pub partition_weight: u32,
    #[prost(uint32, tag = "24")]
    pub qos_weight: u32,
    /// Weighted, as `cpu=12,gres/gpu=100`.
    #[prost(string, tag = "25")]
    pub tres: String,
    #[prost(string, tag = "26")]
    pub tres_normalized: String,
    /// `sprio -w`: the weights themselves.
    #[prost(bool, tag = "27")]
    pub is_weights: bool,
    #[prost(string, tag = "28")]
    pub tres_weights: String,
}
