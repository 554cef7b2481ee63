//! Slurm's words and Spur's rules. Nothing here does IO, reads a clock or knows a runtime.

pub mod counts;
pub mod errors;
pub mod filename;
pub mod gres;
pub mod hostlist;
pub mod ids;
pub mod job;
pub mod license;
pub mod limit;
pub mod node;
mod number;
pub mod size;
pub mod time;
pub mod tres;
pub mod views;
