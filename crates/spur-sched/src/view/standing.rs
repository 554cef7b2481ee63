//! Whether a job takes part, and where.

use spur_core::config::words::PartitionState;
use spur_core::ids::NodeName;
use spur_core::job::{Job, Reason};
use spur_core::partition::Partition;
use spur_core::state::State;
use spur_core::time::Timestamp;

use super::Standing;

/// The partitions that let a job in; where none does, the first says why.
pub(super) fn open_partitions<'a>(state: &'a State, job: &'a Job) -> Vec<&'a Partition> {
    let all: Vec<&Partition> = state.partitions_of(job).collect();
    let mut open = all.clone();
    open.retain(|it| !matches!(standing(state, job, Some(it)), Standing::Barred(_)));
    if open.is_empty() {
        open.extend(all.first());
    }
    // Where its priority is highest it is tried first.
    let factor = match state.settings.config.priority.weight_partition {
        0 => |_: &Partition| 0,
        _ => |it: &Partition| it.rules.priority_job_factor,
    };
    open.sort_by_key(|it| std::cmp::Reverse((it.rules.priority_tier, factor(it))));
    open
}

/// Nodes on which something went wrong with a job.
pub(super) fn avoided(job: &Job) -> Vec<NodeName> {
    let mut names = job.setbacks.as_ref().map(|it| it.avoid.clone()).unwrap_or_default();
    names.sort_unstable();
    names
}

/// When a job puts up with nodes at more switches than it wants, if it wants few. Slurm lets nobody wait for longer than
/// `max_switch_wait`.
pub fn switches_until(job: &Job) -> Option<Timestamp> {
    const MOST_SECS: i64 = 300;
    let place = job.spec.placement();
    place.switches?;
    let since = job.begin.unwrap_or(job.submitted).max(job.submitted);
    let wait = place.switches_wait_secs.map_or(MOST_SECS, i64::from);
    Some(since.plus_secs(wait.min(MOST_SECS)))
}

/// Whether a job starts with another, which speaks for it.
pub(super) fn follows(job: &Job) -> bool {
    job.component.is_some_and(|it| !it.leads())
}

/// Whether a job takes part, by what is known about it alone.
pub(super) fn standing(state: &State, job: &Job, partition: Option<&Partition>) -> Standing {
    let Some(partition) = partition else { return Standing::Barred(Reason::PartitionDown) };
    let rules = &partition.rules;
    match state.obstacle(job) {
        Some(Reason::BeginTime) if job.begin.is_some() => {
            return Standing::From(job.begin.unwrap_or(state.now));
        }
        Some(reason) => return Standing::Barred(reason),
        None => {}
    }
    match rules.state {
        PartitionState::Down => return Standing::Barred(Reason::PartitionDown),
        PartitionState::Inactive => return Standing::Barred(Reason::PartitionInactive),
        PartitionState::Up | PartitionState::Drain => {}
    }
    if let Some(breach) = state.breach(&job.spec, partition) {
        return Standing::Barred(breach.reason());
    }
    if rules.require_reservation && job.spec.placement().reservation.is_empty() {
        return Standing::Barred(Reason::Reservation);
    }
    Standing::Ready
}
