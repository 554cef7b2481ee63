//! `spur retry JOB --failed`: what went wrong runs again, under the number it had.

use clap::Parser;
use spur_core::fields::job::shown_id;
use spur_core::job::reference::JobReference;
use spur_core::job::{ExitStatus, JobState, JobStatus};
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::RequeueJob;
use spur_proto::slurm::control_job_request::Action;

use super::logs;
use crate::cluster::Controller;
use crate::output::{complain, note, print};

/// Puts jobs that are over back into the queue, with the numbers, scripts and options they had.
#[derive(Parser)]
struct Arguments {
    /// The jobs: 12, a task or some tasks of an array: 12_3, 12_[1-9].
    #[arg(required = true)]
    jobs: Vec<String>,
    /// Only what failed: of an array the tasks that did not complete and that nobody cancelled.
    #[arg(long)]
    failed: bool,
    /// Show what would run again.
    #[arg(long)]
    dry_run: bool,
    /// A line of JSON for each.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("retry", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = Controller::find();
    let mut status = 0;
    for word in &arguments.jobs {
        let found = match JobReference::parse(word) {
            Some(reference) => logs::jobs(&mut controller, &reference),
            None => Ok(Vec::new()),
        };
        let found = match found {
            Ok(found) if !found.is_empty() => found,
            Ok(_) => {
                status = refuse(word, "Invalid job id specified");
                note("The controller forgets jobs some minutes after their end (min_job_age);");
                note(format!("how it was submitted: sacct -X -j {word} -o submitline%200"));
                continue;
            }
            Err(error) => {
                status = refuse(word, error);
                continue;
            }
        };
        let chosen: Vec<&JobView> =
            found.iter().filter(|job| is_meant(job, arguments.failed)).collect();
        if chosen.is_empty() {
            let what = if arguments.failed { "has failed" } else { "is over" };
            note(format!("job {word}: nothing of it {what}"));
        }
        for job in chosen {
            match again(&mut controller, job, arguments.dry_run) {
                Ok(()) => print(&told(job, arguments.json)),
                Err(error) => status = refuse(&shown_id(job), error),
            }
        }
    }
    status
}

fn refuse(word: &str, error: impl std::fmt::Display) -> u8 {
    complain("spur retry", format!("job {word}: {error}"));
    1
}

fn is_meant(job: &JobView, failed: bool) -> bool {
    let state = JobStatus(job.state).base();
    match failed {
        true => state.is_ended() && !matches!(state, JobState::Completed | JobState::Cancelled),
        false => state.is_ended(),
    }
}

fn again(controller: &mut Controller, job: &JobView, dry_run: bool) -> Result<(), CallError> {
    // A task by its array and place: the last one has the number of the array.
    let name = match job.array_task_id {
        Some(task) => format!("{}_{task}", job.array_job_id),
        None => job.job_id.to_string(),
    };
    match JobReference::parse(&name) {
        Some(reference) if !dry_run => {
            controller.control(&reference, Action::Requeue(RequeueJob::default()))
        }
        _ => Ok(()),
    }
}

fn told(job: &JobView, json: bool) -> String {
    let exit = ExitStatus::from_wait(job.exit_status);
    let (id, state) = (shown_id(job), JobStatus(job.state).name());
    match json {
        true => {
            let told = serde_json::json!({
                "job_id": job.job_id, "job": id, "name": job.name, "was": state,
                "exit_code": exit.code, "signal": exit.signal,
            });
            format!("{told}\n")
        }
        false => format!("{id} {} was {state} {}:{}\n", job.name, exit.code, exit.signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_what_did_not_complete_and_was_not_cancelled() {
        let meant = |state: JobState, failed| {
            is_meant(&JobView { state: state.number(), ..JobView::default() }, failed)
        };
        for state in JobState::ALL {
            let bad = !matches!(state, JobState::Completed | JobState::Cancelled);
            assert_eq!(meant(*state, true), state.is_ended() && bad, "{state:?}");
            assert_eq!(meant(*state, false), state.is_ended(), "{state:?}");
        }
    }
}
