//! Batch scripts: which are taken, and how their lines are read.

pub mod bsub;
pub mod header;
pub mod pbs;
pub mod words;
