//! When a job runs and for how long.

use super::error::Refusal;
use super::json::Form;
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, option, put, text};
use crate::time::duration::{parse_limit, parse_minutes, parse_seconds};
use crate::time::moment::{self, Toward};
use crate::time::{FixedOffset, Timestamp};

pub(super) static ROWS: &[JobOption] = &[
    option("begin", "Start the job no earlier than this.")
        .json("begin_time", Form::Moment)
        .whole_job()
        .short('b')
        .takes("time")
        .tool(|tool, time| text(&mut tool.begin, check_moment(time)?)),
    option("deadline", "Remove the job if it cannot end before this.")
        .json("deadline", Form::Moment)
        .whole_job()
        .takes("time")
        .tool(|tool, time| text(&mut tool.deadline, check_moment(time)?)),
    option("delay-boot", "Wait so long for running nodes before starting others.")
        .json("delay_boot", Form::Seconds)
        .whole_job()
        .takes("minutes")
        .env(&[
            (Sbatch, "SBATCH_DELAY_BOOT"),
            (Srun, "SLURM_DELAY_BOOT"),
            (Salloc, "SALLOC_DELAY_BOOT"),
        ])
        .job(|job, time| {
            let time = parse_seconds(time).map_err(|_| Refusal::Specification);
            put(&mut job.lifecycle_mut().delay_boot_secs, time)
        }),
    option("time", "End the job after this much time.")
        .json("time_limit", Form::Number)
        .whole_job()
        .short('t')
        .takes("time")
        .env(&[
            (Sbatch, "SBATCH_TIMELIMIT"),
            (Srun, "SLURM_TIMELIMIT"),
            (Salloc, "SALLOC_TIMELIMIT"),
        ])
        .job(|job, time| {
            put(&mut job.time_limit, parse_limit(time).map_err(|_| Refusal::Specification))
        }),
    option("time-min", "Start earlier with less time, but no less than this.")
        .json("time_minimum", Form::Number)
        .whole_job()
        .takes("time")
        .job(|job, time| {
            let time = parse_minutes(time).map_err(|_| Refusal::Specification);
            put(&mut job.lifecycle_mut().time_min, time)
        }),
];

/// Refuses what is no moment. What it means is settled once the time is known.
fn check_moment(text: &str) -> Result<&str, Refusal> {
    // Whether a text can be read does not depend on the day it is read.
    match moment::parse(text, Toward::Future, Timestamp(1_700_000_000), &FixedOffset::UTC) {
        Ok(_) => Ok(text),
        Err(error @ moment::Error::Malformed { .. }) => Err(Refusal::After(error.to_string())),
        Err(_) => Err(Refusal::Specification),
    }
}
