//! `scancel`: ends jobs, or sends them signals.

mod query;

use std::collections::BTreeSet;
use std::io::BufRead;

use spur_core::errors::SlurmError;
use spur_core::fields::job::shown_id;
use spur_core::ids::StepId;
use spur_core::job::reference::{JobReference, Part};
use spur_core::job::{JobState, JobStatus};
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::{ListJobsRequest, SignalJob, SignalScope};

use self::query::Query;
use super::Ended;
use crate::cluster::Controller;
use crate::output::{complain, note, print};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match obey(args) {
        Ok(status) => status,
        Err(Ended(status)) => status,
    }
}

fn obey(args: &[String]) -> Result<u8, Ended> {
    let query = Query::read(args)?;
    let mut controller = Controller::find();
    if let Some(wanted) = &query.with_cluster {
        super::check_cluster("scancel", wanted, &mut controller)?;
    }
    let steps = query.named.iter().any(|(_, reference)| reference.step.is_some());
    let chosen =
        query.is_filtered() || query.interactive || query.signal.is_some() || query.batch || steps;
    match chosen {
        false => Ok(end_named(&query, &mut controller)),
        true => end_chosen(&query, &mut controller),
    }
}

/// Jobs by their names alone: the controller is told each, and knows best.
fn end_named(query: &Query, controller: &mut Controller) -> u8 {
    let mut status = 0;
    for (name, reference) in &query.named {
        if query.verbose {
            note(format!("scancel: {}", announced(query, name)));
        }
        status = status.max(told(query, name, end(controller, reference)));
    }
    status
}

/// Jobs that pass the filters, each asked about where that is wanted.
fn end_chosen(query: &Query, controller: &mut Controller) -> Result<u8, Ended> {
    let jobs = controller.jobs(&ListJobsRequest::default()).map_err(|error| {
        note(format!("slurm_load_jobs error: {error}"));
        Ended(1)
    })?;
    let mut status = 0;
    for (name, reference) in &query.named {
        if !jobs.iter().any(|job| reference.names(job)) {
            let what = if reference.step.is_some() { "job step id" } else { "job id" };
            let error = SlurmError::InvalidJobId;
            complain("scancel", format!("Kill job error on {what} {name}: {error}"));
            status = 1;
        }
    }
    for (name, reference) in &query.named {
        let steps = jobs.iter().filter(|job| reference.names(job) && query.fits(job));
        if let Some(step) = reference.step.as_deref().and_then(StepId::parse) {
            for job in steps {
                status = status.max(end_step(query, controller, name, job, step));
            }
        }
    }
    let by_steps_only = query.named.iter().all(|(_, reference)| reference.step.is_some());
    if by_steps_only && !query.named.is_empty() {
        return Ok(status);
    }
    let named = |job: &JobView| {
        let means = |(_, it): &(String, JobReference)| it.step.is_none() && it.names(job);
        query.named.is_empty() || query.named.iter().any(means)
    };
    let mut chosen: Vec<&JobView> =
        jobs.iter().filter(|job| named(job) && query.fits(job)).collect();
    // What is done to the first component of a job is done to all.
    let whole: BTreeSet<u32> = chosen.iter().map(|job| job.job_id).collect();
    chosen.retain(|job| job.het_job_offset == 0 || !whole.contains(&job.het_job_id));
    if chosen.is_empty() && query.is_filtered() && query.verbose {
        let filters = query.filters();
        let message = format!("No active jobs match ALL job filters, including: {filters}");
        complain("scancel", message);
    }
    for job in chosen {
        for (name, reference) in targets(query, job) {
            if query.interactive && !confirmed(query, job) {
                continue;
            }
            if query.verbose {
                let shown =
                    if reference.part == Part::Whole { shown_id(job) } else { name.clone() };
                note(format!("scancel: {}", announced(query, &shown)));
            }
            let outcome = match (query.signal, query.batch) {
                (None, false) => end(controller, &reference),
                (signal, _) => {
                    let scope = match (query.full, query.batch) {
                        (true, _) => SignalScope::Full,
                        (false, true) => SignalScope::Batch,
                        (false, false) => SignalScope::Steps,
                    };
                    let signal = signal.map_or(KILL, u32::from);
                    let signal = SignalJob { signal, scope: scope.into() };
                    controller.control(&reference, Action::Signal(signal))
                }
            };
            status = status.max(told(query, &name, outcome));
        }
    }
    Ok(status)
}

