//! One binary, many names: Slurm's commands and Spur's own verbs.

mod accounting;
mod cluster;
mod commands;
pub mod dispatch;
mod names;
mod native;
mod output;
mod zone;
