//! Nodes: what each has, and whether it can be used.

pub mod features;
pub mod state;

pub use state::{NodeFlag, NodeState, NodeStatus};

use crate::ids::NodeName;
use crate::time::Timestamp;

/// One node of the cluster. Whether it is idle or allocated is derived from the jobs, not kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// What its agent found.
    pub inventory: Inventory,
    /// Changes when the machine reboots.
    pub boot_id: String,
    /// Whether its agent has a session with the leader.
    pub link: Link,
}

/// The hardware of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Processors.
    pub cpus: u32,
    /// Memory.
    pub memory_mb: u64,
}

/// Whether the leader and the agent hear each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Since when they do.
    Up(Timestamp),
    /// Since when they do not.
    Down(Timestamp),
}

impl Link {
    /// Whether jobs may be started there.
    pub fn is_up(self) -> bool {
        matches!(self, Link::Up(_))
    }
}
