//! Which of its job's GPUs a step has. A pure function, as the layout of its tasks is.

use super::StepSpec;
use super::layout::Placed;
use crate::errors::SlurmError;
use crate::gres::{self, GPU, Request, SHARD};
use crate::ids::NodeName;
use crate::idset::IdSet;
use crate::job::{Allocation, JobSpec};

/// What a step asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    /// Whatever its job has.
    All,
    /// So many of each kind on each node.
    PerNode(Vec<Request>),
    /// So many for each task.
    PerTask(Vec<Request>),
    /// So many over all nodes.
    Total(Vec<Request>),
}

/// The GPUs of a step on each of its nodes, by the node's numbers; nothing where it has all that its job has.
/// `busy` are those that other steps have. `NodesBusy` means that there will be enough later.
pub fn choose(
    spec: &StepSpec,
    job: &JobSpec,
    held: &Allocation,
    placed: &[Placed],
    busy: impl Fn(&NodeName) -> IdSet,
) -> Result<Vec<Option<IdSet>>, SlurmError> {
    let wanted = wanted(spec, job);
    let none = |_: &NodeName| IdSet::default();
    // What its job will never have is not waited for.
    let chosen = pick(&wanted, held, placed, none).ok_or(SlurmError::InvalidGres)?;
    if spec.overlap {
        return Ok(chosen);
    }
    if wanted == Wanted::All {
        let is_free = |place: &Placed| !all(held, &place.node).meets(&busy(&place.node));
        return if placed.iter().all(is_free) { Ok(chosen) } else { Err(SlurmError::NodesBusy) };
    }
    pick(&wanted, held, placed, busy).ok_or(SlurmError::NodesBusy)
}

/// All GPUs that a job has on a node.
pub fn all(held: &Allocation, node: &NodeName) -> IdSet {
    let share = held.shares.iter().find(|share| share.node == *node);
    let gres = share.into_iter().flat_map(|share| &share.gres).filter(|it| it.name == GPU);
    gres.flat_map(|it| it.ids.iter()).collect()
}

/// Of several ways to ask at once, as when the job's variables speak too, Slurm heeds that for nodes first, then that
/// for tasks.
fn wanted(spec: &StepSpec, job: &JobSpec) -> Wanted {
    let nothing = JobSpec::default();
    let request = spec.request.as_deref().unwrap_or(&nothing);
    let said = if request.gres.is_empty() { &spec.gres } else { &request.gres };
    let gpus = |text: &str| gres::parse_gpus(text).unwrap_or_default();
    let gpu = request.gpu();
    let by_node = match (said.as_str(), gpu.gpus_per_node.as_str()) {
        ("", "") => None,
        ("", text) => Some(gpus(text)),
        (text, _) => Some(gres::parse(text).unwrap_or_default()),
    };
    // Parts are not parted again: a step that asks for some has its job's.
    if by_node.iter().flatten().any(|it| it.name == SHARD) {
        return Wanted::All;
    }
    let by_node = by_node.map(|it| it.into_iter().filter(|it| it.name == GPU).collect());
    match (by_node, gpu.gpus_per_task.as_str(), gpu.gpus.as_str()) {
        (Some(each), _, _) => Wanted::PerNode(each),
        (None, "", "") if asks(job) => Wanted::All,
        // What came along with whole nodes, nobody asked for.
        (None, "", "") => Wanted::PerNode(Vec::new()),
        (None, "", total) => Wanted::Total(gpus(total)),
        (None, each, _) => Wanted::PerTask(gpus(each)),
    }
}

/// Whether a job asked for GPUs, in whatever way.
fn asks(job: &JobSpec) -> bool {
    let gpu = job.gpu();
    let said = [&gpu.gpus, &gpu.gpus_per_node, &gpu.gpus_per_socket, &gpu.gpus_per_task];
    let is_named = |text: &str| text.contains(GPU) || text.contains(SHARD);
    is_named(&job.gres)
        || is_named(&gpu.tres_per_task)
        || gpu.ntasks_per_gpu.is_some()
        || said.iter().any(|text| !text.is_empty())
}

