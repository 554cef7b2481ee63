//! Jobs: handed in, started, ended, forgotten. Each handler refuses first and changes after.

use std::sync::Arc;

use crate::blob::BlobHash;
use crate::config::words::PartitionState;
use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId, NodeName};
use crate::job::{
    Array, Cause, ExitStatus, Granted, Hold, Job, JobSpec, Owner, Pause, Phase, Steps, array,
};
use crate::state::{
    Effect, Finish, JobStart, Outcome, Reply, State, Submit, arrays, dependencies, licenses, named,
    nodes, ports, reservations, rules, steps,
};
use crate::time::Timestamp;

pub(super) fn submit(
    state: &mut State,
    submit: &Submit,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    if let Some(id) = state.index.requests.get(&(submit.owner.uid, submit.request)) {
        return Ok(Reply::Job(*id));
    }
    check(state, &submit.spec, &submit.owner)?;
    let id = state.next_job;
    let waits = dependencies::parse(&submit.spec.dependency, id)?;
    let array = array::parse(&submit.spec.array, state.settings.config.limits.max_array_size)
        .map_err(|_| SlurmError::InvalidArray)?;
    let tasks = array.as_ref().map_or(1, |tasks| tasks.ids().count() as u64);
    let spec = rules::admit(state, &submit.owner, &submit.spec, tasks)?;
    if state.next_job > JobId::MAX {
        return Err(SlurmError::SubmissionsDisabled);
    }
    let carried: Vec<(BlobHash, &[u8])> =
        submit.blobs.iter().map(|blob| (BlobHash::of(&blob.bytes), &blob.bytes[..])).collect();
    let wanted = [submit.script, submit.environment];
    let is_there = |hash: &BlobHash| {
        state.blobs.contains_key(hash) || carried.iter().any(|(carried, _)| carried == hash)
    };
    // The proposer thought the log had it; it was dropped meanwhile. The proposer sends it again.
    if !wanted.iter().all(is_there) {
        return Err(SlurmError::TransitionStateNoUpdate);
    }
    for hash in wanted {
        let references = state.blobs.entry(hash).or_insert(0);
        *references += 1;
        if *references == 1
            && let Some((_, bytes)) = carried.iter().find(|(carried, _)| *carried == hash)
        {
            effects.push(Effect::KeepBlob { hash, bytes: bytes.to_vec() });
        }
    }
    state.next_job = JobId(id.0 + 1);
    let hold = match (submit.spec.hold, submit.spec.priority) {
        (true, _) => Hold::User,
        (false, Some(0)) => Hold::User,
        (false, _) => Hold::None,
    };
    state.put_job(Job {
        id,
        owner: submit.owner.clone(),
        spec: share_spec(state, id, spec),
        script: submit.script,
        environment: submit.environment,
        request: Some(submit.request),
        submitted: state.now,
        epoch: Epoch(0),
        boot: 0,
        phase: Phase::Pending,
        steps: Steps::default(),
        hold,
        begin: submit.spec.begin.map(Timestamp),
        waits,
        array: array.map(|tasks| Arc::new(Array::Waiting(tasks))),
        restarts: 0,
        pause: Pause::default(),
        is_warned: false,
        granted: Granted::default(),
        displaced: None,
    });
    Ok(Reply::Job(id))
}

/// Whether a request can be taken at all.
pub(super) fn check(state: &State, spec: &JobSpec, owner: &Owner) -> Result<(), SlurmError> {
    let named = || spec.partition.split(',').filter(|name| !name.is_empty());
    if named().any(|name| state.partition(name).is_none()) {
        return Err(SlurmError::InvalidPartitionName);
    }
    if named().next().is_none() && state.default_partition().is_none() {
        return Err(SlurmError::DefaultPartitionNotSet);
    }
    reservations::check(state, spec, owner)?;
    licenses::check(state, spec)?;
    let partitions = match named().next() {
        Some(_) => named().filter_map(|name| state.partition(name)).collect(),
        None => state.default_partition().into_iter().collect::<Vec<_>>(),
    };
    named::check(state, spec)?;
    let takes = |state: PartitionState| matches!(state, PartitionState::Up | PartitionState::Down);
    if !partitions.iter().any(|partition| takes(partition.rules.state)) {
        return Err(SlurmError::PartitionNotAvail);
    }
    Ok(())
}

