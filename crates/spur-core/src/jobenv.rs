//! The environment of jobs, steps and tasks, as a table.
//!
//! A row says where a variable appears and how it is found. What the user's environment or an
//! enclosing batch script brings along is not repeated here: a task of `srun` inside a batch job
//! inherits the batch job's variables and gets the rows for tasks on top.

mod facts;
mod hooks;
mod of_spec;

pub use facts::{
    ArrayFacts, CpuBindFacts, GpuDevice, GpuFacts, GpuVendor, HereFacts, JobFacts, StepFacts,
    TaskFacts,
};

pub use hooks::{HookFacts, hook};
pub use of_spec::cpu_freq;

/// Which environments a variable appears in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where(u8);

impl Where {
    /// The command `salloc` runs, where it was called.
    pub const ALLOCATION: Where = Where(1);
    /// A batch script.
    pub const BATCH: Where = Where(2);
    /// A task of `srun`.
    pub const TASK: Where = Where(4);

    /// Whether the two share an environment.
    pub fn overlaps(self, other: Where) -> bool {
        self.0 & other.0 != 0
    }
}

const ALL: Where = Where(7);
const JOB: Where = Where(3);
const NODE: Where = Where(6);
const BATCH: Where = Where::BATCH;
const TASK: Where = Where::TASK;

/// All there is to know when a variable is worked out.
struct Facts<'a> {
    job: &'a JobFacts,
    step: Option<&'a StepFacts>,
    task: Option<&'a TaskFacts>,
}

/// One variable.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Where it appears.
    pub seen: Where,
    /// Who has it in a heterogeneous job.
    pub owner: Owner,
    get: fn(&Facts<'_>) -> Option<String>,
}

/// Who has a variable in a heterogeneous job; that of a component bears `_HET_GROUP_n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The whole job.
    Whole,
    /// The whole job, and each component.
    Both,
    /// Each component, and the whole job only where it is a task's.
    Component,
}

const fn row(name: &'static str, seen: Where, get: fn(&Facts<'_>) -> Option<String>) -> Variable {
    Variable { name, seen, owner: Owner::Whole, get }
}

impl Variable {
    const fn per_component(mut self) -> Variable {
        self.owner = Owner::Both;
        self
    }

    const fn of_component(mut self) -> Variable {
        self.owner = Owner::Component;
        self
    }
}

