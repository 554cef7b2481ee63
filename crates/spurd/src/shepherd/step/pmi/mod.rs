//! Lets the processes of MPI programs find each other: `srun --mpi=pmi2`.
//!
//! Each task has a socket to us (`PMI_FD`) and speaks PMI-1 or PMI-2 there. What tasks have put is gathered at a fence by
//! whoever started the step, who is connected to every node, and sent to all of them.

mod server;
mod wire;

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::poll::PollFlags;
use spur_proto::internal::StepLaunch;
use spur_proto::step_io::{EVERYBODY, Frame, Kind, PART};

use self::server::{Act, Server, World, mapping};
use super::clients::Clients;
use super::program::Program;

/// The kinds of `--mpi` that are served here.
const KINDS: &[&str] = &["pmi2"];

/// The tasks of this node and their sockets.
pub struct Pmi {
    server: Server,
    lines: Vec<Line>,
    /// What came of the others' puts so far.
    shared: Vec<u8>,
}

/// Our end of a task's socket.
struct Line {
    stream: Option<UnixStream>,
    waiting: Vec<u8>,
}

impl Pmi {
    /// Where the step asks for it.
    pub fn new(step: &StepLaunch, program: &Program) -> Option<Pmi> {
        let kind = step.spec.as_ref().map_or("", |spec| spec.mpi.as_str());
        if !KINDS.contains(&kind) {
            return None;
        }
        let (name, first, ranks) = match &program.asked.whole {
            Some(whole) => (
                format!("{}.{}", whole.job, step.step),
                whole.first_rank,
                one_after_another(&whole.tasks_per_node),
            ),
            None => {
                let ranks = step.nodes.iter().map(|node| node.ranks.clone()).collect();
                (program.name.clone(), 0, ranks)
            }
        };
        let size = ranks.iter().map(|ranks| ranks.len() as u32).sum();
        let world = World { name, size, mapping: mapping(&ranks) };
        let server = Server::new(world, program.ranks.iter().map(|rank| rank + first));
        Some(Pmi { server, lines: Vec::new(), shared: Vec::new() })
    }

    /// A socket for the next task; its end.
    pub fn connect(&mut self) -> std::io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        self.lines.push(Line { stream: Some(ours), waiting: Vec::new() });
        Ok(theirs.into())
    }

    /// What to wait for.
    pub fn interests(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.lines.iter().filter_map(|line| {
            let mut flags = PollFlags::POLLIN;
            flags.set(PollFlags::POLLOUT, !line.waiting.is_empty());
            Some((line.stream.as_ref()?.as_fd(), flags))
        })
    }

    /// Hears and answers the tasks. Whether one of them wants the step to end.
    pub fn work(&mut self, clients: &mut Clients) -> bool {
        let mut wants_end = false;
        for at in 0..self.lines.len() {
            let mut bytes = [0; 16 << 10];
            while let Some(heard) = self.lines[at].read(&mut bytes) {
                let acts = self.server.hear(at, heard);
                wants_end |= self.act(acts, clients);
            }
            self.lines[at].write();
        }
        wants_end
    }

    /// What whoever started the step has to say to it.
    pub fn obey(&mut self, frame: &Frame, clients: &mut Clients) {
        let acts = match frame.kind {
            Kind::Share if !frame.payload.is_empty() => {
                self.shared.extend_from_slice(&frame.payload);
                return;
            }
            Kind::Share => self.server.share(&std::mem::take(&mut self.shared)),
            _ => match frame.pmi_name() {
                Some(answer) => self.server.named(frame.rank as usize, &answer),
                None => return,
            },
        };
        self.act(acts, clients);
    }

    fn act(&mut self, acts: Vec<Act>, clients: &mut Clients) -> bool {
        let mut wants_end = false;
        for act in acts {
            match act {
                Act::Tell(at, bytes) => {
                    self.lines[at].waiting.extend(bytes);
                    self.lines[at].write();
                }
                Act::Share(bytes) => {
                    for part in bytes.chunks(PART) {
                        clients.tell_launcher(Kind::Share, EVERYBODY, part);
                    }
                    clients.tell_launcher(Kind::Share, EVERYBODY, &[]);
                }
                Act::Ask(at, bytes) => clients.tell_launcher(Kind::Name, at as u32, &bytes),
                Act::Abort => wants_end = true,
            }
        }
        wants_end
    }
}

/// The ranks of each node, where they are counted node by node.
fn one_after_another(tasks_per_node: &[u32]) -> Vec<Vec<u32>> {
    let mut next = 0;
    let ranks = tasks_per_node.iter().map(|tasks| {
        let first = next;
        next += tasks;
        (first..next).collect()
    });
    ranks.collect()
}

impl Line {
    /// What is there to be read; nothing when there is nothing now, or never again.
    fn read<'a>(&mut self, bytes: &'a mut [u8]) -> Option<&'a [u8]> {
        loop {
            match self.stream.as_mut()?.read(bytes) {
                Ok(count) if count > 0 => return Some(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Ok(_) | Err(_) => {
                    self.stream = None;
                    return None;
                }
            }
        }
    }

    fn write(&mut self) {
        while let Some(stream) = self.stream.as_mut().filter(|_| !self.waiting.is_empty()) {
            match stream.write(&self.waiting) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.stream = None,
            }
        }
    }
}
