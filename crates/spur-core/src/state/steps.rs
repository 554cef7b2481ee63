//! Steps: made in a running job, reported over node by node, ended with their job.

use std::sync::Arc;

use crate::auth::{Action, Actor, Target, may};
use crate::config::words::CpuBind;
use crate::errors::SlurmError;
use crate::ids::{JobId, NodeName, StepId};
use crate::idset::IdSet;
use crate::job::{Cause, ExitStatus, Job, Phase, RequestId, Step, StepEnd, StepShare};
use crate::limit::Limit;
use crate::state::{CreateStep, Effect, Finish, Outcome, Reply, State, jobs};
use crate::step::{StepSpec, gpus, layout};
use crate::time::Timestamp;

/// Most steps a job may have at a time: each is kept in memory by every controller.
const MOST_STEPS: usize = 40_000;

/// How tasks are bound that nobody said a word about: as all nodes of the step have it, or else the partition.
fn usual_binding(
    state: &State,
    job: &Job,
    spec: &StepSpec,
    shares: &[StepShare],
) -> Option<CpuBind> {
    if !spec.cpu_bind.is_empty() {
        return None;
    }
    let mut nodes = shares.iter().map(|share| state.nodes.get(&share.node)?.cpu_bind);
    let first = nodes.next().flatten();
    let alike = first.filter(|_| nodes.all(|it| it == first));
    alike.or_else(|| state.partition_of(job)?.rules.cpu_bind)
}

/// The batch script runs once, on the first node.
pub(super) fn begin_batch(
    job: &mut Job,
    now: Timestamp,
    node: NodeName,
    effects: &mut Vec<Effect>,
) {
    let share = StepShare {
        node: node.clone(),
        ranks: vec![0],
        cpus: 0,
        cpu_ids: IdSet::default(),
        gpus: None,
        boot: job.boot,
        over: false,
        usage: None,
    };
    let step = Step {
        id: StepId::BATCH,
        request: RequestId::default(),
        spec: None,
        since: now,
        paused_before: job.pause.secs,
        shares: vec![share],
        limit: None,
        end: None,
        exit: ExitStatus::default(),
    };
    effects.push(Effect::Launch { job: job.id, epoch: job.epoch, step: step.id, node });
    job.steps.live.insert(step.id, Arc::new(step));
}

/// The job as such on each of its nodes, where something is done before its first task or after its last.
pub(super) fn begin_presence(state: &State, job: &mut Job, effects: &mut Vec<Effect>) {
    let hooks = &state.settings.config.hooks;
    if hooks.prolog.is_empty() && hooks.epilog.is_empty() {
        return;
    }
    let Some(allocation) = job.phase.holds() else { return };
    let share = |share: &crate::job::Share| StepShare {
        node: share.node.clone(),
        ranks: Vec::new(),
        cpus: 0,
        cpu_ids: IdSet::default(),
        gpus: None,
        boot: state.nodes.get(&share.node).map_or(0, |node| node.boots),
        over: false,
        usage: None,
    };
    let step = Step {
        id: StepId::EXTERN,
        request: RequestId::default(),
        spec: None,
        since: state.now,
        paused_before: job.pause.secs,
        shares: allocation.shares.iter().map(share).collect(),
        limit: None,
        end: None,
        exit: ExitStatus::default(),
    };
    for share in &step.shares {
        let node = share.node.clone();
        effects.push(Effect::Launch { job: job.id, epoch: job.epoch, step: step.id, node });
    }
    job.steps.live.insert(step.id, Arc::new(step));
}

