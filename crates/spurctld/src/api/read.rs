//! A job as readers see it.

use std::sync::Arc;

use spur_core::accounts::needs;
use spur_core::accounts::record::ending;
use spur_core::config::{Allowed, Config, DefaultMemory, sections};
use spur_core::cron;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::dependency::{self, Dependency};
use spur_core::job::{
    Allocation, Array, Cause, Demand, Hold, Job, JobFlag, JobState, JobStatus, Phase, Reason,
    Share, signal,
};
use spur_core::limit::Limit;
use spur_core::node::Node;
use spur_core::partition::Partition;
use spur_core::reservation::Flags;
use spur_core::state::State;
use spur_core::time::Timestamp;
use spur_core::views::{JobNodeShare, JobView};
use spur_core::{filename, gres, hostlist};

use spur_sched::Promised;

use super::nodes::tres;
use super::wanted::Wanted;
use crate::controller::time_limit;
use crate::shell::Published;

/// Shows a job.
pub fn job_view(published: &Published, job: &Job) -> JobView {
    job_part(published, job, Wanted::all())
}

/// Shows as much of a job as is wanted; the rest of the view means nothing.
pub fn job_part(published: &Published, job: &Job, wanted: &Wanted) -> JobView {
    let mut view = JobView {
        job_id: job.id.0,
        uid: job.owner.uid.0,
        gid: job.owner.gid.0,
        ..JobView::default()
    };
    outline(&mut view, published, job, wanted);
    if wanted.told.is_empty() && wanted.found.is_empty() {
        return view;
    }
    let detail = view.detail.get_or_insert_default();
    wanted.told.iter().for_each(|tell| tell(&job.spec, detail));
    wanted.found.iter().for_each(|find| find(&mut view, published, job));
    view
}

/// How a job stands: its state, its times, where it is.
fn outline(view: &mut JobView, published: &Published, job: &Job, wanted: &Wanted) {
    let state = &published.state;
    let partition = state.partition_of(job);
    let (status, reason) = status(published, job);
    view.state = status.0;
    view.reason = reason.number();
    let words = [
        (wanted.name, &mut view.name, &job.spec.name),
        (wanted.user_name, &mut view.user_name, &job.owner.name),
        (wanted.account, &mut view.account, &job.spec.account),
        (wanted.qos, &mut view.qos, &job.spec.qos),
    ];
    words.into_iter().filter(|(is, ..)| *is).for_each(|(_, to, from)| to.clone_from(from));
    if wanted.partition {
        view.partition = match job.spec.partition.as_str() {
            _ if job.phase != Phase::Pending && !job.granted.partition.is_empty() => {
                job.granted.partition.clone()
            }
            "" => partition.map(|partition| partition.name.clone()).unwrap_or_default(),
            named => named.to_string(),
        };
    }
    view.priority = priority(published, job);
    array(view, state, job);
    if let Some(component) = job.component {
        (view.het_job_id, view.het_job_offset) = (component.leader.0, component.offset);
        view.het_job_id_set = component.id_set();
    }
    if wanted.times {
        let limit = time_limit(partition, job);
        view.time_limit = Some(limit);
        times(view, job, limit, state.now);
        if let Some(begun) = state.accrues_since(job) {
            view.accrue_time = begun.map_or(0, |begun| begun.0);
        }
        // A task that its array holds back does not count as waiting; when it starts it may at last.
        match job.array.as_deref() {
            _ if reason == Reason::JobArrayTaskLimit => {
                (view.eligible_time, view.accrue_time) = (0, 0);
            }
            Some(Array::Task { throttle: 1.., .. }) if job.phase != Phase::Pending => {
                (view.eligible_time, view.accrue_time) = (view.start_time, 0);
            }
            _ => {}
        }
    }
    if wanted.amounts {
        amounts(view, published, job);
    }
    if wanted.description
        && let Some(description) = description(published, job, reason, partition)
    {
        view.state_description = description;
    }
    if wanted.times
        && job.phase == Phase::Pending
        && published.waits_for_nodes(job.id)
        && let Some(promised) = published.waits.promised(job.id)
    {
        expect(view, promised);
    }
}

