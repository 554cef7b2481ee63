//! The columns of finished and running jobs and steps: `sacct`, `sstat`, `--json`.

use serde_json::{Value as Json, json};

use super::render;
use super::short::*;
use super::value::{Elapsed, tres_list};
use super::{Field, Value};
use crate::job::{JobState, JobStatus, Reason};
use crate::limit::Limit;
use crate::views::AccountingView;
use crate::views::accounting::TresUsage;

/// `sacct`
pub const DEFAULT: &str = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
/// `sacct -b`
pub const BRIEF: &str = "JobID,State,ExitCode";
/// `sacct -l`
pub const LONG: &str = "JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,\
AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,\
MinCPUNode,MinCPUTask,AveCPU,NTasks,AllocCPUS,Elapsed,State,ExitCode,AveCPUFreq,ReqCPUFreqMin,\
ReqCPUFreqMax,ReqCPUFreqGov,ReqMem,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,\
AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,ReqTRES,AllocTRES,\
TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,TRESUsageInMin,\
TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutMax,TRESUsageOutMaxNode,\
TRESUsageOutMaxTask,TRESUsageOutAve,TRESUsageOutTot";

const fn field(
    name: &'static str,
    width: usize,
    get: fn(&AccountingView) -> Value,
) -> Field<AccountingView> {
    Field::new(name, name, get).width(width)
}

