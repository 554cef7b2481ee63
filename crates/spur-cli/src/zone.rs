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

/// What clocks here show: `14:03:07`.
pub fn clock_of_day() -> String {
    formatted(now(), "%H:%M:%S")
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

/// How moments are written where `SLURM_TIME_FORMAT` says so; nothing for the usual way.
pub fn spelling(tool: &str) -> Option<Box<dyn Fn(Timestamp) -> String>> {
    let format = std::env::var("SLURM_TIME_FORMAT").ok()?;
    if format == "relative" {
        let now = now();
        return Some(Box::new(move |at| relative(at, now)));
    }
    if format.contains('%') {
        return Some(Box::new(move |at| formatted(at, &format)));
    }
    if !format.is_empty() && format != "standard" {
        crate::output::complain(tool, format!("invalid SLURM_TIME_FORMAT = '{format}'"));
    }
    None
}

/// Today's moments by the clock, near ones by the day, others by the date: `Tomorr 03:48`, `25 Apr 12:00`.
fn relative(at: Timestamp, now: Timestamp) -> String {
    let day = |at: Timestamp| (at.0 + i64::from(offset_at(at))).div_euclid(86_400);
    match (day(at) - day(now), Local.civil(at).year == Local.civil(now).year) {
        (0, _) => formatted(at, "%H:%M:%S"),
        (1, _) => formatted(at, "Tomorr %H:%M"),
        (-1, _) => formatted(at, "Ystday %H:%M"),
        (2..=7, _) => formatted(at, "%a %H:%M"),
        (_, true) => formatted(at, "%-d %b %H:%M"),
        (_, false) => formatted(at, "%-d %b %Y"),
    }
}

/// As `strftime` has it.
#[allow(unsafe_code)]
fn formatted(at: Timestamp, format: &str) -> String {
    let Ok(format) = std::ffi::CString::new(format) else { return String::new() };
    let mut text = [0u8; 256];
    // SAFETY: all-zero is a valid `tm`, filled by `localtime_r`; `strftime` writes at most `text.len()`
    // bytes to `text` and reads a string that ends with a NUL.
    let length = unsafe {
        let mut broken: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&at.0, &mut broken).is_null() {
            return String::new();
        }
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &broken)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
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