/// How many of what it has, and where, or what it will have.
fn amounts(view: &mut JobView, published: &Published, job: &Job) {
    view.count(&job.spec);
    match held(job) {
        Some(held) => {
            view.nodes = hostlist::compress(held.shares.iter().map(|share| share.node.as_str()));
            view.num_nodes = held.shares.len() as u32;
            view.num_cpus = held.cpus();
            if !job.spec.ntasks_said || job.spec.ntasks_per_node.is_some() {
                let each = job.spec.ntasks_per_node.unwrap_or(1).max(1);
                view.num_tasks = view.num_tasks.max(view.num_nodes.saturating_mul(each));
            }
        }
        None => expected_nodes(view, published, job),
    }
}

/// More than the reason says.
fn description(
    published: &Published,
    job: &Job,
    reason: Reason,
    partition: Option<&Partition>,
) -> Option<String> {
    if let (Reason::RaisedSignal, Phase::Ended { exit, .. }) = (reason, &job.phase) {
        let signal = signal::described(exit.signal.into());
        return Some(format!("{reason}:{signal}"));
    }
    if job.phase != Phase::Pending {
        return None;
    }
    let out = || out_of_service(&published.state, partition);
    let is_named = !job.spec.placement().nodelist.is_empty();
    if published.waits.get(job.id).is_some_and(|wait| wait.reserved && wait.reason == reason) {
        // Nodes out of service are told of first.
        if let Some(nodes) = out().filter(|_| !is_named) {
            return Some(format!("{reason}, UnavailableNodes:{nodes}"));
        }
        let why = match is_kept_for_maintenance(&published.state, job) {
            true => "Reserved for maintenance",
            false => "May be reserved for other job",
        };
        return Some(format!("{reason}, {why}"));
    }
    if let Some(words) = not_allowed(reason, job, partition) {
        return Some(words);
    }
    match reason {
        _ if job.hold == Hold::Launch => Some("launch failed requeued held".to_string()),
        _ if matches!(job.hold, Hold::Requeued | Hold::Special) => {
            Some("job requeued in held state".to_string())
        }
        // Only the first of a partition, and who waits for nodes kept for others, is told more than where it lacks them.
        Reason::ReqNodeNotAvail if !is_named && published.waits.is_as_its_class(job.id) => {
            Some(match out() {
                Some(nodes) => format!("{reason}, UnavailableNodes:{nodes}"),
                None => NODES_NOT_AVAILABLE.to_string(),
            })
        }
        Reason::ReqNodeNotAvail => Some(match job.spec.placement().nodelist.as_str() {
            "" => NODES_NOT_AVAILABLE.to_string(),
            named => match unavailable(published, job.id, named).as_str() {
                "" => NODES_NOT_AVAILABLE.to_string(),
                these => format!("ReqNodeNotAvail, UnavailableNodes:{these}"),
            },
        }),
        _ => None,
    }
}

/// Slurm's words where no node was asked for by name.
const NODES_NOT_AVAILABLE: &str = "Nodes required for job are DOWN, DRAINED or reserved for jobs in \
                                   higher priority partitions";

/// Whether a job waits for some minutes after another began or ended, as in `after:12+10`.
fn delayed_by_another(job: &Job, reason: Reason) -> bool {
    reason == Reason::BeginTime
        && job.begin.map(|at| at.0) != job.spec.begin
        && job.restarts == 0
        && job.spec.dependency.contains('+')
}

/// When and where a waiting job is expected to start.
pub(super) fn expect(view: &mut JobView, promised: &Promised) {
    view.start_time = promised.at.0;
    view.end_time = match view.time_limit {
        Some(Limit::Is(minutes)) => promised.at.plus_secs((minutes as i64).saturating_mul(60)).0,
        _ => 0,
    };
    view.scheduled_nodes = hostlist::compress(promised.nodes.iter().map(NodeName::as_str));
}

