//! What must be found for a job to start. Jobs of equal shape start and wait alike.

use std::sync::Arc;

use spur_core::ids::NodeName;
use spur_core::reservation::names;

use crate::view::ViewGres;

/// Longer than anything: the end of jobs without a limit.
pub const FOREVER: i64 = i64::MAX / 4;

/// Everything about a job that decides where it fits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// At least this many nodes.
    pub nodes_min: u32,
    /// At most this many nodes.
    pub nodes_max: u32,
    /// What is dealt out to nodes: tasks, or GPUs where only their number for the whole job is said.
    pub units: u32,
    /// The number of units was not said: every node gets `units / nodes_min`.
    pub units_follow_nodes: bool,
    /// Processors for each unit.
    pub unit_cpus: u32,
    /// Processors of the whole job, dealt out with its units, where it has not as many for each.
    pub dealt: Option<Dealt>,
    /// At most this many units on a node.
    pub units_per_node: Option<u32>,
    /// At most this many units on a socket.
    pub units_per_socket: Option<u32>,
    /// At most this many units on a core.
    pub units_per_core: Option<u32>,
    /// Threads of a core that are used; the others stay idle.
    pub threads_per_core: Option<u32>,
    /// A node has at least so many sockets.
    pub sockets_min: u32,
    /// A socket has at least so many cores.
    pub cores_per_socket_min: u32,
    /// A node gives at least so many processors.
    pub cpus_min: u32,
    /// Units need no processors of their own.
    pub overcommit: bool,
    /// Memory.
    pub memory: Memory,
    /// Memory that goes with each GPU, where that was asked for.
    pub memory_per_gpu: u64,
    /// Space for temporary files on each node; it is not used up.
    pub tmp_mb: u64,
    /// `--constraint`, as given.
    pub constraint: Arc<str>,
    /// `--prefer`, as given: nodes with these features are tried first.
    pub prefer: Arc<str>,
    /// The numbers of nodes that will do, where not all from the least to the most do.
    pub sizes: Vec<u32>,
    /// As many nodes as may be and are free, not as few as will do.
    pub widest: bool,
    /// At most so many leaf switches.
    pub switches: Option<u32>,
    /// Nodes come in groups of so many, each group within one block.
    pub segment: Option<u32>,
    /// These nodes must be among those given.
    pub nodelist: Vec<NodeName>,
    /// These nodes must not.
    pub exclude: Vec<NodeName>,
    /// These nodes only when the others would not do: something went wrong with the job there.
    pub avoid: Vec<NodeName>,
    /// With whom nodes are shared.
    pub sharing: Sharing,
    /// Whose it is, where nodes may be kept for one user.
    pub user: Option<u32>,
    /// Its label, by which others may share their nodes with it; empty for none.
    pub label: Arc<str>,
    /// Cores of each node that are left to the system.
    pub left: LeftCores,
    /// Processors of a node, and of each of its sockets, that jobs of one partition have together at most.
    pub cap: Option<Cap>,
    /// Sockets are given whole.
    pub whole_sockets: bool,
    /// Nodes must follow one another.
    pub contiguous: bool,
    /// Rather many nodes with few units than few with many.
    pub spread: bool,
    /// Generic resources.
    pub gres: Vec<GresNeed>,
    /// The reservation the job may use.
    pub reservation: Arc<str>,
    /// A reservation that draws it in although it names none.
    pub drawn: Arc<str>,
    /// It holds no place in the future: whoever is behind it may go first.
    pub humble: bool,
    /// How long it may run, in seconds.
    pub secs: i64,
    /// How long it must be able to run at least, if less than `secs` will do.
    pub secs_min: Option<i64>,
    /// How long it will run in all likelihood, if anybody has a guess.
    pub expected: Option<i64>,
}

/// How much memory, in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    /// None is set aside.
    #[default]
    None,
    /// On each node.
    PerNode(u64),
    /// For each processor that is given.
    PerCpu(u64),
    /// For each unit.
    PerUnit(u64),
    /// For each processor its part of the node's.
    Fair,
    /// All of the node's.
    All,
}

/// With whom a job shares its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// With anybody.
    #[default]
    Anybody,
    /// With anybody, processors too: so many jobs at a time have each.
    Cores(u32),
    /// With jobs of this user.
    User(u32),
    /// With jobs of the same label.
    Label,
    /// With nobody; all processors and devices of its nodes are the job's.
    Nobody,
}

impl Sharing {
    /// Whether anybody may be on the same nodes.
    pub fn is_open(self) -> bool {
        matches!(self, Sharing::Anybody | Sharing::Cores(_))
    }

    /// How many jobs may have a processor.
    pub fn layers(self) -> u32 {
        match self {
            Sharing::Cores(layers) => layers.max(1),
            _ => 1,
        }
    }
}

/// What a job that has a node to itself leaves of it to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftCores {
    /// Nothing but what the node keeps anyway.
    #[default]
    None,
    /// So many cores.
    Cores(u32),
    /// So many threads, in whole cores.
    Threads(u32),
}

/// What jobs of a partition may have of a node together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cap {
    /// Which partition.
    pub partition: Arc<str>,
    /// How many processors.
    pub cpus: u32,
    /// How many of a socket.
    pub socket_cpus: u32,
}

/// What a job insists on where nodes differ in more than size.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// `--constraint`, as given.
    pub constraint: Arc<str>,
    /// The model of its devices; empty for any.
    pub model: Arc<str>,
}

