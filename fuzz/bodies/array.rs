//! What is read as an array is never expanded, and reads back the same when written.

use spur_core::job::array;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = array::parse(text, u32::MAX);
    let Ok(Some(read)) = array::parse(text, 1_001) else { return };
    let ids: Vec<u32> = read.ids().collect();
    assert!(!ids.is_empty() && ids.is_sorted() && ids.len() <= 1_001);
    assert!((0..1_001).all(|id| read.contains(id) == ids.binary_search(&id).is_ok()));
    let again = array::parse(&read.to_string(), 1_001).unwrap().unwrap();
    assert!(again.ids().eq(ids));
    assert_eq!(again.throttle, read.throttle);
    let _ = read.shown();
}
