//! Jobs: handed in, started, ended, forgotten. Each handler refuses first and changes after.

use std::sync::Arc;

use crate::blob::BlobHash;
use crate::config::DefaultMemory;
use crate::config::words::PartitionState;
use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId, NodeName};
use crate::job::{
    Array, Beyond, Cause, Component, ExitStatus, Granted, Hold, Job, JobSpec, Owner, Pause, Phase,
    Steps, array, sharing,
};
use crate::partition::Partition;
use crate::state::settle::never_started;
use crate::state::{
    Effect, Finish, JobStart, Outcome, Reply, State, Submit, admission, again, arrays, caps,
    dependencies, fences, het, layers, licenses, named, nodes, ports, preempt, reservations, rules,
    steps,
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
    let id = state.next_job;
    let size = 1 + submit.others.len() as u32;
    let specs = std::iter::once(&submit.spec).chain(&submit.others);
    let parts = (0..).zip(specs).map(|(offset, spec)| {
        let component = Component { leader: id, offset, size };
        part(state, submit, spec, component)
    });
    let parts: Vec<Job> = parts.collect::<Result<_, _>>()?;
    if id.0.saturating_add(size - 1) > state.settings.last_job_id().0 {
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
        *references += size;
        if *references == size
            && let Some((_, bytes)) = carried.iter().find(|(carried, _)| *carried == hash)
        {
            effects.push(Effect::KeepBlob { hash, bytes: bytes.to_vec() });
        }
    }
    state.next_job = JobId(id.0 + size);
    parts.into_iter().for_each(|job| state.put_job(job));
    Ok(Reply::Job(id))
}

/// A job that was handed in, or one component of it.
fn part(
    state: &State,
    submit: &Submit,
    asked: &JobSpec,
    component: Component,
) -> Result<Job, SlurmError> {
    let rerouted = admission::rerouted(state, asked);
    let asked = rerouted.as_ref().unwrap_or(asked);
    let id = JobId(component.leader.0 + component.offset);
    named::resources(state, asked)?;
    let array = array::parse(&asked.array, state.settings.config.limits.max_array_size)
        .map_err(|_| SlurmError::InvalidArray)?;
    let is_het = component.size > 1;
    if is_het && array.is_some() {
        return Err(SlurmError::InvalidArray);
    }
    check_place(state, asked, &submit.owner)?;
    let mut waits = dependencies::parse(state, &asked.dependency, id)?;
    if !component.leads() {
        // The first one waits for others of its name; among themselves they do not.
        waits = waits.and_then(het::without_singleton);
    }
    check_nodes(state, asked, &submit.owner)?;
    let tasks = array.as_ref().map_or(1, |tasks| tasks.ids().count() as u64);
    // Components before this one count against the same limits.
    let spec = rules::admit(state, &submit.owner, asked, tasks + u64::from(component.offset))?;
    admission::enforce(state, &spec)?;
    let spec = admission::fitted(state, spec)?;
    let hold = match (asked.hold, asked.priority) {
        (true, _) => Hold::User,
        (false, Some(0)) => Hold::User,
        (false, _) => Hold::None,
    };
    Ok(Job {
        id,
        owner: submit.owner.clone(),
        spec: share_spec(state, id, spec),
        script: submit.script,
        environment: submit.environment,
        request: component.leads().then_some(submit.request),
        submitted: state.now,
        epoch: Epoch(0),
        boot: 0,
        phase: Phase::Pending,
        steps: Steps::default(),
        hold,
        begin: asked.begin.map(Timestamp),
        waits,
        array: array.map(|tasks| Arc::new(Array::Waiting(tasks))),
        component: is_het.then_some(component),
        restarts: 0,
        setbacks: None,
        pause: Pause::default(),
        is_warned: false,
        granted: Granted::default(),
        displaced: None,
        asleep: false,
        accrues: None,
        parked: false,
        beyond: Beyond::default(),
    })
}

/// Whether a request can be taken at all. Of several things that are wrong Slurm tells the first in this order,
/// in which a new job's array comes before its place, and its dependencies before its nodes.
pub(super) fn check(state: &State, spec: &JobSpec, owner: &Owner) -> Result<(), SlurmError> {
    named::resources(state, spec)?;
    check_place(state, spec, owner)?;
    check_nodes(state, spec, owner)
}

