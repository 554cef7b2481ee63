//! Restarts the machine by the site's program.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tracing::{error, info};

/// Runs the program, in a process group of its own: it may end this agent before it comes to an end itself. Whether it
/// worked shows when the machine is back; if it is not, the controller says so.
pub fn begin(program: String, node: &str) {
    info!(program, "restarting this machine");
    let mut command = Command::new(&program);
    command
        .env_clear()
        .env("SLURMD_NODENAME", node)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    std::thread::spawn(move || match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => error!("{program} could not restart this machine: {status}"),
        Err(error) => error!("{program} could not be run: {error}"),
    });
}
