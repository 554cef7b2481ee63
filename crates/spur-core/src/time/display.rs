//! Writes spans and moments the way Slurm's tools print them.

use super::{Timestamp, Zone};
use crate::limit::Limit;

/// A span in seconds as `scontrol` and `sacct` write it: `00:01:00`, `1-02:03:04`.
pub fn long(seconds: u64) -> String {
    let (days, hours, minutes, seconds) = split(seconds);
    match days {
        0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        days => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// A span in seconds as `squeue` and `sinfo` write it: `0:00`, `1:00:00`, `1-02:03:04`.
pub fn short(seconds: u64) -> String {
    let (days, hours, minutes, seconds) = split(seconds);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (days, hours) => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// A limit in minutes as `scontrol` writes it.
pub fn limit_long(minutes: Limit) -> String {
    limit(minutes, long)
}

/// A limit in minutes as `squeue` writes it.
pub fn limit_short(minutes: Limit) -> String {
    limit(minutes, short)
}

/// A moment in the zone's time, as `2027-01-02T03:04:05`.
pub fn moment(at: Timestamp, zone: &impl Zone) -> String {
    zone.civil(at).to_string()
}

fn limit(minutes: Limit, write: fn(u64) -> String) -> String {
    match minutes {
        Limit::Unlimited => "UNLIMITED".to_owned(),
        Limit::Is(minutes) => write(minutes.saturating_mul(60)),
    }
}

fn split(seconds: u64) -> (u64, u64, u64, u64) {
    (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::FixedOffset;

    #[test]
    fn each_tool_has_its_form() {
        for (minutes, for_squeue, for_scontrol) in [
            (1, "1:00", "00:01:00"),
            (59, "59:00", "00:59:00"),
            (60, "1:00:00", "01:00:00"),
            (1439, "23:59:00", "23:59:00"),
            (1440, "1-00:00:00", "1-00:00:00"),
            (1500, "1-01:00:00", "1-01:00:00"),
            (144_000, "100-00:00:00", "100-00:00:00"),
        ] {
            assert_eq!(limit_short(Limit::Is(minutes)), for_squeue);
            assert_eq!(limit_long(Limit::Is(minutes)), for_scontrol);
        }
        assert_eq!(short(0), "0:00");
        assert_eq!(long(0), "00:00:00");
        assert_eq!(limit_long(Limit::Unlimited), "UNLIMITED");
        assert_eq!(limit_short(Limit::Is(u64::MAX)), "213503982334601-07:00:15");
    }

    #[test]
    fn moments_are_told_in_local_time() {
        let at = Timestamp(1_800_000_000);
        assert_eq!(moment(at, &FixedOffset::UTC), "2027-01-15T08:00:00");
        assert_eq!(moment(at, &FixedOffset { seconds_east: 19_800 }), "2027-01-15T13:30:00");
        assert_eq!(moment(Timestamp(-1), &FixedOffset::UTC), "1969-12-31T23:59:59");
    }
}
