//! The columns of every listing, one table a noun: letter, name, header, width, JSON name, getter.
//!
//! `-o "%.10l"`, `-O TimeLimit`, `--json` and REST find the same row by letter, by name, or take all.

pub mod accounting;
pub mod association;
pub mod clock;
pub mod format;
pub mod job;
pub mod lines;
pub mod node;
pub mod partition;
pub mod priority;
pub mod qos;
pub mod render;
pub mod reservation;
pub mod rules;
pub mod share;
pub mod shown;
pub mod sinfo;
pub mod statistics;
pub mod step;
pub mod value;

pub use format::{Column, Format, FormatError};
pub use render::RenderContext;
pub use value::Value;

/// What is special about a column when a text is too wide for it. Other texts are cut at the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Nothing.
    Cut,
    /// The header is printed whole when right-justified, as the node lists below it are.
    WholeHeader,
    /// A final `*` stays: `debug*` in two characters is `d*`.
    KeepStar,
}

/// One column.
pub struct Field<Row: 'static> {
    /// The letter of `-o`, if it has one.
    pub letter: Option<char>,
    /// The name of `-O` and `--format`, found in any case; empty for rows that are only in JSON.
    pub name: &'static str,
    /// What stands above the column.
    pub header: &'static str,
    /// How wide it is when nobody says.
    pub width: usize,
    /// Where it is in JSON, with dots between levels; empty for rows that are only in tables.
    pub json: &'static str,
    /// What happens to a text that is too wide.
    pub fit: Fit,
    /// Whether the accounting tools put it flush left; squeue and its kin are told by the format.
    pub left: bool,
    /// The members of the row that tell it, by their names: a list is asked for these alone.
    pub reads: &'static str,
    /// Fetches the value.
    pub get: fn(&Row) -> Value,
}

impl<Row> Field<Row> {
    /// A column with a name; squeue and sinfo give it 20 characters.
    pub const fn new(name: &'static str, header: &'static str, get: fn(&Row) -> Value) -> Self {
        Field {
            letter: None,
            name,
            header,
            width: 20,
            json: "",
            fit: Fit::Cut,
            left: false,
            reads: "",
            get,
        }
    }

    /// A member of the JSON object that no table shows.
    pub const fn json_only(json: &'static str, get: fn(&Row) -> Value) -> Self {
        Field {
            letter: None,
            name: "",
            header: "",
            width: 0,
            json,
            fit: Fit::Cut,
            left: false,
            reads: "",
            get,
        }
    }

    /// The same under a letter.
    pub const fn letter(mut self, letter: char) -> Self {
        self.letter = Some(letter);
        self
    }

    /// The same under a name in JSON.
    pub const fn json(mut self, json: &'static str) -> Self {
        self.json = json;
        self
    }

    /// The same with a default width.
    pub const fn width(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// The same flush left.
    pub const fn left(mut self) -> Self {
        self.left = true;
        self
    }

    /// The same, told by these members.
    pub const fn reads(mut self, members: &'static str) -> Self {
        self.reads = members;
        self
    }

    /// The same with another way to handle wide texts.
    pub const fn fit(mut self, fit: Fit) -> Self {
        self.fit = fit;
        self
    }
}

/// Short spellings of the commonest values, for the tables.
mod short {
    use super::Value;
    use crate::limit::Limit;

    pub(super) fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    pub(super) fn nullable(text: &str) -> Value {
        Value::Nullable(text.into())
    }

    pub(super) fn or(text: &str, word: &'static str) -> Value {
        Value::Or(text.into(), word)
    }

    pub(super) fn list(words: &[String]) -> Value {
        Value::List(words.to_vec(), "")
    }

    pub(super) fn number(number: impl Into<u64>) -> Value {
        Value::Number(number.into())
    }

    pub(super) fn counted(number: impl Into<u64>) -> Value {
        Value::Counted(Some(number.into()), "")
    }

    pub(super) fn maybe<N: Into<u64>>(number: Option<N>, unset: &'static str) -> Value {
        Value::Counted(number.map(Into::into), unset)
    }

    /// A limit that is none where nobody set one.
    pub(super) fn unlimited(limit: Option<Limit>) -> Value {
        Value::Limited(Some(limit.unwrap_or(Limit::Unlimited)), "", "UNLIMITED")
    }
}

/// The row with this letter.
pub fn by_letter<Row>(fields: &'static [Field<Row>], letter: char) -> Option<&'static Field<Row>> {
    fields.iter().find(|field| field.letter == Some(letter))
}

/// The row with this name, in any case.
pub fn by_name<Row>(fields: &'static [Field<Row>], name: &str) -> Option<&'static Field<Row>> {
    fields.iter().find(|field| !field.name.is_empty() && field.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;

/// Checks what holds for every table; each table's tests call it.
#[cfg(test)]
pub(crate) fn check_table<Row>(fields: &'static [Field<Row>]) {
    use std::collections::BTreeSet;
    let (mut letters, mut names, mut json) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for field in fields {
        assert!(!field.name.is_empty() || field.letter.is_some() || !field.json.is_empty());
        if let Some(letter) = field.letter {
            assert!(letters.insert(letter), "letter {letter} twice");
        }
        if !field.name.is_empty() {
            assert!(names.insert(field.name.to_ascii_lowercase()), "name {} twice", field.name);
        }
        if !field.json.is_empty() {
            assert!(json.insert(field.json), "json {} twice", field.json);
        }
    }
}
