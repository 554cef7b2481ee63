//! What a pass costs: nodes × pending jobs, a fresh planner and one that was told of a single change.
//!
//! `cargo bench -p spur-sched`, or `cargo bench -p spur-sched -- 1000x10000` for one size. Memory,
//! features, GPUs, weights, licences and a reservation are in play; the cluster is nearly full, as clusters
//! with long queues are.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;
use spur_core::time::Timestamp;
use spur_sched::planner::{Planner, Policy};
use spur_sched::shape::{GresNeed, Memory, Per, Shape, Sharing, Wish};
use spur_sched::view::{
    Charge, ClusterView, Counter, PendingJob, RunId, RunningJob, Standing, ViewGres, ViewNode,
    ViewReservation, ViewShare,
};
use spur_sched::{Decisions, Start};

/// Nodes, pending jobs, and the goal for a full pass in milliseconds.
const SIZES: &[(u32, u32, f64)] = &[
    (1_000, 10_000, 5.0),
    (10_000, 10_000, 15.0),
    (10_000, 100_000, 60.0),
    (100_000, 100_000, 150.0),
    (100_000, 1_000_000, 1000.0),
];

const SHAPES: u64 = 2_000;
const NOW: i64 = 1_000_000;

/// Some things by name, and how many.
type Named = Arc<[(Arc<str>, u16)]>;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with("--")).collect();
    println!(
        "{:>7} {:>8} | {:>8} {:>8} {:>8} {:>7} | {:>9} {:>9} | {:>6} {:>9}",
        "nodes",
        "pending",
        "load ms",
        "first ms",
        "pass ms",
        "goal",
        "change ms",
        "goal",
        "starts",
        "bytes/job"
    );
    for (nodes, jobs, goal) in SIZES {
        if !wanted.is_empty() && !wanted.contains(&format!("{nodes}x{jobs}")) {
            continue;
        }
        measure(*nodes, *jobs, *goal);
    }
}

fn measure(nodes: u32, jobs: u32, goal: f64) {
    let view = cluster(nodes, jobs);
    // The second of two is measured: the first pays for fresh pages.
    drop(Planner::of(&view, Policy::default()));
    let before = resident();
    let start = spent();
    let mut planner = Planner::of(&view, Policy::default());
    let loaded = since(start);
    let loaded_at = spent();
    let decided = planner.decide(view.now);
    let first = since(loaded_at);
    let bytes = resident().saturating_sub(before) / u64::from(jobs);
    let starts = decided.starts.len();
    drop(decided);
    let mut pass = f64::MAX;
    for _ in 0..5 {
        let start = spent();
        drop(planner.decide(view.now));
        pass = pass.min(since(start));
    }
    let change = changes(&mut planner, &view, jobs);
    println!(
        "{nodes:>7} {jobs:>8} | {loaded:>8.1} {first:>8.2} {pass:>8.2} {goal:>7} | {change:>9.3} {:>9.2} | {starts:>6} {bytes:>9}",
        goal / 100.0,
    );
}

/// The mean time from a change to the plan that heeds it: a job comes, a run ends, a node drains. Everything
/// that fits runs already; what a plan starts is started before the next change.
fn changes(planner: &mut Planner, view: &ClusterView, jobs: u32) -> f64 {
    let mut chance = Chance(7);
    let shapes = shapes(&mut chance);
    let runs: Vec<(RunId, Arc<RunningJob>)> =
        view.running.iter().map(|(run, job)| (*run, job.clone())).collect();
    let nodes: Vec<Arc<ViewNode>> = view.nodes.values().cloned().collect();
    let rounds = 90;
    let mut total = 0.0;
    let mut decided = planner.decide(view.now);
    for round in 0..rounds {
        while !decided.starts.is_empty() {
            decided.starts.iter().for_each(|start| begin(planner, start));
            decided = planner.decide(view.now);
        }
        let change = match round % 3 {
            0 => Change::Job(pending(JobId(jobs + 1 + round), &shapes, &mut chance)),
            1 => Change::End(runs[chance.below(runs.len() as u64) as usize].0),
            _ => {
                let node = &nodes[chance.below(nodes.len() as u64) as usize];
                Change::Node(ViewNode { usable: false, ..(**node).clone() })
            }
        };
        let start = spent();
        decided = heed(planner, change, view.now);
        total += since(start);
    }
    total / f64::from(rounds)
}

