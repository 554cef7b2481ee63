//! `docs/compat/reasons.md`: why a job waits, or why it ended.

use spur_core::job::Reason;

use super::page::{Page, code};

pub(super) fn page() -> String {
    let mut page = Page::new("Reasons", "the table of reasons");
    page.paragraph(
        "What `squeue` prints in its last column, by Slurm's number. Some numbers share a word with another,\n\
         as in Slurm.",
    );
    page.table(
        &["number", "word"],
        Reason::ALL.iter().map(|reason| vec![reason.number().to_string(), code(reason.name())]),
    );
    page.text()
}
