//! Many rows as lines or JSON objects, written one behind the other: a cell whose members are those of the row
//! before is copied from there.

use std::fmt::Write;

use super::render::{RenderContext, put};
use super::{Column, Field};
use crate::views::table::{Member, Members};

struct Cell {
    reads: Members,
    text: String,
}

/// Lines of a table.
pub struct Lines<'a, Row: 'static> {
    columns: &'a [Column<Row>],
    cells: Vec<Cell>,
}

impl<'a, Row> Lines<'a, Row> {
    /// With these columns, of rows with these members.
    pub fn new(columns: &'a [Column<Row>], table: &[Member<Row>]) -> Self {
        let cell = |column: &Column<Row>| Cell {
            reads: column
                .field
                .map_or_else(Members::default, |field| Members::named(table, field.reads)),
            text: String::new(),
        };
        let mut cells: Vec<Cell> = columns.iter().map(cell).collect();
        for (cell, column) in cells.iter_mut().zip(columns) {
            if column.field.is_none() {
                cell.text.push_str(&column.suffix);
            }
        }
        Lines { columns, cells }
    }

    /// Writes the line of a row in which these members differ from the row before.
    pub fn put(
        &mut self,
        text: &mut String,
        row: &Row,
        changed: &Members,
        context: &RenderContext<'_>,
    ) {
        for (cell, column) in self.cells.iter_mut().zip(self.columns) {
            if let Some(field) = column.field
                && (cell.reads.meets(changed) || cell.text.is_empty())
            {
                let value = (field.get)(row);
                let word = value.text(context);
                cell.text.clear();
                put(&mut cell.text, word.as_deref(), column, value.is_whole(), field.fit);
                cell.text.push_str(&column.suffix);
            }
            text.push_str(&cell.text);
        }
        text.push('\n');
    }
}

/// Objects in a list, as serde_json's pretty form has them two levels deep.
pub struct Objects<Row: 'static> {
    members: Vec<(&'static Field<Row>, Cell)>,
    is_first: bool,
}

/// How far the members of a list's objects are set in.
const DEPTH: usize = 3;

impl<Row> Objects<Row> {
    /// With every member that JSON has, of rows with these members.
    pub fn new(fields: &'static [Field<Row>], table: &[Member<Row>]) -> Self {
        let mut fields: Vec<_> = fields.iter().filter(|field| !field.json.is_empty()).collect();
        fields.sort_by(|a, b| a.json.split('.').cmp(b.json.split('.')));
        let members = fields.into_iter().map(|field| {
            (field, Cell { reads: Members::named(table, field.reads), text: String::new() })
        });
        Objects { members: members.collect(), is_first: true }
    }

    /// Writes the object of a row in which these members differ from the row before.
    pub fn put(&mut self, text: &mut String, row: &Row, changed: &Members) {
        text.push_str(if std::mem::take(&mut self.is_first) { "\n    {" } else { ",\n    {" });
        let mut open: Vec<&'static str> = Vec::new();
        let mut comma = false;
        for (field, cell) in &mut self.members {
            let mut path: Vec<&'static str> = field.json.split('.').collect();
            let name = path.pop().unwrap_or_default();
            let common = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
            while open.len() > common {
                open.pop();
                line(text, DEPTH + open.len());
                text.push('}');
                comma = true;
            }
            for level in &path[common..] {
                begin(text, level, DEPTH + open.len(), comma);
                text.push('{');
                open.push(level);
                comma = false;
            }
            if cell.reads.meets(changed) || cell.text.is_empty() {
                cell.text.clear();
                begin(&mut cell.text, name, DEPTH + open.len(), false);
                let value = (field.get)(row).json();
                let margin = "  ".repeat(DEPTH + open.len());
                let written = format!("{value:#}");
                let mut lines = written.split('\n');
                cell.text.push_str(lines.next().unwrap_or_default());
                for more in lines {
                    let _ = write!(cell.text, "\n{margin}{more}");
                }
            }
            if comma {
                text.push(',');
            }
            text.push_str(&cell.text);
            comma = true;
        }
        while open.pop().is_some() {
            line(text, DEPTH + open.len());
            text.push('}');
        }
        text.push_str("\n    }");
    }

    /// Whether no object was written.
    pub fn is_empty(&self) -> bool {
        self.is_first
    }
}

fn line(text: &mut String, depth: usize) {
    text.push('\n');
    (0..depth).for_each(|_| text.push_str("  "));
}

fn begin(text: &mut String, name: &str, depth: usize, comma: bool) {
    if comma {
        text.push(',');
    }
    line(text, depth);
    let _ = write!(text, "\"{name}\": ");
}
