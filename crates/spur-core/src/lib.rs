//! Slurm's words and Spur's rules. Nothing here does IO, reads a clock or knows a runtime.

pub mod config;
pub mod errors;
pub mod hostlist;
pub mod ids;
pub mod job;
pub mod limit;
pub mod size;
pub mod time;
pub mod views;
