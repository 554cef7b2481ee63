//! Slurm's words and Spur's rules. Nothing here does IO, reads a clock or knows a runtime.

pub mod errors;
pub mod filename;
pub mod hostlist;
pub mod ids;
pub mod job;
pub mod limit;
mod number;
pub mod options;
pub mod script;
pub mod size;
pub mod step;
pub mod time;
pub mod views;
