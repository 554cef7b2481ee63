//! What is read as a feature expression reads back the same when written.

use spur_core::node::features;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(Some(read)) = features::parse(text) else { return };
    assert!(!read.names().is_empty());
    read.admits(&|name| name.len().is_multiple_of(2));
    assert_eq!(features::parse(&read.to_string()), Ok(Some(read)));
}
