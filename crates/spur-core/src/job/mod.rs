//! Jobs: what was asked for, and where each stands.

pub mod array;
pub mod demand;
pub mod dependency;
pub mod distribution;
pub mod export;
pub mod mail;
pub mod nice;
pub mod phase;
pub mod reason;
pub mod reference;
pub mod sharing;
pub mod signal;
pub mod spec;
pub mod state;
pub mod steps;
pub mod supported;

use std::sync::Arc;

pub use demand::Demand;
pub use phase::{Allocation, Cause, ExitStatus, GresShare, Phase, Share};
pub use reason::Reason;
pub use spec::JobSpec;
pub use state::{JobFlag, JobState, JobStatus};
pub use steps::{Step, StepShare, Steps};

use crate::blob::BlobHash;
use crate::ids::{Epoch, Gid, JobId, Uid};
use crate::time::Timestamp;

/// One job of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// Whose it is.
    pub owner: Owner,
    /// What was asked for, with defaults filled in.
    pub spec: Arc<JobSpec>,
    /// The batch script.
    pub script: BlobHash,
    /// The environment it was submitted with.
    pub environment: BlobHash,
    /// The client's name for the submission: the same one again is the same job.
    pub request: RequestId,
    /// When it was accepted.
    pub submitted: Timestamp,
    /// Which run it is in; 0 before the first.
    pub epoch: Epoch,
    /// In which boot of its first node the present run was started; see `Node::boots`.
    pub boot: u32,
    /// Where it stands.
    pub phase: Phase,
    /// What it runs.
    pub steps: Steps,
}

impl Job {
    /// Whether it has no script of its own: `salloc` or `srun` waits for its resources.
    pub fn is_allocation(&self) -> bool {
        self.spec.allocation.is_some()
    }
}

/// Whose a job is, as the channel told when it was submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: Uid,
    /// The user's group at submission.
    pub gid: Gid,
    /// The user's name on the controller's machine.
    pub name: String,
}

/// A client-made number that makes a repeated request recognisable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u128);
