//! A place in the tree of shares, as `sshare` shows it.

/// One association with its share and usage.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ShareView {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub cluster: String,
    #[prost(string, tag = "3")]
    pub account: String,
    #[prost(string, tag = "4")]
    pub user_name: String,
    #[prost(string, tag = "5")]
    pub partition: String,
    #[prost(string, tag = "6")]
    pub parent: String,
    #[prost(uint32, tag = "7")]
    pub depth: u32,
    /// `None` is the root.
    #[prost(uint32, optional, tag = "8")]
    pub raw_shares: Option<u32>,
    #[prost(bool, tag = "9")]
    pub shares_from_parent: bool,
    #[prost(double, tag = "10")]
    pub norm_shares: f64,
    #[prost(uint64, tag = "11")]
    pub raw_usage: u64,
    #[prost(double, optional, tag = "12")]
    pub norm_usage: Option<f64>,
    #[prost(double, tag = "13")]
    pub effective_usage: f64,
    /// Users only.
    #[prost(double, optional, tag = "14")]
    pub fairshare: Option<f64>,
    #[prost(double, optional, tag = "15")]
    pub level_fairshare: Option<f64>,
    #[prost(string, tag = "16")]
    pub grp_tres_mins: String,
    #[prost(string, tag = "17")]
    pub grp_tres_raw: String,
    #[prost(string, tag = "18")]
    pub tres_run_mins: String,
}
