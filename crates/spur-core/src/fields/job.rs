//! The columns of jobs: `squeue`, `--json`, `GET /slurm/v0.0.42/jobs`.

use serde_json::{Value as Json, json};

use super::short::*;
use super::value::{Elapsed, Value};
use super::{Field, Fit};
use crate::job::{JobState, JobStatus, Reason};
use crate::limit::Limit;
use crate::views::JobView;
use crate::views::job::JobNodeShare;

/// `squeue` without a format.
pub const DEFAULT: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
/// `squeue -l`
pub const LONG: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
/// `squeue --start`
pub const START: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

const fn field(
    name: &'static str,
    header: &'static str,
    get: fn(&JobView) -> Value,
) -> Field<JobView> {
    Field::new(name, header, get)
}

const fn only_json(json: &'static str, get: fn(&JobView) -> Value) -> Field<JobView> {
    Field::json_only(json, get)
}

/// Every column and every member of the JSON object.
#[rustfmt::skip]
pub static JOB_FIELDS: &[Field<JobView>] = &[
    field("Account", "ACCOUNT", |j| nullable(&j.account)).letter('a').json("account").outline(),
    field("AccrueTime", "ACCRUE_TIME", |j| moment(j.accrue_time)).json("accrue_time"),
    field("admin_comment", "ADMIN_COMMENT", |j| nullable(&j.admin_comment)).json("admin_comment"),
    field("AllocNodes", "ALLOC_NODES", |j| nullable(&j.alloc_node)).json("allocating_node"),
    field("AllocSID", "ALLOC_SID", |j| number(j.alloc_sid)),
    field("ArrayJobID", "ARRAY_JOB_ID", |j| Value::both(number(base_id(j)), counted(j.array_job_id))).letter('F').json("array_job_id").outline(),
    field("ArrayTaskID", "ARRAY_TASK_ID", array_task).letter('K').json("array_task_id").outline(),
    only_json("array_max_tasks", |j| counted(j.array_max_tasks)),
    only_json("array_task_string", |j| text(&j.array_task_string)),
    field("AssocID", "ASSOC_ID", |j| number(j.association_id)).json("association_id"),
    only_json("batch_features", |j| text(&j.batch_features)),
    field("BatchFlag", "BATCH_FLAG", |j| Value::Bit(j.batch_flag)).json("batch_flag"),
    field("BatchHost", "EXEC_HOST", |j| or(&j.batch_host, "n/a")).letter('B').json("batch_host"),
    only_json("flags", |j| list(&j.flags)),
    field("BoardsPerNode", "BOARDS_PER_NODE", |j| number(j.boards_per_node)),
    field("BurstBuffer", "BURST_BUFFER", |j| nullable(&j.burst_buffer)).json("burst_buffer"),
    field("BurstBufferState", "BURST_BUFFER_STATE", |j| nullable(&j.burst_buffer_state)).json("burst_buffer_state"),
    field("Cluster", "CLUSTER", |j| nullable(&j.cluster)).json("cluster"),
    field("ClusterFeature", "CLUSTER_FEATURES", |j| nullable(&j.cluster_features)).json("cluster_features"),
    field("Command", "COMMAND", |j| nullable(&j.command)).letter('o').json("command"),
    field("Comment", "COMMENT", |j| nullable(&j.comment)).letter('k').json("comment"),
    field("Container", "CONTAINER", |j| nullable(&j.container)).json("container"),
    field("ContainerID", "CONTAINERID", |j| nullable(&j.container_id)).json("container_id"),
    field("Contiguous", "CONTIGUOUS", |j| Value::Bit(j.contiguous)).letter('O').json("contiguous"),
    field("CoreSpec", "CORE_SPEC", |j| Value::both(maybe(j.core_spec, "N/A"), number(j.core_spec.unwrap_or(0)))).letter('X').json("core_spec"),
    only_json("thread_spec", |j| number(j.thread_spec.unwrap_or(32_766))),
    field("Cores", "CORES_PER_SOCKET", |j| maybe(j.cores_per_socket, "*")).letter('I').json("cores_per_socket"),
    only_json("billable_tres", |j| Value::Json(json!({"set": j.billable_tres_milli.is_some(), "infinite": false, "number": j.billable_tres_milli.unwrap_or(0) as f64 / 1000.0}))),
    field("cpus-per-task", "CPUS_PER_TASK", |j| Value::both(Value::Text(j.cpus_per_task.unwrap_or(1).to_string()), maybe(j.cpus_per_task, ""))).json("cpus_per_task"),
    field("CPUsPerTask", "CPUS_PER_TASK", |j| number(j.cpus_per_task.unwrap_or(1))),
    only_json("cpu_frequency_minimum", |j| maybe(j.cpu_frequency_min, "")),
    only_json("cpu_frequency_maximum", |j| maybe(j.cpu_frequency_max, "")),
    only_json("cpu_frequency_governor", |j| maybe(j.cpu_frequency_governor, "")),
    field("cpus-per-tres", "CPUS_PER_TRES", |j| tres_request(&j.cpus_per_tres)).json("cpus_per_tres"),
    field("CronJob", "CRON_JOB", |j| Value::both(Value::Either(!j.cron.is_empty(), "Yes", "No"), text(&j.cron))).json("cron"),
    field("Deadline", "DEADLINE", |j| moment(j.deadline)).json("deadline"),
    field("DelayBoot", "DELAY_BOOT", |j| Value::both(Value::Span(j.delay_boot_secs.into()), counted(j.delay_boot_secs))).json("delay_boot"),
    field("Dependency", "DEPENDENCY", |j| nullable(&j.dependency)).letter('E').json("dependency"),
    field("DerivedEC", "DERIVED_EC", |j| Value::both(number(j.derived_exit_status >> 8), Value::ExitStatus(j.derived_exit_status))).json("derived_exit_code"),
    field("EligibleTime", "ELIGIBLE_TIME", |j| moment(j.eligible_time)).json("eligible_time"),
    field("EndTime", "END_TIME", |j| moment(j.end_time)).letter('e').json("end_time").outline(),
    field("ExcNodes", "EXC_NODES", |j| text(&j.excluded_nodes).whole()).letter('x').json("excluded_nodes"),
    field("exit_code", "EXIT_CODE", |j| Value::both(number(j.exit_status >> 8), Value::ExitStatus(j.exit_status))).json("exit_code"),
    only_json("extra", |j| text(&j.extra)),
    only_json("failed_node", |j| text(&j.failed_node)),
    field("Feature", "FEATURES", |j| nullable(&j.features)).letter('f').json("features"),
    only_json("gres_detail", |j| list(&j.gres_detail)),
    field("GroupID", "GROUP", |j| number(j.gid)).letter('G').json("group_id"),
    field("GroupName", "GROUP", |j| text(&j.group_name)).letter('g').json("group_name"),
    field("HetJobID", "HET_JOB_ID", |j| Value::both(het(j, j.het_job_id), counted(j.het_job_id))).json("het_job_id"),
    field("HetJobIDSet", "HET_JOB_ID_SET", |j| or(&j.het_job_id_set, "N/A")).json("het_job_id_set"),
    field("HetJobOffset", "HET_JOB_OFFSET", |j| Value::both(het(j, j.het_job_offset), counted(j.het_job_offset))).json("het_job_offset"),
    field("PackJobID", "HET_JOB_ID", |j| het(j, j.het_job_id)),
    field("PackJobIDSet", "HET_JOB_ID_SET", |j| or(&j.het_job_id_set, "N/A")),
    field("PackJobOffset", "HET_JOB_OFFSET", |j| het(j, j.het_job_offset)),
    field("JobArrayID", "JOBID", |j| Value::Text(shown_id(j))).letter('i').outline(),
    field("JobID", "JOBID", |j| number(j.job_id)).letter('A').json("job_id").outline(),
    only_json("job_resources", |j| Value::Json(resources(j))),
    only_json("job_size_str", |_| Value::Json(json!([]))),
    field("LastSchedEval", "LAST_SCHED_EVAL", |j| moment(j.last_sched_eval)).json("last_sched_evaluation"),
    field("Licenses", "LICENSES", |j| nullable(&j.licenses)).letter('W').json("licenses"),
    field("LicensesAlloc", "LICENSES_ALLOC", |j| nullable(&j.licenses_allocated)),
    only_json("mail_type", |j| list(&j.mail_types)),
    only_json("mail_user", |j| text(&j.mail_user)),
    // Where no most is said, it is as many as are asked for; programs are told that none is said.
    field("MaxCPUs", "MAX_CPUS", |j| counted(j.max_cpus.max(j.num_cpus))),
    only_json("max_cpus", |j| counted(j.max_cpus)),
    field("MaxNodes", "MAX_NODES", |j| counted(j.max_nodes.max(j.num_nodes))),
    only_json("max_nodes", |j| counted(j.max_nodes)),
    field("MCSLabel", "MCSLABEL", |j| nullable(&j.mcs_label)).json("mcs_label"),
    field("mem-per-tres", "MEM_PER_TRES", |j| tres_request(&j.memory_per_tres)).json("memory_per_tres"),
    only_json("memory_per_cpu", |j| Value::Counted(j.memory_per_cpu_mb, "")),
    only_json("memory_per_node", |j| Value::Counted(j.memory_per_node_mb, "")),
    field("MinCPUs", "MIN_CPUS", |j| counted(j.min_cpus_per_node)).letter('c').json("minimum_cpus_per_node"),
    field("MinMemory", "MIN_MEMORY", |j| Value::Megabytes(j.memory_per_cpu_mb.or(j.memory_per_node_mb).unwrap_or(0))).letter('m'),
    field("MinTime", "TIME_MIN", |j| Value::Minutes(Some(j.time_min.unwrap_or_default()), "", "UNLIMITED")).json("time_minimum"),
    field("MinTmpDisk", "MIN_TMP_DISK", |j| Value::both(Value::Megabytes(j.min_tmp_disk_mb), Value::Counted(Some(j.min_tmp_disk_mb), ""))).letter('d').json("minimum_tmp_disk_per_node"),
    field("Name", "NAME", |j| text(&j.name)).letter('j').json("name").outline(),
    field("Network", "NETWORK", |j| nullable(&j.network)).json("network"),
    field("Nice", "NICE", |j| Value::Integer(j.nice.into())).letter('y').json("nice"),
    field("NodeList", "NODELIST", |j| text(&j.nodes).whole()).letter('N').json("nodes").fit(Fit::WholeHeader).outline(),
    field("NTPerBoard", "NTASKS_PER_BOARD", |j| counted(j.tasks_per_board)).json("tasks_per_board"),
    field("NTPerCore", "NTASKS_PER_CORE", |j| per_unit(j.tasks_per_core)).json("tasks_per_core"),
    field("NTPerNode", "NTASKS_PER_NODE", |j| counted(j.tasks_per_node)).json("tasks_per_node"),
    field("NTPerSocket", "NTASKS_PER_SOCKET", |j| per_unit(j.tasks_per_socket)).json("tasks_per_socket"),
    only_json("tasks_per_tres", |j| counted(j.tasks_per_tres)),
    field("NumCPUs", "CPUS", |j| counted(j.num_cpus)).letter('C').json("cpus").outline(),
    field("NumNodes", "NODES", |j| counted(j.num_nodes)).letter('D').json("node_count").outline(),
    field("NumTasks", "TASKS", |j| counted(j.num_tasks)).json("tasks"),
    field("Origin", "ORIGIN", |j| or(&j.federation_origin, "NA")).json("federation_origin"),
    field("OriginRaw", "ORIGIN_RAW", |j| or(&j.federation_origin, "NA")),
    field("OverSubscribe", "OVER_SUBSCRIBE", over_subscribe).letter('h').json("shared"),
    field("Shared", "OVER_SUBSCRIBE", over_subscribe),
    field("Partition", "PARTITION", |j| text(&j.partition)).letter('P').json("partition").outline(),
    field("PendingTime", "PENDING_TIME", |j| Value::ElapsedSecs(pending(j))),
    only_json("power.flags", |_| Value::Json(json!([]))),
    only_json("pre_sus_time", |j| moment(j.run_secs_before_suspend)),
    field("PreemptTime", "PREEMPT_TIME", |j| moment(j.preempt_time)).json("preempt_time"),
    only_json("preemptable_time", |j| moment(j.preemptable_time)),
    field("Prefer", "PREFER", |j| nullable(&j.prefer)).json("prefer"),
    only_json("hold", |j| Value::Bit(j.priority == 0)),
    field("Priority", "PRIORITY", |j| Value::Fraction(f64::from(j.priority) / f64::from(u32::MAX), 14)).letter('p').outline(),
    field("PriorityLong", "PRIORITY", |j| counted(j.priority)).letter('Q').json("priority").outline(),
    only_json("priority_by_partition", |_| Value::Json(json!([]))),
    field("Profile", "PROFILE", profile).json("profile"),
    field("QOS", "QOS", |j| nullable(&j.qos)).letter('q').json("qos").outline(),
    field("Reason", "REASON", |j| Value::both(Value::Text(reason(j)), Value::Text(Reason::word(j.reason)))).letter('r').json("state_reason").outline(),
    field("ReasonList", "NODELIST(REASON)", reason_or_nodes).letter('R').fit(Fit::WholeHeader).outline(),
    field("Reboot", "REBOOT", |j| Value::Bit(j.reboot)).json("reboot"),
    field("ReqNodes", "REQ_NODES", |j| text(&j.required_nodes).whole()).letter('n').json("required_nodes"),
    field("ReqSwitch", "REQ_SWITCH", |j| number(j.required_switches)).json("required_switches"),
    field("Requeue", "REQUEUE", |j| Value::Bit(j.requeue)).json("requeue"),
    field("Reservation", "RESERVATION", |j| nullable(&j.reservation)).letter('v').json("resv_name"),
    field("ResizeTime", "RESIZE_TIME", |j| moment(j.resize_time)).json("resize_time"),
    field("RestartCnt", "RESTART_COUNT", |j| number(j.restarts)).json("restart_cnt"),
    field("SchedNodes", "SCHEDNODES", |j| nullable(&j.scheduled_nodes).whole()).letter('Y').json("scheduled_nodes").fit(Fit::WholeHeader),
    field("SCT", "S:C:T", sockets_cores_threads).letter('z'),
    field("SegmentSize", "SEGMENT_SIZE", |j| number(j.segment_size)),
    only_json("selinux_context", |j| text(&j.selinux_context)),
    // Once the node selection plugin's own words; squeue still accepts the letter.
    field("", "", |_| Value::Text(String::new())).letter('s'),
    field("SiblingsActive", "ACTIVE_SIBLINGS", |j| or(&j.federation_siblings_active, "NA")).json("federation_siblings_active"),
    field("SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", |j| or(&j.federation_siblings_active, "NA")),
    field("SiblingsViable", "VIABLE_SIBLINGS", |j| or(&j.federation_siblings_viable, "NA")).json("federation_siblings_viable"),
    field("SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", |j| or(&j.federation_siblings_viable, "NA")),
    field("SLUID", "SLUID", |j| text(&j.sluid)),
    field("Sockets", "SOCKETS_PER_NODE", |j| maybe(j.sockets_per_node, "*")).letter('H').json("sockets_per_node"),
    field("SPerBoard", "SOCKETS_PER_BOARD", |j| number(j.sockets_per_board)).json("sockets_per_board"),
    field("StartTime", "START_TIME", |j| moment(j.start_time)).letter('S').json("start_time").outline(),
    field("State", "STATE", |j| Value::JobState(JobStatus(j.state))).letter('T').json("job_state").outline(),
    field("StateCompact", "ST", |j| Value::JobStateCompact(JobStatus(j.state))).letter('t').outline(),
    only_json("state_description", |j| text(&j.state_description)),
    field("StdErr", "STDERR", standard_error).json("standard_error"),
    field("StdIn", "STDIN", |j| text(&j.standard_input)).json("standard_input"),
    field("StdOut", "STDOUT", |j| text(&j.standard_output)).json("standard_output"),
    field("SubmitTime", "SUBMIT_TIME", |j| moment(j.submit_time)).letter('V').json("submit_time").outline(),
    only_json("suspend_time", |j| moment(j.suspend_time)),
    field("system_comment", "SYSTEM_COMMENT", |j| nullable(&j.system_comment)).json("system_comment"),
    field("Threads", "THREADS_PER_CORE", |j| maybe(j.threads_per_core, "*")).letter('J').json("threads_per_core"),
    field("TimeLeft", "TIME_LEFT", |j| Value::Left(j.time_limit, used(j)).whole()).letter('L').outline(),
    field("TimeLimit", "TIME_LIMIT", |j| Value::Minutes(j.time_limit, "NOT_SET", "UNLIMITED").whole()).letter('l').json("time_limit").outline(),
    field("TimeUsed", "TIME", |j| Value::Elapsed(used(j)).whole()).letter('M').outline(),
    field("Tres", "TRES_ALLOC", tres).json("tres_alloc_str"),
    field("tres-alloc", "TRES_ALLOC", tres),
    only_json("tres_req_str", |j| text(&j.tres_requested)),
    field("tres-bind", "TRES_BIND", |j| or(&j.tres_bind, "N/A")).json("tres_bind"),
    field("tres-freq", "TRES_FREQ", |j| or(&j.tres_freq, "N/A")).json("tres_freq"),
    field("tres-per-job", "TRES_PER_JOB", |j| tres_request(&j.tres_per_job)).json("tres_per_job"),
    field("tres-per-node", "TRES_PER_NODE", |j| tres_request(&j.tres_per_node)).letter('b').json("tres_per_node"),
    field("Gres", "TRES_PER_NODE", |j| tres_request(&j.tres_per_node)),
    field("tres-per-socket", "TRES_PER_SOCKET", |j| tres_request(&j.tres_per_socket)).json("tres_per_socket"),
    field("tres-per-task", "TRES_PER_TASK", |j| tres_request(&j.tres_per_task)).json("tres_per_task"),
    field("UserID", "UID", |j| number(j.uid)).letter('U').json("user_id").outline(),
    field("UserName", "USER", |j| text(&j.user_name)).letter('u').json("user_name").outline(),
    field("Wait4Switch", "WAIT4SWITCH", |j| Value::Span(j.switch_wait_secs.into())).json("maximum_switch_wait_time"),
    field("WCKey", "WCKEY", |j| nullable(&j.wckey)).letter('w').json("wckey"),
    field("WorkDir", "WORK_DIR", |j| text(&j.work_dir)).letter('Z').json("current_working_directory"),
];

