//! The machine's time zone and clock.

use std::time::{SystemTime, UNIX_EPOCH};

use spur_core::time::{Timestamp, Zone};

/// The zone that `TZ` or the machine says.
pub struct Local;

impl Zone for Local {
    fn seconds_east(&self, at: Timestamp) -> i64 {
        offset_at(at).into()
    }
}

/// Seconds that clocks here are ahead of UTC at this moment.
pub fn offset_at(at: Timestamp) -> i32 {
    local_offset(at.0)
}

/// The time now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_secs() as i64)
}

#[allow(unsafe_code)]
fn local_offset(secs: i64) -> i32 {
    // SAFETY: all-zero is a valid `tm`; `localtime_r` writes only to it, and reads `secs`.
    unsafe {
        let mut broken: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&secs, &mut broken).is_null() {
            return 0;
        }
        broken.tm_gmtoff as i32
    }
}

/// As `date` prints it, the way `sinfo -l` begins: `Sun Nov 15 21:04:09 2026`.
pub fn date(at: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let civil = Local.civil(at);
    let days = (at.0 + i64::from(offset_at(at))).div_euclid(86_400);
    format!(
        "{} {} {:02} {:02}:{:02}:{:02} {}",
        DAYS[days.rem_euclid(7) as usize],
        MONTHS[(civil.month as usize + 11) % 12],
        civil.day,
        civil.hour,
        civil.minute,
        civil.second,
        civil.year
    )
}
