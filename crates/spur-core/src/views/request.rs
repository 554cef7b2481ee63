//! What a request says by itself, as readers see it.

use super::{JobDetail, JobView};
use crate::gres;
use crate::hostlist;
use crate::job::mail::MailTypes;
use crate::job::spec::{GpuSpec, Sharing};
use crate::job::{Demand, JobSpec};
use crate::limit::Limit;
use crate::node::features;

/// How long a job waits for the switches it wants at most, and if it does not say.
const SWITCH_WAIT_SECS: u32 = 300;

impl JobView {
    /// As much of a request as the usual columns of a list tell; see `Field::outline`.
    pub fn outline(spec: &JobSpec) -> JobView {
        let demand = Demand::of(spec);
        JobView {
            name: spec.name.clone(),
            partition: spec.partition.clone(),
            account: spec.account.clone(),
            qos: spec.qos.clone(),
            num_nodes: demand.nodes_min,
            max_nodes: spec.nodes_max.unwrap_or(0),
            // One for each node, unless it was said how many each has.
            num_tasks: match (spec.ntasks_per_node, spec.ntasks) {
                (Some(_), Some(tasks)) => tasks,
                _ => demand.tasks,
            },
            num_cpus: processors(spec, demand),
            ..JobView::default()
        }
    }

    /// A job of which only the request is known.
    pub fn of_request(spec: &JobSpec) -> JobView {
        let (demand, place, gpu) = (Demand::of(spec), spec.placement(), spec.gpu());
        let (layout, rare, lifecycle) = (spec.layout(), spec.rare(), spec.lifecycle());
        let on_a_node = match spec.ntasks_per_node {
            _ if layout.overcommit || (spec.ntasks_said && spec.ntasks == Some(1)) => 1,
            each => each.unwrap_or(1).max(1),
        };
        let mail = MailTypes(lifecycle.mail_type);
        JobView {
            detail: Some(Box::new(JobDetail {
                cpus_per_task: spec.cpus_per_task,
                min_cpus_per_node: demand
                    .cpus_per_task
                    .saturating_mul(on_a_node)
                    .max(place.mincpus.unwrap_or(0)),
                min_tmp_disk_mb: place.tmp.unwrap_or(0),
                memory_per_cpu_mb: spec.memory_per_cpu,
                memory_per_node_mb: spec.memory_per_node,
                alloc_node: spec.submit_host.clone(),
                alloc_sid: spec.submit_session,
                work_dir: spec.work_dir.clone(),
                command: command(spec),
                batch_flag: true,
                nice: spec.nice.unwrap_or(0),
                comment: rare.comment.clone().unwrap_or_default(),
                admin_comment: rare.admin_comment.clone(),
                extra: rare.extra.clone(),
                wckey: rare.wckey.clone(),
                network: rare.network.clone(),
                mcs_label: rare.mcs_label.clone(),
                container: rare.container.clone(),
                container_id: rare.container_id.clone(),
                burst_buffer: rare.burst_buffer.clone(),
                reservation: place.reservation.clone(),
                licenses: place.licenses.clone(),
                features: features::shown(&place.constraint),
                prefer: place.prefer.clone(),
                cluster_features: place.cluster_constraint.clone(),
                batch_features: place.batch_constraint.clone(),
                required_nodes: in_order(&place.nodelist),
                excluded_nodes: in_order(&place.exclude),
                contiguous: place.contiguous,
                reboot: place.reboot,
                required_switches: place.switches.unwrap_or(0),
                switch_wait_secs: place
                    .switches_wait_secs
                    .unwrap_or(SWITCH_WAIT_SECS)
                    .min(SWITCH_WAIT_SECS),
                core_spec: place.core_spec,
                thread_spec: place.thread_spec, // Slurm keeps 16 bits of it, and has counted the tasks before.
                tasks_per_node: spec.ntasks_per_node.unwrap_or(0) & u32::from(u16::MAX),
                tasks_per_socket: layout.ntasks_per_socket,
                tasks_per_core: layout.ntasks_per_core,
                tasks_per_tres: gpu.ntasks_per_gpu.unwrap_or(0),
                sockets_per_node: layout.sockets_per_node,
                cores_per_socket: layout.cores_per_socket,
                threads_per_core: layout.threads_per_core,
                time_min: lifecycle.time_min,
                deadline: lifecycle.deadline.unwrap_or(0),
                delay_boot_secs: match lifecycle.delay_boot_secs {
                    Some(Limit::Is(secs)) => u32::try_from(secs).unwrap_or(u32::MAX),
                    Some(Limit::Unlimited) => u32::MAX,
                    None => 0,
                },
                mail_user: lifecycle.mail_user.clone(),
                mail_types: mail.names().map(str::to_string).collect(),
                cpu_frequency_min: layout.cpu_freq_min,
                cpu_frequency_max: layout.cpu_freq_max,
                cpu_frequency_governor: layout.cpu_freq_governor,
                over_subscribe: sharing(spec).to_string(),
                tres_per_job: gpus(&gpu.gpus),
                tres_per_node: joined([gpus(&gpu.gpus_per_node), shown(&spec.gres)]),
                tres_per_socket: gpus(&gpu.gpus_per_socket),
                tres_per_task: gpus(&gpu.gpus_per_task),
                cpus_per_tres: each_gpu(gpu.cpus_per_gpu.map(u64::from)),
                memory_per_tres: each_gpu(gpu.memory_per_gpu),
                tres_bind: of_gpus(&gpu.gpu_bind),
                tres_freq: of_gpus(&gpu.gpu_freq),
                flags: flags(spec, gpu),
                ..JobDetail::default()
            })),
            ..JobView::outline(spec)
        }
    }
}

