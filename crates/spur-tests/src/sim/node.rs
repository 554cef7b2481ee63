//! A node's machine: the agent may die, the shepherds go on; a reboot ends both.

use std::collections::BTreeMap;

use spur_core::job::ExitStatus;
use spur_core::node::Inventory;
use spur_core::state::Outcome;
use spur_disk::SimDisk;
use spurd::agent::{Agent, Found, Identity, Output};
use spurd::run::RunId;

use super::chance::Chance;

/// A step in a run of a job.
pub type Run = RunId;

/// One node.
pub struct Node {
    /// Its name.
    pub name: String,
    /// The agent's spool.
    pub disk: SimDisk,
    /// The agent, while it lives.
    pub agent: Option<Agent<SimDisk>>,
    /// Counts the agent's lives, so that what is meant for an earlier one goes nowhere.
    pub life: u64,
    boot: u64,
    /// What the kernel has: a shepherd for each claimed run.
    pub shepherds: BTreeMap<Run, Shepherd>,
}

/// A shepherd and its job.
#[derive(Clone, Copy, Debug)]
pub struct Shepherd {
    /// Set when the job is over and the exit file is written.
    pub exit: Option<ExitStatus>,
}

impl Node {
    /// A new machine.
    pub fn new(name: &str) -> Node {
        Node {
            name: name.to_string(),
            disk: SimDisk::new(),
            agent: None,
            life: 0,
            boot: 1,
            shepherds: BTreeMap::new(),
        }
    }

    /// Starts the agent; returns what it wants done at once.
    pub fn start(&mut self) -> Vec<Output> {
        self.life += 1;
        let identity = Identity {
            node: self.name.clone(),
            boot_id: format!("boot {}", self.boot),
            inventory: Inventory::simple(4, 1000),
            address: String::new(),
        };
        let shepherds = &self.shepherds;
        let look = |run| match shepherds.get(&run) {
            None => Found::Unclaimed,
            Some(Shepherd { exit: None }) => Found::Alive,
            Some(Shepherd { exit: Some(exit) }) => {
                Found::Over(Outcome::Exited(*exit), Box::default())
            }
        };
        match Agent::recover(identity, self.disk.clone(), look) {
            Ok((agent, outputs)) => {
                self.agent = Some(agent);
                outputs
            }
            Err(_) => Vec::new(),
        }
    }

    /// Kills the agent alone.
    pub fn crash(&mut self) {
        self.agent = None;
        self.life += 1;
    }

    /// Cuts the power: processes are gone, the disk keeps what was synced and perhaps more.
    pub fn reboot(&mut self, chance: &mut Chance) {
        self.crash();
        self.boot += 1;
        self.disk.crash(|limit| chance.below(limit as u64) as usize);
        // An exit file may have reached the disk; a shepherd that left none is gone without a word.
        self.shepherds.retain(|_, shepherd| shepherd.exit.is_some() && chance.one_in(2));
    }

    /// Runs whose processes exist at this moment.
    pub fn alive(&self) -> impl Iterator<Item = Run> {
        self.shepherds.iter().filter(|(_, shepherd)| shepherd.exit.is_none()).map(|(run, _)| *run)
    }
}
