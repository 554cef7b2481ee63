//! Features a job wants of its nodes: `a&b`, `a|b`, `[rack1|rack2]`, `a*2&b*1`, `(a|b)&c`.

use std::fmt;

use crate::number;

/// Terms, read from left to right without precedence: `a|b&c` is `(a|b)&c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    terms: Vec<Term>,
}

/// A feature or a group, how it is joined to what stands before it, and on how many nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Nothing matters before the first term.
    pub joined: Join,
    /// What is wanted.
    pub what: What,
    /// `a*2`: at least so many nodes have it, and the others need not.
    pub count: Option<u32>,
}

/// How a term is joined to the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// `&` or `,`
    And,
    /// `|`
    Or,
}

/// What a term wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A feature.
    Feature(String),
    /// `(a|b)`
    Group(Features),
    /// `[a|b]`: the same one of these on all nodes, or counts of each.
    Matching(Features),
}

/// An expression that Slurm would refuse with error 2029, as it does for a feature no node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid feature specification")]
pub struct Error;

/// Reads `--constraint`, `--prefer` and `--cluster-constraint`. No text is no constraint.
pub fn parse(text: &str) -> Result<Option<Features>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader { rest: text, in_group: false, bracket_seen: false };
    let features = reader.terms(None)?;
    Ok(Some(features))
}

const OPERATORS: [char; 8] = ['&', '|', ',', '*', '(', ')', '[', ']'];

/// The text as `scontrol show job` shows it, where commas are ampersands.
pub fn shown(text: &str) -> String {
    text.replace(',', "&")
}

struct Reader<'a> {
    rest: &'a str,
    in_group: bool,
    /// Slurm takes one pair of brackets.
    bracket_seen: bool,
}

impl Reader<'_> {
    /// Terms up to the closing character, or to the end of the text.
    fn terms(&mut self, close: Option<char>) -> Result<Features, Error> {
        let mut terms = Vec::new();
        let mut joined = Join::And;
        loop {
            let what = self.what()?;
            if !matches!(what, What::Feature(_)) {
                self.pass_over_words();
            }
            let count = self.count()?;
            // Brackets are for the whole job.
            if count.is_some() && matches!(what, What::Matching(_)) {
                return Err(Error);
            }
            terms.push(Term { joined, what, count });
            match self.take() {
                Some('&' | ',') => joined = Join::And,
                Some('|') => joined = Join::Or,
                end if end == close => return Ok(Features { terms }),
                _ => return Err(Error),
            }
            // An operator may end the text.
            if self.rest.is_empty() && close.is_none() {
                return Ok(Features { terms });
            }
        }
    }

    fn what(&mut self) -> Result<What, Error> {
        if let Some(rest) = self.rest.strip_prefix('(') {
            if self.in_group {
                return Err(Error);
            }
            self.rest = rest;
            self.in_group = true;
            let group = self.terms(Some(')'))?;
            self.in_group = false;
            return Ok(What::Group(group));
        }
        if let Some(rest) = self.rest.strip_prefix('[') {
            if self.bracket_seen {
                return Err(Error);
            }
            self.rest = rest;
            self.bracket_seen = true;
            let inside = self.terms(Some(']'))?;
            return if inside.may_be_matched() { Ok(What::Matching(inside)) } else { Err(Error) };
        }
        let end = self.rest.find(OPERATORS);
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if !is_name(name) {
            return Err(Error);
        }
        self.rest = rest;
        Ok(What::Feature(name.to_owned()))
    }

    /// `*2`. Slurm passes over what follows the number.
    fn count(&mut self) -> Result<Option<u32>, Error> {
        let Some(rest) = self.rest.strip_prefix('*') else { return Ok(None) };
        let (count, rest) = number::leading(rest).ok_or(Error)?;
        self.rest = &rest[rest.find(['&', '|', ',', ')', ']']).unwrap_or(rest.len())..];
        let count = u32::try_from(count.min(u32::MAX.into())).map_err(|_| Error)?;
        if count == 0 { Err(Error) } else { Ok(Some(count)) }
    }

    /// Slurm does not look at words behind a closing bracket: `(a)b`.
    fn pass_over_words(&mut self) {
        let end = self.rest.find(OPERATORS).unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    fn take(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        letter
    }
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:=/+#@%~".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}

impl Features {
    /// The terms, from left to right.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Every feature named, for asking whether some node has it.
    pub fn names(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for term in &self.terms {
            match &term.what {
                What::Feature(name) => all.push(name.as_str()),
                What::Group(inside) | What::Matching(inside) => all.extend(inside.names()),
            }
        }
        all
    }

    /// Whether a node with these features may be used. Counted terms leave every node in, since
    /// they ask for a number of nodes and not for all; one of a bracket is enough here, and the
    /// planner picks which.
    pub fn admits(&self, has: &impl Fn(&str) -> bool) -> bool {
        self.terms.iter().fold(true, |before, term| {
            let holds = term.count.is_some()
                || match &term.what {
                    What::Feature(name) => has(name),
                    What::Group(inside) | What::Matching(inside) => inside.admits(has),
                };
            match term.joined {
                Join::And => before && holds,
                Join::Or => before || holds,
            }
        })
    }

    /// In brackets stand alternatives, or counts of several features.
    fn may_be_matched(&self) -> bool {
        let after_first = self.terms.get(1..).unwrap_or_default();
        let alternatives = after_first.iter().all(|term| term.joined == Join::Or)
            && self.terms.iter().all(|term| term.count.is_none());
        let counts = after_first.iter().all(|term| term.joined == Join::And)
            && self.terms.iter().all(|term| term.count.is_some());
        alternatives || counts
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                f.write_str(if term.joined == Join::And { "&" } else { "|" })?;
            }
            match &term.what {
                What::Feature(name) => f.write_str(name)?,
                What::Group(inside) => write!(f, "({inside})")?,
                What::Matching(inside) => write!(f, "[{inside}]")?,
            }
            if let Some(count) = term.count {
                write!(f, "*{count}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
