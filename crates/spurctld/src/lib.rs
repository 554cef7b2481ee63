//! The controller: one deterministic core, thin shells around it.

pub mod accounting;
pub mod api;
pub mod boot;
mod clock;
pub mod controller;
pub mod raft;
pub mod shell;
pub mod store;
