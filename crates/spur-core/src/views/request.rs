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

/// Tells one member of what a request asks for.
pub type Told = fn(&JobSpec, &mut JobDetail);

/// Those members of the detail that a request tells by itself.
#[rustfmt::skip]
pub static TOLD: &[(&str, Told)] = &[
    ("cpus_per_task", |s, d| d.cpus_per_task = s.cpus_per_task),
    ("min_cpus_per_node", |s, d| d.min_cpus_per_node = cpus_on_a_node(s)),
    ("min_tmp_disk_mb", |s, d| d.min_tmp_disk_mb = s.placement().tmp.unwrap_or(0)),
    ("memory_per_cpu_mb", |s, d| d.memory_per_cpu_mb = s.memory_per_cpu),
    ("memory_per_node_mb", |s, d| d.memory_per_node_mb = s.memory_per_node),
    ("alloc_node", |s, d| d.alloc_node = s.submit_host.clone()),
    ("alloc_sid", |s, d| d.alloc_sid = s.submit_session),
    ("work_dir", |s, d| d.work_dir = s.work_dir.clone()),
    ("command", |s, d| d.command = command(s)),
    ("batch_flag", |s, d| d.batch_flag = s.allocation.is_none()),
    ("nice", |s, d| d.nice = s.nice.unwrap_or(0)),
    ("comment", |s, d| d.comment = s.rare().comment.clone().unwrap_or_default()),
    ("admin_comment", |s, d| d.admin_comment = s.rare().admin_comment.clone()),
    ("extra", |s, d| d.extra = s.rare().extra.clone()),
    ("wckey", |s, d| d.wckey = s.rare().wckey.clone()),
    ("network", |s, d| d.network = s.rare().network.clone()),
    ("power", |s, d| d.power = s.rare().power.clone()),
    ("mcs_label", |s, d| d.mcs_label = s.rare().mcs_label.clone()),
    ("container", |s, d| d.container = s.rare().container.clone()),
    ("container_id", |s, d| d.container_id = s.rare().container_id.clone()),
    ("burst_buffer", |s, d| d.burst_buffer = s.rare().burst_buffer.clone()),
    ("reservation", |s, d| d.reservation = s.placement().reservation.clone()),
    ("licenses", |s, d| d.licenses = s.placement().licenses.clone()),
    ("features", |s, d| d.features = features::shown(&s.placement().constraint)),
    ("prefer", |s, d| d.prefer = s.placement().prefer.clone()),
    ("cluster_features", |s, d| d.cluster_features = s.placement().cluster_constraint.clone()),
    ("batch_features", |s, d| d.batch_features = s.placement().batch_constraint.clone()),
    ("required_nodes", |s, d| d.required_nodes = in_order(&s.placement().nodelist)),
    ("excluded_nodes", |s, d| d.excluded_nodes = in_order(&s.placement().exclude)),
    ("contiguous", |s, d| d.contiguous = s.placement().contiguous),
    ("reboot", |s, d| d.reboot = s.placement().reboot),
    ("required_switches", |s, d| d.required_switches = s.placement().switches.unwrap_or(0)),
    ("switch_wait_secs", |s, d| d.switch_wait_secs = s.placement().switches_wait_secs.unwrap_or(SWITCH_WAIT_SECS).min(SWITCH_WAIT_SECS)),
    ("core_spec", |s, d| d.core_spec = s.placement().core_spec),
    ("thread_spec", |s, d| d.thread_spec = s.placement().thread_spec),
    // Slurm keeps 16 bits of it, and has counted the tasks before.
    ("tasks_per_node", |s, d| d.tasks_per_node = s.ntasks_per_node.unwrap_or(0) & u32::from(u16::MAX)),
    ("tasks_per_socket", |s, d| d.tasks_per_socket = s.layout().ntasks_per_socket),
    ("tasks_per_core", |s, d| d.tasks_per_core = s.layout().ntasks_per_core),
    ("tasks_per_tres", |s, d| d.tasks_per_tres = s.gpu().ntasks_per_gpu.unwrap_or(0)),
    ("sockets_per_node", |s, d| d.sockets_per_node = s.layout().sockets_per_node),
    ("cores_per_socket", |s, d| d.cores_per_socket = s.layout().cores_per_socket),
    ("threads_per_core", |s, d| d.threads_per_core = s.layout().threads_per_core),
    ("time_min", |s, d| d.time_min = s.lifecycle().time_min),
    ("deadline", |s, d| d.deadline = s.lifecycle().deadline.unwrap_or(0)),
    ("delay_boot_secs", |s, d| d.delay_boot_secs = delay(s)),
    ("mail_user", |s, d| d.mail_user = s.lifecycle().mail_user.clone()),
    ("mail_types", |s, d| d.mail_types = MailTypes(s.lifecycle().mail_type).names().map(str::to_string).collect()),
    ("cpu_frequency_min", |s, d| d.cpu_frequency_min = s.layout().cpu_freq_min),
    ("cpu_frequency_max", |s, d| d.cpu_frequency_max = s.layout().cpu_freq_max),
    ("cpu_frequency_governor", |s, d| d.cpu_frequency_governor = s.layout().cpu_freq_governor),
    ("over_subscribe", |s, d| d.over_subscribe = sharing(s).to_string()),
    ("tres_per_job", |s, d| d.tres_per_job = gpus(&s.gpu().gpus)),
    ("tres_per_node", |s, d| d.tres_per_node = joined([gpus(&s.gpu().gpus_per_node), shown(&s.gres)])),
    ("tres_per_socket", |s, d| d.tres_per_socket = gpus(&s.gpu().gpus_per_socket)),
    ("tres_per_task", |s, d| d.tres_per_task = gpus(&s.gpu().gpus_per_task)),
    ("cpus_per_tres", |s, d| d.cpus_per_tres = each_gpu(s.gpu().cpus_per_gpu.map(u64::from))),
    ("memory_per_tres", |s, d| d.memory_per_tres = each_gpu(s.gpu().memory_per_gpu)),
    ("tres_bind", |s, d| d.tres_bind = of_gpus(&s.gpu().gpu_bind)),
    ("tres_freq", |s, d| d.tres_freq = of_gpus(&s.gpu().gpu_freq)),
    ("flags", |s, d| d.flags = flags(s, s.gpu())),
    ("profile", |s, d| d.profile = profile(s)),
];

