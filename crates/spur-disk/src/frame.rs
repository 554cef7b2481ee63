//! Records in an append-only file: a checksum around each, and a way to tell a torn tail from damage.
//!
//! ```text
//! magic u32 | payload length u32 | durable u64 | crc32 of all but itself, and of its offset u32 | payload
//! ```
//!
//! The offset is in the checksum, so that bytes inside a payload that look like a frame are none.
//!
//! `durable` is the length of the file that was already synced when the frame was written. A frame that
//! cannot be read is a torn tail when nothing written later knew it to be durable: it was never
//! acknowledged, and is cut off. Otherwise it is damage to something acknowledged, and is reported.

const MAGIC: u32 = 0x5350_5552;
const HEADER: usize = 20;

/// The longest payload; a larger length in a file is damage, not a reason to allocate.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// Appends one frame to `out`, which will be written at `base` in its file. `durable` is the synced length
/// of the file at this moment.
pub fn write(out: &mut Vec<u8>, base: u64, durable: u64, payload: &[u8]) {
    assert!(payload.len() <= MAX_PAYLOAD, "a frame holds at most {MAX_PAYLOAD} bytes");
    let start = out.len();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&durable.to_le_bytes());
    let crc = checksum(base + start as u64, &out[start..], payload);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(payload);
}

fn checksum(offset: u64, header: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&offset.to_le_bytes());
    crc.update(header);
    crc.update(payload);
    crc.finalize()
}

/// The bytes a payload of this length takes in a file.
pub fn framed_len(payload: usize) -> u64 {
    (HEADER + payload) as u64
}

/// One frame found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Where it begins.
    pub offset: u64,
    /// What it holds.
    pub payload: &'a [u8],
    durable: u64,
}

/// Everything readable in a file, and how it ends.
#[derive(Debug, PartialEq, Eq)]
pub struct Scan<'a> {
    /// The frames from the start up to the first that cannot be read.
    pub frames: Vec<Frame<'a>>,
    /// The length of what `frames` covers.
    pub good: u64,
    /// How the rest looks.
    pub tail: Tail,
}

/// What lies behind the last readable frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// An unfinished write that nobody was told about; cut it off.
    Torn,
    /// Acknowledged data that can no longer be read.
    Damaged {
        /// Where it begins.
        at: u64,
    },
}

/// Reads all frames of a file.
pub fn scan(bytes: &[u8]) -> Scan<'_> {
    let mut frames = Vec::new();
    let mut at = 0;
    while let Some(frame) = read(bytes, at) {
        at += framed_len(frame.payload.len()) as usize;
        frames.push(frame);
    }
    let good = at as u64;
    let tail = if at == bytes.len() {
        Tail::Clean
    } else if later_frames(bytes, at + 1).any(|frame| frame.durable > good) {
        Tail::Damaged { at: good }
    } else {
        Tail::Torn
    };
    Scan { frames, good, tail }
}

/// The frame that begins at `offset` of a file, if it is whole.
pub fn read(file: &[u8], offset: usize) -> Option<Frame<'_>> {
    read_part(file.get(offset..)?, offset as u64)
}

/// The same, given the file's bytes from `offset` on.
pub fn read_part(bytes: &[u8], offset: u64) -> Option<Frame<'_>> {
    let header = bytes.get(..HEADER)?;
    let word =
        |from: usize| u32::from_le_bytes(header[from..from + 4].try_into().expect("4 bytes"));
    let len = word(4) as usize;
    if word(0) != MAGIC || len > MAX_PAYLOAD {
        return None;
    }
    let durable = u64::from_le_bytes(header[8..16].try_into().expect("8 bytes"));
    let payload = bytes.get(HEADER..HEADER + len)?;
    let whole = checksum(offset, &header[..16], payload) == word(16);
    whole.then_some(Frame { offset, payload, durable })
}

/// Whole frames anywhere from `from` on, found by their magic.
fn later_frames(bytes: &[u8], from: usize) -> impl Iterator<Item = Frame<'_>> {
    let magic = MAGIC.to_le_bytes();
    (from..bytes.len().saturating_sub(HEADER - 1))
        .filter(move |&at| bytes[at..at + 4] == magic)
        .filter_map(|at| read(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three frames, the first two synced before the third was written.
    fn sample() -> Vec<u8> {
        let mut file = Vec::new();
        write(&mut file, 0, 0, b"one");
        write(&mut file, 0, 0, b"two");
        let synced = file.len() as u64;
        write(&mut file, 0, synced, b"three");
        file
    }

    fn payloads<'a>(scan: &Scan<'a>) -> Vec<&'a [u8]> {
        scan.frames.iter().map(|frame| frame.payload).collect()
    }

    #[test]
    fn whole_file_reads_back() {
        let file = sample();
        let scan = scan(&file);
        assert_eq!(payloads(&scan), [&b"one"[..], b"two", b"three"]);
        assert_eq!(scan.tail, Tail::Clean);
    }

    #[test]
    fn cut_in_the_last_frame_is_a_torn_tail() {
        let file = sample();
        let scan = scan(&file[..file.len() - 2]);
        assert_eq!(payloads(&scan), [&b"one"[..], b"two"]);
        assert_eq!(scan.tail, Tail::Torn);
    }

    #[test]
    fn flipped_byte_in_synced_data_is_damage() {
        let mut file = sample();
        file[HEADER + 1] ^= 1;
        assert_eq!(scan(&file).tail, Tail::Damaged { at: 0 });
    }

    #[test]
    fn lost_page_of_an_unsynced_batch_is_torn_even_with_whole_frames_behind_it() {
        let mut file = Vec::new();
        write(&mut file, 0, 0, b"synced");
        let durable = file.len() as u64;
        write(&mut file, 0, durable, b"lost");
        write(&mut file, 0, durable, b"kept");
        file[durable as usize + HEADER] ^= 1;
        let scan = scan(&file);
        assert_eq!((scan.good, scan.tail), (durable, Tail::Torn));
    }

    #[test]
    fn a_payload_that_looks_like_a_frame_is_none() {
        let mut forged = Vec::new();
        write(&mut forged, 0, u64::MAX, b"damage!");
        let mut file = Vec::new();
        write(&mut file, 0, 0, &forged);
        file[HEADER - 1] ^= 1;
        assert_eq!(scan(&file).tail, Tail::Torn);
    }

    proptest! {
        #[test]
        fn never_panics(bytes: Vec<u8>) {
            scan(&bytes);
        }

        #[test]
        fn any_single_flip_is_noticed(at in 0usize..70, bit in 0u8..8) {
            let whole = sample();
            let mut file = whole.clone();
            let at = at % file.len();
            file[at] ^= 1 << bit;
            let scan = scan(&file);
            prop_assert!(scan.tail != Tail::Clean);
            for frame in &scan.frames {
                prop_assert_eq!(read(&whole, frame.offset as usize).map(|f| f.payload), Some(frame.payload));
            }
        }
    }
}
