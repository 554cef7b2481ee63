//! Questions of the first day, answered from a [`Config`].

use std::collections::BTreeSet;

use super::resolve::Config;
use super::sections::{Agent, Cgroup, Limits, Mesh, Node, Partition, Scheduler, Timeouts};
use super::sharing::DefaultMemory;
use super::things::NodeList;
use super::words::Unreachable;
use crate::hostlist;
use crate::ids::NodeName;
use crate::limit::Limit;

/// Which nodes a partition has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Every node, also those that join later.
    All,
    /// These.
    These(BTreeSet<NodeName>),
}

/// How a node's CPUs are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub cpus: u32,
    pub boards: u32,
    /// Of the whole node.
    pub sockets: u32,
    pub cores_per_socket: u32,
    pub threads_per_core: u32,
}

/// A node asked to join that the file does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node \"{name}\" is not in spur.conf; it knows {known}")]
pub struct UnknownNode {
    pub name: String,
    /// Compressed, as `n[1-4]`.
    pub known: String,
}

impl Config {
    /// The partition of this name.
    pub fn partition(&self, name: &str) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.name == name)
    }

    /// Where jobs go that name no partition.
    pub fn default_partition(&self) -> Option<&Partition> {
        match self.partitions.as_slice() {
            [alone] => (alone.default != Some(false)).then_some(alone),
            several => several.iter().find(|partition| partition.default == Some(true)),
        }
    }

    /// The nodes of a partition, with node sets replaced by what is in them.
    pub fn members(&self, partition: &Partition) -> Members {
        match &partition.nodes {
            NodeList::All => Members::All,
            NodeList::Named { names, .. } => {
                let mut members = BTreeSet::new();
                for name in names {
                    match self.node_sets.iter().find(|set| set.name == name.as_str()) {
                        None => drop(members.insert(name.clone())),
                        Some(set) if set.nodes == NodeList::All => return Members::All,
                        Some(set) => {
                            members.extend(set.nodes.names().iter().cloned());
                            let with_feature = self.nodes.iter().filter(|node| {
                                set.feature.as_ref().is_some_and(|it| node.features.contains(it))
                            });
                            members
                                .extend(with_feature.flat_map(|node| node.names.names()).cloned());
                        }
                    }
                }
                Members::These(members)
            }
        }
    }

    /// What the file says about a node that wants to join: nothing where no nodes are declared, and a
    /// refusal with the known names where others are.
    pub fn admit(&self, name: &str) -> Result<Option<&Node>, UnknownNode> {
        if self.nodes.is_empty() {
            return Ok(None);
        }
        let has = |node: &&Node| node.names.names().iter().any(|known| known.as_str() == name);
        self.nodes.iter().find(has).map(Some).ok_or_else(|| UnknownNode {
            name: name.to_string(),
            known: hostlist::compress(self.node_names().map(NodeName::as_str)),
        })
    }

    /// Every declared node, in the order of the file.
    pub fn node_names(&self) -> impl Iterator<Item = &NodeName> {
        self.nodes.iter().flat_map(|node| node.names.names())
    }

    /// The memory of jobs that ask for none, in a partition.
    pub fn default_memory(&self, partition: &Partition) -> DefaultMemory {
        let of_partition =
            (partition.def_mem_per_cpu, partition.def_mem_per_node, partition.def_mem_per_gpu);
        let of_cluster =
            (self.jobs.def_mem_per_cpu, self.jobs.def_mem_per_node, self.jobs.def_mem_per_gpu);
        let said = |(per_cpu, per_node, per_gpu): (Option<_>, Option<_>, Option<_>)| {
            per_cpu
                .map(DefaultMemory::PerCpu)
                .or(per_node.map(DefaultMemory::PerNode))
                .or(per_gpu.map(DefaultMemory::PerGpu))
        };
        said(of_partition).or_else(|| said(of_cluster)).unwrap_or(DefaultMemory::Share)
    }

    /// What happens to jobs of a partition whose node went silent.
    pub fn unreachable(&self, partition: &Partition) -> Unreachable {
        partition.unreachable.unwrap_or(self.cluster.unreachable)
    }

    /// The limit of jobs that ask for none, in minutes.
    pub fn default_time(&self, partition: &Partition) -> Limit {
        partition.default_time.unwrap_or(partition.max_time).0
    }

    /// What is allowed but hardly meant, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let controllers = self.controller.hosts.len();
        if controllers > 0 && controllers.is_multiple_of(2) {
            warnings.push(format!(
                "controller.hosts names {controllers}, which survive no more losses than {} would",
                controllers - 1
            ));
        }
        if self.default_partition().is_none() {
            warnings.push("no partition is the default: every job has to name one".to_string());
        }
        let idle = WITHOUT_EFFECT.iter().filter(|(_, is_said)| is_said(self));
        warnings.extend(idle.map(|(key, _)| format!("{key} has no effect yet")));
        for partition in &self.partitions {
            if self.members(partition) == Members::These(BTreeSet::new()) {
                warnings.push(format!("partition \"{}\" has no nodes", partition.name));
            }
        }
        warnings
    }
}

