//! Trackable resources and amounts of them: `cpu=4,mem=62.50G,node=1,billing=4,gres/gpu=2`.

use std::collections::BTreeMap;
use std::fmt;

use crate::number;
use crate::size;

/// A resource that is counted, limited and charged for. The order is the one Slurm writes them in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tres {
    /// Processors.
    Cpu,
    /// Memory, in megabytes.
    Memory,
    /// Energy, in joules.
    Energy,
    /// Nodes.
    Node,
    /// What the partition's weights make of the others.
    Billing,
    /// Bytes moved to and from disk.
    Disk,
    /// Virtual memory, in megabytes.
    VirtualMemory,
    /// Page faults.
    Pages,
    /// `gres/gpu`, `gres/gpu:mi300x`, `license/matlab`, `bb/cray`, `ic/ofed`.
    Named {
        /// Before the slash.
        kind: String,
        /// Behind it.
        name: String,
    },
}

/// Names, and the numbers by which Slurm stores them.
static BUILT_IN: [(&str, Tres, u32); 8] = [
    ("cpu", Tres::Cpu, 1),
    ("mem", Tres::Memory, 2),
    ("energy", Tres::Energy, 3),
    ("node", Tres::Node, 4),
    ("billing", Tres::Billing, 5),
    ("fs/disk", Tres::Disk, 6),
    ("vmem", Tres::VirtualMemory, 7),
    ("pages", Tres::Pages, 8),
];

/// Kinds that have names behind a slash.
static NAMED_KINDS: [&str; 4] = ["bb", "gres", "ic", "license"];

/// Amounts of resources. `None` takes a limit away: `cpu=-1`.
pub type Amounts = BTreeMap<Tres, Option<u64>>;

/// A list that Slurm would refuse, in the words of `sacctmgr`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Also for a named resource that the cluster does not track.
    #[error("no TRES known by type {0}")]
    Unknown(String),
    /// `cpu` without an amount.
    #[error("no TRES id found for {0}")]
    NoAmount(String),
    /// `=1`
    #[error("no value given as TRES type/id.")]
    NoName,
    /// `mem=1X`
    #[error("Invalid unit type '{0}'. Possible options are 'KMGTP'")]
    Unit(char),
    /// More than 64 bits hold.
    #[error("{0} is too much")]
    TooMuch(String),
}

impl Error {
    /// The line as Slurm logs it.
    pub fn logged(&self) -> String {
        match self {
            Error::Unit(_) | Error::TooMuch(_) => self.to_string(),
            _ => format!("slurmdb_format_tres_str: {self}"),
        }
    }
}

/// Reads `cpu=4,mem=8G,gres/gpu=2`. What is said last about a resource counts.
pub fn parse(text: &str) -> Result<Amounts, Error> {
    let mut amounts = Amounts::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (name, amount) = match item.split_once('=') {
            Some(("", _)) => return Err(Error::NoName),
            Some((name, amount)) => (name, Some(amount)),
            None => (item, None),
        };
        let tres = parse_name(name)?;
        let amount = amount.ok_or_else(|| Error::NoAmount(name.to_owned()))?;
        amounts.insert(tres.clone(), parse_amount(&tres, amount)?);
    }
    Ok(amounts)
}

/// Reads what [`display`] wrote, `mem=62.50G` among it, which nobody may say.
pub fn read(text: &str) -> Amounts {
    let mut amounts = Amounts::new();
    for (name, amount) in text.split(',').filter_map(|item| item.split_once('=')) {
        let Ok(tres) = parse_name(name) else { continue };
        let halved = amount.split_once(".50").and_then(|(whole, unit)| {
            let unit_below = unit.chars().next().and_then(below)?;
            let whole: u64 = whole.parse().ok()?;
            Some(format!("{}{unit_below}", whole.checked_mul(1024)?.checked_add(512)?))
        });
        if let Ok(amount) = parse_amount(&tres, halved.as_deref().unwrap_or(amount)) {
            amounts.insert(tres, amount);
        }
    }
    amounts
}

/// The unit that a unit has 1024 of.
fn below(unit: char) -> Option<char> {
    const UNITS: &str = "KMGTP";
    UNITS.find(unit)?.checked_sub(1).and_then(|place| UNITS.chars().nth(place))
}

/// Reads the name of a resource, in any case.
pub fn parse_name(name: &str) -> Result<Tres, Error> {
    let known = BUILT_IN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    if let Some((_, tres, _)) = known {
        return Ok(tres.clone());
    }
    let unknown = || Error::Unknown(name.to_owned());
    let (kind, name) = name.split_once('/').ok_or_else(unknown)?;
    let kind = NAMED_KINDS.iter().find(|known| known.eq_ignore_ascii_case(kind));
    let kind = kind.filter(|_| !name.is_empty()).ok_or_else(unknown)?;
    Ok(Tres::Named { kind: (*kind).to_owned(), name: name.to_owned() })
}

