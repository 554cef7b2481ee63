//! Jobs: what was asked for, and where each stands.

pub mod reason;
pub mod spec;
pub mod state;

pub use reason::Reason;
pub use spec::JobSpec;
pub use state::{JobFlag, JobState, JobStatus};
