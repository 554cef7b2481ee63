//! How `sdiag` shows what it was told.

use std::fmt::Write;
use std::time::Instant;

use serde_json::{Value as Json, json};
use spur_core::time::Timestamp;
use spur_proto::slurm::GetDiagnosticsReply;

use super::calls::Call;
use crate::commands::answer::moment;
use crate::zone;

/// Microseconds that a thousand looks at the clock take.
pub fn latency() -> u64 {
    let began = Instant::now();
    for _ in 0..1000 {
        std::hint::black_box(std::time::SystemTime::now());
    }
    began.elapsed().as_micros() as u64
}

fn mean(sum: u64, count: u64) -> u64 {
    sum / count.max(1)
}

fn per_minute(told: &GetDiagnosticsReply) -> u64 {
    let minutes = (told.now - told.since).max(0) as u64 / 60;
    mean(told.passes, minutes)
}

/// The text for people. Passes of ours both start jobs in turn and let others start around them, so both
/// paragraphs tell of the same passes.
pub fn text(told: &GetDiagnosticsReply, calls: &[Call], latency: u64) -> String {
    let at = |secs: i64| format!("{} ({secs})", zone::date(Timestamp(secs)));
    let stars = "*".repeat(55);
    let mut text = format!(
        "{stars}\nsdiag output at {}\nData since      {}\n{stars}\n\
         Server thread count:  {}\nAgent queue size:     0\nAgent count:          0\n\
         Agent thread count:   0\nDBD Agent queue size: {}\n\n",
        at(told.now),
        at(told.since),
        told.open_calls,
        told.unrecorded,
    );
    let _ = write!(
        text,
        "Jobs submitted: {}\nJobs started:   {}\nJobs completed: {}\nJobs canceled:  {}\n\
         Jobs failed:    {}\n\nJob states ts:  {}\nJobs pending:   {}\nJobs running:   {}\n\n",
        told.jobs_submitted,
        told.jobs_started,
        told.jobs_completed,
        told.jobs_cancelled,
        told.jobs_failed,
        at(told.now),
        told.jobs_pending,
        told.jobs_running,
    );
    let _ = write!(
        text,
        "Main schedule statistics (microseconds):\n\tLast cycle:   {}\n\tMax cycle:    {}\n\
         \tTotal cycles: {}\n",
        told.pass_last_micros, told.pass_most_micros, told.passes,
    );
    if told.passes > 0 {
        let _ = write!(
            text,
            "\tMean cycle:   {}\n\tMean depth cycle:  {}\n",
            mean(told.pass_sum_micros, told.passes),
            mean(told.pass_sum_depth, told.passes),
        );
    }
    if told.now - told.since >= 60 {
        let _ = writeln!(text, "\tCycles per minute: {}", per_minute(told));
    }
    let _ = write!(
        text,
        "\tLast queue length: {}\n\nBackfilling stats\n\
         \tTotal backfilled jobs (since last slurm start): {backfilled}\n\
         \tTotal backfilled jobs (since last stats cycle start): {backfilled}\n\
         \tTotal backfilled heterogeneous job components: 0\n\tTotal cycles: {}\n",
        told.pass_last_queue,
        told.passes,
        backfilled = told.backfilled,
    );
    let depth = told.pass_last_depth;
    let _ = write!(
        text,
        "\tLast cycle when: {}\n\tLast cycle: {}\n\tMax cycle:  {}\n",
        at(told.pass_last_at),
        told.pass_last_micros,
        told.pass_most_micros,
    );
    // Means only of what there was.
    let mean_line = |text: &mut String, name: &str, sum| {
        if told.passes > 0 {
            let _ = writeln!(text, "\t{name}: {}", mean(sum, told.passes));
        }
    };
    mean_line(&mut text, "Mean cycle", told.pass_sum_micros);
    let _ = writeln!(text, "\tLast depth cycle: {depth}\n\tLast depth cycle (try sched): {depth}");
    mean_line(&mut text, "Depth Mean", told.pass_sum_depth);
    mean_line(&mut text, "Depth Mean (try depth)", told.pass_sum_depth);
    let _ = writeln!(text, "\tLast queue length: {}", told.pass_last_queue);
    mean_line(&mut text, "Queue length mean", told.pass_sum_queue);
    let _ = writeln!(text, "\tLast table size: {}", told.pass_last_promised);
    mean_line(&mut text, "Mean table size", told.pass_sum_promised);
    let _ = write!(
        text,
        "\nLatency for 1000 calls to gettimeofday(): {latency} microseconds\n\n\
         Remote Procedure Call statistics by message type\n"
    );
    let counts = |count: u64, average: u64, total: u64| {
        format!("count:{count:<6} ave_time:{average:<6} total_time:{total}\n")
    };
    for call in calls {
        let counts = counts(call.count, call.average(), call.micros);
        let _ = write!(text, "\t{:<40}({:5}) {counts}", call.name, call.id);
    }
    text.push_str("\nRemote Procedure Call statistics by user\n");
    let mut callers = told.callers.clone();
    callers.sort_by_key(|caller| u64::MAX - caller.count);
    for caller in &callers {
        let counts = counts(caller.count, mean(caller.micros, caller.count), caller.micros);
        let _ = write!(text, "\t{:<16}({:8}) {counts}", caller.user_name, caller.uid);
    }
    text.push_str("\nPending RPC statistics\n\tNo pending RPCs\n");
    text
}