/// The id as squeue shows it: `7`, `9_1`, `9_[3-6%2]`, `27+1`.
pub fn shown_id(job: &JobView) -> String {
    match job {
        JobView { array_job_id: 1.., array_task_id: Some(task), .. } => {
            format!("{}_{task}", job.array_job_id)
        }
        JobView { array_job_id: 1.., .. } if !job.array_task_string.is_empty() => {
            format!("{}_[{}]", job.array_job_id, job.array_task_string)
        }
        JobView { het_job_id: 1.., .. } => format!("{}+{}", job.het_job_id, job.het_job_offset),
        _ => job.job_id.to_string(),
    }
}

/// How long the job has run, pauses left out.
pub fn used(job: &JobView) -> Elapsed {
    let before = job.run_secs_before_suspend;
    let since = if job.suspend_time > 0 { job.suspend_time } else { job.start_time };
    match JobStatus(job.state).base() {
        JobState::Pending => Elapsed::default(),
        _ if since == 0 => Elapsed::default(),
        JobState::Suspended => Elapsed { counted: before, since: None },
        JobState::Running => Elapsed { counted: before, since: Some(since) },
        _ => Elapsed { counted: before + (job.end_time - since).max(0), since: None },
    }
}

/// How long the job waited or waits, from the moment it could have started.
fn pending(job: &JobView) -> Elapsed {
    let from = job.eligible_time.max(job.submit_time);
    match job.eligible_time {
        0 => Elapsed::default(),
        _ if JobStatus(job.state).base() == JobState::Pending => {
            Elapsed { counted: 0, since: Some(from) }
        }
        _ => Elapsed { counted: (job.start_time - from).max(0), since: None },
    }
}

