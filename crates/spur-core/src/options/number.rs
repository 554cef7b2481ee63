//! Numbers as Slurm's options take them.

use super::error::{BAD_VALUE, Refusal};

/// Reads a number greater than zero, as `--ntasks` takes it.
pub(super) fn positive(value: &str) -> Result<u32, Refusal> {
    match value.parse::<i32>() {
        Ok(number) if number > 0 => Ok(number.unsigned_abs()),
        _ => Err(Refusal::Number),
    }
}

/// Reads `MIN[-MAX]`.
pub(super) fn node_count(value: &str) -> Result<(u32, Option<u32>), Refusal> {
    let invalid = || Refusal::Said(format!("\"{value}\" is not a valid node count"), BAD_VALUE);
    let read = |text: &str| {
        let (digits, factor) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1024),
            None => match text.strip_suffix(['m', 'M']) {
                Some(digits) => (digits, 1024 * 1024),
                None => (text, 1),
            },
        };
        digits.parse::<u32>().ok()?.checked_mul(factor)
    };
    let (min, max) = match value.split_once('-') {
        Some((min, max)) => (read(min), Some(read(max).ok_or_else(invalid)?)),
        None => (read(value), read(value)),
    };
    let min = min.ok_or_else(invalid)?;
    if let Some(max) = max.filter(|max| *max < min) {
        let message = format!("Maximum node count {max} is less than minimum node count {min}");
        return Err(Refusal::Said(message, BAD_VALUE));
    }
    Ok((min, max))
}
