//! How tables spell spans and moments that may be out of range.

use crate::time::{FixedOffset, Timestamp, display};

/// A span as squeue prints it: `0:05`, `59:54`, `1:00:00`, `1-00:00:00`; negative is `INVALID`.
pub fn span(secs: i64) -> String {
    valid(secs, display::short)
}

/// A span as sacct prints it: always hours, minutes and seconds with two digits, days in front.
pub fn span_padded(secs: i64) -> String {
    valid(secs, display::long)
}

fn valid(secs: i64, write: fn(u64) -> String) -> String {
    u64::try_from(secs).map_or_else(|_| "INVALID".into(), write)
}

/// Processor time as sacct prints it: `00:00.048`; nothing at all and whole hours have no fractions.
pub fn cpu_time(micros: u64) -> String {
    let secs = micros / 1_000_000;
    if micros == 0 || secs >= 3600 {
        return span_padded(i64::try_from(secs).unwrap_or(i64::MAX));
    }
    format!("{:02}:{:02}.{:03}", secs / 60, secs % 60, micros % 1_000_000 / 1000)
}

/// A moment on the wall clock of a place `offset_secs` east of Greenwich: `2026-11-15T18:07:28`.
pub fn moment(secs: i64, offset_secs: i32) -> String {
    display::moment(Timestamp(secs), &FixedOffset { seconds_east: offset_secs.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_grow_from_the_right() {
        let told: Vec<_> = [0, 5, 3594, 3600, 86_400, 176_461, -1].map(span).into();
        let expected = ["0:00", "0:05", "59:54", "1:00:00", "1-00:00:00", "2-01:01:01", "INVALID"];
        assert_eq!(told, expected);
        assert_eq!(span_padded(65), "00:01:05");
        assert_eq!(span_padded(90_000), "1-01:00:00");
        assert_eq!(cpu_time(48_000), "00:00.048");
        assert_eq!(cpu_time(0), "00:00:00");
        assert_eq!(cpu_time(3_600_500_000), "01:00:00");
    }

    #[test]
    fn moments_follow_the_place() {
        assert_eq!(moment(1_794_766_048, 0), "2026-11-15T18:07:28");
        assert_eq!(moment(1_794_766_048, 3600), "2026-11-15T19:07:28");
        assert_eq!(moment(951_782_400, 0), "2000-02-29T00:00:00");
        assert_eq!(moment(-1, 0), "1969-12-31T23:59:59");
        let _ = (moment(i64::MAX, i32::MAX), moment(i64::MIN, i32::MIN));
    }
}