/// A key, and whether a configuration says it.
type Said = (&'static str, fn(&Config) -> bool);

/// Keys that are understood, and that nothing heeds yet.
#[rustfmt::skip]
const WITHOUT_EFFECT: &[Said] = &[
    ("limits.max_job_count", |it| it.limits.max_job_count != Limits::default().max_job_count),
    ("limits.max_tasks_per_node", |it| it.limits.max_tasks_per_node != Limits::default().max_tasks_per_node),
    ("limits.max_node_count", |it| it.limits.max_node_count != Limits::default().max_node_count),
    ("timeouts.inactive_limit", |it| it.timeouts.inactive_limit != Timeouts::default().inactive_limit),
    ("timeouts.message_timeout", |it| it.timeouts.message_timeout != Timeouts::default().message_timeout),
    ("timeouts.node_timeout", |it| it.timeouts.node_timeout != Timeouts::default().node_timeout),
    ("timeouts.batch_start_timeout", |it| it.timeouts.batch_start_timeout != Timeouts::default().batch_start_timeout),
    ("timeouts.complete_wait", |it| it.timeouts.complete_wait != Timeouts::default().complete_wait),
    ("timeouts.wait_time", |it| it.timeouts.wait_time != Timeouts::default().wait_time),
    ("timeouts.unkillable_step_timeout", |it| it.timeouts.unkillable_step_timeout != Timeouts::default().unkillable_step_timeout),
    ("timeouts.get_env_timeout", |it| it.timeouts.get_env_timeout != Timeouts::default().get_env_timeout),
    ("controller.leader_program", |it| it.controller.leader_program.is_some()),
    ("controller.follower_program", |it| it.controller.follower_program.is_some()),
    ("partitions.exclusive_topology", |it| it.partitions.iter().any(|it| it.exclusive_topology)),
    ("scheduler.pack_nodes", |it| it.scheduler.pack_nodes != Scheduler::default().pack_nodes),
    ("nodes.restricted_cores_per_gpu", |it| it.nodes.iter().any(|it| it.restricted_cores_per_gpu != Node::default().restricted_cores_per_gpu)),
    ("nodes.bcast_address", |it| it.nodes.iter().any(|it| it.bcast_address.is_some())),
    ("hooks.prolog_controller", |it| !it.hooks.prolog_controller.is_empty()),
    ("hooks.epilog_controller", |it| !it.hooks.epilog_controller.is_empty()),
    ("hooks.reservation_prolog", |it| it.hooks.reservation_prolog.is_some()),
    ("hooks.reservation_epilog", |it| it.hooks.reservation_epilog.is_some()),
    ("hooks.job_submit", |it| !it.hooks.job_submit.is_empty()),
    ("hooks.unkillable_step", |it| it.hooks.unkillable_step.is_some()),
    ("agent.autodetect", |it| it.agent.autodetect != Agent::default().autodetect),
    ("agent.plugstack", |it| it.agent.plugstack != Agent::default().plugstack),
    ("cgroup.mount_point", |it| it.cgroup.mount_point != Cgroup::default().mount_point),
    ("accounting.purge_reservations_after", |it| it.accounting.purge_reservations_after.is_some()),
    ("accounting.purge_suspends_after", |it| it.accounting.purge_suspends_after.is_some()),
    ("rest.tls_cert", |it| it.rest.tls_cert.is_some()),
    ("gres.multiple_files", |it| it.gres.iter().any(|it| it.multiple_files.is_some())),
    ("gres.flags", |it| it.gres.iter().any(|it| !it.flags.is_empty())),
    ("gres.autodetect", |it| it.gres.iter().any(|it| it.autodetect.is_some())),
    ("mesh.enabled", |it| it.mesh.enabled != Mesh::default().enabled),
];

impl Node {
    /// The arrangement declared, or `None` where nothing is and the hardware decides.
    ///
    /// `cpus` alone is one socket with that many cores of one thread; with other numbers beside it, what
    /// is missing follows from them.
    pub fn shape(&self) -> Result<Option<Shape>, String> {
        let boards = self.boards.unwrap_or(1);
        let sockets = match (self.sockets, self.sockets_per_board) {
            (Some(_), Some(_)) => {
                return Err("sockets and sockets_per_board say the same thing twice".to_string());
            }
            (Some(sockets), None) => Some(sockets),
            (None, Some(by_board)) => Some(times(by_board, boards)?),
            (None, None) => None,
        };
        let (cores, threads) = (self.cores_per_socket, self.threads_per_core);
        let said = [self.boards, self.cpus, sockets, cores, threads];
        if said.iter().all(Option::is_none) {
            return Ok(None);
        }
        if said.contains(&Some(0)) {
            return Err("a node has at least one of each".to_string());
        }
        let threads_per_core = threads.unwrap_or(1);
        let sockets = sockets.unwrap_or(boards);
        let cores_per_socket = match (cores, self.cpus) {
            (Some(cores), _) => cores,
            (None, Some(cpus)) => (cpus / times(sockets, threads_per_core)?).max(1),
            (None, None) => 1,
        };
        let all_cores = times(sockets, cores_per_socket)?;
        let all_threads = times(all_cores, threads_per_core)?;
        let cpus = self.cpus.unwrap_or(all_threads);
        if cpus != all_threads && cpus != all_cores {
            return Err(format!(
                "cpus = {cpus} is neither all {all_cores} cores nor all {all_threads} threads \
                 ({sockets} sockets of {cores_per_socket} cores of {threads_per_core} threads)"
            ));
        }
        Ok(Some(Shape { cpus, boards, sockets, cores_per_socket, threads_per_core }))
    }
}

fn times(left: u32, right: u32) -> Result<u32, String> {
    left.checked_mul(right).ok_or_else(|| "that many CPUs cannot be counted".to_string())
}
