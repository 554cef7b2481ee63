//! Starts shepherds. Nothing ties one to the agent but its parent's number: it must survive us.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::pidfd::Pidfd;
use crate::run::RunId;

/// The first argument of a shepherd.
pub const SHEPHERD: &str = "shepherd";

/// Starts a shepherd for a run; that of a step has its listener as standard input. Without hooks between fork and exec the standard library spawns the
/// cheap way, sharing our memory until the exec.
pub fn shepherd(
    spool: &Path,
    run: RunId,
    log: &File,
    listener: Option<UnixListener>,
) -> io::Result<Pidfd> {
    let child = Command::new(OWN_PROGRAM)
        .arg0("spurd")
        .arg(SHEPHERD)
        .arg(spool)
        .arg(run.to_string())
        .env_clear()
        .stdin(listener.map_or_else(Stdio::null, |listener| Stdio::from(OwnedFd::from(listener))))
        .stdout(Stdio::null())
        .stderr(log.try_clone()?)
        .spawn()?;
    // Nobody but us buries it, so its number is still its own.
    Pidfd::open(child.id() as i32)
}

/// The program we are, also after its file was replaced: agent and shepherd are always of one version.
const OWN_PROGRAM: &str = "/proc/self/exe";
