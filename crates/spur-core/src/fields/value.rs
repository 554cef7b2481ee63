//! A fetched value and its two spellings: the word in a table, the value in JSON (v0.0.42).

use serde_json::{Value as Json, json};

use super::clock;
use super::render::RenderContext;
use crate::job::JobStatus;
use crate::limit::Limit;
use crate::node::NodeStatus;

/// What a column fetched. Words and widths are the renderer's.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A text; an empty one is `(null)` in a table.
    Nullable(String),
    /// A text; an empty one is this word in a table.
    Or(String, &'static str),
    /// Several words, by comma in a table and an array in JSON; none is this word in a table.
    List(Vec<String>, &'static str),
    /// A number.
    Number(u64),
    /// A number that may be negative.
    Integer(i64),
    /// A fraction with so many digits after the point.
    Fraction(f64, usize),
    /// A number that JSON wraps as `{set, infinite, number}`; unset is this word in a table.
    Counted(Option<u64>, &'static str),
    /// A limit; unset and unlimited are these words in a table.
    Limited(Option<Limit>, &'static str, &'static str),
    /// Minutes, in a table as a span; unset and unlimited are these words.
    Minutes(Option<Limit>, &'static str, &'static str),
    /// A span in seconds.
    Span(i64),
    /// A span in seconds with two digits everywhere, as the accounting tools write it.
    PaddedSpan(i64),
    /// A moment in seconds since the epoch; 0 is this word in a table.
    Moment(i64, &'static str),
    /// Megabytes, with a unit in a table.
    Megabytes(u64),
    /// True and false: `1` and `0` in a table.
    Bit(bool),
    /// True and false under these words in a table.
    Either(bool, &'static str, &'static str),
    /// A job's state by its long name.
    JobState(JobStatus),
    /// A job's state by its short name.
    JobStateCompact(JobStatus),
    /// A node's state in its extended form, in lower case.
    NodeState(NodeStatus),
    /// A node's state in its compact form, in lower case.
    NodeStateCompact(NodeStatus),
    /// What `wait(2)` gave: `code:signal` in a table.
    ExitStatus(u32),
    /// A span that may still grow.
    Elapsed(Elapsed),
    /// The same as a bare number of seconds.
    ElapsedSecs(Elapsed),
    /// The same with two digits everywhere, times a number of CPUs.
    PaddedElapsed(Elapsed, u64),
    /// Seconds times a number of CPUs, as a bare number.
    ScaledSecs(Elapsed, u64),
    /// Microseconds of processor time: `00:00.048`; from an hour on without fractions.
    CpuMicros(u64),
    /// Bytes in the largest unit that leaves wholes or halves: `13608K`.
    Bytes(u64),
    /// Bytes in megabytes with two digits: `0.29M`.
    MegabytesOf(u64),
    /// What is left of so many minutes after a span that may still grow.
    Left(Option<Limit>, Elapsed),
    /// Not cut when right-justified: node lists, and spans in squeue.
    Whole(Box<Value>),
    /// One spelling here, another there.
    Both(Box<Value>, Box<Value>),
    /// JSON as it stands; a table shows nothing.
    Json(Json),
}

/// Seconds: some already counted, and those since a moment while the clock runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Counted before.
    pub counted: i64,
    /// Running since then; `None` when the clock stands still.
    pub since: Option<i64>,
}

impl Elapsed {
    /// How many seconds by now.
    pub fn secs(self, context: &RenderContext<'_>) -> i64 {
        let running = self.since.map_or(0, |since| context.now.0.saturating_sub(since));
        self.counted.saturating_add(running)
    }
}

impl Value {
    /// A value that is not cut when right-justified.
    pub fn whole(self) -> Value {
        Value::Whole(Box::new(self))
    }

    /// One spelling in a table, another in JSON.
    pub fn both(text: Value, json: Value) -> Value {
        Value::Both(Box::new(text), Box::new(json))
    }

    /// Whether the text stays whole in a right-justified column; words like `UNLIMITED` never do.
    pub fn is_whole(&self) -> bool {
        match self {
            Value::Whole(value) => match &**value {
                Value::Minutes(limit, ..) | Value::Left(limit, _) => {
                    matches!(limit, Some(Limit::Is(_)))
                }
                _ => true,
            },
            Value::Both(text, _) => text.is_whole(),
            _ => false,
        }
    }

    /// The word in a table; `None` is Slurm's missing text, printed as `(null)`.
    pub fn text(&self, context: &RenderContext<'_>) -> Option<String> {
        Some(match self {
            Value::Nullable(text) if text.is_empty() => return None,
            Value::Text(text) | Value::Nullable(text) => text.clone(),
            Value::Or(text, word) if text.is_empty() => (*word).into(),
            Value::Or(text, _) => text.clone(),
            Value::List(words, none) if words.is_empty() => (*none).into(),
            Value::List(words, _) => words.join(","),
            Value::Number(number) => number.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Fraction(number, digits) => format!("{number:.digits$}"),
            Value::Counted(Some(number), _) => number.to_string(),
            Value::Counted(None, unset) => (*unset).into(),
            Value::Limited(None, unset, _) | Value::Minutes(None, unset, _) => (*unset).into(),
            Value::Limited(Some(Limit::Unlimited), _, unlimited)
            | Value::Minutes(Some(Limit::Unlimited), _, unlimited) => (*unlimited).into(),
            Value::Limited(Some(Limit::Is(number)), ..) => number.to_string(),
            Value::Minutes(Some(Limit::Is(minutes)), ..) => {
                clock::span(i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX))
            }
            Value::Span(secs) => clock::span(*secs),
            Value::PaddedSpan(secs) => clock::span_padded(*secs),
            Value::Moment(0, word) => (*word).into(),
            Value::Moment(secs, _) => context.moment(*secs),
            // Slurm counts these with few digits, so large amounts are rounded.
            Value::Megabytes(megabytes) => sized((*megabytes as f32) as u64, MEGABYTES, context),
            Value::Bit(bit) => u8::from(*bit).to_string(),
            Value::Either(is, yes, no) => (if *is { *yes } else { *no }).into(),
            Value::JobState(status) => status.name().into(),
            Value::JobStateCompact(status) => status.compact().into(),
            Value::NodeState(status) => status.name().to_lowercase(),
            Value::NodeStateCompact(status) => status.compact().to_lowercase(),
            Value::ExitStatus(status) => format!("{}:{}", status >> 8 & 0xff, status & 0x7f),
            Value::Elapsed(elapsed) => clock::span(elapsed.secs(context)),
            Value::ElapsedSecs(elapsed) => elapsed.secs(context).to_string(),
            Value::PaddedElapsed(elapsed, times) => {
                let times = i64::try_from(*times).unwrap_or(i64::MAX);
                clock::span_padded(elapsed.secs(context).saturating_mul(times))
            }
            Value::ScaledSecs(elapsed, times) => {
                let times = i64::try_from(*times).unwrap_or(i64::MAX);
                elapsed.secs(context).saturating_mul(times).to_string()
            }
            Value::CpuMicros(micros) => clock::cpu_time(*micros),
            Value::Bytes(bytes) => sized(*bytes, BYTES, context),
            Value::MegabytesOf(bytes) => format!("{:.2}M", *bytes as f64 / 1_048_576.0),
            Value::Left(None, _) => "NOT_SET".into(),
            Value::Left(Some(Limit::Unlimited), _) => "UNLIMITED".into(),
            Value::Left(Some(Limit::Is(minutes)), elapsed) => {
                let limit = i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX);
                clock::span(limit.saturating_sub(elapsed.secs(context)))
            }
            Value::Whole(value) => return value.text(context),
            Value::Both(text, _) => return text.text(context),
            Value::Json(_) => String::new(),
        })
    }

    /// The value in JSON.
    pub fn json(&self) -> Json {
        match self {
            Value::Text(text) | Value::Nullable(text) | Value::Or(text, _) => json!(text),
            Value::List(words, _) => json!(words),
            Value::Number(number) | Value::Megabytes(number) => json!(number),
            Value::Integer(number) | Value::Span(number) | Value::PaddedSpan(number) => {
                json!(number)
            }
            Value::Fraction(number, _) => json!(number),
            Value::Counted(number, _) => counted(*number, false),
            Value::Limited(limit, ..) | Value::Minutes(limit, ..) => match limit {
                Some(Limit::Unlimited) => counted(None, true),
                Some(Limit::Is(number)) => counted(Some(*number), false),
                None => counted(None, false),
            },
            Value::Moment(secs, _) => counted(Some((*secs).max(0) as u64), false),
            Value::Bit(is) | Value::Either(is, ..) => json!(is),
            Value::JobState(status) | Value::JobStateCompact(status) => json!(status.names()),
            Value::NodeState(status) | Value::NodeStateCompact(status) => json!(status.names()),
            Value::ExitStatus(status) => exit_status(*status),
            Value::Elapsed(elapsed)
            | Value::ElapsedSecs(elapsed)
            | Value::ScaledSecs(elapsed, _)
            | Value::PaddedElapsed(elapsed, _) => json!(elapsed.counted),
            Value::CpuMicros(micros) => {
                json!({ "seconds": micros / 1_000_000, "microseconds": micros % 1_000_000 })
            }
            Value::Bytes(bytes) | Value::MegabytesOf(bytes) => json!(bytes),
            Value::Left(..) => Json::Null,
            Value::Whole(value) => value.json(),
            Value::Both(_, json) => json.json(),
            Value::Json(json) => json.clone(),
        }
    }
}

