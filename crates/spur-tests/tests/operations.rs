//! The controller as a service manager sees it: signals, numbers, and one clear line when it cannot start.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_tests::harness::{binary, until};

struct Controller {
    child: Child,
}

impl Controller {
    fn start(dir: &Path, more: &[&str]) -> Controller {
        let child = Command::new(binary("spurctld"))
            .args(["-D", "--state-dir"])
            .arg(dir.join("state"))
            .arg("--listen")
            .arg(dir.join("ctl.sock"))
            .args(more)
            .stderr(Stdio::null())
            .spawn();
        Controller { child: child.expect("starts") }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn partitions(dir: &Path) -> String {
    let shown = Command::new(binary("spur"))
        .args(["sinfo", "-h", "-o", "%R"])
        .env("SPUR_CONTROLLER_ADDR", format!("unix:{}", dir.join("ctl.sock").display()))
        .output()
        .expect("runs");
    String::from_utf8_lossy(&shown.stdout).replace('\n', " ").trim().to_string()
}

#[test]
fn a_hangup_reads_the_configuration_again_and_a_mistake_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("spur.conf");
    let write = |text: &str| std::fs::write(&file, text).expect("is written");
    let partition = |name: &str| format!("[[partitions]]\nname = \"{name}\"\nnodes = \"ALL\"\n");
    write(&partition("day"));
    let config = file.display().to_string();
    let controller = Controller::start(dir.path(), &["--config", &config]);
    until("it is configured", || (partitions(dir.path()) == "day").then_some(()));
    write(&format!("{}{}", partition("day"), partition("night")));
    controller.signal(Signal::SIGHUP);
    until("the new one is there", || (partitions(dir.path()) == "day night").then_some(()));
    write("this is no configuration");
    controller.signal(Signal::SIGHUP);
    assert_eq!(partitions(dir.path()), "day night");
    controller.signal(Signal::SIGTERM);
    let mut controller = controller;
    let status = controller.child.wait().expect("ends");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn numbers_are_told_on_loopback() {
    let dir = tempfile::tempdir().expect("a directory");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let _controller = Controller::start(dir.path(), &["--metrics", &free.to_string()]);
    let page = until("it leads and says so", || {
        let mut stream = TcpStream::connect(free).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        page.contains("\nspur_leader 1\n").then_some(page)
    });
    assert!(page.contains("\nspur_controllers 1\n"), "{page}");
    assert!(page.ends_with("# EOF\n"), "{page}");
}

#[test]
fn what_cannot_be_started_says_why_in_one_line() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file"), "").expect("a file");
    let run = |args: &[&str]| {
        let done = Command::new(binary("spurctld")).arg("-D").args(args).output().expect("runs");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let unusable = dir.path().join("file/state").display().to_string();
    let (code, said) = run(&["--state-dir", &unusable]);
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains(&unusable), "{said}");
    let state = dir.path().join("state").display().to_string();
    let (code, said) = run(&["--state-dir", &state, "--metrics", "0.0.0.0:1"]);
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
    let (code, said) = run(&["--nonesuch"]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: unexpected argument '--nonesuch'"), "{said}");
}
