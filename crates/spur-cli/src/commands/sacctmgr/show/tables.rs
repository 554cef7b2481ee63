//! Rows as `sacctmgr show` writes them.

use std::slice::from_ref;

use spur_core::fields::format::{self, FormatError};
use spur_core::fields::render::Layout;
use spur_core::fields::{Column, Field, RenderContext, render, shown};
use spur_core::views::AssociationView;

use super::Wanted;
use crate::commands::sacctmgr::Style;
use crate::zone;

pub(in crate::commands::sacctmgr) fn context() -> RenderContext<'static> {
    RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() }
}

fn unknown(field: &FormatError) -> String {
    format!("Unknown field '{}'", field.0.to_lowercase())
}

pub(in crate::commands::sacctmgr) fn table<Row>(
    style: &Style,
    fields: &'static [Field<Row>],
    wanted: &Wanted,
    default: &str,
    rows: &[Row],
) -> Result<String, String> {
    let format = wanted.format.as_deref().unwrap_or(default);
    if format.is_empty() {
        return Err("Unknown field ''".to_string());
    }
    let columns = format::accounting(fields, format).map_err(|field| unknown(&field))?;
    Ok(written(style, &columns, rows))
}

/// A table of things that have the columns of `shown`, some of them empty.
pub(super) fn shown_table<Row>(
    style: &Style,
    fields: &'static [Field<Row>],
    wanted: &Wanted,
    default: &str,
    rows: Vec<Row>,
) -> Result<String, String> {
    let format = wanted.format.as_deref().unwrap_or(default);
    let rows: Vec<_> = rows.into_iter().map(|row| (row, None)).collect();
    mixed(style, fields, &[], format, &rows)
}

fn written<Row>(style: &Style, columns: &[Column<Row>], rows: &[Row]) -> String {
    let header = style.header.then(|| render::accounting_header(columns, &style.layout));
    let context = context();
    let rows = rows.iter().map(|row| render::accounting_row(columns, row, &style.layout, &context));
    header.into_iter().flatten().chain(rows).map(|line| line + "\n").collect()
}

/// A column of a thing, of its association, or of neither: it stands there empty.
enum Either<Row: 'static> {
    Thing(Column<Row>),
    Association(Column<AssociationView>, Column<()>),
    Neither(Column<()>),
}

/// What a word of `format=` stands for. Columns of our own are known by their whole names alone.
fn column<Row>(
    fields: &'static [Field<Row>],
    associations: &'static [Field<AssociationView>],
    word: &str,
) -> Result<Either<Row>, FormatError> {
    let (name, shape) = format::accounting_word(word);
    let Some(known) = shown::find(name) else {
        let is_own = |field: &&Field<Row>| field.name.eq_ignore_ascii_case(name);
        let own = fields.iter().find(is_own).filter(|_| !name.is_empty());
        let own = own.ok_or_else(|| FormatError(name.into()))?;
        return Ok(Either::Thing(shaped(own, shape)));
    };
    let header = known.empty.header;
    if let Some(field) = fields.iter().find(|field| field.header == header) {
        return Ok(Either::Thing(shaped(field, shape)));
    }
    let empty = shaped(&known.empty, shape);
    Ok(match associations.iter().find(|field| field.header == header) {
        Some(field) => Either::Association(shaped(field, shape), empty),
        None => Either::Neither(empty),
    })
}

/// No width is the column's own.
fn shaped<Row>(field: &'static Field<Row>, shape: Option<&str>) -> Column<Row> {
    format::own_width_for_none(format::accounting_shaped(field, shape))
}

/// A table whose lines are made of a thing and one of its associations.
pub(super) fn mixed<Row>(
    style: &Style,
    fields: &'static [Field<Row>],
    associations: &'static [Field<AssociationView>],
    format: &str,
    rows: &[(Row, Option<AssociationView>)],
) -> Result<String, String> {
    if format.is_empty() {
        return Err("Unknown field ''".to_string());
    }
    let words = format.split(',').filter(|word| !word.is_empty());
    let columns =
        words.map(|word| column(fields, associations, word)).collect::<Result<Vec<_>, _>>();
    let columns = columns.map_err(|field| unknown(&field))?;
    // Each column is laid out alone; between them stands what the layout wants.
    let alone = match &style.layout {
        Layout::Fixed => Layout::Fixed,
        Layout::Parsable { delimiter, .. } => {
            Layout::Parsable { delimiter: delimiter.clone(), ends: false }
        }
    };
    let join = |texts: Vec<String>| match &style.layout {
        Layout::Fixed => texts.concat(),
        Layout::Parsable { delimiter, ends } => {
            texts.join(delimiter) + if *ends { delimiter.as_str() } else { "" }
        }
    };
    let mut lines = Vec::new();
    if style.header {
        let headers: Vec<Vec<String>> = columns
            .iter()
            .map(|column| match column {
                Either::Thing(column) => render::accounting_header(from_ref(column), &alone),
                Either::Association(column, _) => {
                    render::accounting_header(from_ref(column), &alone)
                }
                Either::Neither(column) => render::accounting_header(from_ref(column), &alone),
            })
            .collect();
        for line in 0..headers.first().map_or(0, Vec::len) {
            lines.push(join(headers.iter().map(|header| header[line].clone()).collect()));
        }
    }
    let context = context();
    for (thing, association) in rows {
        let texts = columns.iter().map(|column| match (column, association) {
            (Either::Thing(column), _) => {
                render::accounting_row(from_ref(column), thing, &alone, &context)
            }
            (Either::Association(column, _), Some(association)) => {
                render::accounting_row(from_ref(column), association, &alone, &context)
            }
            (Either::Association(_, column) | Either::Neither(column), _) => {
                render::accounting_row(from_ref(column), &(), &alone, &context)
            }
        });
        lines.push(join(texts.collect()));
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}
