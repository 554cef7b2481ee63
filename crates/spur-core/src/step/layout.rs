//! Where a step's tasks go: nodes of the job, tasks on each, processors taken. A pure function, so that
//! the controller and tests agree.

use std::collections::BTreeMap;

use super::StepSpec;
use crate::errors::SlurmError;
use crate::hostlist;
use crate::ids::NodeName;
use crate::job::distribution::{self, Nodes};
use crate::job::{Allocation, JobSpec};

/// What a step has on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where.
    pub node: NodeName,
    /// Ranks of its tasks there, ascending.
    pub ranks: Vec<u32>,
    /// Processors it takes there.
    pub cpus: u32,
}

/// Lays a step out over what a job holds. `busy` are processors that other steps have taken.
/// `NodesBusy` means that it would fit later.
pub fn lay_out(
    spec: &StepSpec,
    held: &Allocation,
    busy: &BTreeMap<NodeName, u32>,
) -> Result<Vec<Placed>, SlurmError> {
    let request = spec.request.as_deref().unwrap_or(&EMPTY);
    let mut nodes = candidates(spec, request, held)?;
    // Who names a node for each task wants no others.
    if is_arbitrary(request) && nodes.iter().any(|node| node.wanted) {
        nodes.retain(|node| node.wanted);
    }
    let whole = count_nodes(request, nodes.len())?;
    let tasks = count_tasks(request, whole.1);
    let most = whole.1.min(tasks as usize).max(whole.0);
    let place = |used: &dyn Fn(&NodeName) -> u32| {
        let free = |node: &Candidate| node.cpus.saturating_sub(used(&node.name));
        pick(request, &nodes, most, tasks, free)
    };
    // It must fit on an empty job first: what never fits is not waited for.
    place(&|_| 0)?;
    let exact = spec.exact && !spec.whole;
    // A step that takes whole nodes waits until nobody else is there.
    let taken = |node: &NodeName| match busy.get(node) {
        _ if spec.overlap => 0,
        None | Some(0) => 0,
        Some(cpus) if exact => *cpus,
        Some(_) => u32::MAX,
    };
    let picked = place(&taken).map_err(|_| SlurmError::NodesBusy)?;
    let counts: Vec<u32> = picked.iter().map(|(_, slots)| *slots).collect();
    let ranks = distribute(request, &picked, tasks, counts)?;
    let cpus_per_task = request.cpus_per_task.unwrap_or(1).max(1);
    let placed = picked.iter().zip(ranks).map(|((node, _), ranks)| {
        let free = node.cpus.saturating_sub(taken(&node.name));
        let asked = (ranks.len() as u32).saturating_mul(cpus_per_task);
        let cpus = if exact { asked.min(free.max(1)) } else { free };
        Placed { node: node.name.clone(), ranks, cpus }
    });
    Ok(placed.collect())
}

/// Whether the job has what a step asks for beside processors: memory, and the kinds of devices it names.
pub fn check_share(
    spec: &StepSpec,
    held: &Allocation,
    placed: &[Placed],
) -> Result<(), SlurmError> {
    let request = spec.request.as_deref().unwrap_or(&EMPTY);
    for place in placed {
        let share = held.shares.iter().find(|share| share.node == place.node);
        let had = share.map_or(0, |share| share.memory_mb);
        let wanted = memory_asked(request, place.cpus).unwrap_or(0);
        // Where a job's memory is not counted there is nothing to compare with.
        if had > 0 && wanted > had {
            return Err(SlurmError::InvalidTaskMemory);
        }
    }
    let has = |name: &str| held.shares.iter().any(|it| it.gres.iter().any(|it| it.name == name));
    let said = [request.gres.as_str(), spec.gres.as_str()];
    let named = said.iter().filter_map(|text| crate::gres::parse(text).ok()).flatten();
    let gpu = request.gpu();
    let counts = [&gpu.gpus, &gpu.gpus_per_node, &gpu.gpus_per_socket, &gpu.gpus_per_task];
    let gpus = counts.into_iter().filter_map(|text| crate::gres::parse_gpus(text).ok()).flatten();
    let missing = |it: &crate::gres::Request| it.count > 0 && !has(&it.name);
    match named.chain(gpus).any(|it| missing(&it)) {
        true => Err(SlurmError::InvalidGres),
        false => Ok(()),
    }
}

