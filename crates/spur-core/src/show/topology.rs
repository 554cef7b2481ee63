//! `scontrol show topology`: switches from the leaves up, or blocks.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Config, words::TopologyKind};
use crate::hostlist;
use crate::ids::NodeName;

/// One switch or block as it is told, and the nodes below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// The nodes below it.
    pub nodes: Vec<String>,
    /// What is printed.
    pub text: String,
}

/// What the configuration says, a line each.
pub fn lines(config: &Config) -> Vec<Line> {
    match config.scheduler.topology {
        TopologyKind::Tree => switches(config),
        TopologyKind::Block => blocks(config),
        TopologyKind::Flat => Vec::new(),
    }
}

/// What a task is told of where each node is: the switches from the highest level down and the node, with dots.
/// Where a node has no switch of a level, nothing is between the dots.
pub fn addresses(config: &Config) -> BTreeMap<NodeName, String> {
    let mut ways: BTreeMap<String, BTreeMap<usize, String>> = BTreeMap::new();
    if config.scheduler.topology == TopologyKind::Tree {
        for (level, line) in by_level(config) {
            for node in line.nodes {
                ways.entry(node).or_default().entry(level).or_insert_with(|| line.name.clone());
            }
        }
    }
    let levels = ways.values().filter_map(|way| way.keys().next_back()).max().copied();
    let address = |(node, way): (String, BTreeMap<usize, String>)| {
        let levels = (0..=levels.unwrap_or(0)).rev();
        let mut parts: Vec<&str> =
            levels.map(|level| way.get(&level).map_or("", String::as_str)).collect();
        parts.push(&node);
        (NodeName::from(node.as_str()), parts.join("."))
    };
    ways.into_iter().map(address).collect()
}

fn switches(config: &Config) -> Vec<Line> {
    by_level(config).into_iter().map(|(_, line)| line).collect()
}

fn by_level(config: &Config) -> Vec<(usize, Line)> {
    let mut lines: Vec<(usize, Line)> = Vec::new();
    for switch in &config.switches {
        let mut nodes = BTreeSet::new();
        let level = below(config, &switch.name, 0, &mut nodes);
        let mut nodes: Vec<String> = nodes.into_iter().collect();
        nodes.sort_by(|a, b| hostlist::natural(a, b));
        let mut text = format!(
            "SwitchName={} Level={level} LinkSpeed=1 Nodes={}",
            switch.name,
            hostlist::compress(nodes.iter())
        );
        if let Some(children) = &switch.switches {
            text.push_str(&format!(" Switches={children}"));
        }
        lines.push((level, Line { name: switch.name.clone(), nodes, text }));
    }
    lines.sort_by_key(|(level, _)| *level);
    lines
}

/// How many levels are below a switch, and which nodes. A tree that bites its tail ends.
fn below(config: &Config, name: &str, depth: usize, nodes: &mut BTreeSet<String>) -> usize {
    let Some(switch) = config.switches.iter().find(|it| it.name == name) else { return 0 };
    nodes.extend(switch.nodes.names().iter().map(ToString::to_string));
    let children = switch.switches.as_deref().unwrap_or_default();
    let children = hostlist::expand(children).unwrap_or_default();
    if depth > config.switches.len() {
        return 0;
    }
    let levels = children.iter().map(|child| 1 + below(config, child, depth + 1, nodes));
    levels.max().unwrap_or(0)
}

fn blocks(config: &Config) -> Vec<Line> {
    let line = |(index, block): (usize, &crate::config::sections::Block)| {
        let nodes: Vec<String> = block.nodes.names().iter().map(ToString::to_string).collect();
        let text = format!(
            "BlockName={} BlockIndex={index} Nodes={} BlockSize={}",
            block.name,
            hostlist::compress(nodes.iter()),
            nodes.len()
        );
        Line { name: block.name.clone(), nodes, text }
    };
    config.blocks.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_before_what_is_above_them() {
        let config = crate::config::read(
            "[scheduler]\ntopology = \"tree\"\n\
             [[switches]]\nname = \"top\"\nswitches = \"s[1-2]\"\n\
             [[switches]]\nname = \"s1\"\nnodes = \"n[1-2]\"\n\
             [[switches]]\nname = \"s2\"\nnodes = \"n[3-4]\"\n",
        )
        .expect("a configuration");
        let told: Vec<String> = lines(&config).into_iter().map(|line| line.text).collect();
        assert_eq!(
            told,
            [
                "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]",
                "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[3-4]",
                "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]",
            ]
        );
        assert!(lines(&Config::default()).is_empty());
    }

    #[test]
    fn a_node_is_told_the_switches_above_it_level_by_level() {
        let config = crate::config::read(
            "[scheduler]\ntopology = \"tree\"\n\
             [[switches]]\nname = \"s0\"\nnodes = \"n[1-2]\"\n\
             [[switches]]\nname = \"s1\"\nnodes = \"n[3-4]\"\n\
             [[switches]]\nname = \"s2\"\nnodes = \"n5\"\n\
             [[switches]]\nname = \"s3\"\nswitches = \"s[0-1]\"\n\
             [[switches]]\nname = \"s4\"\nswitches = \"s[2-3]\"\n",
        )
        .expect("a configuration");
        let told = addresses(&config);
        let told: Vec<&str> = told.values().map(String::as_str).collect();
        assert_eq!(told, ["s4.s3.s0.n1", "s4.s3.s0.n2", "s4.s3.s1.n3", "s4.s3.s1.n4", "s4..s2.n5"]);
        assert!(addresses(&Config::default()).is_empty());
    }
}
