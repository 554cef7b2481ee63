//! Partitions.

use crate::config::amounts::{Count, Megabytes, Minutes, Seconds, SecondsOrNever};
use crate::config::by_name::Weights;
use crate::config::keys::section;
use crate::config::sharing::{OverSubscribe, PreemptMode};
use crate::config::things::{Allowed, NodeList};
use crate::config::words::{Consume, CpuBind, PartitionState, Unreachable};
use crate::limit::Limit;

section! {
    /// A partition: nodes with rules. Without any, one named `default` has all nodes.
    Partition = "partitions", repeated true;
    /// Its name.
    name: String = String::new(), Now, ["PartitionName"];
    /// Its nodes or node sets; `all` is every node, also those that join later.
    nodes: NodeList = NodeList::All, Now, ["Nodes"];
    /// Jobs that name no partition go here. A partition that is alone is the default unless it says no.
    default: Option<bool> = None, Now, ["Default"];
    /// Whether jobs may enter and start.
    state: PartitionState = PartitionState::Up, Now, ["State"];
    /// The longest time limit.
    max_time: Minutes = Minutes(Limit::Unlimited), Now, ["MaxTime"];
    /// The limit of jobs that ask for none; none: `max_time`.
    default_time: Option<Minutes> = None, Now, ["DefaultTime"];
    /// How long jobs may run beyond their limit; none: `timeouts.over_time_limit`.
    over_time_limit: Option<Minutes> = None, Now, ["OverTimeLimit"];
    /// The most nodes of a job.
    max_nodes: Count = Count(Limit::Unlimited), Now, ["MaxNodes"];
    /// The fewest nodes of a job.
    min_nodes: u32 = 0, Now, ["MinNodes"];
    /// CPUs of a node that jobs of this partition can have together.
    max_cpus_per_node: Count = Count(Limit::Unlimited), Now, ["MaxCPUsPerNode"];
    /// CPUs of a socket that jobs of this partition can have together.
    max_cpus_per_socket: Count = Count(Limit::Unlimited), Now, ["MaxCPUsPerSocket"];
    /// Memory for each CPU when a job does not ask; none: `jobs.def_mem_per_cpu`.
    def_mem_per_cpu: Option<Megabytes> = None, Now, ["DefMemPerCPU"];
    /// Memory on each node when a job does not ask; 0 is all of it.
    def_mem_per_node: Option<Megabytes> = None, Now, ["DefMemPerNode"];
    /// Memory for each GPU when a job does not ask.
    def_mem_per_gpu: Option<Megabytes> = None, Now, ["DefMemPerGPU"];
    /// CPUs for each GPU when a job does not ask.
    def_cpu_per_gpu: Option<u32> = None, Now, ["DefCpuPerGPU"];
    /// The most memory for each CPU; 0 is no limit.
    max_mem_per_cpu: Option<Megabytes> = None, Now, ["MaxMemPerCPU"];
    /// The most memory on each node; 0 is no limit.
    max_mem_per_node: Option<Megabytes> = None, Now, ["MaxMemPerNode"];
    /// Accounts that may use it.
    allow_accounts: Allowed = Allowed::All, Now, ["AllowAccounts"];
    /// Accounts that may not; not looked at when `allow_accounts` is set.
    deny_accounts: Vec<String> = vec![], Now, ["DenyAccounts"];
    /// Groups that may use it, and see it.
    allow_groups: Allowed = Allowed::All, Now, ["AllowGroups"];
    /// QOS that may be used in it.
    allow_qos: Allowed = Allowed::All, Now, ["AllowQos"];
    /// QOS that may not; not looked at when `allow_qos` is set.
    deny_qos: Vec<String> = vec![], Now, ["DenyQos"];
    /// Nodes from which jobs may be submitted to it.
    alloc_nodes: NodeList = NodeList::All, Now, ["AllocNodes"];
    /// Where jobs go while this partition takes none.
    alternate: Option<String> = None, Now, ["Alternate"];
    /// The QOS whose limits hold for the partition.
    qos: Option<String> = None, Now, ["QOS"];
    /// Jobs must name a reservation.
    require_reservation: bool = false, Now, ["ReqResv"];
    /// Only root may submit to it.
    root_only: bool = false, Now, ["RootOnly"];
    /// Root may not submit to it; none: `jobs.disable_root_jobs`.
    disable_root_jobs: Option<bool> = None, Now, ["DisableRootJobs"];
    /// Not shown unless asked for with `--all`.
    hidden: bool = false, Now, ["Hidden"];
    /// A node has jobs of one user at a time.
    exclusive_user: bool = false, Now, ["ExclusiveUser"];
    /// A node has jobs of one topology block at a time.
    exclusive_topology: bool = false, Now, ["ExclusiveTopo"];
    /// Whether a resource is given to several jobs at a time.
    over_subscribe: OverSubscribe = OverSubscribe::No, Now, ["OverSubscribe", "Shared"];
    /// Choose the node with most idle CPUs.
    least_loaded: bool = false, Now, ["LLN"];
    /// What a job is given; none: `scheduler.consume`.
    consume: Option<Consume> = None, Now, ["SelectTypeParameters"];
    /// Where tasks are pinned when neither step nor node says.
    cpu_bind: Option<CpuBind> = None, Now, ["CpuBind"];
    /// The topology its jobs are placed by.
    topology: Option<String> = None, Now, ["Topology"];
    /// Jobs of higher tiers are considered first, and may displace lower ones.
    priority_tier: u16 = 1, Now, ["PriorityTier"];
    /// The partition's part of a job's priority.
    priority_job_factor: u16 = 1, Now, ["PriorityJobFactor"];
    /// What becomes of its jobs when displaced; none: `preemption.mode`.
    preempt_mode: Option<PreemptMode> = None, Now, ["PreemptMode"];
    /// How long a displaced job may take to end.
    grace_time: Seconds = Seconds(0), Now, ["GraceTime"];
    /// What each resource costs; none: one for each CPU.
    tres_billing_weights: Option<Weights> = None, Now, ["TRESBillingWeights"];
    /// Nodes go to sleep after this much idleness; none: `power.suspend_time`.
    suspend_time: Option<SecondsOrNever> = None, Now, ["SuspendTime"];
    /// None: `power.suspend_timeout`.
    suspend_timeout: Option<Seconds> = None, Now, ["SuspendTimeout"];
    /// None: `power.resume_timeout`.
    resume_timeout: Option<Seconds> = None, Now, ["ResumeTimeout"];
    /// Nodes go to sleep as soon as they are idle.
    power_down_on_idle: bool = false, Now, ["PowerDownOnIdle"];
    /// What happens to jobs of silent nodes; none: `unreachable` above.
    unreachable: Option<Unreachable> = None, Now, [];
    /// Tasks can never gain rights: no setuid helpers such as `sudo` or `fusermount`, no namespaces, mounts, keys or
    /// other system calls that jobs do not need.
    harden: bool = false, Now, [];
}
