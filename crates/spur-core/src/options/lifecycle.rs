//! What happens to a job between submission and end.

use super::row::{JobOption, flag, option};

pub(super) static ROWS: &[JobOption] =
    &[option("hold", "Submit the job held: it waits until released.")
        .short('H')
        .job(|job, _| flag(&mut job.hold))];