/// Every variable.
#[rustfmt::skip]
pub static VARIABLES: &[Variable] = &[
    row("CUDA_VISIBLE_DEVICES", NODE, |f| devices(f, GpuVendor::Nvidia)),
    row("ENVIRONMENT", BATCH, |_| Some("BATCH".into())),
    row("GPU_DEVICE_ORDINAL", NODE, |f| devices(f, GpuVendor::Unknown)),
    row("HOSTNAME", BATCH, |f| here(f, |h| text(&h.node))),
    row("PMI_FD", TASK, |f| number(f.task?.pmi_fd?)),
    row("PMI_JOBID", TASK, |f| pmi(f, |job, step| format!("{}.{}", job.job_id, step.step_id))),
    row("PMI_RANK", TASK, |f| pmi(f, |_, _| f.task.map_or(0, |task| task.rank).to_string())),
    row("PMI_SIZE", TASK, |f| pmi(f, |_, step| step.tasks_per_node.iter().sum::<u32>().to_string())),
    row("ROCR_VISIBLE_DEVICES", NODE, |f| devices(f, GpuVendor::Amd)),
    row("SLURMD_NODENAME", NODE, |f| here(f, |h| text(&h.node))),
    row("SLURMD_TRES_BIND", TASK, |f| gpus(f, |g| text(&g.bind))),
    row("SLURM_ACCTG_FREQ", JOB, |f| text(&f.job.acctg_freq)),
    row("SLURM_ARRAY_JOB_ID", BATCH, |f| array(f, |a| a.job_id)),
    row("SLURM_ARRAY_TASK_COUNT", BATCH, |f| array(f, |a| a.count)),
    row("SLURM_ARRAY_TASK_ID", BATCH, |f| array(f, |a| a.task_id)),
    row("SLURM_ARRAY_TASK_MAX", BATCH, |f| array(f, |a| a.max)),
    row("SLURM_ARRAY_TASK_MIN", BATCH, |f| array(f, |a| a.min)),
    row("SLURM_ARRAY_TASK_STEP", BATCH, |f| array(f, |a| a.step)),
    row("SLURM_CLUSTER_NAME", ALL, |f| text(&f.job.cluster)),
    row("SLURM_CONTAINER", ALL, |f| text(&f.job.container)),
    row("SLURM_CONTAINER_ID", ALL, |f| text(&f.job.container_id)),
    row("SLURM_CPUS_ON_NODE", NODE, |f| here(f, |h| number(h.cpus))),
    row("SLURM_CPUS_PER_GPU", JOB, |f| text(&f.job.cpus_per_gpu)).of_component(),
    row("SLURM_CPUS_PER_TASK", ALL, |f| step_or_job(f, |s| s.cpus_per_task, |j| j.cpus_per_task)).of_component(),
    row("SLURM_CPU_BIND", TASK, |f| bind(f, bound)),
    row("SLURM_CPU_BIND_LIST", TASK, |f| bind(f, |b| b.list.clone())),
    row("SLURM_CPU_BIND_TYPE", TASK, |f| bind(f, |b| b.kind.clone())),
    row("SLURM_CPU_BIND_VERBOSE", TASK, |f| bind(f, |b| verbosity(b).into())),
    row("SLURM_CPU_FREQ_REQ", ALL, |f| text(f.step.map_or(&f.job.cpu_freq, |s| &s.cpu_freq))),
    row("SLURM_DISTRIBUTION", ALL, |f| text(f.step.map_or(&f.job.distribution, |s| &s.distribution))).of_component(),
    row("SLURM_DIST_PLANESIZE", ALL, |f| step_or_job(f, |s| s.plane_size, |j| j.plane_size)).of_component(),
    row("SLURM_EXPORT_ENV", BATCH, |f| text(&f.job.export).filter(|said| said != "ALL")),
    row("SLURM_GET_USER_ENV", BATCH, |f| flag(f.job.get_user_env)),
    row("SLURM_GPUS", JOB, |f| text(&f.job.gpus)).of_component(),
    row("SLURM_GPUS_ON_NODE", NODE, |f| given(f, |g| number(g.given.len()))),
    row("SLURM_GPUS_PER_NODE", JOB, |f| text(&f.job.gpus_per_node)).of_component(),
    row("SLURM_GPUS_PER_SOCKET", JOB, |f| text(&f.job.gpus_per_socket)).of_component(),
    row("SLURM_GPUS_PER_TASK", JOB, |f| text(&f.job.gpus_per_task)).of_component(),
    row("SLURM_GPU_BIND", JOB, |f| text(&f.job.gpu_bind)).of_component(),
    row("SLURM_GPU_FREQ", JOB, |f| text(&f.job.gpu_freq)).of_component(),
    row("SLURM_GTIDS", NODE, |f| Some(commas(&f.task?.ranks_here))),
    row("SLURM_HET_SIZE", JOB, component_count),
    row("SLURM_HINT", JOB, |f| text(&f.job.hint)),
    row("SLURM_JOBID", ALL, |f| number(f.job.job_id)),
    row("SLURM_JOB_ACCOUNT", ALL, |f| text(&f.job.account)).per_component(),
    row("SLURM_JOB_CPUS_PER_NODE", ALL, |f| Some(folded(&f.job.cpus_per_node))).per_component(),
    // Slurm's srun leaves this one in the environment of steps inside an allocation.
    row("SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0", TASK, lone_component),
    row("SLURM_JOB_DEPENDENCY", BATCH, |f| text(&f.job.dependency)),
    row("SLURM_JOB_END_TIME", NODE, |f| moment(f.job.end_time)),
    row("SLURM_JOB_GID", NODE, |f| number(f.job.gid)),
    row("SLURM_JOB_GPUS", BATCH, |f| given(f, |g| Some(commas(&g.ids())))),
    row("SLURM_JOB_ID", ALL, |f| number(f.job.job_id)).per_component(),
    row("SLURM_JOB_LICENSES", BATCH, |f| text(&f.job.licenses)),
    row("SLURM_JOB_NAME", ALL, |f| f.step.and_then(|step| text(&step.name)).or_else(|| text(&f.job.name))).per_component(),
    row("SLURM_JOB_NODELIST", ALL, |f| text(&f.job.nodes)).per_component(),
    row("SLURM_JOB_NUM_NODES", ALL, |f| number(f.job.cpus_per_node.len())).per_component(),
    row("SLURM_JOB_PARTITION", ALL, |f| text(&f.job.partition)).per_component(),
    row("SLURM_JOB_QOS", ALL, |f| text(&f.job.qos)).per_component(),
    row("SLURM_JOB_RESERVATION", ALL, |f| text(&f.job.reservation)).per_component(),
    row("SLURM_JOB_START_TIME", NODE, |f| moment(f.job.start_time)),
    row("SLURM_JOB_UID", NODE, |f| number(f.job.uid)),
    row("SLURM_JOB_USER", NODE, |f| text(&f.job.user_name)),
    row("SLURM_LABELIO", TASK, |f| flag(f.step?.label)),
    row("SLURM_LAUNCH_NODE_IPADDR", TASK, |f| text(&f.step?.launcher_address)),
    row("SLURM_LOCALID", NODE, |f| number(f.task?.local_rank)),
    row("SLURM_MEM_BIND", ALL, |f| mem_bind(f, if f.step.is_some() { bound } else { asked })).of_component(),
    row("SLURM_MEM_BIND_LIST", TASK, |f| mem_bind(f, |b| b.list.clone())),
    row("SLURM_MEM_BIND_PREFER", TASK, |f| mem_bind(f, |b| b.prefer.to_string()).and_then(|prefer| text(&prefer))),
    row("SLURM_MEM_BIND_SORT", ALL, |f| mem_bind(f, |b| b.sort.to_string()).and_then(|sort| text(&sort))).of_component(),
    row("SLURM_MEM_BIND_TYPE", TASK, |f| mem_bind(f, |b| b.kind.clone())),
    row("SLURM_MEM_BIND_VERBOSE", ALL, |f| mem_bind(f, |b| verbosity(b).into())).of_component(),
    row("SLURM_MEM_PER_CPU", JOB, |f| f.job.memory_per_cpu_mb.and_then(number)).per_component(),
    row("SLURM_MEM_PER_GPU", JOB, |f| f.job.memory_per_gpu_mb.and_then(number)).of_component(),
    row("SLURM_MEM_PER_NODE", JOB, |f| f.job.memory_per_node_mb.filter(|mb| *mb > 0).and_then(number)).per_component(),
    row("SLURM_MPI_TYPE", TASK, |f| pmi(f, |_, step| step.mpi.clone())),
    row("SLURM_NNODES", ALL, |f| number(f.step.map_or(f.job.cpus_per_node.len(), |s| s.tasks_per_node.len()))),
    row("SLURM_NODEID", NODE, |f| here(f, |h| number(h.node_id))),
    row("SLURM_NODELIST", ALL, |f| text(&f.job.nodes)),
    row("SLURM_NODE_ALIASES", JOB, |_| Some("(null)".into())),
    row("SLURM_NPROCS", ALL, tasks).per_component(),
    row("SLURM_NTASKS", ALL, tasks).per_component(),
    row("SLURM_NTASKS_PER_CORE", ALL, |f| step_or_job(f, |s| s.tasks_per_core, |j| j.tasks_per_core)).of_component(),
    row("SLURM_NTASKS_PER_GPU", JOB, |f| f.job.tasks_per_gpu.and_then(number)),
    row("SLURM_NTASKS_PER_NODE", ALL, |f| step_or_job(f, |s| s.tasks_per_node_asked, |j| j.tasks_per_node_asked)).of_component(),
    row("SLURM_NTASKS_PER_SOCKET", ALL, |f| step_or_job(f, |s| s.tasks_per_socket, |j| j.tasks_per_socket)).of_component(),
    row("SLURM_NTASKS_PER_TRES", TASK, |f| f.job.tasks_per_gpu.and_then(number)),
    row("SLURM_OPEN_MODE", BATCH, |f| text(&f.job.open_mode)),
    row("SLURM_OVERCOMMIT", ALL, |f| flag(f.step.map_or(f.job.overcommit, |s| s.overcommit))),
    row("SLURM_PACK_SIZE", JOB, component_count),
    row("SLURM_PRIO_PROCESS", NODE, |f| number(f.job.priority_process)),
    row("SLURM_PROCID", NODE, |f| number(f.task?.rank)),
    row("SLURM_PROFILE", JOB, |f| text(&f.job.profile)),
    row("SLURM_RESTART_COUNT", NODE, |f| (f.job.restarts > 0).then(|| f.job.restarts.to_string())),
    row("SLURM_SHARDS_ON_NODE", NODE, |f| here(f, |h| if h.shards > 0 { number(h.shards) } else { None })),
    row("SLURM_SRUN_COMM_HOST", TASK, |f| text(&f.step?.launcher_address)),
    row("SLURM_SRUN_COMM_PORT", TASK, launcher_port),
    row("SLURM_STEPID", TASK, |f| number(f.step?.step_id)),
    row("SLURM_STEP_GPUS", TASK, |f| given(f, |g| Some(commas(&g.seen)))),
    row("SLURM_STEP_ID", TASK, |f| number(f.step?.step_id)),
    row("SLURM_STEP_LAUNCHER_PORT", TASK, launcher_port),
    row("SLURM_STEP_NODELIST", TASK, |f| text(&f.step?.nodes)),
    row("SLURM_STEP_NUM_NODES", TASK, |f| number(f.step?.tasks_per_node.len())),
    row("SLURM_STEP_NUM_TASKS", TASK, tasks),
    row("SLURM_STEP_RESV_PORTS", TASK, |f| text(&f.step?.reserved_ports)),
    row("SLURM_STEP_TASKS_PER_NODE", TASK, |f| Some(folded(&f.step?.tasks_per_node))),
    row("SLURM_SUBMIT_DIR", ALL, |f| text(&f.job.submit_dir)),
    row("SLURM_SUBMIT_HOST", ALL, |f| text(&f.job.submit_host)),
    row("SLURM_TASKS_PER_NODE", ALL, |f| Some(folded(f.step.map_or(&f.job.tasks_per_node, |s| &s.tasks_per_node)))).per_component(),
    row("SLURM_TASK_PID", NODE, |f| number(f.task?.pid)),
    row("SLURM_THREADS_PER_CORE", ALL, |f| step_or_job(f, |s| s.threads_per_core, |j| j.threads_per_core)).of_component(),
    row("SLURM_TOPOLOGY_ADDR", NODE, |f| here(f, |h| text(if h.topology.is_empty() { &h.node } else { &h.topology }))),
    row("SLURM_TOPOLOGY_ADDR_PATTERN", NODE, topology_pattern),
    row("SLURM_TRES_PER_TASK", JOB, |f| text(&f.job.tres_per_task)),
    row("SLURM_UMASK", TASK, |f| Some(format!("{:04o}", f.step?.umask))),
    row("SLURM_WORKING_CLUSTER", NODE, |f| text(&f.job.working_cluster)),
    row("SRUN_DEBUG", TASK, |f| f.step.map(|s| s.debug_level).filter(|level| *level > 0).and_then(number)),
    row("TMPDIR", NODE, |f| here(f, |h| text(&h.tmp_dir))),
    row("ZE_AFFINITY_MASK", NODE, |f| devices(f, GpuVendor::Intel)),
];