/// Slurm's words for a job that its partition does not let in.
fn not_allowed(reason: Reason, job: &Job, partition: Option<&Partition>) -> Option<String> {
    let partition = partition?;
    let (rules, name) = (&partition.rules, &partition.name);
    let (what, has, allowed) = match reason {
        Reason::AccountNotAllowed => ("account", &job.spec.account, &rules.allow_accounts),
        Reason::QOSNotAllowed => ("QOS", &job.spec.qos, &rules.allow_qos),
        _ => return None,
    };
    let denied = match reason {
        Reason::AccountNotAllowed => &rules.deny_accounts,
        _ => &rules.deny_qos,
    };
    Some(match allowed {
        Allowed::These(these) if has.is_empty() => format!(
            "Job's {what} not known, so it can't use this partition ({name} allows {})",
            these.join(",")
        ),
        Allowed::These(these) => format!(
            "Job's {what} not permitted to use this partition ({name} allows {} not {has})",
            these.join(",")
        ),
        Allowed::All => format!(
            "Job's {what} not permitted to use this partition ({name} denies {} including {has})",
            denied.join(",")
        ),
    })
}

/// What a job that asks for no memory gets, where that is a fixed amount.
pub(super) fn memory_by_default(view: &mut JobView, config: &Config, rules: &sections::Partition) {
    match config.default_memory(rules) {
        DefaultMemory::PerCpu(size) => view.memory_per_cpu_mb = Some(size.0),
        DefaultMemory::PerNode(size) => view.memory_per_node_mb = Some(size.0),
        DefaultMemory::PerGpu(_) | DefaultMemory::Share => {}
    }
}

/// Those of the named nodes that take no jobs now, or are kept for others.
fn unavailable(published: &Published, job: JobId, list: &str) -> String {
    let (state, kept) = (&published.state, published.waits.unavailable(job));
    let names = hostlist::expand(list).unwrap_or_default();
    let is_closed = |name: &&String| {
        let name = NodeName::from(name.as_str());
        kept.contains(&name) || state.nodes.get(&name).is_none_or(|node| is_out(node))
    };
    hostlist::compress(names.iter().filter(is_closed))
}

/// Whether a node takes no jobs.
fn is_out(node: &Node) -> bool {
    let service = &node.service;
    !node.link.is_up() || service.down || service.drain || service.fail
}

/// Nodes of a partition that take no jobs, if there are any.
fn out_of_service(state: &State, partition: Option<&Partition>) -> Option<String> {
    let partition = partition?;
    let out =
        state.nodes.values().filter(|node| partition.nodes.contains(&node.name) && is_out(node));
    let names = hostlist::compress(out.map(|node| node.name.as_str()));
    (!names.is_empty()).then_some(names)
}

/// What is left to wait for. Slurm asks what has come true only once nobody holds the job back any more.
pub(super) fn dependency(job: &Job) -> String {
    let shown = |on: &Dependency, mark: &str| {
        let terms = on.terms.iter().map(|term| format!("{term}({mark})"));
        terms.collect::<Vec<_>>().join(if on.any { "?" } else { "," })
    };
    let is_held = job.spec.hold && job.hold != Hold::None;
    match (job.waits.as_deref(), is_held) {
        (Some(waits), false) if waits.never => shown(&waits.on, "failed"),
        (_, true) => dependency::parse(&job.spec.dependency)
            .map(|on| shown(&on, "unfulfilled"))
            .unwrap_or_default(),
        (Some(waits), false) => shown(&waits.on, "unfulfilled"),
        (None, false) => String::new(),
    }
}

pub(super) fn default_output(job: &Job) -> &'static str {
    if job.array.is_some() { "slurm-%A_%a.out" } else { "slurm-%j.out" }
}