/// Every column of `sacct`, in the order of `--helpformat`, in which a shortened name is looked up.
#[rustfmt::skip]
pub static ACCOUNTING_FIELDS: &[Field<AccountingView>] = &[
    field("Account", 10, |a| text(&a.account)),
    field("AdminComment", 15, |a| of_job(a, |a| text(&a.admin_comment))),
    field("AllocCPUS", 10, |a| number(a.cpus_allocated)),
    field("AllocNodes", 10, |a| number(if a.nodes.is_empty() { 0 } else { a.node_count })),
    field("AllocTRES", 10, |a| text(&a.tres_allocated)),
    field("AssocID", 7, |a| number(a.association_id)),
    field("AveCPU", 10, |a| used(a, "cpu", |u| seconds(u.average))),
    field("AveCPUFreq", 10, |a| of_step(a, frequency)),
    field("AveDiskRead", 14, |a| used(a, "fs/disk", |u| Value::MegabytesOf(u.average))),
    field("AveDiskWrite", 14, |a| put_out(a, |u| Value::MegabytesOf(u.average))),
    field("AvePages", 10, |a| used(a, "pages", |u| number(u.average))),
    field("AveRSS", 10, |a| used(a, "mem", |u| Value::Bytes(u.average))),
    field("AveVMSize", 10, |a| used(a, "vmem", |u| Value::Bytes(u.average))),
    field("BlockID", 16, |_| text("")),
    field("Cluster", 10, |a| text(&a.cluster)),
    field("Comment", 14, |a| of_job(a, |a| text(&a.comment))),
    field("Constraints", 19, |a| of_job(a, |a| text(&a.constraints))),
    field("ConsumedEnergy", 14, |a| maybe(a.consumed_energy_joules, "")),
    field("ConsumedEnergyRaw", 17, |a| maybe(a.consumed_energy_joules, "")),
    field("Container", 19, |a| text(&a.container)),
    field("CPUTime", 10, |a| Value::PaddedElapsed(elapsed(a), a.cpus_allocated.into())),
    field("CPUTimeRAW", 10, |a| Value::ScaledSecs(elapsed(a), a.cpus_allocated.into())),
    field("DBIndex", 21, |a| number(a.database_index)).left(),
    field("DerivedExitCode", 15, |a| of_job(a, |a| Value::ExitStatus(a.derived_exit_status))),
    field("Elapsed", 10, |a| Value::PaddedElapsed(elapsed(a), 1)),
    field("ElapsedRaw", 10, |a| Value::ElapsedSecs(elapsed(a))),
    field("Eligible", 19, |a| moment(a.eligible_time)),
    field("End", 19, |a| moment(a.end_time)),
    field("ExitCode", 8, |a| Value::ExitStatus(a.exit_status)),
    field("Extra", 14, |a| of_job(a, |a| text(&a.extra))),
    field("FailedNode", 20, |a| of_job(a, |a| text(&a.failed_node))),
    field("Flags", 19, |a| of_job(a, |a| list(&a.flags))),
    field("GID", 6, |a| of_job(a, |a| number(a.gid))),
    field("Group", 9, |a| of_job(a, |a| text(&a.group_name))),
    field("JobID", 12, |a| Value::Text(shown_id(a))).left(),
    field("JobIDRaw", 12, |a| Value::Text(raw_id(a))).left(),
    field("JobName", 10, |a| text(&a.name)),
    field("Layout", 9, |a| of_step(a, |a| or(&a.layout, "Unknown"))),
    field("Licenses", 10, |a| of_job(a, |a| text(&a.licenses))),
    field("MaxDiskRead", 12, |a| used(a, "fs/disk", |u| Value::MegabytesOf(u.max))),
    field("MaxDiskReadNode", 15, |a| used(a, "fs/disk", |u| text(&u.max_node))),
    field("MaxDiskReadTask", 15, |a| used(a, "fs/disk", |u| number(u.max_task))),
    field("MaxDiskWrite", 12, |a| put_out(a, |u| Value::MegabytesOf(u.max))),
    field("MaxDiskWriteNode", 16, |a| put_out(a, |u| text(&u.max_node))),
    field("MaxDiskWriteTask", 16, |a| put_out(a, |u| number(u.max_task))),
    field("MaxPages", 8, |a| used(a, "pages", |u| number(u.max))),
    field("MaxPagesNode", 12, |a| used(a, "pages", |u| text(&u.max_node))),
    field("MaxPagesTask", 14, |a| used(a, "pages", |u| number(u.max_task))),
    field("MaxRSS", 10, |a| used(a, "mem", |u| Value::Bytes(u.max))),
    field("MaxRSSNode", 10, |a| used(a, "mem", |u| text(&u.max_node))),
    field("MaxRSSTask", 10, |a| used(a, "mem", |u| number(u.max_task))),
    field("MaxVMSize", 10, |a| used(a, "vmem", |u| Value::Bytes(u.max))),
    field("MaxVMSizeNode", 14, |a| used(a, "vmem", |u| text(&u.max_node))),
    field("MaxVMSizeTask", 14, |a| used(a, "vmem", |u| number(u.max_task))),
    field("McsLabel", 12, |a| of_job(a, |a| text(&a.mcs_label))),
    field("MinCPU", 10, |a| used(a, "cpu", |u| seconds(u.min))),
    field("MinCPUNode", 10, |a| used(a, "cpu", |u| text(&u.min_node))),
    field("MinCPUTask", 10, |a| used(a, "cpu", |u| number(u.min_task))),
    field("NCPUS", 10, |a| number(a.cpus_allocated)),
    field("NNodes", 8, |a| number(a.node_count)),
    field("NodeList", 15, |a| or(&a.nodes, "None assigned")),
    field("NTasks", 8, |a| of_step(a, |a| number(a.tasks))),
    field("Partition", 10, |a| of_job(a, |a| text(&a.partition))),
    field("Planned", 10, |a| of_job(a, |a| Value::PaddedElapsed(planned(a), 1))),
    field("PlannedCPU", 10, |a| of_job(a, |a| Value::PaddedElapsed(planned(a), a.cpus_requested.into()))),
    field("PlannedCPURAW", 13, |a| of_job(a, |a| Value::ScaledSecs(planned(a), a.cpus_requested.into()))),
    field("Priority", 10, |a| of_job(a, |a| number(a.priority))),
    field("QOS", 10, |a| of_job(a, |a| text(&a.qos))),
    field("QOSRAW", 6, |a| of_job(a, |a| number(a.qos_id))),
    field("QOSREQ", 10, |a| of_job(a, |a| text(&a.qos_requested))),
    field("Reason", 22, |a| of_job(a, |a| Value::Text(Reason::word(a.reason)))),
    field("ReqCPUFreq", 10, |a| frequency_asked(a, &a.requested_cpu_frequency_max)),
    field("ReqCPUFreqGov", 13, |a| frequency_asked(a, &a.requested_cpu_frequency_governor)),
    field("ReqCPUFreqMax", 13, |a| frequency_asked(a, &a.requested_cpu_frequency_max)),
    field("ReqCPUFreqMin", 13, |a| frequency_asked(a, &a.requested_cpu_frequency_min)),
    field("ReqCPUS", 8, |a| number(a.cpus_requested)),
    field("ReqMem", 10, |a| of_job(a, |a| Value::Megabytes(requested_mb(a)))),
    field("ReqNodes", 8, |a| number(a.nodes_requested)),
    field("ReqReservation", 20, |a| of_job(a, |a| text(&a.reservation))),
    field("ReqTRES", 10, |a| of_job(a, |a| text(&a.tres_requested))),
    field("Reservation", 20, |a| of_job(a, |a| text(&a.reservation))),
    field("ReservationId", 8, |a| of_job(a, |a| if a.reservation_id > 0 { number(a.reservation_id) } else { text("") })),
    // Names of before 23.02; scripts still use them.
    field("Reserved", 10, |a| of_job(a, |a| Value::PaddedElapsed(planned(a), 1))),
    field("ResvCPU", 10, |a| of_job(a, |a| Value::PaddedElapsed(planned(a), a.cpus_requested.into()))),
    field("ResvCPURAW", 10, |a| of_job(a, |a| Value::ScaledSecs(planned(a), a.cpus_requested.into()))),
    field("Restarts", 8, |a| of_job(a, |a| number(a.restarts))),
    field("SegmentSize", 11, |a| of_job(a, |a| number(a.segment_size))),
    field("SLUID", 14, |a| text(&a.sluid)),
    field("Start", 19, |a| Value::Moment(a.start_time, if a.end_time > 0 { "None" } else { "Unknown" })),
    field("State", 10, |a| Value::Text(state(a))),
    field("StdErr", 20, |a| of_job(a, |a| text(&a.standard_error))),
    field("StdIn", 20, |a| of_job(a, |a| text(&a.standard_input))),
    field("StdOut", 20, |a| of_job(a, |a| text(&a.standard_output))),
    field("Submit", 19, |a| moment(a.submit_time)),
    field("SubmitLine", 20, |a| text(&a.submit_line)),
    field("Suspended", 10, |a| Value::PaddedSpan(a.suspended_secs)),
    field("SystemComment", 15, |a| of_job(a, |a| text(&a.system_comment))),
    field("SystemCPU", 10, |a| Value::CpuMicros(a.system_cpu_micros)),
    field("Timelimit", 10, |a| of_job(a, time_limit)),
    field("TimelimitRaw", 10, |a| of_job(a, |a| Value::Limited(a.time_limit, "Partition_Limit", "UNLIMITED"))),
    field("TotalCPU", 10, |a| Value::CpuMicros(a.user_cpu_micros + a.system_cpu_micros)),
    field("TRESUsageInAve", 14, |a| listed(&a.usage_in, |u| amount(u, u.average))),
    field("TRESUsageInMax", 14, |a| listed(&a.usage_in, |u| amount(u, u.max))),
    field("TRESUsageInMaxNode", 18, |a| listed(&a.usage_in, |u| u.max_node.clone())),
    field("TRESUsageInMaxTask", 18, |a| listed(&a.usage_in, |u| u.max_task.to_string())),
    field("TRESUsageInMin", 14, |a| listed(&a.usage_in, |u| amount(u, u.min))),
    field("TRESUsageInMinNode", 18, |a| listed(&a.usage_in, |u| u.min_node.clone())),
    field("TRESUsageInMinTask", 18, |a| listed(&a.usage_in, |u| u.min_task.to_string())),
    field("TRESUsageInTot", 14, |a| listed(&a.usage_in, |u| amount(u, u.total))),
    field("TRESUsageOutAve", 15, |a| listed(&a.usage_out, |u| amount(u, u.average))),
    field("TRESUsageOutMax", 15, |a| listed(&a.usage_out, |u| amount(u, u.max))),
    field("TRESUsageOutMaxNode", 19, |a| listed(&a.usage_out, |u| u.max_node.clone())),
    field("TRESUsageOutMaxTask", 19, |a| listed(&a.usage_out, |u| u.max_task.to_string())),
    field("TRESUsageOutMin", 15, |a| listed(&a.usage_out, |u| amount(u, u.min))),
    field("TRESUsageOutMinNode", 19, |a| listed(&a.usage_out, |u| u.min_node.clone())),
    field("TRESUsageOutMinTask", 19, |a| listed(&a.usage_out, |u| u.min_task.to_string())),
    field("TRESUsageOutTot", 15, |a| listed(&a.usage_out, |u| amount(u, u.total))),
    field("UID", 6, |a| of_job(a, |a| number(a.uid))),
    field("User", 9, |a| of_job(a, |a| text(&a.user_name))),
    field("UserCPU", 10, |a| Value::CpuMicros(a.user_cpu_micros)),
    field("WCKey", 10, |a| of_job(a, |a| text(&a.wckey))),
    field("WCKeyID", 10, |a| of_job(a, |a| number(a.wckey_id))),
    field("WorkDir", 20, |a| of_job(a, |a| text(&a.work_dir))),
];

