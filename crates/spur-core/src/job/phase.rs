//! Where a job stands. Nodes live inside the phases that hold them, so no pending job holds any.

use std::sync::Arc;

use crate::ids::NodeName;
use crate::idset::IdSet;
use crate::time::Timestamp;

/// The life of a job, one variant a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waits for its turn.
    Pending,
    /// Holds its nodes; its script runs or is being started.
    Running {
        /// When the nodes were given.
        since: Timestamp,
        /// What it holds.
        allocation: Arc<Allocation>,
    },
    /// Is being ended. The nodes stay taken until the node has reported the processes gone.
    Completing {
        /// When the nodes were given.
        started: Timestamp,
        /// When its end began.
        since: Timestamp,
        /// What it still holds.
        allocation: Arc<Allocation>,
        /// Why it ends.
        cause: Cause,
        /// What the kernel said of its script, if that has ended.
        exit: ExitStatus,
    },
    /// Over; shown for a while, then forgotten.
    Ended {
        /// When it had started, if it ever did.
        started: Option<Timestamp>,
        /// When it was over.
        at: Timestamp,
        /// What it had held.
        allocation: Option<Arc<Allocation>>,
        /// How it ended.
        cause: Cause,
        /// What the kernel said of its script.
        exit: ExitStatus,
    },
}

impl Phase {
    /// The resources held at this moment.
    pub fn holds(&self) -> Option<&Arc<Allocation>> {
        match self {
            Phase::Running { allocation, .. } | Phase::Completing { allocation, .. } => {
                Some(allocation)
            }
            Phase::Pending | Phase::Ended { .. } => None,
        }
    }

    /// Whether nothing will happen to the job any more.
    pub fn is_over(&self) -> bool {
        matches!(self, Phase::Ended { .. })
    }
}

/// Why a run ended or is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The script ended by itself; its exit status tells how.
    Exited,
    /// Somebody cancelled it.
    Cancelled {
        /// Who.
        by: u32,
    },
    /// It ran into its time limit.
    TimeLimit,
    /// The script could not be started, by a fault of the request (work directory, output file …).
    LaunchFailed,
    /// The node lost it.
    NodeFailed,
    /// The script could not be started, by a fault of the node.
    NodeFault,
    /// Its shepherd was killed.
    ShepherdLost,
    /// It took more memory than it had.
    OutOfMemory,
    /// It could not end before its deadline.
    Deadline,
    /// It could not start at once, as it was to.
    NotAtOnce,
    /// It had to make room.
    Preempted,
    /// A node could not be made ready for it: it goes back to the queue and stays there until it is let go.
    PrologFailed,
    /// It goes back to the queue.
    Requeued {
        /// And stays there until it is let go.
        hold: bool,
        /// What brought it back.
        why: Back,
    },
}

/// What brings a job back to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// Somebody asked for it.
    Asked,
    /// It failed, and may try again.
    Failed,
    /// It made room for another.
    Displaced,
    /// Somebody asked for it, and marked its end as special.
    Special,
    /// It ended with a status that somebody is to look at.
    Exit,
}

/// What is taken on which nodes; the first node runs the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// One share a node, in rank order.
    pub shares: Vec<Share>,
}

impl Allocation {
    /// The node that runs the batch script.
    pub fn first_node(&self) -> Option<&NodeName> {
        self.shares.first().map(|share| &share.node)
    }

    /// All processors of all shares.
    pub fn cpus(&self) -> u32 {
        self.shares.iter().map(|share| share.cpus).sum()
    }
}

/// What is taken on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Where.
    pub node: NodeName,
    /// How many processors.
    pub cpus: u32,
    /// Which processors; empty where they are not told apart.
    pub cpu_ids: IdSet,
    /// How much memory.
    pub memory_mb: u64,
    /// Generic resources.
    pub gres: Vec<GresShare>,
    /// How many tasks are meant to run here.
    pub tasks: u32,
}

impl Share {
    /// Some processors of a node, and nothing else.
    pub fn of_cpus(node: NodeName, cpus: u32) -> Share {
        let (cpu_ids, gres) = (IdSet::default(), Vec::new());
        Share { node, cpus, cpu_ids, memory_mb: 0, gres, tasks: cpus.max(1) }
    }
}

/// A generic resource taken on one node.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct GresShare {
    /// `gpu`
    #[prost(string, tag = "1")]
    pub name: String,
    /// `mi300x`; empty where the resource has no types.
    #[prost(string, tag = "2")]
    pub kind: String,
    /// How much.
    #[prost(uint64, tag = "3")]
    pub count: u64,
    /// Which devices, counted over all of this name on the node; empty where they are not told apart.
    #[prost(message, required, tag = "4")]
    pub ids: IdSet,
}

/// How a process ended: an exit code, or the signal that killed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitStatus {
    /// The code given to `exit`, 0 to 255.
    pub code: u8,
    /// The signal, or 0.
    pub signal: u8,
}

impl ExitStatus {
    /// The number `wait(2)` gives, as Slurm keeps it.
    pub fn to_wait(self) -> u32 {
        (u32::from(self.code) << 8) | u32::from(self.signal)
    }

    /// Reads the number `wait(2)` gives; the core-dump bit is dropped.
    pub fn from_wait(status: u32) -> ExitStatus {
        ExitStatus { code: (status >> 8) as u8, signal: (status & 0x7f) as u8 }
    }

    /// What Slurm shows of a script that could not be started.
    pub const NOT_LAUNCHED: ExitStatus = ExitStatus { code: 0, signal: 53 };

    /// What Slurm shows of a run that ran out of memory, however its script ended.
    pub const OUT_OF_MEMORY: ExitStatus = ExitStatus { code: 0, signal: 125 };

    /// Of a run that was ended by force.
    pub const KILLED: ExitStatus = ExitStatus { code: 0, signal: 9 };

    /// Whether all went well.
    pub fn is_success(self) -> bool {
        self.code == 0 && self.signal == 0
    }
}
