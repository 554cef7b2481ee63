//! What a user asks for, as one record: the wire and the log carry it as it stands.
//!
//! Tags are append-only, as in `proto/job.proto`, where the same messages are published; a test in
//! `spur-proto` compares the two. A field that was not said is `None` or empty, so that defaults are
//! filled in one place.

use std::sync::LazyLock;

pub use super::signal::EarlySignal;
use crate::limit::Limit;

/// A job as asked for. Who asks is not part of it: that comes from the channel.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct JobSpec {
    /// `--job-name`
    #[prost(string, tag = "1")]
    pub name: String,
    /// `--partition`: one or several, by comma.
    #[prost(string, tag = "2")]
    pub partition: String,
    /// `--account`
    #[prost(string, tag = "3")]
    pub account: String,
    /// `--nodes=MIN[-MAX]`
    #[prost(uint32, optional, tag = "4")]
    pub nodes_min: Option<u32>,
    /// `--nodes=MIN-MAX`
    #[prost(uint32, optional, tag = "5")]
    pub nodes_max: Option<u32>,
    /// `--ntasks`
    #[prost(uint32, optional, tag = "6")]
    pub ntasks: Option<u32>,
    /// `--cpus-per-task`
    #[prost(uint32, optional, tag = "7")]
    pub cpus_per_task: Option<u32>,
    /// `--time`, in minutes.
    #[prost(message, optional, tag = "8")]
    pub time_limit: Option<Limit>,
    /// `--output`: a pattern, see `filename.rs`. Empty: Slurm's default.
    #[prost(string, tag = "9")]
    pub output: String,
    /// `--error`: a pattern. Empty: where the output goes.
    #[prost(string, tag = "10")]
    pub error: String,
    /// `--input`: a pattern. Empty: `/dev/null`.
    #[prost(string, tag = "11")]
    pub input: String,
    /// `--chdir`, or where the command was called.
    #[prost(string, tag = "12")]
    pub work_dir: String,
    /// Arguments of the script.
    #[prost(string, repeated, tag = "13")]
    pub arguments: Vec<String>,
    /// The command line that submitted the job, as `SubmitLine` shows it.
    #[prost(string, tag = "14")]
    pub submit_line: String,
    /// The script's path as given, or empty for `--wrap` and standard input.
    #[prost(string, tag = "15")]
    pub command: String,
    /// `--open-mode=append` (true) or `truncate` (false).
    #[prost(bool, optional, tag = "16")]
    pub open_append: Option<bool>,
    /// `--hold`
    #[prost(bool, tag = "17")]
    pub hold: bool,
    /// `--export`: names and assignments as given.
    #[prost(string, tag = "18")]
    pub export: String,
    /// `--qos`
    #[prost(string, tag = "19")]
    pub qos: String,
    /// `--dependency`, as given: the controller knows the jobs it names.
    #[prost(string, tag = "20")]
    pub dependency: String,
    /// `--array`, as given: the controller knows how large one may be.
    #[prost(string, tag = "21")]
    pub array: String,
    /// `--begin`, in seconds since the epoch.
    #[prost(int64, optional, tag = "22")]
    pub begin: Option<i64>,
    /// `--mem`, in MiB; zero asks for all there is.
    #[prost(uint64, optional, tag = "23")]
    pub memory_per_node: Option<u64>,
    /// `--mem-per-cpu`, in MiB; zero asks for all there is.
    #[prost(uint64, optional, tag = "24")]
    pub memory_per_cpu: Option<u64>,
    /// `--ntasks-per-node`
    #[prost(uint32, optional, tag = "25")]
    pub ntasks_per_node: Option<u32>,
    /// `--priority`; zero holds the job.
    #[prost(uint32, optional, tag = "26")]
    pub priority: Option<u32>,
    /// `--nice`
    #[prost(int32, optional, tag = "27")]
    pub nice: Option<i32>,
    /// `--requeue` (true) or `--no-requeue` (false).
    #[prost(bool, optional, tag = "28")]
    pub requeue: Option<bool>,
    /// `--exclusive`, `--oversubscribe`
    #[prost(enumeration = "Sharing", optional, tag = "29")]
    pub sharing: Option<i32>,
    /// `--gres`: what each node must have.
    #[prost(string, tag = "30")]
    pub gres: String,
    /// Options about GPUs and what goes with each.
    #[prost(message, optional, boxed, tag = "31")]
    pub gpu: Option<Box<GpuSpec>>,
    /// Options about which nodes.
    #[prost(message, optional, boxed, tag = "32")]
    pub placement: Option<Box<PlacementSpec>>,
    /// Options about sockets, cores, threads and the tasks on them.
    #[prost(message, optional, boxed, tag = "33")]
    pub layout: Option<Box<LayoutSpec>>,
    /// Options about the time between submission and end.
    #[prost(message, optional, boxed, tag = "34")]
    pub lifecycle: Option<Box<LifecycleSpec>>,
    /// Options few jobs use.
    #[prost(message, optional, boxed, tag = "35")]
    pub rare: Option<Box<RareSpec>>,
    /// Whether `--ntasks` was said, or follows from other options.
    #[prost(bool, tag = "36")]
    pub ntasks_said: bool,
    /// `--nodes=1,3-5`: the sizes that will do, when not all from the least to the most.
    #[prost(string, tag = "37")]
    pub node_sizes: String,
    /// The submitting process's file mode mask, which the job takes over.
    #[prost(uint32, optional, tag = "38")]
    pub umask: Option<u32>,
    /// The machine the job was submitted on.
    #[prost(string, tag = "39")]
    pub submit_host: String,
    /// The session it was submitted in.
    #[prost(uint32, tag = "40")]
    pub submit_session: u32,
    /// A job without a script; see there.
    #[prost(message, optional, boxed, tag = "60")]
    pub allocation: Option<Box<AllocationSpec>>,
}

