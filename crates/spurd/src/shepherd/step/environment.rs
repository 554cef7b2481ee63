//! The variables of a task: what `srun` sent, what Slurm tells on top, and what programs that train
//! models look for.

use spur_core::hostlist;
use spur_core::idset::IdSet;
use spur_core::job::{JobSpec, distribution};
use spur_core::jobenv::{
    self, CpuBindFacts, GpuFacts, HereFacts, JobFacts, StepFacts, TaskFacts, cpu_freq,
};
use spur_core::step::StepSpec;
use spur_core::step::binding::{self, Binding};
use spur_proto::internal::{Launch, StepLaunch, StepProgram};

use super::program::tasks_per_node;
use crate::confine;
use crate::machine::connection::is_free;
use crate::machine::limits::Limits;
use crate::shepherd::environment as batch;
use crate::shepherd::task_hooks::Variables;

/// Everything but what differs between tasks.
pub struct Environment {
    sent: Variables,
    job: JobFacts,
    step: StepFacts,
    here: HereFacts,
    ranks_here: Vec<u32>,
    master: (String, u32),
    /// Tasks of components before this one.
    first_rank: u32,
    /// `--gpu-bind`, or what follows from `--gpus-per-task`.
    gpu_bind: String,
    marker: String,
    /// What tasks are held to, of the place srun was called at.
    pub limits: Limits,
    /// `--preserve-env`: how many nodes and tasks there are is what srun was told.
    preserve: bool,
}

impl Environment {
    /// Of a node's part of a step.
    pub fn new(
        launch: &Launch,
        step: &StepLaunch,
        spec: &StepSpec,
        asked: &StepProgram,
        marker: &str,
        gpus: Option<GpuFacts>,
    ) -> Environment {
        let mut sent = batch::submitted(&asked.environment);
        let limits = Limits::take(&mut sent, &launch.let_through);
        if !asked.inside_allocation {
            batch::forget_choices(&mut sent, gpus.as_ref());
        }
        // Inside a job what the script was told is no longer true of a step that took none of its GPUs.
        if confine::own_gpus(launch).is_some_and(IdSet::is_empty) {
            sent.retain(|name, _| !jobenv::GPU_CHOICES.iter().any(|it| it.as_bytes() == name));
            sent.remove(b"SLURM_GPUS_ON_NODE".as_slice());
        }
        let job_spec = launch.spec.clone().unwrap_or_default();
        let request = spec.request.as_deref().cloned().unwrap_or_default();
        let mut job = batch::facts(launch, &job_spec, &sent);
        (job.start_time, job.end_time) = (launch.started, launch.ends);
        let here = step.nodes.get(step.node_id as usize).cloned().unwrap_or_default();
        let names: Vec<&str> = step.nodes.iter().map(|node| node.node.as_str()).collect();
        let facts = StepFacts {
            name: asked.name.clone(),
            step_id: step.step,
            nodes: hostlist::compress(names.iter().copied()),
            tasks_per_node: tasks_per_node(step),
            cpus_per_task: request.cpus_per_task,
            tasks_per_node_asked: request.ntasks_per_node,
            tasks_per_core: request.layout().ntasks_per_core,
            tasks_per_socket: request.layout().ntasks_per_socket,
            threads_per_core: request.layout().threads_per_core,
            plane_size: request.layout().plane_size,
            label: spec.label,
            overcommit: request.layout().overcommit,
            launcher_address: asked.launcher_address.clone(),
            launcher_port: u16::try_from(asked.launcher_port).unwrap_or(0),
            umask: asked.umask.unwrap_or(0o022),
            debug_level: asked.debug_level,
            inside_allocation: asked.inside_allocation,
            of_several_components: asked.whole.is_some(),
            mem_bind: CpuBindFacts::of_memory(&request.layout().mem_bind),
            cpu_freq: cpu_freq(request.layout()),
            mpi: spec.mpi.clone(),
            ..StepFacts::default()
        };
        let mut facts = facts;
        let mut node_id = step.node_id;
        let mut first_rank = 0;
        if let Some(whole) = &asked.whole {
            // The step goes over several components; its tasks see them as one.
            first_rank = whole.first_rank;
            node_id += whole.first_node;
            job.job_id = whole.job;
            job.nodes.clone_from(&whole.nodes);
            job.cpus_per_node.clone_from(&whole.cpus_per_node);
            facts.nodes.clone_from(&whole.nodes);
            facts.tasks_per_node.clone_from(&whole.tasks_per_node);
        }
        facts.distribution = distribution(&request, &facts);
        // The same for all tasks, whichever of them is the first to listen there.
        let port = match launch.master_port {
            0 if facts.tasks_per_node.len() == 1 => own_port(launch.job, is_free).unwrap_or(0),
            lent => lent,
        };
        Environment {
            sent,
            limits,
            job,
            step: facts,
            first_rank,
            here: HereFacts {
                node: here.node.clone(),
                node_id,
                cpus: here.cpus,
                topology: launch.topology.clone(),
                gpus,
                shards: confine::shards(launch),
                ..HereFacts::default()
            },
            ranks_here: here.ranks,
            gpu_bind: gpu_bind(&request, &spec.accel_bind),
            master: (launch.master_address.clone(), port),
            marker: marker.to_string(),
            preserve: spec.preserve_env,
        }
    }

