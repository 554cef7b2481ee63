//! Options that do not go together, in Slurm's words.

use super::defaults::Surroundings;
use super::error::OptionError;
use super::resolve::Request;
use super::row::Tool;
use super::{binding, files, hint};
use crate::step::binding::names_kind as names_binding;

/// Refuses what no cluster could carry out.
pub(super) fn check(request: &Request, around: Surroundings<'_>) -> Result<(), OptionError> {
    let command = around.command;
    let error = |message: &str| Err(OptionError::error(message, 1));
    let job = &request.job;
    if request.tool.verbose > 0 && request.tool.quiet > 0 {
        return error("don't specify both --verbose (-v) and --quiet (-Q)");
    }
    if request.step.relative.is_some() && (request.said("nodelist") || request.said("exclude")) {
        return error("-r,--relative not allowed with -w,--nodelist or -x,--exclude.");
    }
    // There is no step of salloc's own that could be in it.
    if request.asked_by == Tool::Salloc && !job.rare().container.is_empty() {
        return error("--container requires LaunchParameters=use_interactive_step");
    }
    if request.tool.wrap.is_some() && !command.is_empty() {
        return error("Script arguments not permitted with --wrap option");
    }
    let asks_for_list = request.step.mpi == "list" || job.gres == "help";
    if request.asked_by == Tool::Srun && command.is_empty() && !asks_for_list {
        return Err(OptionError::fatal("No command given to execute."));
    }
    if let Some(problem) = late_problem(request) {
        let answer = problem.is_empty().then_some(hint::HELP);
        return Err(OptionError { answer, ..OptionError::error(problem, 1) });
    }
    if request.said("cpu-bind")
        && let Some(problem) = binding::cpu_problem(&request.step.cpu_bind)
    {
        let fatal = OptionError::fatal("Failed to parse --cpu-bind= values.");
        return Err(OptionError { error: Some(problem), ..fatal });
    }
    if job.placement().core_spec.is_some() && job.placement().thread_spec.is_some() {
        return Err(OptionError::fatal(
            "-S/--core-spec and --thred-spec options are mutually exclusive",
        ));
    }
    if job.gpu().ntasks_per_gpu.is_some() {
        for other in ["gpus-per-task", "gpus-per-socket", "ntasks-per-node"] {
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
    if let Some(cpus) = job.cpus_per_task.filter(|cpus| i32::try_from(*cpus).is_err()) {
        return error(&format!("invalid number of cpus per task (-c {})", cpus.cast_signed()));
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
    if request.step.relative.is_some() && !around.inside_job {
        return Err(OptionError::fatal("--relative option invalid for job allocation request"));
    }
    Ok(())
}

/// Values that Slurm looks at only when all options have been read.
fn late_problem(request: &Request) -> Option<String> {
    let job = &request.job;
    let counts = request.said("hint") && !says_threads(request);
    let hint = counts.then(|| hint::problem(&job.layout().hint)).flatten();
    hint.or_else(|| files::propagate_problem(&job.rare().propagate))
}

/// Whether threads are asked for in a way that leaves no room for a hint.
pub(super) fn says_threads(request: &Request) -> bool {
    ["extra-node-info", "threads-per-core", "ntasks-per-core"].iter().any(|name| request.said(name))
        || names_binding(&request.step.cpu_bind)
}
