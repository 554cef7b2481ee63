//! Placement of GPU pods, most of them parts of a GPU: arrivals until 130 % of the GPUs are asked for,
//! nothing leaves. What counts is how much of the GPUs can be given.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use spur_core::ids::{JobId, NodeName};
use spur_core::time::Timestamp;
use spur_sched::Choice;
use spur_sched::planner::{Planner, Policy};
use spur_sched::shape::{GresNeed, Memory, Per, Shape, Sharing};
use spur_sched::view::{PendingJob, RunId, RunningJob, Standing, ViewGres, ViewNode};

use super::{Options, Way, plot, trace};

/// Thousandths of a processor in what counts as a core here.
const GRAIN: u32 = 100;

struct Pod {
    shape: Arc<Shape>,
    milli: u64,
}

/// How much more is asked from point to point of a curve, as a part of all GPUs.
const STEP: f64 = 0.005;

/// Orders of arrival that are tried.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// Places a list of pods on the nodes listed beside it, by each way to choose.
pub fn run(pods: &str, options: &Options) -> Result<()> {
    let beside = options.file.with_file_name("openb_node_list_gpu_node.csv");
    let mut nodes = nodes(&trace::read(&beside)?)?;
    nodes.truncate(options.nodes.map_or(usize::MAX, |most| most as usize));
    let mut pods = read_pods(pods)?;
    pods.truncate(options.first.unwrap_or(usize::MAX));
    if nodes.is_empty() || pods.iter().all(|pod| pod.milli == 0) {
        bail!("{} asks for no GPUs, or there are no nodes beside it", options.file.display());
    }
    let capacity: u64 =
        nodes.iter().flat_map(|node| node.gres.iter()).map(|it| u64::from(it.devices)).sum();
    println!("{} nodes with {capacity} GPUs, {} kinds of pods", nodes.len(), pods.len());
    println!(
        "{:<10} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "policy", "at 100 %", "at 130 %", "refused", "idle", "in pieces"
    );
    // Who waits for whom does not matter here, so the others place as `spur` does.
    let usual = [Way::Easy, Way::BestFit, Way::Spur];
    let ways = if options.policies.is_empty() { &usual[..] } else { &options.policies };
    let mut drawn = Vec::new();
    for way in ways {
        let rows: Vec<Placed> =
            SEEDS.map(|seed| place(&nodes, &pods, capacity, way.choice(), seed)).collect();
        let mean = |get: fn(&Placed) -> f64| rows.iter().map(get).sum::<f64>() / rows.len() as f64;
        println!(
            "{:<10} {:>11.1}% {:>11.1}% {:>12.0} {:>11.1}% {:>11.1}%",
            way.name(),
            100.0 * mean(|row| row.at_100),
            100.0 * mean(|row| row.at_130),
            mean(|row| f64::from(row.refused)),
            100.0 * mean(|row| row.idle),
            100.0 * mean(|row| row.pieces),
        );
        drawn.extend(rows.into_iter().next().map(|row| (way.name(), row.curve)));
    }
    if let Some(path) = &options.plot {
        let said =
            format!("{} kinds of pods on {} nodes with {capacity} GPUs", pods.len(), nodes.len());
        plot::write(path, &plot::given(&drawn, &said))?;
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
    /// What was given for what was asked, step by step.
    curve: Vec<(f64, f64)>,
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
    let part = |milli: u64| milli as f64 / (capacity * 1000) as f64;
    let mut curve = vec![(0.0, 0.0)];
    let mut order = shuffled(pods.len(), seed);
    let (mut next, mut number) = (0, 0);
    let mut used: BTreeMap<(NodeName, u32), u32> = BTreeMap::new();
    while asked < capacity * 1300 {
        if next == order.len() {
            order = shuffled(pods.len(), seed + next as u64);
            next = 0;
        }
        let pod = &pods[order[next]];
        next += 1;
        number += 1;
        let id = JobId(number);
        planner.put_job(&Arc::new(PendingJob {
            ranks_by_tier: false,
            id,
            count: 1,
            partitions: partitions.clone(),
            shape: pod.shape.clone(),
            priority: 1,
            elsewhere: [].into(),
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
                    leaves: false,
                    sleeps: None,
                    limit: None,
                };
                planner.put_run(RunId(id, 0), &Arc::new(run));
            }
            None => refused += 1,
        }
        if asked <= capacity * 1000 {
            at_100 = part(given);
        }
        if curve.last().is_none_or(|(last, _)| part(asked) - last >= STEP) {
            curve.push((part(asked), part(given)));
        }
    }
    let left: u64 = used.values().map(|used| 1000 - u64::from((*used).min(1000))).sum();
    let idle = (capacity - used.len() as u64) * 1000;
    let at_130 = part(given);
    Placed { at_100, at_130, refused, idle: part(idle), pieces: part(left), curve }
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
            let gpu = ViewGres::devices("gpu", &model, number(&fields, 3)?).in_parts(1000);
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