const fn json(json: &'static str, get: fn(&AccountingView) -> Value) -> Field<AccountingView> {
    Field::json_only(json, get)
}

/// Every member of a job in `sacct --json` and `GET /slurmdb/v0.0.42/jobs`.
#[rustfmt::skip]
pub static JOB_JSON: &[Field<AccountingView>] = &[
    json("account", |a| text(&a.account)),
    json("comment.administrator", |a| text(&a.admin_comment)),
    json("comment.job", |a| text(&a.comment)),
    json("comment.system", |a| text(&a.system_comment)),
    json("allocation_nodes", |a| number(a.node_count)),
    json("array.job_id", |a| number(a.array_job_id)),
    json("array.limits.max.running.tasks", |a| number(a.array_max_tasks)),
    json("array.task_id", |a| maybe(a.array_task_id, "")),
    json("array.task", |a| text(&a.array_task_string)),
    json("association.account", |a| text(&a.account)),
    json("association.cluster", |a| text(&a.cluster)),
    json("association.partition", |_| text("")),
    json("association.user", |a| text(&a.user_name)),
    json("association.id", |a| number(a.association_id)),
    json("block", |_| text("")),
    json("cluster", |a| text(&a.cluster)),
    json("constraints", |a| text(&a.constraints)),
    json("container", |a| text(&a.container)),
    json("derived_exit_code", |a| Value::ExitStatus(a.derived_exit_status)),
    json("time.elapsed", |a| Value::ElapsedSecs(elapsed(a))),
    json("time.eligible", |a| Value::Integer(a.eligible_time)),
    json("time.end", |a| Value::Integer(a.end_time)),
    json("time.planned", |a| counted(planned(a).counted.max(0) as u64)),
    json("time.start", |a| Value::Integer(a.start_time)),
    json("time.submission", |a| Value::Integer(a.submit_time)),
    json("time.suspended", |a| Value::Integer(a.suspended_secs)),
    json("time.system", |a| Value::CpuMicros(a.system_cpu_micros)),
    json("time.limit", |a| Value::Limited(a.time_limit, "", "")),
    json("time.total", |a| Value::CpuMicros(a.user_cpu_micros + a.system_cpu_micros)),
    json("time.user", |a| Value::CpuMicros(a.user_cpu_micros)),
    json("exit_code", |a| Value::ExitStatus(a.exit_status)),
    json("extra", |a| text(&a.extra)),
    json("failed_node", |a| text(&a.failed_node)),
    json("flags", |a| list(&a.flags)),
    json("group", |a| text(&a.group_name)),
    json("het.job_id", |a| number(a.het_job_id)),
    json("het.job_offset", |a| maybe((a.het_job_id > 0).then_some(a.het_job_offset), "")),
    json("job_id", |a| number(a.job_id)),
    json("name", |a| text(&a.name)),
    json("licenses", |a| text(&a.licenses)),
    json("mcs.label", |a| text(&a.mcs_label)),
    json("nodes", |a| or(&a.nodes, "None assigned")),
    json("partition", |a| text(&a.partition)),
    json("hold", |a| Value::Bit(a.priority == 0)),
    json("priority", |a| counted(a.priority)),
    json("qos", |a| text(&a.qos)),
    json("qosreq", |a| text(&a.qos_requested)),
    json("required.CPUs", |a| number(a.cpus_requested)),
    json("required.memory_per_cpu", |a| maybe(a.memory_per_cpu_mb, "")),
    json("required.memory_per_node", |a| maybe(a.memory_per_node_mb, "")),
    json("kill_request_user", |a| Value::Text(a.cancelled_by.map(|uid| uid.to_string()).unwrap_or_default())),
    json("restart_cnt", |a| number(a.restarts)),
    json("reservation.id", |a| number(a.reservation_id)),
    json("reservation.name", |a| text(&a.reservation)),
    json("script", |_| text("")),
    json("stdin_expanded", |a| text(&a.standard_input)),
    json("stdout_expanded", |a| text(&a.standard_output)),
    json("stderr_expanded", |a| text(&a.standard_error)),
    json("stdout", |a| text(&a.standard_output)),
    json("stderr", |a| text(&a.standard_error)),
    json("stdin", |a| text(&a.standard_input)),
    json("state.current", |a| Value::JobState(JobStatus(a.state))),
    json("state.reason", |a| Value::Text(Reason::word(a.reason))),
    json("steps", |a| Value::Json(Json::Array(a.steps.iter().map(|step| render::json(STEP_JSON, step)).collect()))),
    json("submit_line", |a| text(&a.submit_line)),
    json("tres.allocated", |a| Value::Json(tres_list(&a.tres_allocated))),
    json("tres.requested", |a| Value::Json(tres_list(&a.tres_requested))),
    json("used_gres", |_| text("")),
    json("user", |a| text(&a.user_name)),
    json("wckey.wckey", |a| text(&a.wckey)),
    json("wckey.flags", |_| Value::Json(json!([]))),
    json("working_directory", |a| text(&a.work_dir)),
];