/// The memory that a step asks for on a node where it has so many processors, in MB; nothing where it has its job's.
pub fn memory_asked(request: &JobSpec, cpus: u32) -> Option<u64> {
    let of_cpus = || Some(request.memory_per_cpu?.saturating_mul(u64::from(cpus)));
    request.memory_per_node.or_else(of_cpus).filter(|memory| *memory > 0)
}

static EMPTY: std::sync::LazyLock<Box<JobSpec>> = std::sync::LazyLock::new(Box::default);

#[derive(Clone)]
struct Candidate {
    name: NodeName,
    cpus: u32,
    /// By `--nodelist`.
    wanted: bool,
}

/// The job's nodes that the step may use, in order.
fn candidates(
    spec: &StepSpec,
    request: &JobSpec,
    held: &Allocation,
) -> Result<Vec<Candidate>, SlurmError> {
    let names = |list: &str| hostlist::expand(list).map_err(|_| SlurmError::InvalidNodeName);
    let wanted = names(&request.placement().nodelist)?;
    let excluded = names(&request.placement().exclude)?;
    let has = |list: &[String], name: &NodeName| list.iter().any(|it| it == name.as_str());
    if wanted.iter().any(|name| !held.shares.iter().any(|share| share.node.as_str() == name)) {
        return Err(SlurmError::RequestedNodeConfigUnavailable);
    }
    let first = spec.relative.unwrap_or(0) as usize;
    if first > 0 && first >= held.shares.len() {
        return Err(SlurmError::RequestedNodeConfigUnavailable);
    }
    let shares = held.shares.iter().skip(first).filter(|share| !has(&excluded, &share.node));
    let nodes: Vec<Candidate> = shares
        .map(|share| Candidate {
            name: share.node.clone(),
            cpus: share.cpus,
            wanted: has(&wanted, &share.node),
        })
        .collect();
    match nodes.is_empty() || nodes.iter().filter(|node| node.wanted).count() < distinct(&wanted) {
        true => Err(SlurmError::RequestedNodeConfigUnavailable),
        false => Ok(nodes),
    }
}

fn distinct(names: &[String]) -> usize {
    names.iter().collect::<std::collections::BTreeSet<_>>().len()
}

/// The fewest and the most nodes.
fn count_nodes(request: &JobSpec, there: usize) -> Result<(usize, usize), SlurmError> {
    let Some(min) = request.nodes_min else { return Ok((1, there)) };
    let min = min.max(1) as usize;
    if min > there {
        return Err(SlurmError::RequestedNodeConfigUnavailable);
    }
    let max = request.nodes_max.map_or(min, |max| max as usize);
    Ok((min, max.clamp(min, there)))
}

fn count_tasks(request: &JobSpec, nodes: usize) -> u32 {
    let each = request.ntasks_per_node.unwrap_or(1).max(1);
    let counted = |least: u32| {
        request.ntasks_per_node.is_some() || request.nodes_max.is_none_or(|most| most == least)
    };
    match request.ntasks {
        Some(tasks) if request.ntasks_said || request.gpu().ntasks_per_gpu.is_some() => {
            tasks.max(1)
        }
        // A number of tasks that was worked out from a number of nodes; of a range it was the least.
        Some(tasks) if request.nodes_min.is_some_and(counted) => tasks.max(1),
        _ => (nodes as u32).saturating_mul(each),
    }
}

