//! What is read as a host list is bounded, and survives being written and read again.

use spur_core::hostlist;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut hosts) = hostlist::parse(text) else { return };
    assert!(hosts.len() as u64 <= hostlist::MAX_HOSTS);
    // A name may hold brackets that were never closed; then it reads as something else.
    let plain = !hosts.names().any(|name| name.contains(['[', ']', ',']));
    if hosts.len() < 2_000 && plain {
        let names: Vec<String> = hosts.names().collect();
        assert_eq!(hostlist::expand(&hosts.to_string()).as_ref(), Ok(&names));
        assert_eq!(hostlist::expand(&hostlist::compress(&names)).as_ref(), Ok(&names));
        hosts.sort();
        let mut sorted: Vec<String> = hosts.names().collect();
        let mut names = names;
        sorted.sort();
        names.sort();
        assert_eq!(sorted, names);
    }
}
