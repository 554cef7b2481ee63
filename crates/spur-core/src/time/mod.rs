//! Moments and spans of time, as Slurm writes and reads them.

pub mod display;
pub mod duration;
pub mod moment;
mod timestamp;
mod zone;

pub use timestamp::Timestamp;
pub use zone::{Civil, FixedOffset, Zone};
