//! Reads `-o "%.18i %.9P"` and `-O "JobID:10,Name:.12,State:|"` into columns.

use std::fmt;

use super::{Field, by_letter, by_name};

/// One thing to print in a line.
pub struct Column<Row: 'static> {
    /// The field; `None` for text that is printed as it stands.
    pub field: Option<&'static Field<Row>>,
    /// How wide; 0 takes what the text needs.
    pub width: usize,
    /// Flush right.
    pub right: bool,
    /// Printed after the field, or alone where there is no field.
    pub suffix: String,
}

impl<Row> Clone for Column<Row> {
    fn clone(&self) -> Self {
        Column {
            field: self.field,
            width: self.width,
            right: self.right,
            suffix: self.suffix.clone(),
        }
    }
}

/// The columns asked for, and the words that named none. Slurm complains about those and goes on.
pub struct Format<Row: 'static> {
    /// What to print, in order.
    pub columns: Vec<Column<Row>>,
    /// What to complain about first.
    pub problems: Vec<FormatError>,
}

/// A letter or name that no field has. The tool puts its own words in front:
/// `squeue: error: Invalid job format specification: !`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError(pub String);

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FormatError {}

/// Reads a format of letters: `"%[[.]size]letter[text]"`, with text in front of the first one.
pub fn letters<Row>(fields: &'static [Field<Row>], format: &str) -> Format<Row> {
    let mut parsed = Format { columns: Vec::new(), problems: Vec::new() };
    if format.eq_ignore_ascii_case("%all") {
        parsed.columns = all_letters(fields);
        return parsed;
    }
    // Several signs in a row count as one, so there is no way to print a sign of its own.
    let mut pieces = format.split('%').filter(|piece| !piece.is_empty());
    if !format.starts_with('%')
        && let Some(text) = pieces.next()
    {
        parsed.columns.push(literal(text.into()));
    }
    for piece in pieces {
        let (right, width, rest) = size(piece);
        let Some(letter) = rest.chars().next() else {
            // `%` and a size, then nothing: it is complained about all the same.
            parsed.columns.push(literal(format!("%{piece}")));
            parsed.problems.push(FormatError(String::new()));
            continue;
        };
        let suffix = &rest[letter.len_utf8()..];
        match by_letter(fields, letter) {
            Some(field) => parsed.columns.push(Column {
                field: Some(field),
                width,
                right,
                suffix: suffix.into(),
            }),
            None => {
                parsed.columns.push(literal(format!("%{piece}")));
                parsed.problems.push(FormatError(letter.into()));
            }
        }
    }
    parsed
}

/// Reads a format of names: `"name[:[.][size][text]],…"`. Without a colon the field's own width counts.
pub fn names<Row>(fields: &'static [Field<Row>], format: &str) -> Format<Row> {
    let mut parsed = Format { columns: Vec::new(), problems: Vec::new() };
    for piece in format.split(',').filter(|piece| !piece.is_empty()) {
        let (name, shape) = match piece.split_once(':') {
            Some((name, shape)) => (name, Some(shape)),
            None => (piece, None),
        };
        let (right, width, suffix) = shape.map_or((false, None, ""), |shape| {
            let (right, width, suffix) = size(shape);
            (right, Some(width), suffix)
        });
        match by_name(fields, name) {
            Some(field) => parsed.columns.push(Column {
                field: Some(field),
                width: width.unwrap_or(field.width),
                right,
                suffix: suffix.into(),
            }),
            None => {
                parsed.columns.push(literal(suffix.into()));
                parsed.problems.push(FormatError(name.into()));
            }
        }
    }
    parsed
}

/// Reads the format of the accounting tools: `"name[%[-]size],…"`. A name may be shortened; the first
/// row that fits counts. A negative size is flush left. Unlike squeue they refuse what they do not know.
pub fn accounting<Row>(
    fields: &'static [Field<Row>],
    format: &str,
) -> Result<Vec<Column<Row>>, FormatError> {
    let pieces = format.split(',').filter(|piece| !piece.is_empty());
    pieces.map(|piece| accounting_column(fields, piece)).collect()
}

fn accounting_column<Row>(
    fields: &'static [Field<Row>],
    piece: &str,
) -> Result<Column<Row>, FormatError> {
    let (name, shape) = accounting_word(piece);
    let fits = |field: &&Field<Row>| {
        field.name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let named = fields.iter().filter(|field| !field.name.is_empty());
    let field = named.clone().find(|field| field.name.eq_ignore_ascii_case(name));
    let field = field.or_else(|| named.clone().find(fits));
    let Some(field) = field.filter(|_| !name.is_empty()) else {
        return Err(FormatError(name.into()));
    };
    Ok(accounting_shaped(field, shape))
}

/// `name%-20`: the name, and what is behind the sign.
pub fn accounting_word(piece: &str) -> (&str, Option<&str>) {
    piece.split_once('%').map_or((piece, None), |(name, shape)| (name, Some(shape)))
}

/// A field as wide as it was asked for.
pub fn accounting_shaped<Row>(field: &'static Field<Row>, shape: Option<&str>) -> Column<Row> {
    let shape =
        shape.map(|shape| shape.trim_start_matches(|blank: char| blank.is_ascii_whitespace()));
    let (width, left) = match shape {
        None => (field.width, field.left),
        Some(shape) => match shape.strip_prefix('-') {
            Some(shape) => (number(shape).0, true),
            None => (number(shape.strip_prefix('+').unwrap_or(shape)).0, false),
        },
    };
    Column { field: Some(field), width, right: !left, suffix: String::new() }
}

/// The same for the tools to which no width, or what is none, means the field's own.
pub fn own_width_for_none<Row>(mut column: Column<Row>) -> Column<Row> {
    if let Some(field) = column.field.filter(|_| column.width == 0) {
        (column.width, column.right) = (field.width, !field.left);
    }
    column
}

/// Splits `[.]size` off the front.
fn size(piece: &str) -> (bool, usize, &str) {
    let (right, piece) = match piece.strip_prefix('.') {
        Some(rest) => (true, rest),
        None => (false, piece),
    };
    let (width, rest) = number(piece);
    (right, width, rest)
}

/// Splits a width off the front; what is no number is none.
fn number(piece: &str) -> (usize, &str) {
    let end = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
    // A width nobody could read is held to one that fits in memory.
    let width = piece[..end].parse::<usize>().unwrap_or(if end == 0 { 0 } else { WIDEST });
    (width.min(WIDEST), &piece[end..])
}

/// No column is wider than this.
const WIDEST: usize = 65_536;

fn literal<Row>(text: String) -> Column<Row> {
    Column { field: None, width: 0, right: false, suffix: text }
}

/// `%all`: the small letters, then the capitals, with a bar between.
fn all_letters<Row>(fields: &'static [Field<Row>]) -> Vec<Column<Row>> {
    let found = ('a'..='z').chain('A'..='Z').filter_map(|letter| by_letter(fields, letter));
    let mut columns: Vec<_> = found
        .map(|field| Column { field: Some(field), width: 0, right: false, suffix: "|".into() })
        .collect();
    if let Some(last) = columns.last_mut() {
        last.suffix.clear();
    }
    columns
}