/// `{"set": …, "infinite": …, "number": …}`
fn counted(number: Option<u64>, infinite: bool) -> Json {
    json!({ "set": number.is_some(), "infinite": infinite, "number": number.unwrap_or(0) })
}

/// An exit status as v0.0.42 takes it apart.
fn exit_status(status: u32) -> Json {
    let (code, signal) = (status >> 8 & 0xff, status & 0x7f);
    // A signal leaves no code behind.
    let word = match (code, signal) {
        (0, 0) => "SUCCESS",
        (_, 0) => "ERROR",
        _ => "SIGNALED",
    };
    let number = (signal != 0).then_some(u64::from(signal));
    json!({
        "status": [word],
        "return_code": counted((signal == 0).then_some(code.into()), false),
        "signal": { "id": counted(number, false), "name": signal_name(signal) },
    })
}

/// The name of a signal without `SIG`, as `kill -l` has it on Linux; empty for none.
pub fn signal_name(signal: u32) -> &'static str {
    const NAMES: &[&str] = &[
        "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
        "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU",
        "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    NAMES.get(signal as usize).copied().unwrap_or("")
}

/// `cpu=4,mem=4000M,gres/gpu:mi300x=2` taken apart, as the accounting part of JSON has it.
pub fn tres_list(amounts: &str) -> Json {
    const KNOWN: &[&str] = &["cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"];
    let parts = amounts.split(',').filter_map(|part| part.split_once('='));
    let list: Vec<Json> = parts
        .enumerate()
        .map(|(place, (name, amount))| {
            let known = KNOWN.iter().position(|known| *known == name);
            // Slurm numbers the resources a site adds from 1001 on.
            let id = known.map_or(1001 + place, |known| known + 1);
            let (kind, name) = name.split_once('/').unwrap_or((name, ""));
            json!({ "type": kind, "name": name, "id": id, "count": megabytes(amount) })
        })
        .collect();
    Json::Array(list)
}

