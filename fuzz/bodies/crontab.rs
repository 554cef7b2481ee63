//! Crontabs are read or refused, and what is read is due some day or never.

use spur_core::cron;
use spur_core::time::{FixedOffset, Timestamp};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(lines) = cron::read(text) else { return };
    let now = Timestamp(1_794_775_207);
    for line in lines {
        let due = line.schedule.next(now, &FixedOffset::UTC);
        assert!(due.is_none_or(|due| due > now));
        let _ = cron::comment_out(text, line.first, line.last, "failed");
    }
}
