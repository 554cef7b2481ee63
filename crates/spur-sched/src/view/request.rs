//! What a request means to the planner.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::config::words::Consume;
use spur_core::config::{Config, Count, OverSubscribe, sections};
use spur_core::counts as node_counts;
use spur_core::gres;
use spur_core::hostlist;
use spur_core::ids::{NodeName, Uid};
use spur_core::job::{JobSpec, sharing, spec};
use spur_core::limit::Limit;

use crate::shape::{Cap, Dealt, GresNeed, LeftCores, Memory, Per, Shape, Sharing};

/// What must be found for a request in a partition. Where the request says nothing the partition's rules
/// decide, then those for all jobs.
pub fn shape_of(spec: &JobSpec, owner: Uid, rules: &sections::Partition, config: &Config) -> Shape {
    let jobs = &config.jobs;
    let layout = spec.layout();
    let placement = spec.placement();
    // Who says how many processors a task has knows what each GPU needs.
    let default = rules.def_cpu_per_gpu.or(jobs.def_cpu_per_gpu);
    let default = default.filter(|_| spec.cpus_per_task.is_none());
    let within = (rules.min_nodes, rules.max_nodes.0.number().map_or(u32::MAX, small));
    // Who overcommits has one processor on each node, whatever goes with a GPU.
    let cpus_per_gpu = spec.gpu().cpus_per_gpu.or(default).filter(|_| !layout.overcommit);
    let mut shape = counts(spec, &gpus(spec), cpus_per_gpu, within);
    shape.units_per_socket = layout.ntasks_per_socket;
    shape.units_per_core = layout.ntasks_per_core;
    shape.threads_per_core = layout.threads_per_core;
    shape.sockets_min = layout.sockets_per_node.unwrap_or(0);
    shape.cores_per_socket_min = layout.cores_per_socket.unwrap_or(0);
    shape.cpus_min = shape.cpus_min.max(placement.mincpus.unwrap_or(0));
    shape.overcommit = layout.overcommit;
    if let (Some(each), false) = (spec.ntasks_per_node, layout.overcommit) {
        // A node gives processors for as many tasks as it may have, as Slurm does.
        shape.cpus_min = shape.cpus_min.max(each.saturating_mul(shape.unit_cpus));
    }
    shape.memory = memory(spec, &shape, rules, jobs);
    if spec.memory_per_node.is_none() && spec.memory_per_cpu.is_none() {
        shape.memory_per_gpu = spec.gpu().memory_per_gpu.unwrap_or(0);
    }
    let most = rules.max_mem_per_cpu.or(jobs.max_mem_per_cpu).map(|size| size.0);
    if let Some(most) = most.filter(|most| *most > 0) {
        with_memory_for(&mut shape, most);
    }
    shape.tmp_mb = placement.tmp.unwrap_or(0);
    shape.constraint = placement.constraint.as_str().into();
    shape.prefer = placement.prefer.as_str().into();
    shape.sizes = sizes(&spec.node_sizes);
    // A range is taken to its end, as Slurm does.
    let ranges = spec.ntasks_said && spec.nodes_max.is_some_and(|max| max > shape.nodes_min);
    let spreads = placement.spread_job && spec.nodes_min.is_none() && spec.nodes_max.is_none();
    shape.widest = (ranges || spreads) && !placement.use_min_nodes && shape.gres.is_empty();
    shape.switches = placement.switches;
    shape.segment = placement.segment.filter(|nodes| *nodes > 0);
    shape.nodelist = names(&placement.nodelist);
    shape.exclude = names(&placement.exclude);
    shape.sharing = sharing(spec, owner, rules, config);
    shape.label = spec.rare().mcs_label.as_str().into();
    shape.left = match (placement.core_spec, placement.thread_spec) {
        (Some(cores), _) => LeftCores::Cores(cores),
        (None, Some(threads)) => LeftCores::Threads(threads),
        (None, None) => LeftCores::None,
    };
    let most = |count: &Count| count.0.number().map_or(u32::MAX, small);
    let (cpus, socket_cpus) = (most(&rules.max_cpus_per_node), most(&rules.max_cpus_per_socket));
    shape.cap = (cpus.min(socket_cpus) < u32::MAX).then(|| Cap {
        partition: rules.name.as_str().into(),
        cpus,
        socket_cpus,
    });
    consume(&mut shape, rules.consume.unwrap_or(config.scheduler.consume));
    shape.contiguous = placement.contiguous;
    shape.spread = placement.spread_job || rules.least_loaded;
    shape.reservation = placement.reservation.as_str().into();
    let default = rules.default_time.unwrap_or(rules.max_time);
    shape.secs = secs(spec.time_limit.unwrap_or(default.0));
    shape.secs_min = spec.lifecycle().time_min.map(secs);
    shape
}

