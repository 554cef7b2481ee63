//! Answers when a job, or all of an array, is over: every commit wakes it, nothing polls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use spur_core::auth::Actor;
use spur_core::errors::SlurmError;
use spur_core::ids::JobId;
use spur_core::job::Job;
use spur_core::state::State;
use spur_core::views::JobView;
use spur_proto::slurm::{WaitJobReply, WaitJobRequest};
use spur_proto::status::to_status;
use tonic::Status;

use super::read::job_view;
use super::service::Service;
use super::sight::Sight;

/// How often tasks that are over are looked at, however long the others take: they leave memory some minutes
/// after their end.
const LOOK_AROUND: Duration = Duration::from_secs(30);

impl Service {
    pub(super) async fn wait(
        &self,
        actor: Actor,
        request: WaitJobRequest,
    ) -> Result<WaitJobReply, Status> {
        let mut changes = self.inbox.changes();
        self.latest().await?;
        let mut tally = Tally::default();
        // One that is not over: as long as it is not, nobody else has to be looked at.
        let mut open: Option<JobId> = None;
        let mut looked = Instant::now();
        loop {
            changes.borrow_and_update();
            let published = self.inbox.published();
            if !published.leads {
                return Err(self.standby());
            }
            let still = |id| published.state.jobs.get(&id).is_some_and(|it| keeps(it, &request));
            if !open.is_some_and(still) || looked.elapsed() > LOOK_AROUND {
                looked = Instant::now();
                open = None;
                let sight = Sight::of(&actor, &published.state);
                let seen = meant(&published.state, &request).into_iter();
                for job in seen.filter(|job| sight.job(job)) {
                    tally.see(job, || job_view(&published, job));
                    if !job.phase.is_over() {
                        open = Some(job.id);
                    }
                }
                if open.is_none() {
                    return tally.reply().ok_or_else(|| to_status(SlurmError::InvalidJobId));
                }
            }
            if changes.changed().await.is_err() {
                return Err(to_status(SlurmError::InStandbyMode));
            }
        }
    }
}

/// Whether this record keeps the call waiting.
fn keeps(job: &Job, request: &WaitJobRequest) -> bool {
    !job.phase.is_over() && request.array_task.is_none_or(|task| has(job, task))
}

/// The records that are waited for.
fn meant<'a>(state: &'a State, request: &WaitJobRequest) -> Vec<&'a Arc<Job>> {
    let id = JobId(request.job_id);
    let records: Vec<&Arc<Job>> = match request.array_task {
        Some(task) => state.array(id).filter(|job| has(job, task)).collect(),
        None => state.array(id).collect(),
    };
    match (records.is_empty(), request.array_task) {
        (true, None) => state.jobs.get(&id).into_iter().collect(),
        _ => records,
    }
}

/// Whether a record is, or still holds, this task.
fn has(job: &Job, task: u32) -> bool {
    job.task() == Some(task) || job.waiting_tasks().is_some_and(|tasks| tasks.contains(task))
}

/// How those went that are over.
#[derive(Default)]
struct Tally {
    /// Tasks of each record, and its exit code.
    over: BTreeMap<JobId, (u32, u8)>,
    /// The record with the highest exit code; before one is over, any.
    shown: Option<(Option<u8>, JobView)>,
}

impl Tally {
    fn see(&mut self, job: &Job, view: impl FnOnce() -> JobView) {
        if self.over.contains_key(&job.id) && job.phase.is_over() {
            return;
        }
        let view = view();
        let code = job.phase.is_over().then(|| view.exit_code());
        match code {
            Some(code) => {
                let tasks = job.waiting_tasks().map_or(1, |tasks| tasks.ids().count() as u32);
                self.over.insert(job.id, (tasks, code));
            }
            // Put back into the queue while others were waited for.
            None => drop(self.over.remove(&job.id)),
        }
        let same = |shown: &JobView| shown.job_id == view.job_id;
        if self.shown.as_ref().is_none_or(|(worst, shown)| code > *worst || same(shown)) {
            self.shown = Some((code, view));
        }
    }

    fn reply(self) -> Option<WaitJobReply> {
        let (_, job) = self.shown?;
        let sum = |of: &dyn Fn(&(u32, u8)) -> u32| self.over.values().map(of).sum::<u32>();
        Some(WaitJobReply {
            job: Some(job),
            tasks: sum(&|(tasks, _)| *tasks).max(1),
            failed: sum(&|(tasks, code)| if *code == 0 { 0 } else { *tasks }),
        })
    }
}
