//! `scontrol show job`

use super::{Item, Scene, bit, first, if_any, moment, or, or_null, then};
use crate::fields::Value;
use crate::fields::clock;
use crate::fields::job::used;
use crate::filename::{self, Values};
use crate::hostlist;
use crate::job::{JobState, JobStatus, Reason};
use crate::limit::Limit;
use crate::options::cpu_frequency;
use crate::views::JobView;

/// Its words.
#[rustfmt::skip]
pub static JOB: &[Item<JobView>] = &[
    first("JobId", |j, _| Some(j.job_id.to_string())),
    then("ArrayJobId", |j, _| (j.array_job_id > 0).then(|| j.array_job_id.to_string())),
    then("ArrayTaskId", |j, _| array_task(j)),
    then("ArrayTaskThrottle", |j, _| (j.array_max_tasks > 0).then(|| j.array_max_tasks.to_string())),
    then("HetJobId", |j, _| (j.het_job_id > 0).then(|| j.het_job_id.to_string())),
    then("HetJobOffset", |j, _| (j.het_job_id > 0).then(|| j.het_job_offset.to_string())),
    then("JobName", |j, _| Some(j.name.clone())),
    first("HetJobIdSet", |j, _| if_any(&j.het_job_id_set)),
    first("UserId", |j, _| Some(format!("{}({})", j.user_name, j.uid))),
    then("GroupId", |j, _| Some(format!("{}({})", if j.group_name.is_empty() { &j.user_name } else { &j.group_name }, j.gid))),
    then("MCS_label", |j, _| or(&j.mcs_label, "N/A")),
    first("Priority", |j, _| Some(j.priority.to_string())),
    then("Nice", |j, _| Some(j.nice.to_string())),
    then("Account", |j, _| or_null(&j.account)),
    then("QOS", |j, _| if j.account.is_empty() { or_null(&j.qos) } else { Some(j.qos.clone()) }),
    then("WCKey", |j, _| if_any(&j.wckey)),
    first("JobState", |j, _| Some(JobStatus(j.state).name().into())),
    then("Reason", |j, _| Some(reason(j))),
    then("FailedNode", |j, _| if_any(&j.failed_node)),
    then("Dependency", |j, _| or_null(&j.dependency)),
    first("Requeue", |j, _| bit(j.requeue)),
    then("Restarts", |j, _| Some(j.restarts.to_string())),
    then("BatchFlag", |j, _| bit(j.batch_flag)),
    then("Reboot", |j, _| bit(j.reboot)),
    then("ExitCode", |j, s| Value::ExitStatus(j.exit_status).text(&s.context)),
    first("Failures", |j, _| (j.restarts > 0 && has_setbacks(j)).then(|| j.failures.to_string())),
    then("Preemptions", |j, _| (j.restarts > 0 && has_setbacks(j)).then(|| j.preemptions.to_string())),
    then("NodeLosses", |j, _| (j.restarts > 0 && has_setbacks(j)).then(|| j.node_losses.to_string())),
    then("AvoidNodeList", |j, _| if_any(&j.avoided_nodes)),
    first("DerivedExitCode", |j, s| s.details.then(|| Value::ExitStatus(j.derived_exit_status).text(&s.context))?),
    first("RunTime", |j, s| Some(clock::span_padded(used(j).secs(&s.context)))),
    then("TimeLimit", |j, _| Some(minutes(j.time_limit, "Partition_Limit"))),
    then("TimeMin", |j, _| Some(match j.time_min { Some(Limit::Is(0)) | None => "N/A".into(), limit => minutes(limit, "N/A") })),
    first("SubmitTime", |j, s| moment(j.submit_time, "Unknown", s)),
    then("EligibleTime", |j, s| moment(j.eligible_time, "Unknown", s)),
    first("AccrueTime", |j, s| moment(j.accrue_time, "Unknown", s)),
    first("StartTime", |j, s| moment(j.start_time, "Unknown", s)),
    then("EndTime", |j, s| moment(j.end_time, "Unknown", s)),
    then("Deadline", |j, s| moment(j.deadline, "N/A", s)),
    first("PreemptEligibleTime", |j, s| (j.preempt_time > 0 || j.preemptable_time > 0).then(|| moment(j.preemptable_time, "Unknown", s))?),
    then("PreemptTime", |j, s| (j.preempt_time > 0 || j.preemptable_time > 0).then(|| moment(j.preempt_time, "None", s))?),
    first("SuspendTime", |j, s| moment(j.suspend_time, "None", s)),
    then("SecsPreSuspend", |j, _| Some(j.run_secs_before_suspend.to_string())),
    then("LastSchedEval", |j, s| moment(j.last_sched_eval, "Unknown", s)),
    // Components of heterogeneous jobs start together, which is the backfill's part in Slurm.
    then("Scheduler", |j, _| Some(if j.het_job_id == 0 || j.priority == 0 { "Main".into() } else { "Backfill".into() })),
    first("Partition", |j, _| or_null(&j.partition)),
    then("AllocNode:Sid", |j, _| Some(format!("{}:{}", if j.alloc_node.is_empty() { "(null)" } else { &j.alloc_node }, j.alloc_sid))),
    first("ReqNodeList", |j, _| or_null(&j.required_nodes)),
    then("ExcNodeList", |j, _| or_null(&j.excluded_nodes)),
    first("NodeList", |j, _| Some(j.nodes.clone())),
    then("SchedNodeList", |j, _| if_any(&j.scheduled_nodes)),
    first("BatchFeatures", |j, _| if_any(&j.batch_features)),
    first("BatchHost", |j, _| if_any(&j.batch_host)),
    first("NumNodes", |j, _| Some(nodes(j))),
    then("NumCPUs", |j, _| Some(j.num_cpus.to_string())),
    then("NumTasks", |j, _| Some(j.num_tasks.to_string())),
    then("CPUs/Task", |j, _| Some(j.cpus_per_task.map_or_else(|| "1".into(), |n| n.to_string()))),
    then("ReqB:S:C:T", |j, _| Some(format!("{}:{}:{}:{}", j.boards_per_node, j.sockets_per_board, star(j.cores_per_socket), star(j.threads_per_core)))),
    first("TRES", |j, _| or_null(if j.tres_allocated.is_empty() { &j.tres_requested } else { &j.tres_allocated })),
    first("Socks/Node", |j, _| Some(star(j.sockets_per_node))),
    then("NtasksPerN:B:S:C", |j, _| Some(format!("{}:{}:{}:{}", j.tasks_per_node, j.tasks_per_board, star(j.tasks_per_socket), star(j.tasks_per_core)))),
    then("CoreSpec", |j, _| Some(match j.thread_spec { Some(threads) => format!("{threads}(Threads)"), None => star(j.core_spec) })),
    first("JOB_GRES", |j, s| (s.details && !j.nodes.is_empty()).then(|| or_null(&all_gres(j)))?),
    first("", |j, s| (s.details && !j.resources.is_empty()).then(|| shares(j))),
    first("MinCPUsNode", |j, _| Some(j.min_cpus_per_node.max(1).to_string())),
    // None for each processor is all of the node.
    then("MinMemoryCPU", |j, s| j.memory_per_cpu_mb.filter(|memory| *memory > 0).map(|memory| megabytes(memory, s))),
    then("MinMemoryNode", |j, s| j.memory_per_cpu_mb.is_none_or(|memory| memory == 0).then(|| megabytes(j.memory_per_node_mb.unwrap_or(0), s))),
    then("MinTmpDiskNode", |j, s| Some(megabytes(j.min_tmp_disk_mb, s))),
    first("Features", |j, _| or_null(&j.features)),
    then("DelayBoot", |j, _| Some(match j.delay_boot_secs { u32::MAX => "UNLIMITED".into(), secs => clock::span_padded(secs.into()) })),
    first("ClusterFeatures", |j, _| if_any(&j.cluster_features)),
    first("Prefer", |j, _| if_any(&j.prefer)),
    first("Reservation", |j, _| if_any(&j.reservation)),
    first("OverSubscribe", |j, _| or(&j.over_subscribe, "OK")),
    then("Contiguous", |j, _| bit(j.contiguous)),
    then("Licenses", |j, _| or_null(&j.licenses)),
    then("Network", |j, _| or_null(&j.network)),
    first("Command", |j, _| or_null(&j.command)),
    first("WorkDir", |j, _| or_null(&j.work_dir)),
    first("AdminComment", |j, _| (!j.admin_comment.is_empty()).then(|| format!("{} ", j.admin_comment))),
    first("SystemComment", |j, _| (!j.system_comment.is_empty()).then(|| format!("{} ", j.system_comment))),
    first("Comment", |j, _| (!j.comment.is_empty()).then(|| format!("{} ", j.comment))),
    first("Extra", |j, _| if_any(&j.extra)),
    first("StdErr", |j, _| j.batch_flag.then(|| file(j, &j.standard_error))),
    first("StdIn", |j, _| j.batch_flag.then(|| input(j))),
    first("StdOut", |j, _| j.batch_flag.then(|| file(j, &j.standard_output))),
    first("Switches", |j, _| (j.required_switches > 0).then(|| format!("{}@{}", j.required_switches, clock::span_padded(j.switch_wait_secs.into())))),
    first("BurstBuffer", |j, _| if_any(&j.burst_buffer)),
    first("CPU_min_freq", |j, _| j.cpu_frequency_min.map(cpu_frequency::word)),
    then("CPU_max_freq", |j, _| j.cpu_frequency_max.map(|max| match j.cpu_frequency_governor { None => format!("{} ", cpu_frequency::word(max)), Some(_) => cpu_frequency::word(max) })),
    then("Governor", |j, _| j.cpu_frequency_governor.and_then(cpu_frequency::governor_name).map(str::to_string)),
    first("Power", |j, _| Some(j.power.clone())),
    first("", |j, _| if_any(&marks(j))),
    first("CpusPerTres", |j, _| request(&j.cpus_per_tres)),
    first("MemPerTres", |j, _| request(&j.memory_per_tres)),
    first("TresBind", |j, _| if_any(&j.tres_bind)),
    first("TresFreq", |j, _| if_any(&j.tres_freq)),
    first("TresPerJob", |j, _| request(&j.tres_per_job)),
    first("TresPerNode", |j, _| request(&j.tres_per_node)),
    first("TresPerSocket", |j, _| request(&j.tres_per_socket)),
    first("TresPerTask", |j, _| request(&j.tres_per_task)),
    first("MailUser", |j, _| (!j.mail_types.is_empty()).then(|| or_null(&j.mail_user))?),
    then("MailType", |j, _| if_any(&j.mail_types.join(","))),
    first("NtasksPerTRES", |j, _| (j.tasks_per_tres > 0).then(|| j.tasks_per_tres.to_string())),
    first("Container", |j, _| if_any(&j.container)),
    first("", |_, _| Some(String::new())),
];

