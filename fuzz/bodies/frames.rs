//! Frames of files: a torn tail is told from damage, and nothing is read that was not written.

use spur_disk::frame;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let _ = frame::scan(bytes);
    for offset in 0..bytes.len().min(64) {
        let _ = frame::read(bytes, offset);
    }
    let mut written = Vec::new();
    frame::write(&mut written, 0, 0, bytes);
    assert_eq!(written.len() as u64, frame::framed_len(bytes.len()));
    assert!(frame::read(&written, 0).is_some_and(|it| it.payload == bytes));
}
