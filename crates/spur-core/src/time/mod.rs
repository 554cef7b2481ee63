//! Moments and spans of time, as Slurm writes and reads them.

mod timestamp;

pub use timestamp::Timestamp;
