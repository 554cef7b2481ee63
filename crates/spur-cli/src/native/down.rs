//! `spur down`: stops the cluster of a directory and leaves no process.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use spur_core::job::{JobState, JobStatus};
use spur_proto::caller::{CallError, Caller};
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{CancelJobRequest, ListJobsRequest, WaitJobRequest};

use super::daemons::{self, Process};
use super::layout::Layout;
use super::up::SUPERVISOR;
use crate::cluster;
use crate::output::{complain, note, print};

/// Stops a cluster that `spur up` started.
#[derive(Parser)]
struct Arguments {
    /// The cluster's directory.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// End running jobs.
    #[arg(long, conflicts_with = "keep_jobs")]
    force: bool,
    /// Leave running jobs alone; the next `spur up` finds them.
    #[arg(long)]
    keep_jobs: bool,
}

/// What becomes of running jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// They go on.
    Keep,
    /// They are ended.
    End,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("down", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let layout = match Layout::new(arguments.dir.or_else(cluster::dir_in_use)) {
        Ok(layout) => layout,
        Err(error) => {
            complain("spur down", error);
            return 1;
        }
    };
    let alive = |name: &String| Process::read(&layout, name);
    let names = layout.pid_files();
    let processes: Vec<Process> = names.iter().filter_map(alive).collect();
    if processes.is_empty() {
        print(&format!("spur: nothing is up in {}\n", layout.dir.display()));
        return 0;
    }
    match permission(&layout, arguments.force, arguments.keep_jobs) {
        Ok(Jobs::End) => end_jobs(&layout),
        Ok(Jobs::Keep) => {}
        Err(refusal) => {
            complain("spur down", refusal);
            return 1;
        }
    }
    // The supervisor first, or it would start again what is stopped.
    let supervisor = Process::read(&layout, SUPERVISOR);
    if !daemons::stop(supervisor.as_slice()) || !daemons::stop(&processes) {
        complain("spur down", format!("{}: Operation not permitted", layout.dir.display()));
        return 1;
    }
    print("spur: down\n");
    0
}

/// Asks about running jobs on a terminal, and refuses to guess elsewhere.
pub fn permission(layout: &Layout, force: bool, keep: bool) -> Result<Jobs, String> {
    if force || keep {
        return Ok(if force { Jobs::End } else { Jobs::Keep });
    }
    let running = cluster_call(layout, running).unwrap_or_default().len();
    if running == 0 {
        return Ok(Jobs::Keep);
    }
    let jobs = if running == 1 { "1 job is".to_string() } else { format!("{running} jobs are") };
    if !std::io::stdin().is_terminal() {
        return Err(format!("{jobs} running; say --force to end, or --keep-jobs to leave them"));
    }
    print!("{jobs} running. End them? [y/N/k(eep)] ");
    let _ = std::io::stdout().flush();
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim() {
        "y" | "Y" => Ok(Jobs::End),
        "k" | "K" => Ok(Jobs::Keep),
        _ => Err("not stopped".to_string()),
    }
}

/// Cancels running jobs and waits until they are gone. Pending ones stay for the next `spur up`.
pub fn end_jobs(layout: &Layout) {
    let Ok(jobs) = cluster_call(layout, running) else { return };
    for job in &jobs {
        let job_id = *job;
        let _ = cluster_call(layout, async move |caller: &mut Caller| {
            let ask = |mut client: ControllerClient<_>| async move {
                client.cancel_job(CancelJobRequest { job_id, ..CancelJobRequest::default() }).await
            };
            caller.call(ask).await
        });
    }
    // A job on a node that is gone never ends; that is no reason to stay up.
    let deadline = std::time::Instant::now() + LONGEST_END;
    for job_id in jobs {
        if std::time::Instant::now() > deadline {
            note(format!("spur: job {job_id} does not end; it is left behind"));
            continue;
        }
        let _ = cluster_call(layout, async move |caller: &mut Caller| {
            let ask = |mut client: ControllerClient<_>| async move {
                client.wait_job(WaitJobRequest { job_id, ..Default::default() }).await
            };
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            let waited = tokio::time::timeout(left, caller.call_and_wait(ask)).await;
            waited.unwrap_or(Err(CallError::Unreachable))
        });
    }
}

/// More than a job may take to end when it is asked to.
const LONGEST_END: Duration = Duration::from_secs(45);

async fn running(caller: &mut Caller) -> Result<Vec<u32>, CallError> {
    let ask = |mut client: ControllerClient<_>| async move {
        client.list_jobs(ListJobsRequest::default()).await
    };
    let jobs = caller.call(ask).await?.jobs.into_iter();
    let active = jobs.filter(|job| JobStatus(job.state).base() != JobState::Pending);
    Ok(active.map(|job| job.job_id).collect())
}

fn cluster_call<T>(
    layout: &Layout,
    work: impl AsyncFnOnce(&mut Caller) -> Result<T, CallError>,
) -> Result<T, CallError> {
    let mut caller = Caller::new(layout.known_addresses(), Duration::from_secs(3));
    cluster::block_on(work(&mut caller))
}