/// A count, or a size in megabytes: `4`, `4000M`, `16G`.
fn megabytes(amount: &str) -> u64 {
    let digits = amount.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().unwrap_or(0.0);
    let factor = match &amount[digits.len()..] {
        "G" => 1024.0,
        "T" => 1_048_576.0,
        "P" => 1_073_741_824.0,
        _ => 1.0,
    };
    (number * factor) as u64
}

/// A size in the unit that was asked for, or in the one that suits.
fn sized(number: u64, units: &[&str], context: &RenderContext<'_>) -> String {
    let place = |unit: char| units.iter().position(|known| known.starts_with(unit));
    let (Some(unit), true) = (context.unit, number > 0) else {
        return size(number, units, context.no_convert);
    };
    match (place(unit), units[0]) {
        (Some(0), _) => format!("{number}{}", units[0]),
        (Some(power), _) => in_unit(number as f64 / 1024f64.powi(power as i32), unit),
        // Kilobytes of what is counted in megabytes.
        (None, "M") => format!("{}{unit}", number.saturating_mul(1024)),
        (None, _) => size(number, units, context.no_convert),
    }
}

fn in_unit(number: f64, unit: char) -> String {
    if number.fract() == 0.0 { format!("{number}{unit}") } else { format!("{number:.2}{unit}") }
}

