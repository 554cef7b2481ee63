//! Traces: what was submitted when, and on what machine.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A job of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// When it was submitted, in seconds.
    pub submit: i64,
    /// How long it ran.
    pub run: i64,
    /// How long it asked to run.
    pub limit: i64,
    /// Processors, or GPUs.
    pub size: u32,
    /// Whose it was.
    pub user: u32,
}

/// What the jobs run on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Nodes.
    pub nodes: u32,
    /// Processors, or GPUs, of each.
    pub each: u32,
    /// Whether they are GPUs.
    pub gpus: bool,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.gpus { "GPUs" } else { "processors" };
        write!(f, "{} × {} {what}", self.nodes, self.each)
    }
}

/// Jobs in the order of their submission, and their machine.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The machine.
    pub machine: Machine,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Lines that tell of no job that ran, or of one that no machine is large enough for.
    pub left_out: usize,
}

/// The most processors or GPUs of one job that are believed; more is a mistake in a file.
const LARGEST: i64 = 1 << 24;

/// Reads a file, packed or not.
pub fn read(path: &Path) -> Result<String> {
    if path.extension().is_some_and(|extension| extension == "gz") {
        let unpacked = Command::new("gzip").arg("-dc").arg(path).output();
        let unpacked = unpacked.context("could not run gzip")?;
        if !unpacked.status.success() {
            bail!("could not unpack {}", path.display());
        }
        return Ok(String::from_utf8_lossy(&unpacked.stdout).into_owned());
    }
    std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

/// Reads the standard workload format. It tells of processors only, so they are one pool unless a number of nodes
/// is said: which of them a job gets makes no difference then.
pub fn swf(text: &str, nodes: Option<u32>) -> Trace {
    let header = |name: &str| -> Option<u32> {
        let mut lines = text.lines().filter(|line| line.trim_start().starts_with(';'));
        lines.find_map(|line| {
            // `MaxProcs: 9,216 (of 9,472)`
            let said = line.split_once(name)?.1.trim_start().trim_start_matches(':').trim_start();
            let digits: String =
                said.chars().take_while(|it| it.is_ascii_digit() || *it == ',').collect();
            digits.replace(',', "").parse().ok()
        })
    };
    let told = |line: &&str| !line.trim_start().starts_with(';') && !line.trim().is_empty();
    let mut jobs: Vec<Job> = text
        .lines()
        .filter(told)
        .filter_map(|line| {
            let fields: Vec<i64> = line
                .split_whitespace()
                .map(|field| field.parse::<f64>().map_or(-1, |number| number as i64))
                .collect();
            let get = |number: usize| fields.get(number - 1).copied().unwrap_or(-1);
            let size = if get(8) > 0 { get(8) } else { get(5) };
            let run = get(4).min(FOR_EVER);
            if !(1..=LARGEST).contains(&size) || run < 0 {
                return None;
            }
            let limit = if get(9) > 0 { get(9).min(FOR_EVER) } else { run.max(1) };
            Some(Job {
                submit: get(2).clamp(0, FOR_EVER),
                run: run.min(limit),
                limit,
                size: size as u32,
                user: get(12).max(0) as u32,
            })
        })
        .collect();
    jobs.sort_by_key(|job| job.submit);
    let largest = jobs.iter().map(|job| job.size).max().unwrap_or(1);
    let believed = |procs: &u32| i64::from(*procs) <= LARGEST;
    let procs = header("MaxProcs").or(header("MaxNodes")).filter(believed).unwrap_or(largest);
    let procs = procs.max(largest);
    let nodes = nodes.unwrap_or(1);
    let left_out = text.lines().filter(told).count() - jobs.len();
    Trace { machine: Machine { nodes, each: procs.div_ceil(nodes), gpus: false }, jobs, left_out }
}

/// Longer than anything runs, and short enough to be added up: a thousand years.
const FOR_EVER: i64 = 1000 * 365 * 86_400;

/// Limits people ask for, in minutes.
const ROUND: &[i64] = &[
    5, 10, 15, 30, 60, 120, 240, 480, 720, 1440, 2880, 4320, 7200, 10_080, 14_400, 20_160, 30_240,
    43_200, 64_800, 86_400, 129_600, 172_800,
];

/// GPUs of a node.
const EACH: u32 = 8;

/// Reads gang jobs: `job_id,num_gpu,submit_time,…,duration,…`, times in milliseconds. Limits are the next
/// round ones from one and a half of the run time on.
pub fn gangs(text: &str, nodes: u32) -> Result<Trace> {
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        let place = heading.iter().position(|it| *it == name);
        place.with_context(|| format!("the trace has no column {name}"))
    };
    let (size, submit, run) = (column("num_gpu")?, column("submit_time")?, column("duration")?);
    let (mut jobs, mut left_out) = (Vec::new(), 0);
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').collect();
        let get = |place: usize| -> Result<f64> {
            let field = fields.get(place).with_context(|| format!("a short line: {line}"))?;
            let number: Option<f64> = field.trim().parse().ok().filter(|it: &f64| it.is_finite());
            number.with_context(|| format!("not a number: {field}"))
        };
        let (size, run) = (get(size)? as i64, ((get(run)? / 1000.0).max(1.0) as i64).min(FOR_EVER));
        // A gang that is larger than the machine never runs.
        if !(1..=i64::from(nodes) * i64::from(EACH)).contains(&size) {
            left_out += 1;
            continue;
        }
        let limit = ROUND.iter().map(|minutes| minutes * 60).find(|limit| 2 * limit >= 3 * run);
        jobs.push(Job {
            submit: ((get(submit)? / 1000.0) as i64).clamp(0, FOR_EVER),
            run,
            limit: limit.unwrap_or(2 * run),
            size: size as u32,
            user: 0,
        });
    }
    jobs.sort_by_key(|job| job.submit);
    Ok(Trace { machine: Machine { nodes, each: EACH, gpus: true }, jobs, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_swf_is_a_job() {
        let text = "; MaxProcs: 100\n1 10 5 60 4 -1 -1 8 120 -1 1 3 1 -1 1 -1 -1 -1\n2 11 0 -1 1\n";
        let trace = swf(text, None);
        let job = Job { submit: 10, run: 60, limit: 120, size: 8, user: 3 };
        assert_eq!((trace.jobs, trace.machine.each), (vec![job], 100));
    }

    #[test]
    fn headings_of_swf_are_written_in_many_ways() {
        let job = "\r\n  1 0 0 10 4 -1 -1 -1 -1 -1 1 3 1 -1 1 -1 -1 -1\r\n";
        for (heading, procs) in [
            ("; MaxProcs: 1,152 (of 1,200)", 1152),
            (";MaxProcs:128", 128),
            ("  ;  MaxNodes: 64\t8 processors each", 64),
            ("; Computer: nobody knows", 4),
        ] {
            let trace = swf(&format!("{heading}{job}"), None);
            let machine = trace.machine;
            assert_eq!((machine.nodes * machine.each, trace.jobs.len()), (procs, 1), "{heading}");
            assert_eq!((trace.jobs[0].limit, trace.jobs[0].size), (10, 4));
        }
    }

    #[test]
    fn what_no_machine_could_run_is_left_out() {
        let line = |size: i64, run: i64| format!("1 0 0 {run} {size} -1 -1 {size} -1 -1 1 1\n");
        let all = [(4, 60), (0, 60), (4, -1), (1 << 40, 60)].map(|(size, run)| line(size, run));
        let trace = swf(&format!("; MaxProcs: 99999999999\n\n{}", all.concat()), None);
        assert_eq!((trace.jobs.len(), trace.left_out, trace.machine.each), (1, 3, 4));
        let text = "job_id,num_gpu,submit_time,duration\n1,0,0,1\n2,17,0,1\n3,-4,0,1\n4,16,0,1\n";
        let trace = gangs(text, 2).unwrap();
        assert_eq!((trace.jobs.len(), trace.left_out), (1, 3));
        assert!(gangs("job_id,num_gpu,submit_time,duration\n1,nan,0,1\n", 2).is_err());
    }

    #[test]
    fn a_gang_asks_for_a_round_limit() {
        let text = "job_id,num_gpu,submit_time,duration\n0,4,2000,3600000\n";
        let trace = gangs(text, 2).unwrap();
        assert_eq!(trace.jobs, [Job { submit: 2, run: 3600, limit: 7200, size: 4, user: 0 }]);
    }
}
