//! What jobs used within a time, summed over their rows.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::tres;
use spur_core::views::{AccountingView, TresSeconds, UsageView};
use spur_proto::slurm::SumUsageRequest;

use crate::db::{Connection, Error, Value};

/// Rows read at a time: memory stays flat however many there are.
const PAGE: i64 = 10_000;

/// Who is charged, and for how large a job.
type Key = (String, String, String, (u32, u32), String, u32);

#[derive(Default)]
struct Sum {
    jobs: u64,
    seconds: BTreeMap<String, u64>,
    planned: u64,
}

/// Sums up. Runs that go on count until now, or until the end of the time.
pub fn sum(
    connection: &mut Connection,
    request: &SumUsageRequest,
) -> Result<Vec<UsageView>, Error> {
    let mut sums: BTreeMap<Key, Sum> = BTreeMap::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let end = request.end.min(now.unwrap_or_default().as_secs() as i64);
    let mut after = 0;
    loop {
        let rows = connection.query(
            "SELECT id, record FROM jobs WHERE id > $1 AND start_time > 0 AND start_time < $2 \
             AND closed_time > $3 ORDER BY id LIMIT $4",
            &[Value::Int(after), request.end.into(), request.start.into(), Value::Int(PAGE)],
        )?;
        let Some(last) = rows.last() else { break };
        after = last.int(0)?;
        for row in &rows {
            let job = AccountingView::decode(row.bytes(1)?)?;
            if request.clusters.is_empty() || request.clusters.contains(&job.cluster) {
                add(&mut sums, &job, request.start, end);
            }
        }
    }
    let row = |(key, sum): (Key, Sum)| UsageView {
        cluster: key.0,
        account: key.1,
        user_name: key.2,
        uid: key.3.0,
        gid: key.3.1,
        wckey: key.4,
        cpus: key.5,
        jobs: sum.jobs,
        seconds: sum
            .seconds
            .into_iter()
            .map(|(name, seconds)| TresSeconds { name, seconds })
            .collect(),
        planned_cpu_seconds: sum.planned,
    };
    Ok(sums.into_iter().map(row).collect())
}

fn add(sums: &mut BTreeMap<Key, Sum>, job: &AccountingView, start: i64, end: i64) {
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
    let sum = sums.entry(key).or_default();
    sum.jobs += 1;
    for (tres, amount) in tres::parse(&job.tres_allocated).unwrap_or_default() {
        *sum.seconds.entry(tres.to_string()).or_insert(0) += amount.unwrap_or(0) * secs;
    }
    let eligible = job.eligible_time.max(start);
    let waited = (job.start_time.min(end) - eligible).max(0) as u64;
    if job.eligible_time > 0 {
        sum.planned += waited * u64::from(job.cpus_allocated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_within_the_time_only() {
        let job = AccountingView {
            eligible_time: 50,
            start_time: 80,
            end_time: 200,
            cpus_allocated: 2,
            tres_allocated: "billing=2,cpu=2,gres/gpu=1".to_string(),
            ..AccountingView::default()
        };
        let mut sums = BTreeMap::new();
        add(&mut sums, &job, 100, 150);
        let sum = sums.into_values().next().expect("a sum");
        assert_eq!(sum.seconds.get("cpu"), Some(&100));
        assert_eq!(sum.seconds.get("gres/gpu"), Some(&50));
        assert_eq!(sum.planned, 0, "it waited before");
    }
}