/// Every member of a step in the same place.
#[rustfmt::skip]
pub static STEP_JSON: &[Field<AccountingView>] = &[
    json("time.elapsed", |a| Value::ElapsedSecs(elapsed(a))),
    json("time.end", |a| moment(a.end_time)),
    json("time.start", |a| moment(a.start_time)),
    json("time.suspended", |a| Value::Integer(a.suspended_secs)),
    json("time.system", |a| Value::CpuMicros(a.system_cpu_micros)),
    json("time.total", |a| Value::CpuMicros(a.user_cpu_micros + a.system_cpu_micros)),
    json("time.user", |a| Value::CpuMicros(a.user_cpu_micros)),
    json("exit_code", |a| Value::ExitStatus(a.exit_status)),
    json("nodes.count", |a| number(a.node_count)),
    json("nodes.range", |a| text(&a.nodes)),
    json("nodes.list", |a| Value::Json(json!(crate::hostlist::expand(&a.nodes).unwrap_or_default()))),
    json("tasks.count", |a| number(a.tasks)),
    json("pid", |a| text(&a.pids)),
    json("CPU.requested_frequency.min", |a| counted(a.requested_cpu_frequency_min.parse().unwrap_or(0u32))),
    json("CPU.requested_frequency.max", |a| counted(a.requested_cpu_frequency_max.parse().unwrap_or(0u32))),
    json("CPU.governor", |a| Value::Text(if a.requested_cpu_frequency_governor.is_empty() { "0".into() } else { a.requested_cpu_frequency_governor.clone() })),
    json("kill_request_user", |a| Value::Text(a.cancelled_by.map(|uid| uid.to_string()).unwrap_or_default())),
    json("state", |a| Value::JobState(JobStatus(a.state))),
    json("statistics.CPU.actual_frequency", |a| number(a.cpu_frequency_khz)),
    json("statistics.energy.consumed", |a| counted(a.consumed_energy_joules.unwrap_or(0))),
    json("step.id", |a| Value::Text(raw_id(a))),
    json("step.name", |a| text(&a.name)),
    json("task.distribution", |a| Value::Text(if a.layout.is_empty() { "Unknown".into() } else { a.layout.clone() })),
    json("tres.requested", |a| Value::Json(usage_json(&a.usage_in))),
    json("tres.consumed", |a| Value::Json(usage_json(&a.usage_out))),
    json("tres.allocated", |a| Value::Json(tres_list(&a.tres_allocated))),
];

