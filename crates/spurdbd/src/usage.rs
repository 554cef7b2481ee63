//! What jobs used within a time: from what is rolled up, and from their rows where it is not.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::hostlist;
use spur_core::tres;
use spur_core::views::{AccountingView, TresSeconds, UsageView};
use spur_proto::slurm::SumUsageRequest;

use crate::db::{Connection, Error, Value};
use crate::rollup;

/// Rows read at a time: memory stays flat however many there are.
const PAGE: i64 = 10_000;

/// Who is charged, and for how large a job.
type Key = (String, String, String, (u32, u32), String, u32);

#[derive(Default)]
struct Sum {
    jobs: u64,
    began: u64,
    seconds: BTreeMap<String, u64>,
    planned: u64,
}

/// Sums of usage, by whom it is charged to.
#[derive(Default)]
pub struct Sums(BTreeMap<Key, Sum>);

/// Sums up. Runs that go on count until now, or until the end of the time.
pub fn sum(
    connection: &mut Connection,
    request: &SumUsageRequest,
) -> Result<Vec<UsageView>, Error> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let end = request.end.min(now.unwrap_or_default().as_secs() as i64);
    let mut sums = Sums::default();
    let wanted =
        |row: &UsageView| request.clusters.is_empty() || request.clusters.contains(&row.cluster);
    if is_about_some(request) {
        // Sums of hours do not know who ran where.
        each_run(connection, request.start, end, |job| {
            if is_meant(request, job) {
                sums.add(job, request.start, end);
            }
        })?;
        return Ok(sums.rows().into_iter().filter(wanted).collect());
    }
    let from = rollup::sum(connection, request.start, end, &mut sums)?;
    let is_first = from == request.start;
    let mut rest = Sums::default();
    each_run(connection, from, end, |job| rest.add(job, from, end))?;
    sums.put_together(rest.rows(), is_first);
    Ok(sums.rows().into_iter().filter(wanted).collect())
}

/// Whether only some jobs are asked about.
fn is_about_some(request: &SumUsageRequest) -> bool {
    !request.partitions.is_empty()
        || !request.nodes.is_empty()
        || !request.jobs.is_empty()
        || !request.reservations.is_empty()
}

fn is_meant(request: &SumUsageRequest, job: &AccountingView) -> bool {
    let is = |list: &[String], word: &String| list.is_empty() || list.contains(word);
    let on = |nodes: &[String]| {
        let had = hostlist::expand(&job.nodes).unwrap_or_default();
        nodes.is_empty() || had.iter().any(|node| nodes.contains(node))
    };
    let numbers = [job.job_id, job.array_job_id];
    let named = |it: &u32| *it > 0 && request.jobs.contains(it);
    is(&request.partitions, &job.partition)
        && is(&request.reservations, &job.reservation)
        && (request.jobs.is_empty() || numbers.iter().any(named))
        && on(&request.nodes)
}

/// Every run that went on at some moment of a time.
pub fn each_run(
    connection: &mut Connection,
    start: i64,
    end: i64,
    mut take: impl FnMut(&AccountingView),
) -> Result<(), Error> {
    let mut after = 0;
    loop {
        let rows = connection.query(
            "SELECT id, record FROM jobs WHERE id > $1 AND start_time > 0 AND start_time < $2 \
             AND closed_time > $3 ORDER BY id LIMIT $4",
            &[Value::Int(after), end.into(), start.into(), Value::Int(PAGE)],
        )?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.int(0)?;
        for row in &rows {
            take(&AccountingView::decode(row.bytes(1)?)?);
        }
    }
}

impl Sums {
    /// Adds what a run used within a time.
    pub fn add(&mut self, job: &AccountingView, start: i64, end: i64) {
        let until = if job.end_time > 0 { job.end_time.min(end) } else { end };
        let from = job.start_time.max(start);
        let whole = job.start_time >= start && until == job.end_time;
        // When within the run the pauses were is not known: a run that is cut has its part of them.
        let paused = match whole {
            true => job.suspended_secs,
            false => {
                let length =
                    (if job.end_time > 0 { job.end_time } else { end } - job.start_time).max(1);
                job.suspended_secs * (until - from).max(0) / length
            }
        };
        let secs = (until - from - paused).max(0) as u64;
        let key = (
            job.cluster.clone(),
            job.account.clone(),
            job.user_name.clone(),
            (job.uid, job.gid),
            job.wckey.clone(),
            job.cpus_allocated,
        );
        let sum = self.0.entry(key).or_default();
        sum.jobs += 1;
        sum.began += u64::from(job.start_time >= start && job.start_time < end);
        for (tres, amount) in tres::read(&job.tres_allocated) {
            *sum.seconds.entry(tres.to_string()).or_insert(0) += amount.unwrap_or(0) * secs;
        }
        // Waiting counts where it ended, so that pieces of a time come to the whole.
        if job.eligible_time > 0 && job.start_time >= start && job.start_time < end {
            let waited = (job.start_time - job.eligible_time).max(0) as u64;
            sum.planned += waited * u64::from(job.cpus_allocated);
        }
    }

    /// Takes in the sums of a piece of the time. Jobs that were there before it began were counted with the
    /// piece before, unless there is none.
    pub fn put_together(&mut self, rows: Vec<UsageView>, is_first: bool) {
        for row in rows {
            let key =
                (row.cluster, row.account, row.user_name, (row.uid, row.gid), row.wckey, row.cpus);
            let sum = self.0.entry(key).or_default();
            sum.jobs += if is_first { row.jobs } else { row.began };
            sum.began += row.began;
            sum.planned += row.planned_cpu_seconds;
            for one in row.seconds {
                *sum.seconds.entry(one.name).or_insert(0) += one.seconds;
            }
        }
    }

    /// As rows.
    pub fn rows(self) -> Vec<UsageView> {
        let row = |(key, sum): (Key, Sum)| UsageView {
            cluster: key.0,
            account: key.1,
            user_name: key.2,
            uid: key.3.0,
            gid: key.3.1,
            wckey: key.4,
            cpus: key.5,
            jobs: sum.jobs,
            began: sum.began,
            seconds: sum
                .seconds
                .into_iter()
                .map(|(name, seconds)| TresSeconds { name, seconds })
                .collect(),
            planned_cpu_seconds: sum.planned,
        };
        self.0.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> AccountingView {
        AccountingView {
            eligible_time: 50,
            start_time: 80,
            end_time: 200,
            cpus_allocated: 2,
            tres_allocated: "billing=2,cpu=2,gres/gpu=1".to_string(),
            ..AccountingView::default()
        }
    }

    fn seconds(row: &UsageView, name: &str) -> u64 {
        row.seconds.iter().filter(|it| it.name == name).map(|it| it.seconds).sum()
    }

    #[test]
    fn a_run_counts_within_the_time_only() {
        let mut sums = Sums::default();
        sums.add(&job(), 100, 150);
        let rows = sums.rows();
        assert_eq!((seconds(&rows[0], "cpu"), seconds(&rows[0], "gres/gpu")), (100, 50));
        assert_eq!(rows[0].planned_cpu_seconds, 0, "it waited before");
    }

    #[test]
    fn pieces_of_a_time_come_to_the_whole() {
        let mut whole = Sums::default();
        whole.add(&job(), 0, 300);
        let mut parts = Sums::default();
        for start in [0, 100, 200] {
            let mut part = Sums::default();
            if start < 200 {
                part.add(&job(), start, start + 100);
            }
            parts.put_together(part.rows(), start == 0);
        }
        assert_eq!(parts.rows(), whole.rows());
    }
}
