//! What holds for any cluster and any sequence of changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use spur_core::job::Reason;

use super::*;
use crate::shape::Sharing;
use crate::view::{Counter, ViewReservation};

#[derive(Clone, Debug)]
enum Change {
    Node { number: u8, cores: u8, gpus: u8, weight: u8, usable: bool, memory: u16, feature: bool },
    NoNode(u8),
    Job(Box<Wish>),
    NoJob(u8),
    StartAll,
    End(u8),
    Time(u16),
    Licenses(u8),
    Reserve { from: u16, secs: u16, nodes: u8 },
    NoReserve,
}

#[derive(Clone, Debug)]
struct Wish {
    nodes: (u8, u8),
    units: u8,
    cpus: u8,
    memory: u8,
    gpus: u8,
    per_unit: bool,
    feature: bool,
    alone: bool,
    contiguous: bool,
    minutes: u16,
    least: bool,
    priority: u8,
    license: u8,
    reserved: bool,
    from: Option<u16>,
    count: u8,
    two: bool,
    /// Parts of a device, where they are asked for.
    parts: Option<u8>,
    segment: Option<u8>,
    switches: Option<u8>,
}

fn wish() -> impl Strategy<Value = Wish> {
    let sizes = ((1..4u8, 0..3u8), 1..7u8, 1..3u8, 0..4u8, 0..3u8);
    let flags = (any::<bool>(), prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    let rare = (prop::bool::weighted(0.1), 1..200u16, prop::bool::weighted(0.2), 0..3u8, 0..3u8);
    let more = (prop::bool::weighted(0.1), prop::option::weighted(0.1, 0..5000u16), 1..4u8);
    let near = (
        prop::option::weighted(0.2, 1..5u8),
        prop::option::weighted(0.2, 1..3u8),
        prop::option::weighted(0.2, 1..3u8),
    );
    (sizes, flags, rare, more, prop::bool::weighted(0.2), near).prop_map(
        |(sizes, flags, rare, more, two, near)| {
            let (parts, segment, switches) = near;
            let (nodes, units, cpus, memory, gpus) = sizes;
            let (per_unit, feature, alone) = flags;
            let (contiguous, minutes, least, priority, license) = rare;
            let (reserved, from, count) = more;
            Wish {
                nodes,
                units,
                cpus,
                memory,
                gpus,
                per_unit,
                feature,
                alone,
                contiguous,
                minutes,
                least,
                priority,
                license,
                reserved,
                from,
                count,
                two,
                parts,
                segment,
                switches,
            }
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let node =
        (0..8u8, 1..9u8, 0..5u8, 1..3u8, prop::bool::weighted(0.8), 100..400u16, any::<bool>());
    prop_oneof![
        3 => node.prop_map(|(number, cores, gpus, weight, usable, memory, feature)| Change::Node {
            number, cores, gpus, weight, usable, memory, feature
        }),
        1 => (0..8u8).prop_map(Change::NoNode),
        8 => wish().prop_map(|wish| Change::Job(Box::new(wish))),
        2 => any::<u8>().prop_map(Change::NoJob),
        3 => Just(Change::StartAll),
        3 => any::<u8>().prop_map(Change::End),
        2 => (0..4000u16).prop_map(Change::Time),
        1 => (0..4u8).prop_map(Change::Licenses),
        1 => (0..5000u16, 1..5000u16, 0..8u8)
            .prop_map(|(from, secs, nodes)| Change::Reserve { from, secs, nodes }),
        1 => Just(Change::NoReserve),
    ]
}

fn pending(id: JobId, wish: &Wish) -> PendingJob {
    let (least, more) = (u32::from(wish.nodes.0), u32::from(wish.nodes.1));
    let units = u32::from(wish.units).max(least);
    let per = if wish.per_unit { Per::Unit } else { Per::Node };
    let gres = match (wish.parts, wish.gpus) {
        (Some(parts), _) => vec![GresNeed { parts: true, ..gpu_need(u32::from(parts), Per::Node) }],
        (None, 0) => vec![],
        (None, gpus) => vec![gpu_need(u32::from(gpus), per)],
    };
    let secs = i64::from(wish.minutes) * 60;
    let shape = Shape {
        nodes_min: least,
        nodes_max: (least + more).min(units),
        units,
        unit_cpus: u32::from(wish.cpus),
        memory: match wish.memory {
            0 => Memory::None,
            1 => Memory::Fair,
            2 => Memory::PerCpu(30),
            _ => Memory::PerNode(150),
        },
        gres,
        segment: wish.segment.map(u32::from),
        switches: wish.switches.map(u32::from),
        constraint: if wish.feature { "fast" } else { "" }.into(),
        sharing: if wish.alone { Sharing::Nobody } else { Sharing::Anybody },
        contiguous: wish.contiguous,
        secs,
        secs_min: wish.least.then_some(60),
        expected: wish.per_unit.then_some(secs / 3),
        reservation: if wish.reserved { "r" } else { "" }.into(),
        ..Shape::default()
    };
    let partitions: &[(Arc<str>, u16)] =
        if wish.two { &[("odd".into(), 2), ("all".into(), 1)] } else { &[("all".into(), 1)] };
    PendingJob {
        ranks_by_tier: false,
        id,
        count: u32::from(wish.count),
        partitions: partitions.into(),
        shape: Arc::new(shape),
        priority: u32::from(wish.priority),
        elsewhere: [].into(),
        user: 1,
        charges: match wish.license {
            0 => [].into(),
            amount => [charge("license/a", u64::from(amount))].into(),
        },
        standing: wish.from.map_or(Standing::Ready, |at| Standing::From(Timestamp(at.into()))),
        rank: 0,
        with: [].into(),
    }
}

/// A planner that is told of changes, and the view that has them all.
struct Both {
    view: ClusterView,
    planner: Planner,
    next: u32,
    /// Nodes are in blocks of three.
    blocks: bool,
}

impl Both {
    fn apply(&mut self, change: &Change) {
        let (view, planner) = (&mut self.view, &mut self.planner);
        match change {
            Change::Node { number, cores, gpus: devices, weight, usable, memory, feature } => {
                let all: &[Arc<str>] =
                    if number % 2 == 0 { &["all".into()] } else { &["all".into(), "odd".into()] };
                let node = Arc::new(ViewNode {
                    name: format!("n{number}").into(),
                    usable: *usable,
                    weight: u32::from(*weight),
                    partitions: all.into(),
                    features: if *feature { ["fast".into()].into() } else { [].into() },
                    switches: match self.blocks {
                        true => [format!("b{}", number / 3).into()].into(),
                        false => [].into(),
                    },
                    sockets: 2,
                    cores: u32::from(*cores),
                    threads: 1,
                    kept: [].into(),
                    memory_mb: u64::from(*memory),
                    tmp_mb: 0,
                    gres: match u32::from(*devices) {
                        0 => [].into(),
                        // Some are given in quarters.
                        count if cores % 2 == 0 => {
                            [ViewGres::devices("gpu", "", count).in_parts(4)].into()
                        }
                        count => gpus(count),
                    },
                });
                let held = view.running.values().flat_map(|run| run.shares.iter());
                // What runs keeps what it has.
                if held.clone().any(|share| share.node == node.name) {
                    let known = view.nodes.get(&node.name).expect("runs on it");
                    let same = ViewNode { usable: *usable, ..(**known).clone() };
                    planner.put_node(&Arc::new(same.clone()));
                    view.nodes.insert(same.name.clone(), Arc::new(same));
                    return;
                }
                planner.put_node(&node);
                view.nodes.insert(node.name.clone(), node);
            }
            Change::NoNode(number) => {
                let name = format!("n{number}").into();
                let mut held = view.running.values().flat_map(|run| run.shares.iter());
                if held.all(|share| share.node != name) {
                    planner.remove_node(&name);
                    view.nodes.remove(&name);
                }
            }
            Change::Job(wish) => {
                let job = Arc::new(pending(JobId(self.next), wish));
                self.next += 1;
                planner.put_job(&job);
                view.pending.insert(job.id, job);
            }
            Change::NoJob(number) => {
                let jobs: Vec<JobId> = view.pending.keys().copied().collect();
                if let Some(job) = jobs.get(usize::from(*number) % jobs.len().max(1)) {
                    planner.remove_job(*job);
                    view.pending.remove(job);
                }
            }
            Change::StartAll => self.start_all(),
            Change::End(number) => {
                let runs: Vec<RunId> = view.running.keys().copied().collect();
                if let Some(run) = runs.get(usize::from(*number) % runs.len().max(1)) {
                    planner.remove_run(*run);
                    view.running.remove(run);
                }
            }
            Change::Time(secs) => view.now = Timestamp(view.now.0 + i64::from(*secs)),
            Change::Licenses(max) => {
                let counter = Counter { max: u64::from(*max), reason: Reason::Licenses };
                planner.put_counter(&"license/a".into(), Some(&counter));
                view.counters.insert("license/a".into(), counter);
            }
            Change::Reserve { from, secs, nodes } => {
                let start = Timestamp(view.now.0 + i64::from(*from));
                let end = Timestamp(start.0 + i64::from(*secs));
                let nodes = (0..*nodes).map(|number| format!("n{number}").into()).collect();
                let it = Arc::new(ViewReservation {
                    start,
                    end,
                    nodes,
                    every: None,
                    flexible: false,
                    ..Default::default()
                });
                planner.put_reservation(&"r".into(), Some(&it));
                view.reservations.insert("r".into(), it);
            }
            Change::NoReserve => {
                planner.put_reservation(&"r".into(), None);
                view.reservations.clear();
            }
        }
    }

    fn start_all(&mut self) {
        for start in self.planner.decide(self.view.now).starts {
            let job = self.view.pending[&start.job].clone();
            // What runs ends when it is expected to, where anybody expects something.
            let likely = self.view.now.plus_secs(job.shape.likely());
            let run = Arc::new(RunningJob {
                since: self.view.now,
                end: start.end.min(likely),
                shares: start.shares.into(),
                user: job.user,
                label: "".into(),
                partition: "all".into(),
                reservation: "".into(),
                sharing: job.shape.sharing,
                wish: job.shape.wish(),
                charges: job.charges.clone(),
                preemptible: None,
                leaves: false,
                sleeps: None,
                limit: None,
            });
            let taken = self.view.running.keys().filter(|run| run.0 == start.job).count() as u32;
            let id = RunId(start.job, taken + self.next * 100);
            self.next += 1;
            self.planner.put_run(id, &run);
            self.view.running.insert(id, run);
            let left = PendingJob { count: job.count - 1, ..(*job).clone() };
            if left.count == 0 {
                self.planner.remove_job(start.job);
                self.view.pending.remove(&start.job);
            } else {
                let left = Arc::new(left);
                self.planner.put_job(&left);
                self.view.pending.insert(start.job, left);
            }
        }
    }
}

/// Everything that is wrong with a plan.
fn faults(view: &ClusterView, plan: &Decisions) -> Vec<String> {
    let mut found = Vec::new();
    let mut cores: BTreeSet<(&str, u32)> = BTreeSet::new();
    let mut devices: BTreeMap<(&str, u32, u32), u32> = BTreeMap::new();
    let mut memory: BTreeMap<&str, u64> = BTreeMap::new();
    let running = view.running.values().flat_map(|run| run.shares.iter());
    for share in running.chain(plan.starts.iter().flat_map(|start| &start.shares)) {
        let node = &view.nodes[&share.node];
        let name = node.name.as_str();
        for core in &share.cores {
            if !cores.insert((name, *core)) || *core >= node.cores {
                found.push(format!("core {core} of {name} is given twice, or is not there"));
            }
        }
        for (group, device, parts) in &share.devices {
            let given = devices.entry((name, *group, *device)).or_default();
            *given += parts;
            if *given > node.gres[*group as usize].parts {
                found.push(format!("device {device} of {name} is given twice"));
            }
        }
        let given = memory.entry(name).or_default();
        *given += share.memory_mb;
        if *given > node.memory_mb {
            found.push(format!("{name} gives more memory than it has"));
        }
    }
    let charges = view.running.values().flat_map(|run| run.charges.iter());
    let used: u64 = charges.map(|charge| charge.amount).sum();
    let more = plan.starts.iter().flat_map(|start| view.pending[&start.job].charges.iter());
    let more: u64 = more.map(|charge| charge.amount).sum();
    if let Some(counter) = view.counters.get("license/a")
        && more > 0
        && used + more > counter.max
    {
        found.push("more licences are given than there are".to_string());
    }
    for start in &plan.starts {
        let shape = &view.pending[&start.job].shape;
        let units: u32 = start.shares.iter().map(|share| share.units).sum();
        let nodes = start.shares.len() as u32;
        if units != shape.units || nodes < shape.nodes_min || nodes > shape.nodes_max {
            found.push(format!("job {} gets {units} units on {nodes} nodes", start.job));
        }
    }
    found
}

/// What is promised of a place may be another part of it than before, and then others fit beside it.
#[test]
fn a_promise_of_another_part_of_the_same_nodes_is_another_promise() {
    let node = |number, cores, weight| Change::Node {
        number,
        cores,
        gpus: 0,
        weight,
        usable: true,
        memory: 100,
        feature: false,
    };
    let job = |nodes, units, priority| {
        Change::Job(Box::new(Wish {
            nodes: (nodes, 0),
            units,
            cpus: 1,
            memory: 0,
            gpus: 0,
            per_unit: false,
            feature: false,
            alone: false,
            contiguous: false,
            minutes: 26,
            least: false,
            priority,
            license: 0,
            reserved: false,
            from: None,
            count: 1,
            two: false,
            parts: None,
            segment: None,
            switches: None,
        }))
    };
    let changes = [
        node(0, 3, 1),
        node(2, 6, 2),
        job(1, 1, 0),
        Change::StartAll,
        job(2, 5, 2),
        job(1, 4, 0),
        Change::Reserve { from: 0, secs: 1, nodes: 1 },
        Change::End(0),
    ];
    let planner = Planner::new(Policy::default());
    let mut both = Both { view: ClusterView::default(), planner, next: 1, blocks: false };
    for change in &changes {
        both.apply(change);
        let told = both.planner.decide(both.view.now);
        let fresh = Planner::of(&both.view, Policy::default()).decide(both.view.now);
        assert_eq!(told.starts, fresh.starts, "{change:?}");
    }
}

/// `PROPTEST_CASES` says how many where more are wanted.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(512), ..usual }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_planner_that_was_told_decides_as_a_fresh_one(
        changes in prop::collection::vec(change(), 1..40),
        depth in 1..4u32,
        shortest_first in any::<bool>(),
        starts_max in prop_oneof![4 => Just(10_000usize), 1 => 1..4usize],
        blocks in any::<bool>(),
    ) {
        let policy = Policy { depth, shortest_first, starts_max, ..Policy::default() };
        let planner = Planner::new(policy);
        let mut both = Both { view: ClusterView::default(), planner, next: 1, blocks };
        for change in &changes {
            both.apply(change);
            let told = both.planner.decide(both.view.now);
            let fresh = Planner::of(&both.view, policy).decide(both.view.now);
            prop_assert_eq!(&told.starts, &fresh.starts, "{:?}", change);
            let (told_waits, fresh_waits): (Vec<_>, Vec<_>) =
                (told.waits.iter().collect(), fresh.waits.iter().collect());
            prop_assert_eq!(told_waits, fresh_waits, "{:?}", change);
            prop_assert_eq!(faults(&both.view, &told), Vec::<String>::new());
            let known = told.waits.iter().map(|(job, _)| job);
            let starts = told.starts.iter().map(|start| start.job);
            let answered: BTreeSet<JobId> = known.chain(starts).collect();
            prop_assert!(both.view.pending.keys().all(|job| answered.contains(job)));
        }
    }

    #[test]
    fn no_promise_is_moved_later_by_what_a_pass_starts(
        changes in prop::collection::vec(change(), 1..40),
    ) {
        let planner = Planner::new(Policy::default());
        let mut both = Both { view: ClusterView::default(), planner, next: 1, blocks: false };
        for change in &changes {
            both.apply(change);
            let before = both.planner.decide(both.view.now);
            // The first in line: whoever has a promise in the highest tier that somebody waits in. Others may
            // be told a later moment once more is known of those before them.
            let tier = |name: &str| if name == "odd" { 2 } else { 1 };
            let waiting = both.view.pending.values();
            let highest = waiting.flat_map(|job| job.partitions.iter()).map(|(_, tier)| *tier).max();
            let promised = both.view.pending.values().filter_map(|job| {
                let promised = before.waits.promised(job.id)?;
                let wait = before.waits.get(job.id)?;
                let is_first = Some(tier(&promised.partition)) == highest;
                let start = wait.start.filter(|_| wait.reason == Reason::Resources && is_first)?;
                Some((Reverse(job.priority), job.id, start))
            });
            let promise = promised.min().map(|(_, job, start)| (job, start));
            both.start_all();
            let after = both.planner.decide(both.view.now);
            if let Some((job, at)) = promise
                && let Some(wait) = after.waits.get(job)
                && wait.reason == Reason::Resources
            {
                // What should be over by now is over in a second at the earliest.
                let at = at.max(Timestamp(both.view.now.0 + 1));
                prop_assert!(wait.start.is_some_and(|now| now <= at), "{job}: {at:?}, {wait:?}");
            }
        }
    }
}
