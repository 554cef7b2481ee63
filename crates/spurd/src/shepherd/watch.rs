//! Starts the task, waits for its end, heeds requests to end it, and leaves nobody behind.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd;

use super::plan::Plan;
use super::task;
use crate::ending::Ending;
use crate::machine::child::{self, Waited};
use crate::machine::processes;

/// Runs the script to its end and beyond: returns when no process of the run is left.
pub fn run(plan: &Plan) -> Result<Ending> {
    let signals = Signals::listen()?;
    let (fault, fault_writer) =
        unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).context("could not make a pipe")?;
    let pid = child::fork(|| task::become_script(plan, fault_writer)).context("could not fork")?;
    let status = await_script(plan, &signals, pid)?;
    bury_the_rest(&signals)?;
    let mut reason = String::new();
    // The writing end here is closed with `fork`'s argument; all others ended with their processes.
    let _ = File::from(fault).read_to_string(&mut reason);
    Ok(if reason.is_empty() { Ending::Exited(status) } else { Ending::CouldNotStart(reason) })
}

fn await_script(plan: &Plan, signals: &Signals, script: i32) -> Result<u32> {
    let mut patience: Option<Instant> = None;
    loop {
        loop {
            match child::wait_any().context("could not wait")? {
                Waited::Ended(pid, status) if pid == script => return Ok(status),
                Waited::Ended(..) => {}
                Waited::NotYet => break,
                Waited::Childless => anyhow::bail!("the script's process vanished"),
            }
        }
        let left = patience.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            processes::kill_all(run_processes);
            patience = Some(Instant::now() + INSIST);
        }
        if signals.wait(left.map(|left| left.max(INSIST)))? && patience.is_none() {
            ask_to_end();
            patience = Some(Instant::now() + plan.kill_wait);
        }
    }
}

/// A process may hang in the kernel, or have escaped a look by forking: try again this often.
const INSIST: Duration = Duration::from_millis(20);

/// As Slurm: the stopped ones must be able to heed it.
fn ask_to_end() {
    let processes = run_processes();
    processes.iter().for_each(|process| process.signal(libc::SIGTERM));
    processes.iter().for_each(|process| process.signal(libc::SIGCONT));
}

/// Nothing of a run outlives its script, however it was detached: orphans become our children.
fn bury_the_rest(signals: &Signals) -> Result<()> {
    loop {
        loop {
            match child::wait_any().context("could not wait")? {
                Waited::Ended(..) => {}
                Waited::NotYet => break,
                Waited::Childless => return Ok(()),
            }
        }
        processes::kill_all(run_processes);
        signals.wait(Some(INSIST))?;
    }
}

fn run_processes() -> Vec<processes::Process> {
    processes::descendants(std::process::id() as i32)
}

/// The two signals a shepherd listens to; all others are blocked.
struct Signals(SignalFd);

impl Signals {
    fn listen() -> Result<Signals> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTERM);
        mask.add(Signal::SIGCHLD);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Signals(SignalFd::with_flags(&mask, flags).context("could not listen to signals")?))
    }

    /// Waits for a signal, not longer than told. Whether the run is to end.
    fn wait(&self, timeout: Option<Duration>) -> Result<bool> {
        let timeout = match timeout {
            // Rounded up, or the last fraction of a millisecond would be spent awake.
            Some(time) => {
                PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
            }
            None => PollTimeout::NONE,
        };
        match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno).context("could not wait for signals"),
        }
        let mut end = false;
        while let Ok(Some(signal)) = self.0.read_signal() {
            end |= signal.ssi_signo == Signal::SIGTERM as u32;
        }
        Ok(end)
    }
}
