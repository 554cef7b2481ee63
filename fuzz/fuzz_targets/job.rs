//! Signals, mail types, distributions and exports are read or refused, and read back the same.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use spur_core::job::distribution::{self, Nodes};
use spur_core::job::{export, mail, nice, signal};

fuzz_target!(|text: &str| {
    let _ = signal::parse_early(text);
    let _ = nice::parse(text);
    let _ = export::parse(text).apply(&BTreeMap::new());
    if let Ok(types) = mail::parse(text) {
        assert_eq!(mail::parse(&types.to_string()), Ok(types));
    }
    if let Ok(read) = distribution::parse(text)
        && !matches!(read.nodes, Some(Nodes::Plane(_)))
    {
        assert_eq!(distribution::parse(&read.to_string()), Ok(read));
    }
});
