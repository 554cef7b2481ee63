//! Records in an append-only file: a checksum around each, and a way to tell a torn tail from damage.
//!
//! ```text
//! magic u32 | payload length u32 | durable u64 | crc32 of all but itself u32 | payload
//! ```
//!
//! `durable` is the length of the file that was already synced when the frame was written. A frame that
//! cannot be read is a torn tail when nothing written later knew it to be durable: it was never
//! acknowledged, and is cut off. Otherwise it is damage to something acknowledged, and is reported.

const MAGIC: u32 = 0x5350_5552;
const HEADER: usize = 20;

/// The longest payload; a larger length in a file is damage, not a reason to allocate.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// Appends one frame to `out`. `durable` is the synced length of the file at this moment.
pub fn write(out: &mut Vec<u8>, durable: u64, payload: &[u8]) {
    assert!(payload.len() <= MAX_PAYLOAD, "a frame holds at most {MAX_PAYLOAD} bytes");
    let start = out.len();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&durable.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&out[start..]);
    crc.update(payload);
    out.extend_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(payload);
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

/// The frame that begins at `offset`, if it is whole.
pub fn read(bytes: &[u8], offset: usize) -> Option<Frame<'_>> {
    let header = bytes.get(offset..offset + HEADER)?;
    let word =
        |from: usize| u32::from_le_bytes(header[from..from + 4].try_into().expect("4 bytes"));
    let len = word(4) as usize;
    if word(0) != MAGIC || len > MAX_PAYLOAD {
        return None;
    }
    let durable = u64::from_le_bytes(header[8..16].try_into().expect("8 bytes"));
    let payload = bytes.get(offset + HEADER..offset + HEADER + len)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..16]);
    crc.update(payload);
    (crc.finalize() == word(16)).then_some(Frame { offset: offset as u64, payload, durable })
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
        write(&mut file, 0, b"one");
        write(&mut file, 0, b"two");
        let synced = file.len() as u64;
        write(&mut file, synced, b"three");
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
        write(&mut file, 0, b"synced");
        let durable = file.len() as u64;
        write(&mut file, durable, b"lost");
        write(&mut file, durable, b"kept");
        file[durable as usize + HEADER] ^= 1;
        let scan = scan(&file);
        assert_eq!((scan.good, scan.tail), (durable, Tail::Torn));
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
