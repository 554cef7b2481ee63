//! Whose job it is and what it is called.

use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, option, text};

pub(super) static ROWS: &[JobOption] = &[
    option("account", "Charge the job to this account.")
        .short('A')
        .takes("name")
        .env(&[(Sbatch, "SBATCH_ACCOUNT"), (Srun, "SLURM_ACCOUNT"), (Salloc, "SALLOC_ACCOUNT")])
        .job(|job, name| text(&mut job.account, name)),
    option("job-name", "Call the job this.")
        .short('J')
        .takes("name")
        .env(&[(Sbatch, "SBATCH_JOB_NAME"), (Srun, "SLURM_JOB_NAME")])
        .job(|job, name| text(&mut job.name, name)),
];
