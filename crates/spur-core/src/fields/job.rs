//! The columns of jobs: `squeue`, `--json`, `GET /slurm/v0.0.42/jobs`.

use serde_json::{Value as Json, json};

use super::short::*;
use super::value::{Elapsed, Value};
use super::{Field, Fit};
use crate::filename;
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
    reads: &'static str,
    get: fn(&JobView) -> Value,
) -> Field<JobView> {
    Field::new(name, header, get).reads(reads)
}

const fn only_json(
    json: &'static str,
    reads: &'static str,
    get: fn(&JobView) -> Value,
) -> Field<JobView> {
    Field::json_only(json, get).reads(reads)
}

/// Every column and every member of the JSON object, with the members of the view that tell it.
#[rustfmt::skip]
pub static JOB_FIELDS: &[Field<JobView>] = &[
    field("Account", "ACCOUNT", "account", |j| nullable(&j.account)).letter('a').json("account"),
    field("AccrueTime", "ACCRUE_TIME", "accrue_time", |j| moment(j.accrue_time)).json("accrue_time"),
    field("admin_comment", "ADMIN_COMMENT", "admin_comment", |j| nullable(&j.admin_comment)).json("admin_comment"),
    field("AllocNodes", "ALLOC_NODES", "alloc_node", |j| nullable(&j.alloc_node)).json("allocating_node"),
    field("AllocSID", "ALLOC_SID", "alloc_sid", |j| number(j.alloc_sid)),
    field("ArrayJobID", "ARRAY_JOB_ID", "array_job_id job_id", |j| Value::both(number(base_id(j)), counted(j.array_job_id))).letter('F').json("array_job_id"),
    field("ArrayTaskID", "ARRAY_TASK_ID", "array_task_id array_task_string", array_task).letter('K').json("array_task_id"),
    only_json("array_max_tasks", "array_max_tasks", |j| counted(j.array_max_tasks)),
    only_json("array_task_string", "array_task_string", |j| text(&j.array_task_string)),
    field("AssocID", "ASSOC_ID", "association_id", |j| number(j.association_id)).json("association_id"),
    only_json("batch_features", "batch_features", |j| text(&j.batch_features)),
    field("BatchFlag", "BATCH_FLAG", "batch_flag", |j| Value::Bit(j.batch_flag)).json("batch_flag"),
    field("BatchHost", "EXEC_HOST", "batch_host", |j| or(&j.batch_host, "n/a")).letter('B').json("batch_host"),
    only_json("flags", "flags", |j| list(&j.flags)),
    field("BoardsPerNode", "BOARDS_PER_NODE", "boards_per_node", |j| number(j.boards_per_node)),
    field("BurstBuffer", "BURST_BUFFER", "burst_buffer", |j| nullable(&j.burst_buffer)).json("burst_buffer"),
    field("BurstBufferState", "BURST_BUFFER_STATE", "burst_buffer_state", |j| nullable(&j.burst_buffer_state)).json("burst_buffer_state"),
    field("Cluster", "CLUSTER", "cluster", |j| nullable(&j.cluster)).json("cluster"),
    field("ClusterFeature", "CLUSTER_FEATURES", "cluster_features", |j| nullable(&j.cluster_features)).json("cluster_features"),
    field("Command", "COMMAND", "command", |j| nullable(&j.command)).letter('o').json("command"),
    field("Comment", "COMMENT", "comment", |j| nullable(&j.comment)).letter('k').json("comment"),
    field("Container", "CONTAINER", "container", |j| nullable(&j.container)).json("container"),
    field("ContainerID", "CONTAINERID", "container_id", |j| nullable(&j.container_id)).json("container_id"),
    field("Contiguous", "CONTIGUOUS", "contiguous", |j| Value::Bit(j.contiguous)).letter('O').json("contiguous"),
    field("CoreSpec", "CORE_SPEC", "core_spec", |j| Value::both(maybe(j.core_spec, "N/A"), number(j.core_spec.unwrap_or(0)))).letter('X').json("core_spec"),
    only_json("thread_spec", "thread_spec", |j| number(j.thread_spec.unwrap_or(32_766))),
    field("Cores", "CORES_PER_SOCKET", "cores_per_socket", |j| maybe(j.cores_per_socket, "*")).letter('I').json("cores_per_socket"),
    only_json("billable_tres", "billable_tres_milli", |j| Value::Json(json!({"set": j.billable_tres_milli.is_some(), "infinite": false, "number": j.billable_tres_milli.unwrap_or(0) as f64 / 1000.0}))),
    field("cpus-per-task", "CPUS_PER_TASK", "cpus_per_task", |j| Value::both(Value::Text(j.cpus_per_task.unwrap_or(1).to_string()), maybe(j.cpus_per_task, ""))).json("cpus_per_task"),
    field("CPUsPerTask", "CPUS_PER_TASK", "cpus_per_task", |j| number(j.cpus_per_task.unwrap_or(1))),
    only_json("cpu_frequency_minimum", "cpu_frequency_min", |j| maybe(j.cpu_frequency_min, "")),
    only_json("cpu_frequency_maximum", "cpu_frequency_max", |j| maybe(j.cpu_frequency_max, "")),
    only_json("cpu_frequency_governor", "cpu_frequency_governor", |j| maybe(j.cpu_frequency_governor, "")),
    field("cpus-per-tres", "CPUS_PER_TRES", "cpus_per_tres", |j| tres_request(&j.cpus_per_tres)).json("cpus_per_tres"),
    field("CronJob", "CRON_JOB", "cron", |j| Value::both(Value::Either(!j.cron.is_empty(), "Yes", "No"), text(&j.cron))).json("cron"),
    field("Deadline", "DEADLINE", "deadline", |j| moment(j.deadline)).json("deadline"),
    field("DelayBoot", "DELAY_BOOT", "delay_boot_secs", |j| Value::both(Value::Span(j.delay_boot_secs.into()), counted(j.delay_boot_secs))).json("delay_boot"),
    field("Dependency", "DEPENDENCY", "dependency", |j| nullable(&j.dependency)).letter('E').json("dependency"),
    field("DerivedEC", "DERIVED_EC", "derived_exit_status", |j| Value::both(number(j.derived_exit_status >> 8), Value::ExitStatus(j.derived_exit_status))).json("derived_exit_code"),
    field("EligibleTime", "ELIGIBLE_TIME", "eligible_time", |j| moment(j.eligible_time)).json("eligible_time"),
    field("EndTime", "END_TIME", "end_time", |j| moment(j.end_time)).letter('e').json("end_time"),
    field("ExcNodes", "EXC_NODES", "excluded_nodes", |j| text(&j.excluded_nodes).whole()).letter('x').json("excluded_nodes"),
    field("exit_code", "EXIT_CODE", "exit_status", |j| Value::both(number(j.exit_status >> 8), Value::ExitStatus(j.exit_status))).json("exit_code"),
    only_json("extra", "extra", |j| text(&j.extra)),
    only_json("failed_node", "failed_node", |j| text(&j.failed_node)),
    field("Feature", "FEATURES", "features", |j| nullable(&j.features)).letter('f').json("features"),
    only_json("gres_detail", "gres_detail", |j| list(&j.gres_detail)),
    field("GroupID", "GROUP", "gid", |j| number(j.gid)).letter('G').json("group_id"),
    field("GroupName", "GROUP", "group_name", |j| text(&j.group_name)).letter('g').json("group_name"),
    field("HetJobID", "HET_JOB_ID", "het_job_id", |j| Value::both(het(j, j.het_job_id), counted(j.het_job_id))).json("het_job_id"),
    field("HetJobIDSet", "HET_JOB_ID_SET", "het_job_id_set", |j| or(&j.het_job_id_set, "N/A")).json("het_job_id_set"),
    field("HetJobOffset", "HET_JOB_OFFSET", "het_job_offset het_job_id", |j| Value::both(het(j, j.het_job_offset), counted(j.het_job_offset))).json("het_job_offset"),
    field("PackJobID", "HET_JOB_ID", "het_job_id", |j| het(j, j.het_job_id)),
    field("PackJobIDSet", "HET_JOB_ID_SET", "het_job_id_set", |j| or(&j.het_job_id_set, "N/A")),
    field("PackJobOffset", "HET_JOB_OFFSET", "het_job_offset het_job_id", |j| het(j, j.het_job_offset)),
    field("JobArrayID", "JOBID", "job_id array_job_id array_task_id array_task_string het_job_id het_job_offset", |j| Value::Text(shown_id(j))).letter('i'),
    field("JobID", "JOBID", "job_id", |j| number(j.job_id)).letter('A').json("job_id"),
    only_json("job_resources", "resources nodes num_cpus threads_per_core", |j| Value::Json(resources(j))),
    only_json("job_size_str", "", |_| Value::Json(json!([]))),
    field("LastSchedEval", "LAST_SCHED_EVAL", "last_sched_eval", |j| moment(j.last_sched_eval)).json("last_sched_evaluation"),
    field("Licenses", "LICENSES", "licenses", |j| nullable(&j.licenses)).letter('W').json("licenses"),
    field("LicensesAlloc", "LICENSES_ALLOC", "licenses_allocated", |j| nullable(&j.licenses_allocated)),
    only_json("mail_type", "mail_types", |j| list(&j.mail_types)),
    only_json("mail_user", "mail_user", |j| text(&j.mail_user)),
    field("MaxCPUs", "MAX_CPUS", "max_cpus num_cpus", |j| Value::both(number(if j.max_cpus > 0 { j.max_cpus } else { j.num_cpus }), counted(j.max_cpus))).json("max_cpus"),
    field("MaxNodes", "MAX_NODES", "max_nodes num_nodes", |j| Value::both(number(if j.max_nodes > 0 { j.max_nodes } else { j.num_nodes }), counted(j.max_nodes))).json("max_nodes"),
    field("MCSLabel", "MCSLABEL", "mcs_label", |j| nullable(&j.mcs_label)).json("mcs_label"),
    field("mem-per-tres", "MEM_PER_TRES", "memory_per_tres", |j| tres_request(&j.memory_per_tres)).json("memory_per_tres"),
    only_json("memory_per_cpu", "memory_per_cpu_mb", |j| Value::Counted(j.memory_per_cpu_mb, "")),
    only_json("memory_per_node", "memory_per_node_mb", |j| Value::Counted(j.memory_per_node_mb, "")),
    field("MinCPUs", "MIN_CPUS", "min_cpus_per_node", |j| counted(j.min_cpus_per_node)).letter('c').json("minimum_cpus_per_node"),
    field("MinMemory", "MIN_MEMORY", "memory_per_cpu_mb memory_per_node_mb", |j| Value::Megabytes(j.memory_per_cpu_mb.or(j.memory_per_node_mb).unwrap_or(0))).letter('m'),
    field("MinTime", "TIME_MIN", "time_min", |j| Value::Minutes(Some(j.time_min.unwrap_or_default()), "", "UNLIMITED")).json("time_minimum"),
    field("MinTmpDisk", "MIN_TMP_DISK", "min_tmp_disk_mb", |j| Value::both(Value::Megabytes(j.min_tmp_disk_mb), Value::Counted(Some(j.min_tmp_disk_mb), ""))).letter('d').json("minimum_tmp_disk_per_node"),
    field("Name", "NAME", "name", |j| text(&j.name)).letter('j').json("name"),
    field("Network", "NETWORK", "network", |j| nullable(&j.network)).json("network"),
    field("Nice", "NICE", "nice", |j| Value::Integer(j.nice.into())).letter('y').json("nice"),
    field("NodeList", "NODELIST", "nodes", |j| text(&j.nodes).whole()).letter('N').json("nodes").fit(Fit::WholeHeader),
    field("NTPerBoard", "NTASKS_PER_BOARD", "tasks_per_board", |j| counted(j.tasks_per_board)).json("tasks_per_board"),
    field("NTPerCore", "NTASKS_PER_CORE", "tasks_per_core", |j| per_unit(j.tasks_per_core)).json("tasks_per_core"),
    field("NTPerNode", "NTASKS_PER_NODE", "tasks_per_node", |j| counted(j.tasks_per_node)).json("tasks_per_node"),
    field("NTPerSocket", "NTASKS_PER_SOCKET", "tasks_per_socket", |j| per_unit(j.tasks_per_socket)).json("tasks_per_socket"),
    only_json("tasks_per_tres", "tasks_per_tres", |j| counted(j.tasks_per_tres)),
    field("NumCPUs", "CPUS", "num_cpus", |j| counted(j.num_cpus)).letter('C').json("cpus"),
    field("NumNodes", "NODES", "num_nodes", |j| counted(j.num_nodes)).letter('D').json("node_count"),
    field("NumTasks", "TASKS", "num_tasks", |j| counted(j.num_tasks)).json("tasks"),
    field("Origin", "ORIGIN", "federation_origin", |j| or(&j.federation_origin, "NA")).json("federation_origin"),
    field("OriginRaw", "ORIGIN_RAW", "federation_origin", |j| or(&j.federation_origin, "NA")),
    field("OverSubscribe", "OVER_SUBSCRIBE", "over_subscribe", over_subscribe).letter('h').json("shared"),
    field("Shared", "OVER_SUBSCRIBE", "over_subscribe", over_subscribe),
    field("Partition", "PARTITION", "partition", |j| text(&j.partition)).letter('P').json("partition"),
    field("PendingTime", "PENDING_TIME", "state submit_time start_time", |j| Value::ElapsedSecs(pending(j))),
    only_json("power.flags", "", |_| Value::Json(json!([]))),
    only_json("pre_sus_time", "run_secs_before_suspend", |j| moment(j.run_secs_before_suspend)),
    field("PreemptTime", "PREEMPT_TIME", "preempt_time", |j| moment(j.preempt_time)).json("preempt_time"),
    only_json("preemptable_time", "preemptable_time", |j| moment(j.preemptable_time)),
    field("Prefer", "PREFER", "prefer", |j| nullable(&j.prefer)).json("prefer"),
    only_json("hold", "priority", |j| Value::Bit(j.priority == 0)),
    field("Priority", "PRIORITY", "priority", |j| Value::Fraction(f64::from(j.priority) / f64::from(u32::MAX), 14)).letter('p'),
    field("PriorityLong", "PRIORITY", "priority", |j| counted(j.priority)).letter('Q').json("priority"),
    only_json("priority_by_partition", "", |_| Value::Json(json!([]))),
    field("Profile", "PROFILE", "profile", profile).json("profile"),
    field("QOS", "QOS", "qos account", qos).letter('q').json("qos"),
    field("Reason", "REASON", "reason state_description", |j| Value::both(Value::Text(reason(j)), Value::Text(Reason::word(j.reason)))).letter('r').json("state_reason"),
    field("ReasonList", "NODELIST(REASON)", "state reason state_description nodes", reason_or_nodes).letter('R').fit(Fit::WholeHeader),
    field("Reboot", "REBOOT", "reboot", |j| Value::Bit(j.reboot)).json("reboot"),
    field("ReqNodes", "REQ_NODES", "required_nodes", |j| text(&j.required_nodes).whole()).letter('n').json("required_nodes"),
    field("ReqSwitch", "REQ_SWITCH", "required_switches", |j| number(j.required_switches)).json("required_switches"),
    field("Requeue", "REQUEUE", "requeue", |j| Value::Bit(j.requeue)).json("requeue"),
    field("Reservation", "RESERVATION", "reservation", |j| nullable(&j.reservation)).letter('v').json("resv_name"),
    field("ResizeTime", "RESIZE_TIME", "resize_time", |j| moment(j.resize_time)).json("resize_time"),
    field("RestartCnt", "RESTART_COUNT", "restarts", |j| number(j.restarts)).json("restart_cnt"),
    field("SchedNodes", "SCHEDNODES", "scheduled_nodes", |j| nullable(&j.scheduled_nodes).whole()).letter('Y').json("scheduled_nodes").fit(Fit::WholeHeader),
    field("SCT", "S:C:T", "sockets_per_node cores_per_socket threads_per_core", sockets_cores_threads).letter('z'),
    field("SegmentSize", "SEGMENT_SIZE", "segment_size", |j| number(j.segment_size)),
    only_json("selinux_context", "selinux_context", |j| text(&j.selinux_context)),
    // Once the node selection plugin's own words; squeue still accepts the letter.
    field("", "", "", |_| Value::Text(String::new())).letter('s'),
    field("SiblingsActive", "ACTIVE_SIBLINGS", "federation_siblings_active", |j| or(&j.federation_siblings_active, "NA")).json("federation_siblings_active"),
    field("SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", "federation_siblings_active", |j| or(&j.federation_siblings_active, "NA")),
    field("SiblingsViable", "VIABLE_SIBLINGS", "federation_siblings_viable", |j| or(&j.federation_siblings_viable, "NA")).json("federation_siblings_viable"),
    field("SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", "federation_siblings_viable", |j| or(&j.federation_siblings_viable, "NA")),
    field("SLUID", "SLUID", "sluid", |j| text(&j.sluid)),
    field("Sockets", "SOCKETS_PER_NODE", "sockets_per_node", |j| maybe(j.sockets_per_node, "*")).letter('H').json("sockets_per_node"),
    field("SPerBoard", "SOCKETS_PER_BOARD", "sockets_per_board", |j| number(j.sockets_per_board)).json("sockets_per_board"),
    field("StartTime", "START_TIME", "start_time", |j| moment(j.start_time)).letter('S').json("start_time"),
    field("State", "STATE", "state", |j| Value::JobState(JobStatus(j.state))).letter('T').json("job_state"),
    field("StateCompact", "ST", "state", |j| Value::JobStateCompact(JobStatus(j.state))).letter('t'),
    only_json("state_description", "state_description", |j| text(&j.state_description)),
    field("StdErr", "STDERR", "standard_error standard_output", standard_error).json("standard_error"),
    field("StdIn", "STDIN", "standard_input", |j| file(&j.standard_input)).json("standard_input"),
    field("StdOut", "STDOUT", "standard_output", |j| file(&j.standard_output)).json("standard_output"),
    field("SubmitTime", "SUBMIT_TIME", "submit_time", |j| moment(j.submit_time)).letter('V').json("submit_time"),
    only_json("suspend_time", "suspend_time", |j| moment(j.suspend_time)),
    field("system_comment", "SYSTEM_COMMENT", "system_comment", |j| nullable(&j.system_comment)).json("system_comment"),
    field("Threads", "THREADS_PER_CORE", "threads_per_core", |j| maybe(j.threads_per_core, "*")).letter('J').json("threads_per_core"),
    field("TimeLeft", "TIME_LEFT", "time_limit state start_time end_time suspend_time run_secs_before_suspend", |j| Value::Left(j.time_limit, used(j)).whole()).letter('L'),
    field("TimeLimit", "TIME_LIMIT", "time_limit", |j| Value::Minutes(j.time_limit, "NOT_SET", "UNLIMITED").whole()).letter('l').json("time_limit"),
    field("TimeUsed", "TIME", "state start_time end_time suspend_time run_secs_before_suspend", |j| Value::Elapsed(used(j)).whole()).letter('M'),
    field("Tres", "TRES_ALLOC", "tres_allocated tres_requested", tres).json("tres_alloc_str"),
    field("tres-alloc", "TRES_ALLOC", "tres_allocated tres_requested", tres),
    only_json("tres_req_str", "tres_requested", |j| text(&j.tres_requested)),
    field("tres-bind", "TRES_BIND", "tres_bind", |j| or(&j.tres_bind, "N/A")).json("tres_bind"),
    field("tres-freq", "TRES_FREQ", "tres_freq", |j| or(&j.tres_freq, "N/A")).json("tres_freq"),
    field("tres-per-job", "TRES_PER_JOB", "tres_per_job", |j| tres_request(&j.tres_per_job)).json("tres_per_job"),
    field("tres-per-node", "TRES_PER_NODE", "tres_per_node", |j| tres_request(&j.tres_per_node)).letter('b').json("tres_per_node"),
    field("Gres", "TRES_PER_NODE", "tres_per_node", |j| tres_request(&j.tres_per_node)),
    field("tres-per-socket", "TRES_PER_SOCKET", "tres_per_socket", |j| tres_request(&j.tres_per_socket)).json("tres_per_socket"),
    field("tres-per-task", "TRES_PER_TASK", "tres_per_task", |j| tres_request(&j.tres_per_task)).json("tres_per_task"),
    field("UserID", "UID", "uid", |j| number(j.uid)).letter('U').json("user_id"),
    field("UserName", "USER", "user_name", |j| text(&j.user_name)).letter('u').json("user_name"),
    field("Wait4Switch", "WAIT4SWITCH", "switch_wait_secs", |j| Value::Span(j.switch_wait_secs.into())).json("maximum_switch_wait_time"),
    field("WCKey", "WCKEY", "wckey", |j| nullable(&j.wckey)).letter('w').json("wckey"),
    field("WorkDir", "WORK_DIR", "work_dir", |j| text(&j.work_dir)).letter('Z').json("current_working_directory"),
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
/// One that accounting does not know has no name; without accounting there is none.
fn qos(job: &JobView) -> Value {
    if job.account.is_empty() { nullable(&job.qos) } else { text(&job.qos) }
}

fn pending(job: &JobView) -> Elapsed {
    match JobStatus(job.state).base() {
        JobState::Pending => Elapsed { counted: 0, since: Some(job.submit_time) },
        _ => Elapsed { counted: (job.start_time - job.submit_time).max(0), since: None },
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
    let kinds: Vec<String> = job.profile.iter().map(|kind| kind.to_uppercase()).collect();
    let json = if kinds.is_empty() { json!(["NOT_SET"]) } else { json!(kinds) };
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
    Value::both(file(shown), file(&job.standard_error))
}

fn file(name: &str) -> Value {
    text(&filename::of_whole_array(name))
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
