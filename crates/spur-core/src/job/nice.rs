//! How far a job steps back: `--nice`, `--nice=100`.

use crate::number;

/// What `--nice` alone takes from a job's priority.
pub const DEFAULT: i32 = 100;

/// The farthest a job may step back, or forward.
pub const MAX: i32 = 2_147_483_645;

/// Too far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid --nice value, out of range (+/- {MAX})")]
pub struct Error;

/// Reads the value of `--nice`. As in Slurm, only the number at its beginning counts, and a text
/// without one is 0.
pub fn parse(value: &str) -> Result<i32, Error> {
    if value.is_empty() {
        return Ok(DEFAULT);
    }
    let (nice, _) = number::leading(value).unwrap_or((0, value));
    i32::try_from(nice).ok().filter(|nice| (-MAX..=MAX).contains(nice)).ok_or(Error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_slurm_reads_them() {
        for (value, nice) in [
            ("", Ok(100)),
            ("0", Ok(0)),
            ("10", Ok(10)),
            ("-10", Ok(-10)),
            ("a", Ok(0)),
            ("1.5", Ok(1)),
            ("1k", Ok(1)),
            ("+5", Ok(5)),
            ("2147483645", Ok(MAX)),
            ("-2147483645", Ok(-MAX)),
            ("2147483646", Err(Error)),
            ("-2147483646", Err(Error)),
            ("99999999999", Err(Error)),
        ] {
            assert_eq!(parse(value), nice, "{value:?}");
        }
        let words = "Invalid --nice value, out of range (+/- 2147483645)";
        assert_eq!(Error.to_string(), words);
    }
}
