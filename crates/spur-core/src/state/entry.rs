//! What goes into the log.

use std::borrow::Cow;

use crate::auth::Actor;
use crate::blob::BlobHash;
use crate::ids::{Epoch, JobId, NodeName, StepId, Uid};
use crate::job::{Allocation, ArraySpec, ExitStatus, JobSpec, Owner, Removal, RequestId, StepEnd};
use crate::limit::Limit;
use crate::node::Inventory;
use crate::state::{ChangeTrust, ClearTriggers, SetCrontab, Settings};
use crate::step::StepSpec;
use crate::time::Timestamp;
use crate::trigger::{Notice, Trigger};
use crate::views::{RulesView, Usage};

/// One proposal, as the log keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Stamped by the leader when it proposes.
    pub at: Timestamp,
    /// Which proposal of which controller's life this is, so that the proposer knows its own again.
    pub origin: Origin,
    /// What to do.
    pub command: Command,
}

/// Names a proposal: a controller's life, and a number in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// Chosen at random when the controller starts.
    pub life: u64,
    /// Counts the proposals of that life.
    pub number: u64,
}

/// A change to the replicated state.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Replaces the replicated configuration.
    Configure(Settings),
    /// A node's agent has opened a session.
    RegisterNode(RegisterNode),
    /// A node's agent has been silent for longer than its lease.
    NodeLost {
        /// The silent one.
        node: NodeName,
    },
    /// A node must have ended these runs by itself: it was not heard for longer than they may live there.
    GiveUp {
        /// The silent one.
        node: NodeName,
        /// The runs.
        runs: Vec<(JobId, Epoch)>,
    },
    /// The port that a run was lent is in use by a stranger.
    AnotherPort {
        /// Whose.
        job: JobId,
        /// In which run.
        epoch: Epoch,
        /// The port.
        taken: u16,
    },
    /// A user hands in a job.
    Submit(Box<Submit>),
    /// What one scheduling pass would start; each is checked again.
    Start(Vec<JobStart>),
    /// Somebody wants something done to a job, or to tasks of an array.
    Control(Box<Control>),
    /// Somebody changes, makes or takes away a node, a partition or a reservation.
    Administer(Box<Administer>),
    /// A job's early signal is due.
    Warn {
        /// Which.
        job: JobId,
        /// In which run.
        epoch: Epoch,
    },
    /// A job can no longer end before its deadline.
    DeadlinePassed {
        /// Which.
        job: JobId,
    },
    /// A job has reached its time limit.
    TimeUp {
        /// Which.
        job: JobId,
        /// In which run.
        epoch: Epoch,
    },
    /// What a node reports of runs that are over.
    Finished {
        /// The node.
        node: NodeName,
        /// One for each run.
        finishes: Vec<Finish>,
    },
    /// A user makes a step in a job.
    CreateStep(Box<CreateStep>),
    /// A step is to end.
    EndStep {
        /// Of which job.
        job: JobId,
        /// Which.
        step: StepId,
        /// Why.
        end: StepEnd,
        /// Who wants it.
        by: Actor,
    },
    /// Whoever waited for an allocation is done with it, or gone.
    EndAllocation {
        /// Which job.
        job: JobId,
        /// How the command ended that it was made for.
        exit: ExitStatus,
        /// Who.
        by: Actor,
    },
    /// Somebody changes which machines belong to the cluster, or which tokens count.
    ChangeTrust(Box<ChangeTrust>),
    /// The rules of accounting, in place of those before.
    SetRules(Box<RulesView>),
    /// A user's crontab, in place of the one before.
    SetCrontab(Box<SetCrontab>),
    /// Somebody wants a program run once something happens. Its number and times are not settled yet.
    SetTrigger(Box<Trigger>),
    /// Somebody wants triggers taken away.
    ClearTriggers(ClearTriggers),
    /// What a client gave a name to: done once, however often it is asked for.
    Once {
        /// Whose name for it.
        by: Uid,
        /// The name.
        request: RequestId,
        /// What is to be done; nothing where it was done elsewhere and is only to be remembered.
        command: Option<Box<Command>>,
    },
    /// What a look at the triggers brought.
    Noticed(Vec<Notice>),
    /// The time of a reservation is over.
    ReservationsPassed,
    /// Nodes that are to restart have become idle, or took too long.
    RebootsDue,
    /// Jobs that begin to grow older: those before them have left room below a limit.
    Accrue(Vec<JobId>),
    /// Jobs that are to make room for others.
    Preempt(Vec<Displace>),
    /// A job that makes room has had its grace.
    GraceOver {
        /// Which.
        job: JobId,
        /// In which run.
        epoch: Epoch,
    },
    /// Forgets jobs that ended before this moment.
    Purge {
        /// The moment.
        before: Timestamp,
    },
}

/// A node as its agent describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterNode {
    /// Its name.
    pub name: NodeName,
    /// What it has.
    pub inventory: Inventory,
    /// Changes when the machine reboots.
    pub boot_id: String,
}

/// A job handed in.
#[derive(Clone, Debug, PartialEq)]
pub struct Submit {
    /// The client's name for this submission.
    pub request: RequestId,
    /// Who, as the channel proved it.
    pub owner: Owner,
    /// What is asked for.
    pub spec: JobSpec,
    /// What is asked for by the further components of a heterogeneous job.
    pub others: Vec<JobSpec>,
    /// The script's name.
    pub script: BlobHash,
    /// The environment's name.
    pub environment: BlobHash,
    /// The blobs that the log does not have yet.
    pub blobs: Vec<Blob>,
}