/// Ends one step as Slurm does, without time to end by itself, or signals it. A job that waits has none, which Slurm takes for done.
fn end_step(
    query: &Query,
    controller: &mut Controller,
    name: &str,
    job: &JobView,
    step: StepId,
) -> u8 {
    if JobStatus(job.state).base() == JobState::Pending {
        return 0;
    }
    if query.verbose {
        note(match query.signal {
            None => format!("scancel: Terminating step {name}"),
            Some(signal) => format!("scancel: Signal {signal} to step {name}"),
        });
    }
    let signal = query.signal.map_or(KILL, u32::from);
    let outcome = controller.signal_step(job.job_id, step.0, signal);
    // Slurm says so of a step that is not there.
    let outcome = outcome.map_err(|error| match error {
        CallError::Refused(SlurmError::AlreadyDone) => CallError::Refused(SlurmError::InvalidJobId),
        error => error,
    });
    let Err(error) = outcome else { return 0 };
    if !query.quiet {
        let id = name.split('.').next().unwrap_or(name);
        complain("scancel", format!("Kill job error on job step id {id}: {error}"));
    }
    match error {
        CallError::Refused(refusal) => (refusal.number() & 0xff) as u8,
        _ => 1,
    }
}

/// What of a job is meant: the tasks that were named, or all of it.
fn targets(query: &Query, job: &JobView) -> Vec<(String, JobReference)> {
    let parts = query.named.iter().filter(|(_, reference)| {
        reference.job == job.array_job_id
            && job.array_task_id.is_none()
            && matches!(reference.part, Part::Task(_) | Part::Tasks(_))
    });
    let parts: Vec<(String, JobReference)> = parts.cloned().collect();
    if !parts.is_empty() {
        return parts;
    }
    let part = match job.array_task_id {
        Some(task) => Part::Task(task),
        None => Part::Whole,
    };
    let number = if job.array_job_id > 0 { job.array_job_id } else { job.job_id };
    let name = if job.array_task_id.is_some() { shown_id(job) } else { job.job_id.to_string() };
    vec![(name, JobReference { job: number, part, step: None })]
}

/// What is sent where no signal is named, and something else than whole jobs is meant.
const KILL: u32 = libc::SIGKILL as u32;

fn announced(query: &Query, name: &str) -> String {
    let job = match (query.full, query.batch) {
        (true, _) => "full job",
        (false, true) => "batch job",
        (false, false) => "job",
    };
    match query.signal {
        None => format!("Terminating {job} {name}"),
        Some(signal) => format!("Signal {signal} to {job} {name}"),
    }
}

fn confirmed(query: &Query, job: &JobView) -> bool {
    let what = if query.signal.is_some() { "Signal" } else { "Cancel" };
    loop {
        print(&format!(
            "{what} job_id={} name={} partition={} [y/n]? ",
            shown_id(job),
            job.name,
            job.partition
        ));
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) => match line.trim_start().chars().next() {
                Some('y' | 'Y') => return true,
                Some('n' | 'N') => return false,
                _ => {}
            },
        }
    }
}

fn end(controller: &mut Controller, reference: &JobReference) -> Result<(), CallError> {
    controller.cancel(reference)
}

/// Slurm says nothing about a job that is unknown or over, unless asked to be verbose. Other refusals
/// end with the low byte of their number.
fn told(query: &Query, name: &str, outcome: Result<(), CallError>) -> u8 {
    let Err(error) = outcome else { return 0 };
    let over =
        |error: &SlurmError| matches!(error, SlurmError::InvalidJobId | SlurmError::AlreadyDone);
    let (status, quiet) = match &error {
        CallError::Refused(refusal) if over(refusal) && query.signal.is_none() && !query.batch => {
            (0, !query.verbose)
        }
        CallError::Refused(refusal) if over(refusal) => (1, query.quiet),
        CallError::Refused(refusal) => ((refusal.number() & 0xff) as u8, query.quiet),
        CallError::Unreachable => {
            let unreachable = SlurmError::SlurmctldCommunicationsConnectionError;
            ((unreachable.number() & 0xff) as u8, query.quiet)
        }
        _ => (1, query.quiet),
    };
    if !quiet {
        complain("scancel", format!("Kill job error on job id {name}: {error}"));
    }
    status
}
