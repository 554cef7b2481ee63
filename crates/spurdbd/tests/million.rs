//! A table of a million jobs: how long a user's last week takes. It is asked for by name:
//! `cargo test --release -p spurdbd --test million -- --ignored --nocapture`.

#[allow(dead_code)]
mod common;

use std::time::{Duration, Instant};

use common::{Daemon, Server};
use prost::Message;
use spur_core::job::JobState;
use spur_proto::slurm::{AccountingView, IngestRequest, ListJobHistoryRequest, SumUsageRequest};
use spurdbd::db::{Connection, Location, Value};

const JOBS: i64 = 1_000_000;
const USERS: i64 = 500;
const DAY: i64 = 86_400;
/// The last second of the year that the jobs are spread over.
const NOW: i64 = 1_794_787_200;
const YEAR: i64 = 365 * DAY;

fn sample() -> AccountingView {
    AccountingView {
        cluster: "c".to_string(),
        job_id: 1,
        name: "train".to_string(),
        account: "physics".to_string(),
        user_name: "ann".to_string(),
        partition: "gpu".to_string(),
        qos: "normal".to_string(),
        state: JobState::Completed.number(),
        submit_time: NOW - YEAR,
        eligible_time: NOW - YEAR,
        start_time: NOW - YEAR,
        end_time: NOW - YEAR + 600,
        nodes: "n[1-2]".to_string(),
        node_count: 2,
        cpus_allocated: 16,
        tres_allocated: "billing=16,cpu=16,gres/gpu=8,mem=64G,node=2".to_string(),
        work_dir: "/home/ann/experiments".to_string(),
        submit_line: "sbatch -N2 -n16 --gres=gpu:4 train.sh".to_string(),
        ..AccountingView::default()
    }
}

/// Rows as records would leave them, made by the engine itself.
fn fill(location: &Location) {
    let mut connection = Connection::open(location).expect("a database");
    let sql = "WITH RECURSIVE number(n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM number WHERE n < $1) \
        INSERT INTO jobs (cluster, job_id, submit_time, run, array_job_id, array_task_id, het_job_id, \
        het_job_offset, uid, gid, user_name, account, partition_name, qos, name, wckey, reservation, state, \
        eligible_time, start_time, closed_time, node_count, cpus, time_limit, record) \
        SELECT 'c', n, $2 + n * $3 / $1, 1, 0, NULL, 0, 0, 1000 + n % $4, 100, 'u' || (n % $4), 'a' || (n % 50), \
        'gpu', 'normal', 'train', '', '', 3, $2 + n * $3 / $1, $2 + n * $3 / $1, $2 + n * $3 / $1 + 600, 2, 16, \
        60, $5 FROM number";
    let values = [
        Value::Int(JOBS),
        Value::Int(NOW - YEAR),
        Value::Int(YEAR - 700),
        Value::Int(USERS),
        sample().encode_to_vec().into(),
    ];
    connection.execute(sql, &values).expect("rows");
    connection
        .execute(
            "INSERT INTO steps (job, step, place, start_time, closed_time, record) \
             SELECT id, 'batch', 0, start_time, closed_time, record FROM jobs",
            &[],
        )
        .expect("steps");
    connection.batch("ANALYZE").expect("statistics");
}

/// The engines' calls block, and may not be made where tasks run.
fn fill_aside(daemon: &Daemon) {
    let location = daemon.database().clone();
    std::thread::spawn(move || fill(&location)).join().expect("the rows are there");
}

async fn measure(daemon: &mut Daemon, engine: &str) {
    let week = |user: u32| ListJobHistoryRequest {
        uids: vec![1000 + user],
        clusters: vec!["c".to_string()],
        start: NOW - 7 * DAY,
        end: NOW,
        // The rows hold one record, so all would be one job's.
        duplicates: true,
        ..Default::default()
    };
    let mut times: Vec<Duration> = Vec::new();
    for user in 0..20 {
        let began = Instant::now();
        let jobs = daemon.jobs(week(user)).await;
        times.push(began.elapsed());
        assert!((30..60).contains(&jobs.len()), "{} jobs of a week", jobs.len());
    }
    times.sort();
    println!(
        "{engine}: a user's last week of {JOBS} jobs: median {:?}, worst {:?}",
        times[10], times[19]
    );
    let began = Instant::now();
    daemon
        .jobs(ListJobHistoryRequest {
            jobs: vec![spur_proto::slurm::JobSelector { job_id: 500_000, ..Default::default() }],
            ..Default::default()
        })
        .await;
    println!("{engine}: one job by its number: {:?}", began.elapsed());
    let began = Instant::now();
    let request = SumUsageRequest { start: NOW - 30 * DAY, end: NOW, ..SumUsageRequest::default() };
    let usage = daemon.client.sum_usage(request).await.expect("a sum").into_inner().usage;
    println!("{engine}: usage of a month, {} lines: {:?}", usage.len(), began.elapsed());
    assert!(times[10] <= Duration::from_millis(100), "the median is {:?}", times[10]);
}

#[test]
#[ignore = "makes a million rows"]
fn a_users_last_week_is_found_in_a_tenth_of_a_second() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let empty = IngestRequest { cluster: "c".to_string(), birth: 1, records: Vec::new() };
        let mut daemon = Daemon::on_a_file().await;
        daemon.client.ingest(empty.clone()).await.expect("the cluster is known");
        fill_aside(&daemon);
        measure(&mut daemon, "sqlite").await;
        if let Some(server) = Server::start() {
            let mut daemon = Daemon::on(&server).await;
            daemon.client.ingest(empty).await.expect("the cluster is known");
            fill_aside(&daemon);
            measure(&mut daemon, "postgresql").await;
        }
    });
}
