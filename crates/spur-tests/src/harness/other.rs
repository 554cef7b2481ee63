//! What another user of the machine tries: the test's own program, run again with that user's rights.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Has the ignored test `somebody_else` of this program try things as a user, at a socket and with what else it is told;
/// what it tried, and what came of each.
pub fn attempts(uid: u32, socket: &Path, told: &[(&str, &str)]) -> BTreeMap<String, String> {
    let said = Command::new(std::env::current_exe().expect("a test has a path"))
        .args(["--exact", "somebody_else", "--ignored", "--nocapture"])
        .env("SPUR_SOCKET", socket)
        .envs(told.iter().copied())
        .uid(uid)
        .gid(uid)
        .output()
        .expect("runs");
    let out = String::from_utf8_lossy(&said.stdout).into_owned();
    let lines = out.lines().filter_map(|line| line.split_once('\t'));
    let tried: BTreeMap<_, _> = lines.map(|(a, b)| (a.to_string(), b.to_string())).collect();
    assert!(!tried.is_empty(), "{out}{}", String::from_utf8_lossy(&said.stderr));
    tried
}