pub(super) fn create(
    state: &mut State,
    create: &CreateStep,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&create.job).cloned().ok_or(SlurmError::InvalidJobId)?;
    may(&create.by, Action::RunInJob, Target::from(&*job))?;
    let known = job.steps.live.values().find(|step| {
        step.spec.is_some() && step.request == create.request && create.request.0 != 0
    });
    if let Some(step) = known {
        return Ok(Reply::Step(job.id, step.id));
    }
    let held = holds(&job)?;
    let placed = layout::lay_out(&create.spec, held, &job.steps.busy())?;
    layout::check_share(&create.spec, held, &placed)?;
    let busy = |node: &NodeName| job.steps.busy_gpus(node, &gpus::all(held, node));
    let gpus = gpus::choose(&create.spec, &job.spec, held, &placed, busy)?;
    let most = state.settings.config.limits.max_step_count.min(StepId::MAX.0);
    if job.steps.next >= most || job.steps.live.len() >= MOST_STEPS {
        return Err(SlurmError::StepLimit);
    }
    let cpu_ids = |node: &NodeName, cpus: u32| {
        let held = held.shares.iter().find(|it| it.node == *node).map(|it| &it.cpu_ids);
        held.map(|held| job.steps.free_ids(node, held, cpus)).unwrap_or_default()
    };
    let shares: Vec<StepShare> = placed
        .into_iter()
        .zip(gpus)
        .map(|(placed, gpus)| StepShare {
            gpus,
            boot: state.nodes.get(&placed.node).map_or(0, |node| node.boots),
            cpu_ids: cpu_ids(&placed.node, placed.cpus),
            node: placed.node,
            ranks: placed.ranks,
            cpus: placed.cpus,
            over: false,
            usage: None,
        })
        .collect();
    let id = number(state, &job, create.beside)?;
    let mut spec = create.spec.clone();
    if let Some(binding) = usual_binding(state, &job, &spec, &shares) {
        (spec.cpu_bind, spec.cpu_bind_implied) = (binding.kind().to_string(), true);
    }
    let mut job = (*job).clone();
    job.steps.next = id.0 + 1;
    for share in &shares {
        let node = share.node.clone();
        effects.push(Effect::Launch { job: job.id, epoch: job.epoch, step: id, node });
    }
    let step = Step {
        id,
        request: create.request,
        spec: Some(Arc::new(spec)),
        since: state.now,
        paused_before: job.pause.secs,
        shares,
        limit: create.spec.request.as_ref().and_then(|request| request.time_limit),
        end: None,
        exit: ExitStatus::default(),
    };
    job.steps.live.insert(id, Arc::new(step));
    let reply = Reply::Step(job.id, id);
    state.put_job(job);
    Ok(reply)
}

/// The number of a new step. Components of a heterogeneous job count together, so that a step over several
/// of them has one number.
fn number(state: &State, job: &Job, beside: Option<StepId>) -> Result<StepId, SlurmError> {
    let all = job.component.into_iter().flat_map(|it| state.components(it));
    let next = all.map(|job| job.steps.next).max().unwrap_or(job.steps.next);
    match beside {
        Some(step) if step.0 >= job.steps.next && step.0 < next => Ok(step),
        Some(_) => Err(SlurmError::InvalidJobId),
        None => Ok(StepId(next)),
    }
}

/// What a job has for steps at this moment.
pub fn holds(job: &Job) -> Result<&crate::job::Allocation, SlurmError> {
    match &job.phase {
        Phase::Running { allocation, .. } => Ok(allocation),
        Phase::Pending => Err(SlurmError::JobPending),
        Phase::Completing { .. } | Phase::Ended { .. } => Err(SlurmError::AlreadyDone),
    }
}

pub(super) fn end(
    state: &mut State,
    id: JobId,
    step: StepId,
    end: StepEnd,
    by: &Actor,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    may(by, Action::CancelJob, Target::from(&*job))?;
    if !job.steps.live.contains_key(&step) {
        return Err(SlurmError::AlreadyDone);
    }
    // Tasks of a job that is ended have the time that they were given: whoever waits for them is told to end
    // with them, and does not kill them for that.
    if end != StepEnd::Asked {
        holds(&job)?;
    }
    let mut job = (*job).clone();
    end_one(&mut job, step, end, effects);
    state.put_job(job);
    Ok(Reply::Done)
}

/// Changes for how long a step of a job may run, or each of them.
pub(super) fn limit(
    state: &mut State,
    job: &Job,
    step: Option<StepId>,
    limit: Limit,
) -> Result<(), SlurmError> {
    let mut job = job.clone();
    let is_meant = |id: &StepId| step.map_or(*id != StepId::EXTERN, |step| step == *id);
    let meant: Vec<StepId> = job.steps.live.keys().copied().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(SlurmError::InvalidJobId);
    }
    for id in meant {
        if let Some(step) = job.steps.live.get_mut(&id) {
            Arc::make_mut(step).limit = Some(limit);
        }
    }
    state.put_job(job);
    Ok(())
}

