//! What a log or a snapshot holds is decoded or refused; what was decoded is written the same again.

use spur_core::state::stored::{Reader, decode_entries, encode_entries};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    if let Ok(entries) = decode_entries(bytes) {
        let written = encode_entries(&entries);
        assert_eq!(decode_entries(&written).expect("was written by us"), entries);
    }
    let mut reader = Reader::default();
    for record in bytes.chunks(64) {
        if reader.take(record).is_err() {
            return;
        }
    }
    let _ = reader.finish();
}
