//! Slurm's words and Spur's rules. Nothing here does IO, reads a clock or knows a runtime.

pub mod auth;
pub mod blob;
pub mod config;
pub mod counts;
pub mod errors;
pub mod fields;
pub mod filename;
pub mod getopt;
pub mod gres;
pub mod hostlist;
pub mod ids;
pub mod idset;
pub mod job;
pub mod jobenv;
pub mod license;
pub mod limit;
pub mod node;
mod number;
pub mod options;
pub mod partition;
pub mod script;
pub mod size;
pub mod state;
pub mod step;
pub mod time;
pub mod tres;
pub mod views;
