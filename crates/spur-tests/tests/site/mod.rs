//! A controller that listens on a port of loopback, and machines that join it, each in a directory of its own.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use spur_tests::harness::{binary, until};

/// A daemon, killed at the end.
pub struct Daemon(Child);

impl Daemon {
    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let own = nix::unistd::Pid::from_raw(self.0.id() as i32);
        nix::sys::signal::kill(own, signal).expect("is there");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A controller that listens on a port of loopback, and whatever joins it.
pub struct Site {
    pub dir: tempfile::TempDir,
    pub daemons: Vec<Daemon>,
}

/// What a command said.
pub struct Said {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Site {
    pub fn new() -> Site {
        let mut site = Site::empty();
        let listen = format!("{},127.0.0.1:0", site.socket());
        let state = site.path("state");
        site.start("spurctld", &["--state-dir", &state, "--listen", &listen]);
        site.is_led(&site.socket());
        site
    }

    pub fn empty() -> Site {
        let dir = tempfile::Builder::new().prefix("spur-net-").tempdir().expect("a directory");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).expect("permissions");
        Site { dir, daemons: Vec::new() }
    }

    pub fn is_led(&self, at: &str) {
        until("somebody leads", || (self.at(at, &["sinfo", "-h"]).status == Some(0)).then_some(()));
    }

    /// Runs a command that knows the cluster by this address.
    pub fn at(&self, address: &str, args: &[&str]) -> Said {
        self.spur_with(args, &[("SPUR_CONTROLLER_ADDR", address)], None)
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    pub fn socket(&self) -> String {
        format!("unix:{}", self.path("ctl.sock"))
    }

    pub fn start(&mut self, name: &str, args: &[&str]) -> usize {
        let log = std::fs::File::create(self.path(&format!("{name}-{}.log", self.daemons.len())));
        let child = Command::new(binary(name))
            .arg("-D")
            .args(args)
            .stderr(log.expect("a log"))
            .spawn()
            .expect("starts");
        self.daemons.push(Daemon(child));
        self.daemons.len() - 1
    }

    /// What a daemon has logged.
    pub fn log(&self, name: &str, number: usize) -> String {
        std::fs::read_to_string(self.path(&format!("{name}-{number}.log"))).unwrap_or_default()
    }

    /// Starts an agent that knows the controller by its port.
    pub fn agent(&mut self, name: &str, controllers: &str) -> usize {
        let dir = self.path(name);
        let args = ["-N", name, "--state-dir", &dir, "--controller", controllers];
        self.start("spurd", &[&args[..], &["--listen", "127.0.0.1:0", "--cpus", "2"]].concat())
    }

    pub fn spur(&self, args: &[&str]) -> Said {
        self.at(&self.socket(), args)
    }

    pub fn spur_with(&self, args: &[&str], variables: &[(&str, &str)], uid: Option<u32>) -> Said {
        let mut command = Command::new(binary("spur"));
        command.args(args).envs(variables.iter().copied()).stdin(Stdio::null()).current_dir("/");
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        let done = command.output().expect("runs");
        Said {
            status: done.status.code(),
            out: String::from_utf8_lossy(&done.stdout).trim_end().to_string(),
            err: String::from_utf8_lossy(&done.stderr).trim_end().to_string(),
        }
    }

    pub fn token(&self, more: &[&str]) -> String {
        let made = self.spur(&[&["token", "create"], more].concat());
        assert_eq!(made.status, Some(0), "{}", made.err);
        made.out
    }

    pub fn join(&self, token: &str, name: &str) -> Said {
        let dir = self.path(name);
        self.spur_with(&["join", token, "--name", name, "--state-dir", &dir], &[], None)
    }

    pub fn is_idle(&self, nodes: &str) -> Option<()> {
        let shown = self.spur(&["sinfo", "-h", "-N", "-o", "%N %t"]);
        let all = nodes.split(',').all(|node| shown.out.contains(&format!("{node} idle")));
        all.then_some(())
    }
}

/// Where a token says the controllers are.
pub fn controllers(token: &str) -> String {
    token.split_once('@').expect("has a place").1.to_string()
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
