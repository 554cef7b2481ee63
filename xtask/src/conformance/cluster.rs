//! A cluster to play on: one of ours for the time of the play, or a Slurm that runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::mask;
use super::record::{self, Answer};

/// The machines and partitions of the recorded cluster, in our words.
const CONFIGURATION: &str = include_str!("cluster.conf");

/// A job that is refused takes its number all the same, so that those behind it keep theirs: a stand-in is
/// handed in for each of its components, and taken back.
const KEEP_NUMBERS: &str = r#"#!/bin/bash
# Slurm starts heterogeneous jobs with its next backfill cycle, a while after those before: lists are in that order.
for word; do [ "$word" = : ] && sleep 1.1; done
"BIN/sbatch" "$@" && exit
components=1
for word; do [ "$word" = : ] && components=$((components + 1)); done
for ((i = 0; i < components; i++)); do
    "BIN/scancel" "$("BIN/sbatch" --parsable -H -o /dev/null --wrap true)"
done
exit 1
"#;

/// Where to play.
pub struct Cluster {
    /// The commands; before everything else on the path.
    bin: PathBuf,
    work: PathBuf,
    /// Slurm's configuration, where it is Slurm.
    configuration: Option<PathBuf>,
    /// Our cluster's directory, to take down again.
    own: Option<PathBuf>,
}

impl Cluster {
    /// A fresh cluster of ours.
    pub fn spur() -> Result<Cluster> {
        let spur = built()?;
        let dir = std::env::temp_dir().join(format!("spur-conformance-{}", std::process::id()));
        let work = dir.join("work");
        fs::create_dir_all(&work)?;
        open_to_all(&dir)?;
        open_to_all(&work)?;
        let conf = dir.join("spur.conf");
        fs::write(&conf, CONFIGURATION)?;
        let own = dir.join("cluster");
        // A cluster that has greeted before runs no first job: the scenario's jobs begin with number 1.
        fs::create_dir_all(&own)?;
        open_to_all(&own)?;
        fs::write(own.join("first-job.out"), "")?;
        let up = Command::new(&spur)
            .args(["up", "--detach", "--nodes", "n[1-4]", "--cpus", "64", "--dir"])
            .arg(&own)
            .arg("--config")
            .arg(&conf)
            .output()
            .context("could not run spur up")?;
        ensure!(up.status.success(), "spur up: {}", String::from_utf8_lossy(&up.stderr));
        let cluster = Cluster { bin: own.join("bin"), work, configuration: None, own: Some(own) };
        // The rules of accounting reach a new controller a little after its start.
        let until = Instant::now() + Duration::from_secs(30);
        while cluster.ask("sbatch --test-only --wrap true")?.status != 0 && Instant::now() < until {
            sleep(Duration::from_millis(200));
        }
        Ok(cluster)
    }

    /// A Slurm that runs with this configuration.
    pub fn slurm(configuration: &Path) -> Result<Cluster> {
        let work = std::env::temp_dir().join(format!("slurm-conformance-{}", std::process::id()));
        fs::create_dir_all(&work)?;
        open_to_all(&work)?;
        ensure!(configuration.exists(), "there is no {}", configuration.display());
        let configuration = Some(configuration.to_path_buf());
        Ok(Cluster { bin: "/usr/bin".into(), work, configuration, own: None })
    }

    /// Makes the jobs of the scenario, and waits until they stand as recorded.
    pub fn prepare(&self, golden: &Path) -> Result<()> {
        let script = fs::read_to_string(golden.join("scenario.sh")).context("scenario.sh")?;
        let shim = self.work.join("numbers");
        fs::create_dir_all(&shim)?;
        let sbatch = shim.join("sbatch");
        fs::write(&sbatch, KEEP_NUMBERS.replace("BIN", &self.bin.display().to_string()))?;
        fs::set_permissions(&sbatch, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let path = format!("PATH={}:{}:/usr/bin:/bin", shim.display(), self.bin.display());
        let script = script.replace("PATH=/usr/bin:/bin", &path);
        let here = self.work.join("scenario.sh");
        fs::write(&here, script)?;
        self.command("bash").arg(&here).arg(&self.work).output().context("bash")?;
        fs::remove_file(&here)?;
        fs::remove_dir_all(&shim)?;
        // The job with a limit of one minute has reached it when the questions begin.
        let until = Instant::now() + Duration::from_secs(100);
        while Instant::now() < until {
            if self.ask("squeue -h -n tmo -t R,CG")?.stdout.is_empty() {
                return Ok(());
            }
            sleep(Duration::from_secs(1));
        }
        Ok(())
    }

    /// Runs a command line as it was run when it was recorded. A tool that is not there is not looked
    /// for elsewhere: another Slurm may be installed.
    pub fn ask(&self, line: &str) -> Result<Answer> {
        let tool = record::tool(line);
        if tool.starts_with('s') && !self.bin.join(tool).exists() {
            let stderr = format!("{tool}: there is no such command\n");
            return Ok(Answer { status: 127, stdout: String::new(), stderr });
        }
        let said = self.command("timeout").args(["20", "bash", "-c", line]).output()?;
        Ok(Answer {
            status: said.status.code().unwrap_or(-1),
            stdout: record::settled(line, &String::from_utf8_lossy(&said.stdout)),
            stderr: String::from_utf8_lossy(&said.stderr).into_owned(),
        })
    }

    /// An answer without what must differ.
    pub fn masked(&self, answer: &Answer) -> Answer {
        let work = self.work.display().to_string();
        let mask = |text: &str| mask::masked(&text.replace(&work, "/home/user/work"));
        Answer { status: answer.status, stdout: mask(&answer.stdout), stderr: mask(&answer.stderr) }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.work)
            .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.bin.display()))
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .env_remove("SLURM_CONF")
            .env_remove("SPUR_CONTROLLER_ADDR")
            .stdin(std::process::Stdio::null());
        if let Some(configuration) = &self.configuration {
            command.env("SLURM_CONF", configuration);
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let (Some(own), Ok(spur)) = (&self.own, built()) {
            let _ = Command::new(spur).args(["down", "--force", "--dir"]).arg(own).output();
            let _ = own.parent().map(fs::remove_dir_all);
        } else {
            let _ = fs::remove_dir_all(&self.work);
        }
    }
}

/// Our binary, beside this one.
fn built() -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    let spur = here.with_file_name("spur");
    if !spur.exists() {
        bail!("{} is not built: cargo build --workspace", spur.display());
    }
    Ok(spur)
}

fn open_to_all(dir: &Path) -> Result<()> {
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    Ok(fs::set_permissions(dir, everybody)?)
}
