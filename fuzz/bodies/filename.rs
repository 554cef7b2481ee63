//! Any pattern makes a name, and not a much longer one.

use spur_core::filename::{self, Values};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(pattern) = std::str::from_utf8(bytes) else { return };
    let values = Values { job: u32::MAX, step: Some(u32::MAX), ..Values::default() };
    let name = filename::expand(pattern, &values);
    assert!(name.len() <= 11 * pattern.len());
    filename::is_per_task(pattern);
}
