//! Nodes and partitions, and whether anybody is in.

use spur_core::hostlist;
use spur_core::node::{NodeFlag, NodeState, NodeStatus};
use spur_core::views::{NodeView, PartitionView};
use spur_proto::slurm::{ListNodesReply, ListPartitionsReply, PingReply};
use tonic::Status;

use super::service::Service;
use crate::shell::Published;

impl Service {
    pub(super) fn pinged(&self) -> Result<PingReply, Status> {
        let published = self.inbox.published();
        Ok(PingReply {
            version: env!("CARGO_PKG_VERSION").to_string(),
            cluster_name: published.state.settings.cluster_name.clone(),
            leads: published.leads,
        })
    }

    pub(super) async fn nodes(&self) -> Result<ListNodesReply, Status> {
        let published = self.latest().await?;
        let nodes =
            published.state.nodes.values().map(|node| node_view(&published, node)).collect();
        Ok(ListNodesReply { nodes })
    }

    pub(super) async fn partitions(&self) -> Result<ListPartitionsReply, Status> {
        let published = self.latest().await?;
        let state = &published.state;
        let view = |partition: &spur_core::partition::Partition| {
            let names = state.nodes.keys().filter(|name| partition.nodes.contains(name));
            PartitionView {
                name: partition.name.clone(),
                is_default: partition.is_default,
                is_up: true,
                max_time: Some(partition.max_time),
                default_time: partition.default_time,
                nodes: hostlist::compress(names.map(|name| name.as_str())),
                ..PartitionView::default()
            }
        };
        Ok(ListPartitionsReply { partitions: state.settings.partitions.iter().map(view).collect() })
    }
}

/// What a node is doing follows from its jobs and its link; it is kept nowhere.
pub(super) fn node_view(published: &Published, node: &spur_core::node::Node) -> NodeView {
    let state = &published.state;
    let used = state.cpus_used(&node.name);
    let base = match used {
        _ if !node.link.is_up() => NodeState::Down,
        0 => NodeState::Idle,
        used if used >= node.inventory.cpus => NodeState::Allocated,
        _ => NodeState::Mixed,
    };
    let mut status = NodeStatus(base.number());
    if !node.link.is_up() {
        status = status.with(NodeFlag::NotResponding);
    }
    let partitions = state.settings.partitions.iter();
    let partitions = partitions.filter(|partition| partition.nodes.contains(&node.name));
    NodeView {
        name: node.name.to_string(),
        state: status.0,
        cpus: node.inventory.cpus,
        cpus_allocated: used,
        memory_mb: node.inventory.memory_mb,
        reason: if node.link.is_up() { String::new() } else { "Not responding".to_string() },
        partitions: partitions.map(|partition| partition.name.clone()).collect(),
        ..NodeView::default()
    }
}
