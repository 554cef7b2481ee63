//! Settings that are amounts: spans of time, memory, counts with "unlimited", weights.

use std::collections::BTreeMap;

use super::values::{Setting, Value, bare_key, expected, quote, read_table, split_list};
use crate::limit::Limit;

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

/// Counts by name: `{ matlab = 10 }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<String, u32>);

/// Weights by trackable resource: `{ cpu = 1.0, mem = "0.25G" }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(pub BTreeMap<String, Weight>);

/// One weight and the unit it counts in, `None` for the resource's own (MiB for memory).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    pub factor: f64,
    pub unit: Option<char>,
}

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
            Value::Text(text) if is_unlimited(text) => Some(Limit::Unlimited),
            Value::Text(text) => slurm_minutes(text)
                .or_else(|| span_secs(text).map(|seconds| seconds.div_ceil(60)))
                .map(Limit::Is),
            _ => None,
        };
        limit.map(Minutes).ok_or_else(expected::<Minutes>)
    }

    fn toml(&self) -> String {
        let Limit::Is(minutes) = self.0 else { return quote("unlimited") };
        let (days, hours, minutes) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
        match days {
            0 => format!("\"{hours:02}:{minutes:02}:00\""),
            _ => format!("\"{days}-{hours:02}:{minutes:02}:00\""),
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
            Value::Text(text) => slurm_megabytes(text),
            _ => None,
        };
        megabytes.map(Megabytes).ok_or_else(expected::<Megabytes>)
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

impl Setting for Counts {
    fn kind() -> String {
        "table of numbers by name".to_string()
    }

    fn read(value: &Value) -> Result<Counts, String> {
        if let Value::Text(text) = value {
            return Counts::from_slurm(text);
        }
        read_table(value, u32::read).unwrap_or_else(|| Err(expected::<Counts>())).map(Counts)
    }

    /// `matlab:10,ansys@server*5,abaqus`: a name alone is one.
    fn from_slurm(text: &str) -> Result<Counts, String> {
        let mut counts = BTreeMap::new();
        for part in split_list(text) {
            let (name, count) = part.split_once([':', '*']).unwrap_or((part, "1"));
            let count = count.parse().map_err(|_| format!("{part}: expected NAME:COUNT"))?;
            counts.insert(name.to_string(), count);
        }
        Ok(Counts(counts))
    }

    fn toml(&self) -> String {
        table(&self.0, u32::to_string)
    }
}

impl Setting for Weights {
    fn kind() -> String {
        "table of weights by resource".to_string()
    }

    fn read(value: &Value) -> Result<Weights, String> {
        if let Value::Text(text) = value {
            return Weights::from_slurm(text);
        }
        let weights = read_table(value, |weight| match weight {
            Value::Text(text) => Weight::parse(text),
            number => f64::read(number).map(|factor| Weight { factor, unit: None }),
        });
        let weights = weights.unwrap_or_else(|| Err(expected::<Weights>()))?;
        Ok(Weights(weights.into_iter().map(|(name, it)| (name.to_ascii_lowercase(), it)).collect()))
    }

    /// `CPU=1.0,Mem=0.25G,GRES/gpu=2.0`
    fn from_slurm(text: &str) -> Result<Weights, String> {
        let mut weights = BTreeMap::new();
        for part in split_list(text) {
            let (name, weight) =
                part.split_once('=').ok_or_else(|| format!("{part}: expected RESOURCE=WEIGHT"))?;
            weights.insert(name.trim().to_ascii_lowercase(), Weight::parse(weight.trim())?);
        }
        Ok(Weights(weights))
    }

    fn toml(&self) -> String {
        table(&self.0, |weight| match weight.unit {
            Some(unit) => format!("\"{}{unit}\"", weight.factor),
            None => weight.factor.to_string(),
        })
    }
}

impl Weight {
    fn parse(text: &str) -> Result<Weight, String> {
        let unit = text.chars().last().map(|unit| unit.to_ascii_uppercase());
        let unit = unit.filter(|unit| "KMGTP".contains(*unit));
        let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
        let factor = f64::from_slurm(digits).map_err(|_| format!("{text} is no weight"))?;
        Ok(Weight { factor, unit })
    }

    /// The weight of one of the resource's own units, which for memory is a MiB.
    pub fn per_unit(self, resource: &str) -> f64 {
        let step = |letter| "KMGTP".find(letter).map_or(0, |place| place as i32 + 1);
        let own = if resource == "mem" || resource.starts_with("bb/") { step('M') } else { 0 };
        match self.unit {
            Some(unit) => self.factor / 1024f64.powi(step(unit) - own),
            None => self.factor,
        }
    }
}

fn table<T>(entries: &BTreeMap<String, T>, show: impl Fn(&T) -> String) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(name, entry)| format!("{} = {}", bare_key(name), show(entry)))
        .collect();
    if entries.is_empty() { "{}".to_string() } else { format!("{{ {} }}", entries.join(", ")) }
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
        _ => return slurm_secs(text),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// Slurm's notation of a limit, rounded up to minutes.
fn slurm_minutes(text: &str) -> Option<u64> {
    if let Ok(minutes) = text.parse() {
        return Some(minutes);
    }
    slurm_secs(text).map(|seconds| seconds.div_ceil(60))
}

fn slurm_secs(text: &str) -> Option<u64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days.parse::<u64>().ok()?), rest),
        None => (None, text),
    };
    let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match (days, parts.as_slice()) {
        (Some(_), [h]) => (*h, 0, 0),
        (Some(_), [h, m]) => (*h, *m, 0),
        (None, [m, s]) => (0, *m, *s),
        (_, [h, m, s]) => (*h, *m, *s),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60)?.checked_add(seconds)
}

fn slurm_megabytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let text = text.strip_suffix('B').unwrap_or(&text);
    let (digits, shift) = match text.chars().last()? {
        'K' => return text[..text.len() - 1].parse::<u64>().ok().map(|k| k.div_ceil(1024)),
        'M' => (&text[..text.len() - 1], 0),
        'G' => (&text[..text.len() - 1], 10),
        'T' => (&text[..text.len() - 1], 20),
        'P' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
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

    #[test]
    fn weights_know_their_unit() {
        let weights = Weights::from_slurm("CPU=1.0,Mem=0.25G,GRES/gpu=2.0").unwrap();
        assert_eq!(weights.0["mem"].per_unit("mem"), 0.25 / 1024.0);
        assert_eq!(weights.0["gres/gpu"].per_unit("gres/gpu"), 2.0);
        assert_eq!(weights.toml(), "{ cpu = 1, \"gres/gpu\" = 2, mem = \"0.25G\" }");
    }

    #[test]
    fn licences_count_one_by_one() {
        let licences = Counts::from_slurm("matlab:10,ansys@flex*5,abaqus").unwrap();
        assert_eq!(
            (licences.0["matlab"], licences.0["ansys@flex"], licences.0["abaqus"]),
            (10, 5, 1)
        );
    }
}
