//! `spur why JOB`: why a job waits, in numbers, and what would start it.

mod words;

use clap::Parser;
use serde_json::{Value as Json, json};
use spur_core::fields::job::{JOB_FIELDS, shown_id};
use spur_core::fields::render;
use spur_core::job::reference::JobReference;
use spur_core::job::{JobState, JobStatus};
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::{ExplainJobReply, ListJobsRequest};

use crate::cluster::Controller;
use crate::output::{complain, print};
use crate::zone;

/// Says why jobs wait: what they need, what is free, who is before them, when they are expected to start,
/// and which single change would start them now. Every number is the scheduler's own.
#[derive(Parser)]
struct Arguments {
    /// The jobs; without any, your own that wait.
    jobs: Vec<String>,
    /// The waiting jobs of everybody.
    #[arg(long, short)]
    all: bool,
    /// A line of JSON for each job.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("why", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = Controller::find();
    let (jobs, mut status) = match named(&mut controller, &arguments) {
        Ok(named) => named,
        Err(error) => {
            complain("spur why", error);
            return 1;
        }
    };
    if jobs.is_empty() && status == 0 {
        match arguments.json {
            true => print(""),
            false => print("No job of yours waits.\n"),
        }
    }
    for (place, id) in jobs.iter().enumerate() {
        match controller.explain(*id) {
            Ok(reply) if arguments.json => print(&format!("{}\n", in_json(&reply))),
            Ok(reply) => {
                let gap = if place > 0 { "\n" } else { "" };
                let now = zone::now();
                print(&format!("{gap}{}", words::told(&reply, now, zone::offset_at)));
            }
            Err(error) => {
                complain("spur why", format!("job {id}: {error}"));
                status = 1;
            }
        }
    }
    status
}

/// The numbers of the jobs that are meant, and the exit status so far.
fn named(controller: &mut Controller, arguments: &Arguments) -> Result<(Vec<u32>, u8), CallError> {
    if arguments.jobs.is_empty() {
        let own = nix::unistd::getuid().as_raw();
        let uids = if arguments.all { Vec::new() } else { vec![own] };
        let all = controller.jobs(&ListJobsRequest { uids, ..Default::default() })?;
        let waits = |job: &&JobView| JobStatus(job.state).base() == JobState::Pending;
        return Ok((all.iter().filter(waits).map(|job| job.job_id).collect(), 0));
    }
    let (mut jobs, mut status) = (Vec::new(), 0);
    for word in &arguments.jobs {
        let reference = JobReference::parse(word);
        let found = match &reference {
            None => Vec::new(),
            Some(reference) => {
                let job_ids = vec![reference.job];
                let request = ListJobsRequest { job_ids, ended: true, ..Default::default() };
                let mut found = controller.jobs(&request)?;
                found.retain(|job| reference.names(job));
                found
            }
        };
        // Of an array, those that still wait together are one answer.
        let waits = |job: &&JobView| JobStatus(job.state).base() == JobState::Pending;
        match found.iter().find(waits).or(found.first()) {
            Some(job) => jobs.push(job.job_id),
            None => {
                complain("spur why", format!("job {word}: Invalid job id specified"));
                status = 1;
            }
        }
    }
    Ok((jobs, status))
}

fn in_json(reply: &ExplainJobReply) -> Json {
    let job = reply.job.clone().unwrap_or_default();
    let told = reply.explanation.as_ref().map(|told| {
        let expected = told.expected.as_ref().map(|start| {
            json!({
                "start_time": start.start_time,
                "partition": start.partition,
                "nodes": start.nodes,
                "cpus": start.cpus,
            })
        });
        json!({
            "reason": told.reason,
            "partition": told.partition,
            "nodes_min": told.nodes_min,
            "nodes_max": told.nodes_max,
            "needs": told.needs.iter().map(|need| json!({
                "name": need.name,
                "needed": need.needed,
                "free": need.free,
                "most_on_a_node": need.most_on_a_node,
                "total": need.total,
            })).collect::<Vec<_>>(),
            "fitting_nodes": told.fitting_nodes,
            "fitting_count": told.fitting_count,
            "rejected": told.rejections.iter().map(|it| json!({
                "test": it.test, "text": it.text, "count": it.count, "nodes": it.nodes,
                "reasons": it.reasons.iter().map(|it| json!({
                    "reason": it.reason, "count": it.count,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "limits": told.limits.iter().map(|it| json!({
                "name": it.name, "needed": it.needed, "used": it.used, "max": it.max,
                "reason": it.reason,
            })).collect::<Vec<_>>(),
            "jobs_ahead": told.ahead,
            "first_ahead": told.first_ahead,
            "blockers": told.blockers.iter().map(|it| json!({
                "job_id": it.job_id, "end_time": it.end_time,
            })).collect::<Vec<_>>(),
            "expected": expected,
            "priority": told.priority,
            "priority_terms": told.priority_terms.iter().map(|it| (it.name.clone(), json!(it.value.round()))).collect::<serde_json::Map<_, _>>(),
            "eligible_time": told.eligible_time,
        })
    });
    json!({
        "job_id": job.job_id,
        "shown_id": shown_id(&job),
        "why": words::sentence(reply),
        "explanation": told,
        "advice": reply.advice.iter().map(|it| it.change.clone()).collect::<Vec<_>>(),
        "job": render::json(JOB_FIELDS, &job),
    })
}