fn pick(
    wanted: &Wanted,
    held: &Allocation,
    placed: &[Placed],
    busy: impl Fn(&NodeName) -> IdSet,
) -> Option<Vec<Option<IdSet>>> {
    let free = |node: &NodeName, model: Option<&str>| -> Vec<u32> {
        let taken = busy(node);
        let share = held.shares.iter().find(|share| share.node == *node);
        let fits = |kind: &str| model.is_none_or(|model| model.eq_ignore_ascii_case(kind));
        let gres = share.into_iter().flat_map(|share| &share.gres);
        let gres = gres.filter(|it| it.name == GPU && fits(&it.kind));
        gres.flat_map(|it| it.ids.iter()).filter(|id| !taken.contains(*id)).collect()
    };
    let (requests, is_total) = match wanted {
        Wanted::All => return Some(vec![None; placed.len()]),
        Wanted::PerNode(requests) | Wanted::PerTask(requests) => (requests, false),
        Wanted::Total(requests) => (requests, true),
    };
    let mut chosen: Vec<Vec<u32>> = vec![Vec::new(); placed.len()];
    for request in requests {
        let mut left = usize::try_from(request.count).ok()?;
        for (at, place) in placed.iter().enumerate() {
            let mut here = free(&place.node, request.model.as_deref());
            here.retain(|id| !chosen[at].contains(id));
            let count = match wanted {
                // Each of the nodes to come has one, too, if there are as many.
                Wanted::Total(_) => left.saturating_sub(placed.len() - at - 1).max(left.min(1)),
                Wanted::PerTask(_) => left.checked_mul(place.ranks.len())?,
                _ => left,
            };
            if !is_total && here.len() < count {
                return None;
            }
            here.truncate(count);
            left -= if is_total { here.len() } else { 0 };
            chosen[at].extend(here);
        }
        if is_total && left > 0 {
            return None;
        }
    }
    Some(chosen.into_iter().map(|ids| Some(ids.into_iter().collect())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{GresShare, Share};

    fn held() -> Allocation {
        let share = |node: &str, first: u32| {
            let ids = (first..first + 4).collect();
            let (name, kind) = (GPU.to_string(), "mi300x".to_string());
            let gres = vec![GresShare { name, kind, count: 4, ids }];
            Share { gres, ..Share::of_cpus(node.into(), 8) }
        };
        Allocation { shares: vec![share("n1", 4), share("n2", 0)] }
    }

    fn spec(make: impl FnOnce(&mut JobSpec)) -> StepSpec {
        let mut request = JobSpec::default();
        make(&mut request);
        StepSpec { request: Some(Box::new(request)), exact: true, ..StepSpec::default() }
    }

    fn place(node: &str, tasks: u32) -> Placed {
        Placed { node: node.into(), ranks: (0..tasks).collect(), cpus: tasks }
    }

    fn told(spec: &StepSpec, placed: &[Placed], busy: &[u32]) -> Result<String, SlurmError> {
        let mut job = JobSpec::default();
        job.gpu_mut().gpus = "8".to_string();
        let busy = |_: &NodeName| busy.iter().copied().collect();
        let chosen = choose(spec, &job, &held(), placed, busy)?;
        let shown = chosen.iter().map(|ids| match ids {
            Some(ids) => ids.to_string(),
            None => "all".to_string(),
        });
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_step_has_what_it_asks_for_of_what_its_job_has() {
        let one = [place("n1", 2)];
        let both = [place("n1", 2), place("n2", 1)];
        let per_task = spec(|it| it.gpu_mut().gpus_per_task = "2".to_string());
        let total = |count: &str| spec(|it| it.gpu_mut().gpus = count.to_string());
        let named = |text: &str| spec(|it| it.gres = text.to_string());
        for (spec, placed, busy, expected) in [
            (spec(|_| ()), &both[..], &[][..], Ok("all all")),
            (spec(|_| ()), &one, &[5], Err(SlurmError::NodesBusy)),
            (total("1"), &one, &[], Ok("4")),
            (total("1"), &one, &[4, 5], Ok("6")),
            (total("0"), &one, &[], Ok("")),
            (total("3"), &both, &[], Ok("4-5 0")),
            (total("8"), &both, &[], Ok("4-7 0-3")),
            (total("5"), &one, &[], Err(SlurmError::InvalidGres)),
            (total("mi300x:2"), &one, &[], Ok("4-5")),
            (total("h100:1"), &one, &[], Err(SlurmError::InvalidGres)),
            (per_task.clone(), &both, &[], Ok("4-7 0-1")),
            (per_task, &one, &[7], Err(SlurmError::NodesBusy)),
            (named("gpu:2"), &both, &[], Ok("4-5 0-1")),
            (named("none"), &both, &[], Ok(" ")),
        ] {
            let found = told(&spec, placed, busy);
            assert_eq!(found.as_deref(), expected.as_deref(), "{spec:?}");
        }
        let over = StepSpec { overlap: true, ..spec(|_| ()) };
        assert_eq!(told(&over, &one, &[4, 5, 6, 7]).as_deref(), Ok("all"));
    }

    #[test]
    fn what_was_said_for_nodes_counts_before_what_was_said_for_the_whole() {
        let both = spec(|it| {
            it.gres = "gpu:2".to_string();
            it.gpu_mut().gpus = "4".to_string();
        });
        assert_eq!(told(&both, &[place("n1", 1)], &[]).as_deref(), Ok("4-5"));
    }

    #[test]
    fn nobody_is_given_what_only_came_along_with_whole_nodes() {
        let spec = spec(|_| ());
        let none = |_: &NodeName| IdSet::default();
        let chosen = choose(&spec, &JobSpec::default(), &held(), &[place("n1", 1)], none);
        assert_eq!(chosen, Ok(vec![Some(IdSet::default())]));
    }
}
