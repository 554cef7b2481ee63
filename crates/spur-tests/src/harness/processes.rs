//! Processes of one cluster, known by its directory on their command line or in their environment.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Finds processes that belong to a directory.
pub struct Processes {
    dir: String,
}

impl Processes {
    /// Those of this directory.
    pub fn of(dir: &Path) -> Processes {
        Processes { dir: dir.display().to_string() }
    }

    /// Command lines of all that are alive.
    pub fn list(&self) -> Vec<(i32, String)> {
        let me = std::process::id() as i32;
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| *pid != me)
            .filter_map(|pid: i32| Some((pid, self.command(pid)?)))
            .collect()
    }

    /// The processes whose command line contains all these words.
    pub fn with(&self, words: &[&str]) -> Vec<i32> {
        let fits = |command: &str| words.iter().all(|word| command.contains(word));
        self.list().into_iter().filter(|(_, command)| fits(command)).map(|(pid, _)| pid).collect()
    }

    /// Kills with SIGKILL; the pid is one that [`Processes::with`] just returned.
    pub fn kill(pid: i32) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }

    fn command(&self, pid: i32) -> Option<String> {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
        let command = String::from_utf8_lossy(&read("cmdline")?).replace('\0', " ");
        if command.is_empty() {
            return None;
        }
        let environment = read("environ").unwrap_or_default();
        let ours = command.contains(&self.dir)
            || String::from_utf8_lossy(&environment).contains(&self.dir);
        ours.then_some(command)
    }
}
