//! Requests that no node could ever meet: Slurm refuses them at once rather than let them wait for ever.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use spur_core::ids::{NodeName, Uid};
use spur_core::job::JobSpec;
use spur_core::partition::{NodeSet, Partition};
use spur_core::state::State;

use crate::nodes::Nodes;
use crate::possible::Fits;
use crate::shape::{Memory, Shape};
use crate::view::{machines, request};

/// What of a request no node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Processors on one node.
    Cpus,
    Memory,
    /// Sockets, or cores in them.
    Sockets,
    TemporaryDisk,
    /// Anything else, or all of it on so few nodes.
    Other,
}

impl Lack {
    /// What Slurm remarks on it, beside that there is no such node.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Lack::Cpus => Some("CPU count per node can not be satisfied"),
            Lack::Memory => Some("Memory specification can not be satisfied"),
            Lack::Sockets => Some("Socket, core and/or thread specification can not be satisfied"),
            Lack::TemporaryDisk => Some("Temporary disk specification can not be satisfied"),
            Lack::Other => None,
        }
    }
}

/// All nodes as if they were empty.
#[derive(Debug, Default)]
pub struct Gauge {
    last: Option<State>,
    nodes: Nodes,
}

impl Gauge {
    /// What a request lacks in every partition it names; nothing where it may start some day.
    pub fn lack(&mut self, state: &State, spec: &JobSpec, owner: Uid) -> Option<Lack> {
        self.follow(state);
        let named: Vec<&Partition> = match spec.partition.as_str() {
            "" => state.default_partition().into_iter().collect(),
            names => names.split(',').filter_map(|name| state.partition(name)).collect(),
        };
        // Where it breaks a limit it waits for another one; what is wrong with it elsewhere is told.
        let open = named.iter().filter(|it| state.breach(spec, it).is_none());
        let mut lacks = None;
        for partition in open {
            lacks = Some(self.lack_in(state, spec, owner, partition, named.len() > 1)?);
        }
        lacks
    }

    fn lack_in(
        &self,
        state: &State,
        spec: &JobSpec,
        owner: Uid,
        partition: &Partition,
        one_of_several: bool,
    ) -> Option<Lack> {
        let shape = request::shape_of(spec, owner, &partition.rules, &state.settings.config);
        if shape.nodelist.iter().any(|name| !partition.nodes.contains(name)) {
            return Some(Lack::Other);
        }
        Fits::of(&shape, &partition.name, &self.nodes).never?;
        let members = members(state, partition)?;
        // Whoever wants more nodes than there are waits until there are, unless several partitions were asked.
        if shape.nodes_min as usize > members.len() && !one_of_several {
            return None;
        }
        let lack = self.single(&shape, &members);
        // So do more processors than all of them have together.
        let slots = members.iter().filter_map(|name| self.nodes.index(name));
        let has = slots.map(|index| &self.nodes.slot(index).node);
        let all: u64 = has.map(|node| u64::from(node.cores) * u64::from(node.threads)).sum();
        let plain =
            shape.gres.is_empty() && shape.exclude.is_empty() && shape.constraint.is_empty();
        let is_short = lack == Lack::Other && plain && shape.cpus() > all;
        (!is_short).then_some(lack)
    }

    /// What no single node has.
    fn single(&self, shape: &Shape, members: &[&NodeName]) -> Lack {
        let slots = members.iter().filter_map(|name| self.nodes.index(name));
        let nodes: Vec<_> = slots.map(|index| self.nodes.slot(index).node.clone()).collect();
        let most = |of: fn(&crate::view::ViewNode) -> u64| nodes.iter().map(|it| of(it)).max();
        let open = |node: &crate::view::ViewNode| node.cores.saturating_sub(node.kept.len() as u32);
        let most_cpus = nodes.iter().map(|it| u64::from(open(it) * it.threads)).max().unwrap_or(0);
        let on_one = match shape.units_per_node {
            Some(units) if !shape.overcommit => shape.units.min(units) * shape.unit_cpus,
            _ => shape.unit_cpus,
        };
        let memory = match shape.memory {
            Memory::PerNode(size) => size,
            Memory::PerCpu(size) | Memory::PerUnit(size) => size,
            Memory::None | Memory::Fair | Memory::All => 0,
        };
        let per_socket = nodes.iter().map(|it| it.cores / it.sockets.max(1)).max().unwrap_or(0);
        let threads = nodes.iter().map(|it| it.threads).max().unwrap_or(0);
        if shape.sockets_min > nodes.iter().map(|it| it.sockets).max().unwrap_or(0)
            || shape.threads_per_core.is_some_and(|wanted| wanted > threads)
            || shape.cores_per_socket_min > per_socket
        {
            Lack::Sockets
        } else if u64::from(on_one.max(shape.cpus_min)) > most_cpus {
            Lack::Cpus
        } else if memory > most(|node| node.memory_mb).unwrap_or(0) {
            Lack::Memory
        } else if shape.tmp_mb > most(|node| node.tmp_mb).unwrap_or(0) {
            Lack::TemporaryDisk
        } else {
            Lack::Other
        }
    }

