//! Whoever is connected to the step: the one who started it, and those who attached later.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prost::Message;
use spur_proto::internal::{StepHello, StepProgram};
use spur_proto::step_io::{EVERYBODY, Frame, Frames, Kind, put};

use super::super::watch::Signals;
use crate::machine::connection;

/// How long nobody may come.
const PATIENCE: Duration = Duration::from_secs(60);

/// What waits for a client at most before tasks are no longer read from.
const WAITING: usize = 256 << 10;

/// Who attached and does not read is let go when this much waits for them: they must not stop the tasks.
const ATTACHED_WAITING: usize = 16 << 20;

/// All connections.
pub struct Clients {
    listener: UnixListener,
    list: Vec<Client>,
    /// Who started the step was here and is gone.
    deserted: bool,
}

/// One connection.
struct Client {
    stream: UnixStream,
    frames: Frames,
    waiting: Vec<u8>,
    sent: usize,
    is_launcher: bool,
    gone: bool,
}

impl Clients {
    /// Nobody yet.
    pub fn new(listener: UnixListener) -> Clients {
        Clients { listener, list: Vec::new(), deserted: false }
    }

    /// Waits for whoever says what to run. Nothing when nobody comes, or the step is to end before.
    pub fn wait_for_launcher(&mut self, signals: &Signals) -> Result<Option<StepProgram>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(program) = self.accept() {
                return Ok(Some(program));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if signals.read().end || left.is_zero() {
                return Ok(None);
            }
            let mut fds = [
                PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            ];
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, timeout) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno).context("could not wait for a launcher"),
            }
        }
    }

    /// Takes over a connection that the agent hands us; tells what a launcher wants to run.
    pub fn accept(&mut self) -> Option<StepProgram> {
        let (mut agent, _) = self.listener.accept().ok()?;
        agent.set_nonblocking(false).ok()?;
        // The agent sends all at once; one that dies in between must not stop us.
        agent.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let (taken, about) = connection::take(&mut agent).ok()?;
        let hello = StepHello::decode(about.as_slice()).ok()?;
        let stream = UnixStream::from(taken);
        stream.set_nonblocking(true).ok()?;
        let is_launcher = hello.program.is_some() && !self.list.iter().any(|it| it.is_launcher);
        self.list.push(Client {
            stream,
            frames: Frames::default(),
            waiting: Vec::new(),
            sent: 0,
            is_launcher,
            gone: false,
        });
        hello.program.filter(|_| is_launcher)
    }

    /// Tells the launcher why nothing is run.
    pub fn refuse(&mut self, reason: &str) {
        self.tell(Kind::Refused, EVERYBODY, reason.as_bytes());
        self.flush_for(Duration::from_secs(5));
    }

    /// Queues a frame for everybody.
    pub fn tell(&mut self, kind: Kind, rank: u32, payload: &[u8]) {
        for client in self.list.iter_mut().filter(|client| !client.gone) {
            put(&mut client.waiting, kind, rank, payload);
        }
    }

    /// Queues a frame for who started the step.
    pub fn tell_launcher(&mut self, kind: Kind, rank: u32, payload: &[u8]) {
        for client in self.list.iter_mut().filter(|client| client.is_launcher && !client.gone) {
            put(&mut client.waiting, kind, rank, payload);
        }
    }

    /// Whether tasks may be read from: the launcher keeps up.
    pub fn have_room(&self) -> bool {
        self.list.iter().all(|client| !client.is_launcher || client.left() < WAITING)
    }

    /// Whether nothing waits to be sent.
    pub fn are_told(&self) -> bool {
        self.list.iter().all(|client| client.left() == 0)
    }

    /// Whether who started the step is gone.
    pub fn are_deserted(&self) -> bool {
        self.deserted
    }

    /// What to wait for.
    pub fn interests(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let mut interests = vec![(self.listener.as_fd(), PollFlags::POLLIN)];
        for client in &self.list {
            let mut flags = PollFlags::POLLIN;
            flags.set(PollFlags::POLLOUT, client.left() > 0);
            interests.push((client.stream.as_fd(), flags));
        }
        interests
    }

    /// Sends and receives what can be; returns what was heard.
    pub fn work(&mut self) -> Vec<Frame> {
        let _ = self.accept();
        let mut heard = Vec::new();
        for client in &mut self.list {
            client.send();
            client.receive(&mut heard);
            if !client.is_launcher && client.left() > ATTACHED_WAITING {
                client.gone = true;
            }
        }
        self.deserted |= self.list.iter().any(|client| client.is_launcher && client.gone);
        self.list.retain(|client| !client.gone);
        heard
    }

    /// Sends what waits, as long as somebody reads, but not longer than told.
    pub fn flush_for(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        loop {
            let _ = self.work();
            let left = deadline.saturating_duration_since(Instant::now());
            if self.are_told() || left.is_zero() {
                return;
            }
            let interests = self.interests();
            let mut fds: Vec<PollFd<'_>> =
                interests.iter().map(|(fd, flags)| PollFd::new(*fd, *flags)).collect();
            let _ = poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
        }
    }
}

impl Client {
    fn left(&self) -> usize {
        self.waiting.len() - self.sent
    }

    fn send(&mut self) {
        while self.left() > 0 && !self.gone {
            match self.stream.write(&self.waiting[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
        }
        if self.left() == 0 {
            self.waiting.clear();
            self.sent = 0;
        }
    }

    fn receive(&mut self, heard: &mut Vec<Frame>) {
        let mut bytes = [0; 64 << 10];
        // A few rounds, so that one who says much does not keep the others waiting.
        for _ in 0..4 {
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    self.gone = true;
                    break;
                }
                Ok(count) => self.frames.push(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.gone = true;
                    break;
                }
            }
            loop {
                match self.frames.take_frame() {
                    Ok(Some(frame)) => heard.push(frame),
                    Ok(None) => break,
                    Err(_) => {
                        self.gone = true;
                        break;
                    }
                }
            }
        }
    }
}