/// Processors that are dealt out with units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dealt {
    /// How many.
    pub cpus: u32,
    /// With how many units.
    pub units: u32,
}

/// A generic resource asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GresNeed {
    /// `gpu`
    pub name: Arc<str>,
    /// `mi300x`; empty for any.
    pub model: Arc<str>,
    /// How many for each unit, or for each node.
    pub count: u32,
    /// For what.
    pub per: Per,
    /// Parts of one device instead of whole devices.
    pub parts: bool,
}

impl GresNeed {
    /// Whether these are what it asks for.
    pub fn is_of(&self, group: &ViewGres) -> bool {
        group.name == self.name
            && (self.model.is_empty() || self.model == group.model)
            && (group.shared || !self.parts)
    }
}

/// What an amount is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Per {
    /// Each unit.
    Unit,
    /// Each node.
    Node,
}

impl Default for Shape {
    /// One processor for any time.
    fn default() -> Shape {
        Shape {
            nodes_min: 1,
            nodes_max: 1,
            units: 1,
            units_follow_nodes: false,
            unit_cpus: 1,
            dealt: None,
            units_per_node: None,
            units_per_socket: None,
            units_per_core: None,
            threads_per_core: None,
            sockets_min: 0,
            cores_per_socket_min: 0,
            cpus_min: 0,
            overcommit: false,
            memory: Memory::None,
            memory_per_gpu: 0,
            tmp_mb: 0,
            constraint: "".into(),
            prefer: "".into(),
            sizes: Vec::new(),
            widest: false,
            switches: None,
            segment: None,
            nodelist: Vec::new(),
            exclude: Vec::new(),
            avoid: Vec::new(),
            sharing: Sharing::Anybody,
            user: None,
            label: "".into(),
            left: LeftCores::None,
            cap: None,
            whole_sockets: false,
            contiguous: false,
            spread: false,
            gres: Vec::new(),
            reservation: "".into(),
            drawn: "".into(),
            humble: false,
            secs: FOREVER,
            secs_min: None,
            expected: None,
        }
    }
}

impl Shape {
    /// Whether jobs of the shape may use what a reservation keeps.
    pub fn may_use(&self, reservation: &str) -> bool {
        *self.drawn == *reservation || names(&self.reservation).any(|it| it == reservation)
    }

    /// The same without the reservation that draws it in, where there is one.
    pub fn outside_drawn(&self) -> Option<Shape> {
        (!self.drawn.is_empty()).then(|| Shape { drawn: "".into(), ..self.clone() })
    }

    /// Among whom jobs of the shape wait: those of their partition, or of a reservation in it.
    pub fn ward(&self, partition: &Arc<str>) -> Arc<str> {
        match self.reservation.is_empty() {
            true => partition.clone(),
            false => format!("{partition} in {}", self.reservation).into(),
        }
    }

    /// Processors over all nodes.
    pub fn cpus(&self) -> u64 {
        match self.dealt {
            Some(dealt) => u64::from(dealt.cpus),
            None => u64::from(self.units) * u64::from(self.unit_cpus),
        }
    }

    /// Processors that go with so many units on a node.
    pub fn cpus_of(&self, units: u32) -> u32 {
        let Some(dealt) = self.dealt else { return units.saturating_mul(self.unit_cpus) };
        let (all, units_all) = (u64::from(units) * u64::from(dealt.cpus), u64::from(dealt.units));
        // Where the number of nodes is said each has what its tasks need anyway.
        let cpus = if self.nodes_min == self.nodes_max {
            all / units_all
        } else {
            all.div_ceil(units_all)
        };
        u32::try_from(cpus).unwrap_or(u32::MAX)
    }

    /// Units for which so many processors will do.
    pub fn units_on(&self, cpus: u32) -> u32 {
        match self.dealt {
            None => cpus / self.unit_cpus.max(1),
            Some(dealt) => {
                let units = u64::from(cpus) * u64::from(dealt.units) / u64::from(dealt.cpus.max(1));
                u32::try_from(units).unwrap_or(u32::MAX)
            }
        }
    }

    /// What it insists on.
    pub fn wish(&self) -> Wish {
        let model = self.gres.first().map_or_else(|| "".into(), |need| need.model.clone());
        Wish { constraint: self.constraint.clone(), model }
    }

    /// How long it will run in all likelihood.
    pub fn likely(&self) -> i64 {
        self.expected.unwrap_or(self.secs).min(self.secs)
    }

    /// The same job on exactly so many nodes.
    pub fn on_nodes(&self, nodes: u32) -> Shape {
        let each = self.units / self.nodes_min.max(1);
        let units = if self.units_follow_nodes { each * nodes } else { self.units };
        Shape { nodes_min: nodes, nodes_max: nodes, units, sizes: Vec::new(), ..self.clone() }
    }

    /// Units every node gets, where all get the same number.
    pub fn units_each(&self) -> Option<u32> {
        if self.nodes_max == 1 {
            return Some(self.units);
        }
        let each = self.units / self.nodes_min.max(1);
        let same = each * self.nodes_min == self.units;
        let full =
            self.units_per_node == Some(each) || each == 1 && self.nodes_min == self.nodes_max;
        (same && (self.units_follow_nodes || full)).then_some(each)
    }

    /// A node gets at least this many units.
    pub fn units_least(&self) -> u32 {
        self.units_each().unwrap_or(1).max(1)
    }
}
