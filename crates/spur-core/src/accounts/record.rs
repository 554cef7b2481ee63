//! What accounting is told when a job changes: the whole row of the run, as it stands then. So a later
//! record of a run says everything an earlier one said, and applying one twice changes nothing.

use crate::accounts::limits::Needs;
use crate::blob::BlobHash;
use crate::config::words::Keep;
use crate::hostlist;
use crate::ids::StepId;
use crate::job::steps::Step;
use crate::job::{
    Allocation, Array, Cause, Demand, ExitStatus, Hold, Job, JobFlag, JobState, JobStatus, Phase,
    Reason, Share, StepEnd,
};
use crate::limit::Limit;
use crate::partition::Partition;
use crate::state::State;
use crate::time::Timestamp;
use crate::tres::{self, Amounts, Tres};
use crate::views::AccountingView;
use crate::views::accounting::AccountingRecord;

mod devices;
mod usage;
pub use usage::Used;

/// The records that putting `job` in place of `before` calls for; their numbers are given later.
pub fn of_job(state: &State, before: Option<&Job>, job: &Job) -> Vec<AccountingRecord> {
    let mut records = Vec::new();
    let mut now = row(state, job);
    let Some(before) = before else {
        now.steps = changed_steps(state, None, job, &now);
        return vec![record(run(job), now)];
    };
    let mut then = row(state, before);
    if run(before) == run(job) {
        now.steps = changed_steps(state, Some(before), job, &now);
        if now.steps.is_empty() && then == now {
            return records;
        }
    } else if before.phase.holds().is_some() {
        // A run that was under way and gave way to a new one goes back to the queue.
        close(state, before, &mut then);
        then.steps = gone_steps(state, before, job, &then);
        records.push(record(run(before), then));
    } else if let Phase::Ended { cause, .. } = &before.phase
        && !matches!(
            cause,
            Cause::NodeFailed
                | Cause::NodeFault
                | Cause::Preempted
                | Cause::Requeued { .. }
                | Cause::PrologFailed
        )
    {
        // So does one that was over when somebody sent it back; its exit code stays. Other ends are told already.
        then.state = requeued();
        records.push(record(run(before), then));
    }
    records.push(record(run(job), now));
    records
}

fn record(run: u32, row: AccountingView) -> AccountingRecord {
    AccountingRecord { run, job: Some(row), ..AccountingRecord::default() }
}

/// Which run of its job a row is about. A job that waits is in the run that its start will begin.
fn run(job: &Job) -> u32 {
    match job.phase {
        Phase::Pending | Phase::Ended { started: None, .. } => job.epoch.0 + 1,
        _ => job.epoch.0,
    }
}

fn close(state: &State, before: &Job, row: &mut AccountingView) {
    row.state = match &before.phase {
        Phase::Completing { cause: Cause::NodeFailed | Cause::NodeFault, .. } => {
            JobState::NodeFail.number()
        }
        Phase::Completing { cause: Cause::Preempted, .. } => JobState::Preempted.number(),
        _ => requeued(),
    };
    row.end_time = state.now.0;
}

/// What a run is called that gave way to another.
fn requeued() -> u32 {
    JobStatus(JobState::Pending.number()).with(JobFlag::Requeued).0
}

/// Steps that began or ended with this change.
fn changed_steps(
    state: &State,
    before: Option<&Job>,
    job: &Job,
    row: &AccountingView,
) -> Vec<AccountingView> {
    let had = |id: &StepId| before.is_some_and(|before| before.steps.live.contains_key(id));
    // Steps stop, go on and are ended with their job.
    let turned = before.is_some_and(|before| status(before) != status(job));
    let begun = job.steps.live.iter().filter(|(id, _)| turned || !had(id));
    let mut steps: Vec<AccountingView> =
        begun.map(|(_, step)| step_row(row, job, step, None)).collect();
    if let Some(before) = before {
        steps.extend(gone_steps(state, before, job, row));
    }
    steps
}

