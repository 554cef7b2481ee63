//! What `scontrol show job` would tell about a request beyond a job without options.

use std::collections::BTreeMap;

use super::super::cpu_frequency;
use super::super::resolve::Request;
use crate::job::mail::MailTypes;
use crate::job::spec::Sharing;
use crate::limit::Limit;
use crate::size::display_megabytes;
use crate::time::{FixedOffset, Timestamp, display};

pub(super) fn attributes(request: &Request) -> BTreeMap<String, String> {
    let job = &request.job;
    let (gpu, placement, layout) = (job.gpu(), job.placement(), job.layout());
    let (lifecycle, rare) = (job.lifecycle(), job.rare());
    let mut shown = BTreeMap::new();
    let mut show = |name: &str, value: String| {
        if !value.is_empty() {
            shown.insert(name.to_owned(), value);
        }
    };
    let unless =
        |value: String, default: &str| if value == default { String::new() } else { value };
    // Attributes that scontrol shows empty when an empty value was said.
    let mut empty = Vec::new();

    if job.name.is_empty() {
        empty.push("JobName");
    }
    show("JobName", unless(job.name.clone(), "wrap"));
    show("Partition", unless(job.partition.clone(), "debug"));
    if let Some(limit) = job.time_limit {
        show("TimeLimit", unless(display::limit_long(limit), "01:00:00"));
    }
    if let Some(limit) = lifecycle.time_min {
        show("TimeMin", display::limit_long(limit));
    }
    if let Some(min) = job.nodes_min {
        let nodes = match job.nodes_max {
            Some(max) => format!("{min}-{max}"),
            None => min.to_string(),
        };
        show("NumNodes", unless(nodes, "1"));
    }
    let tasks = crate::views::JobView::of_request(job).num_tasks;
    show("NumTasks", unless(tasks.to_string(), "1"));
    // The controller keeps 16 bits.
    show(
        "CPUs/Task",
        job.cpus_per_task.map_or(String::new(), |n| match n {
            1 => String::new(),
            n => (n & 0xffff).to_string(),
        }),
    );
    show(
        "ReqNodeList",
        crate::hostlist::expand(&placement.nodelist).map_or_else(
            |_| placement.nodelist.clone(),
            |mut names| {
                names.dedup();
                crate::hostlist::compress(names)
            },
        ),
    );
    show("ExcNodeList", placement.exclude.clone());
    // The controller writes a comma as an ampersand.
    show("Features", placement.constraint.replace(',', "&"));
    show("Prefer", placement.prefer.clone());
    show("BatchFeatures", placement.batch_constraint.clone());
    show("ClusterFeatures", placement.cluster_constraint.clone());
    for (said, value, name) in [
        ("constraint", &placement.constraint, "Features"),
        ("exclude", &placement.exclude, "ExcNodeList"),
    ] {
        if request.said(said) && value.is_empty() {
            empty.push(name);
        }
    }
    show(
        "OverSubscribe",
        match job.sharing.and_then(|sharing| Sharing::try_from(sharing).ok()) {
            None => "",
            Some(Sharing::Exclusive | Sharing::Topology) => "NO",
            Some(Sharing::Oversubscribe) => "YES",
            Some(Sharing::User) => "USER",
            Some(Sharing::Mcs) => "MCS",
        }
        .to_owned(),
    );
    show("Nice", job.nice.filter(|nice| *nice != 0).map_or(String::new(), |nice| nice.to_string()));
    show("Requeue", if job.requeue == Some(false) { "0" } else { "" }.to_owned());
    show("Reboot", if placement.reboot { "1" } else { "" }.to_owned());
    show("Contiguous", if placement.contiguous { "1" } else { "" }.to_owned());
    show("SpreadJob", if placement.spread_job { "Yes" } else { "" }.to_owned());
    // All the memory of a node is said one way only.
    match (job.memory_per_node, job.memory_per_cpu) {
        (Some(0), _) | (_, Some(0)) => show("MinMemoryNode", "0".to_owned()),
        (Some(size), _) => show("MinMemoryNode", display_megabytes(size)),
        (_, Some(size)) => show("MinMemoryCPU", display_megabytes(size)),
        (None, None) => {}
    }
    if let Some(size) = placement.tmp {
        show("MinTmpDiskNode", unless(display_megabytes(size), "0"));
    }
    let tres = |list: &str, prefix: &str| {
        let parts: Vec<String> = list
            .split(',')
            .filter(|part| !part.is_empty())
            .map(|part| format!("{prefix}{}", part.strip_prefix("gres:").unwrap_or(part)))
            .collect();
        parts.join(",")
    };
    show("TresPerJob", tres(&gpu.gpus, "gres:gpu:"));
    let per_node = [tres(&gpu.gpus_per_node, "gres:gpu:"), tres(&job.gres, "gres:")];
    show(
        "TresPerNode",
        per_node.iter().filter(|s| !s.is_empty()).cloned().collect::<Vec<_>>().join(","),
    );
    show("TresPerTask", tres(&gpu.gpus_per_task, "gres:gpu:"));
    show("TresPerSocket", tres(&gpu.gpus_per_socket, "gres:gpu:"));
    if let Some(count) = gpu.cpus_per_gpu {
        show("CpusPerTres", format!("gres:gpu:{count}"));
    }
    if let Some(size) = gpu.memory_per_gpu {
        show("MemPerTres", format!("gres:gpu:{size}"));
    }
    if let Some(count) = gpu.ntasks_per_gpu {
        show("NtasksPerTRES", count.to_string());
    }
    show("TresBind", tres_option(&gpu.gpu_bind));
    show("TresFreq", tres_option(&gpu.gpu_freq));
    show("Power", rare.power.clone());
    if let Some(enforce) = gpu.enforce_binding {
        show("GresEnforceBind", if enforce { "Yes" } else { "No" }.to_owned());
    }
    let frequency = |code: Option<u32>| code.map_or(String::new(), cpu_frequency::word);
    show("CPU_min_freq", frequency(layout.cpu_freq_min));
    show("CPU_max_freq", frequency(layout.cpu_freq_max));
    if let Some(code) = layout.cpu_freq_governor {
        show("Governor", cpu_frequency::governor_name(code).unwrap_or("").to_owned());
    }
    let or_star = |count: Option<u32>| count.map_or("*".to_owned(), |count| count.to_string());
    let cores =
        format!("0:0:{}:{}", or_star(layout.cores_per_socket), or_star(layout.threads_per_core));
    show("ReqB:S:C:T", unless(cores, "0:0:*:*"));
    show("Socks/Node", unless(or_star(layout.sockets_per_node), "*"));
    let tasks = format!(
        "{}:0:{}:{}",
        job.ntasks_per_node.unwrap_or(0) & 0xffff,
        or_star(layout.ntasks_per_socket),
        or_star(layout.ntasks_per_core)
    );
    show("NtasksPerN:B:S:C", unless(tasks, "0:0:*:*"));
    show("MailType", unless(MailTypes(lifecycle.mail_type).to_string(), "NONE"));
    if let Some(kill) = lifecycle.kill_on_invalid_dep {
        show("KillOInInvalidDependent", if kill { "Yes" } else { "No" }.to_owned());
    }
    match lifecycle.delay_boot_secs {
        Some(Limit::Is(secs)) => show("DelayBoot", display::long(secs)),
        Some(Limit::Unlimited) => show("DelayBoot", "UNLIMITED".to_owned()),
        None => {}
    }
    if rare.comment.as_deref() == Some("") {
        empty.push("Comment");
    }
    show("Comment", rare.comment.clone().unwrap_or_default());
    show("Container", rare.container.clone());
    show("Network", rare.network.clone());
    if request.said("bb") && rare.burst_buffer.is_empty() {
        empty.push("BurstBuffer");
    }
    show("BurstBuffer", rare.burst_buffer.clone());
    show("MCS_label", rare.mcs_label.clone());
    show("WorkDir", unless(job.work_dir.clone(), "/home/alice"));
    let input = match job.input.as_str() {
        "" | "/dev/null" => String::new(),
        path => format!("/home/alice/{path}"),
    };
    show("StdIn", input);
    // A relative deadline depends on the day.
    if let Some(at) = lifecycle.deadline
        && !request.tool.deadline.contains("now")
    {
        show("Deadline", display::moment(Timestamp(at), &FixedOffset::UTC));
    }
    shown.extend(empty.into_iter().map(|name| (name.to_owned(), String::new())));
    shown
}

fn tres_option(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!("gpu:{value}") }
}
