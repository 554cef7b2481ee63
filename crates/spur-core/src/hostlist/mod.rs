//! Expands, compresses and sorts lists of node names: `n[1-4,7]`, `gpu[001-003]`.

mod compress;
mod order;
mod parse;
#[cfg(test)]
mod tests;

pub use order::natural;
pub use parse::parse;

/// The most hosts one list may name; longer lists are refused before anything is expanded.
pub const MAX_HOSTS: u64 = 1 << 20;

/// The most hosts one `lo-hi` in brackets may name. Slurm's own limit.
pub const MAX_RANGE: u64 = 65_536;

/// The most bytes the names of one list may take together.
pub const MAX_BYTES: u64 = 64 << 20;

/// Why a list was refused.
///
/// Slurm's tools print `Invalid hostlist: LIST` for each of these; [`Error::logged`] is the line
/// that goes before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What stands between commas in brackets is no number and no `lo-hi`.
    #[error("invalid range `{0}' in a host list")]
    InvalidRange(String),
    /// A range names more than [`MAX_RANGE`] hosts.
    #[error("too many hosts in range `{0}'")]
    RangeTooLong(String),
    /// Something follows the last bracket, as in `n[1-2]x`.
    #[error("`{0}' goes on after its last bracket")]
    TextAfterBracket(String),
    /// The list names more than [`MAX_HOSTS`] hosts, or names longer than [`MAX_BYTES`] together.
    #[error("host list names more than {MAX_HOSTS} hosts")]
    TooManyHosts,
}

impl Error {
    /// What Slurm writes to its log on the way, after `scontrol: error: `.
    pub fn logged(&self) -> Option<String> {
        match self {
            Error::InvalidRange(range) => {
                Some(format!("_parse_single_range: Invalid range: `{range}'"))
            }
            Error::RangeTooLong(range) => {
                Some(format!("_parse_single_range: Too many hosts in range `{range}'"))
            }
            Error::TextAfterBracket(_) | Error::TooManyHosts => None,
        }
    }
}

/// A list of hosts in the order given, kept as ranges. Repeated names stay repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hostlist {
    ranges: Vec<Range>,
    /// What was wrong with names that were left out.
    skipped: Vec<Error>,
}

/// Hosts that share a prefix and follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    prefix: String,
    /// Absent for a name without a number at its end.
    span: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    low: u64,
    high: u64,
    /// Digits written for `low`; numbers are padded with zeros to at least this.
    width: usize,
}

impl Hostlist {
    /// How many hosts are named, repeated ones counted each time.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|range| range.span.map_or(1, |span| span.count() as usize)).sum()
    }

    /// What Slurm complains of and yet takes the rest of the list: ranges before the last two brackets of a name.
    pub fn skipped(&self) -> &[Error] {
        &self.skipped
    }

    /// Whether no host is named.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.ranges.iter().flat_map(|range| {
            let spelled = range.span.into_iter().flat_map(move |span| {
                (span.low..=span.high).map(move |number| {
                    format!("{}{number:0width$}", range.prefix, width = span.width)
                })
            });
            let bare = range.span.is_none().then(|| range.prefix.clone());
            bare.into_iter().chain(spelled)
        })
    }
}

impl Span {
    fn count(self) -> u64 {
        (self.high - self.low).saturating_add(1)
    }

    /// Whether a range begun with this span would write `next` as it was written.
    fn writes_like(self, next: Span) -> bool {
        next.width == self.width.max(digits(next.low))
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The names a list stands for, in its order: `n[1-2],m` is n1, n2 and m.
pub fn expand(list: &str) -> Result<Vec<String>, Error> {
    Ok(parse(list)?.names().collect())
}

/// The shortest list Slurm would write for these names in this order: `n[1-4,7]`.
pub fn compress(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    names.into_iter().collect::<Hostlist>().to_string()
}

/// The list in natural order, as `scontrol show hostlistsorted` prints it.
pub fn sorted(list: &str) -> Result<Hostlist, Error> {
    let mut hosts = parse(list)?;
    hosts.sort();
    Ok(hosts)
}