    /// Tells tasks what they are bound to; where they cannot be bound, what was asked for.
    pub fn bound(mut self, binding: Option<&Binding>, spec: &StepSpec) -> Environment {
        let told = match binding {
            Some(it) => Some((it.verbose, it.kind.to_string(), it.list.clone())),
            None => binding::words(&spec.cpu_bind, spec.cpu_bind_implied),
        };
        self.step.cpu_bind = told.map(|(verbose, kind, list)| CpuBindFacts {
            verbose,
            kind,
            list,
            ..CpuBindFacts::default()
        });
        self
    }

    /// What a task has to say about its GPUs, if it was asked to.
    pub fn gpu_report(&self, rank: u32) -> Option<String> {
        let given = self.here.gpus.as_ref().filter(|gpus| !gpus.given.is_empty())?.ids();
        let tasks = self.ranks_here.len() as u32;
        binding::gpus(&self.gpu_bind, &given, self.local_rank(rank), tasks).1
    }

    /// Its number among the tasks of this node.
    pub fn local_rank(&self, rank: u32) -> u32 {
        self.ranks_here.iter().position(|it| *it == rank).unwrap_or(0) as u32
    }

    /// What a task is told of this node.
    fn here(&self, local_rank: u32) -> HereFacts {
        let mut here = self.here.clone();
        // As Slurm does: the first task of a node, where nobody said anything.
        if local_rank == 0 && !self.sent.contains_key(b"TMPDIR".as_slice()) {
            here.tmp_dir = batch::TMP_DIR.to_string();
        }
        if let Some(gpus) = &mut here.gpus
            && !self.gpu_bind.is_empty()
            && !gpus.given.is_empty()
        {
            let tasks = self.ranks_here.len() as u32;
            gpus.seen = binding::gpus(&self.gpu_bind, &gpus.ids(), local_rank, tasks).0;
            gpus.bind = format!("gpu:{}", self.gpu_bind);
        }
        here
    }

    /// All of it.
    pub fn of_task(&self, rank: u32, pid: u32, pmi: Option<i32>) -> Variables {
        let local_rank = self.local_rank(rank);
        let task = TaskFacts {
            here: self.here(local_rank),
            rank: rank + self.first_rank,
            local_rank,
            ranks_here: self.ranks_here.iter().map(|rank| rank + self.first_rank).collect(),
            pid,
            pmi_fd: pmi,
        };
        let mut variables = self.sent.clone();
        for (name, value) in jobenv::task(&self.job, &self.step, &task) {
            if self.preserve
                && PRESERVED.contains(&name.as_str())
                && self.sent.contains_key(name.as_bytes())
            {
                continue;
            }
            variables.insert(name.into_bytes(), value.into_bytes());
        }
        for (name, value) in self.rendezvous(rank + self.first_rank, local_rank) {
            variables.entry(name.as_bytes().to_vec()).or_insert(value.into_bytes());
        }
        if let Some((name, value)) = self.marker.split_once('=') {
            variables.insert(name.into(), value.into());
        }
        variables
    }

    /// What programs on several processors find each other by; the user's own values are left alone.
    fn rendezvous(&self, rank: u32, local_rank: u32) -> Vec<(&'static str, String)> {
        let tasks: u32 = self.step.tasks_per_node.iter().sum();
        let is_asked = self.sent.get(ASKED.as_bytes()).is_some_and(|value| value != b"0");
        let (address, port) = &self.master;
        if tasks < 2 && !is_asked {
            return Vec::new();
        }
        let mut told = Vec::new();
        if !address.is_empty() {
            told.push(("MASTER_ADDR", address.clone()));
        }
        if *port > 0 {
            told.push(("MASTER_PORT", port.to_string()));
        }
        if !address.is_empty() && *port > 0 {
            told.push((JAX, format!("{address}:{port}")));
        }
        told.extend([
            ("WORLD_SIZE", tasks.to_string()),
            ("RANK", rank.to_string()),
            ("LOCAL_RANK", local_rank.to_string()),
            ("NODE_RANK", self.here.node_id.to_string()),
        ]);
        told
    }
}