/// A file's name, as far as the node does not fill it in.
pub(super) fn file(job: &Job, pattern: &str, default: &str) -> String {
    let values = filename::Values {
        job: job.id.0,
        user: job.owner.name.clone(),
        job_name: job.spec.name.clone(),
        array_job: job.array_id().map(|array| array.0),
        array_task: job.task(),
        ..filename::Values::default()
    };
    let name = filename::shown(if pattern.is_empty() { default } else { pattern }, &values);
    if name.starts_with('/') { name } else { format!("{}/{name}", job.spec.work_dir) }
}

/// What a job waits with, or was chosen with; zero while it is held or stopped.
fn priority(published: &Published, job: &Job) -> u32 {
    if job.hold != Hold::None || job.pause.since.is_some() {
        return 0;
    }
    let said = job.spec.priority.or_else(|| published.waits.priority(job.id));
    said.or(job.granted.priority).unwrap_or(1)
}

fn times(view: &mut JobView, job: &Job, limit: Limit, now: Timestamp) {
    view.submit_time = job.submitted.0;
    let blocked = job.hold != Hold::None || job.waits.is_some();
    // A crontab's job that has just run is told when it is due again in a moment.
    let begin = job.begin.filter(|begin| *begin != cron::UNSETTLED);
    // While somebody holds it, nobody asks for how long it waits after another.
    let begin = begin.filter(|_| job.hold == Hold::None || job.spec.begin.is_some());
    view.eligible_time = match begin {
        Some(begin) if begin > job.submitted => begin.0,
        _ if blocked => 0,
        _ => job.submitted.0,
    };
    // What may not begin yet gathers no age.
    let early = job.phase == Phase::Pending && view.eligible_time > now.0;
    view.accrue_time = if blocked || early { 0 } else { view.eligible_time };
    view.suspend_time = job.pause.since.map_or(0, |since| since.0);
    let end = |start: Timestamp| match limit {
        Limit::Is(minutes) => {
            let secs = (minutes as i64).saturating_mul(60).saturating_add(job.pause.secs);
            start.plus_secs(secs).0
        }
        Limit::Unlimited => 0,
    };
    match &job.phase {
        Phase::Pending => {
            // One that could have begun is to start as soon as it may, and nobody knows when that is.
            let later = begin.filter(|begin| *begin > now.max(job.submitted));
            view.start_time = later.map_or(0, |begin| begin.0);
            view.end_time = later.map_or(0, end);
        }
        Phase::Running { since, .. } => {
            view.start_time = since.0;
            view.end_time = end(*since);
            if let Some(stopped) = job.pause.since {
                view.run_secs_before_suspend = (stopped.0 - since.0 - job.pause.secs).max(0);
            }
        }
        Phase::Completing { started, since, exit, .. } => {
            view.start_time = started.0;
            view.end_time = since.0;
            view.exit_status = exit.to_wait();
        }
        Phase::Ended { started, at, exit, .. } => {
            view.start_time = started.unwrap_or(*at).0;
            view.end_time = at.0;
            view.exit_status = exit.to_wait();
        }
    }
}

fn array(view: &mut JobView, state: &State, job: &Job) {
    match job.array.as_deref() {
        Some(Array::Waiting(tasks)) => {
            view.array_job_id = job.id.0;
            view.array_max_tasks = tasks.throttle;
            view.array_task_id = state.last_task(job);
            if view.array_task_id.is_none() {
                view.array_task_string = tasks.shown();
            }
        }
        Some(Array::Task { of, index, throttle }) => {
            view.array_job_id = of.0;
            view.array_task_id = Some(*index);
            view.array_max_tasks = *throttle;
        }
        None => {}
    }
}

/// What it holds, or held last.
fn held(job: &Job) -> Option<&Arc<Allocation>> {
    match &job.phase {
        Phase::Ended { allocation, .. } => allocation.as_ref(),
        phase => phase.holds(),
    }
}

