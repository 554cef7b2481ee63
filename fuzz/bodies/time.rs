//! Spans, moments and sizes: what is read can be written, and reads back the same.

use spur_core::limit::Limit;
use spur_core::size;
use spur_core::time::moment::{self, Toward};
use spur_core::time::{FixedOffset, Timestamp, display, duration};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(limit) = duration::parse_limit(text) {
        assert_ne!(limit, Limit::Is(0));
        assert_eq!(duration::parse_limit(&display::limit_long(limit)), Ok(limit));
        assert_eq!(duration::parse_limit(&display::limit_short(limit)), Ok(limit));
    }
    let now = Timestamp(1_794_775_207);
    for toward in [Toward::Future, Toward::Past] {
        for seconds_east in [-43_200, 0, 19_800] {
            let zone = FixedOffset { seconds_east };
            let Ok(at) = moment::parse(text, toward, now, &zone) else { continue };
            let shown = display::moment(at, &zone);
            if at > Timestamp(0) && !shown.starts_with('+') && shown.len() == 19 {
                assert_eq!(moment::parse(&shown, toward, now, &zone), Ok(at));
            }
        }
    }
    if let Ok(megabytes) = size::parse_megabytes(text) {
        let _ = size::display_megabytes(megabytes);
    }
}