/// A job without a script: who waits for its resources.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AllocationSpec {
    /// The machine the command was called on.
    #[prost(string, tag = "1")]
    pub host: String,
    /// The session it was called in.
    #[prost(uint32, tag = "2")]
    pub session: u32,
    /// Nobody attends it once it is granted: `salloc --no-shell`.
    #[prost(bool, tag = "3")]
    pub unattended: bool,
    /// `--immediate`: seconds to wait for resources; zero means they are free now or never.
    #[prost(uint32, optional, tag = "4")]
    pub immediate_secs: Option<u32>,
}

/// Who may share a job's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum Sharing {
    /// `--exclusive`: nobody.
    Exclusive = 0,
    /// `--oversubscribe`: anybody, CPUs too.
    Oversubscribe = 1,
    /// `--exclusive=user`: jobs of the same user.
    User = 2,
    /// `--exclusive=mcs`: jobs with the same MCS label.
    Mcs = 3,
    /// `--exclusive=topo`: nobody, on the whole block of the topology.
    Topology = 4,
}

/// GPUs, and what goes with each.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct GpuSpec {
    /// `--gpus`: for the whole job.
    #[prost(string, tag = "1")]
    pub gpus: String,
    /// `--gpus-per-node`
    #[prost(string, tag = "2")]
    pub gpus_per_node: String,
    /// `--gpus-per-socket`
    #[prost(string, tag = "3")]
    pub gpus_per_socket: String,
    /// `--gpus-per-task`
    #[prost(string, tag = "4")]
    pub gpus_per_task: String,
    /// `--cpus-per-gpu`
    #[prost(uint32, optional, tag = "5")]
    pub cpus_per_gpu: Option<u32>,
    /// `--mem-per-gpu`, in MiB.
    #[prost(uint64, optional, tag = "6")]
    pub memory_per_gpu: Option<u64>,
    /// `--ntasks-per-gpu`
    #[prost(uint32, optional, tag = "7")]
    pub ntasks_per_gpu: Option<u32>,
    /// `--gpu-bind`
    #[prost(string, tag = "8")]
    pub gpu_bind: String,
    /// `--gpu-freq`
    #[prost(string, tag = "9")]
    pub gpu_freq: String,
    /// `--gres-flags=enforce-binding` (true) or `disable-binding` (false).
    #[prost(bool, optional, tag = "10")]
    pub enforce_binding: Option<bool>,
    /// `--gres-flags`: the others, by comma.
    #[prost(string, tag = "11")]
    pub gres_flags: String,
    /// `--tres-per-task`
    #[prost(string, tag = "12")]
    pub tres_per_task: String,
    /// `--tres-bind`
    #[prost(string, tag = "13")]
    pub tres_bind: String,
    /// How many GPUs the tasks need when only `--ntasks-per-gpu` asks for any.
    #[prost(uint32, optional, tag = "14")]
    pub generated_gpus: Option<u32>,
}

