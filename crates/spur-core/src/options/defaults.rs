//! Fills in what was left open and follows from several options, once for all front ends.

use super::conflicts;
use super::error::{BAD_VALUE, OptionError};
use super::gpus::{self, Tasks};
use super::hint;
use super::launch;
use super::resolve::Request;
use super::row::Tool;
use crate::hostlist;
use crate::job::spec::Sharing;
use crate::time::moment::{self, Toward};
use crate::time::{FixedOffset, Timestamp, Zone};

/// Facts that options leave open and a front end knows.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The script's path or the command, as given; empty for `--wrap` and standard input.
    pub command: &'a str,
    /// What follows it.
    pub arguments: &'a [String],
    /// Where the tool was called.
    pub work_dir: &'a str,
    /// The time by which `now+1hour` is meant.
    pub now: Timestamp,
    /// The clock by which `16:00` is meant.
    pub zone: &'a dyn Zone,
    /// Whether jobs may set cores aside with `--core-spec` and `--thread-spec`.
    pub core_spec_allowed: bool,
    /// Whether it is asked for a step of a job that is there: what the job's variables say may contradict it.
    pub inside_job: bool,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Surroundings {
            command: "",
            arguments: &[],
            work_dir: "/",
            now: Timestamp(0),
            zone: &FixedOffset::UTC,
            core_spec_allowed: false,
            inside_job: false,
        }
    }
}

/// Fills in the defaults that span options, and refuses options that do not go together. The notes of
/// a request that is refused are printed before the refusal.
pub fn fill_defaults(request: &mut Request, around: Surroundings<'_>) -> Result<(), OptionError> {
    conflicts::check(request, around)?;
    moments(request, around)?;
    if request.values.get("slurmd-debug").is_some_and(|said| launch::is_above_highest(said)) {
        request.notes.push("Using srun's max debug increment of 4".to_owned());
    }
    names_and_files(request, around);
    specialized(request, around.core_spec_allowed);
    if !request.job.layout().hint.is_empty() {
        match conflicts::says_threads(request) {
            true => request.job.layout_mut().hint.clear(),
            false => hint::follow(request.job.layout_mut()),
        }
    }
    if let Some(kind) = hint::bound_to(request) {
        let said = std::mem::take(&mut request.step.cpu_bind);
        let words = [said.as_str(), kind].into_iter().filter(|word| !word.is_empty());
        request.step.cpu_bind = words.collect::<Vec<_>>().join(",");
        request.step.cpu_bind_implied = true;
    }
    // A node is restarted for nobody else, and what is set aside there is nobody else's.
    let placement = request.job.placement();
    if placement.reboot || placement.core_spec.is_some() || placement.thread_spec.is_some() {
        request.job.sharing = Some(Sharing::Exclusive as i32);
    }
    nodes_and_tasks(request, around.inside_job)?;
    if request.asked_by == Tool::Srun {
        // Both ask for CPUs of the step's own, no more than it says.
        request.step.exact |= request.said("cpus-per-task") || request.said("exclusive");
        request.step.unbuffered |= request.step.pty;
        let mut wanted = request.job.clone();
        let by_list = wanted.layout().distribution.eq_ignore_ascii_case("arbitrary");
        // A job of its own has the nodes that were named already, and may have got others beside them.
        if !around.inside_job && !by_list && !wanted.placement().nodelist.is_empty() {
            wanted.placement_mut().nodelist.clear();
            if !request.said("nodes") {
                wanted.nodes_max = Some(u32::MAX);
            }
        }
        request.step.request = Some(Box::new(wanted));
    }
    Ok(())
}

fn moments(request: &mut Request, around: Surroundings<'_>) -> Result<(), OptionError> {
    let read = |name: &str, text: &str| {
        if text.is_empty() {
            return Ok(None);
        }
        moment::parse(text, Toward::Future, around.now, &Clock(around.zone))
            .map(|at| Some(at.0))
            .map_err(|_| OptionError::error(format!("Invalid --{name} specification"), BAD_VALUE))
    };
    if let Some(at) = read("begin", &request.tool.begin)? {
        request.job.begin = Some(at);
    }
    if let Some(at) = read("deadline", &request.tool.deadline)? {
        request.job.lifecycle_mut().deadline = Some(at);
    }
    Ok(())
}

/// A zone behind a reference.
struct Clock<'a>(&'a dyn Zone);

impl Zone for Clock<'_> {
    fn seconds_east(&self, at: Timestamp) -> i64 {
        self.0.seconds_east(at)
    }
}

