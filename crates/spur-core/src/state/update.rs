//! Changes to a job that is there; the result is held to the same rules as a new one.

use std::sync::Arc;

use crate::auth::{Action, Actor, Target, may};
use crate::errors::SlurmError;
use crate::job::{Array, ArraySpec, Beyond, Hold, Job, JobSpec, Phase};
use crate::limit::Limit;
use crate::state::{Assignment, State, dependencies, jobs, licenses, rules};
use crate::time::Timestamp;
use crate::tres::Tres;
use crate::update::job::{JobDraft, When, find};

/// The job as it would be; an error leaves it as it is.
pub(super) fn job(
    state: &State,
    job: &Job,
    assignments: &[Assignment],
    by: &Actor,
) -> Result<Job, SlurmError> {
    let mut named = Beyond::default();
    let mut draft = JobDraft { spec: (*job.spec).clone(), ..JobDraft::default() };
    for assignment in assignments {
        let key = find(&assignment.key).ok_or(SlurmError::NotSupported)?;
        if key.names[0] == "NumNodes" && matches!(job.phase, Phase::Running { .. }) {
            resize(job, &assignment.value)?;
            continue;
        }
        let in_time = match (&job.phase, key.when) {
            (Phase::Pending, _) | (Phase::Running { .. }, When::Alive) => Ok(()),
            (Phase::Running { .. }, When::Pending) => Err(SlurmError::JobNotPending),
            (Phase::Completing { .. } | Phase::Ended { .. }, _) => Err(SlurmError::JobFinished),
        };
        in_time?;
        key.set(&mut draft, &assignment.value)?;
        let leaves_cores = ["CoreSpec", "ThreadSpec"].contains(&key.names[0]);
        if leaves_cores && !state.settings.config.jobs.allow_spec_resources_usage {
            return Err(SlurmError::AccessDenied);
        }
        match key.names[0] {
            "TimeLimit" => named.time = true,
            "NumCPUs" | "NumTasks" | "MinCPUsNode" | "CPUsPerTask" => named.cpus = true,
            "MinMemoryCPU" | "MinMemoryNode" => named.memory = true,
            _ => {}
        }
    }
    let is_operator = by.is_operator();
    if draft.end.is_some() && !matches!(job.phase, Phase::Running { .. }) {
        return Err(SlurmError::JobNotRunning);
    }
    if let (Some(end), Phase::Running { since, .. }) = (draft.end, &job.phase) {
        let minutes = ((end - since.0).max(0) as u64).div_ceil(60);
        draft.spec.time_limit = Some(Limit::Is(minutes));
    }
    if !is_operator {
        check_rights(job, &draft, job.time_limit(state.partition_of(job)))?;
    }
    let mut changed = job.clone();
    if let Some(priority) = draft.priority {
        (changed.hold, draft.spec.priority) = match priority {
            0 if is_operator => (Hold::Admin, None),
            0 => (changed.hold.max(Hold::User), None),
            _ if job.hold != Hold::None => return Err(SlurmError::JobHeld),
            number => (Hold::None, Some(number)),
        };
    }
    if let Some(text) = draft.dependency {
        changed.waits = dependencies::parse(state, &text, job.id)?;
        if dependencies::is_circular(state, changed.waits.as_deref(), job.id) {
            return Err(SlurmError::CircularDependency);
        }
        draft.spec.dependency = text;
    }
    if let Some(begin) = draft.begin {
        changed.begin = Some(Timestamp(begin));
        draft.spec.begin = Some(begin);
    }
    if draft.reset_accrual {
        changed.begin = changed.begin.max(Some(state.now));
    }
    // A job that is no array has nothing to throttle, which is no error to Slurm.
    if let (Some(throttle), Some(array)) = (draft.throttle, changed.array.as_deref()) {
        changed.array = Some(Arc::new(match array {
            Array::Waiting(tasks) => Array::Waiting(ArraySpec { throttle, ..tasks.clone() }),
            Array::Task { of, index, .. } => Array::Task { of: *of, index: *index, throttle },
        }));
    }
    if job.phase == Phase::Pending {
        jobs::check(state, &draft.spec, &job.owner)?;
        let charged =
            |spec: &JobSpec| (spec.account.clone(), spec.qos.clone(), spec.partition.clone());
        // Of operators only what it is charged to is asked: limits are theirs to go beyond.
        let asks = |spec: &JobSpec| {
            (state.requested(spec, state.partition_of(job)), spec.time_limit, spec.nodes_min)
        };
        if charged(&draft.spec) != charged(&job.spec)
            || (!is_operator && asks(&draft.spec) != asks(&job.spec))
        {
            draft.spec = rules::admit(state, &job.owner, &draft.spec, 0)?;
        }
    }
    if job.phase != Phase::Pending
        && draft.spec.placement().licenses != job.spec.placement().licenses
    {
        licenses::check_change(state, job, &draft.spec)?;
    }
    if draft.spec.time_limit != job.spec.time_limit {
        changed.granted.minutes = None;
    }
    changed.spec = Arc::new(draft.spec);
    if is_operator {
        changed.beyond = beyond(state, job, &changed, named);
    }
    // Who looks after an account takes nobody's job to another one.
    may(by, Action::ControlJob, Target::from(&changed))?;
    Ok(changed)
}

/// A job that runs keeps the nodes it has; only who asks for as many is not refused.
fn resize(job: &Job, count: &str) -> Result<(), SlurmError> {
    let has = job.phase.holds().map_or(0, |held| held.shares.len());
    let least = count.split('-').next().and_then(|least| least.parse::<usize>().ok());
    match least {
        None | Some(0) => Err(SlurmError::InvalidNodeCount),
        Some(least) if least > has => Err(SlurmError::NotSupported),
        Some(_) if count.parse() == Ok(has) => Ok(()),
        Some(_) => Err(SlurmError::JobNotPending),
    }
}

/// What an operator has set to something else is held against no limit from now on.
fn beyond(state: &State, job: &Job, changed: &Job, named: Beyond) -> Beyond {
    let asks = |job: &Job, tres: &Tres| {
        state.requested(&job.spec, state.partition_of(job)).get(tres).copied()
    };
    let other = |tres: Tres| asks(job, &tres) != asks(changed, &tres);
    Beyond {
        time: job.beyond.time || named.time && changed.spec.time_limit != job.spec.time_limit,
        cpus: job.beyond.cpus || named.cpus && other(Tres::Cpu),
        memory: job.beyond.memory || named.memory && other(Tres::Memory),
    }
}

/// What only operators may do: go ahead of others, or stay longer.
fn check_rights(job: &Job, draft: &JobDraft, limit: Limit) -> Result<(), SlurmError> {
    if job.hold != Hold::None && draft.priority.is_some_and(|priority| priority > 0) {
        return Err(SlurmError::JobHeld);
    }
    let is_running = matches!(job.phase, Phase::Running { .. });
    let asks_time = draft.spec.time_limit != job.spec.time_limit;
    let longer = asks_time && draft.spec.time_limit.unwrap_or(limit) > limit;
    let reboots = draft.spec.placement().reboot && !job.spec.placement().reboot;
    let nicer = draft.spec.nice.unwrap_or(0) < job.spec.nice.unwrap_or(0).min(0);
    let higher = draft.priority.is_some_and(|priority| priority > 0)
        || draft.spec.rare().site_factor != job.spec.rare().site_factor;
    let notes = draft.spec.rare().admin_comment != job.spec.rare().admin_comment;
    if (is_running && longer) || nicer || higher || notes || reboots {
        return Err(SlurmError::AccessDenied);
    }
    Ok(())
}