/// A loop of equal submissions keeps one record of what was asked for.
fn share_spec(state: &State, id: JobId, spec: JobSpec) -> Arc<JobSpec> {
    match state.jobs.get(&JobId(id.0 - 1)) {
        Some(before) if *before.spec == spec => before.spec.clone(),
        _ => Arc::new(spec),
    }
}

pub(super) fn start(
    state: &mut State,
    starts: &[JobStart],
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let mut started = 0;
    for start in starts {
        if !still_fits(state, start) {
            continue;
        }
        let Some(job) = state.jobs.get(&start.job).cloned() else { continue };
        let job = match start.task {
            Some(index) => arrays::take(state, &job, index),
            None => Some((*job).clone()),
        };
        let Some(job) = job else { continue };
        let allocation = Arc::new(start.allocation.clone());
        let Some(node) = allocation.first_node().cloned() else { continue };
        let boot = state.nodes.get(&node).map_or(0, |node| node.boots);
        let phase = Phase::Running { since: state.now, allocation };
        let range = ports::parse_range(&state.settings.config.agent.rendezvous_ports);
        let port = range
            .and_then(|range| ports::lend(&state.index.ports, range, start.job, &start.allocation));
        let granted = Granted {
            partition: start.partition.clone(),
            minutes: start.minutes,
            priority: start.priority,
            port,
        };
        let mut job =
            Job { epoch: start.epoch, boot, phase, waits: None, granted, displaced: None, ..job };
        if !job.is_allocation() {
            steps::begin_batch(&mut job, state.now, node, effects);
        }
        steps::begin_presence(state, &mut job, effects);
        state.put_job(job);
        started += 1;
    }
    Ok(Reply::Started(started))
}

/// The plan was made on an older state; what has changed since decides.
fn still_fits(state: &State, start: &JobStart) -> bool {
    let Some(job) = state.jobs.get(&start.job) else { return false };
    let mut named = state.partitions_of(job);
    let partition = match start.partition.as_str() {
        "" => state.partition_of(job),
        chosen => named.find(|it| it.name == chosen),
    };
    let Some(partition) = partition else { return false };
    let is_task = match (start.task, job.waiting_tasks()) {
        (Some(index), Some(waiting)) => {
            waiting.contains(index)
                && state.task_may_start(job, index)
                && state.tasks_allowed(job) > 0
        }
        (None, None) => job.waits.is_none(),
        _ => false,
    };
    is_task
        && job.phase == Phase::Pending
        && job.hold == Hold::None
        && start.epoch == job.epoch.next()
        && licenses::are_free(state, &job.spec)
        && start.allocation.shares.iter().all(|share| {
            state.nodes.get(&share.node).is_some_and(|node| {
                let mut used = state.used_on(&share.node);
                used.add(share);
                node.takes_jobs()
                    && partition.nodes.contains(&share.node)
                    && used.fits(&node.inventory)
            })
        })
}

pub(super) fn time_up(
    state: &mut State,
    id: JobId,
    epoch: Epoch,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    if job.epoch != epoch || job.phase == Phase::Pending {
        return Err(SlurmError::AlreadyDone);
    }
    end(state, &job, Cause::TimeLimit, effects)
}

/// Ends a job: at once if nothing runs, else when every node has reported that nothing does any more.
pub(super) fn end(
    state: &mut State,
    job: &Job,
    cause: Cause,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let mut job = job.clone();
    let phase = match &job.phase {
        Phase::Pending => Phase::Ended {
            started: None,
            at: state.now,
            allocation: None,
            cause,
            exit: ExitStatus::default(),
        },
        Phase::Running { since, allocation } => {
            let (started, allocation) = (*since, allocation.clone());
            steps::end_all(&mut job, effects);
            let exit = ExitStatus::default();
            rest(state, &job, Phase::Completing { started, allocation, cause, exit })
        }
        Phase::Completing { .. } | Phase::Ended { .. } => return Err(SlurmError::AlreadyDone),
    };
    state.put_job(Job { phase, ..job });
    Ok(Reply::Done)
}