/// The command that the allocation was made for has ended, and with it the job.
pub(super) fn end_allocation(
    state: &mut State,
    id: JobId,
    exit: ExitStatus,
    by: &Actor,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    may(by, Action::RunInJob, Target::from(&*job))?;
    let Phase::Running { since: started, allocation } = job.phase.clone() else {
        // Given up while it waited.
        let now_or_never =
            job.spec.allocation.as_deref().is_some_and(|it| it.immediate_secs == Some(0));
        let cause = match now_or_never {
            true => Cause::NotAtOnce,
            false => Cause::Cancelled { by: by.uid().unwrap_or_default().0 },
        };
        return jobs::end(state, &job, cause, effects);
    };
    if !job.is_allocation() {
        return Err(SlurmError::NotSupported);
    }
    let mut job = (*job).clone();
    end_all(&mut job, effects);
    let cause = match exit == ExitStatus::OUT_OF_MEMORY {
        true => Cause::OutOfMemory,
        false => Cause::Exited,
    };
    let phase = Phase::Completing { started, since: state.now, allocation, cause, exit };
    let phase = jobs::rest(state, &job, phase);
    state.put_job(Job { phase, ..job });
    Ok(Reply::Done)
}

/// Has every step of a job end; its presence on the nodes only when it is the last.
pub(super) fn end_all(job: &mut Job, effects: &mut Vec<Effect>) {
    let steps: Vec<StepId> = job.steps.live.keys().copied().collect();
    let others = steps.into_iter().filter(|step| *step != StepId::EXTERN);
    others.for_each(|step| end_one(job, step, StepEnd::Asked, effects));
    end_presence(job, effects);
}

/// Nodes are tidied up after a job once nothing else of it is left.
pub(super) fn end_presence(job: &mut Job, effects: &mut Vec<Effect>) {
    let is_last = job.steps.live.keys().all(|step| *step == StepId::EXTERN);
    if is_last && job.steps.live.get(&StepId::EXTERN).is_some_and(|step| step.end.is_none()) {
        end_one(job, StepId::EXTERN, StepEnd::Asked, effects);
    }
}

fn end_one(job: &mut Job, id: StepId, end: StepEnd, effects: &mut Vec<Effect>) {
    let (number, epoch) = (job.id, job.epoch);
    let Some(step) = job.steps.live.get_mut(&id) else { return };
    let step = Arc::make_mut(step);
    // The first word counts, but for that nobody waits any longer.
    if step.end.is_none() || matches!(end, StepEnd::Killed { .. }) {
        step.end = Some(end);
    }
    for node in step.nodes_left() {
        effects.push(Effect::Kill { job: number, epoch, step: id, node: node.clone() });
    }
}

/// Takes what a node reports of its part of a step. Nothing when it is no news; else whether the batch
/// script is over by it.
pub(super) fn reported(job: &mut Job, node: &NodeName, finish: &Finish) -> Option<bool> {
    let step = job.steps.live.get_mut(&finish.step)?;
    let step = Arc::make_mut(step);
    let share = step.shares.iter_mut().find(|share| share.node == *node && !share.over)?;
    share.over = true;
    share.usage = finish.usage.clone();
    let exit = match finish.outcome {
        Outcome::Exited(exit) => exit,
        Outcome::OutOfMemory => ExitStatus::OUT_OF_MEMORY,
        Outcome::EpilogFailed => ExitStatus::default(),
        Outcome::ShepherdLost => ExitStatus::KILLED,
        Outcome::CouldNotStart | Outcome::Lost | Outcome::PrologFailed | Outcome::NodeFault => {
            ExitStatus { code: 1, signal: 0 }
        }
    };
    step.exit = worse(step.exit, exit);
    if step.nodes_left().next().is_none() {
        let exit = step.exit;
        let gone = job.steps.live.remove(&finish.step);
        job.steps.gone.extend(gone);
        if !matches!(finish.step, StepId::BATCH | StepId::EXTERN) {
            job.steps.derived_exit = worse(job.steps.derived_exit, exit);
        }
    }
    Some(finish.step == StepId::BATCH)
}

fn worse(one: ExitStatus, other: ExitStatus) -> ExitStatus {
    if other.to_wait() > one.to_wait() { other } else { one }
}
