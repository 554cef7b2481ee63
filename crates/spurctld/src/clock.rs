//! The machine's clocks.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use spur_core::time::{Timestamp, Zone};

use crate::controller::Now;

/// The zone that `TZ` or the machine says.
pub struct Local;

impl Zone for Local {
    fn seconds_east(&self, at: Timestamp) -> i64 {
        let utc = chrono::DateTime::from_timestamp(at.0, 0).unwrap_or_default();
        utc.with_timezone(&chrono::Local).offset().local_minus_utc().into()
    }
}

/// The time by the wall, and by a clock that never jumps and goes on while the machine sleeps.
pub fn now() -> Now {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let boot = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock");
    Now {
        wall: Timestamp(since_epoch.as_secs() as i64),
        boot_ms: boot.tv_sec() as u64 * 1000 + boot.tv_nsec() as u64 / 1_000_000,
    }
}
