//! What the environment of jobs, steps and tasks is made from.

/// A job as its processes are told about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFacts {
    /// Its number.
    pub job_id: u32,
    /// `--job-name`, or what stands in for it.
    pub name: String,
    /// Whom it is charged to.
    pub account: String,
    /// Where it runs.
    pub partition: String,
    /// Under which QOS.
    pub qos: String,
    /// In which reservation, if any.
    pub reservation: String,
    /// The owner.
    pub user_name: String,
    /// The owner's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// The cluster's name.
    pub cluster: String,
    /// Name and address of the cluster as `SLURM_WORKING_CLUSTER` has them; empty leaves it out.
    pub working_cluster: String,
    /// All nodes, compressed.
    pub nodes: String,
    /// CPUs on each node, in the order of `nodes`.
    pub cpus_per_node: Vec<u32>,
    /// Tasks on each node, in the order of `nodes`.
    pub tasks_per_node: Vec<u32>,
    /// `--ntasks`, if anybody said or implied it.
    pub tasks: Option<u32>,
    /// `--cpus-per-task`
    pub cpus_per_task: Option<u32>,
    /// `--ntasks-per-node`
    pub tasks_per_node_asked: Option<u32>,
    /// `--ntasks-per-core`
    pub tasks_per_core: Option<u32>,
    /// `--ntasks-per-socket`
    pub tasks_per_socket: Option<u32>,
    /// `--ntasks-per-gpu`
    pub tasks_per_gpu: Option<u32>,
    /// `--threads-per-core`
    pub threads_per_core: Option<u32>,
    /// `--mem-per-cpu`, or the partition's default.
    pub memory_per_cpu_mb: Option<u64>,
    /// `--mem`, or the partition's default.
    pub memory_per_node_mb: Option<u64>,
    /// `--mem-per-gpu`
    pub memory_per_gpu_mb: Option<u64>,
    /// `--gpus`
    pub gpus: String,
    /// `--gpus-per-node`
    pub gpus_per_node: String,
    /// `--gpus-per-socket`
    pub gpus_per_socket: String,
    /// `--gpus-per-task`
    pub gpus_per_task: String,
    /// `--cpus-per-gpu`
    pub cpus_per_gpu: String,
    /// `--gpu-bind`
    pub gpu_bind: String,
    /// `--gpu-freq`
    pub gpu_freq: String,
    /// `--tres-per-task`
    pub tres_per_task: String,
    /// `--distribution` without a plane's size.
    pub distribution: String,
    /// The size in `--distribution=plane=SIZE`.
    pub plane_size: Option<u32>,
    /// `--overcommit`
    pub overcommit: bool,
    /// `--dependency` as given.
    pub dependency: String,
    /// `--export` as given; empty for the default.
    pub export: String,
    /// `--get-user-env`, also implied by an `--export` that leaves the environment behind.
    pub get_user_env: bool,
    /// `--open-mode`: `a` or `t`; empty for the default.
    pub open_mode: String,
    /// `--profile`
    pub profile: String,
    /// `--hint`
    pub hint: String,
    /// `--licenses`
    pub licenses: String,
    /// `--container`
    pub container: String,
    /// `--container-id`
    pub container_id: String,
    /// Where the submitting command was called.
    pub submit_dir: String,
    /// On which machine.
    pub submit_host: String,
    /// The nice value of the submitting process.
    pub priority_process: i32,
    /// When it started; 0 leaves it out.
    pub start_time: i64,
    /// When it must end; 0 leaves it out.
    pub end_time: i64,
    /// How often it was started again.
    pub restarts: u32,
    /// Its place in an array.
    pub array: Option<ArrayFacts>,
    /// All components of the heterogeneous job, this one among them; empty for other jobs.
    pub components: Vec<JobFacts>,
}

/// A task of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayFacts {
    /// The array's number.
    pub job_id: u32,
    /// Which task.
    pub task_id: u32,
    /// How many there are.
    pub count: u32,
    /// The lowest.
    pub min: u32,
    /// The highest.
    pub max: u32,
    /// The distance between two.
    pub step: u32,
}

/// A step as its tasks are told about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepFacts {
    /// Its number within the job.
    pub step_id: u32,
    /// Its nodes, compressed.
    pub nodes: String,
    /// Tasks on each node, in the order of `nodes`.
    pub tasks_per_node: Vec<u32>,
    /// `--cpus-per-task` of the step.
    pub cpus_per_task: Option<u32>,
    /// `--ntasks-per-node` of the step.
    pub tasks_per_node_asked: Option<u32>,
    /// The distribution in use; empty where srun does not say.
    pub distribution: String,
    /// `--cpu-bind`: verbosity, type and list.
    pub cpu_bind: Option<CpuBindFacts>,
    /// `--cpu-freq`
    pub cpu_freq: String,
    /// `--label`
    pub label: bool,
    /// `--overcommit` of the step.
    pub overcommit: bool,
    /// Where srun runs.
    pub launcher_address: String,
    /// Where srun listens.
    pub launcher_port: u16,
    /// The umask of srun.
    pub umask: u32,
    /// How much srun tells: 3, one more for each `-v`, one less for `-Q`.
    pub debug_level: u32,
    /// Whether the step was started inside an allocation made before.
    pub inside_allocation: bool,
    /// Ports set aside for MPI: `12000-12003`.
    pub reserved_ports: String,
}

/// `--cpu-bind`, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuBindFacts {
    /// `verbose` rather than `quiet`.
    pub verbose: bool,
    /// `cores`, `map_cpu:`, …
    pub kind: String,
    /// What follows `map_cpu:` and its like.
    pub list: String,
}

/// The node a process runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HereFacts {
    /// The node's name.
    pub node: String,
    /// Its place among the nodes of the job or step.
    pub node_id: u32,
    /// CPUs given here.
    pub cpus: u32,
    /// Switches above the node and the node, with dots: `s0.s4.n1`; empty is the node alone.
    pub topology: String,
    /// Where temporary files go; empty leaves it to the user's environment.
    pub tmp_dir: String,
    /// The GPUs given here, if any.
    pub gpus: Option<GpuFacts>,
    /// GPU shards given here.
    pub shards: u32,
}

/// GPUs on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuFacts {
    /// Whose they are.
    pub vendor: GpuVendor,
    /// Numbers on the node of all that the job or step has here.
    pub given: Vec<u32>,
    /// Those of them this process is to see.
    pub seen: Vec<u32>,
    /// Whether the device cgroup hides all others, so that programs count from 0.
    pub others_hidden: bool,
    /// GPUs of other makers that are counted before these; programs count those of one maker from 0.
    pub before: u32,
    /// What programs call those to see, where numbers are not enough; empty otherwise.
    pub names: Vec<String>,
    /// What binds tasks to GPUs, as `gpu:per_task:1`; empty for nothing.
    pub bind: String,
}

/// Who makes a GPU, which decides the variables its programs read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuVendor {
    /// `ROCR_VISIBLE_DEVICES`
    Amd,
    /// `CUDA_VISIBLE_DEVICES`
    Nvidia,
    /// `ZE_AFFINITY_MASK`
    Intel,
    /// Declared only: all of them, as Slurm does.
    #[default]
    Unknown,
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// The node it runs on.
    pub here: HereFacts,
    /// Its number in the step.
    pub rank: u32,
    /// Its number on the node.
    pub local_rank: u32,
    /// The numbers in the step of all tasks on this node.
    pub ranks_here: Vec<u32>,
    /// Its process.
    pub pid: u32,
}
