//! What GPUs asked for by job, node, socket and task mean for each other, for nodes and for tasks.
//!
//! Slurm settles this before a job is submitted, and so refuses what cannot be at once.

use super::resolve::Request;
use crate::gres;
use crate::job::JobSpec;

/// How many tasks there are when GPUs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tasks {
    /// Said, or following from tasks per node or from sockets, cores and threads.
    Known(u32),
    /// One for each of a fixed number of nodes.
    ByNodes(u32),
    Unknown,
}

impl Tasks {
    pub fn number(self) -> Option<u32> {
        match self {
            Tasks::Known(number) | Tasks::ByNodes(number) => Some(number),
            Tasks::Unknown => None,
        }
    }
}

/// Checks the GPUs of a request and fills in what follows from them. The error is what Slurm says.
pub(super) fn settle(
    request: &mut Request,
    tasks: Tasks,
    inside_job: bool,
) -> Result<Tasks, String> {
    let Request { job, notes, .. } = request;
    let gpu = job.gpu();
    let lists = [&gpu.gpus, &gpu.gpus_per_node, &gpu.gpus_per_socket, &gpu.gpus_per_task];
    // Amounts are the controller's to refuse.
    let is_unreadable = |list: &String| gres::parse_gpus(list) == Err(gres::Error::Gres);
    let unreadable = lists.iter().any(|list| is_unreadable(list));
    // So is what else is asked for.
    let unreadable_gres = gres::parse(&job.gres) == Err(gres::Error::Gres);
    if unreadable || unreadable_gres {
        // What cannot be read is no GPU, and nothing else is looked at.
        let counts = lists.iter().any(|list| !list.is_empty() && !is_unreadable(list));
        if gpu.ntasks_per_gpu.is_some() && tasks == Tasks::Unknown && !counts {
            return Err(invalid(NEITHER));
        }
        return if unreadable { Err(gres::Error::Gres.to_string()) } else { Ok(tasks) };
    }
    let models = Gpus::by_model(job);
    let mixed = models.iter().any(|it| it.typed) && models.iter().any(|it| !it.typed);
    // Of a step the controller decides, which knows what its job has.
    if inside_job {
        return if mixed { Err(MIXED.to_owned()) } else { Ok(tasks) };
    }
    // What one model settles holds for the next.
    let tasks = models.iter().try_fold(tasks, |tasks, it| it.check(job, tasks))?;
    if mixed {
        return Err(MIXED.to_owned());
    }
    let gpus = models.into_iter().fold(Gpus::default(), Gpus::and);
    let tasks = with_each_gpu(gpus, job, notes, tasks)?;
    if let Some(size @ 1..) = job.gpu().memory_per_gpu
        && !gpus.any()
        && job.gpu().generated_gpus.is_none()
    {
        return Err(invalid(&format!(
            "Requested mem_per_tres=gres:gpu:{size} but did not request any GPU."
        )));
    }
    if job.gpu().cpus_per_gpu.is_some() && job.cpus_per_task.is_some() {
        return Err(invalid("--cpus-per-gpu is mutually exclusive with --cpus-per-task"));
    }
    if let (Some(cpus), Some(each)) = (job.gpu().cpus_per_gpu, gpus.per_task) {
        job.cpus_per_task = Some(cpus.saturating_mul(each));
    }
    Ok(tasks)
}

const MIXED: &str = "Invalid GRES specification (with and without type identification)";

const NEITHER: &str = "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification \
                       or a node/ntask specification";

fn invalid(problem: &str) -> String {
    format!("{problem}\nInvalid generic resource (gres) specification")
}

/// Slurm's way to begin most of these.
fn failed(problem: &str) -> String {
    invalid(&format!("Failed to validate job spec{problem}"))
}

/// How many GPUs of a model were asked for, by what. None is the same as nothing said.
#[derive(Clone, Copy, Debug, Default)]
struct Gpus {
    /// Whether they were asked for by model.
    typed: bool,
    job: Option<u32>,
    per_node: Option<u32>,
    per_socket: Option<u32>,
    per_task: Option<u32>,
}

/// A model, perhaps, and how many of it.
type Amount<'a> = (Option<&'a str>, u32);

