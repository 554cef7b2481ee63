//! Options that do not go together, in Slurm's words.

use super::error::OptionError;
use super::resolve::Request;
use super::row::Tool;
use crate::job::JobSpec;

/// Refuses what no cluster could carry out.
pub(super) fn check(request: &Request, command: &str) -> Result<(), OptionError> {
    let error = |message: &str| Err(OptionError::error(message, 1));
    let job = &request.job;
    if request.tool.wrap.is_some() && !command.is_empty() {
        return error("Script arguments not permitted with --wrap option");
    }
    let asks_for_list = request.step.mpi == "list" || job.gres == "help";
    if request.asked_by == Tool::Srun && command.is_empty() && !asks_for_list {
        return Err(OptionError::fatal("No command given to execute."));
    }
    if job.placement().core_spec.is_some() && job.placement().thread_spec.is_some() {
        return Err(OptionError::fatal(
            "-S/--core-spec and --thred-spec options are mutually exclusive",
        ));
    }
    if job.gpu().ntasks_per_gpu.is_some() {
        for other in ["ntasks-per-node", "gpus-per-task", "gpus-per-socket"] {
            if request.said(other) {
                return Err(OptionError::fatal(format!(
                    "--{other} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
                )));
            }
        }
    }
    if let Some(tasks) = job.ntasks.filter(|tasks| i32::try_from(*tasks).is_err()) {
        return error(&format!("invalid number of tasks (-n {})", tasks.cast_signed()));
    }
    if job.layout().distribution.eq_ignore_ascii_case("arbitrary")
        && job.placement().nodelist.is_empty()
    {
        return error(match request.asked_by {
            Tool::Srun => "invalid number of tasks (-n 0)",
            _ => {
                "With Arbitrary distribution you need to specify a nodelist or hostfile with the \
                 -w option"
            }
        });
    }
    if request.tool.no_allocate && job.placement().nodelist.is_empty() {
        return error("must specify a node list with -Z, --no-allocate.");
    }
    if request.step.pty && ["error", "input", "output"].iter().any(|file| request.said(file)) {
        return error("--error/--input/--output are incompatible with --pty");
    }
    match gpu_problem(request) {
        Some(problem) => {
            error(&format!("{problem}\nInvalid generic resource (gres) specification"))
        }
        None => Ok(()),
    }
}

/// Whether threads are asked for in a way that leaves no room for a hint.
pub(super) fn says_threads(request: &Request) -> bool {
    ["extra-node-info", "threads-per-core", "ntasks-per-core"].iter().any(|name| request.said(name))
}

fn gpu_problem(request: &Request) -> Option<String> {
    let job = &request.job;
    let gpus = Gpus::of(job);
    let problem = |text: &str| Some(text.to_owned());
    if job.gpu().cpus_per_gpu.is_some() && job.cpus_per_task.is_some() {
        return problem("--cpus-per-gpu is mutually exclusive with --cpus-per-task");
    }
    if gpus.per_socket.is_some() && job.layout().sockets_per_node.is_none() {
        return problem("--gpus-per-socket option requires --sockets-per-node specification");
    }
    if let Some(each) = gpus.per_task {
        match (gpus.job, job.ntasks) {
            (None, None) if job.ntasks_per_node.is_none() && job.nodes_min.is_none() => {
                return problem(
                    "Failed to validate job spec. --gpus-per-task used without either --gpus or \
                     -n/--ntasks is not allowed.",
                );
            }
            (Some(all), Some(tasks)) if u64::from(tasks) * u64::from(each) != u64::from(all) => {
                return problem(
                    "Failed to validate job spec. Based on --gpus and --gpus-per-task number of \
                     requested tasks differ from -n/--ntasks.",
                );
            }
            _ => {}
        }
    }
    if let (Some(all), Some(each)) = (gpus.job, gpus.per_node)
        && (each == 0 || all % each != 0)
    {
        return problem(
            "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node",
        );
    }
    if let Some(size @ 1..) = job.gpu().memory_per_gpu
        && !gpus.any()
    {
        return Some(format!(
            "Requested mem_per_tres=gres:gpu:{size} but did not request any GPU."
        ));
    }
    if job.gpu().ntasks_per_gpu.is_some()
        && !gpus.any()
        && job.ntasks.is_none()
        && job.nodes_min.is_none()
    {
        return problem(
            "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or \
             a node/ntask specification",
        );
    }
    None
}

/// How many GPUs were asked for, by what.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gpus {
    pub job: Option<u32>,
    pub per_node: Option<u32>,
    per_socket: Option<u32>,
    per_task: Option<u32>,
}

impl Gpus {
    pub fn of(job: &JobSpec) -> Gpus {
        let gpu = job.gpu();
        let gres = job.gres.split(',').filter_map(|part| {
            let part = part.strip_prefix("gres:").unwrap_or(part);
            part.strip_prefix("gpu").map(|rest| rest.trim_start_matches(':'))
        });
        let gres = gres.map(|rest| count(rest).unwrap_or(1)).reduce(|sum, more| sum + more);
        Gpus {
            job: count(&gpu.gpus),
            per_node: count(&gpu.gpus_per_node).or(gres),
            per_socket: count(&gpu.gpus_per_socket),
            per_task: count(&gpu.gpus_per_task),
        }
    }

    fn any(self) -> bool {
        [self.job, self.per_node, self.per_socket, self.per_task].iter().any(Option::is_some)
    }

    /// The number of tasks that follows from GPUs and what goes with each.
    pub fn tasks(self, job: &JobSpec, nodes: u32) -> Option<u32> {
        if let Some(each) = job.gpu().ntasks_per_gpu {
            let on_nodes = self.per_node.map(|count| count.saturating_mul(nodes));
            // Without a number of GPUs each node has one, unless the tasks were counted.
            let gpus = self.job.or(on_nodes).or(job.ntasks.is_none().then_some(nodes))?;
            return Some(gpus.saturating_mul(each));
        }
        match (job.ntasks, self.job, self.per_task) {
            (None, Some(all), Some(each)) if each > 0 => Some(all / each),
            _ => None,
        }
    }
}

/// Adds up `[type:]number,...`; a type alone is one.
fn count(list: &str) -> Option<u32> {
    if list.is_empty() {
        return None;
    }
    Some(list.split(',').fold(0, |sum: u32, part| {
        let number = part.rsplit(':').next().and_then(|number| number.parse().ok());
        sum.saturating_add(number.unwrap_or(1))
    }))
}
