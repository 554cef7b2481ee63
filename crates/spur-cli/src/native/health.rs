//! `spur health`: which nodes are fit for jobs, and what is wrong with the others.

use clap::Parser;
use serde_json::json;
use spur_core::node::{NodeFlag, NodeState, NodeStatus};
use spur_core::views::NodeView;

use crate::cluster::Controller;
use crate::output::{complain, print};

/// Shows each node and what keeps it from jobs. The exit status is 1 when something does.
#[derive(Parser)]
struct Arguments {
    /// These nodes only.
    nodes: Vec<String>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("health", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = Controller::find();
    let nodes = match controller.nodes() {
        Ok(nodes) => nodes,
        Err(error) => {
            complain("spur health", error);
            return 1;
        }
    };
    let is_wanted =
        |node: &&NodeView| arguments.nodes.is_empty() || arguments.nodes.contains(&node.name);
    let judged: Vec<(String, Option<String>)> =
        nodes.iter().filter(is_wanted).map(|node| (node.name.clone(), trouble(node))).collect();
    match arguments.json {
        true => {
            let list: Vec<_> = judged
                .iter()
                .map(|(name, trouble)| json!({ "node": name, "fit": trouble.is_none(), "trouble": trouble }))
                .collect();
            print(&format!("{}\n", json!({ "nodes": list })));
        }
        false => print(&table(&judged)),
    }
    u8::from(judged.iter().any(|(_, trouble)| trouble.is_some()))
}

fn table(judged: &[(String, Option<String>)]) -> String {
    let width = judged.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, trouble): &(String, Option<String>)| {
        format!("{name:width$}  {}\n", trouble.as_deref().unwrap_or("fit"))
    };
    judged.iter().map(line).collect()
}

/// What keeps a node from jobs.
fn trouble(node: &NodeView) -> Option<String> {
    let status = NodeStatus(node.state);
    let reason = if node.reason.is_empty() { "no reason given" } else { &node.reason };
    if status.base() == NodeState::Down {
        return Some(format!("DOWN: {reason}"));
    }
    if status.has(NodeFlag::NotResponding) {
        return Some("does not answer".to_string());
    }
    status.has(NodeFlag::Drain).then(|| format!("DRAIN: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_fit_or_says_why_not() {
        let fit =
            NodeView { name: "n1".into(), state: NodeState::Idle.number(), ..NodeView::default() };
        assert_eq!(trouble(&fit), None);
        let drained = NodeView {
            state: NodeStatus(NodeState::Idle.number()).with(NodeFlag::Drain).0,
            reason: "Health: /tmp is full".into(),
            ..fit.clone()
        };
        assert_eq!(trouble(&drained).as_deref(), Some("DRAIN: Health: /tmp is full"));
        let judged = [("n1".to_string(), None), ("node2".to_string(), trouble(&drained))];
        assert_eq!(table(&judged), "n1     fit\nnode2  DRAIN: Health: /tmp is full\n");
    }
}
