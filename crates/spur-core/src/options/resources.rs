//! How much a job needs.

use super::number::{node_count, positive};
use super::row::Tool::Srun;
use super::row::{JobOption, option, put};

pub(super) static ROWS: &[JobOption] = &[
    option("cpus-per-task", "Give each task this many CPUs.")
        .short('c')
        .takes("ncpus")
        .env(&[(Srun, "SRUN_CPUS_PER_TASK")])
        .job(|job, count| put(&mut job.cpus_per_task, positive(count))),
    option("nodes", "Use at least MIN and at most MAX nodes.")
        .short('N')
        .takes("min[-max]")
        .env(&[(Srun, "SLURM_NNODES"), (Srun, "SLURM_JOB_NUM_NODES")])
        .job(|job, count| {
            let (min, max) = node_count(count)?;
            (job.nodes_min, job.nodes_max) = (Some(min), max);
            Ok(())
        }),
    option("ntasks", "Run this many tasks.")
        .short('n')
        .takes("number")
        .env(&[(Srun, "SLURM_NPROCS"), (Srun, "SLURM_NTASKS")])
        .job(|job, count| put(&mut job.ntasks, positive(count))),
];