/// Whether there are such partitions, times and licences.
fn check_place(state: &State, spec: &JobSpec, owner: &Owner) -> Result<(), SlurmError> {
    let named = || spec.partition.split(',').filter(|name| !name.is_empty());
    if named().any(|name| state.partition(name).is_none()) {
        return Err(SlurmError::InvalidPartitionName);
    }
    if named().next().is_none() && state.default_partition().is_none() {
        return Err(SlurmError::DefaultPartitionNotSet);
    }
    let partitions = match named().next() {
        Some(_) => named().filter_map(|name| state.partition(name)).collect(),
        None => state.default_partition().into_iter().collect::<Vec<_>>(),
    };
    let takes = |state: PartitionState| matches!(state, PartitionState::Up | PartitionState::Down);
    if !partitions.iter().any(|partition| takes(partition.rules.state)) {
        return Err(SlurmError::PartitionNotAvail);
    }
    admission::check(state, &partitions, spec, owner)?;
    named::wanted_nodes(state, spec)?;
    named::times(state, spec)?;
    licenses::check(state, spec)?;
    named::unwanted_nodes(state, spec)
}

/// Whether nodes could be had that are as they should be.
fn check_nodes(state: &State, spec: &JobSpec, owner: &Owner) -> Result<(), SlurmError> {
    named::features(state, spec)?;
    reservations::check(state, spec, owner)?;
    named::number_of_nodes(spec)
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
        let component = state.jobs.get(&start.job).and_then(|job| job.component);
        started += match component {
            None => usize::from(start_one(state, start, effects)),
            Some(component) if component.leads() => het::start(state, component, starts, effects),
            // With the first one.
            Some(_) => 0,
        };
    }
    Ok(Reply::Started(started))
}

/// Starts a job if it still fits; whether it did.
pub(super) fn start_one(state: &mut State, start: &JobStart, effects: &mut Vec<Effect>) -> bool {
    if !still_fits(state, start) {
        return false;
    }
    let Some(job) = state.jobs.get(&start.job).cloned() else { return false };
    let job = match start.task {
        Some(index) => arrays::take(state, &job, index),
        None => Some((*job).clone()),
    };
    let Some(job) = job else { return false };
    let allocation = Arc::new(start.allocation.clone());
    let Some(node) = allocation.first_node().cloned() else { return false };
    let boot = state.nodes.get(&node).map_or(0, |node| node.boots);
    let phase = Phase::Running { since: state.now, allocation };
    let range = ports::parse_range(&state.settings.config.agent.rendezvous_ports);
    let port = range
        .filter(|_| ports::is_of_use(&job, &start.allocation))
        .and_then(|range| ports::lend(&state.index.ports, range, start.job.0));
    let config = &state.settings.config;
    let layers = partition_for(state, &job, start)
        .map_or(1, |it| sharing::layers(&job.spec, &it.rules, config));
    let on: Vec<&NodeName> = start.allocation.shares.iter().map(|share| &share.node).collect();
    let spec = state.drawn_into(&job, &on).map(|it| {
        let mut spec = (*job.spec).clone();
        spec.placement_mut().reservation = it.name.clone();
        Arc::new(spec)
    });
    let granted = Granted {
        layers,
        partition: start.partition.clone(),
        minutes: start.minutes,
        priority: start.priority,
        reason: start.reason,
        port,
        fence_secs: fences::secs(state, &job.spec, partition_for(state, &job, start)),
    };
    let mut job =
        Job { epoch: start.epoch, boot, phase, waits: None, granted, displaced: None, ..job };
    job.asleep = false;
    job.parked = false;
    job.spec = spec.unwrap_or(job.spec);
    // Of a heterogeneous job, the first component runs the script.
    if !job.is_allocation() && job.component.is_none_or(|it| it.leads()) {
        steps::begin_batch(&mut job, state.now, node, effects);
    }
    steps::begin_presence(state, &mut job, effects);
    state.put_job(job);
    true
}

/// The partition that a plan has for a job.
fn partition_for<'a>(state: &'a State, job: &Job, start: &JobStart) -> Option<&'a Partition> {
    match start.partition.as_str() {
        "" => state.partition_of(job),
        chosen => state.partitions_of(job).find(|it| it.name == chosen),
    }
}

/// The plan was made on an older state; what has changed since decides.
fn still_fits(state: &State, start: &JobStart) -> bool {
    let Some(job) = state.jobs.get(&start.job) else { return false };
    let Some(partition) = partition_for(state, job, start) else { return false };
    let layers = sharing::layers(&job.spec, &partition.rules, &state.settings.config);
    let is_task = match (start.task, job.waiting_tasks()) {
        (Some(index), Some(waiting)) => {
            waiting.contains(index)
                && state.task_may_start(job, index)
                && state.tasks_allowed(job) > 0
        }
        // A task that comes back counts with the others of its array.
        (None, None) => job.waits.is_none() && state.tasks_allowed(job) > 0,
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
                if layers > 1 || state.is_shared(&share.node) {
                    if !layers::has_room(state, share, layers) {
                        return false;
                    }
                    used.cpus = 0;
                }
                node.takes_jobs()
                    && partition.nodes.contains(&share.node)
                    && caps::hold(state, partition, share)
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
        Phase::Pending => never_started(state, cause),
        Phase::Running { since, allocation } => {
            let (started, allocation) = (*since, allocation.clone());
            steps::end_all(&mut job, effects);
            let exit = ExitStatus::default();
            let since = state.now;
            rest(state, &job, Phase::Completing { started, since, allocation, cause, exit })
        }
        Phase::Completing { .. } | Phase::Ended { .. } => return Err(SlurmError::AlreadyDone),
    };
    state.put_job(Job { phase, ..job });
    Ok(Reply::Done)
}

