//! A job as readers see it.

use spur_core::accounts::record::ending;
use spur_core::hostlist;
use spur_core::job::{Demand, ExitStatus, Job, JobFlag, JobState, JobStatus, Phase, Reason};
use spur_core::limit::Limit;
use spur_core::views::JobView;

use crate::controller::time_limit;
use crate::shell::Published;

/// Shows a job.
pub fn job_view(published: &Published, job: &Job) -> JobView {
    let state = &published.state;
    let partition = state.partition_of(job);
    let demand = Demand::of(&job.spec);
    let limit = time_limit(partition, job);
    let mut view = JobView {
        job_id: job.id.0,
        name: job.spec.name.clone(),
        partition: partition.map(|partition| partition.name.clone()).unwrap_or_default(),
        account: job.spec.account.clone(),
        uid: job.owner.uid.0,
        gid: job.owner.gid.0,
        user_name: job.owner.name.clone(),
        submit_time: job.submitted.0,
        time_limit: Some(limit),
        num_nodes: demand.nodes_min,
        num_tasks: demand.tasks,
        num_cpus: demand.cpus(),
        work_dir: job.spec.work_dir.clone(),
        command: job.spec.command.clone(),
        standard_output: job.spec.output.clone(),
        standard_error: job.spec.error.clone(),
        restarts: job.epoch.0.saturating_sub(1),
        ..JobView::default()
    };
    let (status, reason) = status(published, job);
    view.state = status.0;
    view.reason = reason.number();
    match &job.phase {
        Phase::Pending => {}
        Phase::Running { since, .. } | Phase::Completing { started: since, .. } => {
            view.start_time = since.0;
            if let Limit::Is(minutes) = limit {
                view.end_time = since.0.saturating_add((minutes as i64).saturating_mul(60));
            }
        }
        Phase::Ended { started, at, exit, .. } => {
            view.start_time = started.unwrap_or(*at).0;
            view.end_time = at.0;
            view.exit_status = exit.to_wait();
        }
    }
    let held = match &job.phase {
        Phase::Ended { allocation, .. } => allocation.as_ref(),
        phase => phase.holds(),
    };
    if let Some(held) = held {
        view.nodes = hostlist::compress(held.shares.iter().map(|share| share.node.as_str()));
        view.num_nodes = held.shares.len() as u32;
        view.num_cpus = held.cpus();
        view.batch_host = held.first_node().map(ToString::to_string).unwrap_or_default();
    }
    view
}

fn status(published: &Published, job: &Job) -> (JobStatus, Reason) {
    match &job.phase {
        Phase::Pending => {
            let reason = published.waits.get(&job.id).copied().unwrap_or(Reason::None);
            (JobStatus(JobState::Pending.number()), reason)
        }
        Phase::Running { .. } => (JobStatus(JobState::Running.number()), Reason::None),
        Phase::Completing { cause, .. } => {
            let (state, reason) = ending(*cause, ExitStatus::default());
            (JobStatus(state.number()).with(JobFlag::Completing), reason)
        }
        Phase::Ended { cause, exit, .. } => {
            let (state, reason) = ending(*cause, *exit);
            (JobStatus(state.number()), reason)
        }
    }
}
