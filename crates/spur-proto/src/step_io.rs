//! Frames between `srun` and a node's shepherd: a kind, a task, a length, and so many bytes.
//!
//! Output flows as it comes, and whoever does not read stops the tasks by and by. Input is sent only as
//! far as the other side has granted, so that a signal is never stuck behind it.

use prost::Message;

use crate::internal::{PmiName, StepHello, StepUsage};

/// Whom a frame is about when it is not a single task.
pub const EVERYBODY: u32 = u32::MAX;

/// The most that one frame holds; the largest is the first, with an environment in it.
pub const MAX_PAYLOAD: usize = 4 << 20;

/// What is longer is sent in parts of this size, where it may be.
pub const PART: usize = 1 << 20;

/// How much input may be on its way to a node.
pub const INPUT_WINDOW: u32 = 256 << 10;

const HEADER: usize = 9;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a frame means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $name = $number,)*
        }

        impl Kind {
            fn from_number(number: u8) -> Option<Kind> {
                match number {
                    $($number => Some(Kind::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// The first of a connection: a `StepHello`.
    Hello = 1,
    /// The tasks of this node run.
    Started = 2,
    /// Output of a task; empty when there will be no more.
    Output = 3,
    /// Error output of a task; empty when there will be no more.
    Error = 4,
    /// A task has ended; four bytes of wait status.
    Exited = 5,
    /// A line for people.
    Say = 6,
    /// So many more bytes of input may be sent; four bytes.
    Grant = 7,
    /// Nothing of the step is left on this node.
    Over = 8,
    /// The step cannot be run here; the reason as text.
    Refused = 9,
    /// What the step uses here; a `StepUsage`.
    Usage = 10,
    /// All tasks here are at a fence: a part of their `PmiPuts`, empty when that was all. Goes to every node as what all of
    /// them have said.
    Share = 11,
    /// A task asks for a name, or is answered; a `PmiName`.
    Name = 12,
    /// A task wants the whole step to end.
    Abort = 13,
    /// Input for a task, or for all; empty when there will be no more.
    Input = 20,
    /// A signal for all tasks of the node; four bytes.
    Signal = 21,
    /// The terminal's size: rows and columns, two bytes each.
    Window = 22,
    /// A user of the machine asks its agent which authority to believe; the answer is its certificate.
    Introduce = 30,
    /// A user of the machine asks its agent to say who they are on a connection; 32 bytes name it. The answer
    /// is the agent's word.
    Vouch = 31,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it means.
    pub kind: Kind,
    /// Which task it is about.
    pub rank: u32,
    /// The rest.
    pub payload: Vec<u8>,
}

impl Frame {
    /// What a step uses, if the frame tells that.
    pub fn usage(&self) -> Option<StepUsage> {
        if self.kind != Kind::Usage {
            return None;
        }
        StepUsage::decode(self.payload.as_slice()).ok()
    }

    /// A question about a name or its answer, if the frame is one.
    pub fn pmi_name(&self) -> Option<PmiName> {
        if self.kind != Kind::Name {
            return None;
        }
        PmiName::decode(self.payload.as_slice()).ok()
    }

    /// The payload as a number.
    pub fn number(&self) -> u32 {
        let bytes = self.payload.get(..4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }
}

/// Adds a frame to what is to be sent.
pub fn put(buffer: &mut Vec<u8>, kind: Kind, rank: u32, payload: &[u8]) {
    buffer.push(kind as u8);
    buffer.extend_from_slice(&rank.to_le_bytes());
    buffer.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    buffer.extend_from_slice(payload);
}

/// A frame alone.
pub fn frame(kind: Kind, rank: u32, payload: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(HEADER + payload.len());
    put(&mut buffer, kind, rank, payload);
    buffer
}

/// The first frame of a connection.
pub fn hello(hello: &StepHello) -> Vec<u8> {
    frame(Kind::Hello, EVERYBODY, &hello.encode_to_vec())
}

/// A question of a task about a name, or its answer.
pub fn pmi_name(task: u32, name: &PmiName) -> Vec<u8> {
    frame(Kind::Name, task, &name.encode_to_vec())
}

/// Not what this protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other end does not speak this protocol")]
pub struct Garbled;

/// Takes frames out of a stream of bytes.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    taken: usize,
}

impl Frames {
    /// Takes in some bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// What came after the frames that were taken.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    /// The next frame that is complete.
    pub fn take_frame(&mut self) -> Result<Option<Frame>, Garbled> {
        let rest = &self.buffer[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let kind = Kind::from_number(header[0]).ok_or(Garbled)?;
        let number = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (rank, length) = (number(1), number(5) as usize);
        if length > MAX_PAYLOAD {
            return Err(Garbled);
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let frame = Frame { kind, rank, payload: payload.to_vec() };
        self.taken += HEADER + length;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let mut bytes = Vec::new();
        put(&mut bytes, Kind::Output, 3, b"some text");
        put(&mut bytes, Kind::Output, 3, b"");
        put(&mut bytes, Kind::Exited, 7, &256_u32.to_le_bytes());
        for size in [1, 2, 9, 100] {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for chunk in bytes.chunks(size) {
                frames.push(chunk);
                while let Some(frame) = frames.take_frame().expect("is well formed") {
                    found.push(frame);
                }
            }
            assert_eq!(found.len(), 3);
            assert_eq!((found[0].rank, &found[0].payload[..]), (3, &b"some text"[..]));
            assert_eq!(found[2].number(), 256);
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut frames = Frames::default();
        frames.push(b"GET / HTTP/1.1\r\n");
        assert_eq!(frames.take_frame(), Err(Garbled));
    }
}