/// The reason in words; what the controller found out in detail comes first.
fn reason(job: &JobView) -> String {
    if job.state_description.is_empty() {
        Reason::word(job.reason)
    } else {
        job.state_description.clone()
    }
}

/// Pending and failed jobs tell why, in parentheses; the others where.
fn reason_or_nodes(job: &JobView) -> Value {
    use JobState::*;
    match JobStatus(job.state).base() {
        Pending | Timeout | OutOfMemory | Deadline | Failed => {
            Value::Text(format!("({})", reason(job)))
        }
        _ => text(&job.nodes).whole(),
    }
}

fn base_id(job: &JobView) -> u32 {
    if job.array_job_id > 0 { job.array_job_id } else { job.job_id }
}

fn array_task(job: &JobView) -> Value {
    let shown = match job.array_task_id {
        Some(task) => Value::Number(task.into()),
        None => or(&job.array_task_string, "N/A"),
    };
    Value::both(shown, maybe(job.array_task_id, ""))
}

fn het(job: &JobView, number: u32) -> Value {
    Value::Counted((job.het_job_id > 0).then_some(number.into()), "N/A")
}

fn over_subscribe(job: &JobView) -> Value {
    let json = match job.over_subscribe.as_str() {
        "NO" => json!(["none"]),
        "YES" => json!(["oversubscribe"]),
        "USER" => json!(["user"]),
        "MCS" => json!(["mcs"]),
        _ => json!([]),
    };
    Value::both(or(&job.over_subscribe, "OK"), Value::Json(json))
}