/// Slurm counts all of them together; what they were is a line of its own.
fn has_setbacks(job: &JobView) -> bool {
    job.failures + job.preemptions + job.node_losses > 0
}

fn array_task(job: &JobView) -> Option<String> {
    if job.array_job_id == 0 {
        return None;
    }
    let tasks = || job.array_task_string.clone();
    Some(job.array_task_id.map_or_else(tasks, |task| task.to_string()))
}

/// Slurm shows the reason with its blanks taken out.
fn reason(job: &JobView) -> String {
    match job.state_description.as_str() {
        "" => Reason::word(job.reason),
        told => told.replace(' ', "_"),
    }
}

pub(super) fn minutes(limit: Option<Limit>, unset: &str) -> String {
    match limit {
        None => unset.into(),
        Some(Limit::Unlimited) => "UNLIMITED".into(),
        Some(Limit::Is(minutes)) => {
            clock::span_padded(i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX))
        }
    }
}

/// A pending job that named its nodes tells the least and the most.
fn nodes(job: &JobView) -> String {
    match JobStatus(job.state).base() {
        JobState::Pending if job.max_nodes > 0 => format!("{}-{}", job.num_nodes, job.max_nodes),
        _ => job.num_nodes.to_string(),
    }
}

/// Slurm writes these without anything between them.
fn marks(job: &JobView) -> String {
    let words = [
        ("GRES_BINDING_ENFORCED", "GresEnforceBind=Yes"),
        ("GRES_BINDING_DISABLED", "GresEnforceBind=No"),
        ("KILL_INVALID_DEPENDENCY", "KillOInInvalidDependent=Yes"),
        ("NO_KILL_INVALID_DEPENDENCY", "KillOInInvalidDependent=No"),
        ("SPREAD_JOB", "SpreadJob=Yes"),
    ];
    let is_said = |flag: &str| job.flags.iter().any(|said| said == flag);
    words.iter().filter(|(flag, _)| is_said(flag)).map(|(_, word)| *word).collect()
}

