//! Numbers as Slurm's options take them.

use super::error::{BAD_VALUE, Refusal};
use crate::number;

/// The number at the beginning of a text, and zero when there is none.
pub(super) fn leading_or_zero(value: &str) -> i64 {
    number::leading(value).map_or(0, |(number, _)| number)
}

/// Reads a number greater than zero, as `--ntasks` takes it. Slurm keeps the low 32 bits.
pub(super) fn positive(value: &str) -> Result<u32, Refusal> {
    match number::whole(value) {
        Some(number) if number > 0 && low_bits(number) != 0 => Ok(low_bits(number)),
        _ => Err(Refusal::Number),
    }
}

/// Reads zero or more, as `--relative` takes it.
pub(super) fn not_negative(value: &str) -> Result<u32, Refusal> {
    match number::whole(value) {
        Some(number) if number >= 0 => Ok(low_bits(number)),
        _ => Err(Refusal::Number),
    }
}

/// As `inner`, but the message calls the option by another name.
pub(super) fn called(
    name: &str,
    value: &str,
    inner: fn(&str) -> Result<u32, Refusal>,
) -> Result<u32, Refusal> {
    inner(value)
        .map_err(|_| Refusal::Said(format!("Invalid numeric value \"{value}\" for {name}."), 1))
}

fn low_bits(number: i64) -> u32 {
    u32::try_from(number & i64::from(u32::MAX)).unwrap_or(0)
}

/// How many nodes were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeCount {
    pub min: u32,
    pub max: Option<u32>,
    /// The sizes that will do, when not all between are meant: `1,3-5`, `1-9:2`.
    pub sizes: String,
}

/// Reads `MIN[-MAX]`, or a list of sizes.
pub(super) fn node_count(value: &str) -> Result<NodeCount, Refusal> {
    if value.contains([',', ':']) {
        return node_sizes(value);
    }
    let (min, max) = match value.split_once('-') {
        // Nothing before the dash leaves the minimum open, nothing after it is no maximum at all.
        Some(("", max)) => (1, nodes(max)?),
        Some((min, "")) => return Err(less_than_minimum("-1", nodes(min)?)),
        Some((min, max)) => (nodes(min)?, nodes(max)?),
        None => (nodes(value)?, nodes(value)?),
    };
    match max {
        0 => Ok(NodeCount { min, max: None, sizes: String::new() }),
        max if max < min => Err(less_than_minimum(&max.to_string(), min)),
        max => Ok(NodeCount { min, max: Some(max), sizes: String::new() }),
    }
}

fn node_sizes(value: &str) -> Result<NodeCount, Refusal> {
    let mut least = u32::MAX;
    let mut most = 0;
    for part in value.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last, step) = (nodes(first)?, nodes(last)?, nodes(step)?);
        if first > last || first == 0 || step == 0 {
            return Err(not_a_node_count(part));
        }
        least = least.min(first);
        most = most.max(last);
    }
    Ok(NodeCount { min: least, max: Some(most), sizes: value.to_owned() })
}

fn nodes(text: &str) -> Result<u32, Refusal> {
    let trimmed = text.trim();
    let (digits, factor) = match trimmed.as_bytes().last() {
        Some(b'k' | b'K') => (&trimmed[..trimmed.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&trimmed[..trimmed.len() - 1], 1 << 20),
        _ => (trimmed, 1),
    };
    match number::whole(digits).and_then(|number| number.checked_mul(factor)) {
        Some(number) if number >= 0 => Ok(low_bits(number)),
        _ => Err(not_a_node_count(text)),
    }
}

fn not_a_node_count(text: &str) -> Refusal {
    Refusal::Said(format!("\"{text}\" is not a valid node count"), BAD_VALUE)
}

fn less_than_minimum(max: &str, min: u32) -> Refusal {
    let message = format!("Maximum node count {max} is less than minimum node count {min}");
    Refusal::Said(message, BAD_VALUE)
}

/// Reads `SOCKETS[:CORES[:THREADS]]`; a star or nothing leaves a part open.
pub(super) fn node_info(value: &str) -> Result<[Option<u32>; 3], Refusal> {
    let mut parts = value.split(':');
    let mut read = |which: &str| {
        let text = parts.next().unwrap_or("");
        if text.is_empty() || text == "*" {
            return Ok(None);
        }
        // Of a range the lower end counts.
        let first = text.split_once('-').filter(|(first, _)| !first.is_empty());
        nodes(first.map_or(text, |(first, _)| first)).map(Some).map_err(|_| {
            let message = format!("Invalid numeric value \"{text}\" for {which} arg of -B.");
            Refusal::Said(message, 1)
        })
    };
    Ok([read("first")?, read("second")?, read("third")?])
}
