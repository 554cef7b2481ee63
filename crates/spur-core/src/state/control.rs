//! What users and operators do to jobs that are there: end, hold, let go, put back, stop, change.

use std::sync::Arc;

use crate::auth::{Action, Actor, Target, may};
use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId};
use crate::job::{Back, Cause, Hold, Job, Pause, Phase};
use crate::state::settle::never_started;
use crate::state::{
    Control, Effect, JobAction, Reply, SignalScope, State, again, arrays, crontabs, het, jobs,
    preempt, steps, turns, update,
};

/// Does something to a job, or to the tasks of an array that were named. It is done to all of them that it
/// can be done to; the reply is the first refusal if it could be done to none.
pub(super) fn control(
    state: &mut State,
    control: &Control,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let control = &control.as_meant();
    let meant = meant(state, control)?;
    let mut refusal = None;
    let mut done = meant.dropped;
    for target in meant.records {
        match act(state, &target, control, effects) {
            Ok(()) => done = true,
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    match refusal {
        Some(error) if !done => Err(error),
        _ => Ok(Reply::Done),
    }
}

/// Whom something is done to.
#[derive(Default)]
struct Meant {
    records: Vec<Job>,
    /// Tasks that never began were cancelled: they leave no record.
    dropped: bool,
}

/// The records meant. Tasks that wait together are taken apart where only some are meant.
fn meant(state: &mut State, control: &Control) -> Result<Meant, SlurmError> {
    let id = control.job;
    let job = state.jobs.get(&id).or_else(|| state.array(id).next());
    let job = job.ok_or(SlurmError::InvalidJobId)?;
    may(&control.by, Action::of(&control.action), Target::from(&**job))?;
    let Some(tasks) = &control.tasks else {
        let mut records: Vec<Job> = state.array(id).map(|job| (**job).clone()).collect();
        if !records.iter().any(|job| job.id == id) {
            let job = state.jobs.get(&id).ok_or(SlurmError::InvalidJobId)?;
            records.extend(het::meant(state, job, &control.action)?);
        }
        return Ok(Meant { records, dropped: false });
    };
    let has_begun = |job: &&Arc<Job>| job.task().is_some_and(|index| tasks.contains(index));
    let records = state.array(id).filter(has_begun).map(|job| (**job).clone()).collect();
    let mut found = Meant { records, dropped: false };
    let waiting: Vec<u32> = match state.jobs.get(&id).and_then(|job| job.waiting_tasks()) {
        Some(waiting) => waiting.ids().filter(|index| tasks.contains(*index)).collect(),
        None => Vec::new(),
    };
    for index in waiting {
        let Some(record) = state.jobs.get(&id).cloned() else { break };
        if record.phase != Phase::Pending {
            break;
        }
        if control.action == JobAction::Cancel
            && let Some(rest) = arrays::without(&record, index)
        {
            state.put_job(rest);
            found.dropped = true;
            continue;
        }
        let Some(task) = arrays::take(state, &record, index) else { continue };
        state.put_job(task.clone());
        found.records.push(task);
    }
    let nobody = found.records.is_empty() && !found.dropped;
    if nobody { Err(SlurmError::InvalidJobId) } else { Ok(found) }
}

fn act(
    state: &mut State,
    job: &Job,
    control: &Control,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    match &control.action {
        JobAction::Cancel => {
            let cause = Cause::Cancelled { by: control.by.uid().unwrap_or_default().0 };
            jobs::end(state, job, cause, effects)?;
            crontabs::disable(state, job);
            Ok(())
        }
        // What has no script yet is given up.
        JobAction::Signal { signal: SIGKILL, .. } if job.phase == Phase::Pending => {
            act(state, job, &Control::cancel(job.id, control.by.clone()), effects)
        }
        JobAction::Signal { .. } if job.pause.since.is_some() => {
            Err(SlurmError::TransitionStateNoUpdate)
        }
        JobAction::Signal { signal, scope } => signal_job(job, *signal, *scope, effects),
        JobAction::Hold { as_user } => hold(state, job, *as_user, &control.by),
        JobAction::Release => release(state, job, &control.by),
        JobAction::Requeue { hold: false } => requeue(state, job, Hold::None, effects),
        JobAction::Requeue { hold: true } => requeue(state, job, Hold::Requeued, effects),
        JobAction::RequeueSpecial => requeue(state, job, Hold::Special, effects),
        JobAction::Suspend => suspend(state, job, true, effects),
        JobAction::Resume => resume(state, job, effects),
        JobAction::Update(_)
            if control.by != Actor::Controller && state.cron_line(job).is_some() =>
        {
            Err(SlurmError::CannotModifyCronJob)
        }
        JobAction::Update(assignments) => {
            let changed = update::job(state, job, assignments, &control.by)?;
            state.put_job(changed);
            Ok(())
        }
        JobAction::LimitSteps { step, limit } => steps::limit(state, job, *step, *limit),
    }
}

pub(super) fn signal_job(
    job: &Job,
    signal: u32,
    scope: SignalScope,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    match &job.phase {
        Phase::Running { allocation, .. } => {
            effects.extend(allocation.shares.iter().map(|share| Effect::Signal {
                job: job.id,
                epoch: job.epoch,
                signal,
                scope,
                node: share.node.clone(),
            }));
            Ok(())
        }
        Phase::Pending => Err(SlurmError::JobPending),
        Phase::Completing { .. } | Phase::Ended { .. } => Err(SlurmError::AlreadyDone),
    }
}

/// A job that runs is held once it is back in the queue.
fn hold(state: &mut State, job: &Job, as_user: bool, by: &Actor) -> Result<(), SlurmError> {
    match &job.phase {
        Phase::Pending | Phase::Running { .. } => {}
        Phase::Completing { .. } | Phase::Ended { .. } => return Err(SlurmError::JobFinished),
    }
    let hold = if as_user || !by.is_operator() { Hold::User } else { Hold::Admin };
    // An operator may hand a hold over to the owner.
    let hold = if as_user && by.is_operator() { hold } else { job.hold.max(hold) };
    // What was said of its priority is forgotten, as in Slurm: whoever lets it go gives it the usual one.
    let mut spec = job.spec.clone();
    if job.phase == Phase::Pending && spec.priority.is_some() {
        Arc::make_mut(&mut spec).priority = None;
    }
    state.put_job(Job { hold, spec, ..job.clone() });
    Ok(())
}

fn release(state: &mut State, job: &Job, by: &Actor) -> Result<(), SlurmError> {
    match &job.phase {
        Phase::Pending | Phase::Running { .. } => {}
        Phase::Completing { .. } | Phase::Ended { .. } => return Err(SlurmError::JobFinished),
    }
    // What was put back into the queue is its owner's to let go, whoever put it there.
    if job.hold == Hold::Admin && !by.is_operator() {
        return Err(SlurmError::AccessDenied);
    }
    let mut spec = job.spec.clone();
    if spec.priority == Some(0) {
        Arc::make_mut(&mut spec).priority = None;
    }
    state.put_job(Job { hold: Hold::None, spec, ..job.clone() });
    Ok(())
}

fn requeue(
    state: &mut State,
    job: &Job,
    hold: Hold,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    if job.is_allocation() {
        return Err(SlurmError::BatchOnly);
    }
    if !again::may_requeue(state, het::leader_of(state, job)) {
        return Err(SlurmError::Disabled);
    }
    match &job.phase {
        Phase::Pending => Err(SlurmError::JobPending),
        Phase::Running { .. } => {
            let why = if hold == Hold::Special { Back::Special } else { Back::Asked };
            let cause = Cause::Requeued { hold: hold != Hold::None, why };
            jobs::end(state, job, cause, effects).map(drop)
        }
        Phase::Completing { .. } => Err(SlurmError::TransitionStateNoUpdate),
        Phase::Ended { .. } => {
            state.put_job(again::anew(Job { hold, ..job.clone() }));
            Ok(())
        }
    }
}

const SIGKILL: u32 = 9;
const SIGSTOP: u32 = 19;

/// Stops a job and gives its processors to others; what else it has it keeps. One that is parked goes on only when
/// somebody says so.
pub(super) fn suspend(
    state: &mut State,
    job: &Job,
    parked: bool,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    match &job.phase {
        // Whoever says it of a job that made room for others has it wait for their word.
        Phase::Running { .. } if job.pause.since.is_some() => {
            state.put_job(Job { parked: job.parked || parked, ..job.clone() });
            Ok(())
        }
        Phase::Running { .. } => {
            signal_job(job, SIGSTOP, SignalScope::Gently, effects)?;
            let pause = Pause { since: Some(state.now), ..job.pause };
            state.put_job(Job { pause, asleep: true, parked, ..job.clone() });
            Ok(())
        }
        Phase::Pending => Err(SlurmError::JobPending),
        Phase::Completing { .. } | Phase::Ended { .. } => Err(SlurmError::AlreadyDone),
    }
}

fn resume(state: &mut State, job: &Job, effects: &mut Vec<Effect>) -> Result<(), SlurmError> {
    match (&job.phase, job.pause.since) {
        (Phase::Running { .. }, Some(_)) if job.asleep => {
            let job = Job { parked: false, ..job.clone() };
            match preempt::wake(state, &job, effects) {
                // Nobody's processors are taken from them: it goes on as soon as its own are free.
                Err(SlurmError::NodesBusy) => {
                    state.put_job(job);
                    Ok(())
                }
                woken => woken,
            }
        }
        (Phase::Running { .. }, Some(_)) => turns::go_on(state, job, effects),
        (Phase::Running { .. }, None) => Err(SlurmError::JobNotSuspended),
        (Phase::Pending, _) => Err(SlurmError::JobPending),
        (Phase::Completing { .. } | Phase::Ended { .. }, _) => Err(SlurmError::AlreadyDone),
    }
}

/// Sends the signal a job asked for before its end, once a run.
pub(super) fn warn(
    state: &mut State,
    id: JobId,
    epoch: Epoch,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    let signal = job.spec.lifecycle().signal.ok_or(SlurmError::AlreadyDone)?;
    if job.epoch != epoch || job.is_warned {
        return Err(SlurmError::AlreadyDone);
    }
    let scope = if signal.batch_only { SignalScope::Batch } else { SignalScope::Steps };
    signal_job(&job, signal.signal, scope, effects)?;
    state.put_job(Job { is_warned: true, ..(*job).clone() });
    Ok(Reply::Done)
}

/// Gives up a job that can no longer end in time.
pub(super) fn deadline(state: &mut State, id: JobId) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    if job.phase != Phase::Pending {
        return Err(SlurmError::AlreadyDone);
    }
    let phase = never_started(state, Cause::Deadline);
    state.put_job(Job { phase, ..(*job).clone() });
    Ok(Reply::Done)
}