enum Change {
    Job(PendingJob),
    End(RunId),
    Node(ViewNode),
}

/// Takes in a change and plans again; by itself, so that a profiler can tell it from the rest.
#[inline(never)]
fn heed(planner: &mut Planner, change: Change, now: Timestamp) -> Decisions {
    match change {
        Change::Job(job) => planner.put_job(&Arc::new(job)),
        Change::End(run) => planner.remove_run(run),
        Change::Node(node) => planner.put_node(&Arc::new(node)),
    }
    planner.decide(now)
}

fn begin(planner: &mut Planner, start: &Start) {
    planner.remove_job(start.job);
    let run = RunningJob {
        since: Timestamp(NOW),
        end: start.end,
        shares: start.shares.clone().into(),
        user: 1,
        label: "".into(),
        partition: "all".into(),
        reservation: "".into(),
        sharing: Sharing::Anybody,
        wish: Wish::default(),
        charges: [].into(),
        preemptible: None,
        leaves: false,
        sleeps: None,
        limit: None,
    };
    planner.put_run(RunId(start.job, 0), &Arc::new(run));
}

/// Processor time of this thread in milliseconds: others may be busy meanwhile.
fn spent() -> f64 {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    let spent = nix::time::clock_gettime(clock).expect("the clock of a thread");
    spent.tv_sec() as f64 * 1000.0 + spent.tv_nsec() as f64 / 1e6
}

fn since(start: f64) -> f64 {
    spent() - start
}

/// Bytes of memory the process has.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Numbers that look random and are always the same.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn cluster(nodes: u32, jobs: u32) -> ClusterView {
    let mut chance = Chance(42);
    let mut view = ClusterView { now: Timestamp(NOW), ..ClusterView::default() };
    let partitions: [Arc<[Arc<str>]>; 2] =
        [["all".into(), "cpu".into()].into(), ["all".into(), "gpu".into()].into()];
    let features: [Arc<[Arc<str>]>; 3] =
        [[].into(), ["fast".into()].into(), ["fast".into(), "ib".into()].into()];
    let gres: [Arc<[ViewGres]>; 2] = [[].into(), [ViewGres::devices("gpu", "mi300x", 8)].into()];
    let mut run = 0;
    for number in 0..nodes {
        let gpu = usize::from(number % 5 == 0);
        let node = ViewNode {
            name: format!("n{number}").into(),
            usable: number % 50 != 1,
            weight: 1 + (number / 1000) % 3,
            partitions: partitions[gpu].clone(),
            features: features[(number / 64 % 3) as usize].clone(),
            switches: [].into(),
            sockets: 2,
            cores: 64,
            threads: 2,
            kept: [].into(),
            memory_mb: 512_000,
            tmp_mb: 1_000_000,
            gres: gres[gpu].clone(),
        };
        // Nearly full: one node in twenty has room.
        let mut core = 0;
        let roomy = chance.below(20) == 0;
        while core < if roomy { 40 } else { 64 } {
            let cores = (8 + chance.below(32) as u32).min(64 - core);
            run += 1;
            let held = RunningJob {
                since: Timestamp(NOW - 3600),
                end: Timestamp(NOW + 60 * (1 + chance.below(2880) as i64)),
                shares: Arc::new([ViewShare {
                    node: node.name.clone(),
                    cores: (core..core + cores).collect(),
                    memory_mb: u64::from(cores) * 4000,
                    devices: if gpu == 1 && core < 40 { vec![(0, core / 8, 1)] } else { vec![] },
                    units: 1,
                }]),
                user: 1,
                label: "".into(),
                partition: "all".into(),
                reservation: "".into(),
                sharing: Sharing::Anybody,
                wish: Wish::default(),
                charges: [].into(),
                preemptible: None,
                leaves: false,
                sleeps: None,
                limit: None,
            };
            core += cores;
            view.running.insert(RunId(JobId(2_000_000 + run), 0), Arc::new(held));
        }
        view.nodes.insert(node.name.clone(), Arc::new(node));
    }
    let nodes = (0..nodes / 100).map(|number| format!("n{}", number * 7).into()).collect();
    let (start, end) = (Timestamp(NOW + 7200), Timestamp(NOW + 14_400));
    let work = ViewReservation {
        start,
        end,
        nodes,
        every: None,
        flexible: false,
        anywhere: false,
        over: false,
        cores: Arc::default(),
        without: [false; 7],
    };
    view.reservations.insert("work".into(), Arc::new(work));
    view.counters.insert("license/a".into(), Counter { max: 100, reason: Reason::Licenses });
    let shapes = shapes(&mut chance);
    for id in 1..=jobs {
        let job = pending(JobId(id), &shapes, &mut chance);
        view.pending.insert(JobId(id), Arc::new(job));
    }
    view
}

