//! Starts shepherds. A small process of one thread, started once, forks them: a fork of it costs a fraction of
//! what starting a program does. Nothing ties a shepherd to the agent: it must survive us.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd;

use super::child::{self, CommandLine};
use super::handover::{receive, send};
use super::hosts;
use super::pidfd::Pidfd;
use super::privilege::Credentials;
use crate::shepherd::Node;

/// The first argument of a nursery.
pub const NURSERY: &str = "nursery";

/// Where shepherds come from.
pub struct Nursery {
    spool: PathBuf,
    /// Where shepherds complain before they can write an ending.
    log: File,
    /// None until the first is needed, and after one was lost.
    process: Option<(Child, OwnedFd)>,
}

impl Nursery {
    /// One for the runs of a spool.
    pub fn new(spool: &Path, log: File) -> Nursery {
        Nursery { spool: spool.to_path_buf(), log, process: None }
    }

    /// Starts a shepherd, which hears on the line what it is to do.
    pub fn shepherd(&mut self) -> io::Result<(Pidfd, OwnedFd)> {
        if self.process.is_none() {
            self.process = Some(self.begin()?);
        }
        let Some((_, line)) = &self.process else { return Err(io::ErrorKind::NotFound.into()) };
        let (ours, its) = pair()?;
        let asked = send(line, b".", Some(its.as_fd()));
        drop(its);
        match asked.and_then(|()| receive(line)) {
            Ok((_, Some(pidfd))) => Ok((Pidfd::from(pidfd), ours)),
            Ok((complaint, None)) if !complaint.is_empty() => {
                Err(io::Error::other(String::from_utf8_lossy(&complaint).into_owned()))
            }
            // It is gone. The next attempt has a new one.
            gone => {
                self.end();
                Err(gone.err().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
            }
        }
    }

    fn begin(&self) -> io::Result<(Child, OwnedFd)> {
        let (ours, its) = pair()?;
        let child = Command::new(OWN_PROGRAM)
            .arg0("spurd")
            .arg(NURSERY)
            .arg(&self.spool)
            .arg(" ".repeat(ROOM))
            .env_clear()
            .stdin(Stdio::from(its))
            .stdout(Stdio::null())
            .stderr(self.log.try_clone()?)
            .spawn()?;
        Ok((child, ours))
    }

    fn end(&mut self) {
        if let Some((mut child, line)) = self.process.take() {
            // It ends when nobody can ask it any more.
            drop(line);
            let _ = child.wait();
        }
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        self.end();
    }
}

/// A line for messages: each is received as it was sent, and who holds an end learns when the other is closed.
fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?)
}

/// How much longer the words of a shepherd are than those of a nursery, in which it shows them.
const ROOM: usize = 48;

/// The program we are, also after its file was replaced: agent and shepherd are always of one version.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// A shepherd's whole life, given its line and where its words are.
pub type Life = fn(&Node, OwnedFd, Option<CommandLine>) -> ExitCode;

/// Runs `spurd nursery SPOOL`, given what follows `nursery`. Ends when the agent does.
pub fn main(arguments: &[OsString], life: Life) -> ExitCode {
    let [spool, ..] = arguments else {
        eprintln!("usage: spurd nursery SPOOL");
        return ExitCode::FAILURE;
    };
    let node = match Node::read(Path::new(spool)) {
        Ok(node) => node,
        Err(error) => {
            eprintln!("spurd nursery: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = hosts::show(Path::new(spool)) {
        eprintln!("spurd nursery: jobs cannot look up the names of nodes: {error}");
    }
    // A place of its own, so that a signal for the agent's terminal is none for the shepherds to come.
    let _ = unistd::setsid();
    child::leave_burying_to_the_kernel();
    // What the C library loads to look users up is loaded once, here, and not by each shepherd.
    let own = unistd::Uid::effective().as_raw();
    let _ = Credentials::resolve(own, unistd::Gid::effective().as_raw(), "");
    let words = CommandLine::find();
    let agent = io::stdin();
    loop {
        let line = match receive(&agent) {
            Ok((_, Some(line))) => line,
            Ok((_, None)) => return ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("spurd nursery: {error}");
                return ExitCode::FAILURE;
            }
        };
        let answered = match child::fork_held(|| be_shepherd(|| life(&node, line, words))) {
            Ok(pidfd) => send(&agent, b".", Some(pidfd.as_fd())),
            Err(error) => send(&agent, format!("could not fork: {error}").as_bytes(), None),
        };
        if answered.is_err() {
            return ExitCode::SUCCESS;
        }
    }
}

fn be_shepherd(life: impl FnOnce() -> ExitCode) -> Infallible {
    child::bury_children();
    // Nobody asks for its code: how a run ended is in the spool.
    life();
    child::leave(0)
}
