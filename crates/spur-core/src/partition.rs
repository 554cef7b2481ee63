//! Partitions: named sets of nodes with rules.

use std::sync::Arc;

use crate::config::{Config, Members, sections};
use crate::ids::NodeName;
use crate::limit::Limit;

/// One partition.
#[derive(Clone, Debug, PartialEq)]
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
    /// Everything that is said about it.
    pub rules: Arc<sections::Partition>,
}

impl Partition {
    /// A partition as the configuration has it.
    pub fn of(config: &Config, rules: &sections::Partition) -> Partition {
        let nodes = match config.members(rules) {
            Members::All => NodeSet::All,
            Members::These(names) => NodeSet::Named(names.into_iter().collect()),
        };
        let default = config.default_partition();
        Partition {
            name: rules.name.clone(),
            is_default: default.is_some_and(|default| default.name == rules.name),
            nodes,
            max_time: rules.max_time.0,
            default_time: rules.default_time.map(|limit| limit.0),
            rules: Arc::new(rules.clone()),
        }
    }
}

/// The nodes of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSet {
    /// Every node of the cluster.
    All,
    /// These, in rising order.
    Named(Vec<NodeName>),
}

impl NodeSet {
    /// Whether a node belongs to it.
    pub fn contains(&self, node: &NodeName) -> bool {
        match self {
            NodeSet::All => true,
            NodeSet::Named(names) => names.binary_search(node).is_ok(),
        }
    }
}
