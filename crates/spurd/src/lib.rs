//! The node agent.

pub mod agent;