/// The id as sacct shows it: `5`, `5.batch`, `9_1.0`, `9_[3-6%2]`, `27+1`.
pub fn shown_id(row: &AccountingView) -> String {
    let job = match row {
        AccountingView { array_job_id: 1.., array_task_id: Some(task), .. } => {
            format!("{}_{task}", row.array_job_id)
        }
        AccountingView { array_job_id: 1.., .. } if !row.array_task_string.is_empty() => {
            format!("{}_[{}]", row.array_job_id, row.array_task_string)
        }
        AccountingView { het_job_id: 1.., .. } => {
            format!("{}+{}", row.het_job_id, row.het_job_offset)
        }
        _ => row.job_id.to_string(),
    };
    with_step(job, row)
}

/// The id by the job's own number.
fn raw_id(row: &AccountingView) -> String {
    with_step(row.job_id.to_string(), row)
}

fn with_step(job: String, row: &AccountingView) -> String {
    if row.step_id.is_empty() { job } else { format!("{job}.{}", row.step_id) }
}

fn is_step(row: &AccountingView) -> bool {
    !row.step_id.is_empty()
}

/// Columns that only jobs have are empty on the lines of steps, and the other way round.
fn of_job(row: &AccountingView, get: fn(&AccountingView) -> Value) -> Value {
    if is_step(row) { text("") } else { get(row) }
}

