//! What a job waits for: `afterok:12:13_4,singleton`, `after:12+5?afterany:13`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use crate::ids::JobId;
use crate::job::array;
use crate::number;

/// The most conditions one job may wait for.
pub const MAX_TERMS: usize = 10_000;

/// Conditions, of which all or any must hold. None at all is no dependency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// One is enough: the conditions were separated by `?`.
    pub any: bool,
    /// In the order given, each once.
    pub terms: Vec<Term>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// No earlier job of this name and user is left.
    Singleton,
    /// Another job has come so far.
    Job {
        /// How far.
        kind: Kind,
        /// Which job.
        job: JobId,
        /// Which of its array tasks.
        tasks: Tasks,
        /// Minutes to wait from then on; zero for none.
        delay_minutes: u32,
    },
}

/// How far another job must have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Started or cancelled.
    After,
    /// Ended.
    AfterAny,
    /// Ended well.
    AfterOk,
    /// Failed.
    AfterNotOk,
    /// The array task of the same number has ended well.
    AfterCorr,
    /// Ended, with its burst buffers staged out.
    AfterBurstBuffer,
}

/// Tasks of an array that a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tasks {
    /// `12`: the job, or all of its tasks.
    Job,
    /// `12_*`
    All,
    /// `12_4`
    One(u32),
}

/// A dependency that Slurm would refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not understood, or more than [`MAX_TERMS`] conditions. Error 2038.
    #[error("Job dependency problem")]
    Malformed,
    /// `expand:12`, which Slurm no longer does. Error 2036.
    #[error("Requested operation not supported on this system")]
    Expand,
}

static KINDS: [(&str, Kind); 6] = [
    ("after", Kind::After),
    ("afterany", Kind::AfterAny),
    ("afterok", Kind::AfterOk),
    ("afternotok", Kind::AfterNotOk),
    ("aftercorr", Kind::AfterCorr),
    ("afterburstbuffer", Kind::AfterBurstBuffer),
];

/// Reads `--dependency`. Nothing and `0` are no dependency.
pub fn parse(text: &str) -> Result<Dependency, Error> {
    let mut read = Dependency::default();
    if text.is_empty() || text == "0" {
        return Ok(read);
    }
    let mut rest = text;
    // From a job id alone on, only such may follow.
    while !rest.starts_with(|first: char| first.is_ascii_digit()) {
        let end = first_separator(rest);
        parse_item(&rest[..end.unwrap_or(rest.len())], &mut read.terms)?;
        let Some(end) = end else { break };
        read.any |= rest[end..].starts_with('?');
        rest = &rest[end + 1..];
    }
    if rest.starts_with(|first: char| first.is_ascii_digit()) {
        for job in rest.split(',') {
            let plain = job.bytes().all(|byte| byte.is_ascii_digit() || b"_*".contains(&byte));
            if !plain {
                return Err(Error::Malformed);
            }
            let _ = parse_job(job, Kind::AfterAny, &mut 0, &mut read.terms)?;
        }
    }
    let mut seen = BTreeSet::new();
    read.terms.retain(|term| seen.insert(term.clone()));
    Ok(read)
}

/// Commas inside of `12_[1,3]` separate nothing.
fn first_separator(text: &str) -> Option<usize> {
    let mut inside = false;
    text.find(|letter| {
        inside = letter == '[' || inside && letter != ']';
        !inside && (letter == ',' || letter == '?')
    })
}

