//! Numbers as Slurm's options take them.

use super::error::{BAD_VALUE, Refusal};
use crate::counts::{self, NodeCount};
use crate::number;

/// The number at the beginning of a text, and zero when there is none.
pub(super) fn leading_or_zero(value: &str) -> i64 {
    number::leading(value).map_or(0, |(number, _)| number)
}

/// Reads a number greater than zero, as `--ntasks` takes it. Slurm keeps the low 32 bits.
pub(super) fn positive(value: &str) -> Result<u32, Refusal> {
    match number::whole(value) {
        Some(i64::MAX) => Err(Refusal::TooBig(i64::MAX)),
        Some(number) if number > 0 && low_bits(number) != 0 => Ok(low_bits(number)),
        _ => Err(Refusal::Number),
    }
}

/// As `positive`, where Slurm keeps the low 16 bits.
pub(super) fn small(value: &str) -> Result<u32, Refusal> {
    match positive(value)? & u32::from(u16::MAX) {
        0 => Err(Refusal::Number),
        number => Ok(number),
    }
}

/// Reads zero or more, as `--relative` takes it.
pub(super) fn not_negative(value: &str) -> Result<u32, Refusal> {
    match number::whole(value) {
        Some(number) if number >= 0 => Ok(low_bits(number)),
        // Nothing is read as nothing.
        None if value.is_empty() => Ok(0),
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

/// Reads `MIN[-MAX]`, or a list of sizes.
pub(super) fn node_count(value: &str) -> Result<NodeCount, Refusal> {
    counts::parse_nodes(value).map_err(|error| Refusal::Said(error.to_string(), BAD_VALUE))
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
        let ends = |(first, last): &(&str, &str)| !first.is_empty() && !last.is_empty();
        let first = text.split_once('-').filter(ends);
        let first = first.map_or(text, |(first, _)| first);
        match number::multiple(first) {
            Some(number) if number > i64::from(i32::MAX) => Err(Refusal::Said(
                format!("Numeric argument ({number}) to big for {which} arg of -B."),
                1,
            )),
            Some(number) if number >= 0 => Ok(u32::try_from(number).ok()),
            _ => Err(Refusal::Said(
                format!("Invalid numeric value \"{text}\" for {which} arg of -B."),
                1,
            )),
        }
    };
    Ok([read("first")?, read("second")?, read("third")?])
}
