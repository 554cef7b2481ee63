//! Which switches are above which node, told from the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::config::words::TopologyKind;
use spur_core::config::{Config, sections::Switch};
use spur_core::hostlist;
use spur_core::ids::NodeName;

/// The way down to a node: the highest switch first.
pub(super) type Way = Arc<[Arc<str>]>;

/// The way to every node that the network is described for.
pub(super) fn ways(config: &Config) -> BTreeMap<NodeName, Way> {
    match config.scheduler.topology {
        TopologyKind::Flat => BTreeMap::new(),
        TopologyKind::Tree => tree(&config.switches),
        TopologyKind::Block => {
            let blocks = config.blocks.iter().flat_map(|block| {
                let way: Way = [Arc::from(block.name.as_str())].into();
                block.nodes.names().iter().map(move |node| (node.clone(), way.clone()))
            });
            blocks.collect()
        }
    }
}

fn tree(switches: &[Switch]) -> BTreeMap<NodeName, Way> {
    let mut above: BTreeMap<String, &str> = BTreeMap::new();
    for switch in switches {
        for below in
            hostlist::expand(switch.switches.as_deref().unwrap_or_default()).unwrap_or_default()
        {
            above.insert(below, &switch.name);
        }
    }
    let mut ways = BTreeMap::new();
    for switch in switches {
        let mut way: Vec<Arc<str>> = vec![switch.name.as_str().into()];
        let mut at = switch.name.as_str();
        // A ring of switches has no top.
        while let Some(higher) = above.get(at).filter(|_| way.len() <= switches.len()) {
            way.push((*higher).into());
            at = higher;
        }
        way.reverse();
        let way: Way = way.into();
        for node in switch.nodes.names() {
            ways.insert(node.clone(), way.clone());
        }
    }
    ways
}
