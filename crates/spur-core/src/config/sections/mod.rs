//! Every section of the file, with its keys.

mod daemons;
mod jobs;
mod machines;
mod partitions;
mod scheduling;

pub use daemons::{Accounting, Agent, Cgroup, Cluster, Controller, Mesh, Rest, Update};
pub use jobs::{HealthCheck, Hooks, Jobs, Limits, Power, Timeouts};
pub use machines::{Block, DownNodes, Gres, Node, NodeSet, Switch};
pub use partitions::Partition;
pub use scheduling::{Preemption, Priority, Scheduler};

use super::keys::{Section, Table};

/// The sections in the order of the document.
pub static TABLES: &[Table] = &[
    Cluster::TABLE,
    Controller::TABLE,
    Agent::TABLE,
    Cgroup::TABLE,
    Accounting::TABLE,
    Rest::TABLE,
    Update::TABLE,
    Mesh::TABLE,
    Scheduler::TABLE,
    Priority::TABLE,
    Preemption::TABLE,
    Jobs::TABLE,
    Limits::TABLE,
    Timeouts::TABLE,
    Hooks::TABLE,
    HealthCheck::TABLE,
    Power::TABLE,
    Partition::TABLE,
    Node::TABLE,
    NodeSet::TABLE,
    DownNodes::TABLE,
    Gres::TABLE,
    Switch::TABLE,
    Block::TABLE,
];

/// The section of this name; empty is the top of the file.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_help_and_is_said_once() {
        for table in TABLES {
            let names: BTreeSet<&str> = table.keys.iter().map(|key| key.name).collect();
            assert_eq!(names.len(), table.keys.len(), "{}", table.heading());
            assert!(!table.help.trim().is_empty());
            for key in table.keys {
                assert!(key.help.trim().ends_with('.'), "{} {}", table.heading(), key.name);
                let is_snake = |letter: char| letter.is_ascii_lowercase() || letter == '_';
                assert!(key.name.chars().all(is_snake), "{}", key.name);
            }
        }
    }

    #[test]
    fn a_name_in_slurm_conf_means_one_key() {
        let mut seen = BTreeSet::new();
        for table in TABLES.iter().filter(|table| !table.repeated) {
            for name in table.keys.iter().flat_map(|key| key.slurm) {
                assert!(seen.insert(name.to_ascii_lowercase()), "{name}");
            }
        }
    }

    #[test]
    fn every_default_reads_back_as_itself() {
        for table in TABLES {
            for (key, default) in table.keys.iter().zip((table.defaults)()) {
                if default.is_empty() {
                    continue;
                }
                let line = format!("key = {default}");
                assert!(line.parse::<toml::Table>().is_ok(), "{} {default}", key.name);
            }
        }
    }
}
