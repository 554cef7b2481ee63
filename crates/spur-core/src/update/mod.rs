//! `Key=value` of `scontrol update` and its relatives: one row a key, with what it sets and when it may.

pub mod job;
pub mod node;
pub mod partition;
pub mod reservation;

pub use job::JobKey;
pub use node::{NodeChange, NodeVerb};

use crate::state::Assignment;

/// Looks a key up as Slurm does: in any case, and by any beginning that is long enough.
fn find<'a, R>(
    rows: &'a [R],
    names: fn(&R) -> &'static [&'static str],
    key: &str,
) -> Option<&'a R> {
    let is_it = |row: &&R| names(row).iter().any(|name| name.eq_ignore_ascii_case(key));
    let begins = |name: &&&str| {
        name.len() > key.len()
            && key.len() >= 3
            && name.get(..key.len()).is_some_and(|head| head.eq_ignore_ascii_case(key))
    };
    rows.iter()
        .find(is_it)
        .or_else(|| rows.iter().find(|row| names(row).iter().any(|n| begins(&n))))
}

/// Splits `Key=value` and `Key+=value`, `Key-=value`.
pub fn split(word: &str) -> Option<Assignment> {
    let (key, value) = word.split_once('=')?;
    Some(Assignment { key: key.to_string(), value: value.to_string() })
}
