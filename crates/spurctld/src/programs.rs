//! Runs programs of triggers on this machine, as the users who set them.

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
    let name = program.line.clone();
    let started = std::thread::Builder::new().name("trigger".to_string()).spawn(move || {
        match see_through(&program) {
            Ok(status) => tracing::info!("{}: {status}", program.line),
            Err(error) => tracing::warn!("{}: {error}", program.line),
        }
    });
    if let Err(error) = started {
        tracing::warn!("{name}: {error}");
    }
}

fn see_through(program: &Program) -> std::io::Result<String> {
    let mut words = program.line.split_ascii_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    if !program.argument.is_empty() {
        command.arg(&program.argument);
    }
    command.env_clear();
    let variables = PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.envs(variables).env("USER", &program.owner.name);
    command.current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if geteuid().is_root() {
        command.uid(program.owner.uid.0).gid(program.owner.gid.0);
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
