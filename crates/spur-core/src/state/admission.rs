//! Which partitions let a request in, and which of their limits it breaks.

use crate::accounts::limits::has_flag;
use crate::config::words::{EnforceLimits, PartitionState};
use crate::config::{Allowed, NodeList, sections};
use crate::errors::SlurmError;
use crate::job::{Demand, JobSpec, Owner, Reason};
use crate::limit::Limit;
use crate::partition::Partition;
use crate::state::{State, named};

/// A limit of a partition that a request breaks: it waits until one of them is changed, or is refused where
/// limits are enforced at submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Its account may not use the partition.
    Account,
    /// Its QOS may not be used there.
    Qos,
    /// It asks for more time than is allowed.
    Time,
    /// It asks for more nodes than is allowed, or for fewer.
    Nodes,
    /// It asks for more memory on a node than is allowed.
    Memory,
}

impl Breach {
    /// Why it waits.
    pub fn reason(self) -> Reason {
        match self {
            Breach::Account => Reason::AccountNotAllowed,
            Breach::Qos => Reason::QOSNotAllowed,
            Breach::Time => Reason::PartitionTimeLimit,
            Breach::Nodes => Reason::PartitionNodeLimit,
            Breach::Memory => Reason::MaxMemPerLimit,
        }
    }

    /// How it is refused.
    fn error(self) -> SlurmError {
        match self {
            Breach::Account => SlurmError::InvalidAccount,
            Breach::Qos => SlurmError::InvalidQos,
            Breach::Time => SlurmError::InvalidTimeLimit,
            Breach::Nodes => SlurmError::InvalidNodeCount,
            Breach::Memory => SlurmError::InvalidTaskMemory,
        }
    }
}

/// The request as it goes to the alternatives of partitions that take no jobs; nothing when it stays.
pub(super) fn rerouted(state: &State, spec: &JobSpec) -> Option<JobSpec> {
    let named: Vec<&Partition> = match spec.partition.as_str() {
        "" => state.default_partition().into_iter().collect(),
        names => names.split(',').filter_map(|name| state.partition(name)).collect(),
    };
    let closed =
        |it: &Partition| matches!(it.rules.state, PartitionState::Drain | PartitionState::Inactive);
    if !named.iter().any(|it| closed(it) && it.rules.alternate.is_some()) {
        return None;
    }
    let instead = named.into_iter().map(|first| {
        let mut at = first;
        // Alternatives may be closed themselves, and point back.
        for _ in 0..state.partitions.len() {
            let next = at.rules.alternate.as_deref().and_then(|name| state.partition(name));
            match next.filter(|_| closed(at)) {
                Some(next) => at = next,
                None => break,
            }
        }
        at.name.as_str()
    });
    let partition = instead.collect::<Vec<_>>().join(",");
    Some(JobSpec { partition, ..spec.clone() })
}

/// Refuses whom none of the partitions lets in.
pub(super) fn check(
    state: &State,
    partitions: &[&Partition],
    spec: &JobSpec,
    owner: &Owner,
) -> Result<(), SlurmError> {
    let is_root = owner.uid.0 == 0;
    let refusal = |rules: &sections::Partition| {
        let no_root =
            rules.disable_root_jobs.unwrap_or(state.settings.config.jobs.disable_root_jobs);
        if is_root && no_root {
            Some(SlurmError::UserIdMissing)
        } else if rules.root_only && !is_root
            || !admits_host(&rules.alloc_nodes, &spec.submit_host)
            || rules.require_reservation && spec.placement().reservation.is_empty()
        {
            Some(SlurmError::AccessDenied)
        } else {
            None
        }
    };
    let mut refusals = partitions.iter().map(|it| refusal(&it.rules));
    match refusals.clone().all(|it| it.is_some()) {
        true => refusals.next().flatten().map_or(Ok(()), Err),
        false => Ok(()),
    }
}

/// Whether jobs may come from a machine.
fn admits_host(list: &NodeList, host: &str) -> bool {
    *list == NodeList::All || list.names().iter().any(|name| name.as_str() == host)
}

/// Refuses what breaks limits of its partitions, where that is to be told at submission.
pub(super) fn enforce(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    let rule = state.settings.config.scheduler.enforce_partition_limits;
    if rule == EnforceLimits::No {
        return Ok(());
    }
    let named = spec.partition.split(',').filter_map(|name| state.partition(name));
    let named: Vec<&Partition> = match spec.partition.as_str() {
        "" => state.default_partition().into_iter().collect(),
        _ => named.collect(),
    };
    let refusals = named.iter().map(|it| {
        let breach = state.breach(spec, it).map(Breach::error);
        breach.or_else(|| too_small(state, spec, it))
    });
    let refusals: Vec<Option<SlurmError>> = refusals.collect();
    let refusal = match rule {
        EnforceLimits::All => refusals.into_iter().flatten().next(),
        _ if refusals.iter().any(|it| it.is_none()) => None,
        _ => refusals.into_iter().flatten().next_back(),
    };
    refusal.map_or(Ok(()), Err)
}

