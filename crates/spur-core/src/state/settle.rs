//! What follows from a change of one job for itself and for others, whatever brought it about: jobs that go
//! back to the queue, and conditions that have come true.

use std::collections::BTreeSet;

use crate::ids::JobId;
use crate::job::{Cause, ExitStatus, Job, Phase};
use crate::state::{Effect, State, again, dependencies, het, reservations};

/// Draws the conclusions from everything the entry at hand has touched.
pub(super) fn settle(state: &mut State, effects: &mut Vec<Effect>) {
    while !state.touched.is_empty() {
        let touched = std::mem::take(&mut state.touched);
        touched.iter().for_each(|id| het::follow(state, *id, effects));
        for id in &touched {
            if let Some(job) = state.jobs.get(id).filter(|job| job.phase.is_over()).cloned() {
                reservations::left(state, &job);
            }
            if let Some(job) =
                state.jobs.get(id).and_then(|job| again::back_to_the_queue(state, job))
            {
                state.put_job(job);
            }
        }
        for id in waiting_for(state, &touched) {
            let Some(job) = state.jobs.get(&id).cloned() else { continue };
            if job.phase != Phase::Pending {
                continue;
            }
            let Some(mut job) = dependencies::reconsider(state, &job) else { continue };
            if job.waits.as_ref().is_some_and(|waits| waits.never) && kills_hopeless(&job) {
                job.phase = never_started(state, Cause::Cancelled { by: 0 });
            }
            state.put_job(job);
        }
    }
}

fn kills_hopeless(job: &Job) -> bool {
    job.spec.lifecycle().kill_on_invalid_dep.unwrap_or(false)
}

/// The end of a job that never began.
pub(super) fn never_started(state: &State, cause: Cause) -> Phase {
    let in_vain = matches!(cause, Cause::Deadline | Cause::NotAtOnce);
    let exit = ExitStatus { code: 0, signal: u8::from(in_vain) };
    Phase::Ended { started: None, at: state.now, allocation: None, cause, exit }
}

/// Jobs whose conditions may have changed with these, and those among them that have any.
fn waiting_for(state: &State, touched: &[JobId]) -> BTreeSet<JobId> {
    let mut found = BTreeSet::new();
    for id in touched {
        let array = state.jobs.get(id).and_then(|job| job.array_id());
        for id in [Some(*id), array].into_iter().flatten() {
            found.extend(state.index.dependents.get(&id).into_iter().flatten());
        }
        if state.jobs.get(id).is_some_and(|job| job.waits.is_some()) {
            found.insert(*id);
        }
        if state.jobs.get(id).is_none_or(|job| job.phase.is_over()) {
            found.extend(state.index.singletons.iter());
        }
    }
    found
}
