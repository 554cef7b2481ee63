//! Job arrays: `1-10:2%4`, kept as ranges and never expanded while read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use crate::number;

/// Characters of a task list that `scontrol` and `squeue` show before they write `...`.
const SHOWN: usize = 60;

/// Task ids asked for, and how many may run at once.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ArraySpec {
    /// In rising order of `first`.
    #[prost(message, repeated, tag = "1")]
    pub ranges: Vec<ArrayRange>,
    /// `%4`: at most so many tasks at once. Zero: no such limit.
    #[prost(uint32, tag = "2")]
    pub throttle: u32,
}

/// Every `step`th id from `first` to `last`, which is one of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Message)]
pub struct ArrayRange {
    /// The lowest id.
    #[prost(uint32, tag = "1")]
    pub first: u32,
    /// The highest id.
    #[prost(uint32, tag = "2")]
    pub last: u32,
    /// The distance between ids, at least 1.
    #[prost(uint32, tag = "3")]
    pub step: u32,
}

/// An array that Slurm would refuse, with error 2081.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid job array specification")]
pub struct Error;

/// Reads `--array`. Ids and steps stay below `max_array_size`, the configuration's
/// `MaxArraySize`; nothing is expanded, so any text is safe to read. An empty list is no array.
pub fn parse(text: &str, max_array_size: u32) -> Result<Option<ArraySpec>, Error> {
    let mut ranges = Vec::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        // A throttle may stand behind any item.
        let (ids, _) = item.split_once('%').unwrap_or((item, ""));
        ranges.push(parse_range(ids, max_array_size)?);
    }
    if ranges.is_empty() {
        return Ok(None);
    }
    let throttle = text.split_once('%').and_then(|(_, throttle)| number::leading(throttle));
    let throttle = throttle.and_then(|(throttle, _)| u32::try_from(throttle).ok()).unwrap_or(0);
    Ok(Some(ArraySpec { ranges: join(ranges), throttle }))
}

/// Reads `3`, `1-10` or `1-10:2`, perhaps in brackets. A number left out is 0.
fn parse_range(text: &str, max_array_size: u32) -> Result<ArrayRange, Error> {
    let text = text.strip_prefix('[').unwrap_or(text);
    let number = |text| {
        let (number, rest) = number::leading(text).unwrap_or((0, text));
        (number, rest.strip_prefix(']').unwrap_or(rest))
    };
    let within = |number| u32::try_from(number).ok().filter(|number| *number < max_array_size);

    let (first, mut rest) = number(text);
    let (mut last, mut step) = (first, 1);
    if let Some(after) = rest.strip_prefix('-') {
        (last, rest) = number(after);
        if let Some(after) = rest.strip_prefix(':') {
            (step, rest) = number(after);
        }
    }
    let (first, last) = within(first).zip(within(last)).ok_or(Error)?;
    let step = within(step).ok_or(Error)?;
    if !rest.is_empty() || last < first || step == 0 {
        return Err(Error);
    }
    let last = last - (last - first) % step;
    Ok(ArrayRange { first, last, step: if first == last { 1 } else { step } })
}

/// Sorts ranges and joins those without gaps that touch.
fn join(mut ranges: Vec<ArrayRange>) -> Vec<ArrayRange> {
    ranges.sort_unstable();
    ranges.dedup();
    let mut joined: Vec<ArrayRange> = Vec::with_capacity(ranges.len());
    for next in ranges {
        match joined.last_mut() {
            Some(last)
                if last.step == 1
                    && next.step == 1
                    && next.first <= last.last.saturating_add(1) =>
            {
                last.last = last.last.max(next.last);
            }
            _ => joined.push(next),
        }
    }
    joined
}

impl ArraySpec {
    /// The ids in rising order, each once. They are counted off, not stored.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let mut heads: BinaryHeap<_> = self
            .ranges
            .iter()
            .map(|range| Reverse((range.first, range.last, range.step)))
            .collect();
        let mut before = None;
        std::iter::from_fn(move || {
            loop {
                let Reverse((id, last, step)) = heads.pop()?;
                let next = id.checked_add(step.max(1)).filter(|next| *next <= last);
                heads.extend(next.map(|next| Reverse((next, last, step))));
                if before != Some(id) {
                    before = Some(id);
                    return before;
                }
            }
        })
    }

    /// The lowest id.
    pub fn first(&self) -> Option<u32> {
        self.ranges.iter().map(|range| range.first).min()
    }

    /// Whether exactly one id is left.
    pub fn is_single(&self) -> bool {
        self.ids().nth(1).is_none()
    }

    /// Takes an id out.
    pub fn remove(&mut self, id: u32) {
        let ranges = std::mem::take(&mut self.ranges);
        for range in ranges {
            let step = range.step.max(1);
            let is_in =
                (range.first..=range.last).contains(&id) && (id - range.first).is_multiple_of(step);
            if !is_in {
                self.ranges.push(range);
                continue;
            }
            if id > range.first {
                self.ranges.push(ArrayRange { last: id - step, ..range });
            }
            if id < range.last {
                self.ranges.push(ArrayRange { first: id + step, ..range });
            }
        }
    }

    /// Whether a task has this id.
    pub fn contains(&self, id: u32) -> bool {
        self.ranges.iter().any(|range| {
            (range.first..=range.last).contains(&id)
                && (id - range.first).is_multiple_of(range.step.max(1))
        })
    }

    /// The text as `scontrol` and `squeue` show it: a long list ends with `...`.
    pub fn shown(&self) -> String {
        let mut list = written(self.ids());
        if list.len() > SHOWN {
            list.truncate(SHOWN);
            list.push_str("...");
        }
        list + &self.written_throttle()
    }

    fn written_throttle(&self) -> String {
        if self.throttle == 0 { String::new() } else { format!("%{}", self.throttle) }
    }
}

impl fmt::Display for ArraySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(written(self.ids()) + &self.written_throttle()))
    }
}

/// Writes rising ids as Slurm does: `1-3,7`, and `0-100:10` for a longer row with equal gaps.
pub fn written(ids: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => runs.push((id, id)),
        }
    }
    if let [(first, _), (second, _), .., (last, _)] = runs[..]
        && runs.len() > 5
        && last - first > 10
        && runs.iter().all(|(first, last)| first == last)
        && runs.windows(2).all(|pair| pair[1].0 - pair[0].0 == second - first)
    {
        return format!("{first}-{last}:{}", second - first);
    }
    let write = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(write).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
