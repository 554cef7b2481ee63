//! `seff`: how well a job used what it had.

use spur_core::fields::clock;
use spur_core::job::{ExitStatus, JobStatus};
use spur_core::tres::{self, Tres};
use spur_core::views::AccountingView;
use spur_proto::slurm::{JobSelector, ListJobHistoryRequest};

use crate::output::{complain, print};
use crate::{accounting, cluster};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let words: Vec<&String> = args.iter().filter(|word| !word.starts_with('-')).collect();
    let [job] = words.as_slice() else {
        print("Usage: seff JOBID\n");
        return u8::from(!args.iter().any(|word| word == "-h" || word == "--help"));
    };
    let (number, task) = match job.split_once('_') {
        Some((array, task)) => (array, task.parse().ok()),
        None => (job.as_str(), None),
    };
    let Ok(job_id) = number.parse() else {
        complain("seff", format!("Invalid job id specified: {job}"));
        return 1;
    };
    let selector = JobSelector { job_id, array_task_id: task, ..JobSelector::default() };
    let request =
        ListJobHistoryRequest { jobs: vec![selector], ..ListJobHistoryRequest::default() };
    match cluster::block_on(accounting::history(request)) {
        Ok(jobs) if jobs.is_empty() => {
            eprintln!("Job not found.");
            2
        }
        Ok(jobs) => {
            print(&jobs.iter().map(told).collect::<Vec<_>>().join("\n"));
            0
        }
        Err(trouble) => {
            complain("seff", trouble);
            1
        }
    }
}

fn told(job: &AccountingView) -> String {
    let status = JobStatus(job.state);
    let exit = ExitStatus::from_wait(job.exit_status);
    let nodes = u64::from(job.node_count.max(1));
    let cpus = u64::from(job.cpus_allocated);
    let wall = match (job.start_time, job.end_time) {
        (0, _) => 0,
        (start, 0) => (crate::zone::now().0 - start - job.suspended_secs).max(0),
        (start, end) => (end - start - job.suspended_secs).max(0),
    };
    let used: u64 =
        job.steps.iter().map(|step| step.user_cpu_micros + step.system_cpu_micros).sum();
    let could = wall as u64 * cpus;
    let memory = job.steps.iter().map(resident).max().unwrap_or(0);
    let given = tres::parse(&job.tres_allocated).unwrap_or_default();
    let given = given.get(&Tres::Memory).copied().flatten().unwrap_or(0) << 20;
    let id = match job.array_task_id {
        Some(task) => format!("{}\nArray Job ID: {}_{task}", job.job_id, job.array_job_id),
        None => job.job_id.to_string(),
    };
    let mut text = format!(
        "Job ID: {id}\nCluster: {}\nUser/Group: {}/{}\nState: {} (exit code {})\n",
        job.cluster,
        job.user_name,
        group(job),
        status.name(),
        exit.code
    );
    if nodes == 1 && cpus == 1 {
        text.push_str("Cores: 1\n");
    } else {
        text.push_str(&format!("Nodes: {nodes}\nCores per node: {}\n", cpus / nodes));
    }
    let span = |secs: u64| clock::span_padded(secs as i64);
    text.push_str(&format!(
        "CPU Utilized: {}\nCPU Efficiency: {:.2}% of {} core-walltime\nJob Wall-clock time: {}\n",
        span(used / 1_000_000),
        part(used as f64 / 1e6, could as f64),
        span(could),
        span(wall as u64)
    ));
    text.push_str(&format!(
        "Memory Utilized: {}\nMemory Efficiency: {:.2}% of {}\n",
        bytes(memory),
        part(memory as f64, given as f64),
        bytes(given)
    ));
    if !status.base().is_ended() {
        text.push_str("WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n");
    }
    text
}

fn part(used: f64, of: f64) -> f64 {
    if of > 0.0 { used * 100.0 / of } else { 0.0 }
}

/// All tasks of a step together, as far as each was measured.
fn resident(step: &AccountingView) -> u64 {
    step.usage_in.iter().filter(|it| it.name == "mem").map(|it| it.total).sum()
}

fn group(job: &AccountingView) -> String {
    if !job.group_name.is_empty() {
        return job.group_name.clone();
    }
    let found = nix::unistd::Group::from_gid(nix::unistd::Gid::from_raw(job.gid));
    found.ok().flatten().map_or_else(|| job.gid.to_string(), |group| group.name)
}

fn bytes(count: u64) -> String {
    let mut amount = count as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if amount < 1024.0 {
            return format!("{amount:.2} {unit}");
        }
        amount /= 1024.0;
    }
    format!("{amount:.2} TB")
}
