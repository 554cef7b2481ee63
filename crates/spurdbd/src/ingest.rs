//! Takes in a controller's records, each once, whatever is repeated or killed: the rows and how far they
//! reach are one transaction.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::blob::BlobHash;
use spur_core::job::JobStatus;
use spur_core::limit::Limit;
use spur_core::views::{AccountingRecord, AccountingView};
use spur_proto::slurm::IngestRequest;

use crate::db::{Connection, Error, Value};
use crate::{events, rollup, rules};

/// Where a run that is not over ends.
pub const OPEN: i64 = i64::MAX;

/// Applies what is new and says how far the database has come.
pub fn ingest(connection: &mut Connection, request: &IngestRequest) -> Result<u64, Error> {
    connection.transaction(|connection| {
        let log = [Value::from(&request.cluster), Value::from(request.birth)];
        let had = acknowledged(connection, &log)?;
        let mut reached = had;
        if had == 0 {
            rules::know_cluster(connection, &request.cluster)?;
        }
        let mut news: Vec<&AccountingRecord> = Vec::new();
        for record in &request.records {
            if record.number > reached {
                reached = record.number;
                news.push(record);
            }
        }
        apply(connection, &request.cluster, &news)?;
        if reached > had {
            let [cluster, birth] = log;
            connection.execute(
                "UPDATE logs SET acknowledged = $1 WHERE cluster = $2 AND birth = $3",
                &[Value::from(reached), cluster, birth],
            )?;
        }
        Ok(reached)
    })
}

/// How far a log has been taken in, for a reader.
pub fn reached(connection: &mut Connection, cluster: &str, birth: u64) -> Result<u64, Error> {
    let log = [Value::from(cluster), Value::from(birth)];
    let sql = "SELECT acknowledged FROM logs WHERE cluster = $1 AND birth = $2";
    let rows = connection.query(sql, &log)?;
    rows.first().map_or(Ok(0), |row| row.int(0)).map(|number| number as u64)
}

fn acknowledged(connection: &mut Connection, log: &[Value]) -> Result<u64, Error> {
    connection.execute(
        "INSERT INTO logs (cluster, birth, acknowledged) VALUES ($1, $2, 0) \
         ON CONFLICT (cluster, birth) DO NOTHING",
        log,
    )?;
    let mut sql = "SELECT acknowledged FROM logs WHERE cluster = $1 AND birth = $2".to_string();
    // A leader that does not know yet that it is none may send beside its successor.
    sql.push_str(connection.for_update());
    let rows = connection.query(&sql, log)?;
    rows.first().map_or(Ok(0), |row| row.int(0)).map(|number| number as u64)
}

/// What one message tells of a run: a short one begins and ends between two messages, and only its last row is
/// worth writing. Steps are told of once each.
struct Told<'a> {
    last: &'a AccountingView,
    /// What kept it waiting before that; 0 where nothing did.
    reason: u32,
    steps: Vec<&'a AccountingView>,
    /// The earliest moment that is news, for what is rolled up already.
    about: Option<i64>,
}

fn apply(
    connection: &mut Connection,
    cluster: &str,
    records: &[&AccountingRecord],
) -> Result<(), Error> {
    let mut runs: BTreeMap<(u32, i64, u32), Told<'_>> = BTreeMap::new();
    for record in records {
        if let Some(event) = &record.event {
            events::put(connection, event)?;
        }
        for text in &record.texts {
            let values = [Value::from(&BlobHash::of(text).to_string()), text.clone().into()];
            let sql =
                "INSERT INTO texts (hash, content) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING";
            connection.execute(sql, &values)?;
        }
        let Some(job) = &record.job else { continue };
        let run = (job.job_id, job.submit_time, record.run);
        let nothing = Told { last: job, reason: 0, steps: Vec::new(), about: None };
        let told = runs.entry(run).or_insert(nothing);
        told.last = job;
        if job.reason > 0 {
            told.reason = job.reason;
        }
        told.steps.extend(&job.steps);
        if job.start_time > 0 {
            let about = if job.end_time > 0 { job.end_time } else { job.start_time };
            told.about = Some(told.about.map_or(about, |before| before.min(about)));
        }
    }
    for ((.., run), told) in runs {
        let id = put_job(connection, cluster, run, told.last, told.reason)?;
        // News about a time that is rolled up already.
        if let Some(about) = told.about {
            rollup::late(connection, told.last.start_time, about)?;
        }
        for (at, step) in told.steps.iter().enumerate() {
            if !told.steps[at + 1..].iter().any(|later| later.step_id == step.step_id) {
                put_step(connection, id, step)?;
            }
        }
    }
    Ok(())
}

