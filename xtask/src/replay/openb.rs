//! Placement of GPU pods, most of them parts of a GPU: arrivals until 130 % of the GPUs are asked for,
//! nothing leaves. What counts is how much of the GPUs can be given.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use spur_core::ids::{JobId, NodeName};
use spur_core::time::Timestamp;
use spur_sched::Choice;
use spur_sched::planner::{Planner, Policy};
use spur_sched::shape::{GresNeed, Memory, Per, Shape, Sharing};
use spur_sched::view::{PendingJob, RunId, RunningJob, Standing, ViewGres, ViewNode};

use super::trace;

/// Thousandths of a processor in what counts as a core here.
const GRAIN: u32 = 100;

struct Pod {
    shape: Arc<Shape>,
    milli: u64,
}

/// Places a list of pods on the nodes listed beside it, by each way to choose.
pub fn run(file: &Path, pods: &str) -> Result<()> {
    let beside = file.with_file_name("openb_node_list_gpu_node.csv");
    let nodes = nodes(&trace::read(&beside)?)?;
    let pods = read_pods(pods)?;
    let capacity: u64 =
        nodes.iter().flat_map(|node| node.gres.iter()).map(|it| u64::from(it.devices)).sum();
    println!("{} nodes with {capacity} GPUs, {} kinds of pods", nodes.len(), pods.len());
    println!(
        "{:<10} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "choice", "at 100 %", "at 130 %", "refused", "idle", "in pieces"
    );
    let ways = [("first", Choice::First), ("best fit", Choice::BestFit), ("fgd", Choice::Tight)];
    for (name, choice) in ways {
        let mut rows = Vec::new();
        for seed in 1..=3 {
            rows.push(place(&nodes, &pods, capacity, choice, seed));
        }
        let mean = |get: fn(&Placed) -> f64| rows.iter().map(get).sum::<f64>() / rows.len() as f64;
        println!(
            "{name:<10} {:>11.1}% {:>11.1}% {:>12.0} {:>11.1}% {:>11.1}%",
            100.0 * mean(|row| row.at_100),
            100.0 * mean(|row| row.at_130),
            mean(|row| f64::from(row.refused)),
            100.0 * mean(|row| row.idle),
            100.0 * mean(|row| row.pieces),
        );
    }
    Ok(())
}

/// What came of one order of arrivals, as parts of all GPUs.
struct Placed {
    at_100: f64,
    at_130: f64,
    refused: u32,
    /// GPUs nobody has anything of, and what is left of the others.
    idle: f64,
    pieces: f64,
}

fn place(
    nodes: &[Arc<ViewNode>],
    pods: &[Pod],
    capacity: u64,
    choice: Choice,
    seed: u64,
) -> Placed {
    let mut planner = Planner::new(Policy { choice, ..Policy::default() });
    nodes.iter().for_each(|node| planner.put_node(node));
    let partitions: Arc<[(Arc<str>, u16)]> = Arc::new([("all".into(), 1)]);
    let (mut asked, mut given, mut refused, mut at_100) = (0, 0, 0, 0.0);
    let mut order = shuffled(pods.len(), seed);
    let mut next = 0;
    let mut used: BTreeMap<(NodeName, u32), u32> = BTreeMap::new();
    while asked < capacity * 1300 {
        if next == order.len() {
            order = shuffled(pods.len(), seed + next as u64);
            next = 0;
        }
        let pod = &pods[order[next]];
        next += 1;
        let id = JobId(next as u32 + (asked as u32).wrapping_mul(16) % 1_000_000_000);
        planner.put_job(&Arc::new(PendingJob {
            ranks_by_tier: false,
            id,
            count: 1,
            partitions: partitions.clone(),
            shape: pod.shape.clone(),
            priority: 1,
            user: 0,
            charges: [].into(),
            standing: Standing::Ready,
            rank: 0,
            with: [].into(),
        }));
        asked += pod.milli;
        let decided = planner.decide(Timestamp(0));
        planner.remove_job(id);
        match decided.starts.into_iter().next() {
            Some(start) => {
                given += pod.milli;
                for share in &start.shares {
                    for (_, device, parts) in &share.devices {
                        *used.entry((share.node.clone(), *device)).or_default() += parts;
                    }
                }
                let run = RunningJob {
                    since: Timestamp(0),
                    end: Timestamp(i64::MAX / 4),
                    shares: start.shares.into(),
                    user: 0,
                    label: "".into(),
                    partition: "all".into(),
                    reservation: "".into(),
                    sharing: Sharing::Anybody,
                    wish: pod.shape.wish(),
                    charges: [].into(),
                    preemptible: None,
                    sleeps: None,
                    limit: None,
                };
                planner.put_run(RunId(id, 0), &Arc::new(run));
            }
            None => refused += 1,
        }
        if asked <= capacity * 1000 {
            at_100 = given as f64 / (capacity * 1000) as f64;
        }
    }
    let part = |milli: u64| milli as f64 / (capacity * 1000) as f64;
    let left: u64 = used.values().map(|used| 1000 - u64::from((*used).min(1000))).sum();
    let idle = (capacity - used.len() as u64) * 1000;
    Placed { at_100, at_130: part(given), refused, idle: part(idle), pieces: part(left) }
}

fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut order: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        order.swap(place, (chance % (place as u64 + 1)) as usize);
    }
    order
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).filter(|line| !line.is_empty()).map(|line| line.split(',').collect())
}

fn number(fields: &[&str], place: usize) -> Result<u32> {
    let field = fields.get(place).context("a short line")?;
    field.parse().with_context(|| format!("not a number: {field}"))
}

fn nodes(text: &str) -> Result<Vec<Arc<ViewNode>>> {
    rows(text)
        .map(|fields| {
            let model: Arc<str> = fields.get(4).copied().unwrap_or_default().into();
            let gpu =
                ViewGres { parts: 1000, ..ViewGres::devices("gpu", &model, number(&fields, 3)?) };
            Ok(Arc::new(ViewNode {
                name: fields[0].into(),
                usable: true,
                weight: 1,
                partitions: ["all".into()].into(),
                features: [model].into(),
                switches: [].into(),
                sockets: 1,
                cores: number(&fields, 1)? / GRAIN,
                threads: 1,
                kept: [].into(),
                memory_mb: u64::from(number(&fields, 2)?),
                tmp_mb: 0,
                gres: [gpu].into(),
            }))
        })
        .collect()
}

fn read_pods(text: &str) -> Result<Vec<Pod>> {
    let mut pods = Vec::new();
    for fields in rows(text) {
        let (gpus, milli) = (number(&fields, 3)?, number(&fields, 4)?);
        let parts = gpus == 1 && milli < 1000;
        let count = if parts { milli } else { gpus };
        let need = GresNeed { name: "gpu".into(), model: "".into(), count, per: Per::Node, parts };
        let shape = Shape {
            unit_cpus: number(&fields, 1)?.div_ceil(GRAIN).max(1),
            memory: Memory::PerNode(u64::from(number(&fields, 2)?)),
            constraint: fields.get(5).copied().filter(|it| *it != "nan").unwrap_or_default().into(),
            gres: if gpus == 0 { vec![] } else { vec![need] },
            ..Shape::default()
        };
        let milli = if parts { u64::from(milli) } else { 1000 * u64::from(gpus) };
        pods.push(Pod { shape: Arc::new(shape), milli });
    }
    Ok(pods)
}
