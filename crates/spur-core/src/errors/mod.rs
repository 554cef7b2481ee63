//! Slurm's errors, numbers and texts, and the exit status each tool derives from them.

mod slurm;

pub use slurm::SlurmError;
