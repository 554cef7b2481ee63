//! Any pattern makes a name, and not a much longer one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spur_core::filename::{self, Values};

fuzz_target!(|pattern: &str| {
    let values = Values { job: u32::MAX, step: Some(u32::MAX), ..Values::default() };
    let name = filename::expand(pattern, &values);
    assert!(name.len() <= 11 * pattern.len());
    filename::is_per_task(pattern);
});
