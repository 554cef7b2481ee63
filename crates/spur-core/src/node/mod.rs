//! Nodes: what each is made of, and where it stands.

pub mod state;

pub use state::{NodeFlag, NodeState, NodeStatus};