/// The variables of a batch script. It runs as rank 0 on the job's first node.
pub fn batch(job: &JobFacts, here: &HereFacts, pid: u32) -> Vec<(String, String)> {
    let task = TaskFacts {
        here: HereFacts { node_id: 0, ..here.clone() },
        ranks_here: vec![0],
        pid,
        ..TaskFacts::default()
    };
    collect(BATCH, &Facts { job, step: None, task: Some(&task) })
}

/// The variables of the command that `salloc` runs.
pub fn allocation(job: &JobFacts) -> Vec<(String, String)> {
    let found = collect(Where::ALLOCATION, &Facts { job, step: None, task: None });
    if job.components.is_empty() { found } else { of_components(job, found) }
}

/// What `salloc` tells of a heterogeneous job: its components by themselves, and of the whole only this.
fn of_components(job: &JobFacts, mut found: Vec<(String, String)>) -> Vec<(String, String)> {
    const OF_THE_WHOLE: &[&str] = &[
        "SLURM_CLUSTER_NAME",
        "SLURM_HET_SIZE",
        "SLURM_JOB_ID",
        "SLURM_PACK_SIZE",
        "SLURM_SUBMIT_DIR",
        "SLURM_SUBMIT_HOST",
    ];
    const OLDER: &[&str] = &["SLURM_JOBID", "SLURM_NNODES", "SLURM_NODELIST", "SLURM_NODE_ALIASES"];
    let of_one = |name: &str| name.contains("_HET_GROUP_") || name.contains("_PACK_GROUP_");
    let is_told = |name: &str| {
        of_one(name)
            && !name.starts_with("SLURM_MEM_PER_CPU")
            && !name.starts_with("SLURM_MEM_PER_NODE")
    };
    found.retain(|(name, _)| is_told(name) || OF_THE_WHOLE.contains(&name.as_str()));
    for (number, component) in job.components.iter().enumerate() {
        let facts = Facts { job: component, step: None, task: None };
        for variable in VARIABLES.iter().filter(|variable| OLDER.contains(&variable.name)) {
            let Some(value) = (variable.get)(&facts) else { continue };
            found.push((format!("{}_HET_GROUP_{number}", variable.name), value.clone()));
            found.push((format!("{}_PACK_GROUP_{number}", variable.name), value));
        }
    }
    let tasks: u32 = job.components.iter().filter_map(|component| component.tasks).sum();
    for name in ["SLURM_NPROCS", "SLURM_NTASKS"] {
        found.push((name.to_string(), tasks.to_string()));
    }
    found.sort();
    found
}