/// Steps that are there no longer: those that said how they ended, and those the run took with it.
fn gone_steps(state: &State, before: &Job, job: &Job, row: &AccountingView) -> Vec<AccountingView> {
    let told = |id: &StepId| job.steps.gone.iter().any(|step| step.id == *id);
    let lost = before.steps.live.iter().filter(|(id, _)| !job.steps.live.contains_key(*id));
    let lost = lost.filter(|(id, _)| !told(id)).map(|(_, step)| step);
    let gone = job.steps.gone.iter().map(|step| (step, false)).chain(lost.map(|step| (step, true)));
    gone.map(|(step, is_lost)| {
        let mut shown = step_row(row, before, step, Some(state.now));
        if is_lost {
            shown.state = JobState::Cancelled.number();
        }
        shown
    })
    .collect()
}

/// A job as accounting keeps it.
fn row(state: &State, job: &Job) -> AccountingView {
    let partition = state.partition_of(job);
    let demand = Demand::of(&job.spec);
    let placement = job.spec.placement.as_deref();
    let rare = job.spec.rare.as_deref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let requested = state.requested(&job.spec, partition);
    let own_memory = job.spec.memory_per_cpu.is_some() || job.spec.memory_per_node.is_some();
    // Whoever asks for no memory asks for what the configuration gives.
    let given = requested.get(&Tres::Memory).filter(|_| !own_memory);
    let given = given.map(|memory| memory / u64::from(demand.cpus().max(1)));
    let mut row = AccountingView {
        cluster: state.settings.cluster_name.clone(),
        qos_id: state.rules.qos(&job.spec.qos).map_or(0, |qos| qos.id),
        association_id: state.association_of(job).map_or(0, |one| one.id),
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
        memory_per_cpu_mb: job.spec.memory_per_cpu.or(given),
        memory_per_node_mb: job.spec.memory_per_node,
        tres_requested: shown(&requested),
        priority: job.granted.priority.or(job.spec.priority).unwrap_or_default(),
        reservation: text(placement.map(|placement| &placement.reservation)),
        reservation_id: placement
            .and_then(|placement| state.reservations.get(&placement.reservation))
            .map_or(0, |reservation| reservation.number),
        constraints: text(placement.map(|placement| &placement.constraint)),
        licenses: text(placement.map(|placement| &placement.licenses)),
        comment: text(rare.and_then(|rare| rare.comment.as_ref())),
        admin_comment: text(rare.map(|rare| &rare.admin_comment)),
        extra: text(rare.map(|rare| &rare.extra)),
        container: text(rare.map(|rare| &rare.container)),
        mcs_label: text(rare.map(|rare| &rare.mcs_label)),
        work_dir: job.spec.work_dir.clone(),
        submit_line: job.spec.submit_line.clone(),
        standard_input: job.spec.input.clone(),
        standard_output: job.spec.output.clone(),
        standard_error: job.spec.error.clone(),
        restarts: job.restarts,
        suspended_secs: job.pause.secs,
        derived_exit_status: job.steps.derived_exit.to_wait(),
        array_job_id: job.array_id().map_or(0, |array| array.0),
        array_task_id: job.task(),
        het_job_id: job.component.map_or(0, |it| it.leader.0),
        het_job_offset: job.component.map_or(0, |it| it.offset),
        ..AccountingView::default()
    };
    match job.array.as_deref() {
        Some(Array::Waiting(tasks)) => {
            row.array_task_string = tasks.shown();
            row.array_max_tasks = tasks.throttle;
        }
        Some(Array::Task { throttle, .. }) => row.array_max_tasks = *throttle,
        None => {}
    }
    row.state = status(job).number();
    row.reason = match &job.phase {
        Phase::Pending => job.obstacle(state.now).map_or(0, Reason::number),
        _ => job.granted.reason.unwrap_or(0),
    };
    match &job.phase {
        Phase::Pending => {}
        Phase::Running { since, .. } => row.start_time = since.0,
        // It has no end before its processes are gone: until then it uses what it has.
        Phase::Completing { started, cause, .. } => {
            row.start_time = started.0;
            if let Cause::Cancelled { by } = cause {
                row.cancelled_by = Some(*by);
            }
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
            if matches!(cause, Cause::TimeLimit | Cause::NodeFailed | Cause::NodeFault) {
                row.exit_status = 0;
            }
            if let Cause::Requeued { .. } | Cause::PrologFailed = cause {
                row.state = requeued();
                row.exit_status = 0;
            }
        }
    }
    let keep = &state.settings.config.accounting.keep;
    let hash = |word: Keep, hash: BlobHash| match keep.contains(&word) {
        true if hash != BlobHash::of(&[]) => hash.to_string(),
        _ => String::new(),
    };
    row.script_hash = hash(Keep::Script, job.script);
    row.environment_hash = hash(Keep::Environment, job.environment);
    // Every job has been told when it came, and every start is the planner's.
    let planned = (row.start_time > 0).then_some("SchedMain");
    row.flags = planned.into_iter().chain(["StartReceived"]).map(str::to_string).collect();
    let held = match &job.phase {
        Phase::Ended { allocation, .. } => allocation.as_ref(),
        phase => phase.holds(),
    };
    if let Some(held) = held {
        row.nodes = hostlist::compress(held.shares.iter().map(|share| share.node.as_str()));
        row.node_count = held.shares.len() as u32;
        row.cpus_allocated = held.cpus();
        let has = state.held(job, held);
        row.tres_allocated = shown(&has);
        // Who asked for all of a node's memory asked for what it turned out to be.
        let asked_for_all = (job.spec.memory_per_node, job.spec.memory_per_cpu) == (Some(0), None);
        if let Some(memory) = has.get(&Tres::Memory).filter(|_| asked_for_all) {
            let nodes = u64::from(demand.nodes_min.max(1));
            row.memory_per_node_mb = Some(memory / nodes);
            let requested = requested.into_iter().chain([(Tres::Memory, *memory)]).collect();
            row.tres_requested = shown(&requested);
        }
    }
    row
}

