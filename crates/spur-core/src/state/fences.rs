//! Jobs whose nodes end them when nobody hears those nodes, so that they can run elsewhere.

use std::sync::Arc;

use crate::config::words::Unreachable;
use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId, NodeName, StepId};
use crate::job::{Cause, ExitStatus, Job, JobSpec, Phase};
use crate::partition::Partition;
use crate::state::{Effect, Finish, Reply, State, again, jobs, steps};

/// After how much silence of a node a run is ended there; nothing where it runs on whatever happens. It is
/// settled when the run starts: its nodes are told then, and go by it to its end.
pub(super) fn secs(state: &State, spec: &JobSpec, partition: Option<&Partition>) -> Option<u32> {
    let config = &state.settings.config;
    let site = partition.is_some_and(|it| config.unreachable(&it.rules) == Unreachable::Fence);
    let site = site.then_some(config.cluster.fence_after);
    let asks = spec.lifecycle().max_restarts.is_some();
    let own = asks.then_some(config.cluster.fence_restartable_after);
    let secs = site.into_iter().chain(own).map(|after| after.0.max(1)).min()?;
    Some(u32::try_from(secs).unwrap_or(u32::MAX))
}

/// Gives up runs on a node that must have ended them by itself: it was not heard for longer than they may
/// live there. The whole job goes with it, unless it said that it does without.
pub(super) fn give_up(
    state: &mut State,
    node: &NodeName,
    runs: &[(JobId, Epoch)],
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    for (id, epoch) in runs {
        let goes_by_it = |job: &&Arc<Job>| job.granted.fence_secs.is_some();
        let job = state.jobs.get(id).filter(goes_by_it).cloned();
        if let Some(job) = job.filter(|job| job.epoch == *epoch) {
            lose(state, &job, node, effects)?;
        }
    }
    Ok(Reply::Done)
}

/// An operator says that a node is down. What runs there is ended; if the node is not heard, that is the
/// operator's word that nothing runs there any more.
pub(super) fn is_down(
    state: &mut State,
    node: &NodeName,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    let is_heard = state.nodes.get(node).is_some_and(|node| node.link.is_up());
    let here: Vec<JobId> = state
        .index
        .on_node
        .get(node)
        .map(|jobs| jobs.keys().copied().collect())
        .unwrap_or_default();
    for id in here {
        let Some(job) = state.jobs.get(&id).cloned() else { continue };
        if !is_heard {
            lose(state, &job, node, effects)?;
        } else if goes_on_without(&job, node) {
            leave(state, &job, node, effects)?;
        } else if matches!(job.phase, Phase::Running { .. }) {
            let mut job = (*job).clone();
            again::shun(state, &mut job, node);
            jobs::end(state, &job, Cause::NodeFailed, effects)?;
        }
    }
    Ok(())
}

/// Nothing of a job is left on a node.
fn lose(
    state: &mut State,
    job: &Job,
    node: &NodeName,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    if !job.phase.holds().is_some_and(|it| it.shares.iter().any(|it| it.node == *node)) {
        return Ok(());
    }
    if goes_on_without(job, node) {
        return leave(state, job, node, effects);
    }
    let Some(job) = without_steps(state, job, node, effects)? else { return Ok(()) };
    let Phase::Running { since: started, allocation } = job.phase.clone() else { return Ok(()) };
    let mut job = (*job).clone();
    again::shun(state, &mut job, node);
    steps::end_all(&mut job, effects);
    let (cause, exit) = (Cause::NodeFailed, ExitStatus::default());
    let phase = Phase::Completing { started, since: state.now, allocation, cause, exit };
    let phase = jobs::rest(state, &job, phase);
    state.put_job(Job { phase, ..job });
    Ok(())
}

/// Counts what a job has on a node as lost; what is left of the job, if anything.
fn without_steps(
    state: &mut State,
    job: &Job,
    node: &NodeName,
    effects: &mut Vec<Effect>,
) -> Result<Option<Arc<Job>>, SlurmError> {
    let lost = |step| Finish::lost(job.id, job.epoch, step);
    let finishes: Vec<Finish> = job.steps.on(node).map(|(step, _)| lost(step.id)).collect();
    jobs::finished(state, node, &finishes, effects)?;
    Ok(state.jobs.get(&job.id).cloned())
}

/// Whether a job can do with its other nodes: it says so, and its script is on one of those.
fn goes_on_without(job: &Job, node: &NodeName) -> bool {
    let Phase::Running { allocation, .. } = &job.phase else { return false };
    let has_script = job.steps.on(node).any(|(step, _)| step.id == StepId::BATCH);
    job.spec.lifecycle().no_kill && allocation.shares.len() > 1 && !has_script
}

/// Takes a node away from a job that goes on. What of it still runs there is ended, now or when the node is heard: it is
/// no run that the node should know of.
fn leave(
    state: &mut State,
    job: &Job,
    node: &NodeName,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    let (id, epoch) = (job.id, job.epoch);
    let kill = |step| Effect::Kill { job: id, epoch, step, node: node.clone() };
    effects.extend(job.steps.on(node).map(|(step, _)| kill(step.id)));
    let Some(job) = without_steps(state, job, node, effects)? else { return Ok(()) };
    let mut job = (*job).clone();
    if let Phase::Running { allocation, .. } = &mut job.phase {
        Arc::make_mut(allocation).shares.retain(|share| share.node != *node);
        state.put_job(job);
    }
    Ok(())
}
