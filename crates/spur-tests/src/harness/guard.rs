//! A cluster that takes for ever fails its test, and says what it was at.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::processes::Processes;

/// More than any test takes on a busy machine; clients that are built from source are among them.
const LONGEST: Duration = Duration::from_secs(1200);

/// Lines of each log that are shown.
const LINES: usize = 15;

/// Ends the watch when it is dropped.
pub struct Guard(#[expect(dead_code, reason = "its end is what is heard")] Sender<()>);

/// Watches over whatever a test does with the cluster in this directory.
pub fn watch(dir: &Path) -> Guard {
    let test = thread::current().name().unwrap_or("a test").to_string();
    let dir = dir.to_path_buf();
    let (alive, is_over) = channel();
    thread::spawn(move || {
        if is_over.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            let told = format!("\n{test}: not over after {} s\n{}", LONGEST.as_secs(), state(&dir));
            // Straight to the terminal: the harness keeps what is printed until a test ends, and this one does not.
            let _ = fs::File::options()
                .append(true)
                .open("/dev/stderr")
                .and_then(|mut stderr| stderr.write_all(told.as_bytes()));
            for (pid, _) in Processes::of(&dir).list() {
                Processes::kill(pid);
            }
            std::process::abort();
        }
    });
    Guard(alive)
}

/// What there is to know of a cluster that does not answer, perhaps.
fn state(dir: &Path) -> String {
    let mut told = String::new();
    for (pid, command) in Processes::of(dir).list() {
        let state = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        told += &format!("  {pid} {command}({state})\n");
    }
    let bin = dir.join("cluster/bin");
    for words in [&["sinfo", "-R"][..], &["sinfo", "-N", "-l"], &["squeue"]] {
        let asked = Command::new("timeout")
            .arg("10")
            .arg(bin.join(words[0]))
            .args(&words[1..])
            .stdin(Stdio::null())
            .output();
        let said = asked.map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
        told += &format!("{}\n{}", words.join(" "), said.unwrap_or_default());
    }
    for log in fs::read_dir(dir.join("cluster/log")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(log.path()).unwrap_or_default();
        let skipped = text.lines().count().saturating_sub(LINES);
        let end: Vec<&str> = text.lines().skip(skipped).collect();
        told += &format!("{}\n  {}\n", log.path().display(), end.join("\n  "));
    }
    let disk = Command::new("df").arg("-h").arg(dir).output();
    told + &disk.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default()
}