fn profile(job: &JobView) -> Value {
    let json = if job.profile.is_empty() { json!(["NOT_SET"]) } else { json!(job.profile) };
    Value::both(Value::List(job.profile.clone(), "NotSet"), Value::Json(json))
}

fn sockets_cores_threads(job: &JobView) -> Value {
    let word = |number: Option<u32>| number.map_or_else(|| "*".to_string(), |n| n.to_string());
    let (sockets, cores) = (word(job.sockets_per_node), word(job.cores_per_socket));
    Value::Text(format!("{sockets}:{cores}:{}", word(job.threads_per_core)))
}

/// Errors go where the output goes unless somebody said otherwise.
fn standard_error(job: &JobView) -> Value {
    let shown =
        if job.standard_error.is_empty() { &job.standard_output } else { &job.standard_error };
    Value::both(text(shown), text(&job.standard_error))
}

/// What is allocated, or for a pending job what it asks for.
fn tres(job: &JobView) -> Value {
    let shown =
        if job.tres_allocated.is_empty() { &job.tres_requested } else { &job.tres_allocated };
    Value::both(or(shown, "N/A"), text(&job.tres_allocated))
}

/// A request like `gres/gpu:4`; squeue writes `gres:gpu:4`.
fn tres_request(request: &str) -> Value {
    Value::both(or(&request.replace("gres/", "gres:"), "N/A"), text(request))
}

