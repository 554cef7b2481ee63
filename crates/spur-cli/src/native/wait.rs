//! `spur wait JOB …`: returns when the jobs are over. Nothing polls: the controller answers then.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Parser;
use spur_core::fields::job::shown_id;
use spur_core::job::reference::{JobReference, Part};
use spur_core::job::{ExitStatus, JobStatus};
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::{JobSelector, ListJobHistoryRequest, WaitJobReply, WaitJobRequest};

use crate::cluster::Controller;
use crate::commands::seff;
use crate::output::{complain, note, print};
use crate::{accounting, cluster};

/// Waits until jobs are over, and ends with the worst of their exit codes.
#[derive(Parser)]
struct Arguments {
    /// The jobs: 12, an array as a whole or by task (12_3, 12_[1-3]).
    #[arg(required = true)]
    jobs: Vec<String>,
    /// A line of JSON for each job.
    #[arg(long)]
    json: bool,
    /// Print nothing.
    #[arg(long, short)]
    quiet: bool,
    /// Say how well the job used what it held, also where nobody looks.
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("wait", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    // Asking for it takes a moment, which programs that wait would rather not.
    let weighs = (arguments.verbose || std::io::stderr().is_terminal())
        && !arguments.quiet
        && !arguments.json;
    let mut controller = Controller::find();
    let mut worst = 0;
    for word in &arguments.jobs {
        let Some(reference) = JobReference::parse(word) else {
            complain("spur wait", format!("Invalid job id {word}"));
            return 1;
        };
        for request in requests(&reference) {
            match wait(&mut controller, request) {
                Ok(reply) => {
                    if !arguments.quiet {
                        print(&told(&reply, arguments.json));
                    }
                    let alone =
                        reply.job.as_ref().filter(|job| job.start_time > 0 && reply.tasks <= 1);
                    if let Some(job) = alone.filter(|_| weighs) {
                        efficiency(job);
                    }
                    worst = worst.max(reply.job.as_ref().map_or(1, JobView::exit_code));
                }
                Err(error) => {
                    complain("spur wait", format!("job {word}: {error}"));
                    worst = worst.max(1);
                }
            }
        }
    }
    worst
}

/// What to ask for: an array is waited for as a whole, some of its tasks one by one.
pub fn requests(reference: &JobReference) -> Vec<WaitJobRequest> {
    let of = |array_task| WaitJobRequest { job_id: reference.number(), array_task };
    match &reference.part {
        Part::Whole | Part::Component(_) => vec![of(None)],
        Part::Task(task) => vec![of(Some(*task))],
        Part::Tasks(tasks) => tasks.ids().map(|task| of(Some(task))).collect(),
    }
}

fn wait(controller: &mut Controller, request: WaitJobRequest) -> Result<WaitJobReply, CallError> {
    loop {
        match controller.wait(request) {
            // The controller is away for longer than a call waits; the job is not.
            Err(CallError::Unreachable) => {}
            outcome => return outcome,
        }
    }
}

/// How well it used what it held, for whoever looks; nothing where no history is kept.
fn efficiency(job: &JobView) {
    let selector = JobSelector { job_id: job.job_id, ..JobSelector::default() };
    let request =
        ListJobHistoryRequest { jobs: vec![selector], ..ListJobHistoryRequest::default() };
    let asked = async { tokio::time::timeout(PATIENCE, accounting::history(request)).await };
    let Ok(Ok(jobs)) = cluster::block_on(asked) else { return };
    if let Some(found) = jobs.iter().find(|it| it.job_id == job.job_id && it.end_time > 0) {
        note(format!("{} {}", shown_id(job), seff::line(found)));
    }
}

/// Nobody waits longer for a line that only helps.
const PATIENCE: Duration = Duration::from_secs(2);

fn told(reply: &WaitJobReply, json: bool) -> String {
    let job = &reply.job.clone().unwrap_or_default();
    let exit = ExitStatus::from_wait(job.exit_status);
    let state = JobStatus(job.state).name();
    match json {
        true => {
            let told = serde_json::json!({
                "job_id": job.job_id, "name": job.name, "state": state,
                "exit_code": exit.code, "signal": exit.signal,
                "tasks": reply.tasks, "failed": reply.failed,
            });
            format!("{told}\n")
        }
        false => {
            let of_all = match reply.tasks {
                0 | 1 => String::new(),
                tasks => format!(" ({} of {tasks} tasks failed)", reply.failed),
            };
            let (id, name) = (shown_id(job), &job.name);
            format!("{id} {name} {state} {}:{}{of_all}\n", exit.code, exit.signal)
        }
    }
}