fn names_and_files(request: &mut Request, around: Surroundings<'_>) {
    let batch = request.asked_by == Tool::Sbatch;
    let named = request.said("job-name");
    let moved = request.said("chdir");
    let printed = request.said("output");
    let wrapped = request.tool.wrap.is_some();
    let job = &mut request.job;
    if !named {
        job.name = match around.command.rsplit('/').next() {
            _ if wrapped => "wrap",
            _ if request.asked_by == Tool::Salloc => "interactive",
            Some(name) if !name.is_empty() => name,
            _ => "sbatch",
        }
        .to_owned();
    }
    if !moved {
        around.work_dir.clone_into(&mut job.work_dir);
    } else if !job.work_dir.starts_with('/') {
        job.work_dir = format!("{}/{}", around.work_dir, job.work_dir);
    }
    if job.command.is_empty() {
        around.command.clone_into(&mut job.command);
        job.arguments = around.arguments.to_vec();
    }
    if batch {
        if !printed && job.output.is_empty() {
            job.output =
                if job.array.is_empty() { "slurm-%j.out" } else { "slurm-%A_%a.out" }.to_owned();
        }
        // In a step the word is a mode of its own.
        for file in [&mut job.output, &mut job.error, &mut job.input] {
            if file.eq_ignore_ascii_case("none") {
                "/dev/null".clone_into(file);
            }
        }
    }
}

/// Drops cores set aside where the configuration does not allow it.
fn specialized(request: &mut Request, allowed: bool) {
    let placement = request.job.placement();
    let option = match (placement.core_spec, placement.thread_spec) {
        _ if allowed => return,
        (None, None) => return,
        (Some(_), _) => "-S",
        (None, Some(_)) => "--thread-spec",
    };
    request.notes.push(format!(
        "error: Ignoring {option} since it's not allowed by configuration \
         (AllowSpecResourcesUsage = No)"
    ));
    let placement = request.job.placement_mut();
    (placement.core_spec, placement.thread_spec) = (None, None);
}

fn nodes_and_tasks(request: &mut Request, inside_job: bool) -> Result<(), OptionError> {
    let listed = nodes_of_list(request, inside_job);
    planes_reach_every_node(request)?;
    listed?;
    begin_before_deadline(request)?;
    request.job.ntasks_said = request.job.ntasks.is_some();
    if let Some(tasks) = request.job.ntasks {
        fewer_nodes_than_tasks(request, tasks);
        if request.asked_by == Tool::Srun {
            as_many_on_each(request, tasks);
        }
    }
    let tasks = tasks_before_gpus(request);
    let by_threads = request.job.ntasks_per_node.is_none() && threads_on_node(request).is_some();
    request.job.ntasks_said |= by_threads && matches!(tasks, Tasks::Known(_));
    // Nodes that follow from GPUs have tasks of their own only when they are there.
    let nodes = request.job.nodes_min.unwrap_or(1);
    let settled = gpus::settle(request, tasks, inside_job);
    let tasks = settled.map_err(|message| OptionError::error(message, 1))?;
    let job = &mut request.job;
    let by_nodes = nodes.saturating_mul(job.ntasks_per_node.unwrap_or(1));
    job.ntasks = Some(tasks.number().unwrap_or(by_nodes));
    Ok(())
}

fn begin_before_deadline(request: &Request) -> Result<(), OptionError> {
    match (request.job.begin, request.job.lifecycle().deadline) {
        (Some(begin), Some(deadline)) if begin > deadline => {
            let message = "Incompatible begin and deadline time specification";
            Err(OptionError::error(message, 1))
        }
        _ => Ok(()),
    }
}

/// Planes are dealt whole: with too few tasks a node would be left without one.
fn planes_reach_every_node(request: &Request) -> Result<(), OptionError> {
    let job = &request.job;
    let (Some(plane), Some(nodes)) = (job.layout().plane_size, job.nodes_min) else {
        return Ok(());
    };
    let before_the_last = nodes.saturating_sub(1).saturating_mul(plane);
    let by_nodes = || nodes.saturating_mul(job.ntasks_per_node.unwrap_or(1));
    if request.asked_by == Tool::Srun || before_the_last < job.ntasks.unwrap_or_else(by_nodes) {
        return Ok(());
    }
    let message = "Too few processes for the requested {plane,node} distribution";
    Err(OptionError::error(message, 1))
}

