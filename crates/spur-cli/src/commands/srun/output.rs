//! Where the output of tasks goes: terminals and files of `srun`'s own, line by line or as it comes. A
//! thread of its own writes, so that whoever does not read stops the tasks and nothing else.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

/// Something to write.
pub enum Piece {
    /// Bytes of a task; none when there will be no more.
    Bytes { rank: u32, is_error: bool, bytes: Vec<u8> },
    /// A line of our own, for people.
    Line(String),
}

/// How output is written.
pub struct Manner {
    /// Lines begin with the task's number, so many letters wide.
    pub label: Option<usize>,
    /// Pieces are passed on as they come.
    pub unbuffered: bool,
    /// In place of standard output.
    pub output: Option<File>,
    /// In place of standard error.
    pub error: Option<File>,
    /// Errors go where output goes.
    pub joined: bool,
}

/// Pieces that may wait for the thread.
const WAITING: usize = 16;

/// A line longer than this is passed on in pieces.
const LONGEST_LINE: usize = 64 << 10;

/// The thread that writes.
pub struct Writer {
    /// Where pieces go in.
    pub pieces: mpsc::Sender<Piece>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Begins to write.
    pub fn start(manner: Manner) -> Writer {
        let (pieces, receiver) = mpsc::channel(WAITING);
        let thread = std::thread::spawn(move || Writing::new(manner).run(receiver));
        Writer { pieces, thread }
    }

    /// Waits until everything is written; nobody may hold a sender any more.
    pub fn finish(self) {
        drop(self.pieces);
        let _ = self.thread.join();
    }
}

struct Writing {
    manner: Manner,
    /// The beginning of a line whose end has not come yet.
    begun: BTreeMap<(u32, bool), Vec<u8>>,
}

impl Writing {
    fn new(manner: Manner) -> Writing {
        Writing { manner, begun: BTreeMap::new() }
    }

    fn run(mut self, mut pieces: mpsc::Receiver<Piece>) {
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Line(line) => {
                    let _ = io::stderr().write_all(line.as_bytes());
                }
                Piece::Bytes { rank, is_error, bytes } => self.take(rank, is_error, &bytes),
            }
        }
        let left: Vec<(u32, bool)> = self.begun.keys().copied().collect();
        left.into_iter().for_each(|(rank, is_error)| self.take(rank, is_error, &[]));
    }

    fn take(&mut self, rank: u32, is_error: bool, bytes: &[u8]) {
        if self.manner.unbuffered && self.manner.label.is_none() {
            self.write(is_error, bytes);
            return;
        }
        let mut line = self.begun.remove(&(rank, is_error)).unwrap_or_default();
        line.extend_from_slice(bytes);
        let last = match line.iter().rposition(|byte| *byte == b'\n') {
            // What is left at the end, or far too long for a line, is a line as it stands.
            _ if bytes.is_empty() || line.len() > LONGEST_LINE => line.len(),
            Some(at) => at + 1,
            None => 0,
        };
        let rest = line.split_off(last);
        if !rest.is_empty() {
            self.begun.insert((rank, is_error), rest);
        }
        match self.manner.label {
            None => self.write(is_error, &line),
            Some(width) => {
                let mut labelled = Vec::with_capacity(line.len() + 16);
                for line in line.split_inclusive(|byte| *byte == b'\n') {
                    labelled.extend_from_slice(format!("{rank:>width$}: ").as_bytes());
                    labelled.extend_from_slice(line);
                    if line.last() != Some(&b'\n') {
                        labelled.push(b'\n');
                    }
                }
                self.write(is_error, &labelled);
            }
        }
    }

    fn write(&mut self, is_error: bool, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // That nobody reads any more is no reason to stop the tasks: they may write files.
        let _ = match (&mut self.manner.output, &mut self.manner.error) {
            (Some(file), _) if !is_error || self.manner.joined => file.write_all(bytes),
            (_, Some(file)) if is_error => file.write_all(bytes),
            _ if is_error && !self.manner.joined => io::stderr().write_all(bytes),
            _ => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
    }
}