fn star(number: Option<u32>) -> String {
    number.map_or_else(|| "*".to_string(), |number| number.to_string())
}

fn megabytes(megabytes: u64, scene: &Scene<'_>) -> String {
    Value::Megabytes(megabytes).text(&scene.context).unwrap_or_default()
}

fn request(tres: &str) -> Option<String> {
    if_any(&tres.replace("gres/", "gres:"))
}

/// What all nodes give together, without which devices those are.
fn all_gres(job: &JobView) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for item in job.gres_detail.iter().flat_map(|node| split_items(node)) {
        let item = item.split('(').next().unwrap_or(item);
        let Some((what, Ok(count))) =
            item.rsplit_once(':').map(|(what, count)| (what, count.parse::<u64>()))
        else {
            continue;
        };
        match sums.iter_mut().find(|(known, _)| *known == what) {
            Some((_, sum)) => *sum += count,
            None => sums.push((what, count)),
        }
    }
    sums.iter().map(|(what, sum)| format!("{what}:{sum}")).collect::<Vec<_>>().join(",")
}

/// Commas separate items, except between the devices of one: `gpu:2(IDX:0,3),shard:1`.
fn split_items(list: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    list.split(move |letter| {
        match letter {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        letter == ',' && !inside
    })
}

/// `Nodes=n1 CPU_IDs=0-3 Mem=4000 GRES=`, a line for nodes that give the same.
fn shares(job: &JobView) -> String {
    let mut lines: Vec<(Vec<&str>, String)> = Vec::new();
    for (place, share) in job.resources.iter().enumerate() {
        let cores = crate::job::array::written(share.cores.iter().copied());
        let gres = job.gres_detail.get(place).map_or("", String::as_str);
        let what = format!("CPU_IDs={cores} Mem={} GRES={gres}", share.memory_mb);
        match lines.last_mut() {
            Some((nodes, same)) if *same == what => nodes.push(&share.name),
            _ => lines.push((vec![&share.name], what)),
        }
    }
    let line = |(nodes, what): &(Vec<&str>, String)| {
        format!("  Nodes={} {what}", hostlist::compress(nodes.iter()))
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n   ")
}

/// Where output goes, with patterns filled in; the usual file where nobody said.
fn file(job: &JobView, said: &str) -> String {
    let usual = if job.array_job_id > 0 { "slurm-%A_%a.out" } else { "slurm-%j.out" };
    let pattern = [said, &job.standard_output, usual].into_iter().find(|name| !name.is_empty());
    in_work_dir(job, pattern.unwrap_or_default())
}

fn input(job: &JobView) -> String {
    match job.standard_input.as_str() {
        "" => "/dev/null".into(),
        said => in_work_dir(job, said),
    }
}

fn in_work_dir(job: &JobView, pattern: &str) -> String {
    let values = Values {
        job: job.job_id,
        array_job: (job.array_job_id > 0).then_some(job.array_job_id),
        array_task: job.array_task_id,
        user: job.user_name.clone(),
        job_name: job.name.clone(),
        node_name: job.batch_host.clone(),
        ..Values::default()
    };
    let name = filename::shown(pattern, &values);
    let name = filename::of_whole_array(&name);
    match name.starts_with('/') {
        true => name.into_owned(),
        false => format!("{}/{name}", job.work_dir.trim_end_matches('/')),
    }
}

#[cfg(test)]
mod tests;
