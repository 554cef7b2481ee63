//! Slurm's words and Spur's rules. Nothing here does IO, reads a clock or knows a runtime.

pub mod errors;
pub mod fields;
pub mod ids;
pub mod job;
pub mod limit;
pub mod node;
pub mod time;
pub mod views;