/// The request with what follows from the cluster's nodes and limits: more processors for each task, where more memory
/// is asked for with each than goes with one; and those between the nodes that are to be neighbours.
pub(super) fn fitted(state: &State, mut spec: JobSpec) -> Result<JobSpec, SlurmError> {
    let neighbours = match spec.placement().contiguous {
        true => named::neighbours(state, &spec)?.len(),
        false => 0,
    };
    if neighbours > 0 {
        let nodes = u32::try_from(neighbours).unwrap_or(u32::MAX).max(spec.nodes_min.unwrap_or(1));
        if spec.nodes_max.is_some_and(|most| most < nodes) {
            return Err(SlurmError::InvalidNodeCount);
        }
        spec.nodes_min = Some(nodes);
        if !spec.ntasks_said {
            spec.ntasks = spec.ntasks.map(|tasks| tasks.max(nodes));
        }
    }
    let named = spec.partition.split(',').find_map(|name| state.partition(name));
    // Of several partitions it is the first whose time jobs have that ask for none, wherever they start.
    if spec.partition.contains(',') && spec.time_limit.is_none() {
        spec.time_limit = named.and_then(|it| it.default_time);
    }
    let first = named.or(state.default_partition());
    // Who must end by a deadline, and has no time of its own nor the partition's, has what is left until then.
    let lifecycle = spec.lifecycle();
    if lifecycle.deadline.is_some()
        && lifecycle.time_min.is_none()
        && spec.time_limit.is_none()
        && first.is_some_and(|it| it.default_time.is_none())
    {
        spec.lifecycle_mut().time_min = Some(Limit::Is(1));
    }
    let own = first.and_then(|it| it.rules.max_mem_per_cpu);
    let most = own.or(state.settings.config.jobs.max_mem_per_cpu).map_or(0, |size| size.0);
    if let Some(size) = spec.memory_per_cpu.filter(|size| most > 0 && *size > most) {
        let times = size.div_ceil(most);
        let each = u64::from(spec.cpus_per_task.unwrap_or(1).max(1)).saturating_mul(times);
        spec.cpus_per_task = Some(u32::try_from(each).unwrap_or(u32::MAX));
        spec.memory_per_cpu = Some(size.div_ceil(times));
    }
    Ok(spec)
}

/// What of a request a partition could not give even if all its nodes were empty.
fn too_small(state: &State, spec: &JobSpec, partition: &Partition) -> Option<SlurmError> {
    let demand = Demand::of(spec);
    let members = state.nodes.values().filter(|node| partition.nodes.contains(&node.name));
    let (nodes, cpus) = members.fold((0u64, 0u64), |(nodes, cpus), node| {
        (nodes + 1, cpus + u64::from(node.inventory.cpus))
    });
    if u64::from(demand.nodes_min) > nodes {
        return Some(SlurmError::InvalidNodeCount);
    }
    let asks = u64::from(demand.tasks) * u64::from(demand.cpus_per_task);
    (asks > cpus && !spec.layout().overcommit).then_some(SlurmError::TooManyRequestedCpus)
}

impl State {
    /// The first limit of a partition that a request breaks.
    pub fn breach(&self, spec: &JobSpec, partition: &Partition) -> Option<Breach> {
        let rules = &partition.rules;
        let is_denied = |allowed: &Allowed, denied: &[String], name: &str| match allowed {
            Allowed::These(_) => !allowed.allows(name),
            Allowed::All => denied.iter().any(|it| it == name),
        };
        if is_denied(&rules.allow_accounts, &rules.deny_accounts, &spec.account) {
            return Some(Breach::Account);
        }
        if is_denied(&rules.allow_qos, &rules.deny_qos, &spec.qos) {
            return Some(Breach::Qos);
        }
        let qos = self.rules.qos(&spec.qos);
        let excused = |flag: &str| qos.is_some_and(|qos| has_flag(qos, flag));
        if spec.time_limit.is_some_and(|limit| limit > partition.max_time)
            && !excused("PartitionTimeLimit")
        {
            return Some(Breach::Time);
        }
        let most = rules.max_nodes.0.number().unwrap_or(u64::MAX);
        let least = spec.nodes_min.unwrap_or(1);
        if u64::from(least) > most && !excused("PartitionMaxNodes")
            || spec.nodes_max.is_some_and(|max| max < rules.min_nodes)
                && !excused("PartitionMinNodes")
        {
            return Some(Breach::Nodes);
        }
        let limit = rules.max_mem_per_node.or(self.settings.config.jobs.max_mem_per_node);
        let limit = limit.map(|it| it.0).filter(|limit| *limit > 0)?;
        let asked = self.memory_on_a_node(spec, rules)?;
        (asked > limit).then_some(Breach::Memory)
    }

    /// The memory that a request needs on some node at least, where it can be told without knowing the node.
    fn memory_on_a_node(&self, spec: &JobSpec, rules: &sections::Partition) -> Option<u64> {
        if let Some(size) = spec.memory_per_node {
            return Some(size);
        }
        let jobs = &self.settings.config.jobs;
        let default = rules.def_mem_per_cpu.or(jobs.def_mem_per_cpu).map(|size| size.0);
        let by_node = rules.def_mem_per_node.map(|size| size.0);
        if spec.memory_per_cpu.is_none() && rules.def_mem_per_cpu.is_none() && by_node.is_some() {
            return by_node;
        }
        let per_cpu = spec.memory_per_cpu.or(default)?;
        let demand = Demand::of(spec);
        let tasks = match spec.ntasks_per_node {
            Some(each) => each.min(demand.tasks),
            None => demand.tasks.div_ceil(demand.nodes_max.max(1)),
        };
        Some(per_cpu.saturating_mul(u64::from(tasks) * u64::from(demand.cpus_per_task)))
    }
}
