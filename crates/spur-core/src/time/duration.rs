//! Reads spans of time: `MM`, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`, `UNLIMITED`.

use crate::limit::Limit;

/// The longest span that fits Slurm's minutes; the numbers above mean "unset" and "unlimited".
pub const MAX_MINUTES: u64 = u32::MAX as u64 - 2;

/// A span that is none of Slurm's forms, or longer than [`MAX_MINUTES`].
///
/// Slurm's tools say `Invalid --time specification`, with the option's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid time specification `{0}'")]
pub struct Error(pub String);

/// Reads a time limit of a job, in minutes. Zero asks for no limit.
pub fn parse_limit(text: &str) -> Result<Limit, Error> {
    Ok(match parse_minutes(text)? {
        Limit::Is(0) => Limit::Unlimited,
        limit => limit,
    })
}

/// Reads a span in minutes; seconds count as a minute begun. `-1` is unlimited, as in Slurm.
pub fn parse_minutes(text: &str) -> Result<Limit, Error> {
    Ok(match parse_seconds(text)? {
        Limit::Is(seconds) => Limit::Is(seconds.div_ceil(60)),
        Limit::Unlimited => Limit::Unlimited,
    })
}

/// Reads a span in seconds. A number alone is minutes: `90` is an hour and a half.
pub fn parse_seconds(text: &str) -> Result<Limit, Error> {
    let error = || Error(text.to_owned());
    let word = |word: &str| text.eq_ignore_ascii_case(word);
    if text == "-1" || word("UNLIMITED") || word("INFINITE") {
        return Ok(Limit::Unlimited);
    }
    if text == "-0" {
        return Ok(Limit::Is(0));
    }
    let seconds = match text.split_once('-') {
        Some((days, clock)) => {
            let days = number(days).ok_or_else(error)?;
            let clock = if clock.is_empty() { vec![] } else { fields(clock).ok_or_else(error)? };
            let [hours, minutes, seconds] = match clock[..] {
                [] => [0; 3],
                [hours] => [hours, 0, 0],
                [hours, minutes] => [hours, minutes, 0],
                [hours, minutes, seconds] => [hours, minutes, seconds],
                _ => return Err(error()),
            };
            days * 86_400 + hours * 3_600 + minutes * 60 + seconds
        }
        None => match fields(text).ok_or_else(error)?[..] {
            [minutes] => minutes * 60,
            [minutes, seconds] => minutes * 60 + seconds,
            [hours, minutes, seconds] => hours * 3_600 + minutes * 60 + seconds,
            _ => return Err(error()),
        },
    };
    if seconds > MAX_MINUTES * 60 { Err(error()) } else { Ok(Limit::Is(seconds)) }
}

fn fields(clock: &str) -> Option<Vec<u64>> {
    clock.split(':').map(number).collect()
}

/// Digits only, and few enough that days of them count in seconds.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = digits.then(|| text.parse().ok())??;
    Some(u64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::display;
    use proptest::prelude::*;

    /// `sbatch --time=…` and what `scontrol show job` says then.
    #[rustfmt::skip]
    static ACCEPTED: &[(&str, &str)] = &[
        ("1", "00:01:00"), ("0", "UNLIMITED"), ("90", "01:30:00"), ("1:30", "00:02:00"),
        ("0:30", "00:01:00"), ("0:00", "UNLIMITED"), ("1:00", "00:01:00"), ("1:60", "00:02:00"),
        ("1:75", "00:03:00"), ("1:99", "00:03:00"), ("90:00", "01:30:00"),
        ("1:00:00", "01:00:00"), ("1:30:30", "01:31:00"), ("1:60:60", "02:01:00"),
        ("25:00:00", "1-01:00:00"), ("01:02:03", "01:03:00"), ("1-0", "1-00:00:00"),
        ("1-00", "1-00:00:00"), ("1-12", "1-12:00:00"), ("1-12:30", "1-12:30:00"),
        ("1-12:30:30", "1-12:31:00"), ("0-0:1", "00:01:00"), ("0-00:00:01", "00:01:00"),
        ("0-0", "UNLIMITED"), ("1-25", "2-01:00:00"), ("1-24:60", "2-01:00:00"),
        ("1-", "1-00:00:00"), ("-1", "UNLIMITED"), ("UNLIMITED", "UNLIMITED"),
        ("unlimited", "UNLIMITED"), ("Unlimited", "UNLIMITED"), ("INFINITE", "UNLIMITED"),
        ("infinite", "UNLIMITED"), ("010", "00:10:00"), ("24855-00", "24855-00:00:00"),
        ("00:00:01", "00:01:00"), ("00:00:59", "00:01:00"), ("00:01:00", "00:01:00"),
        ("00:01:01", "00:02:00"), ("0-0:0:61", "00:02:00"), ("1:00:0", "01:00:00"),
        ("1-1:1:1", "1-01:02:00"), ("365-0", "365-00:00:00"), ("5-10", "5-10:00:00"),
        ("-0", "UNLIMITED"), ("00-00", "UNLIMITED"), ("12-3:04", "12-03:04:00"),
        ("0:0:1", "00:01:00"), ("001-01:01:01", "1-01:02:00"),
    ];

    /// `sbatch --time=…` that ends with `Invalid --time specification`.
    #[rustfmt::skip]
    static REFUSED: &[&str] = &[
        ":30", "1:", "-", "1--1", "a", "10m", "1h", "1d", "1-a", "1:2:3:4", "1-1:2:3:4", "inf",
        "Infinit", "-1:00", "+5", " 5", "5 ", "1 :30", "1.5", "0x10", "4294967293", "5,6", "NONE",
        "", " ", "partition_limit", "1-2-3", "1:2-3", "1-:30", "1-1:", "1-1:1:", "1:1:", "1-1-1",
        "--1", "1::1", "-1-0", "1:1:1-", "1-1::1", ":", "::", "1-:",
    ];

    #[test]
    fn limits_are_read_as_slurm_reads_them() {
        for (text, shown) in ACCEPTED {
            let limit = parse_limit(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(display::limit_long(limit), *shown, "{text:?}");
        }
        for text in REFUSED {
            // Slurm counts this one in 32 bits and comes out at its "unset".
            if *text != "4294967293" {
                assert_eq!(parse_limit(text), Err(Error((*text).to_owned())));
            }
        }
    }

    #[test]
    fn spans_too_long_to_store_are_refused() {
        assert_eq!(parse_minutes("4294967293"), Ok(Limit::Is(MAX_MINUTES)));
        for text in ["4294967294", "4294967296", "4294967295-00", "99999999999999999999"] {
            assert!(parse_minutes(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(minutes in 1..=MAX_MINUTES) {
            let limit = Limit::Is(minutes);
            prop_assert_eq!(parse_limit(&display::limit_long(limit)), Ok(limit));
            prop_assert_eq!(parse_limit(&display::limit_short(limit)), Ok(limit));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9:-]{0,16}|\\PC{0,16}") {
            let _ = parse_limit(&text);
        }
    }
}
