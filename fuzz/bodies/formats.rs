//! Formats of columns are read, and what they do not know is said.

use spur_core::fields::format::{accounting, letters, names};
use spur_core::fields::{accounting::ACCOUNTING_FIELDS, job::JOB_FIELDS, sinfo::SINFO_FIELDS};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = letters(JOB_FIELDS, text);
    let _ = names(JOB_FIELDS, text);
    let _ = letters(SINFO_FIELDS, text);
    let _ = names(SINFO_FIELDS, text);
    let _ = accounting(ACCOUNTING_FIELDS, text);
}
