//! Settings that are amounts: spans of time, memory, counts with "unlimited".

use super::values::{Setting, Value, expected, quote};
use crate::limit::Limit;
use crate::size;
use crate::time::{display, duration};

/// A span in whole seconds. A bare number is seconds, as in Slurm's own timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub u64);

/// A span in whole seconds, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecondsOrNever(pub Limit);

/// A time limit in whole minutes. A bare number is minutes, as in Slurm's own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minutes(pub Limit);

/// Memory or disk in MiB, Slurm's unit; `"4G"` reads too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Megabytes(pub u64);

/// How many, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub Limit);

impl Setting for Seconds {
    fn kind() -> String {
        "seconds, or \"30s\", \"5m\", \"2h\", \"7d\"".to_string()
    }

    fn read(value: &Value) -> Result<Seconds, String> {
        let seconds = match value {
            Value::Number(number) => u64::try_from(*number).ok(),
            Value::Text(text) => text.parse().ok().or_else(|| span_secs(text)),
            _ => None,
        };
        seconds.map(Seconds).ok_or_else(expected::<Seconds>)
    }

    fn toml(&self) -> String {
        match self.0 {
            0 => "0".to_string(),
            days if days % 86_400 == 0 => format!("\"{}d\"", days / 86_400),
            hours if hours % 3_600 == 0 => format!("\"{}h\"", hours / 3_600),
            minutes if minutes % 60 == 0 => format!("\"{}m\"", minutes / 60),
            seconds => format!("\"{seconds}s\""),
        }
    }
}

impl Setting for SecondsOrNever {
    fn kind() -> String {
        "seconds, \"30s\", \"5m\", \"2h\", \"7d\", or \"never\"".to_string()
    }

    fn read(value: &Value) -> Result<SecondsOrNever, String> {
        match value {
            Value::Text(text) if text == "never" => Ok(SecondsOrNever(Limit::Unlimited)),
            other => Seconds::read(other)
                .map(|seconds| SecondsOrNever(Limit::Is(seconds.0)))
                .map_err(|_| expected::<SecondsOrNever>()),
        }
    }

    fn from_slurm(text: &str) -> Result<SecondsOrNever, String> {
        if is_unlimited(text) || text == "-1" {
            return Ok(SecondsOrNever(Limit::Unlimited));
        }
        SecondsOrNever::read(&Value::Text(text.to_string()))
    }

    fn toml(&self) -> String {
        match self.0 {
            Limit::Unlimited => quote("never"),
            Limit::Is(seconds) => Seconds(seconds).toml(),
        }
    }
}

impl Setting for Minutes {
    fn kind() -> String {
        "minutes, \"HH:MM:SS\", \"D-HH:MM:SS\", \"90m\", \"12h\", \"7d\", or \"unlimited\""
            .to_string()
    }

    fn read(value: &Value) -> Result<Minutes, String> {
        let limit = match value {
            Value::Number(number) => u64::try_from(*number).ok().map(Limit::Is),
            Value::Text(text) => duration::parse_minutes(text)
                .ok()
                .or_else(|| span_secs(text).map(|seconds| Limit::Is(seconds.div_ceil(60)))),
            _ => None,
        };
        let countable = |limit: &Limit| limit.number().unwrap_or(0) <= duration::MAX_MINUTES;
        let limit = limit.filter(countable);
        limit.map(Minutes).ok_or_else(expected::<Minutes>)
    }

    fn toml(&self) -> String {
        match self.0 {
            Limit::Unlimited => quote("unlimited"),
            limit => quote(&display::limit_long(limit)),
        }
    }
}

impl Setting for Megabytes {
    fn kind() -> String {
        "MiB, or \"512M\", \"4G\", \"2T\"".to_string()
    }

    fn read(value: &Value) -> Result<Megabytes, String> {
        let megabytes = match value {
            Value::Number(number) => u64::try_from(*number).ok(),
            Value::Text(text) => size::parse_megabytes(text).ok(),
            _ => None,
        };
        megabytes.map(Megabytes).ok_or_else(expected::<Megabytes>)
    }

