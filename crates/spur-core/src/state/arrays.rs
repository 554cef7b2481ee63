//! Arrays: one record with the array's number stands for all tasks that have not begun. A task that begins
//! gets a record and a number of its own; the last one keeps the array's.

use std::sync::Arc;

use crate::ids::JobId;
use crate::job::{Array, ArraySpec, Job};
use crate::state::State;

/// Takes one task out of a record of waiting ones: its own record, which is not put in yet. `None` when no
/// such task waits there.
pub(super) fn take(state: &mut State, job: &Job, index: u32) -> Option<Job> {
    let waiting = job.waiting_tasks()?;
    if !waiting.contains(index) {
        return None;
    }
    let task = Array::Task { of: job.id, index, throttle: waiting.throttle };
    let array = Some(Arc::new(task));
    if waiting.is_single() {
        return Some(Job { array, ..job.clone() });
    }
    if state.next_job > state.settings.last_job_id() {
        return None;
    }
    let id = state.next_job;
    state.next_job = JobId(id.0 + 1);
    state.put_job(without(job, index)?);
    for hash in [job.script, job.environment] {
        *state.blobs.entry(hash).or_insert(0) += 1;
    }
    Some(Job { id, request: None, array, ..job.clone() })
}

/// The record of the tasks that are left when one is taken out; `None` when none is.
pub(super) fn without(job: &Job, index: u32) -> Option<Job> {
    let mut rest = job.waiting_tasks()?.clone();
    rest.remove(index);
    rest.first()?;
    Some(Job { array: Some(Arc::new(Array::Waiting(rest))), ..job.clone() })
}

impl State {
    /// Every record of an array: the waiting tasks' and those of the others.
    pub fn array(&self, id: JobId) -> impl Iterator<Item = &Arc<Job>> {
        let records = self.index.arrays.get(&id).into_iter().flatten();
        records.filter_map(|id| self.jobs.get(id))
    }

    /// How many more tasks of an array may run at once.
    pub fn tasks_allowed(&self, job: &Job) -> u32 {
        let throttle = match job.array.as_deref() {
            Some(Array::Waiting(ArraySpec { throttle, .. }) | Array::Task { throttle, .. }) => {
                *throttle
            }
            None => 0,
        };
        let Some(id) = job.array_id().filter(|_| throttle > 0) else { return u32::MAX };
        let active = self.array(id).filter(|task| task.phase.holds().is_some()).count();
        throttle.saturating_sub(active as u32)
    }

    /// The task that waits alone after others of its array have begun: it goes by its own name from then on, not as a
    /// list of one. Those that were cancelled before leave no records.
    pub fn last_task(&self, job: &Job) -> Option<u32> {
        let waiting = job.waiting_tasks().filter(|tasks| tasks.is_single())?;
        let others_began = self.array(job.id).any(|task| task.id != job.id);
        others_began.then(|| waiting.first()).flatten()
    }

    /// The record of one task of an array, if it has one of its own.
    pub fn task_of(&self, array: JobId, index: u32) -> Option<&Arc<Job>> {
        self.array(array).find(|job| job.task() == Some(index))
    }
}