/// Nodes in order with the tasks each has processors for; those that were named come before others.
fn pick(
    request: &JobSpec,
    nodes: &[Candidate],
    most: usize,
    tasks: u32,
    free: impl Fn(&Candidate) -> u32,
) -> Result<Vec<(Candidate, u32)>, SlurmError> {
    let per_task = request.cpus_per_task.unwrap_or(1).max(1);
    let overcommit = request.layout().overcommit;
    let slots = |node: &Candidate| match overcommit {
        true => u32::MAX,
        false => free(node) / per_task,
    };
    let mut usable: Vec<(usize, u32)> =
        nodes.iter().enumerate().map(|(at, node)| (at, slots(node))).collect();
    usable.retain(|(at, slots)| *slots > 0 || nodes[*at].wanted);
    usable.sort_by_key(|(at, _)| (!nodes[*at].wanted, *at));
    usable.truncate(most);
    usable.sort_unstable();
    if usable.len() < most || usable.iter().any(|(_, slots)| *slots == 0) {
        return Err(SlurmError::TooManyRequestedCpus);
    }
    let room: u64 = usable.iter().map(|(_, slots)| u64::from(*slots)).sum();
    if room < u64::from(tasks) {
        return Err(SlurmError::TooManyRequestedCpus);
    }
    Ok(usable.into_iter().map(|(at, slots)| (nodes[at].clone(), slots)).collect())
}

/// Ranks for each node. Slurm's block spreads evenly too; only the numbering differs from cyclic.
fn distribute(
    request: &JobSpec,
    nodes: &[(Candidate, u32)],
    tasks: u32,
    mut slots: Vec<u32>,
) -> Result<Vec<Vec<u32>>, SlurmError> {
    let text = &request.layout().distribution;
    let how = match text.is_empty() {
        true => None,
        false => distribution::parse(text).ok().and_then(|read| read.nodes),
    };
    let how = request.layout().plane_size.map(Nodes::Plane).or(how);
    if let Some(each) = request.ntasks_per_node
        && u64::from(each) * nodes.len() as u64 >= u64::from(tasks)
    {
        slots.iter_mut().for_each(|slots| *slots = (*slots).min(each));
    }
    let mut ranks: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    match how {
        Some(Nodes::Arbitrary) => return arbitrary(request, nodes, tasks),
        Some(Nodes::Plane(size)) => {
            let mut next = 0;
            let mut round = 0;
            while next < tasks {
                let before = next;
                for (at, on_node) in ranks.iter_mut().enumerate() {
                    // In the first round every node gets at least one.
                    let kept = if round == 0 { (nodes.len() - at - 1) as u32 } else { 0 };
                    let left = (tasks - next).saturating_sub(kept).max(u32::from(round == 0));
                    let room = slots[at].saturating_sub(on_node.len() as u32);
                    let here = size.min(left).min(room).min(tasks - next);
                    on_node.extend(next..next + here);
                    next += here;
                }
                if next == before {
                    return Err(SlurmError::TooManyRequestedCpus);
                }
                round += 1;
            }
        }
        how => {
            let mut order = Vec::with_capacity(tasks as usize);
            let mut counts = vec![0; nodes.len()];
            while order.len() < tasks as usize {
                let before = order.len();
                for at in 0..nodes.len() {
                    if counts[at] < slots[at] && order.len() < tasks as usize {
                        counts[at] += 1;
                        order.push(at);
                    }
                }
                if order.len() == before {
                    return Err(SlurmError::TooManyRequestedCpus);
                }
            }
            if !matches!(how, Some(Nodes::Cyclic)) {
                order.sort_unstable();
            }
            (0..).zip(order).for_each(|(rank, at)| ranks[at].push(rank));
        }
    }
    Ok(ranks)
}

fn is_arbitrary(request: &JobSpec) -> bool {
    request.layout().distribution.eq_ignore_ascii_case("arbitrary")
}

/// A task for each name in the list, in its order.
fn arbitrary(
    request: &JobSpec,
    nodes: &[(Candidate, u32)],
    tasks: u32,
) -> Result<Vec<Vec<u32>>, SlurmError> {
    let names = hostlist::expand(&request.placement().nodelist).unwrap_or_default();
    let mut ranks: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    if names.is_empty() {
        return Err(SlurmError::BadDist);
    }
    for (rank, name) in (0..tasks).zip(names.iter().cycle()) {
        let at = nodes.iter().position(|(node, _)| node.name.as_str() == name);
        ranks[at.ok_or(SlurmError::RequestedNodeConfigUnavailable)?].push(rank);
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests;
