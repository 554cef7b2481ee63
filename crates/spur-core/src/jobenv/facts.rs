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
    /// `--acctg-freq`
    pub acctg_freq: String,
    /// `--cpu-freq`
    pub cpu_freq: String,
    /// `--mem-bind`
    pub mem_bind: Option<CpuBindFacts>,
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
    /// `--job-name` of the step; empty where it says none and the job's holds.
    pub name: String,
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
    /// `--ntasks-per-core` of the step.
    pub tasks_per_core: Option<u32>,
    /// `--ntasks-per-socket` of the step.
    pub tasks_per_socket: Option<u32>,
    /// `--threads-per-core` of the step, or what follows from `--hint`.
    pub threads_per_core: Option<u32>,
    /// The distribution in use; empty where srun does not say.
    pub distribution: String,
    /// `--distribution=plane=`
    pub plane_size: Option<u32>,
    /// `--cpu-bind`: verbosity, type and list.
    pub cpu_bind: Option<CpuBindFacts>,
    /// `--mem-bind`, the same way.
    pub mem_bind: Option<CpuBindFacts>,
    /// `--cpu-freq`
    pub cpu_freq: String,
    /// `--label`
    pub label: bool,
    /// `--overcommit` of the step.
    pub overcommit: bool,
    /// Where srun runs.
    pub launcher_address: String,
    /// The port that is srun's; 0 for none.
    pub launcher_port: u16,
    /// The umask of srun.
    pub umask: u32,
    /// How much srun tells: 3, one more for each `-v`, one less for `-Q`.
    pub debug_level: u32,
    /// Whether the step was started inside an allocation made before.
    pub inside_allocation: bool,
    /// Whether it goes over several components of a heterogeneous job.
    pub of_several_components: bool,
    /// `--mpi`
    pub mpi: String,
    /// Ports set aside for MPI: `12000-12003`.
    pub reserved_ports: String,
}

/// `--cpu-bind` or `--mem-bind`, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuBindFacts {
    /// `verbose` rather than `quiet`.
    pub verbose: bool,
    /// `cores`, `map_cpu:`, …
    pub kind: String,
    /// What follows `map_cpu:` and its like.
    pub list: String,
    /// `prefer`, or nothing; of memory only.
    pub prefer: &'static str,
    /// `sort`, or nothing; of memory only.
    pub sort: &'static str,
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
    /// Switches above the node and the node, with dots: `s0.s4.n1`; empty for the node alone.
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
    /// All that the job or step has here, in the node's order.
    pub given: Vec<GpuDevice>,
    /// The node's numbers of those of them this process is to see.
    pub seen: Vec<u32>,
    /// Whether the device cgroup hides all others, so that programs count from 0.
    pub others_hidden: bool,
    /// Makers of GPUs that are here and not hidden, of which this process has none.
    pub withheld: Vec<GpuVendor>,
    /// What binds tasks to GPUs, as `gpu:per_task:1`; empty for nothing.
    pub bind: String,
}

/// One GPU, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuDevice {
    /// Its number on the node.
    pub id: u32,
    /// Who made it.
    pub vendor: GpuVendor,
    /// Its number among those of its maker, as programs count where none is hidden.
    pub number: u32,
    /// What programs call it where a number is not enough; empty otherwise.
    pub name: String,
    /// Where this machine tells how busy it is; empty where nobody does.
    pub gauge: String,
}

impl GpuFacts {
    /// Of GPUs that are only declared, all of which are to be seen.
    pub fn declared(ids: &[u32]) -> GpuFacts {
        let device = |id: &u32| GpuDevice { id: *id, number: *id, ..GpuDevice::default() };
        GpuFacts {
            given: ids.iter().map(device).collect(),
            seen: ids.to_vec(),
            ..GpuFacts::default()
        }
    }

    /// The node's numbers of all that were given.
    pub fn ids(&self) -> Vec<u32> {
        self.given.iter().map(|device| device.id).collect()
    }

    /// What the variable of a maker tells: the devices to use, as programs count or call them. Those of unknown
    /// makers are told in every variable.
    pub(super) fn visible(&self, vendor: GpuVendor) -> Option<String> {
        let is_told = |it: &&GpuDevice| it.vendor == vendor || it.vendor == GpuVendor::Unknown;
        let mut own: Vec<&GpuDevice> = self.given.iter().filter(is_told).collect();
        own.sort_by_key(|device| device.number);
        let word = |id: &u32| {
            let place = own.iter().position(|device| device.id == *id)?;
            let device = own[place];
            let is_relative = self.others_hidden && device.vendor != GpuVendor::Unknown;
            Some(match (device.name.as_str(), is_relative) {
                ("", true) => place.to_string(),
                ("", false) => device.number.to_string(),
                (name, _) => name.to_string(),
            })
        };
        let words: Vec<String> = self.seen.iter().filter_map(word).collect();
        match (words.is_empty(), own.is_empty()) {
            (false, _) => Some(words.join(",")),
            (true, false) => Some(NO_DEVICES.to_string()),
            (true, true) => self.withheld.contains(&vendor).then(|| NO_DEVICES.to_string()),
        }
    }
}

/// No program knows a device of this name, so it finds none; Slurm's word.
const NO_DEVICES: &str = "NoDevFiles";

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
    /// The socket by which it asks for the other processes of its MPI program.
    pub pmi_fd: Option<i32>,
}
