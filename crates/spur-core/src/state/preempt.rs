//! Jobs that make room for others: asked to end, given their grace, then ended or put back into the queue.

use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId};
use crate::job::{Cause, Displaced, Job, Phase, Removal};
use crate::state::control::signal_job;
use crate::state::settle::may_requeue;
use crate::state::{Displace, Effect, Reply, SignalScope, State, jobs};

const SIGTERM: u32 = 15;
const SIGCONT: u32 = 18;

/// What one pass wants out of the way; each is looked at again.
pub(super) fn preempt(
    state: &mut State,
    victims: &[Displace],
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    for victim in victims {
        let Some(job) = state.jobs.get(&victim.job).cloned() else { continue };
        let runs = matches!(job.phase, Phase::Running { .. });
        if !runs || job.epoch != victim.epoch || job.displaced.is_some() {
            continue;
        }
        let partition = state.partition_of(&job);
        let grace = partition.map_or(0, |it| i64::try_from(it.rules.grace_time.0).unwrap_or(0));
        if grace == 0 {
            remove(state, &job, victim.how, effects)?;
            continue;
        }
        for signal in [SIGCONT, SIGTERM] {
            signal_job(&job, signal, SignalScope::Full, effects)?;
        }
        let displaced = Displaced { until: state.now.plus_secs(grace), how: victim.how };
        state.put_job(Job { displaced: Some(displaced), ..(*job).clone() });
    }
    Ok(Reply::Done)
}

/// The grace of a job is over.
pub(super) fn grace_over(
    state: &mut State,
    id: JobId,
    epoch: Epoch,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    let displaced = job.displaced.filter(|_| job.epoch == epoch);
    let displaced = displaced.ok_or(SlurmError::AlreadyDone)?;
    remove(state, &job, displaced.how, effects)?;
    Ok(Reply::Done)
}

/// What cannot run again is ended.
fn remove(
    state: &mut State,
    job: &Job,
    how: Removal,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    let again = how == Removal::Requeue && !job.is_allocation() && may_requeue(state, job);
    let cause = if again { Cause::Requeued { hold: false } } else { Cause::Preempted };
    jobs::end(state, job, cause, effects).map(drop)
}
