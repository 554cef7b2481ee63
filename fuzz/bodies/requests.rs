//! Counts, gres, licences and TRES lists are read or refused, never more.

use spur_core::{counts, gres, license, tres};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(count) = counts::parse_nodes(text) {
        assert!(count.max.is_none_or(|max| count.min <= max && max <= counts::MAX));
    }
    let _ = gres::parse(text);
    let _ = gres::parse_gpus(text);
    if let Ok(requests) = license::parse(text) {
        let written: Vec<String> = requests.iter().map(|request| request.to_string()).collect();
        assert_eq!(license::parse(&written.join(",")), Ok(requests));
    }
    if let Ok(amounts) = tres::parse(text) {
        let plain = tres::display_plain(&amounts);
        assert_eq!(tres::parse(&plain), Ok(amounts));
    }
}