/// A step as accounting keeps it; `end` is there when it has ended.
fn step_row(
    row: &AccountingView,
    job: &Job,
    step: &Step,
    end: Option<Timestamp>,
) -> AccountingView {
    let held = match &job.phase {
        Phase::Ended { allocation, .. } => allocation.as_ref(),
        phase => phase.holds(),
    };
    let request = step.spec.as_ref().and_then(|spec| spec.request.as_deref());
    let shares: Vec<Share> = step
        .shares
        .iter()
        .map(|part| {
            let whole = held.and_then(|held| held.shares.iter().find(|one| one.node == part.node));
            let mut share = Share::of_cpus(part.node.clone(), part.cpus);
            if let Some(whole) = whole {
                // The script has its whole node; other steps have memory as they have processors.
                if step.spec.is_none() {
                    share = whole.clone();
                } else {
                    share.memory_mb =
                        whole.memory_mb * u64::from(part.cpus) / u64::from(whole.cpus.max(1));
                    share.gres = devices::of_step(step, part, whole);
                }
            }
            share
        })
        .collect();
    let part = Allocation { shares };
    // What is left of a job that has ended by itself is told to end, and may have ended well before.
    let by_itself = matches!(
        job.phase,
        Phase::Completing { cause: Cause::Exited, .. } | Phase::Ended { cause: Cause::Exited, .. }
    );
    let state = match end {
        // What is left of a job that is being ended is told as the job is.
        None => status(job),
        Some(_) if step.end == Some(StepEnd::TimeLimit) => JobState::Timeout,
        Some(_) if step.exit.is_success() && (step.end.is_none() || by_itself) => {
            JobState::Completed
        }
        Some(_) if step.exit == ExitStatus::OUT_OF_MEMORY => JobState::OutOfMemory,
        // A step that is ended because a task failed has failed.
        Some(_) if step.exit.signal != 0 || step.exit.code == 0 => JobState::Cancelled,
        Some(_) => JobState::Failed,
    };
    let measured =
        step.shares.iter().filter_map(|it| Some((it.node.as_str(), it.usage.as_deref()?)));
    let used = Used::of(measured);
    AccountingView {
        user_cpu_micros: used.user_micros,
        system_cpu_micros: used.system_micros,
        usage_in: used.taken_in,
        usage_out: used.put_out,
        consumed_energy_joules: end.map(|_| 0),
        cluster: row.cluster.clone(),
        association_id: row.association_id,
        job_id: row.job_id,
        array_job_id: row.array_job_id,
        array_task_id: row.array_task_id,
        het_job_id: row.het_job_id,
        het_job_offset: row.het_job_offset,
        step_id: step.id.to_string(),
        name: request.map_or_else(|| step.id.to_string(), |request| request.name.clone()),
        account: row.account.clone(),
        submit_line: request.map(|request| request.submit_line.clone()).unwrap_or_default(),
        work_dir: request.map(|request| request.work_dir.clone()).unwrap_or_default(),
        standard_output: request.map(|request| request.output.clone()).unwrap_or_default(),
        standard_error: request.map(|request| request.error.clone()).unwrap_or_default(),
        state: state.number(),
        cancelled_by: match step.end {
            Some(StepEnd::Killed { by }) if state == JobState::Cancelled => Some(by),
            _ => None,
        },
        exit_status: step.exit.to_wait(),
        submit_time: step.since.0,
        eligible_time: step.since.0,
        start_time: step.since.0,
        end_time: end.map_or(0, |end| end.0),
        nodes: hostlist::compress(part.shares.iter().map(|share| share.node.as_str())),
        node_count: part.shares.len() as u32,
        nodes_requested: part.shares.len() as u32,
        cpus_allocated: part.cpus(),
        cpus_requested: part.cpus(),
        tasks: step.tasks().max(1),
        layout: match &request {
            None => String::new(),
            Some(_) if step.tasks() as usize > part.shares.len() => "Block".to_string(),
            Some(_) => "Cyclic".to_string(),
        },
        tres_allocated: by_name(&step_amounts(&part)),
        // Of the job's pauses, those since the step began.
        suspended_secs: (job.pause.secs - step.paused_before).max(0),
        ..AccountingView::default()
    }
}

