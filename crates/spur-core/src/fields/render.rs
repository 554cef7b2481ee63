//! Turns columns and rows into lines, and rows into JSON objects.

use serde_json::{Map, Value as Json};

use super::clock;
use super::{Column, Field, Fit};
use crate::time::Timestamp;

/// What a table depends on beside the row.
#[derive(Clone, Copy)]
pub struct RenderContext<'a> {
    /// The time to measure from.
    pub now: Timestamp,
    /// Seconds east of Greenwich at a moment.
    pub offset_at: &'a dyn Fn(Timestamp) -> i32,
    /// `--noconvert`: sizes stay in their own unit.
    pub no_convert: bool,
    /// How moments are written, where `SLURM_TIME_FORMAT` says so.
    pub spell: Option<&'a dyn Fn(Timestamp) -> String>,
    /// `--units`: sizes are told in this one of `KMGTP`.
    pub unit: Option<char>,
}

impl Default for RenderContext<'_> {
    fn default() -> Self {
        RenderContext {
            now: Timestamp(0),
            offset_at: &|_| 0,
            no_convert: false,
            spell: None,
            unit: None,
        }
    }
}

impl RenderContext<'_> {
    /// A moment on the reader's wall clock.
    pub fn moment(&self, secs: i64) -> String {
        match self.spell {
            Some(spell) => spell(Timestamp(secs)),
            None => clock::moment(secs, (self.offset_at)(Timestamp(secs))),
        }
    }
}

/// The line above the table.
pub fn header<Row>(columns: &[Column<Row>]) -> String {
    let mut line = String::new();
    for column in columns {
        if let Some(field) = column.field {
            let whole = field.fit == Fit::WholeHeader;
            put(&mut line, Some(field.header), column, whole, Fit::Cut);
        }
        line.push_str(&column.suffix);
    }
    line
}

/// The line of one row.
pub fn row<Row>(columns: &[Column<Row>], row: &Row, context: &RenderContext<'_>) -> String {
    let mut line = String::new();
    for column in columns {
        if let Some(field) = column.field {
            let value = (field.get)(row);
            let text = value.text(context);
            put(&mut line, text.as_deref(), column, value.is_whole(), field.fit);
        }
        line.push_str(&column.suffix);
    }
    line
}

/// How the accounting tools separate columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Columns of their widths, a blank after each.
    Fixed,
    /// `-P` and `-p`: whole texts with this between them, and after the last one if `ends`.
    Parsable {
        /// `|`, or what `--delimiter` says.
        delimiter: String,
        /// `-p` rather than `-P`.
        ends: bool,
    },
}

/// The lines above a table of the accounting tools: names, and dashes where columns have widths.
pub fn accounting_header<Row>(columns: &[Column<Row>], layout: &Layout) -> Vec<String> {
    let fields = || columns.iter().filter_map(|column| Some((column, column.field?)));
    match layout {
        Layout::Parsable { .. } => {
            let names = fields().map(|(_, field)| field.header.to_string()).collect();
            vec![delimited(names, layout)]
        }
        Layout::Fixed => {
            let (mut names, mut dashes) = (String::new(), String::new());
            for (column, field) in fields() {
                put_accounting(&mut names, field.header, column, false);
                dashes.extend(std::iter::repeat_n('-', column.width));
                dashes.push(' ');
            }
            vec![names, dashes]
        }
    }
}

/// The line of one row in a table of the accounting tools. A text that is too wide ends in `+`.
pub fn accounting_row<Row>(
    columns: &[Column<Row>],
    row: &Row,
    layout: &Layout,
    context: &RenderContext<'_>,
) -> String {
    let texts = columns.iter().filter_map(|column| {
        let text = (column.field?.get)(row).text(context).unwrap_or_default();
        Some((column, text))
    });
    match layout {
        Layout::Parsable { .. } => delimited(texts.map(|(_, text)| text).collect(), layout),
        Layout::Fixed => {
            let mut line = String::new();
            for (column, text) in texts {
                put_accounting(&mut line, &text, column, true);
            }
            line
        }
    }
}

fn delimited(texts: Vec<String>, layout: &Layout) -> String {
    let Layout::Parsable { delimiter, ends } = layout else { return texts.concat() };
    let mut line = texts.join(delimiter);
    if *ends {
        line.push_str(delimiter);
    }
    line
}

fn put_accounting<Row>(line: &mut String, text: &str, column: &Column<Row>, plus: bool) {
    let width = column.width;
    let mut text = text.to_string();
    if text.len() > width {
        text.truncate(floor(&text, if plus { width.saturating_sub(1) } else { width }));
        if plus && width > 0 {
            text.push('+');
        }
    }
    if column.right {
        line.push_str(&format!("{text:>width$} "));
    } else {
        line.push_str(&format!("{text:<width$} "));
    }
}

/// A row as the JSON object of v0.0.42; a dot in a row's JSON name leads one level down.
pub fn json<Row>(fields: &[Field<Row>], row: &Row) -> Json {
    let mut object = Map::new();
    for field in fields.iter().filter(|field| !field.json.is_empty()) {
        let mut place = &mut object;
        let mut path = field.json.split('.').peekable();
        while let Some(name) = path.next() {
            if path.peek().is_none() {
                place.insert(name.into(), (field.get)(row).json());
                break;
            }
            let next = place.entry(name).or_insert_with(|| Json::Object(Map::new()));
            let Json::Object(next) = next else { break };
            place = next;
        }
    }
    Json::Object(object)
}

/// Puts a text into its column. Widths count bytes, as Slurm's do.
pub(super) fn put<Row>(
    line: &mut String,
    text: Option<&str>,
    column: &Column<Row>,
    whole: bool,
    fit: Fit,
) {
    let (width, right) = (column.width, column.right);
    let said = text.unwrap_or("(null)");
    if width == 0 || (whole && right && said.len() >= width) {
        line.push_str(said);
        return;
    }
    if fit == Fit::KeepStar && said.len() > width && said.ends_with('*') {
        line.push_str(&said[..floor(said, width - 1)]);
        line.push('*');
        return;
    }
    // Slurm leaves the place of a missing text empty where the word does not fit.
    let missing = text.is_none() && !right && width < said.len();
    let text = if missing { "" } else { &said[..floor(said, width)] };
    let padding = std::iter::repeat_n(' ', width - text.len());
    if right {
        line.extend(padding);
        line.push_str(text);
    } else {
        line.push_str(text);
        line.extend(padding);
    }
}

/// The last character boundary that is not past `width` bytes.
fn floor(text: &str, width: usize) -> usize {
    if width >= text.len() {
        return text.len();
    }
    (0..=width).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