/// A number with a power of 1024 behind it; memory counts in megabytes. Nothing is 0, and less
/// than nothing is no limit.
fn parse_amount(tres: &Tres, text: &str) -> Result<Option<u64>, Error> {
    let (number, unit) = number::leading(text).unwrap_or((0, text));
    let in_megabytes = matches!(tres, Tres::Memory | Tres::VirtualMemory);
    let power: i32 = match unit.chars().next().map(|unit| unit.to_ascii_uppercase()) {
        None if in_megabytes => 2,
        None => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some(_) => return Err(Error::Unit(unit.chars().next().unwrap_or_default())),
    };
    let Ok(number) = u64::try_from(number) else { return Ok(None) };
    let power = power - if in_megabytes { 2 } else { 0 };
    match u32::try_from(power) {
        // More could not be read back.
        Ok(power) => (number.checked_mul(1 << (10 * power)))
            .filter(|amount| i64::try_from(*amount).is_ok())
            .map(Some),
        Err(_) => Some(Some(number.div_ceil(1 << 10))),
    }
    .ok_or_else(|| Error::TooMuch(text.to_owned()))
}

/// Writes amounts as `scontrol` and `sacct` do, memory with its unit.
pub fn display(amounts: &Amounts) -> String {
    write(amounts, |tres, amount| match tres {
        Tres::Memory | Tres::VirtualMemory => size::display_megabytes(amount),
        _ => amount.to_string(),
    })
}

/// Writes amounts as with `--noconvert`: memory stays in megabytes.
pub fn display_plain(amounts: &Amounts) -> String {
    write(amounts, |tres, amount| match tres {
        Tres::Memory | Tres::VirtualMemory => format!("{amount}M"),
        _ => amount.to_string(),
    })
}

fn write(amounts: &Amounts, amount: impl Fn(&Tres, u64) -> String) -> String {
    let items: Vec<_> = amounts
        .iter()
        .map(|(tres, number)| {
            let number = number.map_or_else(|| "-1".to_owned(), |number| amount(tres, number));
            format!("{tres}={number}")
        })
        .collect();
    items.join(",")
}

impl Tres {
    /// The number by which Slurm stores it; named ones get theirs from the cluster, from 1001 on.
    pub fn id(&self) -> Option<u32> {
        BUILT_IN.iter().find(|(_, tres, _)| tres == self).map(|(.., id)| *id)
    }
}

impl fmt::Display for Tres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tres::Named { kind, name } => write!(f, "{kind}/{name}"),
            built_in => {
                let name = BUILT_IN.iter().find(|(_, tres, _)| tres == built_in);
                f.write_str(name.map_or("", |(name, ..)| name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_written_in_slurms_order() {
        let text = "gres/gpu:mi300x=2,gres/gpu=2,billing=4,node=1,mem=64000,cpu=4";
        let amounts = parse(text).unwrap();
        let shown = "cpu=4,mem=62.50G,node=1,billing=4,gres/gpu=2,gres/gpu:mi300x=2";
        assert_eq!(display(&amounts), shown);
        assert!(display_plain(&amounts).contains("mem=64000M"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["cpu=4,mem=62.50G,gres/gpu=2", "mem=1.50T,node=2", "mem=1500M", "cpu=-1", ""] {
            assert_eq!(display(&read(text)), text);
        }
        assert_eq!(read("mem=1.50G")[&Tres::Memory], Some(1536));
    }

    #[test]
    fn units_and_cases_are_understood() {
        for (text, shown) in [
            ("CPU=4,Mem=8G", "cpu=4,mem=8G"),
            ("mem=1500M", "mem=1500M"),
            ("mem=1K", "mem=1M"),
            ("cpu=-1", "cpu=-1"),
            ("cpu=", "cpu=0"),
            ("cpu=1,cpu=2", "cpu=2"),
            ("GRES/gpu=1", "gres/gpu=1"),
            ("cpu=2k", "cpu=2048"),
            ("", ""),
        ] {
            assert_eq!(display(&parse(text).unwrap()), shown, "{text:?}");
        }
    }

    #[test]
    fn refusals_use_sacctmgrs_words() {
        for (text, words) in [
            ("bogus=1", "slurmdb_format_tres_str: no TRES known by type bogus"),
            ("cpu", "slurmdb_format_tres_str: no TRES id found for cpu"),
            ("foo/bar=1", "slurmdb_format_tres_str: no TRES known by type foo/bar"),
            ("=1", "slurmdb_format_tres_str: no value given as TRES type/id."),
            ("cpu=a", "Invalid unit type 'a'. Possible options are 'KMGTP'"),
            ("cpu=1.5", "Invalid unit type '.'. Possible options are 'KMGTP'"),
            ("mem=1X", "Invalid unit type 'X'. Possible options are 'KMGTP'"),
        ] {
            assert_eq!(parse(text).unwrap_err().logged(), words);
        }
        assert_eq!(parse("bb/a=9454P"), Err(Error::TooMuch("9454P".to_owned())));
    }

    #[test]
    fn numbers_are_slurms() {
        for (name, id) in [("cpu", 1), ("mem", 2), ("node", 4), ("billing", 5), ("pages", 8)] {
            assert_eq!(parse_name(name).unwrap().id(), Some(id));
        }
        assert_eq!(parse_name("gres/gpu").unwrap().id(), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(cpu in 0..1u64 << 40, mem in 0..1u64 << 40, gpu in 0..99u64) {
            let text = format!("cpu={cpu},mem={mem}M,gres/gpu={gpu}");
            let amounts = parse(&text).unwrap();
            prop_assert_eq!(parse(&display_plain(&amounts)), Ok(amounts));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(cpu|mem|gres/|=|,|[0-9]{1,20}|[KMGTP-]){0,8}|\\PC{0,16}") {
            if let Ok(amounts) = parse(&text) {
                let _ = display(&amounts);
            }
        }
    }
}
