//! Reads `--cpu-freq=P1[-P2[:P3]]`.
//!
//! Words and governors travel as the numbers of Slurm's C interface.

use super::error::{BAD_VALUE, Refusal};
use crate::number;

/// The frequencies and the governor that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuFrequency {
    pub min: Option<u32>,
    pub max: Option<u32>,
    pub governor: Option<u32>,
}

/// Words for frequencies, and their codes.
pub(super) static WORDS: &[(&str, u32)] = &[
    ("Low", 0x8000_0001),
    ("Medium", 0x8000_0002),
    ("High", 0x8000_0003),
    ("Highm1", 0x8000_0004),
];

/// Governors, their codes, and whether a job may choose them unless configured otherwise.
pub(super) static GOVERNORS: &[(&str, u32, bool)] = &[
    ("Conservative", 0x8800_0000, false),
    ("OnDemand", 0x8400_0000, true),
    ("Performance", 0x8200_0000, true),
    ("PowerSave", 0x8100_0000, false),
    ("UserSpace", 0x8080_0000, true),
    ("SchedUtil", 0x8040_0000, false),
];

/// A frequency as it is shown: its word, or the number of kilohertz.
pub(crate) fn word(code: u32) -> String {
    let word = WORDS.iter().find(|(_, known)| *known == code);
    word.map_or_else(|| code.to_string(), |(word, _)| (*word).to_string())
}

/// A governor's name.
pub(crate) fn governor_name(code: u32) -> Option<&'static str> {
    GOVERNORS.iter().find(|(_, known, _)| *known == code).map(|(name, _, _)| *name)
}

pub(super) fn parse(value: &str) -> Result<CpuFrequency, Refusal> {
    read(value).map_err(|message| {
        Refusal::Said(format!("{message}\nInvalid --cpu-freq argument"), BAD_VALUE)
    })
}

fn read(value: &str) -> Result<CpuFrequency, String> {
    let mut parts = value.splitn(3, ':');
    let range = parts.next().unwrap_or("");
    let third = parts.next();
    let (first, second) = match range.split_once('-') {
        Some((first, second)) => (first, Some(second)),
        None => (range, None),
    };
    if let Some(found) = governor(first, first) {
        return match (second, third) {
            (None, None) => Ok(CpuFrequency { governor: Some(found?), ..CpuFrequency::default() }),
            _ => Err(format!(
                "governor cannot be specified twice {first}{{-}}:{} in --cpu-freq",
                third.unwrap_or("")
            )),
        };
    }
    let first_code = frequency(first)?;
    let Some(second) = second else {
        return match third {
            Some(name) => Err(format!("gov on cpu-frec ({name}) illegal without max")),
            None => Ok(CpuFrequency { max: Some(first_code), ..CpuFrequency::default() }),
        };
    };
    let second_code = frequency(second)?;
    if second_code < first_code {
        return Err(format!("min cpu-frec ({first}) must be < max cpu-freq ({second})"));
    }
    let governor = third
        .map(|name| {
            governor(name, value)
                .unwrap_or_else(|| Err(format!("illegal governor: {name} on --cpu-freq")))
        })
        .transpose()?;
    Ok(CpuFrequency { min: Some(first_code), max: Some(second_code), governor })
}

fn frequency(text: &str) -> Result<u32, String> {
    let word = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
    word.map(|(_, code)| *code)
        .or_else(|| number::leading(text).and_then(|(number, _)| u32::try_from(number).ok()))
        .filter(|code| *code > 0)
        .ok_or_else(|| format!("unrecognized --cpu-freq argument \"{text}\""))
}

/// The governor a text means; names may be shortened to four letters, and nobody looks behind a whole one. `said`
/// is what a refusal repeats.
fn governor(text: &str, said: &str) -> Option<Result<u32, String>> {
    let (_, code, allowed) = GOVERNORS.iter().find(|(name, _, _)| {
        let common = text.len().min(name.len());
        let start = text.get(..common).zip(name.get(..common));
        common >= 4 && start.is_some_and(|(text, name)| text.eq_ignore_ascii_case(name))
    })?;
    Some(if *allowed {
        Ok(*code)
    } else {
        Err(format!("governor of {said} is not allowed in slurm.conf"))
    })
}
