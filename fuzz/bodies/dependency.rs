//! What is read as a dependency is bounded, and reads back the same when written.

use spur_core::job::dependency;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut read) = dependency::parse(text) else { return };
    assert!(read.terms.len() <= dependency::MAX_TERMS);
    // One condition is neither "all" nor "any".
    read.any &= read.terms.len() > 1;
    assert_eq!(dependency::parse(&read.to_string()), Ok(read));
}
