//! Who asks, as the channel proved it.

use std::sync::Arc;

use crate::ids::{Gid, NodeName, Uid};

/// A caller. Nothing in it comes from a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Nobody in particular.
    Anonymous,
    /// A user of the machine, known by the kernel.
    User {
        /// The user.
        uid: Uid,
        /// The user's group.
        gid: Gid,
        /// What the user may do beyond their own jobs.
        level: Level,
        /// Accounts the user looks after, and those below them: whose jobs are theirs to hold, change and end.
        coordinates: Arc<Vec<String>>,
    },
    /// The agent of a node.
    Node(NodeName),
    /// The controller itself, for its own duties.
    Controller,
}

impl Actor {
    /// A user who looks after no account.
    pub fn user(uid: Uid, gid: Gid, level: Level) -> Actor {
        Actor::User { uid, gid, level, coordinates: Arc::default() }
    }

    /// Whether this is the user who looks after an account.
    pub fn is_coordinator(&self, account: &str) -> bool {
        match self {
            Actor::User { coordinates, .. } => {
                !account.is_empty() && coordinates.iter().any(|own| own == account)
            }
            Actor::Anonymous | Actor::Node(_) | Actor::Controller => false,
        }
    }

    /// The user's number; the controller's own duties count as root's.
    pub fn uid(&self) -> Option<Uid> {
        match self {
            Actor::User { uid, .. } => Some(*uid),
            Actor::Controller => Some(Uid::ROOT),
            Actor::Anonymous | Actor::Node(_) => None,
        }
    }

    /// Whether everybody's jobs are theirs to look after.
    pub fn is_operator(&self) -> bool {
        match self {
            Actor::Controller => true,
            Actor::User { level, .. } => *level >= Level::Operator,
            Actor::Anonymous | Actor::Node(_) => false,
        }
    }
}

/// Slurm's admin levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Own jobs only.
    #[default]
    None,
    /// Everybody's jobs and the nodes.
    Operator,
    /// Everything.
    Administrator,
}
