//! Rows as `sacctmgr show` writes them.

use spur_core::fields::association::ASSOCIATION_FIELDS;
use spur_core::fields::format::{self, FormatError};
use spur_core::fields::render::Layout;
use spur_core::fields::{Column, Field, RenderContext, render};
use spur_core::views::AssociationView;

use super::Wanted;
use crate::commands::sacctmgr::Style;
use crate::zone;

pub(in crate::commands::sacctmgr) fn context() -> RenderContext<'static> {
    RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() }
}

pub(super) fn unknown(field: &FormatError) -> String {
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

pub(super) fn written<Row>(style: &Style, columns: &[Column<Row>], rows: &[Row]) -> String {
    let header = style.header.then(|| render::accounting_header(columns, &style.layout));
    let context = context();
    let rows = rows.iter().map(|row| render::accounting_row(columns, row, &style.layout, &context));
    header.into_iter().flatten().chain(rows).map(|line| line + "\n").collect()
}

/// A table whose lines are made of a thing and one of its associations.
pub(super) fn mixed<Row>(
    style: &Style,
    fields: &'static [Field<Row>],
    format: &str,
    rows: &[(Row, AssociationView)],
) -> Result<String, String> {
    /// A column of either.
    enum Either<Row: 'static> {
        Thing(Vec<Column<Row>>),
        Association(Vec<Column<AssociationView>>),
    }
    let mut columns = Vec::new();
    for word in format.split(',').filter(|word| !word.is_empty()) {
        columns.push(match format::accounting(fields, word) {
            Ok(column) => Either::Thing(column),
            Err(_) => Either::Association(
                format::accounting(ASSOCIATION_FIELDS, word).map_err(|field| unknown(&field))?,
            ),
        });
    }
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
                Either::Thing(column) => render::accounting_header(column, &alone),
                Either::Association(column) => render::accounting_header(column, &alone),
            })
            .collect();
        for line in 0..headers.first().map_or(0, Vec::len) {
            lines.push(join(headers.iter().map(|header| header[line].clone()).collect()));
        }
    }
    let context = context();
    for (thing, one) in rows {
        let texts = columns.iter().map(|column| match column {
            Either::Thing(column) => render::accounting_row(column, thing, &alone, &context),
            Either::Association(column) => render::accounting_row(column, one, &alone, &context),
        });
        lines.push(join(texts.collect()));
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}