/// A job that is being ended is over once none of its steps is left.
pub(super) fn rest(state: &State, job: &Job, phase: Phase) -> Phase {
    match phase {
        Phase::Completing { started, allocation, cause, exit } if job.steps.live.is_empty() => {
            Phase::Ended {
                started: Some(started),
                at: state.now,
                allocation: Some(allocation),
                cause,
                exit,
            }
        }
        phase => phase,
    }
}

/// Takes what a node reports. A run that is already over, or a job that is gone, is no error: the node
/// repeats itself until it is told that we know.
pub(super) fn finished(
    state: &mut State,
    node: &NodeName,
    finishes: &[Finish],
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    for finish in finishes {
        let Some(job) = state.jobs.get(&finish.job) else { continue };
        if job.epoch != finish.epoch {
            continue;
        }
        let mut job = (**job).clone();
        let Some(batch_is_over) = steps::reported(&mut job, node, finish) else { continue };
        match finish.outcome {
            Outcome::PrologFailed => nodes::hook_failed(state, node, "Prolog error"),
            Outcome::EpilogFailed => nodes::hook_failed(state, node, "Epilog error"),
            _ => {}
        }
        let phase = match job.phase.clone() {
            Phase::Running { since, allocation }
                if finish.outcome == Outcome::PrologFailed && !job.is_allocation() =>
            {
                steps::end_all(&mut job, effects);
                let (cause, exit) = (Cause::PrologFailed, ExitStatus::default());
                Phase::Completing { started: since, allocation, cause, exit }
            }
            Phase::Running { since, allocation } if batch_is_over => {
                let (cause, exit) = how_it_ended(finish.outcome);
                steps::end_all(&mut job, effects);
                Phase::Completing { started: since, allocation, cause, exit }
            }
            Phase::Completing { started, allocation, cause, .. } if batch_is_over => {
                let (_, exit) = how_it_ended(finish.outcome);
                Phase::Completing { started, allocation, cause, exit }
            }
            phase => phase,
        };
        if matches!(phase, Phase::Completing { .. }) {
            steps::end_presence(&mut job, effects);
        }
        let phase = rest(state, &job, phase);
        state.put_job(Job { phase, ..job });
    }
    Ok(Reply::Done)
}

fn how_it_ended(outcome: Outcome) -> (Cause, ExitStatus) {
    match outcome {
        Outcome::Exited(exit) => (Cause::Exited, exit),
        Outcome::CouldNotStart => (Cause::LaunchFailed, ExitStatus { code: 1, signal: 0 }),
        Outcome::Lost => (Cause::NodeFailed, ExitStatus::default()),
        Outcome::OutOfMemory => (Cause::OutOfMemory, ExitStatus::OUT_OF_MEMORY),
        Outcome::PrologFailed => (Cause::PrologFailed, ExitStatus::default()),
        Outcome::EpilogFailed => (Cause::Exited, ExitStatus::default()),
    }
}

pub(super) fn purge(
    state: &mut State,
    before: Timestamp,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    while let Some((at, id)) = state.index.ended.get_min().copied() {
        if at >= before {
            break;
        }
        let Some(job) = state.drop_job(id) else { break };
        for hash in [job.script, job.environment] {
            let Some(references) = state.blobs.get_mut(&hash) else { continue };
            *references -= 1;
            if *references == 0 {
                state.blobs.remove(&hash);
                effects.push(Effect::DropBlob { hash });
            }
        }
    }
    Ok(Reply::Done)
}

impl State {
    /// The partitions a job may run in, in the order it names them.
    pub fn partitions_of(&self, job: &Job) -> impl Iterator<Item = &crate::partition::Partition> {
        let names = job.spec.partition.split(',').filter(|name| !name.is_empty());
        let named: Vec<&crate::partition::Partition> =
            names.filter_map(|name| self.partition(name)).collect();
        let default = named.is_empty().then(|| self.partition_of(job)).flatten();
        named.into_iter().chain(default)
    }

    /// The partition a job is in: the one it runs in, the first it names, or the default one.
    pub fn partition_of(&self, job: &Job) -> Option<&crate::partition::Partition> {
        let named = job.spec.partition.split(',').find(|name| !name.is_empty());
        match named {
            _ if job.phase != Phase::Pending && !job.granted.partition.is_empty() => {
                self.partition(&job.granted.partition)
            }
            None => self.default_partition(),
            Some(name) => self.partition(name),
        }
    }
}