/// A job that is being ended is over once none of its steps is left.
pub(super) fn rest(state: &State, job: &Job, phase: Phase) -> Phase {
    match phase {
        Phase::Completing { started, allocation, cause, exit, .. } if job.steps.live.is_empty() => {
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
            Outcome::NodeFault if batch_is_over => {
                nodes::launch_failed(state, node, &finish.said);
                again::avoid(&mut job, node);
            }
            Outcome::Exited(_) | Outcome::OutOfMemory if batch_is_over => {
                nodes::launched(state, node);
            }
            _ => {}
        }
        // A run that was ended before its node had begun it is lost there, and nobody's fault.
        let is_lost = finish.outcome == Outcome::Lost && matches!(job.phase, Phase::Running { .. });
        if is_lost || finish.outcome == Outcome::PrologFailed {
            again::shun(state, &mut job, node);
        }
        let phase = match job.phase.clone() {
            Phase::Running { since: started, allocation }
                if finish.outcome == Outcome::PrologFailed && !job.is_allocation() =>
            {
                steps::end_all(&mut job, effects);
                let (cause, exit) = (Cause::PrologFailed, ExitStatus::default());
                Phase::Completing { started, since: state.now, allocation, cause, exit }
            }
            Phase::Running { since: started, allocation } if batch_is_over => {
                let (cause, exit) = how_it_ended(finish.outcome);
                let cause = preempt::gone_in_grace(state, &job, exit).unwrap_or(cause);
                let again = (cause == Cause::Exited)
                    .then(|| again::by_exit(&state.settings.config.jobs, &job, exit))
                    .flatten();
                if again.is_some() && allocation.shares.len() == 1 {
                    again::shun(state, &mut job, node);
                }
                let cause = again.unwrap_or(cause);
                steps::end_all(&mut job, effects);
                Phase::Completing { started, since: state.now, allocation, cause, exit }
            }
            Phase::Completing { started, since, allocation, cause, .. } if batch_is_over => {
                let (_, exit) = how_it_ended(finish.outcome);
                Phase::Completing { started, since, allocation, cause, exit }
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
        Outcome::CouldNotStart => (Cause::LaunchFailed, ExitStatus::NOT_LAUNCHED),
        Outcome::Lost => (Cause::NodeFailed, ExitStatus::default()),
        Outcome::NodeFault => (Cause::NodeFault, ExitStatus::default()),
        Outcome::ShepherdLost => (Cause::ShepherdLost, ExitStatus::KILLED),
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
    let old: Vec<JobId> = state.forgettable(before).collect();
    for id in old {
        let Some(job) = state.drop_job(id) else { continue };
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
    /// Jobs that ended before a moment and are of no more use to anybody.
    pub fn forgettable(&self, before: Timestamp) -> impl Iterator<Item = JobId> {
        let old = self.index.ended.iter().take_while(move |(at, _)| *at < before);
        let is_awaited = |id: &JobId| self.jobs.get(id).is_some_and(|job| self.is_awaited(job));
        old.map(|(_, id)| *id).filter(move |id| !is_awaited(id))
    }

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
        match job.granted.partition.as_str() {
            granted if job.phase != Phase::Pending && !granted.is_empty() => {
                self.partition(granted)
            }
            _ => self.first_partition(&job.spec),
        }
    }

    /// What a job asks for, with the memory that the site gives it where it asks for none: its variables tell it.
    pub fn asked_and_given(&self, job: &Job) -> JobSpec {
        let mut spec = (*job.spec).clone();
        let says = spec.memory_per_cpu.is_some()
            || spec.memory_per_node.is_some()
            || spec.gpu().memory_per_gpu.is_some();
        if let Some(partition) = self.partition_of(job).filter(|_| !says) {
            match self.settings.config.default_memory(&partition.rules) {
                DefaultMemory::PerCpu(size) => spec.memory_per_cpu = Some(size.0),
                DefaultMemory::PerNode(size) => spec.memory_per_node = Some(size.0),
                DefaultMemory::PerGpu(_) | DefaultMemory::Share => {}
            }
        }
        spec
    }

    /// The first partition that a request names, or the default one.
    pub fn first_partition(&self, spec: &JobSpec) -> Option<&crate::partition::Partition> {
        match spec.partition.split(',').find(|name| !name.is_empty()) {
            None => self.default_partition(),
            Some(name) => self.partition(name),
        }
    }
}