/// Below those that the controller lends: it lends none to jobs of one processor, whose tasks are all here.
const OWN_PORTS: (u32, u32) = (14_000, 1_000);

/// A port for such a job. Jobs of one machine begin to look at different places.
fn own_port(job: u32, is_free: impl Fn(u16) -> bool) -> Option<u32> {
    let (first, count) = OWN_PORTS;
    let ports = (0..count).map(|step| first + (job % count + step) % count);
    ports.into_iter().find(|port| u16::try_from(*port).is_ok_and(&is_free))
}

/// `--accel-bind=g` asks for the nearest where nothing else is said. Tasks that come with GPUs have those they came with.
fn gpu_bind(request: &JobSpec, accelerators: &str) -> String {
    let asked = request.gpu.as_deref().cloned().unwrap_or_default();
    // `gpu:2`, `a100:2` and `2` all end with how many.
    let per_task = asked.gpus_per_task.rsplit(':').next().unwrap_or_default();
    match (asked.gpu_bind.as_str(), per_task) {
        ("", "") if asked.ntasks_per_gpu.is_some() => {
            format!("single:{}", asked.ntasks_per_gpu.unwrap_or(1))
        }
        ("", "") if accelerators.contains(['g', 'G']) => "closest".to_string(),
        ("", "") => String::new(),
        ("", per_task) => format!("per_task:{per_task}"),
        (said, _) => said.to_string(),
    }
}

/// What `--preserve-env` is about.
const PRESERVED: &[&str] = &["SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NPROCS", "SLURM_NTASKS"];

/// What JAX takes instead of the first node's name and a port that may be another's; the rest it knows from Slurm's
/// variables.
const JAX: &str = "JAX_COORDINATOR_ADDRESS";

/// A variable by which a step of a single task asks for the same.
const ASKED: &str = "SPUR_RENDEZVOUS";

/// As asked for. Slurm tells its own choice too inside an allocation, and where memory was asked for.
fn distribution(request: &JobSpec, step: &StepFacts) -> String {
    let said = &request.layout().distribution;
    let asks_memory = request.memory_per_node.is_some() || request.memory_per_cpu.is_some();
    if !said.is_empty() || !(step.inside_allocation || asks_memory) {
        return distribution::shown(said);
    }
    let tasks: u32 = step.tasks_per_node.iter().sum();
    let spread = tasks as usize <= step.tasks_per_node.len();
    if spread { "cyclic".to_string() } else { "block".to_string() }
}

#[cfg(test)]
mod tests {
    use spur_proto::internal::StepNode;

    use super::*;

    fn told(ranks: &[u32], sent: &[u8]) -> Vec<String> {
        let launch =
            Launch { master_address: "big".to_string(), master_port: 15_007, ..Launch::default() };
        let node = StepNode {
            node: "n1".to_string(),
            ranks: ranks.to_vec(),
            cpus: 2,
            ..StepNode::default()
        };
        let step = StepLaunch { nodes: vec![node], ..StepLaunch::default() };
        let asked = StepProgram { environment: sent.to_vec(), ..StepProgram::default() };
        let spec = StepSpec::default();
        let environment = Environment::new(&launch, &step, &spec, &asked, "SPUR_RUN=x", None);
        let names = ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK"];
        let variables = environment.of_task(1, 7, None);
        let value = |name: &str| variables.get(name.as_bytes());
        names.iter().filter_map(|name| String::from_utf8(value(name)?.clone()).ok()).collect()
    }

    #[test]
    fn tasks_find_each_other_unless_the_user_says_how() {
        assert_eq!(told(&[0, 1], b""), ["big", "15007", "2", "1", "1", "0"]);
        let own = b"MASTER_PORT=9\0WORLD_SIZE=\0";
        assert_eq!(told(&[0, 1], own), ["big", "9", "", "1", "1", "0"]);
        assert_eq!(told(&[1], b""), [""; 0]);
        assert_eq!(told(&[1], b"SPUR_RENDEZVOUS=1\0"), ["big", "15007", "1", "1", "0", "0"]);
    }

    #[test]
    fn a_job_of_one_processor_has_a_port_of_its_node() {
        assert_eq!(own_port(7_003, |_| true), Some(14_003));
        assert_eq!(own_port(7_999, |port| port < 14_002), Some(14_000), "round and round");
        assert_eq!(own_port(7, |_| false), None);
    }
}
