//! What accounting is told when a job changes: the whole row of the run, as it stands then. So a later
//! record of a run says everything an earlier one said, and applying one twice changes nothing.

use crate::hostlist;
use crate::job::{Allocation, Cause, Demand, ExitStatus, Job, JobState, JobStatus, Phase, Reason};
use crate::limit::Limit;
use crate::partition::Partition;
use crate::state::State;
use crate::tres::{self, Amounts, Tres};
use crate::views::AccountingView;
use crate::views::accounting::AccountingRecord;

/// The records that putting `job` in place of `before` calls for; their numbers are given later.
pub fn of_job(state: &State, before: Option<&Job>, job: &Job) -> Vec<AccountingRecord> {
    let mut records = Vec::new();
    let now_run = run(job);
    if let Some(before) = before {
        let is_same = run(before) == now_run && row(state, before) == row(state, job);
        if is_same {
            return records;
        }
        // A run that was under way and gave way to a new one was requeued.
        if run(before) != now_run && before.phase.holds().is_some() {
            records.push(requeued(state, before));
        }
    }
    records.push(record(now_run, row(state, job)));
    records
}

fn record(run: u32, row: AccountingView) -> AccountingRecord {
    AccountingRecord { number: 0, run, job: Some(row) }
}

/// Which run of its job a row is about. A job that waits is in the run that its start will begin.
fn run(job: &Job) -> u32 {
    match job.phase {
        Phase::Pending | Phase::Ended { started: None, .. } => job.epoch.0 + 1,
        _ => job.epoch.0,
    }
}

fn requeued(state: &State, before: &Job) -> AccountingRecord {
    let mut row = row(state, before);
    let ended = JobStatus(JobState::Pending.number()).with(crate::job::JobFlag::Requeued);
    row.state = ended.0;
    row.end_time = state.now.0;
    for step in &mut row.steps {
        step.state = JobState::Cancelled.number();
        step.end_time = state.now.0;
    }
    record(run(before), row)
}

/// A job as accounting keeps it.
fn row(state: &State, job: &Job) -> AccountingView {
    let partition = state.partition_of(job);
    let demand = Demand::of(&job.spec);
    let placement = job.spec.placement.as_deref();
    let rare = job.spec.rare.as_deref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let mut row = AccountingView {
        cluster: state.settings.cluster_name.clone(),
        job_id: job.id.0,
        name: job.spec.name.clone(),
        account: job.spec.account.clone(),
        user_name: job.owner.name.clone(),
        uid: job.owner.uid.0,
        gid: job.owner.gid.0,
        partition: partition.map(|partition| partition.name.clone()).unwrap_or_default(),
        qos: job.spec.qos.clone(),
        qos_requested: job.spec.qos.clone(),
        wckey: text(rare.map(|rare| &rare.wckey)),
        submit_time: job.submitted.0,
        eligible_time: eligible(job),
        time_limit: Some(time_limit(partition, job)),
        nodes_requested: demand.nodes_min,
        cpus_allocated: demand.cpus(),
        cpus_requested: demand.cpus(),
        node_count: demand.nodes_min,
        memory_per_cpu_mb: job.spec.memory_per_cpu,
        memory_per_node_mb: job.spec.memory_per_node,
        tres_requested: requested(job, &demand),
        priority: job.spec.priority.unwrap_or_default(),
        reservation: text(placement.map(|placement| &placement.reservation)),
        constraints: text(placement.map(|placement| &placement.constraint)),
        licenses: text(placement.map(|placement| &placement.licenses)),
        comment: text(rare.and_then(|rare| rare.comment.as_ref())),
        extra: text(rare.map(|rare| &rare.extra)),
        container: text(rare.map(|rare| &rare.container)),
        mcs_label: text(rare.map(|rare| &rare.mcs_label)),
        work_dir: job.spec.work_dir.clone(),
        submit_line: job.spec.submit_line.clone(),
        standard_input: job.spec.input.clone(),
        standard_output: job.spec.output.clone(),
        standard_error: job.spec.error.clone(),
        restarts: run(job).saturating_sub(1),
        ..AccountingView::default()
    };
    let (status, reason) = status(&job.phase);
    row.state = status.number();
    row.reason = reason.number();
    match &job.phase {
        Phase::Pending => {}
        Phase::Running { since, .. } | Phase::Completing { started: since, .. } => {
            row.start_time = since.0;
        }
        Phase::Ended { started, at, exit, cause, .. } => {
            row.start_time = started.map_or(0, |started| started.0);
            row.end_time = at.0;
            row.exit_status = exit.to_wait();
            if let Cause::Cancelled { by } = cause {
                row.cancelled_by = Some(*by);
                // What the killed script left is told by its step.
                row.exit_status = 0;
            }
            if *cause == Cause::TimeLimit {
                row.exit_status = 0;
            }
        }
    }
    let held = match &job.phase {
        Phase::Ended { allocation, .. } => allocation.as_ref(),
        phase => phase.holds(),
    };
    if let Some(held) = held {
        row.nodes = hostlist::compress(held.shares.iter().map(|share| share.node.as_str()));
        row.node_count = held.shares.len() as u32;
        row.cpus_allocated = held.cpus();
        row.tres_allocated = allocated(held);
        let batch = batch_step(job, &row, held);
        row.steps.push(batch);
    }
    row
}

