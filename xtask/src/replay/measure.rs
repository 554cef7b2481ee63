//! What came of a replay, in numbers.

use spur_sched::view::ViewShare;

use super::trace::Trace;

/// When each job started, and on how many nodes.
#[derive(Clone, Debug)]
pub struct Outcome {
    starts: Vec<Option<i64>>,
    nodes: Vec<u32>,
}

impl Outcome {
    pub(super) fn new(jobs: usize) -> Outcome {
        Outcome { starts: vec![None; jobs], nodes: vec![0; jobs] }
    }

    pub(super) fn started(&mut self, job: usize, at: i64, shares: &[ViewShare]) {
        self.starts[job] = Some(at);
        self.nodes[job] = shares.len() as u32;
    }

    /// When a job started.
    pub fn start_of(&self, job: usize) -> Option<i64> {
        self.starts[job]
    }

    /// The usual numbers.
    pub fn summary(&self, trace: &Trace) -> Summary {
        let ran = || {
            let jobs = trace.jobs.iter().zip(&self.starts);
            jobs.filter_map(|(job, start)| Some((job, (*start)?)))
        };
        let mut waits: Vec<i64> = ran().map(|(job, start)| start - job.submit).collect();
        waits.sort_unstable();
        let count = waits.len().max(1) as f64;
        let slowdown = |(job, start): (&super::Job, i64)| {
            let (wait, run) = ((start - job.submit) as f64, job.run as f64);
            ((wait + run) / run.max(10.0)).max(1.0)
        };
        let first = trace.jobs.first().map_or(0, |job| job.submit);
        let last = ran().map(|(job, start)| start + job.run).max().unwrap_or(first);
        let work: f64 = ran().map(|(job, _)| job.run as f64 * f64::from(job.size)).sum();
        let all = f64::from(trace.machine.nodes) * f64::from(trace.machine.each);
        // Nodes beyond the fewest a gang needs.
        let torn = ran()
            .zip(&self.nodes)
            .filter(|((job, _), nodes)| **nodes > job.size.div_ceil(trace.machine.each));
        Summary {
            started: waits.len(),
            mean_h: waits.iter().sum::<i64>() as f64 / count / 3600.0,
            median_h: part(&waits, 0.50) / 3600.0,
            p95_h: part(&waits, 0.95) / 3600.0,
            slowdown: ran().map(slowdown).sum::<f64>() / count,
            utilisation: work / (all * (last - first).max(1) as f64),
            makespan_d: (last - first) as f64 / 86_400.0,
            torn: torn.count() as f64 / count,
        }
    }
}

fn part(sorted: &[i64], part: f64) -> f64 {
    let place = ((sorted.len() as f64 - 1.0) * part).max(0.0).round() as usize;
    sorted.get(place).copied().unwrap_or(0) as f64
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Jobs that ran.
    pub started: usize,
    /// Waits, in hours.
    pub mean_h: f64,
    /// The middle one.
    pub median_h: f64,
    /// One in twenty waits longer.
    pub p95_h: f64,
    /// Mean bounded slowdown, from 10 s on.
    pub slowdown: f64,
    /// Of all processors, over the whole time.
    pub utilisation: f64,
    /// From the first submission to the last end, in days.
    pub makespan_d: f64,
    /// Part of the jobs that got more nodes than they need.
    pub torn: f64,
}

impl Summary {
    /// What the columns are.
    pub const HEADING: &str = "policy     wait mean h    median h       p95 h   slowdown   util  makespan d   torn    jobs";

    /// One line.
    pub fn row(&self, name: &str) -> String {
        format!(
            "{name:<10} {:>11.2} {:>11.2} {:>11.2} {:>10.1} {:>6.3} {:>11.1} {:>6.3} {:>7}",
            self.mean_h,
            self.median_h,
            self.p95_h,
            self.slowdown,
            self.utilisation,
            self.makespan_d,
            self.torn,
            self.started,
        )
    }
}
