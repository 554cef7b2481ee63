//! Slurm's errors, numbers and texts, what to do about them, and the exit status of each tool.

mod advice;
pub mod exit;
mod slurm;

pub use advice::advice;
pub use slurm::SlurmError;