/// A size in the largest unit that leaves wholes or halves, counted from the first of `UNITS`:
/// `1280M`, `16G`, `187.50G`.
fn size(number: u64, units: &[&str], no_convert: bool) -> String {
    if number == 0 {
        return "0".into();
    }
    let (mut number, mut index) = (number, 0);
    while !no_convert && index + 1 < units.len() && number >= 1024 && number.is_multiple_of(512) {
        index += 1;
        if !number.is_multiple_of(1024) {
            return format!("{}.50{}", number / 1024, units[index]);
        }
        number /= 1024;
    }
    format!("{number}{}", units[index])
}

const BYTES: &[&str] = &["", "K", "M", "G", "T", "P", "E"];
const MEGABYTES: &[&str] = &["M", "G", "T", "P", "E"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_two_spellings() {
        let unlimited = Value::Minutes(Some(Limit::Unlimited), "NOT_SET", "UNLIMITED");
        let context = RenderContext::default();
        assert_eq!(unlimited.text(&context).unwrap(), "UNLIMITED");
        assert_eq!(unlimited.json(), json!({"set": false, "infinite": true, "number": 0}));
        let day = Value::Minutes(Some(Limit::Is(1440)), "NOT_SET", "UNLIMITED");
        assert_eq!(day.text(&context).unwrap(), "1-00:00:00");
        assert_eq!(day.json(), json!({"set": true, "infinite": false, "number": 1440}));
    }

    #[test]
    fn megabytes_take_the_unit_that_suits() {
        let told = |megabytes| size(megabytes, MEGABYTES, false);
        let sizes = [0, 1000, 1280, 1536, 8000, 16_384, 192_000, 1 << 20, 1_572_864, 1_310_720];
        assert_eq!(
            sizes.map(told),
            ["0", "1000M", "1280M", "1.50G", "8000M", "16G", "187.50G", "1T", "1.50T", "1280G"]
        );
        assert_eq!(size(16_384, MEGABYTES, true), "16384M");
        assert_eq!(size(13_934_592, BYTES, false), "13608K");
        assert_eq!(size(6819, BYTES, false), "6819");
        assert_eq!(tres_list("cpu=4,mem=16G")[1]["count"], 16_384);
    }

    #[test]
    fn an_exit_status_tells_code_and_signal() {
        let context = RenderContext::default();
        assert_eq!(Value::ExitStatus(768).text(&context).unwrap(), "3:0");
        assert_eq!(Value::ExitStatus(9).text(&context).unwrap(), "0:9");
        assert_eq!(Value::ExitStatus(9).json()["signal"]["name"], "KILL");
        assert_eq!(Value::ExitStatus(768).json()["status"], json!(["ERROR"]));
    }
}