/// Which nodes.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct PlacementSpec {
    /// `--nodelist`
    #[prost(string, tag = "1")]
    pub nodelist: String,
    /// `--exclude`
    #[prost(string, tag = "2")]
    pub exclude: String,
    /// `--constraint`
    #[prost(string, tag = "3")]
    pub constraint: String,
    /// `--prefer`
    #[prost(string, tag = "4")]
    pub prefer: String,
    /// `--batch`: features of the node that runs the script.
    #[prost(string, tag = "5")]
    pub batch_constraint: String,
    /// `--cluster-constraint`
    #[prost(string, tag = "6")]
    pub cluster_constraint: String,
    /// `--reservation`
    #[prost(string, tag = "7")]
    pub reservation: String,
    /// `--licenses`
    #[prost(string, tag = "8")]
    pub licenses: String,
    /// `--contiguous`
    #[prost(bool, tag = "9")]
    pub contiguous: bool,
    /// `--spread-job`
    #[prost(bool, tag = "10")]
    pub spread_job: bool,
    /// `--use-min-nodes`
    #[prost(bool, tag = "11")]
    pub use_min_nodes: bool,
    /// `--switches=COUNT`
    #[prost(uint32, optional, tag = "12")]
    pub switches: Option<u32>,
    /// `--switches=COUNT@TIME`, in seconds.
    #[prost(uint32, optional, tag = "13")]
    pub switches_wait_secs: Option<u32>,
    /// `--mincpus`
    #[prost(uint32, optional, tag = "14")]
    pub mincpus: Option<u32>,
    /// `--tmp`, in MiB.
    #[prost(uint64, optional, tag = "15")]
    pub tmp: Option<u64>,
    /// `--core-spec`
    #[prost(uint32, optional, tag = "16")]
    pub core_spec: Option<u32>,
    /// `--thread-spec`
    #[prost(uint32, optional, tag = "17")]
    pub thread_spec: Option<u32>,
    /// `--segment`: nodes of one segment stay within one block of the topology.
    #[prost(uint32, optional, tag = "18")]
    pub segment: Option<u32>,
    /// `--consolidate-segments`
    #[prost(bool, tag = "19")]
    pub consolidate_segments: bool,
    /// `--spread-segments`
    #[prost(bool, tag = "20")]
    pub spread_segments: bool,
    /// `--reboot`
    #[prost(bool, tag = "21")]
    pub reboot: bool,
    /// `--clusters`
    #[prost(string, tag = "22")]
    pub clusters: String,
}

/// Sockets, cores, threads, and the tasks on them.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct LayoutSpec {
    /// `--sockets-per-node`
    #[prost(uint32, optional, tag = "1")]
    pub sockets_per_node: Option<u32>,
    /// `--cores-per-socket`
    #[prost(uint32, optional, tag = "2")]
    pub cores_per_socket: Option<u32>,
    /// `--threads-per-core`
    #[prost(uint32, optional, tag = "3")]
    pub threads_per_core: Option<u32>,
    /// `--ntasks-per-socket`
    #[prost(uint32, optional, tag = "4")]
    pub ntasks_per_socket: Option<u32>,
    /// `--ntasks-per-core`
    #[prost(uint32, optional, tag = "5")]
    pub ntasks_per_core: Option<u32>,
    /// `--distribution`, as given.
    #[prost(string, tag = "6")]
    pub distribution: String,
    /// `--distribution=plane=SIZE`
    #[prost(uint32, optional, tag = "7")]
    pub plane_size: Option<u32>,
    /// `--hint`, as given; what it says about threads is in the fields above.
    #[prost(string, tag = "8")]
    pub hint: String,
    /// `--mem-bind`
    #[prost(string, tag = "9")]
    pub mem_bind: String,
    /// `--overcommit`
    #[prost(bool, tag = "10")]
    pub overcommit: bool,
    /// `--cpu-freq`: the lowest frequency in kHz, or one of Slurm's codes.
    #[prost(uint32, optional, tag = "11")]
    pub cpu_freq_min: Option<u32>,
    /// `--cpu-freq`: the highest frequency.
    #[prost(uint32, optional, tag = "12")]
    pub cpu_freq_max: Option<u32>,
    /// `--cpu-freq`: the governor, as a code.
    #[prost(uint32, optional, tag = "13")]
    pub cpu_freq_governor: Option<u32>,
    /// `--resv-ports`; zero leaves the number to the step.
    #[prost(uint32, optional, tag = "14")]
    pub reserved_ports: Option<u32>,
    /// `--extra-node-info`, as given.
    #[prost(string, tag = "15")]
    pub extra_node_info: String,
}