/// The variables a step gives to one of its tasks, on top of what `srun` brought along.
pub fn task(job: &JobFacts, step: &StepFacts, task: &TaskFacts) -> Vec<(String, String)> {
    collect(TASK, &Facts { job, step: Some(step), task: Some(task) })
}

fn collect(place: Where, facts: &Facts<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for variable in VARIABLES.iter().filter(|variable| variable.seen.overlaps(place)) {
        let of_components = place != TASK && !facts.job.components.is_empty();
        if !(of_components && variable.owner == Owner::Component)
            && let Some(value) = (variable.get)(facts)
        {
            found.push((variable.name.into(), value));
        }
        if !of_components || variable.owner == Owner::Whole {
            continue;
        }
        for (number, component) in facts.job.components.iter().enumerate() {
            let facts = Facts { job: component, step: None, task: None };
            if let Some(value) = (variable.get)(&facts) {
                // Components were once called packs, and scripts still read the old names.
                found.push((format!("{}_HET_GROUP_{number}", variable.name), value.clone()));
                found.push((format!("{}_PACK_GROUP_{number}", variable.name), value));
            }
        }
    }
    found.sort();
    found
}

/// Counts with repetitions folded: `4(x2),1`.
pub fn folded(counts: &[u32]) -> String {
    let runs = counts.chunk_by(|left, right| left == right).map(|run| match run.len() {
        1 => run[0].to_string(),
        times => format!("{}(x{times})", run[0]),
    });
    runs.collect::<Vec<_>>().join(",")
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn number(number: impl ToString) -> Option<String> {
    Some(number.to_string())
}

fn flag(is: bool) -> Option<String> {
    is.then(|| "1".to_string())
}

/// Told only to processes that can ask for the others of their MPI program.
fn pmi(facts: &Facts<'_>, tell: impl Fn(&JobFacts, &StepFacts) -> String) -> Option<String> {
    facts.task?.pmi_fd?;
    Some(tell(facts.job, facts.step?))
}

fn moment(secs: i64) -> Option<String> {
    (secs > 0).then(|| secs.to_string())
}

fn commas(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn here(facts: &Facts<'_>, get: fn(&HereFacts) -> Option<String>) -> Option<String> {
    get(&facts.task?.here)
}

fn gpus(facts: &Facts<'_>, get: fn(&GpuFacts) -> Option<String>) -> Option<String> {
    get(facts.task?.here.gpus.as_ref()?)
}

/// As far as any were given.
fn given(facts: &Facts<'_>, get: fn(&GpuFacts) -> Option<String>) -> Option<String> {
    get(facts.task?.here.gpus.as_ref().filter(|gpus| !gpus.given.is_empty())?)
}

fn array(facts: &Facts<'_>, get: fn(&ArrayFacts) -> u32) -> Option<String> {
    facts.job.array.as_ref().map(|array| get(array).to_string())
}

fn bind(facts: &Facts<'_>, get: fn(&CpuBindFacts) -> String) -> Option<String> {
    facts.step?.cpu_bind.as_ref().map(get)
}

fn mem_bind(facts: &Facts<'_>, get: fn(&CpuBindFacts) -> String) -> Option<String> {
    facts.step.map_or(&facts.job.mem_bind, |step| &step.mem_bind).as_ref().map(get)
}

/// All in one.
fn bound(bind: &CpuBindFacts) -> String {
    let kind = format!("{}{}", bind.kind, bind.list);
    told(&[verbosity(bind), bind.prefer, &kind])
}

/// The same as a job tells its steps: what is usual is left out.
fn asked(bind: &CpuBindFacts) -> String {
    let kind = format!("{}{}", bind.kind, bind.list);
    told(&[if bind.verbose { "verbose" } else { "" }, bind.prefer, bind.sort, &kind])
}

fn told(words: &[&str]) -> String {
    let said = words.iter().copied().filter(|word| !word.is_empty());
    said.collect::<Vec<_>>().join(",")
}

/// The components of a heterogeneous job have theirs from the script.
fn lone_component(facts: &Facts<'_>) -> Option<String> {
    let step = facts.step?;
    let is_alone = facts.job.components.is_empty() && !step.of_several_components;
    (step.inside_allocation && is_alone).then(|| folded(&facts.job.cpus_per_node))
}

fn verbosity(bind: &CpuBindFacts) -> &'static str {
    if bind.verbose { "verbose" } else { "quiet" }
}

fn step_or_job(
    facts: &Facts<'_>,
    of_step: fn(&StepFacts) -> Option<u32>,
    of_job: fn(&JobFacts) -> Option<u32>,
) -> Option<String> {
    facts.step.map_or_else(|| of_job(facts.job), of_step).and_then(number)
}

fn tasks(facts: &Facts<'_>) -> Option<String> {
    match facts.step {
        Some(step) => number(step.tasks_per_node.iter().sum::<u32>()),
        None => facts.job.tasks.and_then(number),
    }
}

fn launcher_port(facts: &Facts<'_>) -> Option<String> {
    let port = facts.step?.launcher_port;
    (port > 0).then(|| port.to_string())
}

fn component_count(facts: &Facts<'_>) -> Option<String> {
    let count = facts.job.components.len();
    (count > 0).then(|| count.to_string())
}

fn topology_pattern(facts: &Facts<'_>) -> Option<String> {
    let switches = facts.task?.here.topology.matches('.').count();
    Some(format!("{}node", "switch.".repeat(switches)))
}

/// The devices a program may use, in the variable of its vendor. AMD's other variables index into
/// what `ROCR_VISIBLE_DEVICES` left, so they stay unset there; unknown vendors get Slurm's full set.
fn devices(facts: &Facts<'_>, vendor: GpuVendor) -> Option<String> {
    facts.task?.here.gpus.as_ref()?.visible(vendor)
}

/// Variables that choose among GPUs. Who submits from inside another job has that one's, which mean nothing here: they
/// give way where a job has GPUs, and are told anew as far as its makers' programs read them.
pub static GPU_CHOICES: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];

#[cfg(test)]
mod tests;
