//! When a job runs and for how long.

use super::error::Refusal;
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, option, put};
use crate::limit::Limit;

pub(super) static ROWS: &[JobOption] = &[option("time", "End the job after this much time.")
    .short('t')
    .takes("time")
    .env(&[(Sbatch, "SBATCH_TIMELIMIT"), (Srun, "SLURM_TIMELIMIT"), (Salloc, "SALLOC_TIMELIMIT")])
    .job(|job, time| put(&mut job.time_limit, minutes(time)))];

fn minutes(value: &str) -> Result<Limit, Refusal> {
    value.parse().map(Limit::Is).map_err(|_| Refusal::Specification)
}
