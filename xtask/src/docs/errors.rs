//! `docs/compat/errors.md`: what a client is told.

use spur_core::errors::{SlurmError, advice};

use super::page::{Page, cell, code};

pub(super) fn page() -> String {
    let mut page = Page::new("Errors", "the table of errors");
    page.paragraph(
        "Slurm's numbers, names and texts: the number crosses the C API and REST, the text is what the tools\n\
         print. Advice says what helps, where something does.",
    );
    page.table(
        &["number", "name", "text", "advice"],
        SlurmError::ALL.iter().map(|error| {
            vec![
                error.number().to_string(),
                code(error.name()),
                cell(error.text()),
                cell(advice(*error).unwrap_or_default()),
            ]
        }),
    );
    page.text()
}