fn of_step(row: &AccountingView, get: fn(&AccountingView) -> Value) -> Value {
    if is_step(row) { get(row) } else { text("") }
}

/// Scripts ask for no frequency; what else does not say has asked for one that nobody knows.
fn frequency_asked(row: &AccountingView, said: &str) -> Value {
    let of_script = matches!(row.step_id.as_str(), "batch" | "extern");
    if said.is_empty() { text(if of_script { "0" } else { "Unknown" }) } else { text(said) }
}

fn moment(secs: i64) -> Value {
    Value::Moment(secs, "Unknown")
}

fn state(row: &AccountingView) -> String {
    let status = JobStatus(row.state);
    match row.cancelled_by {
        Some(uid) if status.base() == JobState::Cancelled => {
            format!("{} by {uid}", status.base())
        }
        _ => status.name().into(),
    }
}

/// How long it ran, pauses left out.
fn elapsed(row: &AccountingView) -> Elapsed {
    let running = JobStatus(row.state).base().is_started() && row.end_time == 0;
    match row.start_time {
        0 => Elapsed::default(),
        start if running => Elapsed { counted: -row.suspended_secs, since: Some(start) },
        start => {
            Elapsed { counted: (row.end_time - start - row.suspended_secs).max(0), since: None }
        }
    }
}