/// The script's own step, on the first node.
fn batch_step(job: &Job, row: &AccountingView, held: &Allocation) -> AccountingView {
    let first = Allocation { shares: held.shares.first().cloned().into_iter().collect() };
    let (state, exit) = match &job.phase {
        Phase::Ended { exit, cause: Cause::Exited, .. } if exit.is_success() => {
            (JobState::Completed, *exit)
        }
        Phase::Ended { exit, cause: Cause::NodeFailed, .. } => (JobState::NodeFail, *exit),
        Phase::Ended { exit, cause: Cause::OutOfMemory, .. } => (JobState::OutOfMemory, *exit),
        Phase::Ended { exit, .. } if exit.signal != 0 => (JobState::Cancelled, *exit),
        Phase::Ended { exit, cause: Cause::Cancelled { .. } | Cause::TimeLimit, .. } => {
            (JobState::Cancelled, *exit)
        }
        Phase::Ended { exit, .. } => (JobState::Failed, *exit),
        _ => (JobState::Running, ExitStatus::default()),
    };
    AccountingView {
        cluster: row.cluster.clone(),
        job_id: row.job_id,
        array_job_id: row.array_job_id,
        array_task_id: row.array_task_id,
        het_job_id: row.het_job_id,
        het_job_offset: row.het_job_offset,
        step_id: "batch".to_string(),
        name: "batch".to_string(),
        account: row.account.clone(),
        state: state.number(),
        exit_status: exit.to_wait(),
        submit_time: row.start_time,
        eligible_time: row.start_time,
        start_time: row.start_time,
        end_time: row.end_time,
        nodes: hostlist::compress(first.shares.iter().map(|share| share.node.as_str())),
        node_count: 1,
        nodes_requested: 1,
        cpus_allocated: first.cpus(),
        cpus_requested: first.cpus(),
        tasks: 1,
        tres_allocated: by_name(&step_amounts(&first)),
        ..AccountingView::default()
    }
}

/// From when on it may run, or 0 while nobody knows.
fn eligible(job: &Job) -> i64 {
    if job.phase == Phase::Pending && (job.spec.hold || !job.spec.dependency.is_empty()) {
        return 0;
    }
    job.spec.begin.unwrap_or_default().max(job.submitted.0)
}

/// The job's own limit, or its partition's.
fn time_limit(partition: Option<&Partition>, job: &Job) -> Limit {
    job.time_limit(partition)
}

fn status(phase: &Phase) -> (JobState, Reason) {
    match phase {
        Phase::Pending => (JobState::Pending, Reason::None),
        // Until its processes are gone a job that is being ended still runs, as far as usage goes.
        Phase::Running { .. } | Phase::Completing { .. } => (JobState::Running, Reason::None),
        Phase::Ended { cause, exit, .. } => ending(*cause, *exit),
    }
}

/// How a run that is over is shown, and why.
pub fn ending(cause: Cause, exit: ExitStatus) -> (JobState, Reason) {
    match cause {
        Cause::Exited if exit.is_success() => (JobState::Completed, Reason::None),
        Cause::Exited => (JobState::Failed, Reason::NonZeroExitCode),
        Cause::Cancelled { .. } => (JobState::Cancelled, Reason::None),
        Cause::TimeLimit => (JobState::Timeout, Reason::TimeLimit),
        Cause::LaunchFailed => (JobState::Failed, Reason::JobLaunchFailure),
        Cause::NodeFailed => (JobState::NodeFail, Reason::NodeDown),
        Cause::OutOfMemory => (JobState::OutOfMemory, Reason::OutOfMemory),
        Cause::Deadline => (JobState::Deadline, Reason::DeadLine),
        Cause::Preempted => (JobState::Preempted, Reason::None),
        Cause::Requeued { .. } => (JobState::Pending, Reason::None),
    }
}

fn requested(job: &Job, demand: &Demand) -> String {
    let memory = match (job.spec.memory_per_cpu, job.spec.memory_per_node) {
        (Some(megabytes), _) => megabytes.saturating_mul(demand.cpus().into()),
        (None, Some(megabytes)) => megabytes.saturating_mul(demand.nodes_min.into()),
        (None, None) => 0,
    };
    let mut amounts = amounts(demand.cpus(), memory, demand.nodes_min);
    amounts.insert(Tres::Billing, Some(demand.cpus().into()));
    by_name(&amounts)
}

fn allocated(held: &Allocation) -> String {
    let mut amounts = step_amounts(held);
    amounts.insert(Tres::Billing, Some(held.cpus().into()));
    by_name(&amounts)
}

/// Amounts in the order of names, as accounting has them: `billing=4,cpu=4,mem=4000M,node=2`.
fn by_name(amounts: &Amounts) -> String {
    let listed = tres::display(amounts);
    let mut listed: Vec<&str> = listed.split(',').collect();
    listed.sort_unstable();
    listed.join(",")
}

fn step_amounts(held: &Allocation) -> Amounts {
    let memory_mb = held.shares.iter().map(|share| share.memory_mb).sum();
    let mut amounts = amounts(held.cpus(), memory_mb, held.shares.len() as u32);
    for gres in held.shares.iter().flat_map(|share| &share.gres) {
        // A typed one counts under its type and under its name.
        let typed = (!gres.kind.is_empty()).then(|| format!("{}:{}", gres.name, gres.kind));
        for name in std::iter::once(gres.name.clone()).chain(typed) {
            let tres = Tres::Named { kind: "gres".to_string(), name };
            let counted = amounts.entry(tres).or_insert(Some(0));
            *counted = Some(counted.unwrap_or(0) + gres.count);
        }
    }
    amounts
}

fn amounts(cpus: u32, memory_mb: u64, nodes: u32) -> Amounts {
    let mut amounts =
        Amounts::from([(Tres::Cpu, Some(cpus.into())), (Tres::Node, Some(nodes.into()))]);
    if memory_mb > 0 {
        amounts.insert(Tres::Memory, Some(memory_mb));
    }
    amounts
}
