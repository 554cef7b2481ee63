//! Jobs: what was asked for, and where each stands.

pub mod array;
pub mod demand;
pub mod dependency;
pub mod distribution;
pub mod export;
pub mod het;
pub mod mail;
pub mod nice;
pub mod phase;
pub mod reason;
pub mod reference;
pub mod setbacks;
pub mod sharing;
pub mod signal;
pub mod spec;
pub mod state;
pub mod steps;

use std::sync::Arc;

pub use array::ArraySpec;
pub use demand::Demand;
pub use dependency::Dependency;
pub use het::Component;
pub use phase::{Allocation, Back, Cause, ExitStatus, GresShare, Phase, Share};
pub use reason::Reason;
pub use setbacks::Setbacks;
pub use spec::JobSpec;
pub use state::{JobFlag, JobState, JobStatus};
pub use steps::{Step, StepEnd, StepShare, Steps};

use crate::blob::BlobHash;
use crate::ids::{Epoch, Gid, JobId, Uid};
use crate::limit::Limit;
use crate::partition::Partition;
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
    pub request: Option<RequestId>,
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
    /// Whether somebody keeps it from starting.
    pub hold: Hold,
    /// Not before this moment.
    pub begin: Option<Timestamp>,
    /// What it still waits for.
    pub waits: Option<Arc<Waits>>,
    /// Its place in an array.
    pub array: Option<Arc<Array>>,
    /// Its place in a heterogeneous job.
    pub component: Option<Component>,
    /// How often it has been put back into the queue.
    pub restarts: u32,
    /// What threw it back before; nothing in most jobs.
    pub setbacks: Option<Arc<Setbacks>>,
    /// When it was stopped, and for how long it had been before.
    pub pause: Pause,
    /// The early signal of this run is sent.
    pub is_warned: bool,
    /// On which terms its present or last run was started.
    pub granted: Granted,
    /// It is making room for another job.
    pub displaced: Option<Displaced>,
    /// It sleeps while others have its processors.
    pub asleep: bool,
    /// Since when it grows older, where a limit says how many may.
    pub accrues: Option<Timestamp>,
    /// Somebody put it to sleep: it does not go on by itself once its processors are free.
    pub parked: bool,
    /// Which limits of accounting are not held against it.
    pub beyond: Beyond,
}

/// What an operator has set of a job: limits that say how much of it there may be are the operator's to go beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// How long it may run.
    pub time: bool,
    /// How many processors it has.
    pub cpus: bool,
    /// How much memory it has.
    pub memory: bool,
}

/// A run that was asked to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// When it is ended at the latest.
    pub until: Timestamp,
    /// What becomes of it then.
    pub how: Removal,
}

/// What becomes of a job that makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It ends.
    Cancel,
    /// It goes back to the queue.
    Requeue,
    /// It sleeps, and others have its processors.
    Suspend,
    /// It slept and goes on: its processors are free again.
    Resume,
    /// Others have their turn on processors that they share; it stops.
    Pause,
    /// It has its turn.
    Turn,
}

/// What of a request was left open and is settled by a start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// How many jobs may have its processors, itself among them; 0 or 1 is nobody else.
    pub layers: u32,
    /// Which of its partitions it runs in; empty before the first start.
    pub partition: String,
    /// Its limit in minutes, where that is less than it asks for.
    pub minutes: Option<u64>,
    /// The priority it was chosen with; it keeps it for as long as it is known.
    pub priority: Option<u32>,
    /// What kept it waiting before, if that was more than others being first.
    pub reason: Option<u32>,
    /// The port that its tasks may find each other by.
    pub port: Option<u16>,
    /// Seconds of silence after which its nodes end it by themselves, so that it may run elsewhere; without
    /// it nothing ends a run on a node that is not heard.
    pub fence_secs: Option<u32>,
}

impl Job {
    /// Whether it has no script of its own: `salloc` or `srun` waits for its resources.
    pub fn is_allocation(&self) -> bool {
        self.spec.allocation.is_some()
    }

    /// Processors it has of a share: none while it sleeps.
    pub fn cpus_of(&self, share: &Share) -> u32 {
        if self.asleep { 0 } else { share.cpus }
    }

    /// How long a run may take: what it was granted, what it asks for, or what its partition says.
    pub fn time_limit(&self, partition: Option<&Partition>) -> Limit {
        let default = |it: &Partition| it.default_time.unwrap_or(it.max_time);
        let granted = self.granted.minutes.map(Limit::Is);
        let asked = || self.spec.time_limit.or_else(|| partition.map(default));
        granted.or_else(asked).unwrap_or(Limit::Unlimited)
    }

    /// What keeps a pending job from being considered at all.
    pub fn obstacle(&self, now: Timestamp) -> Option<Reason> {
        match self.hold {
            Hold::Admin | Hold::Requeued | Hold::Special => return Some(Reason::JobHeldAdmin),
            Hold::User | Hold::Exit | Hold::Launch => return Some(Reason::JobHeldUser),
            Hold::None => {}
        }
        match &self.waits {
            Some(waits) if waits.never => return Some(Reason::DependencyNeverSatisfied),
            Some(_) => return Some(Reason::Dependency),
            None => {}
        }
        self.begin.is_some_and(|begin| begin > now).then_some(Reason::BeginTime)
    }

    /// The tasks that wait in this record, if it stands for several.
    pub fn waiting_tasks(&self) -> Option<&ArraySpec> {
        match self.array.as_deref() {
            Some(Array::Waiting(tasks)) => Some(tasks),
            _ => None,
        }
    }

    /// The number of the array it belongs to.
    pub fn array_id(&self) -> Option<JobId> {
        match self.array.as_deref()? {
            Array::Waiting(_) => Some(self.id),
            Array::Task { of, .. } => Some(*of),
        }
    }

    /// Which task of its array it is.
    pub fn task(&self) -> Option<u32> {
        match self.array.as_deref()? {
            Array::Waiting(_) => None,
            Array::Task { index, .. } => Some(*index),
        }
    }
}

/// Who keeps a job from starting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Nobody.
    #[default]
    None,
    /// Nobody in person: its launch failed by a fault of the node.
    Launch,
    /// Its owner.
    User,
    /// The site, since it ended with a status that somebody is to look at (`RequeueExitHold`).
    Exit,
    /// An operator; only one can let it go.
    Admin,
    /// An operator, by putting it back into the queue; its owner lets it go too.
    Requeued,
    /// The same, marked as one whose end was special.
    Special,
}

/// Conditions that do not hold yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Those that are left.
    pub on: Dependency,
    /// One of them can no longer come true.
    pub never: bool,
}

/// A job's place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Array {
    /// All tasks that have not begun, in one record with the array's number.
    Waiting(ArraySpec),
    /// A task of its own.
    Task {
        /// The array's number.
        of: JobId,
        /// Which task.
        index: u32,
        /// The array's limit on tasks at once.
        throttle: u32,
    },
}

/// Time in which a run was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Since when it is.
    pub since: Option<Timestamp>,
    /// Seconds of earlier pauses.
    pub secs: i64,
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
