//! An association as `sacctmgr show assoc` sees it.

use crate::limit::Limit;

/// One association.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AssociationView {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub cluster: String,
    #[prost(string, tag = "3")]
    pub account: String,
    /// Empty for the account itself.
    #[prost(string, tag = "4")]
    pub user_name: String,
    #[prost(string, tag = "5")]
    pub partition: String,
    #[prost(string, tag = "6")]
    pub parent: String,
    #[prost(uint32, tag = "7")]
    pub parent_id: u32,
    /// How far below the root it stands.
    #[prost(uint32, tag = "8")]
    pub depth: u32,
    #[prost(uint32, tag = "9")]
    pub left: u32,
    #[prost(uint32, tag = "10")]
    pub right: u32,
    #[prost(uint32, tag = "11")]
    pub shares: u32,
    #[prost(bool, tag = "12")]
    pub shares_from_parent: bool,
    #[prost(uint32, optional, tag = "13")]
    pub priority: Option<u32>,
    #[prost(string, tag = "14")]
    pub default_qos: String,
    #[prost(string, repeated, tag = "15")]
    pub qos: Vec<String>,
    #[prost(string, tag = "16")]
    pub qos_ids: String,
    #[prost(string, tag = "17")]
    pub comment: String,
    #[prost(bool, tag = "18")]
    pub is_default: bool,
    #[prost(message, optional, tag = "19")]
    pub grp_jobs: Option<Limit>,
    #[prost(message, optional, tag = "20")]
    pub grp_jobs_accrue: Option<Limit>,
    #[prost(message, optional, tag = "21")]
    pub grp_submit: Option<Limit>,
    /// Minutes.
    #[prost(message, optional, tag = "22")]
    pub grp_wall: Option<Limit>,
    #[prost(string, tag = "23")]
    pub grp_tres: String,
    #[prost(string, tag = "24")]
    pub grp_tres_mins: String,
    #[prost(string, tag = "25")]
    pub grp_tres_run_mins: String,
    #[prost(message, optional, tag = "26")]
    pub max_jobs: Option<Limit>,
    #[prost(message, optional, tag = "27")]
    pub max_jobs_accrue: Option<Limit>,
    #[prost(message, optional, tag = "28")]
    pub max_submit: Option<Limit>,
    /// Minutes.
    #[prost(message, optional, tag = "29")]
    pub max_wall: Option<Limit>,
    #[prost(string, tag = "30")]
    pub max_tres_per_job: String,
    #[prost(string, tag = "31")]
    pub max_tres_per_node: String,
    #[prost(string, tag = "32")]
    pub max_tres_mins_per_job: String,
    #[prost(uint32, optional, tag = "33")]
    pub min_priority_threshold: Option<u32>,
    /// How often its usage was set to nothing.
    #[prost(uint32, tag = "34")]
    pub usage_resets: u32,
    /// Associations that one command adds to one account, one after the other, share this number: they stand in their
    /// order, before all with a smaller one.
    #[prost(uint32, tag = "35")]
    pub run: u32,
}