impl Gpus {
    /// What was asked for of each model in turn, and without one.
    fn by_model(job: &JobSpec) -> Vec<Gpus> {
        let gpu = job.gpu();
        let gres: Vec<&str> = job
            .gres
            .split(',')
            .filter_map(|part| part.strip_prefix("gres:").unwrap_or(part).strip_prefix("gpu"))
            .filter_map(|rest| match rest {
                "" => Some("1"),
                rest => rest.strip_prefix([':', '=']),
            })
            .collect();
        let gres = gres.join(",");
        let lists =
            [&gpu.gpus, &gres, &gpu.gpus_per_node, &gpu.gpus_per_socket, &gpu.gpus_per_task];
        let [all, gres, per_node, per_socket, per_task] = lists.map(|list| amounts(list));
        let mut models = Vec::new();
        for (model, _) in [&all, &gres, &per_node, &per_socket, &per_task].into_iter().flatten() {
            if !models.contains(model) {
                models.push(*model);
            }
        }
        let of = |model: Option<&str>| Gpus {
            typed: model.is_some(),
            job: last(&all, model),
            // Of two ways to say one thing, --gres has the last word.
            per_node: last(&gres, model).or(last(&per_node, model)),
            per_socket: last(&per_socket, model),
            per_task: last(&per_task, model),
        };
        models.into_iter().map(of).collect()
    }

    /// Those of another model with them.
    fn and(self, other: Gpus) -> Gpus {
        let sum = |a: Option<u32>, b: Option<u32>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Gpus {
            typed: self.typed || other.typed,
            job: sum(self.job, other.job),
            per_node: sum(self.per_node, other.per_node),
            per_socket: sum(self.per_socket, other.per_socket),
            per_task: sum(self.per_task, other.per_task),
        }
    }

    fn any(self) -> bool {
        [self.job, self.per_node, self.per_socket, self.per_task].iter().any(Option::is_some)
    }

    fn check(self, job: &mut JobSpec, tasks: Tasks) -> Result<Tasks, String> {
        let Gpus { job: all, per_node, per_socket, per_task, .. } = self;
        let most = |of: &[Option<u32>]| of.iter().flatten().copied().max();
        if all.is_some_and(|all| most(&[per_node, per_socket, per_task]) > Some(all)) {
            return Err(invalid(
                "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket",
            ));
        }
        if per_node.is_some_and(|each| most(&[per_socket, per_task]) > Some(each)) {
            return Err(invalid("Failed to ensure --gpus >= --gpus-per-task"));
        }
        self.fit_nodes(job)?;
        let sockets = job.layout().sockets_per_node;
        if per_socket.is_some() && sockets.is_none() {
            return Err(invalid(
                "--gpus-per-socket option requires --sockets-per-node specification",
            ));
        }
        if per_task.is_some() && all.is_none() && tasks.number().is_none() {
            return Err(failed(
                ". --gpus-per-task used without either --gpus or -n/--ntasks is not allowed.",
            ));
        }
        if let (Some(each), Some(sockets)) = (per_socket, sockets) {
            if per_node.is_some_and(|all| all % each != 0) {
                return Err(failed(
                    ", --gres=gpu/--gpus-per-node not multiple of --gpus-per-socket.",
                ));
            }
            if per_node.is_some_and(|all| all != each.saturating_mul(sockets)) {
                return Err(failed(
                    ". Based on --gres=gpu/--gpus-per-node and --gpus-per-socket required number \
                     of sockets differ from --sockets-per-node.",
                ));
            }
        }
        match per_task {
            Some(each) => self.fit_tasks(each, job, tasks),
            None => Ok(tasks),
        }
    }

    /// Every node has a GPU, and each as many as was said.
    fn fit_nodes(self, job: &mut JobSpec) -> Result<(), String> {
        let Some(all) = self.job else { return Ok(()) };
        if let Some(each) = self.per_node {
            if all % each != 0 {
                return Err(failed(", --gpus is not multiple of --gres=gpu/--gpus-per-node"));
            }
            let needed = all / each;
            let (min, max) = (job.nodes_min.unwrap_or(1), job.nodes_max);
            if needed < min || max.is_some_and(|max| needed > max) {
                return Err(failed(&format!(
                    ". Based on --gpu and --gres=gpu/--gpus-per-node required nodes ({needed}) \
                     doesn't fall between min_nodes ({min}) and max_nodes ({}) boundaries.",
                    // Slurm's number for none.
                    max.unwrap_or(u32::MAX - 1)
                )));
            }
            (job.nodes_min, job.nodes_max) = (Some(needed), Some(needed));
        }
        if job.nodes_min.is_some_and(|nodes| all < nodes) {
            return Err(failed(", --gpus < -N"));
        }
        job.nodes_max = job.nodes_max.map(|max| max.min(all));
        Ok(())
    }

