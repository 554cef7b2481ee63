//! Where nodes are in the network, as tasks on them are told.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::config::Config;
use spur_core::ids::NodeName;
use spur_core::show::topology;

/// What was read from a configuration; runs begin more often than one changes.
#[derive(Debug, Default)]
pub(super) struct Network {
    of: Option<Arc<Config>>,
    addresses: BTreeMap<NodeName, String>,
}

impl Network {
    /// The switches above a node and the node; empty where none are known.
    pub(super) fn address(&mut self, config: &Arc<Config>, node: &NodeName) -> String {
        if !self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, config)) {
            self.addresses = topology::addresses(config);
            self.of = Some(config.clone());
        }
        self.addresses.get(node).cloned().unwrap_or_default()
    }
}
