//! `spur wait JOB …`: returns when the jobs are over. Nothing polls: the controller answers then.

use clap::Parser;
use spur_core::fields::job::shown_id;
use spur_core::job::reference::JobReference;
use spur_core::job::{ExitStatus, JobState, JobStatus};
use spur_core::views::JobView;
use spur_proto::caller::CallError;

use crate::cluster::Controller;
use crate::output::{complain, print};

/// Waits until jobs are over, and ends with the worst of their exit codes.
#[derive(Parser)]
struct Arguments {
    /// The jobs' numbers.
    #[arg(required = true)]
    jobs: Vec<String>,
    /// A line of JSON for each job.
    #[arg(long)]
    json: bool,
    /// Print nothing.
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("wait", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = Controller::find();
    let mut worst = 0;
    for word in &arguments.jobs {
        let Some(reference) = JobReference::parse(word) else {
            complain("spur wait", format!("Invalid job id {word}"));
            return 1;
        };
        match wait(&mut controller, reference.job) {
            Ok(job) => {
                if !arguments.quiet {
                    print(&told(&job, arguments.json));
                }
                worst = worst.max(code(&job));
            }
            Err(error) => {
                complain("spur wait", format!("job {word}: {error}"));
                worst = worst.max(1);
            }
        }
    }
    worst
}

fn wait(controller: &mut Controller, job: u32) -> Result<JobView, CallError> {
    loop {
        match controller.wait(job) {
            // The controller is away for longer than a call waits; the job is not.
            Err(CallError::Unreachable) => {}
            outcome => return outcome,
        }
    }
}

fn told(job: &JobView, json: bool) -> String {
    let exit = ExitStatus::from_wait(job.exit_status);
    let state = JobStatus(job.state).name();
    match json {
        true => {
            let told = serde_json::json!({
                "job_id": job.job_id, "name": job.name, "state": state,
                "exit_code": exit.code, "signal": exit.signal,
            });
            format!("{told}\n")
        }
        false => format!("{} {} {state} {}:{}\n", shown_id(job), job.name, exit.code, exit.signal),
    }
}

/// The job's exit code; a job killed by a signal, or never run, is a failure.
fn code(job: &JobView) -> u8 {
    match JobStatus(job.state).base() {
        JobState::Completed => 0,
        _ => ExitStatus::from_wait(job.exit_status).code.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_the_jobs_own_and_never_0_for_a_failure() {
        let job = |state: JobState, exit_status| JobView {
            state: state.number(),
            exit_status,
            ..JobView::default()
        };
        assert_eq!(code(&job(JobState::Completed, 0)), 0);
        assert_eq!(code(&job(JobState::Failed, 3 << 8)), 3);
        assert_eq!(code(&job(JobState::Failed, 9)), 1);
        assert_eq!(code(&job(JobState::Cancelled, 0)), 1);
    }
}
