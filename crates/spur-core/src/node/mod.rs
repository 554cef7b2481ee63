//! Nodes: what each has, and whether it can be used.

mod devices;
pub mod features;
pub mod filter;
mod inventory;
pub mod kept;
pub mod state;

pub use filter::NodeFilter;
pub use inventory::{Gres, Inventory};
pub use kept::Kept;
pub use state::{NodeFlag, NodeState, NodeStatus};

use crate::config::words::CpuBind;
use crate::ids::{NodeName, Uid};
use crate::time::Timestamp;

/// One node of the cluster. Whether it is idle or allocated is derived from the jobs, not kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// What it can give to jobs: as configured, or as found where nothing is.
    pub inventory: Inventory,
    /// What its agent found.
    pub found: Inventory,
    /// Nodes of lower weight are used first.
    pub weight: u32,
    /// Words that `--constraint` can ask for, as configured.
    pub features: Vec<String>,
    /// Those of them that hold at present.
    pub active_features: Vec<String>,
    /// Changes when the machine reboots.
    pub boot_id: String,
    /// Counts the boots seen: what was started in an earlier one is gone.
    pub boots: u32,
    /// Whether its agent has a session with the leader.
    pub link: Link,
    /// What administrators, or the controller on their behalf, have decided.
    pub service: Service,
    /// `scontrol update node … comment=`
    pub comment: String,
    /// `scontrol update node … extra=`
    pub extra: String,
    /// How tasks are bound here when their step does not say.
    pub cpu_bind: Option<CpuBind>,
    /// Scripts in a row that could not be started here, by a fault of the node.
    pub launch_failures: u32,
    /// It is to restart.
    pub reboot: Option<Reboot>,
}

/// A restart that somebody asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reboot {
    /// The node was drained for it.
    pub drained: bool,
    /// What becomes of the node afterwards; unless said, what it was before.
    pub next: Option<NextState>,
    /// When its agent was told.
    pub issued: Option<Timestamp>,
}

/// What a node is to be after its restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextState {
    /// In service.
    Resume,
    /// Out of service.
    Down,
}

impl NextState {
    /// As Slurm says it.
    pub fn word(self) -> &'static str {
        match self {
            NextState::Resume => "RESUME",
            NextState::Down => "DOWN",
        }
    }

    /// Reads the word.
    pub fn read(text: &str) -> Option<NextState> {
        [NextState::Resume, NextState::Down]
            .into_iter()
            .find(|state| state.word().eq_ignore_ascii_case(text))
    }
}

/// Whether a node is in service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Takes no new jobs; those it has may end.
    pub drain: bool,
    /// Out of service.
    pub down: bool,
    /// About to fail: takes no new jobs.
    pub fail: bool,
    /// Why, if somebody said.
    pub reason: Option<Note>,
}

impl Service {
    /// Whether new jobs may come.
    pub fn is_open(&self) -> bool {
        !self.drain && !self.down && !self.fail
    }
}

/// A reason, with who gave it and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The words.
    pub text: String,
    /// Who.
    pub by: Uid,
    /// When.
    pub at: Timestamp,
}

impl Node {
    /// Whether new jobs may be started here.
    pub fn takes_jobs(&self) -> bool {
        self.link.is_up() && self.service.is_open() && self.restarting().is_none()
    }

    /// Since when it restarts, if its agent was told to.
    pub fn restarting(&self) -> Option<Timestamp> {
        self.reboot.as_ref()?.issued
    }

    /// Whether the node has a feature at present.
    pub fn has_feature(&self, feature: &str) -> bool {
        self.active_features.iter().any(|active| active == feature)
    }
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