/// What happens between submission and end.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct LifecycleSpec {
    /// `--mail-type`, as Slurm's bits.
    #[prost(uint32, tag = "1")]
    pub mail_type: u32,
    /// `--mail-user`
    #[prost(string, tag = "2")]
    pub mail_user: String,
    /// `--signal`
    #[prost(message, optional, tag = "3")]
    pub signal: Option<EarlySignal>,
    /// `--time-min`, in minutes.
    #[prost(message, optional, tag = "4")]
    pub time_min: Option<Limit>,
    /// `--deadline`, in seconds since the epoch.
    #[prost(int64, optional, tag = "5")]
    pub deadline: Option<i64>,
    /// `--delay-boot`, in seconds.
    #[prost(message, optional, tag = "6")]
    pub delay_boot_secs: Option<Limit>,
    /// `--kill-on-invalid-dep`
    #[prost(bool, optional, tag = "7")]
    pub kill_on_invalid_dep: Option<bool>,
    /// `--no-kill`
    #[prost(bool, tag = "8")]
    pub no_kill: bool,
    /// `--wait-all-nodes`
    #[prost(bool, optional, tag = "9")]
    pub wait_all_nodes: Option<bool>,
    /// `--oom-kill-step`
    #[prost(bool, optional, tag = "10")]
    pub oom_kill_step: Option<bool>,
    /// `--immediate`: seconds to wait for resources; zero means they are free now or never.
    #[prost(uint32, optional, tag = "11")]
    pub immediate_secs: Option<u32>,
    /// `--max-restarts`
    #[prost(uint32, optional, tag = "12")]
    pub max_restarts: Option<u32>,
    /// `--restart-on`: exit codes as `1,3-5`; empty for any but zero.
    #[prost(string, tag = "13")]
    pub restart_on: String,
    /// `--restart-delay`: after the first failure; twice as long after each further one.
    #[prost(uint32, optional, tag = "14")]
    pub restart_delay_secs: Option<u32>,
}

/// What few jobs say.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RareSpec {
    /// `--comment`
    #[prost(string, optional, tag = "1")]
    pub comment: Option<String>,
    /// `--wckey`
    #[prost(string, tag = "2")]
    pub wckey: String,
    /// `--mcs-label`
    #[prost(string, tag = "3")]
    pub mcs_label: String,
    /// `--extra`
    #[prost(string, tag = "4")]
    pub extra: String,
    /// `--container`: the path of an OCI bundle.
    #[prost(string, tag = "5")]
    pub container: String,
    /// `--container-id`
    #[prost(string, tag = "6")]
    pub container_id: String,
    /// `--context`: an SELinux context.
    #[prost(string, tag = "7")]
    pub context: String,
    /// `--propagate`: limits to pass on.
    #[prost(string, tag = "8")]
    pub propagate: String,
    /// `--profile`, as Slurm's bits.
    #[prost(uint32, optional, tag = "9")]
    pub profile: Option<u32>,
    /// `--acctg-freq`
    #[prost(string, tag = "10")]
    pub acctg_freq: String,
    /// `--network`: shown, without effect.
    #[prost(string, tag = "11")]
    pub network: String,
    /// `--power`: shown, without effect.
    #[prost(string, tag = "12")]
    pub power: String,
    /// `--bb`: shown, without effect.
    #[prost(string, tag = "13")]
    pub burst_buffer: String,
    /// `--stepmgr`
    #[prost(bool, tag = "14")]
    pub stepmgr: bool,
    /// `--external`: the job's work is started by somebody else.
    #[prost(bool, tag = "15")]
    pub external: bool,
    /// `--resources`: a hierarchical resource by name.
    #[prost(string, tag = "16")]
    pub resources: String,
    /// `--x11`: `all`, `first`, `last` or `batch`.
    #[prost(string, tag = "17")]
    pub x11: String,
    /// Added to the priority by an administrator, with `scontrol update`.
    #[prost(int32, optional, tag = "18")]
    pub site_factor: Option<i32>,
    /// What an administrator notes down, with `scontrol update`.
    #[prost(string, tag = "19")]
    pub admin_comment: String,
}

/// Sub-records are absent in most jobs; these read and write them as if they were always there.
macro_rules! parts {
    ($($field:ident, $part:ident, $record:ident;)*) => {
        impl JobSpec {
            $(
                /// The part, or an empty one.
                pub fn $field(&self) -> &$record {
                    static EMPTY: LazyLock<$record> = LazyLock::new($record::default);
                    self.$field.as_deref().unwrap_or(&EMPTY)
                }

                /// The part, made when it was not there.
                pub fn $part(&mut self) -> &mut $record {
                    self.$field.get_or_insert_default()
                }
            )*
        }
    };
}

parts! {
    gpu, gpu_mut, GpuSpec;
    placement, placement_mut, PlacementSpec;
    layout, layout_mut, LayoutSpec;
    lifecycle, lifecycle_mut, LifecycleSpec;
    rare, rare_mut, RareSpec;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pending job may cost a kilobyte, its texts included.
    #[test]
    fn a_spec_stays_small() {
        assert!(size_of::<JobSpec>() <= 600);
    }

    #[test]
    fn a_part_is_there_once_it_is_written() {
        let mut job = JobSpec::default();
        assert_eq!(job.placement().nodelist, "");
        assert!(job.placement.is_none());
        job.placement_mut().nodelist = "n1".to_owned();
        assert_eq!(job.placement().nodelist, "n1");
    }
}
