//! Jobs that make room for others: asked to end, given their grace, then ended or put back into the queue; or
//! put to sleep until there is room for both.

use crate::config::words::PreemptBy;
use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId};
use crate::job::{Back, Cause, Displaced, ExitStatus, Job, Pause, Phase, Removal, Share};
use crate::state::again::may_requeue;
use crate::state::control::{signal_job, suspend};
use crate::state::{Displace, Effect, Reply, SignalScope, State, jobs, turns};

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
        match victim.how {
            Removal::Suspend => sleep(state, &job, effects)?,
            // Somebody may have taken its processors meanwhile: then it sleeps on.
            Removal::Resume if job.parked => {}
            Removal::Resume => drop(wake(state, &job, effects)),
            Removal::Pause => turns::pause(state, &job, effects)?,
            Removal::Turn => turns::go_on(state, &job, effects)?,
            Removal::Cancel | Removal::Requeue => make_way(state, &job, victim.how, effects)?,
        }
    }
    Ok(Reply::Done)
}

/// Asks a job to end, or ends it where nobody has to wait for it.
fn make_way(
    state: &mut State,
    job: &Job,
    how: Removal,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    let grace = grace(state, job);
    if grace == 0 {
        return remove(state, job, how, effects);
    }
    // The script hears of it when its grace is over, as in Slurm.
    for signal in [SIGCONT, SIGTERM] {
        signal_job(job, signal, SignalScope::Steps, effects)?;
    }
    let displaced = Displaced { until: state.now.plus_secs(grace), how };
    state.put_job(Job { displaced: Some(displaced), ..job.clone() });
    Ok(())
}

/// How long a job is given to end by itself: what its partition says, or its QOS where that decides.
fn grace(state: &State, job: &Job) -> i64 {
    let partition = state.partition_of(job);
    let of_partition = partition.map_or(0, |it| i64::try_from(it.rules.grace_time.0).unwrap_or(0));
    match state.settings.config.preemption.by {
        PreemptBy::Qos => {
            let qos = state.rules.qos(&job.spec.qos);
            qos.map_or(of_partition, |qos| i64::from(qos.grace_secs).max(of_partition))
        }
        PreemptBy::None | PreemptBy::PartitionTier => of_partition,
    }
}

/// Stops a job until its processors are free again.
fn sleep(state: &mut State, job: &Job, effects: &mut Vec<Effect>) -> Result<(), SlurmError> {
    // Somebody was first.
    if job.pause.since.is_some() {
        return Ok(());
    }
    suspend(state, job, false, effects)
}

/// Lets a job go on whose processors are free again.
pub(super) fn wake(
    state: &mut State,
    job: &Job,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    let (Some(since), true) = (job.pause.since, job.asleep) else {
        return Err(SlurmError::JobNotSuspended);
    };
    let held = job.phase.holds().ok_or(SlurmError::AlreadyDone)?;
    for share in &held.shares {
        let node = state.nodes.get(&share.node).ok_or(SlurmError::InvalidNodeName)?;
        let mut used = state.used_on(&share.node);
        used.cpus += share.cpus;
        if !used.fits(&node.inventory) || is_taken(state, job, share) {
            return Err(SlurmError::NodesBusy);
        }
    }
    signal_job(job, SIGCONT, SignalScope::Full, effects)?;
    let secs = job.pause.secs + (state.now.0 - since.0).max(0);
    let pause = Pause { since: None, secs };
    state.put_job(Job { pause, asleep: false, ..job.clone() });
    Ok(())
}

/// Whether somebody else has some of these processors.
fn is_taken(state: &State, job: &Job, share: &Share) -> bool {
    let here = state.index.on_node.get(&share.node).into_iter().flat_map(|jobs| jobs.keys());
    let others = here.filter(|id| **id != job.id).filter_map(|id| state.jobs.get(id));
    let held = others.filter(|other| !other.asleep).filter_map(|other| other.phase.holds());
    let mut held = held.flat_map(|held| &held.shares).filter(|other| other.node == share.node);
    held.any(|other| other.cpu_ids.iter().any(|cpu| share.cpu_ids.contains(cpu)))
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

fn remove(
    state: &mut State,
    job: &Job,
    how: Removal,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    jobs::end(state, job, cause(state, job, how), effects).map(drop)
}

/// What cannot run again is ended.
fn cause(state: &State, job: &Job, how: Removal) -> Cause {
    let again = how == Removal::Requeue && !job.is_allocation() && may_requeue(state, job);
    match again {
        true => Cause::Requeued { hold: false, why: Back::Displaced },
        false => Cause::Preempted,
    }
}

/// Why a job ended that was asked to go and went before its grace was over; nothing when it was done by itself.
pub(super) fn gone_in_grace(state: &State, job: &Job, exit: ExitStatus) -> Option<Cause> {
    let displaced = job.displaced.filter(|_| !exit.is_success())?;
    Some(cause(state, job, displaced.how))
}