/// Reads `singleton` or `afterok:12:13`.
fn parse_item(item: &str, terms: &mut Vec<Term>) -> Result<(), Error> {
    let item = item.trim_end_matches("(unfulfilled)");
    if item.eq_ignore_ascii_case("singleton") {
        return push(terms, Term::Singleton);
    }
    let (word, jobs) = item.split_once(':').ok_or(Error::Malformed)?;
    if word.eq_ignore_ascii_case("expand") {
        return Err(Error::Expand);
    }
    let kind = KINDS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
    let (_, kind) = kind.ok_or(Error::Malformed)?;
    let mut delay_minutes = 0;
    for job in jobs.split(':') {
        if parse_job(job, *kind, &mut delay_minutes, terms)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads `12`, `12_4`, `12_*`, `12_[1-3]`, each perhaps with `+5` and the state that `scontrol`
/// writes behind it. A delay also counts for the jobs after it, and not for the earlier ones of
/// several tasks; Slurm stops reading jobs at what it does not know behind a delay.
fn parse_job(
    text: &str,
    kind: Kind,
    delay_minutes: &mut u32,
    terms: &mut Vec<Term>,
) -> Result<ControlFlow<()>, Error> {
    let (job, rest) = number::leading(text).ok_or(Error::Malformed)?;
    let job = JobId(nonzero(job)?);
    let (mut tasks, rest) = match rest.strip_prefix('_') {
        None => (vec![Tasks::Job], rest),
        Some(rest) => parse_tasks(rest)?,
    };
    let last = tasks.pop().ok_or(Error::Malformed)?;
    for tasks in tasks {
        push(terms, Term::Job { kind, job, tasks, delay_minutes: *delay_minutes })?;
    }
    let mut after = ControlFlow::Continue(());
    let state = match rest.strip_prefix('+') {
        None => rest,
        Some(rest) => {
            let (minutes, rest) = number::leading(rest).ok_or(Error::Malformed)?;
            let minutes = u32::try_from(minutes).map_err(|_| Error::Malformed)?;
            *delay_minutes =
                Some(minutes).filter(|minutes| *minutes > 0).ok_or(Error::Malformed)?;
            let known = rest.is_empty() || rest.starts_with('(');
            after = if known { after } else { ControlFlow::Break(()) };
            if known { rest } else { "" }
        }
    };
    let told = state.starts_with('(') && state.ends_with(')');
    if !state.is_empty() && !told {
        return Err(Error::Malformed);
    }
    push(terms, Term::Job { kind, job, tasks: last, delay_minutes: *delay_minutes })?;
    Ok(after)
}

fn parse_tasks(text: &str) -> Result<(Vec<Tasks>, &str), Error> {
    if let Some(rest) = text.strip_prefix('*') {
        return Ok((vec![Tasks::All], rest));
    }
    if let Some(inside) = text.strip_prefix('[') {
        let (ids, rest) = inside.split_once(']').ok_or(Error::Malformed)?;
        let ids = array::parse(ids, u32::MAX).ok().flatten().ok_or(Error::Malformed)?;
        let tasks: Vec<Tasks> = ids.ids().take(MAX_TERMS + 1).map(Tasks::One).collect();
        let few = tasks.len() <= MAX_TERMS;
        return if few { Ok((tasks, rest)) } else { Err(Error::Malformed) };
    }
    match number::leading(text) {
        Some((id, rest)) => {
            let id = u32::try_from(id).map_err(|_| Error::Malformed)?;
            Ok((vec![Tasks::One(id)], rest))
        }
        None => Ok((vec![Tasks::One(0)], text)),
    }
}

/// Slurm keeps the low 32 bits; zero is no job.
fn nonzero(number: i64) -> Result<u32, Error> {
    let number = if number == i64::MAX { u32::MAX } else { number as u32 };
    if number == 0 { Err(Error::Malformed) } else { Ok(number) }
}

fn push(terms: &mut Vec<Term>, term: Term) -> Result<(), Error> {
    terms.push(term);
    if terms.len() > MAX_TERMS { Err(Error::Malformed) } else { Ok(()) }
}

impl Kind {
    /// The word before the job.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Term::Job { kind, job, tasks, delay_minutes } = self else {
            return f.write_str("singleton");
        };
        write!(f, "{}:{job}", kind.name())?;
        match tasks {
            Tasks::Job => {}
            Tasks::All => f.write_str("_*")?,
            Tasks::One(id) => write!(f, "_{id}")?,
        }
        if *delay_minutes > 0 { write!(f, "+{delay_minutes}") } else { Ok(()) }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                f.write_str(if self.any { "?" } else { "," })?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
