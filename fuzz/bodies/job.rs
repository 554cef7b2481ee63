//! Signals, mail types, distributions and exports are read or refused, and read back the same.

use spur_core::job::distribution::{self, Nodes};
use spur_core::job::{export, mail, nice, signal};
use std::collections::BTreeMap;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
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
}