impl JobView {
    /// How much of everything a request asks for.
    pub fn count(&mut self, spec: &JobSpec) {
        let demand = Demand::of(spec);
        self.num_nodes = demand.nodes_min;
        self.max_nodes = spec.nodes_max.unwrap_or(0);
        // One for each node, unless it was said how many each has.
        self.num_tasks = match (spec.ntasks_per_node, spec.ntasks) {
            (Some(_), Some(tasks)) => tasks,
            _ => demand.tasks,
        };
        self.num_cpus = processors(spec, demand);
        // Who is held may ask for no nodes yet.
        if spec.nodes_min == Some(0) {
            self.num_nodes = 0;
            if !spec.ntasks_said {
                (self.num_tasks, self.num_cpus) = (0, spec.cpus_per_task.unwrap_or(0));
            }
        }
    }

    /// A job of which only the request is known.
    pub fn of_request(spec: &JobSpec) -> JobView {
        let mut detail = JobDetail::default();
        TOLD.iter().for_each(|(_, tell)| tell(spec, &mut detail));
        let mut view = JobView {
            name: spec.name.clone(),
            partition: spec.partition.clone(),
            account: spec.account.clone(),
            qos: spec.qos.clone(),
            detail: Some(Box::new(detail)),
            ..JobView::default()
        };
        view.count(spec);
        view
    }
}

fn cpus_on_a_node(spec: &JobSpec) -> u32 {
    let tasks = match spec.ntasks_per_node {
        _ if spec.layout().overcommit || (spec.ntasks_said && spec.ntasks == Some(1)) => 1,
        each => each.unwrap_or(1).max(1),
    };
    let cpus = Demand::of(spec).cpus_per_task.saturating_mul(tasks);
    cpus.max(spec.placement().mincpus.unwrap_or(0))
}

fn delay(spec: &JobSpec) -> u32 {
    match spec.lifecycle().delay_boot_secs {
        Some(Limit::Is(secs)) => u32::try_from(secs).unwrap_or(u32::MAX),
        Some(Limit::Unlimited) => u32::MAX,
        None => 0,
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
    // Those that follow from GPUs count once there are GPUs.
    let each = if spec.gpu().cpus_per_gpu.is_some() { 1 } else { demand.cpus_per_task };
    if spec.layout().overcommit {
        demand.nodes_min
    } else if is_range && !tasks_follow {
        each
    } else {
        spec.ntasks.unwrap_or(demand.tasks).max(1).saturating_mul(each)
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

/// What `--profile` asks for, by Slurm's bits.
fn profile(spec: &JobSpec) -> Vec<String> {
    const KINDS: &[(u32, &str)] =
        &[(1, "None"), (2, "Energy"), (8, "Lustre"), (16, "Network"), (4, "Task")];
    let bits = match spec.rare().profile.unwrap_or(0) {
        u32::MAX => !1,
        bits => bits,
    };
    KINDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, kind)| (*kind).to_string()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_follow_from_gpus_count_once_there_are_gpus() {
        let mut spec = JobSpec { ntasks: Some(2), cpus_per_task: Some(4), ..JobSpec::default() };
        assert_eq!(JobView::of_request(&spec).num_cpus, 8);
        spec.gpu_mut().cpus_per_gpu = Some(4);
        assert_eq!(JobView::of_request(&spec).num_cpus, 2);
    }

    #[test]
    fn who_asks_for_no_nodes_yet_is_told_as_such() {
        let counts = |ntasks_said, cpus_per_task| {
            let (nodes_min, ntasks) = (Some(0), Some(3).filter(|_| ntasks_said));
            let spec =
                JobSpec { nodes_min, ntasks, ntasks_said, cpus_per_task, ..JobSpec::default() };
            let view = JobView::of_request(&spec);
            (view.num_nodes, view.num_cpus, view.num_tasks)
        };
        assert_eq!(counts(false, None), (0, 0, 0));
        assert_eq!(counts(false, Some(2)), (0, 2, 0));
        assert_eq!(counts(true, None), (0, 3, 3));
    }
}
