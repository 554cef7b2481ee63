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

/// What a job had, and what of it was used.
pub struct Use {
    /// Seconds it ran.
    pub wall: u64,
    /// Microseconds of processors that were used.
    pub cpu_micros: u64,
    /// Seconds of processors there were.
    pub cpu_secs: u64,
    /// Bytes that were used, and that there were.
    pub memory: (u64, u64),
}

impl Use {
    pub fn of(job: &AccountingView) -> Use {
        let wall = match (job.start_time, job.end_time) {
            (0, _) => 0,
            (start, 0) => (crate::zone::now().0 - start - job.suspended_secs).max(0),
            (start, end) => (end - start - job.suspended_secs).max(0),
        } as u64;
        let micros = |step: &AccountingView| step.user_cpu_micros + step.system_cpu_micros;
        let given = tres::read(&job.tres_allocated);
        let given = given.get(&Tres::Memory).copied().flatten().unwrap_or(0) << 20;
        Use {
            wall,
            cpu_micros: job.steps.iter().map(micros).sum(),
            cpu_secs: wall * u64::from(job.cpus_allocated),
            memory: (job.steps.iter().map(resident).max().unwrap_or(0), given),
        }
    }

    /// The part of processor time that was used, in percent.
    pub fn cpu_percent(&self) -> f64 {
        part(self.cpu_micros as f64 / 1e6, self.cpu_secs as f64)
    }

    /// The part of memory that was used, in percent.
    pub fn memory_percent(&self) -> f64 {
        part(self.memory.0 as f64, self.memory.1 as f64)
    }
}

/// The same in a line: `used 43.0% of 2 cores over 00:01:40, 1.00 GB (50.0%) of memory`.
pub fn line(job: &AccountingView) -> String {
    let all = Use::of(job);
    let cores = match job.cpus_allocated {
        1 => "1 core".to_string(),
        cores => format!("{cores} cores"),
    };
    let mut text = format!(
        "used {:.1}% of {cores} over {}, {}",
        all.cpu_percent(),
        clock::span_padded(all.wall as i64),
        bytes(all.memory.0)
    );
    if all.memory.1 > 0 {
        text.push_str(&format!(" ({:.1}%)", all.memory_percent()));
    }
    text.push_str(" of memory");
    // Steps see the same GPUs as the script around them, so the busiest look tells most.
    let busy = |step: &AccountingView| {
        let told = step.usage_in.iter().find(|it| it.name == "gres/gpuutil");
        told.map(|it| it.total)
    };
    if let Some(percent) = job.steps.iter().filter_map(busy).max() {
        text.push_str(&format!(", {percent}% of a GPU"));
    }
    text
}

fn told(job: &AccountingView) -> String {
    let status = JobStatus(job.state);
    let exit = ExitStatus::from_wait(job.exit_status);
    let nodes = u64::from(job.node_count.max(1));
    let cpus = u64::from(job.cpus_allocated);
    let all = Use::of(job);
    let (memory, given) = all.memory;
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
        span(all.cpu_micros / 1_000_000),
        all.cpu_percent(),
        span(all.cpu_secs),
        span(all.wall)
    ));
    text.push_str(&format!(
        "Memory Utilized: {}\nMemory Efficiency: {:.2}% of {}\n",
        bytes(memory),
        all.memory_percent(),
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

/// `4.00 GB`
pub fn bytes(count: u64) -> String {
    let mut amount = count as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if amount < 1024.0 {
            return format!("{amount:.2} {unit}");
        }
        amount /= 1024.0;
    }
    format!("{amount:.2} TB")
}

#[cfg(test)]
mod tests {
    use spur_core::views::TresUsage;

    use super::*;

    #[test]
    fn what_a_job_used_fits_in_a_line() {
        let usage =
            |name: &str, total| TresUsage { name: name.into(), total, ..TresUsage::default() };
        let mut step = AccountingView { user_cpu_micros: 86_000_000, ..AccountingView::default() };
        step.usage_in = vec![usage("mem", 1 << 30)];
        let mut job = AccountingView {
            start_time: 100,
            end_time: 200,
            cpus_allocated: 2,
            tres_allocated: "cpu=2,mem=2G".to_string(),
            steps: vec![step],
            ..AccountingView::default()
        };
        let expected = "used 43.0% of 2 cores over 00:01:40, 1.00 GB (50.0%) of memory";
        assert_eq!(line(&job), expected);
        job.steps[0].usage_in.push(usage("gres/gpuutil", 140));
        assert_eq!(line(&job), format!("{expected}, 140% of a GPU"));
    }
}
