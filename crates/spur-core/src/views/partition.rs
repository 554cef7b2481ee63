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
}