    /// Learns what has changed about nodes.
    fn follow(&mut self, state: &State) {
        let same = |last: &State| {
            Arc::ptr_eq(&last.settings, &state.settings)
                && Arc::ptr_eq(&last.partitions, &state.partitions)
        };
        match self.last.take().filter(same) {
            None => {
                self.nodes = Nodes::default();
                for node in state.nodes.values() {
                    self.nodes.put(&Arc::new(machines::view_node(state, node, &BTreeMap::new())));
                }
            }
            Some(last) => {
                for change in last.nodes.diff(&state.nodes) {
                    match change {
                        DiffItem::Add(_, node) | DiffItem::Update { new: (_, node), .. } => {
                            self.nodes.put(&Arc::new(machines::view_node(
                                state,
                                node,
                                &BTreeMap::new(),
                            )));
                        }
                        DiffItem::Remove(name, _) => self.nodes.remove(name),
                    }
                }
            }
        }
        self.last = Some(state.clone());
    }
}

/// The nodes of a partition, unless one was never seen: that one may have anything.
fn members<'a>(state: &'a State, partition: &'a Partition) -> Option<Vec<&'a NodeName>> {
    let is_known = |name: &NodeName| state.nodes.contains_key(name);
    match &partition.nodes {
        NodeSet::All => {
            let all = state.settings.config.node_names().all(is_known);
            (all && !state.nodes.is_empty()).then(|| state.nodes.keys().collect())
        }
        NodeSet::Named(names) => names.iter().all(is_known).then(|| names.iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::from_state::cluster;
    use spur_core::limit::Limit;
    use spur_core::state::{Command, Settings};

    #[test]
    fn what_no_node_has_is_refused_and_more_nodes_than_there_are_are_waited_for() {
        let state = cluster(&[64, 64]).0;
        let lack = |spec: &JobSpec| Gauge::default().lack(&state, spec, Uid(1));
        let tasks = |count: u32| JobSpec { ntasks: Some(count), ..JobSpec::default() };
        assert_eq!(lack(&tasks(1)), None);
        assert_eq!(lack(&tasks(128)), None);
        assert_eq!(lack(&tasks(100_000)), None);
        assert_eq!(lack(&JobSpec { nodes_min: Some(5), ..tasks(5) }), None);
        assert_eq!(lack(&JobSpec { cpus_per_task: Some(65), ..tasks(1) }), Some(Lack::Cpus));
        let on_one = JobSpec { nodes_min: Some(1), nodes_max: Some(1), ..tasks(65) };
        assert_eq!(lack(&on_one), Some(Lack::Other));
        let beyond = JobSpec { ntasks: Some(129), ..on_one };
        assert_eq!(lack(&beyond), None);
        let mut spec = tasks(1);
        spec.placement_mut().tmp = Some(1 << 40);
        assert_eq!(lack(&spec), Some(Lack::TemporaryDisk));
        let mut spec = tasks(1);
        spec.layout_mut().sockets_per_node = Some(90);
        assert_eq!(lack(&spec), Some(Lack::Sockets));
        assert_eq!(lack(&JobSpec { gres: "gpu:9".into(), ..tasks(1) }), Some(Lack::Other));
    }

    #[test]
    fn of_several_partitions_those_whose_limits_are_kept_decide() {
        let text = "[[partitions]]\nname = \"a\"\nnodes = \"n1\"\n\
                    [[partitions]]\nname = \"b\"\nmax_time = 10\nnodes = \"n[1-2]\"\n";
        let config = spur_core::config::read(text).unwrap();
        let mut cluster = cluster(&[64, 64]);
        cluster.apply(Command::Configure(Settings::of(&config)));
        let state = cluster.0;
        let lack = |partition: &str, minutes: u64| {
            let spec = JobSpec {
                partition: partition.into(),
                nodes_min: Some(2),
                cpus_per_task: Some(65),
                time_limit: Some(Limit::Is(minutes)),
                ..JobSpec::default()
            };
            Gauge::default().lack(&state, &spec, Uid(1))
        };
        assert_eq!(lack("a", 5), None, "it waits for more nodes");
        assert_eq!(lack("b", 20), None, "it waits for more time");
        assert_eq!(lack("a,b", 20), Some(Lack::Cpus));
        assert_eq!(lack("b,a", 5), Some(Lack::Cpus));
    }
}