pub(super) fn resources(view: &mut JobView, published: &Published, job: &Job) {
    let Some(held) = held(job) else { return waiting(view, published, job) };
    view.batch_host = held.first_node().map(ToString::to_string).unwrap_or_default();
    let memory = held.shares.iter().map(|share| share.memory_mb).sum();
    let gres = held.shares.iter().flat_map(|share| &share.gres);
    let gres = gres.map(|gres| (gres.name.as_str(), gres.kind.as_str(), gres.count));
    let state = &published.state;
    let (nodes, billed_in) = (held.shares.len() as u64, state.partition_of(job));
    let billed_in = Some(billed_in.as_slice());
    view.tres_allocated = tres(state, held.cpus().into(), memory, Some(nodes), gres, billed_in);
    view.tres_requested = view.tres_allocated.clone();
    if held.shares.iter().any(|share| !share.gres.is_empty()) {
        view.gres_detail = held.shares.iter().map(devices).collect();
    }
    view.resources = held
        .shares
        .iter()
        .map(|share| JobNodeShare {
            name: share.node.to_string(),
            cpus: share.cpus,
            memory_mb: share.memory_mb,
            cores: share.cpu_ids.iter().collect(),
            ..JobNodeShare::default()
        })
        .collect();
}

/// What a node gives of generic resources, and which devices those are: `gpu:mi300x:2(IDX:0-1)`.
fn devices(share: &Share) -> String {
    let told = share.gres.iter().map(|gres| {
        let kind = if gres.kind.is_empty() { String::new() } else { format!(":{}", gres.kind) };
        let which = spur_core::job::array::written(gres.ids.iter());
        let which = if which.is_empty() { which } else { format!("(IDX:{which})") };
        format!("{}{kind}:{}{which}", gres.name, gres.count)
    });
    told.collect::<Vec<_>>().join(",")
}

/// What a job that has nothing yet will hold, as far as that can be told.
fn waiting(view: &mut JobView, published: &Published, job: &Job) {
    if view.num_cpus == 0 {
        return;
    }
    let least = if job.spec.nodes_min == Some(0) { 0 } else { Demand::of(&job.spec).nodes_min };
    let (nodes, gpu) = (u64::from(least), job.spec.gpu());
    let others = gres::parse(&job.spec.gres).unwrap_or_default();
    let others = others.into_iter().filter(|it| it.name != gres::GPU);
    let gpus = needs::gpus(&job.spec, nodes, view.num_tasks.into());
    let number = gpus.iter().map(|gres| gres.count).sum::<u64>();
    let memory = match (gpu.memory_per_gpu, view.memory_per_node_mb, view.memory_per_cpu_mb) {
        (Some(size @ 1..), ..) => size * number.max(1),
        (_, Some(0), _) | (_, None, Some(0)) => published.largest().1 * nodes,
        (_, Some(size), _) => size * nodes,
        (_, None, Some(size)) => size * u64::from(view.num_cpus),
        (_, None, None) => 0,
    };
    let told = |gres: &'_ gres::Request, times: u64| {
        (gres.name.clone(), gres.model.clone().unwrap_or_default(), gres.count * times)
    };
    let others = others.map(|gres| told(&gres, nodes));
    let asked: Vec<_> = others.chain(gpus.iter().map(|gres| told(gres, 1))).collect();
    let asked = asked.iter().map(|(name, model, count)| (name.as_str(), model.as_str(), *count));
    let (state, cpus) = (&published.state, view.num_cpus.into());
    let billed_in = state.partition_of(job);
    let billed_in = Some(billed_in.as_slice());
    let nodes = Some(nodes).filter(|nodes| *nodes > 0);
    view.tres_requested = tres(state, cpus, memory, nodes, asked, billed_in);
}

