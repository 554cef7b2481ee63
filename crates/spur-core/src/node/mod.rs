//! Nodes: what they have and what may be asked of them.

pub mod features;
