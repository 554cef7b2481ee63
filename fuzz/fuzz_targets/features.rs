//! What is read as a feature expression reads back the same when written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spur_core::node::features;

fuzz_target!(|text: &str| {
    let Ok(Some(read)) = features::parse(text) else { return };
    assert!(!read.names().is_empty());
    read.admits(&|name| name.len().is_multiple_of(2));
    assert_eq!(features::parse(&read.to_string()), Ok(Some(read)));
});
