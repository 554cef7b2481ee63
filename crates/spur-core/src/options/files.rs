//! Where a job works, reads and writes, and which surroundings it gets.

use super::error::Refusal;
use super::json::Form;
use super::row::Tool::{Sbatch, Srun};
use super::row::{JobOption, SBATCH, SBATCH_SRUN, Tool, flag, option, put, text};
use crate::job::JobSpec;

const SBATCH_SALLOC: &[Tool] = &[Tool::Sbatch, Tool::Salloc];

pub(super) static ROWS: &[JobOption] = &[
    option("chdir", "Work in this directory.")
        .json("current_working_directory", Form::Plain)
        .whole_job()
        .short('D')
        .takes("directory")
        .env(&[(Srun, "SLURM_REMOTE_CWD"), (Srun, "SLURM_WORKING_DIR")])
        .job(|job, path| text(&mut job.work_dir, path)),
    option("error", "Write standard error to this file.")
        .json("standard_error", Form::Plain)
        .whole_job()
        .short('e')
        .takes("pattern")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_ERROR"), (Srun, "SLURM_STDERRMODE"), (Srun, "SRUN_ERROR")])
        .job(|job, pattern| text(&mut job.error, pattern)),
    option("export", "Pass these variables on to the job.")
        .whole_job()
        .takes("variables|ALL|NONE")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_EXPORT"), (Srun, "SLURM_EXPORT_ENV"), (Srun, "SRUN_EXPORT_ENV")])
        .job(|job, names| text(&mut job.export, names)),
    option("export-file", "Pass on the variables in this file or open descriptor.")
        .whole_job()
        .takes("file|descriptor")
        .of(SBATCH)
        .tool(|tool, path| text(&mut tool.export_file, path)),
    option("get-user-env", "Take the variables of the user's login shell.")
        .whole_job()
        .may_take("[timeout][S|L]")
        .of(SBATCH_SALLOC)
        .env(&[(Sbatch, "SBATCH_GET_USER_ENV")])
        .tool(|tool, how| {
            let mode =
                how.trim_start_matches(['-', '+']).trim_start_matches(|c: char| c.is_ascii_digit());
            if !matches!(mode, "" | "S" | "s" | "L" | "l") {
                return Err(Refusal::Specification);
            }
            tool.get_user_env = Some(how.to_owned());
            Ok(())
        }),
    option("input", "Read standard input from this file.")
        .json("standard_input", Form::Plain)
        .whole_job()
        .short('i')
        .takes("pattern")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_INPUT"), (Srun, "SLURM_STDINMODE"), (Srun, "SRUN_INPUT")])
        .job(|job, pattern| text(&mut job.input, pattern)),
    option("open-mode", "Append to output files, or truncate them.")
        .json("open_mode", Form::List)
        .whole_job()
        .takes("append|truncate")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_OPEN_MODE"), (Srun, "SLURM_OPEN_MODE")])
        .job(|job, mode| put(&mut job.open_append, open_append(mode))),
    option("output", "Write standard output to this file.")
        .json("standard_output", Form::Plain)
        .whole_job()
        .short('o')
        .takes("pattern")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_OUTPUT"), (Srun, "SLURM_STDOUTMODE"), (Srun, "SRUN_OUTPUT")])
        .job(|job, pattern| text(&mut job.output, pattern)),
    option("propagate", "Pass these resource limits of the shell on to the job.")
        .whole_job()
        .may_take("limit,...")
        .of(SBATCH_SRUN)
        .job(propagate),
    option("wrap", "Run this command line in place of a script.")
        .whole_job()
        .takes("command")
        .of(SBATCH)
        .tool(|tool, command| {
            tool.wrap = Some(command.to_owned());
            Ok(())
        }),
    option("ignore-pbs", "Pass over #PBS lines of the script.")
        .whole_job()
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_IGNORE_PBS")])
        .tool(|tool, _| flag(&mut tool.ignore_pbs)),
];

/// Only the first letter counts.
fn open_append(mode: &str) -> Result<bool, Refusal> {
    match mode.bytes().next() {
        Some(b'a' | b'A') => Ok(true),
        Some(b't' | b'T') => Ok(false),
        _ => Err(Refusal::Specification),
    }
}

fn propagate(job: &mut JobSpec, limits: &str) -> Result<(), Refusal> {
    text(&mut job.rare_mut().propagate, if limits.is_empty() { "ALL" } else { limits })
}

/// What Slurm says about a list of limits that it does not take.
pub(super) fn propagate_problem(limits: &str) -> Option<String> {
    let known = |limit: &str| {
        crate::rlimit::NAMES.contains(&limit.strip_prefix("RLIMIT_").unwrap_or(limit))
    };
    if matches!(limits, "" | "ALL" | "NONE") {
        return None;
    }
    let bad = limits.split(',').find(|limit| !known(limit))?;
    Some(format!("Bad rlimit name: {bad}\n--propagate={limits} is not valid."))
}
