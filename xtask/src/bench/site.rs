//! A cluster that commands are given to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::root;

/// Where to find a cluster's commands, and what they must be told.
pub struct Site {
    bin: PathBuf,
    variables: Vec<(String, String)>,
    /// Ours is taken down at the end.
    own: Option<PathBuf>,
}

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(600);

impl Site {
    /// Starts Spur with so many nodes, from the optimised binaries.
    pub fn spur(nodes: u32) -> Result<Site> {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--workspace", "--quiet"])
            .current_dir(root())
            .status()?;
        ensure!(built.success(), "the workspace does not build");
        let spur = root().join("target/release/spur");
        let dir = std::env::temp_dir().join(format!("spur-bench-{}", std::process::id()));
        let up = Command::new(&spur)
            .args(["up", "--detach", "--cpus", "64", "--nodes", &format!("n[1-{nodes}]"), "--dir"])
            .arg(&dir)
            .stdout(Stdio::null())
            .status()?;
        ensure!(up.success(), "spur up failed");
        Ok(Site { bin: dir.join("bin"), variables: vec![], own: Some(dir) })
    }

    /// A Slurm that runs already.
    pub fn slurm(configuration: &str) -> Result<Site> {
        let variables = vec![("SLURM_CONF".to_string(), configuration.to_string())];
        let site = Site { bin: PathBuf::from("/usr/bin"), variables, own: None };
        site.run("scontrol", &["ping"]).context("Slurm does not answer")?;
        Ok(site)
    }

    /// A command of the cluster.
    pub fn command(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.args(words).envs(self.variables.iter().cloned()).current_dir("/tmp");
        command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn run(&self, name: &str, words: &[&str]) -> Result<String> {
        let output = self.command(name, words).output()?;
        if !output.status.success() {
            bail!("{name} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Waits until no job is left, and returns when that was.
    pub fn drained(&self) -> Result<Instant> {
        let begun = Instant::now();
        loop {
            if self.run("squeue", &["-h", "-t", "PD,R,CG"])?.is_empty() {
                return Ok(Instant::now());
            }
            ensure!(begun.elapsed() < PATIENCE, "jobs are still there after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends every job that is there.
    pub fn clear(&self) -> Result<()> {
        self.run("scancel", &["-u", "root"])?;
        self.drained().map(|_| ())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(dir) = &self.own {
            let spur: &Path = &root().join("target/release/spur");
            let down = Command::new(spur).args(["down", "--force", "--dir"]).arg(dir).output();
            if down.is_ok() {
                let _ = std::fs::remove_dir_all(dir);
            }
        }
    }
}