/// Some bytes, named by their hash wherever they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A step asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStep {
    /// In which job.
    pub job: JobId,
    /// The client's name for this request.
    pub request: RequestId,
    /// What is asked for.
    pub spec: StepSpec,
    /// The number a step beside it has in another component of the job, which it is to have too.
    pub beside: Option<StepId>,
    /// Who asks.
    pub by: Actor,
}

/// A job to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStart {
    /// Which.
    pub job: JobId,
    /// The run this begins: one more than the job's present epoch.
    pub epoch: Epoch,
    /// Which of the tasks that wait in the record, if it stands for an array.
    pub task: Option<u32>,
    /// What it gets.
    pub allocation: Allocation,
    /// In which of its partitions.
    pub partition: String,
    /// For how many minutes, where that is less than it asks for.
    pub minutes: Option<u64>,
    /// The priority it was chosen with.
    pub priority: Option<u32>,
    /// What kept it waiting before, if that was more than others being first.
    pub reason: Option<u32>,
}

/// A job that is to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displace {
    /// Which.
    pub job: JobId,
    /// In which run.
    pub epoch: Epoch,
    /// What becomes of it.
    pub how: Removal,
}

/// Something to be done to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// The job, or the array.
    pub job: JobId,
    /// Which tasks of the array; all if nothing is said.
    pub tasks: Option<ArraySpec>,
    /// What.
    pub action: JobAction,
    /// Who wants it.
    pub by: Actor,
    /// The client's name for this request, if it gave one.
    pub request: Option<RequestId>,
}

impl Control {
    /// Ends a job, or all of an array.
    pub fn cancel(job: JobId, by: Actor) -> Control {
        Control { job, tasks: None, action: JobAction::Cancel, by, request: None }
    }

    /// As Slurm takes it: who sends `KILL` to a job and not to its script alone ends it, with time to end by itself.
    pub(super) fn as_meant(&self) -> Cow<'_, Control> {
        match self.action {
            JobAction::Signal { signal: 9, scope: SignalScope::Steps | SignalScope::Full } => {
                Cow::Owned(Control { action: JobAction::Cancel, ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }
}

/// What can be done to a job.
#[derive(Clone, Debug, PartialEq)]
pub enum JobAction {
    /// End it.
    Cancel,
    /// Send a signal.
    Signal {
        /// Which.
        signal: u32,
        /// To whom.
        scope: SignalScope,
    },
    /// Keep it from starting. An operator's hold can be let go by operators only, unless it is said to
    /// be the user's.
    Hold {
        /// As if the owner had said it.
        as_user: bool,
    },
    /// Let it go.
    Release,
    /// Put it back into the queue.
    Requeue {
        /// And keep it there.
        hold: bool,
    },
    /// Put it back and keep it there, marked as one whose end was special.
    RequeueSpecial,
    /// Stop its processes.
    Suspend,
    /// Let them go on.
    Resume,
    /// Change what is asked for, by `Key=value`.
    Update(Vec<Assignment>),
    /// Change for how long its steps may run.
    LimitSteps {
        /// Which; all if nothing is said.
        step: Option<StepId>,
        /// For how long, in minutes.
        limit: Limit,
    },
}

/// Which processes of a job a signal is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignalScope {
    /// Its steps, but not the batch script.
    #[default]
    Steps,
    /// The batch script itself, not what it started.
    Batch,
    /// All of them.
    Full,
    /// All of them, which are told by `TSTP` before they are stopped.
    Gently,
}

/// One `Key=value` of `scontrol update`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Assignment {
    /// As the user wrote it.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What follows the sign.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A change to something that is not a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Administer {
    /// What kind of thing.
    pub noun: Noun,
    /// What is to be done.
    pub verb: Verb,
    /// Its name; for nodes a host list.
    pub name: String,
    /// What is said about it.
    pub assignments: Vec<Assignment>,
    /// Who wants it.
    pub by: Actor,
    /// The client's name for this request, if it gave one.
    pub request: Option<RequestId>,
}

/// Things that can be administered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// Nodes.
    Node,
    /// A partition.
    Partition,
    /// A reservation.
    Reservation,
}

/// What is done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Made.
    Create,
    /// Changed.
    Update,
    /// Taken away.
    Delete,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Which job.
    pub job: JobId,
    /// Which run of it.
    pub epoch: Epoch,
    /// Which step of it.
    pub step: StepId,
    /// How it ended.
    pub outcome: Outcome,
    /// What it used there, where that is known.
    pub usage: Option<Box<Usage>>,
    /// What the node says about it, for whoever looks after the node.
    pub said: String,
}

impl Finish {
    /// Of a run that nobody can say more about.
    pub fn lost(job: JobId, epoch: Epoch, step: StepId) -> Finish {
        Finish { job, epoch, step, outcome: Outcome::Lost, usage: None, said: String::new() }
    }
}

/// How a run ended, as its node tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The script ended; this is what the kernel said.
    Exited(ExitStatus),
    /// The script never began, by a fault of the request.
    CouldNotStart,
    /// The node lost sight of it: a reboot, or nobody was heard for too long.
    Lost,
    /// The kernel killed some of it for using more memory than it was given.
    OutOfMemory,
    /// It never began: the node could not be made ready for it.
    PrologFailed,
    /// It is over, but the node could not be tidied up after it.
    EpilogFailed,
    /// It never began, by a fault of the node.
    NodeFault,
    /// Its shepherd was killed, and then all that was left of it: how it would have ended nobody knows.
    ShepherdLost,
}

/// The answer to a command that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// The job has this number.
    Job(JobId),
    /// So many of the proposed starts held.
    Started(usize),
    /// The job's step has this number.
    Step(JobId, StepId),
    /// What was made has this name.
    Named(String),
}
