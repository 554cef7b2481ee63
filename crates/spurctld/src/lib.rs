//! The controller: one deterministic core, thin shells around it.

pub mod accounting;
pub mod adviser;
pub mod api;
mod audit;
pub mod boot;
mod clock;
pub mod configuration;
pub mod controller;
pub mod diagnostics;
pub mod logging;
mod metrics;
mod programs;
pub mod raft;
pub mod shell;
pub mod store;
mod trust;
mod turns;
