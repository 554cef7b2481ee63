//! How tables spell spans and moments.

/// A span as squeue prints it: `0:05`, `59:54`, `1:00:00`, `1-00:00:00`; negative is `INVALID`.
pub fn span(secs: i64) -> String {
    if secs < 0 {
        return "INVALID".into();
    }
    let (days, hours, minutes, seconds) =
        (secs / 86_400, secs / 3600 % 24, secs / 60 % 60, secs % 60);
    if days > 0 {
        format!("{days}-{hours:02}:{minutes:02}:{seconds:02}")
    } else if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A span as sacct prints it: always hours, minutes and seconds with two digits, days in front.
pub fn span_padded(secs: i64) -> String {
    if secs < 0 {
        return "INVALID".into();
    }
    let (days, rest) = (secs / 86_400, secs % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    if days > 0 { format!("{days}-{clock}") } else { clock }
}

/// A moment on the wall clock of a place `offset_secs` east of Greenwich: `2026-11-15T18:07:28`.
pub fn moment(secs: i64, offset_secs: i32) -> String {
    let local = secs.saturating_add(offset_secs.into());
    let (year, month, day) = date(local.div_euclid(86_400));
    let clock = local.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of the day that is `days` after 1970-01-01, in the Gregorian calendar.
pub fn date(days: i64) -> (i64, u32, u32) {
    // Years begin in March here, so that the leap day is the last one of its year.
    let days = days.clamp(-100_000_000_000, 100_000_000_000) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u32, day as u32)
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
