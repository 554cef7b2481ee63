//! `spur down`: stops the cluster of a directory and leaves no process.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use spur_core::fields::job::shown_id;
use spur_core::job::reference::{JobReference, Part};
use spur_core::job::{JobState, JobStatus};
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::{ListJobsRequest, WaitJobRequest};

use super::daemons::{self, Process};
use super::layout::Layout;
use super::up::SUPERVISOR;
use crate::cluster::{self, Controller};
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
    let running = running(&mut Controller::at(layout.known_addresses()));
    let running = running.unwrap_or_default().len();
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
    // Or those that wait would start where others are cancelled.
    for address in layout.known_addresses() {
        // One that does not answer starts nothing either.
        let _ = Controller::at(vec![address]).start_nothing();
    }
    let mut controller = Controller::at(layout.known_addresses());
    // A job on a node that is gone never ends; that is no reason to stay up.
    let deadline = Instant::now() + LONGEST_END;
    // What was being started in that moment shows up when the first ones are gone.
    while let Ok(jobs) = running(&mut controller)
        && !jobs.is_empty()
    {
        if Instant::now() > deadline {
            let names: Vec<String> = jobs.iter().map(shown_id).collect();
            note(format!("spur: not ended, and left behind: {}", names.join(" ")));
            return;
        }
        let ended: Vec<WaitJobRequest> = jobs.iter().map(|job| end(&mut controller, job)).collect();
        for wait in ended {
            let _ = controller.wait_until(wait, deadline);
        }
    }
}

/// More than a job may take to end when it is asked to.
const LONGEST_END: Duration = Duration::from_secs(45);

/// Cancels a job, or one task of an array and not those that wait; how its end is waited for.
fn end(controller: &mut Controller, job: &JobView) -> WaitJobRequest {
    let (job_id, part) = match job.array_task_id {
        Some(task) => (job.array_job_id, Part::Task(task)),
        None => (job.job_id, Part::Whole),
    };
    let _ = controller.cancel(&JobReference { job: job_id, part, step: None });
    WaitJobRequest { job_id, array_task: job.array_task_id }
}

fn running(controller: &mut Controller) -> Result<Vec<JobView>, CallError> {
    let mut jobs = controller.jobs(&ListJobsRequest::default())?;
    jobs.retain(|job| JobStatus(job.state).base() != JobState::Pending);
    Ok(jobs)
}
