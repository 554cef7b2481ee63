//! What is read as a dependency is bounded, and reads back the same when written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spur_core::job::dependency;

fuzz_target!(|text: &str| {
    let Ok(mut read) = dependency::parse(text) else { return };
    assert!(read.terms.len() <= dependency::MAX_TERMS);
    // One condition is neither "all" nor "any".
    read.any &= read.terms.len() > 1;
    assert_eq!(dependency::parse(&read.to_string()), Ok(read));
});
