//! Crontabs: jobs that come again by the calendar.

mod schedule;
mod table;

pub use schedule::{BadSchedule, Schedule};
pub use table::{Line, Problem, comment_out, read};

use crate::time::Timestamp;

/// The begin of a job whose next time is not settled yet: the last moment of the year 9999. The leader, which
/// knows the zone, looks for jobs that begin then and settles it.
pub const UNSETTLED: Timestamp = Timestamp(253_402_300_799);