/// How long it waited from the moment it could have started.
fn planned(row: &AccountingView) -> Elapsed {
    match (row.eligible_time, row.start_time) {
        (0, _) => Elapsed::default(),
        (eligible, 0) if row.end_time == 0 => Elapsed { counted: 0, since: Some(eligible) },
        (eligible, 0) => Elapsed { counted: (row.end_time - eligible).max(0), since: None },
        (eligible, start) => Elapsed { counted: (start - eligible).max(0), since: None },
    }
}

fn requested_mb(row: &AccountingView) -> u64 {
    match (row.memory_per_cpu_mb, row.memory_per_node_mb) {
        (Some(megabytes), _) => megabytes.saturating_mul(row.cpus_requested.into()),
        (None, Some(megabytes)) => megabytes.saturating_mul(row.nodes_requested.max(1).into()),
        (None, None) => 0,
    }
}

fn time_limit(row: &AccountingView) -> Value {
    match row.time_limit {
        None => text("Partition_Limit"),
        Some(Limit::Unlimited) => text("UNLIMITED"),
        Some(Limit::Is(minutes)) => {
            Value::PaddedSpan(i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX))
        }
    }
}

fn frequency(row: &AccountingView) -> Value {
    match row.cpu_frequency_khz {
        0 => number(0u32),
        khz @ ..1000 => number(khz),
        khz @ ..1_000_000 => Value::Text(format!("{}K", khz / 1000)),
        khz => Value::Text(format!("{}M", khz / 1_000_000)),
    }
}

fn used(row: &AccountingView, name: &str, get: fn(&TresUsage) -> Value) -> Value {
    row.usage_in.iter().find(|usage| usage.name == name).map_or_else(|| text(""), get)
}

fn put_out(row: &AccountingView, get: fn(&TresUsage) -> Value) -> Value {
    row.usage_out.iter().find(|usage| usage.name == "fs/disk").map_or_else(|| text(""), get)
}

/// Processor time is kept in milliseconds and shown in whole seconds.
fn seconds(millis: u64) -> Value {
    Value::PaddedSpan((millis / 1000) as i64)
}

/// `cpu=00:00:00,mem=13608K`: one value a resource.
fn listed(usages: &[TresUsage], get: fn(&TresUsage) -> String) -> Value {
    let parts = usages.iter().map(|usage| format!("{}={}", usage.name, get(usage)));
    Value::Text(parts.collect::<Vec<_>>().join(","))
}

fn amount(usage: &TresUsage, amount: u64) -> String {
    let value = match usage.name.as_str() {
        "cpu" => seconds(amount),
        "mem" | "vmem" | "gres/gpumem" => Value::Bytes(amount),
        _ => number(amount),
    };
    value.text(&render::RenderContext::default()).unwrap_or_default()
}

fn usage_json(usages: &[TresUsage]) -> Json {
    let entry = |usage: &TresUsage, count: u64| {
        let mut entry = tres_list(&format!("{}=0", usage.name))[0].clone();
        entry["count"] = json!(count);
        entry
    };
    let placed = |usage: &TresUsage, count: u64, node: &str, task: u32| {
        let mut entry = entry(usage, count);
        entry["task"] = json!(task);
        entry["node"] = json!(node);
        entry
    };
    json!({
        "max": usages.iter().map(|u| placed(u, u.max, &u.max_node, u.max_task)).collect::<Vec<_>>(),
        "min": usages.iter().map(|u| placed(u, u.min, &u.min_node, u.min_task)).collect::<Vec<_>>(),
        "average": usages.iter().map(|u| entry(u, u.average)).collect::<Vec<_>>(),
        "total": usages.iter().map(|u| entry(u, u.total)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