/// Who asks for more memory than goes with each processor gets more processors.
fn with_memory_for(shape: &mut Shape, most: u64) {
    match shape.memory {
        Memory::PerCpu(size) if size > most => {
            let times = size.div_ceil(most);
            shape.unit_cpus = shape.unit_cpus.saturating_mul(small(times));
            shape.cpus_min = shape.cpus_min.saturating_mul(small(times));
            shape.memory = Memory::PerCpu(size.div_ceil(times));
        }
        Memory::PerNode(size) => shape.cpus_min = shape.cpus_min.max(small(size.div_ceil(most))),
        _ => {}
    }
}

/// What is given to one job alone.
fn consume(shape: &mut Shape, what: Consume) {
    match what {
        Consume::CpuMemory | Consume::CoreMemory | Consume::Memory => {}
        // Memory is nobody's.
        Consume::Cpu | Consume::Core => shape.memory = Memory::None,
        Consume::Socket => (shape.memory, shape.whole_sockets) = (Memory::None, true),
        Consume::SocketMemory => shape.whole_sockets = true,
        Consume::Node => shape.sharing = Sharing::Nobody,
    }
}

/// The sizes in a list such as `1,3-5`; none where there is no list.
fn sizes(text: &str) -> Vec<u32> {
    let sizes = node_counts::parse_nodes(text).ok().and_then(|read| read.sizes);
    let mut sizes: Vec<u32> = sizes.iter().flat_map(|sizes| sizes.ids()).take(1 << 16).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Minutes as seconds. A job without a limit is taken to end after a year, as in Slurm: those behind it
/// get a place, however late.
pub fn secs(limit: Limit) -> i64 {
    const YEAR: i64 = 365 * 86_400;
    let minutes = limit.number().and_then(|minutes| i64::try_from(minutes).ok());
    minutes.and_then(|minutes| minutes.checked_mul(60)).map_or(YEAR, |secs| secs.min(YEAR))
}

fn names(list: &str) -> Vec<NodeName> {
    let mut names: Vec<NodeName> =
        hostlist::expand(list).unwrap_or_default().into_iter().map(NodeName::from).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Generic resources by name and model: for each node, each task, and the whole job.
struct Gpus {
    per_node: Vec<gres::Request>,
    per_task: Vec<gres::Request>,
    per_job: Vec<gres::Request>,
}

fn gpus(spec: &JobSpec) -> Gpus {
    let gpu = spec.gpu();
    let read = |text: &str| gres::parse_gpus(text).unwrap_or_default();
    let mut per_node = gres::parse(&spec.gres).unwrap_or_default();
    per_node.extend(read(&gpu.gpus_per_node));
    let sockets = u64::from(spec.layout().sockets_per_node.unwrap_or(1));
    per_node.extend(read(&gpu.gpus_per_socket).into_iter().map(|mut request| {
        request.count = request.count.saturating_mul(sockets);
        request
    }));
    let mut per_job = read(&gpu.gpus);
    if let (true, Some(count)) = (per_job.is_empty(), gpu.generated_gpus) {
        per_job = read(&count.to_string());
    }
    Gpus { per_node, per_task: read(&gpu.gpus_per_task), per_job }
}

/// Whether a job asks for shards and for no whole GPU: then shards are what it gets, also where they make up a device.
pub(crate) fn asks_for_shards(spec: &JobSpec) -> bool {
    if !spec.gres.contains(gres::SHARD) {
        return false;
    }
    let Gpus { per_node, per_task, per_job } = gpus(spec);
    let mut all = per_node.iter().chain(&per_task).chain(&per_job).filter(|it| it.count > 0);
    all.all(|it| it.name != gres::GPU)
}

/// Nodes, units, processors and devices.
fn counts(
    spec: &JobSpec,
    gpus: &Gpus,
    cpus_per_gpu: Option<u32>,
    (fewest, most): (u32, u32),
) -> Shape {
    let nodes_min = spec.nodes_min.unwrap_or(1).max(1).max(fewest);
    let tasks = spec.ntasks.unwrap_or(nodes_min).max(nodes_min);
    let open = !spec.ntasks_said && spec.nodes_max.is_some_and(|max| max > nodes_min);
    let follows = spec.ntasks_per_node.is_some() && !spec.ntasks_said;
    let nodes_max = match spec.nodes_max {
        Some(max) if open => max,
        Some(max) => max.clamp(nodes_min, tasks),
        // So many for each node say how many nodes there are.
        None if follows => nodes_min,
        None => tasks,
    };
    // No more than the partition allows.
    let nodes_max = nodes_max.min(most).max(nodes_min);
    let each_gpu: u64 = gpus.per_task.iter().map(|request| request.count).sum();
    let mut shape = Shape {
        nodes_min,
        nodes_max,
        units: tasks,
        units_follow_nodes: open || follows,
        unit_cpus: spec.cpus_per_task.unwrap_or(1).max(1),
        units_per_node: spec.ntasks_per_node,
        ..Shape::default()
    };
    add(&mut shape.gres, &gpus.per_node, Per::Node, 1);
    if let (Some(each), true) = (cpus_per_gpu, each_gpu == 0) {
        let is_gpu = |request: &&gres::Request| request.name == "gpu";
        let on_node: u64 = gpus.per_node.iter().filter(is_gpu).map(|request| request.count).sum();
        shape.cpus_min = each.saturating_mul(small(on_node));
    }
    if let (Some(each), None) = (cpus_per_gpu, spec.cpus_per_task) {
        shape.unit_cpus = shape.unit_cpus.max(each.saturating_mul(small(each_gpu)));
    }
    add(&mut shape.gres, &gpus.per_task, Per::Unit, 1);
    // A model that goes with no node and no task is there beside what does.
    let by_part = || gpus.per_node.iter().chain(&gpus.per_task);
    let apart = |request: &&gres::Request| {
        request.model.is_some()
            && by_part().any(|part| part.name == request.name && part.model.is_some())
            && !by_part().any(|part| part.model == request.model)
    };
    let apart: Vec<gres::Request> = gpus.per_job.iter().filter(apart).cloned().collect();
    add(&mut shape.gres, &apart, Per::Node, nodes_min);
    let whole: u64 = gpus.per_job.iter().map(|request| request.count).sum();
    if whole == 0 || !gpus.per_node.is_empty() || !gpus.per_task.is_empty() {
        return shape;
    }
    if spec.ntasks_said && whole.is_multiple_of(u64::from(tasks)) {
        if let (Some(each), None) = (cpus_per_gpu, spec.cpus_per_task) {
            shape.unit_cpus = each.saturating_mul(small(whole / u64::from(tasks)));
        }
        add(&mut shape.gres, &gpus.per_job, Per::Unit, tasks);
    } else if spec.nodes_min.is_some()
        && nodes_min == nodes_max
        && whole.is_multiple_of(u64::from(nodes_min))
    {
        add(&mut shape.gres, &gpus.per_job, Per::Node, nodes_min);
    } else if gpus.per_job.len() == 1 {
        // GPUs are what is dealt out, with what goes with each; where nothing else was said, that is one
        // task on each node.
        let bare = !spec.ntasks_said
            && spec.ntasks_per_node.is_none()
            && spec.gpu().ntasks_per_gpu.is_none();
        let cpus = if bare { 0 } else { u64::from(tasks) * u64::from(shape.unit_cpus) };
        let is_fixed = spec.nodes_min.is_some() && nodes_min == nodes_max;
        let on_one = if is_fixed { tasks.div_ceil(nodes_min) } else { 1 };
        shape.cpus_min = shape.cpus_min.max(shape.unit_cpus.saturating_mul(on_one));
        let nodes_max = spec.nodes_max.or(spec.nodes_min).unwrap_or(u32::MAX).min(most);
        shape.units = small(whole);
        shape.units_follow_nodes = false;
        shape.nodes_max = nodes_max.min(small(whole)).max(nodes_min);
        shape.unit_cpus = cpus_per_gpu.unwrap_or(small(cpus.div_ceil(whole)));
        if cpus_per_gpu.is_none() && cpus > 0 {
            shape.dealt = Some(Dealt { cpus: small(cpus), units: small(whole) });
        }
        add(&mut shape.gres, &gpus.per_job, Per::Unit, small(whole));
    } else {
        add(&mut shape.gres, &gpus.per_job, Per::Node, nodes_min);
    }
    shape
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Adds needs, dealt out in so many portions.
fn add(needs: &mut Vec<GresNeed>, requests: &[gres::Request], per: Per, portions: u32) {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.count > 0) {
        let model = request.model.as_deref().unwrap_or("");
        *sums.entry((&request.name, model)).or_default() += request.count;
    }
    for ((name, model), count) in sums {
        let parts = name == "shard";
        needs.push(GresNeed {
            name: if parts { "gpu".into() } else { name.into() },
            model: model.into(),
            count: small(count.div_ceil(u64::from(portions.max(1)))),
            per,
            parts,
        });
    }
}

fn memory(
    spec: &JobSpec,
    shape: &Shape,
    rules: &sections::Partition,
    jobs: &sections::Jobs,
) -> Memory {
    let gpu = |mb: u64| {
        let count = |per: Per| -> u64 {
            let needs = shape.gres.iter().filter(|need| &*need.name == "gpu" && need.per == per);
            needs.map(|need| u64::from(need.count)).sum()
        };
        match (count(Per::Unit), count(Per::Node)) {
            (0, 0) => None,
            (0, on_node) => Some(Memory::PerNode(mb.saturating_mul(on_node))),
            (each, _) => Some(Memory::PerUnit(mb.saturating_mul(each))),
        }
    };
    let per_node = |mb: u64| if mb == 0 { Memory::All } else { Memory::PerNode(mb) };
    let per_cpu = |mb: u64| if mb == 0 { Memory::All } else { Memory::PerCpu(mb) };
    (spec.memory_per_node.map(per_node))
        .or_else(|| spec.memory_per_cpu.map(per_cpu))
        .or_else(|| spec.gpu().memory_per_gpu.and_then(gpu))
        .or_else(|| rules.def_mem_per_gpu.and_then(|mb| gpu(mb.0)))
        .or_else(|| rules.def_mem_per_cpu.map(|mb| per_cpu(mb.0)))
        .or_else(|| rules.def_mem_per_node.map(|mb| per_node(mb.0)))
        .or_else(|| jobs.def_mem_per_gpu.and_then(|mb| gpu(mb.0)))
        .or_else(|| jobs.def_mem_per_cpu.map(|mb| per_cpu(mb.0)))
        .or_else(|| jobs.def_mem_per_node.map(|mb| per_node(mb.0)))
        .unwrap_or(Memory::Fair)
}

fn sharing(spec: &JobSpec, owner: Uid, rules: &sections::Partition, config: &Config) -> Sharing {
    let layers = sharing::layers(spec, rules, config);
    match spec.sharing.and_then(|it| spec::Sharing::try_from(it).ok()) {
        _ if rules.over_subscribe == OverSubscribe::Exclusive => Sharing::Nobody,
        // Nobody else may be there when nodes are started anew.
        _ if spec.placement().reboot => Sharing::Nobody,
        _ if spec.placement().core_spec.is_some() => Sharing::Nobody,
        _ if spec.placement().thread_spec.is_some() => Sharing::Nobody,
        _ if layers > 1 => Sharing::Cores(layers),
        Some(spec::Sharing::Exclusive | spec::Sharing::Topology) => Sharing::Nobody,
        Some(spec::Sharing::User) => Sharing::User(owner.0),
        Some(spec::Sharing::Mcs) => Sharing::Label,
        _ if rules.exclusive_user => Sharing::User(owner.0),
        _ => Sharing::Anybody,
    }
}

/// Interns shapes, so that equal ones are one.
#[derive(Debug, Default)]
pub(super) struct Shapes(BTreeSet<Arc<Shape>>);

impl Shapes {
    pub(super) fn one(&mut self, shape: Shape) -> Arc<Shape> {
        if let Some(known) = self.0.get(&shape) {
            return known.clone();
        }
        // Shapes that nobody uses any more go once they are many.
        if self.0.len() >= 1 << 16 {
            self.0.retain(|shape| Arc::strong_count(shape) > 1);
        }
        let shape = Arc::new(shape);
        self.0.insert(shape.clone());
        shape
    }
}