/// A range of nodes leaves the number of tasks open; a number of nodes has so many for each.
fn tasks_before_gpus(request: &Request) -> Tasks {
    let job = &request.job;
    let fixed = job.nodes_max.is_none() || job.nodes_max == job.nodes_min;
    let nodes = job.nodes_min.unwrap_or(1);
    match (job.ntasks.or_else(|| one_each_time_it_is_named(request)), job.ntasks_per_node) {
        (Some(tasks), _) => Tasks::Known(tasks),
        _ if !fixed => Tasks::Unknown,
        (None, Some(each)) => Tasks::Known(nodes.saturating_mul(each)),
        (None, None) if threads_on_node(request).is_some() => {
            Tasks::Known(threads_on_node(request).unwrap_or(1).saturating_mul(nodes))
        }
        (None, None) if request.said("nodes") => Tasks::ByNodes(nodes),
        (None, None) => Tasks::Unknown,
    }
}

/// Threads of each node that were asked for, where each is a task; to `srun` they are only when all three counts
/// were said.
fn threads_on_node(request: &Request) -> Option<u32> {
    let layout = request.job.layout();
    let counts = [layout.sockets_per_node, layout.cores_per_socket, layout.threads_per_core];
    let said = counts.iter().flatten().count();
    let enough = if request.asked_by == Tool::Srun { said == counts.len() } else { said > 0 };
    let by_node = request.job.nodes_min.is_some() || request.said("extra-node-info");
    (enough && by_node).then(|| counts.into_iter().flatten().fold(1, u32::saturating_mul))
}

/// With `srun -m arbitrary` a node has as many tasks as it has places in the list.
fn one_each_time_it_is_named(request: &Request) -> Option<u32> {
    let job = &request.job;
    let arbitrary = job.layout().distribution.eq_ignore_ascii_case("arbitrary");
    if request.asked_by != Tool::Srun || !arbitrary {
        return None;
    }
    let names = hostlist::expand(&job.placement().nodelist).ok()?;
    u32::try_from(names.len()).ok().filter(|places| *places > 0)
}

/// A list of nodes asks for that many at least.
fn nodes_of_list(request: &mut Request, inside_job: bool) -> Result<(), OptionError> {
    let said = request.said("nodelist") && !inside_job;
    let job = &mut request.job;
    let Ok(mut names) = hostlist::expand(&job.placement().nodelist) else {
        // The controller refuses a list that cannot be read.
        return Ok(());
    };
    names.sort_unstable();
    names.dedup();
    let named = u32::try_from(names.len()).unwrap_or(u32::MAX);
    match (job.nodes_min, job.nodes_max) {
        // Who names none wants none, unless there is a number.
        (None, None) if named == 0 && said => job.nodes_min = Some(0),
        _ if named == 0 => {}
        (None, _) => job.nodes_min = Some(named),
        (_, Some(max)) if max < named => {
            return Err(OptionError::error(
                format!("invalid number of nodes (-N {named}-{max})"),
                1,
            ));
        }
        (Some(min), _) => job.nodes_min = Some(min.max(named)),
    }
    Ok(())
}

/// A number of tasks counts for more than one for each node, where the two do not agree.
fn as_many_on_each(request: &mut Request, tasks: u32) {
    let job = &mut request.job;
    let (Some(nodes), Some(each)) = (job.nodes_min, job.ntasks_per_node) else { return };
    if nodes == 0 || tasks <= each || tasks / nodes == each {
        return;
    }
    request.notes.push(format!(
        "Warning: can't honor --ntasks-per-node set to {each} which doesn't match the requested tasks {tasks} \
         with the number of requested nodes {nodes}. Ignoring --ntasks-per-node."
    ));
    job.ntasks_per_node = None;
}

/// No node stays without a task.
fn fewer_nodes_than_tasks(request: &mut Request, tasks: u32) {
    let job = &mut request.job;
    match (job.nodes_min, job.nodes_max) {
        (Some(min), _) if min > tasks => {
            request.notes.push(format!(
                "Warning: can't run {tasks} processes on {min} nodes, setting nnodes to {tasks}"
            ));
            (job.nodes_min, job.nodes_max) = (Some(tasks), Some(tasks));
            if let Ok(list) = hostlist::sorted(&job.placement().nodelist)
                && list.len() > tasks as usize
            {
                job.placement_mut().nodelist =
                    hostlist::compress(list.names().take(tasks as usize));
            }
        }
        (Some(_), Some(max)) if max > tasks => job.nodes_max = Some(tasks),
        _ => {}
    }
}
