//! Heterogeneous jobs: all components start at once or none does, and all end with the first.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::ids::JobId;
use crate::job::dependency::{Dependency, Term};
use crate::job::{Cause, Component, ExitStatus, Job, Phase, Waits};
use crate::state::settle::never_started;
use crate::state::{Effect, JobAction, JobStart, State, jobs, steps};

impl State {
    /// All components of a heterogeneous job that are not forgotten, the first one first.
    pub fn components(&self, of: Component) -> impl Iterator<Item = &Arc<Job>> {
        let same = move |job: &&Arc<Job>| job.component.is_some_and(|it| it.leader == of.leader);
        of.ids().filter_map(|id| self.jobs.get(&id)).filter(same)
    }
}

/// Starts all components with what the plan has for each, or none; how many were started. One that is over
/// by itself does not run again when the others do.
pub(super) fn start(
    state: &mut State,
    of: Component,
    starts: &[JobStart],
    effects: &mut Vec<Effect>,
) -> usize {
    // Each must fit beside those before it: tried on a copy, which shares all that stays.
    let (mut trial, mut more) = (state.clone(), Vec::new());
    let left = state.components(of).filter(|job| !job.phase.is_over()).map(|job| job.id);
    let left: Vec<JobId> = left.collect();
    for id in &left {
        let start = starts.iter().find(|start| start.job == *id);
        if !start.is_some_and(|start| jobs::start_one(&mut trial, start, &mut more)) {
            return 0;
        }
    }
    *state = trial;
    effects.extend(more);
    left.len()
}

/// What the end of a component means for the others.
pub(super) fn follow(state: &mut State, id: JobId, effects: &mut Vec<Effect>) {
    let Some(job) = state.jobs.get(&id).cloned() else { return };
    let Some(component) = job.component else { return };
    let (cause, exit, began) = match &job.phase {
        Phase::Completing { cause, exit, .. } => (*cause, *exit, true),
        Phase::Ended { cause, exit, started, .. } => (*cause, *exit, started.is_some()),
        Phase::Pending | Phase::Running { .. } => return,
    };
    let others: Vec<Arc<Job>> = match component.leads() {
        true => state.components(component).skip(1).cloned().collect(),
        // One that ends by itself leaves the others alone; what is to run again does so as a whole.
        false if began && !takes_all_along(cause) => return,
        false => state.components(component).take(1).cloned().collect(),
    };
    for other in others {
        end_with(state, &other, cause, exit, effects);
    }
}

fn takes_all_along(cause: Cause) -> bool {
    use Cause::{NodeFailed, NodeFault, Preempted, Requeued};
    matches!(cause, NodeFailed | NodeFault | Preempted | Requeued { .. })
}

fn end_with(
    state: &mut State,
    job: &Job,
    cause: Cause,
    exit: ExitStatus,
    effects: &mut Vec<Effect>,
) {
    let mut job = job.clone();
    let phase = match job.phase.clone() {
        // Back in the queue already, with the one it follows.
        Phase::Pending if takes_all_along(cause) => return,
        Phase::Pending => never_started(state, cause),
        Phase::Running { since: started, allocation } => {
            steps::end_all(&mut job, effects);
            let phase = Phase::Completing { started, since: state.now, allocation, cause, exit };
            jobs::rest(state, &job, phase)
        }
        Phase::Completing { .. } | Phase::Ended { .. } => return,
    };
    state.put_job(Job { phase, ..job });
}

/// Whose word counts for the whole job: the first component's.
pub(super) fn leader_of<'a>(state: &'a State, job: &'a Job) -> &'a Job {
    let leader = job.component.and_then(|it| state.jobs.get(&it.leader));
    leader.map_or(job, |leader| leader)
}

/// Conditions but that no other job of the name runs.
pub(super) fn without_singleton(waits: Arc<Waits>) -> Option<Arc<Waits>> {
    let terms = waits.on.terms.iter().filter(|term| **term != Term::Singleton);
    let on = Dependency { any: waits.on.any, terms: terms.cloned().collect() };
    (!on.terms.is_empty()).then(|| Arc::new(Waits { on, never: waits.never }))
}

/// The records that something done to a job is done to. What is done to the first component is done to
/// all; some things can only be done to all.
pub(super) fn meant(state: &State, job: &Job, action: &JobAction) -> Result<Vec<Job>, SlurmError> {
    let Some(component) = job.component else { return Ok(vec![job.clone()]) };
    if component.leads() {
        return Ok(state.components(component).map(|job| (**job).clone()).collect());
    }
    match action {
        JobAction::Cancel if job.phase == Phase::Pending => Err(SlurmError::NotWholeHetJob),
        JobAction::Requeue { .. }
        | JobAction::RequeueSpecial
        | JobAction::Suspend
        | JobAction::Resume => Err(SlurmError::NotWholeHetJob),
        _ => Ok(vec![job.clone()]),
    }
}