/// A shape, where it goes and what it uses, shared by all jobs alike.
type Alike = (Arc<Shape>, Arc<[(Arc<str>, u16)]>, Arc<[Charge]>);

fn shapes(chance: &mut Chance) -> Vec<Alike> {
    let names: [Named; 3] =
        [[("all".into(), 1)].into(), [("cpu".into(), 1)].into(), [("gpu".into(), 2)].into()];
    let charges: [Arc<[Charge]>; 2] = [
        [].into(),
        [Charge { counter: "license/a".into(), amount: 1, of: Default::default(), weight: 1000 }]
            .into(),
    ];
    let one = |chance: &mut Chance| {
        let gpus = if chance.below(4) == 0 { 1 << chance.below(4) } else { 0 };
        let nodes = if chance.below(5) == 0 { 1 + chance.below(32) as u32 } else { 1 };
        let need = GresNeed {
            name: "gpu".into(),
            model: "mi300x".into(),
            count: gpus,
            per: Per::Node,
            parts: false,
        };
        let shape = Shape {
            nodes_min: nodes,
            nodes_max: nodes,
            units: nodes,
            unit_cpus: 1 << chance.below(8),
            memory: match chance.below(3) {
                0 => Memory::Fair,
                1 => Memory::PerCpu(1000 + 1000 * chance.below(4)),
                _ => Memory::PerNode(1000 * (1 + chance.below(400))),
            },
            constraint: ["", "", "", "fast", "ib", "fast&ib"][chance.below(6) as usize].into(),
            gres: if gpus == 0 { vec![] } else { vec![need] },
            secs: 900 * (1 + chance.below(96) as i64),
            ..Shape::default()
        };
        let place = if gpus > 0 { 2 } else { chance.below(2) as usize };
        let license = usize::from(chance.below(50) == 0);
        (Arc::new(shape), names[place].clone(), charges[license].clone())
    };
    (0..SHAPES).map(|_| one(chance)).collect()
}

fn pending(id: JobId, shapes: &[Alike], chance: &mut Chance) -> PendingJob {
    let (shape, partitions, charges) = &shapes[chance.below(shapes.len() as u64) as usize];
    PendingJob {
        ranks_by_tier: false,
        id,
        count: 1,
        partitions: partitions.clone(),
        shape: shape.clone(),
        priority: chance.below(100_000) as u32,
        elsewhere: [].into(),
        user: chance.below(500) as u32,
        charges: charges.clone(),
        standing: Standing::Ready,
        rank: 0,
        with: [].into(),
    }
}
