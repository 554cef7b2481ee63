//! Where a job may run.

use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, option, text};

pub(super) static ROWS: &[JobOption] = &[option("partition", "Run in one of these partitions.")
    .short('p')
    .takes("names")
    .env(&[(Sbatch, "SBATCH_PARTITION"), (Srun, "SLURM_PARTITION"), (Salloc, "SALLOC_PARTITION")])
    .job(|job, names| text(&mut job.partition, names))];
