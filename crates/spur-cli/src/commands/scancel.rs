//! `scancel`: ends jobs.

use spur_core::errors::SlurmError;
use spur_core::getopt::{Flag, flag, option};
use spur_proto::caller::{CallError, Caller};
use spur_proto::slurm::{CancelJobRequest, ListJobsRequest};

use crate::cluster;
use crate::output::{complain, print};

const FLAGS: &[Flag] = &[
    flag("verbose", Some('v')),
    flag("quiet", Some('Q')),
    flag("me", None),
    flag("version", Some('V')),
    flag("help", None),
    flag("usage", None),
    option("user", Some('u')),
    option("name", Some('n')),
    option("jobname", None),
    option("partition", Some('p')),
];

const USAGE: &str =
    "Usage: scancel [-v] [-Q] [--me] [-u USER] [-n NAME] [-p PARTITION] [JOB_ID …]\n";

#[derive(Default)]
struct Query {
    jobs: Vec<u32>,
    verbose: bool,
    quiet: bool,
    uid: Option<u32>,
    name: Option<String>,
    partition: Option<String>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let query = match read(args) {
        Ok(query) => query,
        Err(status) => return status,
    };
    let mut caller = cluster::caller();
    cluster::block_on(async {
        let jobs = match select(&mut caller, &query).await {
            Ok(jobs) => jobs,
            Err(error) => {
                complain("scancel", error);
                return 1;
            }
        };
        let mut status = 0;
        for job in jobs {
            status = status.max(cancel(&mut caller, job, &query).await);
        }
        status
    })
}

fn read(args: &[String]) -> Result<Query, u8> {
    let words = super::read("scancel", FLAGS, args)?;
    let mut query = Query::default();
    for (flag, value) in &words.options {
        match flag.long {
            "verbose" => query.verbose = true,
            "quiet" => query.quiet = true,
            "me" => query.uid = Some(nix::unistd::getuid().as_raw()),
            "user" => query.uid = Some(uid(value)?),
            "name" | "jobname" => query.name = Some(value.clone()),
            "partition" => query.partition = Some(value.clone()),
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
    for word in words.rest.iter().flat_map(|word| word.split(',')) {
        query.jobs.push(word.parse().map_err(|_| {
            complain("scancel", format!("Invalid job id {word}"));
            1
        })?);
    }
    let filtered = query.uid.is_some() || query.name.is_some() || query.partition.is_some();
    if query.jobs.is_empty() && !filtered {
        complain("scancel", "No job identification provided");
        return Err(1);
    }
    Ok(query)
}

fn uid(user: &str) -> Result<u32, u8> {
    if let Ok(number) = user.parse() {
        return Ok(number);
    }
    match nix::unistd::User::from_name(user) {
        Ok(Some(found)) => Ok(found.uid.as_raw()),
        _ => {
            complain("scancel", format!("Invalid user name: {user}"));
            Err(1)
        }
    }
}

/// The jobs named, or those that fit.
async fn select(caller: &mut Caller, query: &Query) -> Result<Vec<u32>, CallError> {
    if query.uid.is_none() && query.name.is_none() && query.partition.is_none() {
        return Ok(query.jobs.clone());
    }
    let request = ListJobsRequest {
        job_ids: query.jobs.clone(),
        uids: query.uid.into_iter().collect(),
        names: query.name.iter().cloned().collect(),
        partitions: query.partition.iter().cloned().collect(),
        ..ListJobsRequest::default()
    };
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| {
        let request = request.clone();
        async move { client.list_jobs(request).await }
    };
    Ok(caller.call(ask).await?.jobs.into_iter().map(|job| job.job_id).collect())
}

/// Slurm says nothing about a job that is unknown or over, unless asked to be verbose.
async fn cancel(caller: &mut Caller, job: u32, query: &Query) -> u8 {
    if query.verbose {
        eprintln!("scancel: Terminating job {job}");
    }
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| async move {
        client.cancel_job(CancelJobRequest { job_id: job, ..CancelJobRequest::default() }).await
    };
    match caller.call(ask).await {
        Ok(_) => 0,
        Err(CallError::Refused(error @ (SlurmError::InvalidJobId | SlurmError::AlreadyDone))) => {
            if query.verbose {
                complain("scancel", format!("Kill job error on job id {job}: {error}"));
            }
            0
        }
        Err(error) => {
            if !query.quiet {
                complain("scancel", format!("Kill job error on job id {job}: {error}"));
            }
            1
        }
    }
}