/// A script with its arguments.
fn command(spec: &JobSpec) -> String {
    let arguments = spec.arguments.iter().filter(|_| spec.allocation.is_none());
    let words = std::iter::once(&spec.command).chain(arguments);
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Names as Slurm lists them; a list that cannot be read stays as it is.
fn in_order(nodes: &str) -> String {
    let Ok(mut names) = hostlist::expand(nodes) else { return nodes.to_string() };
    names.sort_by(|a, b| hostlist::natural(a, b));
    names.dedup();
    hostlist::compress(names.iter())
}

/// Slurm counts one processor for a job whose nodes were given as a range and whose tasks were not given,
/// and one for each node where tasks share them.
fn processors(spec: &JobSpec, demand: Demand) -> u32 {
    let is_range = spec.nodes_max.is_some_and(|max| max != demand.nodes_min);
    let tasks_follow =
        spec.ntasks_said || spec.ntasks_per_node.is_some() || spec.gpu().ntasks_per_gpu.is_some();
    if spec.layout().overcommit {
        demand.nodes_min
    } else if is_range && !tasks_follow {
        demand.cpus_per_task
    } else {
        spec.ntasks.unwrap_or(demand.tasks).max(1).saturating_mul(demand.cpus_per_task)
    }
}

fn sharing(spec: &JobSpec) -> &'static str {
    match spec.sharing() {
        Sharing::Exclusive if spec.sharing.is_some() => "NO",
        Sharing::Oversubscribe => "YES",
        Sharing::User => "USER",
        Sharing::Mcs => "MCS",
        Sharing::Topology => "TOPO",
        Sharing::Exclusive => "OK",
    }
}

/// Words of `scontrol show job` that are said only where somebody asked.
fn flags(spec: &JobSpec, gpu: &GpuSpec) -> Vec<String> {
    let asked = [
        (spec.placement().spread_job, "SPREAD_JOB"),
        (gpu.enforce_binding == Some(true), "GRES_BINDING_ENFORCED"),
        (gpu.enforce_binding == Some(false), "GRES_BINDING_DISABLED"),
        (spec.lifecycle().kill_on_invalid_dep == Some(true), "KILL_INVALID_DEPENDENCY"),
        (spec.lifecycle().kill_on_invalid_dep == Some(false), "NO_KILL_INVALID_DEPENDENCY"),
    ];
    asked.iter().filter(|(is, _)| *is).map(|(_, flag)| (*flag).to_string()).collect()
}

/// `2` or `mi300x:2,h100:1`, with what they are in front of each.
fn gpus(list: &str) -> String {
    let items = list.split(',').filter(|item| !item.is_empty());
    items.map(|item| format!("gres:gpu:{item}")).collect::<Vec<_>>().join(",")
}

fn shown(list: &str) -> String {
    if list.is_empty() { String::new() } else { gres::shown(list) }
}

fn joined(lists: [String; 2]) -> String {
    lists.into_iter().filter(|list| !list.is_empty()).collect::<Vec<_>>().join(",")
}

fn each_gpu(amount: Option<u64>) -> String {
    amount.map_or_else(String::new, |amount| format!("gres:gpu:{amount}"))
}

fn of_gpus(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("gpu:{said}") }
}
