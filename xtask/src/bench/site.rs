//! A cluster that commands are given to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
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

/// Several are up at a time.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Builds the optimised binaries.
pub fn build() -> Result<()> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--workspace", "--bins", "--quiet"])
        .current_dir(root())
        .status()?;
    ensure!(built.success(), "the workspace does not build");
    Ok(())
}

impl Site {
    /// Starts Spur, asked for with these words.
    pub fn spur(words: &[&str]) -> Result<Site> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("spur-bench-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let up = Command::new(spur())
            .args(["up", "--detach", "--dir"])
            .arg(&dir)
            .args(words)
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

    /// Whether it is Spur.
    pub fn is_ours(&self) -> bool {
        self.own.is_some()
    }

    /// Where its controller listens.
    pub fn socket(&self) -> Result<PathBuf> {
        let dir = self.own.as_ref().context("only Spur has a socket")?;
        Ok(dir.join("run/spurctld.sock"))
    }

    /// How often something is repeated: what takes seconds, less often.
    pub fn repetitions(&self, wanted: usize) -> usize {
        if self.is_ours() { wanted } else { wanted / 5 }
    }

    /// The memory that the controller has.
    pub fn controller_bytes(&self) -> Result<u64> {
        let file = match &self.own {
            Some(dir) => dir.join("run/spurctld.pid"),
            None => self.pid_file_of_slurm()?,
        };
        let told = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let process = told.split_whitespace().next().context("no process is named")?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("it has no memory")?.parse::<u64>()? * 1024)
    }

    fn pid_file_of_slurm(&self) -> Result<PathBuf> {
        let config = self.run("scontrol", &["show", "config"])?;
        let line = config.lines().find(|line| line.starts_with("SlurmctldPidFile"));
        let file = line.and_then(|line| line.split_once('='));
        Ok(PathBuf::from(file.context("Slurm names no pid file")?.1.trim()))
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

    /// Waits until no job is left, and returns when that was. Asking takes time of the machine that is
    /// measured, so it is not asked all the time.
    pub fn drained(&self) -> Result<Instant> {
        let begun = Instant::now();
        loop {
            if self.run("squeue", &["-h", "-t", "PD,R,CG"])?.is_empty() {
                return Ok(Instant::now());
            }
            ensure!(begun.elapsed() < PATIENCE, "jobs are still there after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends every job that is there.
    pub fn clear(&self) -> Result<()> {
        self.run("scancel", &["-u", "root"])?;
        self.drained().map(|_| ())
    }
}

fn spur() -> PathBuf {
    root().join("target/release/spur")
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(dir) = &self.own {
            let dir: &Path = dir;
            let down = Command::new(spur()).args(["down", "--force", "--dir"]).arg(dir).output();
            if down.is_ok() {
                let _ = fs::remove_dir_all(dir);
            }
        }
    }
}
