//! Names for the bare numbers and strings that identify things.

use std::fmt;
use std::sync::Arc;

/// A job's number. Handed out by the log, never twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u32);

impl JobId {
    /// The last number that can be handed out; Slurm keeps the ones above for itself.
    pub const MAX: JobId = JobId(4_294_967_279);
}

/// Which run of a job: 0 before it ever started, one more at each start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The run after this one.
    pub fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}

/// A step's number within its job. Slurm keeps the highest for steps it makes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

impl StepId {
    /// The batch script.
    pub const BATCH: StepId = StepId(4_294_967_291);
    /// What was started on a node by other means than Slurm's.
    pub const EXTERN: StepId = StepId(4_294_967_292);
    /// The shell of an interactive allocation.
    pub const INTERACTIVE: StepId = StepId(4_294_967_290);
    /// The last number that a step of `srun` can get.
    pub const MAX: StepId = StepId(4_294_967_279);

    /// Reads `0`, `batch`, `extern` or `interactive`.
    pub fn parse(text: &str) -> Option<StepId> {
        match text {
            "batch" => Some(StepId::BATCH),
            "extern" => Some(StepId::EXTERN),
            "interactive" => Some(StepId::INTERACTIVE),
            number => number.parse().ok().map(StepId).filter(|id| *id <= StepId::MAX),
        }
    }
}

/// A user's number as the kernel knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub u32);

impl Uid {
    /// The superuser.
    pub const ROOT: Uid = Uid(0);
}

/// A group's number as the kernel knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub u32);

/// A node's name, cheap to copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(Arc<str>);

impl NodeName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for NodeName {
    fn from(name: &str) -> NodeName {
        NodeName(name.into())
    }
}

impl From<String> for NodeName {
    fn from(name: String) -> NodeName {
        NodeName(name.into())
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            StepId::BATCH => f.write_str("batch"),
            StepId::EXTERN => f.write_str("extern"),
            StepId::INTERACTIVE => f.write_str("interactive"),
            StepId(number) => number.fmt(f),
        }
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
