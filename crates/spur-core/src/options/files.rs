//! Where a job works, reads and writes, and which environment it gets.

use super::error::Refusal;
use super::row::Tool::{Sbatch, Srun};
use super::row::{JobOption, SBATCH_SRUN, option, put, text};

pub(super) static ROWS: &[JobOption] = &[
    option("chdir", "Work in this directory.")
        .short('D')
        .takes("directory")
        .env(&[(Srun, "SLURM_REMOTE_CWD"), (Srun, "SLURM_WORKING_DIR")])
        .job(|job, path| text(&mut job.work_dir, path)),
    option("error", "Write standard error to this file.")
        .short('e')
        .takes("pattern")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_ERROR"), (Srun, "SLURM_STDERRMODE"), (Srun, "SRUN_ERROR")])
        .job(|job, pattern| text(&mut job.error, pattern)),
    option("export", "Pass these variables on to the job.")
        .takes("variables|ALL|NONE")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_EXPORT"), (Srun, "SLURM_EXPORT_ENV"), (Srun, "SRUN_EXPORT_ENV")])
        .job(|job, names| text(&mut job.export, names)),
    option("input", "Read standard input from this file.")
        .short('i')
        .takes("pattern")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_INPUT"), (Srun, "SLURM_STDINMODE"), (Srun, "SRUN_INPUT")])
        .job(|job, pattern| text(&mut job.input, pattern)),
    option("open-mode", "Append to output files, or truncate them.")
        .takes("append|truncate")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_OPEN_MODE"), (Srun, "SLURM_OPEN_MODE")])
        .job(|job, mode| put(&mut job.open_append, open_append(mode))),
    option("output", "Write standard output to this file.")
        .short('o')
        .takes("pattern")
        .of(SBATCH_SRUN)
        .env(&[(Sbatch, "SBATCH_OUTPUT"), (Srun, "SLURM_STDOUTMODE"), (Srun, "SRUN_OUTPUT")])
        .job(|job, pattern| text(&mut job.output, pattern)),
];

fn open_append(mode: &str) -> Result<bool, Refusal> {
    match mode {
        "a" | "append" => Ok(true),
        "t" | "truncate" => Ok(false),
        _ => Err(Refusal::Specification),
    }
}
