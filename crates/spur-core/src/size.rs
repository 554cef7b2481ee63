//! Amounts of memory and disk: `4G`, `4096M`, and back.

/// A power of 1024 with its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// No letter.
    One,
    /// `K`
    Kilo,
    /// `M`
    Mega,
    /// `G`
    Giga,
    /// `T`
    Tera,
    /// `P`
    Peta,
    /// `E`
    Exa,
}

impl Unit {
    const ALL: [Unit; 7] =
        [Unit::One, Unit::Kilo, Unit::Mega, Unit::Giga, Unit::Tera, Unit::Peta, Unit::Exa];

    /// The letter behind a number, empty for none.
    pub fn letter(self) -> &'static str {
        ["", "K", "M", "G", "T", "P", "E"][self as usize]
    }
}

/// Text that is no amount. Slurm's tools say `Invalid --mem specification`, with the option's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid size `{0}'")]
pub struct Error(pub String);

/// Reads `--mem`, `--mem-per-cpu`, `--mem-per-gpu` and `--tmp`, in megabytes: `500`, `4G`, `4gb`.
/// Kilobytes count as a megabyte begun.
pub fn parse_megabytes(text: &str) -> Result<u64, Error> {
    let error = || Error(text.to_owned());
    let number = text.trim_start_matches(|blank: char| blank.is_ascii_whitespace());
    let number = number.strip_prefix('+').unwrap_or(number);
    let end = number.find(|end: char| !end.is_ascii_digit()).unwrap_or(number.len());
    let (number, unit) = number.split_at(end);
    let number: u64 = number.parse().map_err(|_| error())?;
    // Slurm counts in 64 signed bits.
    let number = Some(number).filter(|number| i64::try_from(*number).is_ok()).ok_or_else(error)?;
    match unit.to_ascii_uppercase().as_str() {
        "" | "M" | "MB" => Some(number),
        "K" | "KB" => Some(number.div_ceil(1 << 10)),
        "G" | "GB" => number.checked_mul(1 << 10),
        "T" | "TB" => number.checked_mul(1 << 20),
        _ => None,
    }
    .ok_or_else(error)
}

/// Writes an amount with the largest letter that leaves a whole number or a half: 1024 megabytes
/// are `1G`, 64000 are `62.50G` and 1500 stay `1500M`.
pub fn display(number: u64, unit: Unit) -> String {
    let mut amount = number as f64;
    let mut unit = unit as usize;
    while amount >= 1024.0 && (amount as u64).is_multiple_of(512) && unit + 1 < Unit::ALL.len() {
        amount /= 1024.0;
        unit += 1;
    }
    // Slurm has no letter behind a zero.
    let letter = if number == 0 { "" } else { Unit::ALL[unit].letter() };
    if amount.fract() == 0.0 {
        format!("{amount:.0}{letter}")
    } else {
        format!("{amount:.2}{letter}")
    }
}

/// Writes megabytes: `1000M`, `1G`, `1.50T`, `0`.
pub fn display_megabytes(megabytes: u64) -> String {
    display(megabytes, Unit::Mega)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `sbatch --mem=…` and the job's `MinMemoryNode`.
    #[rustfmt::skip]
    static ACCEPTED: &[(&str, &str)] = &[
        ("1", "1M"), ("0", "0"), ("500", "500M"), ("1K", "1M"), ("1k", "1M"), ("1M", "1M"),
        ("1m", "1M"), ("1G", "1G"), ("1g", "1G"), ("1T", "1T"), ("1t", "1T"), ("1KB", "1M"),
        ("1MB", "1M"), ("1mb", "1M"), ("1GB", "1G"), ("1gb", "1G"), ("1TB", "1T"), ("1Gb", "1G"),
        ("1gB", "1G"), ("10K", "1M"), ("1024K", "1M"), ("1025K", "2M"), ("2047K", "2M"),
        ("2048K", "2M"), ("+1", "1M"), (" 1", "1M"), ("0G", "0"), ("010", "10M"),
        ("4294967296", "4P"), ("954M", "954M"), ("1000000", "1000000M"), ("1024", "1G"),
        ("1500", "1500M"), ("2000", "2000M"), ("64000", "62.50G"), ("100000", "100000M"),
        ("250000", "250000M"), ("1023", "1023M"), ("1025", "1025M"), ("10240", "10G"),
        ("1536", "1.50G"), ("5000", "5000M"), ("12345", "12345M"), ("1048576", "1T"),
        ("2097153", "2097153M"), ("1792", "1792M"), ("1572864", "1.50T"), ("1573376", "1.50T"),
        ("1573888", "1537G"), ("512", "512M"),
    ];

    #[rustfmt::skip]
    static REFUSED: &[&str] = &[
        "1P", "1GiB", "1Gi", "1MiB", "1B", "1b", "1.5G", "1.5", "-1", "1 ", "1 G", "1GG", "G", "abc",
        "1X", "0x10", "99999999999999999999", "1E", "1Z", "", "unlimited", "1,2",
    ];

    #[test]
    fn memory_is_read_and_written_as_slurm_does() {
        for (text, shown) in ACCEPTED {
            let megabytes = parse_megabytes(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(display_megabytes(megabytes), *shown, "{text:?}");
        }
        for text in REFUSED {
            assert_eq!(parse_megabytes(text), Err(Error((*text).to_owned())));
        }
    }

    proptest! {
        #[test]
        fn whole_amounts_read_back(number in 0u64..1 << 40) {
            let text = display_megabytes(number);
            if !text.contains(['.', 'P', 'E']) {
                prop_assert_eq!(parse_megabytes(&text), Ok(number));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[ +0-9]{0,20}[a-zA-Z]{0,2}|\\PC{0,16}") {
            let _ = parse_megabytes(&text);
        }
    }
}