    /// Slurm writes a limit that is none as a word; here it is 0.
    fn from_slurm(text: &str) -> Result<Megabytes, String> {
        if is_unlimited(text) {
            return Ok(Megabytes(0));
        }
        Megabytes::read(&Value::Text(text.to_string()))
    }

    fn toml(&self) -> String {
        self.0.to_string()
    }
}

impl Setting for Count {
    fn kind() -> String {
        "number, or \"unlimited\"".to_string()
    }

    fn read(value: &Value) -> Result<Count, String> {
        match value {
            Value::Number(number) if *number >= 0 => Ok(Count(Limit::Is(number.unsigned_abs()))),
            Value::Text(text) if is_unlimited(text) => Ok(Count(Limit::Unlimited)),
            _ => Err(expected::<Count>()),
        }
    }

    fn from_slurm(text: &str) -> Result<Count, String> {
        if is_unlimited(text) || text == "-1" {
            return Ok(Count(Limit::Unlimited));
        }
        text.parse().map(|number| Count(Limit::Is(number))).map_err(|_| expected::<Count>())
    }

    fn toml(&self) -> String {
        match self.0 {
            Limit::Unlimited => quote("unlimited"),
            Limit::Is(number) => number.to_string(),
        }
    }
}

fn is_unlimited(text: &str) -> bool {
    ["unlimited", "infinite"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// `30s`, `5m`, `2h`, `7d`, `2w`, or Slurm's notation with colons.
fn span_secs(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().last()? {
        (end, 's') => (&text[..end], 1),
        (end, 'm') => (&text[..end], 60),
        (end, 'h') => (&text[..end], 3_600),
        (end, 'd') => (&text[..end], 86_400),
        (end, 'w') => (&text[..end], 604_800),
        _ => return duration::parse_seconds(text).ok()?.number(),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Setting>(text: &str) -> Result<T, String> {
        T::read(&Value::Text(text.to_string()))
    }

    #[test]
    fn limits_are_minutes_and_timeouts_are_seconds() {
        assert_eq!(text("72:00:00"), Ok(Minutes(Limit::Is(72 * 60))));
        assert_eq!(text("90"), Ok(Minutes(Limit::Is(90))));
        assert_eq!(Minutes::read(&Value::Number(90)), Ok(Minutes(Limit::Is(90))));
        assert_eq!(text("1-12"), Ok(Minutes(Limit::Is(36 * 60))));
        assert_eq!(text("7d"), Ok(Minutes(Limit::Is(7 * 1_440))));
        assert_eq!(text("UNLIMITED"), Ok(Minutes(Limit::Unlimited)));
        assert_eq!(text("30"), Ok(Seconds(30)));
        assert_eq!(text("2m"), Ok(Seconds(120)));
        assert_eq!(text("00:02:00"), Ok(Seconds(120)));
    }

    #[test]
    fn nonsense_and_overflow_are_refused() {
        for wrong in ["", "-", "1x", "99999999999999999w", "72:00:0x", "-5", "1:2:3:4", "é"] {
            assert!(text::<Minutes>(wrong).is_err(), "{wrong}");
            assert!(text::<Seconds>(wrong).is_err(), "{wrong}");
            assert!(text::<Megabytes>(wrong).is_err(), "{wrong}");
        }
        assert!(Minutes::read(&Value::Number(-1)).is_err());
    }

    #[test]
    fn amounts_print_as_they_read() {
        for seconds in [0, 1, 59, 60, 3_600, 5_400, 86_400, 604_800] {
            let printed = Seconds(seconds).toml();
            let read: Seconds = text(printed.trim_matches('"')).unwrap();
            assert_eq!(read, Seconds(seconds));
        }
        for limit in [Limit::Is(0), Limit::Is(61), Limit::Is(10_080), Limit::Unlimited] {
            let printed = Minutes(limit).toml();
            assert_eq!(text::<Minutes>(printed.trim_matches('"')), Ok(Minutes(limit)));
        }
    }

    #[test]
    fn memory_has_units() {
        assert_eq!(text("4G"), Ok(Megabytes(4_096)));
        assert_eq!(text("512000"), Ok(Megabytes(512_000)));
        assert_eq!(text("2T"), Ok(Megabytes(2 << 20)));
    }
}