/// So many nodes it will take, by Slurm's reckoning: as many as the tasks fill of the largest, where their
/// number is known.
fn expected_nodes(view: &mut JobView, published: &Published, job: &Job) {
    let spec = &job.spec;
    let is_known = spec.ntasks_said
        || !spec.layout().extra_node_info.is_empty()
        || spec.gpu().ntasks_per_gpu.is_some()
        || (!spec.gpu().gpus.is_empty() && !spec.gpu().gpus_per_task.is_empty());
    if spec.placement().spread_job
        && view.max_nodes == 0
        && (is_known || spec.ntasks_per_node.is_some())
    {
        let nodes = u32::try_from(published.state.nodes.len()).unwrap_or(u32::MAX);
        view.max_nodes = view.num_tasks.min(nodes);
    }
    let largest = published.largest().0.max(1);
    let tasks = view.num_tasks;
    let wanted = match (spec.ntasks_per_node, spec.cpus_per_task.unwrap_or(1)) {
        (Some(each @ 1..), _) => view.num_nodes.max(tasks / each),
        _ if !is_known => view.num_nodes,
        (_, 0 | 1) => {
            let each = largest.saturating_mul(spec.layout().ntasks_per_core.unwrap_or(1).max(1));
            view.num_nodes.max(tasks.div_ceil(each))
        }
        // What does not fill a node takes one more, even where it is the only one.
        (_, cpus) => match largest / cpus {
            0 => view.num_nodes,
            each => view.num_nodes.max(tasks / each) + u32::from(!tasks.is_multiple_of(each)),
        },
    };
    view.num_nodes = match view.max_nodes {
        0 => wanted,
        most => wanted.min(most.max(view.num_nodes)),
    };
}

fn status(published: &Published, job: &Job) -> (JobStatus, Reason) {
    match &job.phase {
        Phase::Pending => {
            // What stands in the way is known at once, the rest when the planner has looked.
            let planned = || published.waits.get(job.id).map_or(Reason::None, |wait| wait.reason);
            // The planner's clock goes on where nothing is committed.
            let begun = || job.begin.is_some_and(|begin| begin <= crate::clock::now().wall);
            let obstacle = published.state.obstacle(job);
            let obstacle = obstacle.filter(|it| *it != Reason::BeginTime || !begun());
            let reason = obstacle.unwrap_or_else(planned);
            let reason = if delayed_by_another(job, reason) { Reason::Dependency } else { reason };
            let status = JobStatus(JobState::Pending.number());
            match job.hold {
                Hold::Special | Hold::Exit => (status.with(JobFlag::SpecialExit), reason),
                _ => (status, reason),
            }
        }
        Phase::Running { .. } if job.pause.since.is_some() => {
            (JobStatus(JobState::Suspended.number()), held_back(job))
        }
        Phase::Running { .. } => (JobStatus(JobState::Running.number()), held_back(job)),
        Phase::Completing { cause: Cause::Requeued { .. } | Cause::PrologFailed, .. } => {
            (JobStatus(JobState::Pending.number()).with(JobFlag::Completing), Reason::None)
        }
        Phase::Completing { cause, exit, .. } => {
            let (state, reason) = ending(*cause, *exit);
            (JobStatus(state.number()).with(JobFlag::Completing), reason)
        }
        Phase::Ended { cause, exit, started, at, .. } => {
            let (state, reason) = ending(*cause, *exit);
            // What kept it from starting is what there is to say of a job that never did.
            let kept = || job.obstacle(*at).filter(|_| started.is_none());
            let reason = if reason == Reason::None { kept().unwrap_or(reason) } else { reason };
            (JobStatus(state.number()), reason)
        }
    }
}

/// A job that runs while it is held says so.
fn held_back(job: &Job) -> Reason {
    match job.hold {
        Hold::None => Reason::None,
        Hold::User => Reason::JobHeldUser,
        _ => Reason::JobHeldAdmin,
    }
}

/// Whether nodes that a job could have are kept for maintenance while it would run.
fn is_kept_for_maintenance(state: &State, job: &Job) -> bool {
    let secs =
        job.time_limit(state.partition_of(job)).number().map_or(i64::MAX / 4, |it| it as i64 * 60);
    let (now, end) = (state.now, state.now.plus_secs(secs));
    let mut kept = state.reservations.values().filter(|it| {
        let (start, until) = it.times(now);
        it.flags.has(Flags::MAINT) && start < end && now < until
    });
    kept.any(|it| {
        state.partitions_of(job).any(|part| it.nodes.iter().any(|node| part.nodes.contains(node)))
    })
}
