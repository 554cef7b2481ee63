//! Starts shepherds. A small process of one thread, started once, forks one for each run: a fork of it costs
//! a fraction of what starting a program does. Nothing ties a shepherd to the agent: it must survive us.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd;

use super::child::{self, CommandLine};
use super::handover::{receive, send};
use super::pidfd::Pidfd;
use super::privilege::Credentials;
use crate::run::RunId;
use crate::shepherd::{Node, SHEPHERD};

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

    /// Starts a shepherd for a run; that of a step has its listener as standard input. It may use the file in the
    /// spool that is to spare.
    pub fn shepherd(
        &mut self,
        run: RunId,
        listener: Option<&UnixListener>,
        spare: Option<&Path>,
    ) -> io::Result<Pidfd> {
        if self.process.is_none() {
            self.process = Some(self.begin()?);
        }
        let Some((_, line)) = &self.process else { return Err(io::ErrorKind::NotFound.into()) };
        let spare = spare.and_then(|spare| spare.strip_prefix(&self.spool).ok()?.to_str());
        let request = format!("{run} {}", spare.unwrap_or_default());
        let asked = send(line, request.as_bytes(), listener.map(AsFd::as_fd));
        match asked.and_then(|()| receive(line)) {
            Ok((_, Some(pidfd))) => Ok(Pidfd::from(pidfd)),
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
        let flags = SockFlag::SOCK_CLOEXEC;
        let (ours, its) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
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

/// How much longer the words of a shepherd are than those of a nursery, in which it shows them.
const ROOM: usize = 48;

/// The program we are, also after its file was replaced: agent and shepherd are always of one version.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Runs `spurd nursery SPOOL`, given what follows `nursery`. Ends when the agent does.
pub fn main(
    arguments: &[OsString],
    shepherd: fn(&Node, &OsStr, Option<PathBuf>) -> ExitCode,
) -> ExitCode {
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
    // A place of its own, so that a signal for the agent's terminal is none for the shepherds to come.
    let _ = unistd::setsid();
    child::leave_burying_to_the_kernel();
    // What the C library loads to look users up is loaded once, here, and not by each shepherd.
    let own = unistd::Uid::effective().as_raw();
    let _ = Credentials::resolve(own, unistd::Gid::effective().as_raw(), "");
    let words = CommandLine::find();
    let line = io::stdin();
    loop {
        let (name, listener) = match receive(&line) {
            Ok((name, _)) if name.is_empty() => return ExitCode::SUCCESS,
            Ok(request) => request,
            Err(error) => {
                eprintln!("spurd nursery: {error}");
                return ExitCode::FAILURE;
            }
        };
        let request = String::from_utf8_lossy(&name).into_owned();
        let (name, spare) = request.split_once(' ').unwrap_or((&request, ""));
        let name = OsStr::new(name);
        let spare = (!spare.is_empty()).then(|| node.spool().join(spare));
        let become_one = || {
            let said = [OsStr::new("spurd"), OsStr::new(SHEPHERD), node.spool().as_os_str(), name];
            if let Some(words) = words {
                words.write(&said.map(OsStr::as_bytes));
            }
            be_shepherd(|| shepherd(&node, name, spare), listener)
        };
        let answered = match child::fork_held(become_one) {
            Ok(pidfd) => send(&line, b".", Some(pidfd.as_fd())),
            Err(error) => send(&line, format!("could not fork: {error}").as_bytes(), None),
        };
        if answered.is_err() {
            return ExitCode::SUCCESS;
        }
    }
}

fn be_shepherd(care: impl FnOnce() -> ExitCode, listener: Option<OwnedFd>) -> Infallible {
    let input = match listener {
        Some(listener) => Ok(listener),
        None => File::open("/dev/null").map(OwnedFd::from),
    };
    let ready = input.and_then(|input| Ok(unistd::dup2_stdin(input)?));
    child::bury_children();
    if let Err(error) = ready {
        eprintln!("spurd nursery: could not set the input of a shepherd: {error}");
        child::leave(1)
    }
    // Nobody asks for its code: how a run ended is in the spool.
    care();
    child::leave(0)
}
