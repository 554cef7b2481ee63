//! A node as `sinfo` and its relatives see it.

/// One node as shown.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct NodeView {
    #[prost(string, tag = "1")]
    pub name: String,
    /// Slurm's number of the base state, flags in the bits above; see `node/state.rs`.
    #[prost(uint32, tag = "2")]
    pub state: u32,
    #[prost(uint32, tag = "3")]
    pub cpus: u32,
    #[prost(uint32, tag = "4")]
    pub cpus_allocated: u32,
    #[prost(uint64, tag = "5")]
    pub memory_mb: u64,
    #[prost(string, tag = "6")]
    pub reason: String,
    #[prost(string, repeated, tag = "7")]
    pub partitions: Vec<String>,
}
