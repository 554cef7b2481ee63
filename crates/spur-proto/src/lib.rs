//! The wire: messages and services generated from `proto/`, and clients.

pub mod client;
pub mod status;

/// The public surface, package `slurm`.
pub mod slurm {
    #![allow(missing_docs, clippy::all)]
    pub use spur_core::job::JobSpec;
    pub use spur_core::limit::Limit;
    pub use spur_core::views::job::JobNodeShare;
    pub use spur_core::views::{JobView, NodeView, PartitionView};
    tonic::include_proto!("slurm");
}

/// Between controller and agents.
pub mod internal {
    #![allow(missing_docs, clippy::all)]
    tonic::include_proto!("spur.internal");
}

/// The compiled descriptors of everything above, for tests that walk methods and messages.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

#[cfg(test)]
mod tests;