    fn fit_tasks(self, each: u32, job: &mut JobSpec, tasks: Tasks) -> Result<Tasks, String> {
        // With CPUs for each task, a node may have room for more than one.
        let known = match tasks {
            Tasks::ByNodes(_) if job.cpus_per_task.is_some() => None,
            tasks => tasks.number(),
        };
        let tasks = match (self.job, known) {
            (Some(all), _) if all % each != 0 => {
                return Err(failed(", --gpus not multiple of --gpus-per-task"));
            }
            (Some(all), Some(number)) if number != all / each => {
                return Err(failed(
                    ". Based on --gpus and --gpus-per-task number of requested tasks differ from \
                     -n/--ntasks.",
                ));
            }
            (Some(all), _) => Tasks::Known(all / each),
            (None, Some(_)) => tasks,
            (None, None) => {
                return Err(failed(
                    ". --gpus-per-task used without either --gpus or -n/--ntasks is not allowed.",
                ));
            }
        };
        if let Some(here) = self.per_node {
            if here % each != 0 {
                return Err(failed(
                    ", --gres=gpu/--gpus-per-node not multiple of --gpus-per-task.",
                ));
            }
            if job.ntasks_per_node.is_some_and(|number| number != here / each) {
                return Err(failed(
                    ". Based on --gres=gpu/--gpus-per-node and --gpus-per-task requested number of \
                     tasks per node differ from --ntasks-per-node.",
                ));
            }
            job.ntasks_per_node = Some(here / each);
        }
        if let Some(here) = self.per_socket {
            if here % each != 0 {
                return Err(failed(", --gpus-per-socket not multiple of --gpus-per-task."));
            }
            let layout = job.layout_mut();
            if layout.ntasks_per_socket.is_some_and(|number| number != here / each) {
                return Err(failed(
                    ". Based on --gpus-per-socket and --gpus-per-task requested number of tasks \
                     per sockets differ from --ntasks-per-socket.",
                ));
            }
            layout.ntasks_per_socket = Some(here / each);
        }
        Ok(tasks)
    }
}

/// `--ntasks-per-gpu`: the tasks follow from the GPUs, or the GPUs from the tasks.
fn with_each_gpu(
    gpus: Gpus,
    job: &mut JobSpec,
    notes: &mut Vec<String>,
    tasks: Tasks,
) -> Result<Tasks, String> {
    let Some(each) = job.gpu().ntasks_per_gpu else { return Ok(tasks) };
    let nodes = job.nodes_min.unwrap_or(1);
    let on_nodes = gpus.per_node.map(|count| count.saturating_mul(nodes));
    match gpus.job.or(on_nodes) {
        Some(0) => {
            return Err(invalid(
                "gres_job_state_validate: Can't set num_tasks = gpus * *ntasks_per_tres because \
                 there are no allocated GPUs",
            ));
        }
        Some(count) => return Ok(Tasks::Known(count.saturating_mul(each))),
        None => {}
    }
    let (count, tasks) = match tasks {
        Tasks::ByNodes(nodes) => (nodes, nodes.saturating_mul(each)),
        Tasks::Known(tasks) if tasks < each => {
            notes.push(
                "error: gres_job_state_validate: Failed to add generated GRES gres:gpu:0 (via \
                 ntasks_per_tres) to gres_list"
                    .to_owned(),
            );
            return Ok(Tasks::Known(tasks));
        }
        Tasks::Known(tasks) if tasks % each != 0 => {
            return Err(failed(", -n/--ntasks has to be a multiple of --ntasks-per-gpu."));
        }
        Tasks::Known(tasks) => (tasks / each, tasks),
        Tasks::Unknown => {
            return Err(invalid(NEITHER));
        }
    };
    if count < nodes {
        return Err(failed(", --gpus < -N"));
    }
    job.gpu_mut().generated_gpus = Some(count);
    Ok(Tasks::Known(tasks))
}

/// Reads `[model:]number,...`; a model alone is one.
fn amounts(list: &str) -> Vec<Amount<'_>> {
    let number = |text| gres::parse_amount(text).map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    let read = |part| match str::rsplit_once(part, ':') {
        Some((model, amount)) => (Some(model), number(amount).unwrap_or(1)),
        None => number(part).map_or((Some(part), 1), |amount| (None, amount)),
    };
    list.split(',').filter(|part| !part.is_empty()).map(read).collect()
}

/// What is said last of a model.
fn last(amounts: &[Amount<'_>], model: Option<&str>) -> Option<u32> {
    let found = amounts.iter().rfind(|(of, _)| *of == model);
    found.map(|(_, amount)| *amount).filter(|amount| *amount > 0)
}
