//! What `spur up` says when a cluster is there: a first job, and what to type next.

use std::process::Command;
use std::time::{Duration, Instant};

use spur_proto::client::Address;
use spur_proto::slurm::WaitJobRequest;

use super::env;
use super::layout::Layout;
use crate::cluster::Controller;
use crate::output::{note, print};

/// Runs a first job on a new cluster, and says what to type next.
pub fn welcome(layout: &Layout, nodes: usize, began: Instant) {
    let plural = if nodes == 1 { "" } else { "s" };
    let seconds = began.elapsed().as_secs_f32();
    print(&format!(
        "spur: up in {} with {nodes} node{plural} after {seconds:.1} s\n",
        layout.dir.display()
    ));
    first_job(layout, began);
    let default = Layout::new(None).is_ok_and(|default| default.dir == layout.dir);
    let dir = match default {
        true => String::new(),
        false => format!(" --dir {}", env::quoted(&layout.dir.display().to_string())),
    };
    let spur = std::env::args().next().unwrap_or_default();
    print(&format!(
        "\nIn a shell of yours:\n  eval \"$({spur} env{dir})\"\n  sbatch --wrap hostname\n  squeue\n\
         Stop with: {spur} down{dir}\n"
    ));
}

fn first_job(layout: &Layout, began: Instant) {
    let output = layout.dir.join("first-job.out");
    if output.exists() {
        return;
    }
    let script = "echo \"hello from $SLURMD_NODENAME, job $SLURM_JOB_ID\"";
    let submitted = Command::new(layout.bin().join("sbatch"))
        .env("SPUR_CONTROLLER_ADDR", Address::list(&layout.known_addresses()))
        .args(["--parsable", "-J", "first", "-o"])
        .arg(&output)
        .args(["--wrap", script])
        .current_dir("/")
        .output();
    let job_id = match submitted {
        Ok(done) if done.status.success() => {
            String::from_utf8_lossy(&done.stdout).trim().parse().unwrap_or_default()
        }
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
            return note(format!("spur: the first job failed ({}) {said}", done.status));
        }
        Err(error) => return note(format!("spur: could not submit the first job: {error}")),
    };
    let wait = WaitJobRequest { job_id, ..WaitJobRequest::default() };
    let ended = Controller::at(layout.known_addresses())
        .wait_until(wait, Instant::now() + FIRST_JOB_PATIENCE);
    match ended.ok().and_then(|reply| reply.job).map(|job| job.exit_code()) {
        Some(0) => {
            let said = std::fs::read_to_string(&output).unwrap_or_default();
            let seconds = began.elapsed().as_secs_f32();
            print(&format!("spur: first job done after {seconds:.1} s: {}\n", said.trim()));
        }
        Some(code) => note(format!("spur: the first job failed with exit code {code}")),
        // A machine that is full, or too busy: the cluster is up all the same.
        None => note(format!("spur: the first job is not done yet; ask with: spur why {job_id}")),
    }
}

/// How long a first job is waited for.
const FIRST_JOB_PATIENCE: Duration = Duration::from_secs(20);
