//! Partitions: named sets of nodes with rules.

use crate::ids::NodeName;
use crate::limit::Limit;

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Whether jobs that name none go here.
    pub is_default: bool,
    /// Which nodes it has.
    pub nodes: NodeSet,
    /// The longest time limit, in minutes.
    pub max_time: Limit,
    /// The time limit of jobs that name none, in minutes.
    pub default_time: Option<Limit>,
}

/// The nodes of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSet {
    /// Every node of the cluster.
    All,
    /// These.
    Named(Vec<NodeName>),
}

impl NodeSet {
    /// Whether a node belongs to it.
    pub fn contains(&self, node: &NodeName) -> bool {
        match self {
            NodeSet::All => true,
            NodeSet::Named(names) => names.contains(node),
        }
    }
}