/// Columns of `jobs` behind the four that name a run; what they hold is in the same order below.
const COLUMNS: &str = "array_job_id, array_task_id, het_job_id, het_job_offset, uid, gid, user_name, \
account, partition_name, qos, name, wckey, reservation, state, eligible_time, start_time, closed_time, \
node_count, cpus, time_limit, record";

/// What kept a run waiting stays known when it runs.
const KEPT: &str =
    "reason = CASE WHEN excluded.reason > 0 THEN excluded.reason ELSE jobs.reason END";

fn put_job(
    connection: &mut Connection,
    cluster: &str,
    run: u32,
    job: &AccountingView,
    reason: u32,
) -> Result<i64, Error> {
    let row = AccountingView { steps: Vec::new(), ..job.clone() };
    let time_limit = match job.time_limit {
        Some(Limit::Is(minutes)) => Some(minutes),
        _ => None,
    };
    let values = [
        Value::from(cluster),
        job.job_id.into(),
        job.submit_time.into(),
        run.into(),
        job.array_job_id.into(),
        job.array_task_id.into(),
        job.het_job_id.into(),
        job.het_job_offset.into(),
        job.uid.into(),
        job.gid.into(),
        (&job.user_name).into(),
        (&job.account).into(),
        (&job.partition).into(),
        (&job.qos).into(),
        (&job.name).into(),
        (&job.wckey).into(),
        (&job.reservation).into(),
        JobStatus(job.state).base().number().into(),
        job.eligible_time.into(),
        job.start_time.into(),
        closed(job).into(),
        job.node_count.into(),
        job.cpus_allocated.into(),
        time_limit.into(),
        row.encode_to_vec().into(),
        reason.into(),
    ];
    let places: Vec<String> = (1..=values.len()).map(|number| format!("${number}")).collect();
    let updates: Vec<String> =
        COLUMNS.split(", ").map(|column| format!("{column} = excluded.{column}")).collect();
    let sql = format!(
        "INSERT INTO jobs (cluster, job_id, submit_time, run, {COLUMNS}, reason) VALUES ({}) \
         ON CONFLICT (cluster, job_id, submit_time, run) DO UPDATE SET {}, {KEPT} RETURNING id",
        places.join(", "),
        updates.join(", ")
    );
    let rows = connection.query(&sql, &values)?;
    rows.first().map_or(Err(Error::Column(0, "number")), |row| row.int(0))
}

fn put_step(connection: &mut Connection, job: i64, step: &AccountingView) -> Result<(), Error> {
    let values = [
        job.into(),
        (&step.step_id).into(),
        place(&step.step_id).into(),
        step.start_time.into(),
        closed(step).into(),
        step.encode_to_vec().into(),
    ];
    connection.execute(
        "INSERT INTO steps (job, step, place, start_time, closed_time, record) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (job, step) DO UPDATE SET start_time = excluded.start_time, \
         closed_time = excluded.closed_time, record = excluded.record",
        &values,
    )?;
    Ok(())
}

fn closed(row: &AccountingView) -> i64 {
    if row.end_time > 0 { row.end_time } else { OPEN }
}

/// The script's step comes first, numbered ones in their order.
fn place(step: &str) -> i64 {
    match step {
        "batch" => 0,
        "extern" => 1,
        "interactive" => 2,
        number => number.parse::<i64>().map_or(3, |number| number.saturating_add(10)),
    }
}