/// The object of v0.0.42.
pub fn json(told: &GetDiagnosticsReply, calls: &[Call], latency: u64) -> Json {
    let (cycle, depth) =
        (mean(told.pass_sum_micros, told.passes), mean(told.pass_sum_depth, told.passes));
    let average = |number: u64| json!({ "set": true, "infinite": false, "number": number });
    let by_type: Vec<Json> = calls
        .iter()
        .map(|call| {
            json!({
                "type_id": call.id,
                "message_type": call.name,
                "count": call.count,
                "queued": 0,
                "dropped": 0,
                "cycle_last": 0,
                "cycle_max": 0,
                "total_time": call.micros,
                "average_time": average(call.average()),
            })
        })
        .collect();
    let by_user: Vec<Json> = told
        .callers
        .iter()
        .map(|caller| {
            json!({
                "user_id": caller.uid,
                "user": caller.user_name,
                "count": caller.count,
                "total_time": caller.micros,
                "average_time": average(mean(caller.micros, caller.count)),
            })
        })
        .collect();
    let mut all = json!({
        "parts_packed": 0,
        "req_time": moment(told.now),
        "req_time_start": moment(told.since),
        "server_thread_count": told.open_calls,
        "agent_queue_size": 0,
        "agent_count": 0,
        "agent_thread_count": 0,
        "dbd_agent_queue_size": told.unrecorded,
        "gettimeofday_latency": latency,
        "schedule_cycle_max": told.pass_most_micros,
        "schedule_cycle_last": told.pass_last_micros,
        "schedule_cycle_sum": told.pass_sum_micros,
        "schedule_cycle_total": told.passes,
        "schedule_cycle_mean": cycle,
        "schedule_cycle_mean_depth": depth,
        "schedule_cycle_per_minute": per_minute(told),
        "schedule_cycle_depth": told.pass_sum_depth,
        "schedule_exit": {
            "end_job_queue": told.passes,
            "default_queue_depth": 0,
            "max_job_start": 0,
            "max_rpc_cnt": 0,
            "max_sched_time": 0,
            "licenses": 0,
        },
        "schedule_queue_length": told.pass_last_queue,
        "jobs_submitted": told.jobs_submitted,
        "jobs_started": told.jobs_started,
        "jobs_completed": told.jobs_completed,
        "jobs_canceled": told.jobs_cancelled,
        "jobs_failed": told.jobs_failed,
        "jobs_pending": told.jobs_pending,
        "jobs_running": told.jobs_running,
        "job_states_ts": moment(told.now),
    });
    let backfill = json!({
        "bf_backfilled_jobs": told.backfilled,
        "bf_last_backfilled_jobs": told.backfilled,
        "bf_backfilled_het_jobs": 0,
        "bf_cycle_counter": told.passes,
        "bf_cycle_mean": cycle,
        "bf_depth_mean": depth,
        "bf_depth_mean_try": depth,
        "bf_cycle_sum": told.pass_sum_micros,
        "bf_cycle_last": told.pass_last_micros,
        "bf_cycle_max": told.pass_most_micros,
        "bf_exit": {
            "end_job_queue": told.passes,
            "bf_max_job_start": 0,
            "bf_max_job_test": 0,
            "bf_max_time": 0,
            "bf_node_space_size": 0,
            "state_changed": 0,
        },
        "bf_last_depth": told.pass_last_depth,
        "bf_last_depth_try": told.pass_last_depth,
        "bf_depth_sum": told.pass_sum_depth,
        "bf_depth_try_sum": told.pass_sum_depth,
        "bf_queue_len": told.pass_last_queue,
        "bf_queue_len_mean": mean(told.pass_sum_queue, told.passes),
        "bf_queue_len_sum": told.pass_sum_queue,
        "bf_table_size": told.pass_last_promised,
        "bf_table_size_sum": told.pass_sum_promised,
        "bf_table_size_mean": mean(told.pass_sum_promised, told.passes),
        "bf_when_last_cycle": moment(told.pass_last_at),
        "bf_active": false,
        "rpcs_by_message_type": by_type,
        "rpcs_by_user": by_user,
        "pending_rpcs": [],
        "pending_rpcs_by_hostlist": [],
    });
    if let (Some(all), Json::Object(backfill)) = (all.as_object_mut(), backfill) {
        all.extend(backfill);
    }
    all
}