/// The `job_resources` object: which cores of which socket on each node.
fn resources(job: &JobView) -> Json {
    if job.resources.is_empty() {
        return Json::Null;
    }
    let nodes: Vec<Json> =
        job.resources.iter().enumerate().map(|(index, share)| node_share(index, share)).collect();
    json!({
        "select_type": ["CORE", "MEMORY"],
        "nodes": {
            "count": job.resources.len(),
            "select_type": ["AVAILABLE"],
            "list": job.nodes,
            "whole": false,
            "allocation": nodes,
        },
        "cpus": job.num_cpus,
        "threads_per_core": maybe(job.threads_per_core, "").json(),
    })
}

fn node_share(index: usize, share: &JobNodeShare) -> Json {
    let cores_per_socket = share.cores_per_socket.max(1);
    let sockets = (0..share.sockets).map(|socket| {
        let cores = (0..cores_per_socket).map(|core| {
            let taken = share.cores.contains(&(socket * cores_per_socket + core));
            let word = if taken { "ALLOCATED" } else { "UNALLOCATED" };
            json!({ "index": core, "status": [word] })
        });
        json!({ "index": socket, "cores": cores.collect::<Vec<_>>() })
    });
    json!({
        "index": index,
        "name": share.name,
        "cpus": { "count": share.cpus, "used": 0 },
        "memory": { "used": 0, "allocated": share.memory_mb },
        "sockets": sockets.collect::<Vec<_>>(),
    })
}

/// A count per core or socket; unset is no limit in JSON.
fn per_unit(number: Option<u32>) -> Value {
    let limit = number.map_or(Limit::Unlimited, |number| Limit::Is(number.into()));
    Value::Limited(Some(limit), "N/A", "N/A")
}

fn moment(secs: i64) -> Value {
    Value::Moment(secs, "N/A")
}

#[cfg(test)]
mod tests;