/// From when on it may run, or 0 while nobody knows.
fn eligible(job: &Job) -> i64 {
    let never_ran = matches!(job.phase, Phase::Pending | Phase::Ended { started: None, .. });
    // What ran before and waits for its owner to let it go was eligible when it came back.
    let is_held = !matches!(job.hold, Hold::None | Hold::Requeued | Hold::Special | Hold::Exit);
    if never_ran && (is_held || job.waits.is_some()) {
        return 0;
    }
    job.begin.map_or(0, |begin| begin.0).max(job.submitted.0)
}

/// The job's own limit, or its partition's.
fn time_limit(partition: Option<&Partition>, job: &Job) -> Limit {
    job.time_limit(partition)
}

/// How it ended is told by its state; the reason is for what kept it waiting.
fn status(job: &Job) -> JobState {
    match &job.phase {
        Phase::Pending => JobState::Pending,
        Phase::Running { .. } if job.pause.since.is_some() => JobState::Suspended,
        // What goes back to the queue is told when it is there.
        Phase::Running { .. }
        | Phase::Completing { cause: Cause::Requeued { .. } | Cause::PrologFailed, .. } => {
            JobState::Running
        }
        Phase::Completing { cause, exit, .. } | Phase::Ended { cause, exit, .. } => {
            ending(*cause, *exit).0
        }
    }
}

/// How a run that is over is shown, and why.
pub fn ending(cause: Cause, exit: ExitStatus) -> (JobState, Reason) {
    match cause {
        Cause::Exited if exit.is_success() => (JobState::Completed, Reason::None),
        Cause::Exited if exit.signal != 0 => (JobState::Failed, Reason::RaisedSignal),
        Cause::Exited => (JobState::Failed, Reason::NonZeroExitCode),
        Cause::Cancelled { .. } => (JobState::Cancelled, Reason::None),
        Cause::TimeLimit => (JobState::Timeout, Reason::TimeLimit),
        Cause::LaunchFailed => (JobState::Failed, Reason::JobLaunchFailure),
        Cause::NodeFailed => (JobState::NodeFail, Reason::NodeDown),
        Cause::NodeFault => (JobState::NodeFail, Reason::JobLaunchFailure),
        Cause::ShepherdLost => (JobState::Failed, Reason::SystemFailure),
        Cause::OutOfMemory => (JobState::OutOfMemory, Reason::OutOfMemory),
        Cause::Deadline => (JobState::Deadline, Reason::DeadLine),
        Cause::NotAtOnce => (JobState::Failed, Reason::BadConstraints),
        Cause::Preempted => (JobState::Preempted, Reason::None),
        Cause::Requeued { .. } | Cause::PrologFailed => (JobState::Pending, Reason::None),
    }
}

/// Amounts as they are shown; licences are not among them.
fn shown(needs: &Needs) -> String {
    let is_license = |tres: &Tres| matches!(tres, Tres::Named { kind, .. } if kind == "license");
    let listed = needs.iter().filter(|(tres, _)| !is_license(tres));
    by_name(&listed.map(|(tres, amount)| (tres.clone(), Some(*amount))).collect())
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
