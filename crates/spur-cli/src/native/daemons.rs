//! Daemons of one directory: started, watched, stopped by pid, never by name.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_core::errors::exit::REMOVED;

use super::layout::Layout;
use crate::output::note;

/// What agents are called begins with this; the node's name follows.
pub const AGENT: &str = "spurd-";

/// A daemon as it is to be run.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// What it is called here: `spurctld`, `spurd-n1`.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pid: i32,
    started: u64,
}

impl Process {
    /// The process of this number, if there is one.
    pub fn of(pid: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let after_name = stat.rsplit_once(')')?.1;
        let mut fields = after_name.split_whitespace();
        let state = fields.next()?;
        // Field 22 of all, the 20th behind the name and the state.
        let started = fields.nth(18)?.parse().ok()?;
        (state != "Z").then_some(Process { pid, started })
    }

    /// Whether it still runs.
    pub fn is_alive(self) -> bool {
        Process::of(self.pid) == Some(self)
    }

    /// Sends it a signal, if it still runs; false when it is not ours to end.
    pub fn signal(self, signal: Signal) -> bool {
        !self.is_alive() || kill(Pid::from_raw(self.pid), signal) != Err(Errno::EPERM)
    }

    /// The process a pid file names, if it still runs.
    pub fn read(layout: &Layout, name: &str) -> Option<Process> {
        let text = fs::read_to_string(layout.pid_file(name)).ok()?;
        let (pid, started) = text.trim().split_once(' ')?;
        let process = Process { pid: pid.parse().ok()?, started: started.parse().ok()? };
        process.is_alive().then_some(process)
    }

    /// Names it in a pid file.
    pub fn write(self, layout: &Layout, name: &str) -> io::Result<()> {
        fs::write(layout.pid_file(name), format!("{} {}\n", self.pid, self.started))
    }
}

/// Starts a daemon of its own process group, so that Ctrl-C reaches the supervisor alone.
pub fn start(layout: &Layout, daemon: &Daemon) -> io::Result<Child> {
    let log = File::options().create(true).append(true).open(layout.log(&daemon.name))?;
    let child = Command::new(&daemon.program)
        .args(&daemon.args)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .spawn()?;
    // Without its pid file it runs all the same, and is watched.
    if let Some(process) = Process::of(child.id() as i32)
        && let Err(error) = process.write(layout, &daemon.name)
    {
        note(format!("spur: could not write the pid file of {}: {error}", daemon.name));
    }
    Ok(child)
}

/// Keeps a daemon running: one that an earlier supervisor left is watched, one that dies is started
/// again, with a pause that grows while it keeps dying.
pub async fn keep(layout: Layout, daemon: Daemon) {
    if let Some(process) = Process::read(&layout, &daemon.name) {
        while process.is_alive() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    let mut pause = FIRST_PAUSE;
    loop {
        let began = std::time::Instant::now();
        let mut was_killed = false;
        match start(&layout, &daemon) {
            Ok(child) => {
                let ended = tokio::task::spawn_blocking(move || reap(child)).await;
                if matches!(&ended, Ok(Ok(status)) if status.code() == Some(i32::from(REMOVED))) {
                    note(format!("spur: {} was removed from the cluster", daemon.name));
                    let _ = fs::remove_file(layout.pid_file(&daemon.name));
                    return;
                }
                was_killed = matches!(&ended, Ok(Ok(status)) if status.signal() == Some(KILL));
                note(format!(
                    "spur: {} ended ({}): starting it again",
                    daemon.name,
                    ended.map_or_else(|error| error.to_string(), describe)
                ));
            }
            Err(error) => {
                note(format!("spur: could not start {}: {error}", daemon.program.display()))
            }
        }
        // One that was at work, or that somebody killed, is back at once; one that cannot start is not hurried.
        if was_killed || began.elapsed() > Duration::from_secs(1) {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

const KILL: i32 = Signal::SIGKILL as i32;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

fn reap(mut child: Child) -> io::Result<ExitStatus> {
    child.wait()
}

fn describe(ended: io::Result<ExitStatus>) -> String {
    ended.map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// Stops processes: asks, waits, insists. False when one is not ours to end.
pub fn stop(processes: &[Process]) -> bool {
    if !processes.iter().all(|process| process.signal(Signal::SIGTERM)) {
        return false;
    }
    let mut waited = Duration::ZERO;
    while processes.iter().any(|process| process.is_alive()) {
        std::thread::sleep(PAUSE);
        waited += PAUSE;
        if waited > GRACE {
            processes.iter().for_each(|process| {
                process.signal(Signal::SIGKILL);
            });
        }
    }
    true
}

const PAUSE: Duration = Duration::from_millis(10);
const GRACE: Duration = Duration::from_secs(10);
