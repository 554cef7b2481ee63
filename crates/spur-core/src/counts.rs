//! Numbers of nodes: `2`, `2-8`, `2k`, `1,3-5`, `1-9:2`.

use crate::job::array::{self, ArraySpec};
use crate::number;

/// The largest count there is; Slurm keeps the numbers above for itself.
pub const MAX: u32 = i32::MAX as u32;

/// Nodes a job may get.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCount {
    /// At least so many.
    pub min: u32,
    /// At most so many; not said, or 0, is as many as there are.
    pub max: Option<u32>,
    /// Only these numbers, when a list or a step was given.
    pub sizes: Option<ArraySpec>,
}

/// A count that Slurm would refuse, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// For `--nodes`; exit status 255.
    #[error("\"{0}\" is not a valid node count")]
    NodeCount(String),
    /// For `--nodes`; exit status 255.
    #[error("Maximum node count {max} is less than minimum node count {min}")]
    MaximumBelowMinimum {
        /// As written; -1 when missing.
        max: i64,
        /// As written.
        min: i64,
    },
}

/// Reads `--nodes`: a number, a range, or a list of both with steps.
pub fn parse_nodes(text: &str) -> Result<NodeCount, Error> {
    if text.contains([',', ':']) {
        return parse_sizes(text);
    }
    let Some((min, max)) = text.split_once('-') else {
        let count = within(node_count(text)?, text)?;
        return Ok(NodeCount { min: count, max: Some(count).filter(|max| *max > 0), sizes: None });
    };
    let (min_text, max_text) = (min, max);
    let min = if min.trim().is_empty() { 1 } else { node_count(min)? };
    let max = if max.trim().is_empty() { -1 } else { node_count(max)? };
    if max < min && max != 0 {
        return Err(Error::MaximumBelowMinimum { max, min });
    }
    let max = Some(within(max, max_text)?).filter(|max| *max > 0);
    Ok(NodeCount { min: within(min, min_text)?, max, sizes: None })
}

/// A list of sizes, as later versions of Slurm have it.
fn parse_sizes(text: &str) -> Result<NodeCount, Error> {
    let error = || Error::NodeCount(text.to_owned());
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b",:-".contains(&byte));
    let complete = text.split([',', ':', '-']).all(|number| !number.is_empty());
    if !plain || !complete {
        return Err(error());
    }
    let sizes = array::parse(text, MAX).ok().flatten().ok_or_else(error)?;
    let min = sizes.ranges.iter().map(|range| range.first).min().ok_or_else(error)?;
    let max = sizes.ranges.iter().map(|range| range.last).max().ok_or_else(error)?;
    if min == 0 { Err(error()) } else { Ok(NodeCount { min, max: Some(max), sizes: Some(sizes) }) }
}

/// A number with `k` or `m` behind it, perhaps among blanks.
fn node_count(text: &str) -> Result<i64, Error> {
    number::multiple(text.trim_end()).ok_or_else(|| Error::NodeCount(text.to_owned()))
}

fn within(count: i64, text: &str) -> Result<u32, Error> {
    let count = u32::try_from(count).ok().filter(|count| *count <= MAX);
    count.ok_or_else(|| Error::NodeCount(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn node_counts_are_read_as_slurm_reads_them() {
        for (text, min, max) in [
            ("1", 1, 1),
            ("0", 0, 0),
            ("-1", 1, 1),
            ("2-8", 2, 8),
            ("2k", 2048, 2048),
            ("2K", 2048, 2048),
            ("1k-2k", 1024, 2048),
            ("1m", 1_048_576, 1_048_576),
            ("2M", 2_097_152, 2_097_152),
            ("-2", 1, 2),
            (" 2", 2, 2),
            ("2 ", 2, 2),
            ("+2", 2, 2),
            ("2-+3", 2, 3),
            ("0-3", 0, 3),
            ("0-0", 0, 0),
            ("1-1", 1, 1),
            ("2 - 8", 2, 8),
            ("100000", 100_000, 100_000),
            ("010", 10, 10),
            ("2-0", 2, 0),
            ("4-0k", 4, 0),
            (" -8", 1, 8),
            ("- 2", 1, 2),
            ("2k -4k", 2048, 4096),
        ] {
            let max = Some(max).filter(|max| *max > 0);
            assert_eq!(parse_nodes(text), Ok(NodeCount { min, max, sizes: None }), "{text:?}");
        }
    }

    #[test]
    fn node_counts_are_refused_in_slurms_words() {
        let below =
            |max, min| format!("Maximum node count {max} is less than minimum node count {min}");
        let invalid = |text| format!("\"{text}\" is not a valid node count");
        for (text, words) in [
            ("8-2", below(2, 8)),
            ("2-", below(-1, 2)),
            ("2--3", below(-3, 2)),
            ("22- ", below(-1, 22)),
            ("-", below(-1, 1)),
            (" ", invalid(" ")),
            ("2 k", invalid("2 k")),
            ("1g", invalid("1g")),
            ("a", invalid("a")),
            ("2a", invalid("2a")),
            ("2-a", invalid("a")),
            ("a-2", invalid("a")),
            (":2", invalid(":2")),
            (",1", invalid(",1")),
            ("1,", invalid("1,")),
            ("1.5", invalid("1.5")),
            ("4294967295", invalid("4294967295")),
            ("999999999999", invalid("999999999999")),
            ("0x2", invalid("0x2")),
            ("", invalid("")),
            ("2-4-6", invalid("4-6")),
            ("2kk", invalid("2kk")),
            ("2kb", invalid("2kb")),
            ("infinite", invalid("infinite")),
        ] {
            assert_eq!(parse_nodes(text).unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn lists_name_the_sizes() {
        for (text, min, max, sizes) in [
            ("1,3-5", 1, 5, "1,3-5"),
            ("1-9:2", 1, 9, "1,3,5,7,9"),
            ("1-15:4", 1, 13, "1,5,9,13"),
            ("16,2-4", 2, 16, "2-4,16"),
        ] {
            let count = parse_nodes(text).unwrap();
            assert_eq!((count.min, count.max), (min, Some(max)), "{text}");
            assert_eq!(count.sizes.unwrap().to_string(), sizes);
        }
        for text in ["1-9:0", "1-9:", "4-2:1", "0,1", "1,a", "1k,2", "1:2", "1,-3"] {
            assert!(parse_nodes(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9km,:-]{0,12}|\\PC{0,12}") {
            if let Ok(count) = parse_nodes(&text) {
                prop_assert!(count.max.is_none_or(|max| count.min <= max));
            }
        }
    }
}
