//! A node's machine: the agent may die, the shepherds go on; a reboot ends both.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::node::Inventory;
use spur_core::state::Outcome;
use spur_disk::{Disk, SimDisk};
use spur_proto::internal::Launch;
use spurd::agent::{Agent, Found, Identity, Millis, Output, RunFile};
use spurd::fence;
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
    /// When a controller was heard last, as the agent noted it for the shepherds.
    pub heard: Millis,
}

/// A shepherd and its job.
#[derive(Clone, Copy, Debug)]
pub struct Shepherd {
    /// Set when the job is over and the exit file is written.
    pub exit: Option<Outcome>,
    /// After how much silence it ends its job by itself.
    pub fence_secs: Option<u32>,
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
            heard: Millis(0),
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
            Some(Shepherd { exit: None, .. }) => Found::Alive,
            Some(Shepherd { exit: Some(exit), .. }) => Found::Over(*exit, Box::default()),
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
        self.heard = Millis(0);
        self.disk.crash(|limit| chance.below(limit as u64) as usize);
        // An exit file may have reached the disk; a shepherd that left none is gone without a word.
        self.shepherds.retain(|_, shepherd| shepherd.exit.is_some() && chance.one_in(2));
    }

    /// After how much silence a run ends by itself, as its launch in the spool says.
    pub fn fence_of(&self, run: Run) -> Option<u32> {
        let launch = self.disk.read(&RunFile::Launch.name(run)).ok()??;
        Launch::decode(launch.as_slice()).ok()?.fence_secs
    }

    /// Whether a run that goes by this must have ended.
    pub fn is_fenced(&self, now: Millis, fence_secs: Option<u32>) -> bool {
        fence_secs.is_some_and(|secs| fence::left(now, self.heard, secs).is_none())
    }

    /// Runs whose processes exist at this moment.
    pub fn alive(&self) -> impl Iterator<Item = Run> {
        self.shepherds.iter().filter(|(_, shepherd)| shepherd.exit.is_none()).map(|(run, _)| *run)
    }
}
