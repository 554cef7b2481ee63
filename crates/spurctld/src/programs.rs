//! Runs programs on this machine: those of triggers, as the users who set them, and the one that sends mail.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, geteuid};

use crate::controller::Program;

/// A program that takes longer is killed, and whatever it started.
const LONGEST: Duration = Duration::from_secs(300);

/// Variables of the controller that a program has too: where commands are, and where the cluster is.
const PASSED_ON: &[&str] = &["PATH", "TZ", "LANG", "SPUR_CONF", "SPUR_CONTROLLER_ADDR"];

/// Starts a program; nobody waits for it.
pub fn run(program: Program) {
    let name = program.words.join(" ");
    let line = name.clone();
    let started = std::thread::Builder::new().name("program".to_string()).spawn(move || {
        match see_through(&program) {
            Ok(status) => tracing::info!("{line}: {status}"),
            Err(error) => tracing::warn!("{line}: {error}"),
        }
    });
    if let Err(error) = started {
        tracing::warn!("{name}: {error}");
    }
}

fn see_through(program: &Program) -> std::io::Result<String> {
    let (name, arguments) = program.words.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(name);
    command.args(arguments);
    command.env_clear();
    let variables = PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.envs(variables).envs(program.variables.iter().map(|(name, value)| (name, value)));
    command.current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(owner) = &program.owner {
        command.env("USER", &owner.name);
        if geteuid().is_root() {
            command.uid(owner.uid.0).gid(owner.gid.0);
        }
    }
    let mut child = command.spawn()?;
    let group = Pid::from_raw(child.id() as i32);
    let (ended, end) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || ended.send(child.wait()));
        match end.recv_timeout(LONGEST) {
            Ok(status) => status.map(|status| status.to_string()),
            Err(_) => {
                let _ = killpg(group, Signal::SIGKILL);
                Ok("killed after five minutes".to_string())
            }
        }
    })
}
