//! `squeue`: jobs in the queue.

use spur_core::fields::job::{DEFAULT, JOB_FIELDS, LONG};
use spur_core::fields::{RenderContext, format, render};
use spur_core::getopt::{Flag, flag, option};
use spur_core::job::JobStatus;
use spur_core::job::state::StateFilter;
use spur_core::views::JobView;
use spur_proto::slurm::ListJobsRequest;

use crate::output::{complain, print};
use crate::{cluster, zone};

const FLAGS: &[Flag] = &[
    flag("noheader", Some('h')),
    flag("long", Some('l')),
    flag("all", Some('a')),
    flag("me", None),
    flag("version", Some('V')),
    flag("help", None),
    flag("usage", None),
    option("jobs", Some('j')),
    option("user", Some('u')),
    option("states", Some('t')),
    option("format", Some('o')),
    option("Format", Some('O')),
    option("partition", Some('p')),
    option("name", Some('n')),
];

const USAGE: &str = "Usage: squeue [-h] [-l] [-a] [--me] [-j JOB,…] [-u USER,…] [-t STATE,…] \
[-p PARTITION,…] [-n NAME,…] [-o FORMAT | -O FIELD,…]\n";

/// What is asked for.
struct Query {
    header: bool,
    format: String,
    by_name: bool,
    long: bool,
    states: StateFilter,
    jobs: Vec<u32>,
    uids: Vec<u32>,
    partitions: Vec<String>,
    names: Vec<String>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let query = match read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    match answer(&query) {
        Ok(text) => {
            print(&text);
            0
        }
        Err(message) => {
            eprintln!("{message}");
            1
        }
    }
}

fn read(args: &[String]) -> Result<Query, u8> {
    let words = super::read("squeue", FLAGS, args)?;
    let mut query = Query {
        header: true,
        format: std::env::var("SQUEUE_FORMAT").unwrap_or_else(|_| DEFAULT.to_string()),
        by_name: false,
        long: false,
        states: StateFilter::default_for_squeue(),
        jobs: Vec::new(),
        uids: Vec::new(),
        partitions: Vec::new(),
        names: Vec::new(),
    };
    let words_of = |list: &str| list.split(',').map(str::to_string).collect::<Vec<_>>();
    for (flag, value) in &words.options {
        match flag.long {
            "noheader" => query.header = false,
            "long" => (query.format, query.long) = (LONG.to_string(), true),
            "me" => query.uids.push(nix::unistd::getuid().as_raw()),
            "jobs" => query.jobs.extend(jobs(value)?),
            "user" => query.uids.extend(value.split(',').map(uid)),
            "states" => query.states = states(value)?,
            "format" => (query.format, query.by_name) = (value.clone(), false),
            "Format" => (query.format, query.by_name) = (value.clone(), true),
            "partition" => query.partitions.extend(words_of(value)),
            "name" => query.names.extend(words_of(value)),
            "version" => {
                print(&format!("{}\n", super::VERSION));
                return Err(0);
            }
            "help" | "usage" => {
                print(USAGE);
                return Err(0);
            }
            _ => {}
        }
    }
    Ok(query)
}

fn jobs(list: &str) -> Result<Vec<u32>, u8> {
    let parse = |word: &str| {
        word.parse().map_err(|_| {
            complain("squeue", format!("Invalid job id: {word}"));
            1
        })
    };
    list.split(',').filter(|word| !word.is_empty()).map(parse).collect()
}

fn states(list: &str) -> Result<StateFilter, u8> {
    StateFilter::parse(list).map_err(|unknown| {
        complain("squeue", unknown);
        1
    })
}

/// The user's number; an unknown user has no jobs, and that is no error.
fn uid(user: &str) -> u32 {
    if let Ok(number) = user.parse() {
        return number;
    }
    match nix::unistd::User::from_name(user) {
        Ok(Some(found)) => found.uid.as_raw(),
        _ => {
            complain("squeue", format!("Invalid user: {user}"));
            u32::MAX
        }
    }
}

fn answer(query: &Query) -> Result<String, String> {
    let request = ListJobsRequest {
        job_ids: query.jobs.clone(),
        uids: query.uids.clone(),
        ended: query.states != StateFilter::default_for_squeue(),
        partitions: query.partitions.clone(),
        names: query.names.clone(),
        ..ListJobsRequest::default()
    };
    let mut caller = cluster::caller();
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| {
        let request = request.clone();
        async move { client.list_jobs(request).await }
    };
    let reply = cluster::block_on(caller.call(ask))
        .map_err(|error| format!("slurm_load_jobs error: {error}"))?;
    let mut jobs = reply.jobs;
    if let [_] = query.jobs[..]
        && jobs.is_empty()
        && !exists(query)
    {
        return Err("slurm_load_jobs error: Invalid job id specified".to_string());
    }
    jobs.retain(|job| query.states.lets_through(JobStatus(job.state)));
    // Slurm's order: partition, then state with the running ones last, then priority.
    jobs.sort_by(|a, b| {
        (&a.partition, a.state, std::cmp::Reverse(a.priority), a.job_id).cmp(&(
            &b.partition,
            b.state,
            std::cmp::Reverse(b.priority),
            b.job_id,
        ))
    });
    Ok(table(query, &jobs))
}

/// Whether a job that is not listed is known: an ended one is.
fn exists(query: &Query) -> bool {
    let request =
        ListJobsRequest { job_ids: query.jobs.clone(), ended: true, ..ListJobsRequest::default() };
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| {
        let request = request.clone();
        async move { client.list_jobs(request).await }
    };
    let mut caller = cluster::caller();
    cluster::block_on(caller.call(ask)).is_ok_and(|reply| !reply.jobs.is_empty())
}

fn table(query: &Query, jobs: &[JobView]) -> String {
    let format = match query.by_name {
        true => format::names(JOB_FIELDS, &query.format),
        false => format::letters(JOB_FIELDS, &query.format),
    };
    for problem in &format.problems {
        complain("squeue", format!("Invalid job format specification: {problem}"));
    }
    let context =
        RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() };
    let mut text = String::new();
    if query.long && query.header {
        text.push_str(&format!("{}\n", zone::date(context.now)));
    }
    if query.header {
        text.push_str(&render::header(&format.columns));
        text.push('\n');
    }
    for job in jobs {
        text.push_str(&render::row(&format.columns, job, &context));
        text.push('\n');
    }
    text
}
