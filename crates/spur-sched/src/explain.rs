//! Why a job waits, in numbers: what it needs, what is there, which nodes are of no use and by which test.
//!
//! Told from the very pass that decided: what it starts is taken, what it promises is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::accounts::limits::Breach;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::Reason;
use spur_core::time::Timestamp;

use crate::fit::Lack;
use crate::nodes::{Free, NodeIndex, Slot};
use crate::pass::Pass;
use crate::place;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::{Memory, Per, Shape};
use crate::timeline::But;
use crate::waits::{Promised, Wait};

/// Everything there is to say about a job that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Why it waits; nothing when it starts.
    pub wait: Option<Wait>,
    /// When and where it is expected to start, as far as that can be told.
    pub expected: Option<Promised>,
    /// The partition the numbers are about.
    pub partition: Arc<str>,
    /// Nodes it needs at least, and takes at most.
    pub nodes_wanted: (u32, u32),
    /// What it needs altogether, and what its partition has.
    pub needs: Vec<Need>,
    /// Nodes of the partition that would do now.
    pub fitting: Vec<NodeName>,
    /// Nodes of the partition that would not, by the first test they fail.
    pub rejected: BTreeMap<Test, Vec<NodeName>>,
    /// Amounts that jobs use up together: what it needs, and what is used.
    pub limits: Vec<LimitUse>,
    /// How many waiting jobs come before it in its partition, and the first of them.
    pub ahead: u64,
    /// The first of those, in turn.
    pub first_ahead: Vec<JobId>,
    /// Running jobs on the nodes it is expected to get, with their ends.
    pub blockers: Vec<(JobId, Timestamp)>,
}

/// A resource of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// `cpu`, `mem`, `node`, `gres/gpu:mi300x`; memory is in MiB.
    pub name: String,
    /// How much the job needs.
    pub needed: u64,
    /// How much of it is free on nodes that take jobs.
    pub free: u64,
    /// The most that is free on one node.
    pub most_on_a_node: u64,
    /// How much there is.
    pub total: u64,
}

/// A limit and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitUse {
    /// `license/matlab`
    pub name: Arc<str>,
    /// What a start would use.
    pub needed: u64,
    /// What is used now.
    pub used: u64,
    /// What there is.
    pub max: u64,
    /// The reason of a job that finds too little.
    pub reason: Reason,
}

impl From<Breach> for LimitUse {
    fn from(it: Breach) -> LimitUse {
        let Breach { reason, limit, used, needed, max } = it;
        LimitUse { name: limit.into(), needed, used, max, reason }
    }
}

/// Why a node is of no use at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// Down, drained, or not heard of.
    Unavailable,
    /// The job excludes it.
    Excluded,
    /// It lacks the features, or is built otherwise.
    Features,
    /// Even empty it has too few processors.
    TooFewCpus,
    /// Even empty it has too little memory.
    TooLittleMemory,
    /// Even empty it has too few devices.
    TooFewDevices,
    /// Too little space for temporary files.
    TooLittleTmp,
    /// It belongs to a reservation, or will before the job could end.
    Reserved,
    /// The job is to be alone, or others are.
    NotShared,
    /// Its processors are taken.
    BusyCpus,
    /// Its memory is taken.
    BusyMemory,
    /// Its devices are taken.
    BusyDevices,
    /// A job before this one has a promise on it.
    Promised,
    /// It is outside the reservation that the job asks for.
    OutsideReservation,
}

impl Test {
    /// A word for machines, and what it means.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Test::Unavailable => ("unavailable", "down, drained or not responding"),
            Test::Excluded => ("excluded", "excluded by the job"),
            Test::Features => ("features", "without the features asked for"),
            Test::TooFewCpus => ("small_cpu", "with too few processors, even when empty"),
            Test::TooLittleMemory => ("small_memory", "with too little memory, even when empty"),
            Test::TooFewDevices => ("small_gres", "with too few devices, even when empty"),
            Test::TooLittleTmp => ("small_tmp", "with too little temporary space"),
            Test::Reserved => ("reserved", "in a reservation before the job could end"),
            Test::NotShared => ("not_shared", "not shared"),
            Test::BusyCpus => ("busy_cpu", "with too few free processors"),
            Test::BusyMemory => ("busy_memory", "with too little free memory"),
            Test::BusyDevices => ("busy_gres", "with too few free devices"),
            Test::Promised => ("promised", "held for a job that comes before"),
            Test::OutsideReservation => ("outside", "outside the reservation"),
        }
    }
}

/// Jobs ahead that are named.
const NAMED: usize = 10;

impl Planner {
    /// Explains a job at the end of a pass.
    pub(crate) fn explain(&self, pass: &Pass, job: JobId) -> Option<Explanation> {
        let place = self.queue.places.get(job)?;
        let class = &self.queue.classes[place.class as usize];
        let wait = match pass.special.get(&job) {
            Some(wait) => *wait,
            None => pass.by_class.get(place.class as usize).copied(),
        };
        // A job that starts with another stands in its place.
        let other = class.with.iter().find(|it| it.job == job);
        let (place_of, charges) = match other {
            Some(it) => (it.places.first(), &it.charges),
            None => (None, &class.charges),
        };
        let (partition, shape) =
            place_of.map_or((&class.partition, &class.shape), |it| (&it.0, &it.1));
        let fits = Fits::of(shape, partition, &self.nodes);
        let mut told = Explanation {
            wait,
            partition: partition.clone(),
            nodes_wanted: (shape.nodes_min, shape.nodes_max),
            limits: self.limits(charges),
            ..Explanation::default()
        };
        self.test_nodes(pass, &fits, shape, job, &mut told);
        told.needs = self.needs(&fits, shape, &told);
        let mut ahead: Vec<_> = (self.queue.classes.iter())
            .filter(|it| it.partition == class.partition && it.barred.is_none())
            .flat_map(|it| it.jobs.range(..(place.rank, job, 0)))
            .filter(|key| pass.special.get(&key.1) != Some(&None))
            .collect();
        told.ahead = ahead.len() as u64;
        ahead.sort_unstable();
        told.first_ahead = ahead.into_iter().take(NAMED).map(|key| key.1).collect();
        Some(told)
    }

    /// Adds what the pass promised or forecast.
    pub(crate) fn expect(&self, pass: &Pass, job: JobId, told: Explanation) -> Explanation {
        let expected = pass.held.get(&job).or_else(|| pass.out.forecast.get(&job)).cloned();
        let blockers = expected.as_ref().map_or_else(Vec::new, |it| self.blockers(it));
        Explanation { expected, blockers, ..told }
    }

    fn limits(&self, charges: &[crate::view::Charge]) -> Vec<LimitUse> {
        let known = charges.iter().filter_map(|charge| {
            let tally = self.counters.get(&charge.counter)?;
            Some(LimitUse {
                name: charge.counter.clone(),
                needed: charge.amount,
                used: tally.used,
                max: tally.max?,
                reason: tally.reason,
            })
        });
        known.collect()
    }

    fn blockers(&self, expected: &Promised) -> Vec<(JobId, Timestamp)> {
        let slots = expected.nodes.iter().filter_map(|node| self.nodes.index(node));
        let runs = slots.flat_map(|node| &self.nodes.slot(node).runs);
        let mut found: Vec<(i64, JobId)> = (runs.filter(|held| held.end <= expected.at.0))
            .map(|held| (held.end, held.run.0))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|(end, job)| (job, Timestamp(end))).collect()
    }

    fn members<'a>(&'a self, partition: &'a str) -> impl Iterator<Item = NodeIndex> + 'a {
        self.nodes.in_order().filter(move |node| {
            let slot = self.nodes.slot(*node);
            slot.present && slot.node.partitions.iter().any(|it| **it == *partition)
        })
    }

    fn test_nodes(
        &self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
        job: JobId,
        told: &mut Explanation,
    ) {
        for node in self.members(&told.partition.clone()) {
            let slot = self.nodes.slot(node);
            let name = slot.node.name.clone();
            match self.test(pass, fits, shape, job, node) {
                Some(test) => told.rejected.entry(test).or_default().push(name),
                None => told.fitting.push(name),
            }
        }
    }

    /// The first test that a node fails, the lasting ones first.
    fn test(
        &self,
        pass: &Pass,
        fits: &Fits,
        shape: &Shape,
        job: JobId,
        node: NodeIndex,
    ) -> Option<Test> {
        let slot = self.nodes.slot(node);
        if !slot.node.usable {
            return Some(Test::Unavailable);
        }
        if fits.barred.contains(&node) {
            return Some(Test::Excluded);
        }
        let Some(fit) = fits.of_kind(slot.kind) else { return Some(Test::Features) };
        match fit.lacks(shape, slot, &whole(slot), i64::MAX) {
            Some(Lack::Cores) => return Some(Test::TooFewCpus),
            Some(Lack::Memory) => return Some(Test::TooLittleMemory),
            Some(Lack::Devices) => return Some(Test::TooFewDevices),
            Some(Lack::Tmp) => return Some(Test::TooLittleTmp),
            None => {}
        }
        if self.within(pass, shape).is_some_and(|within| !within.contains(&node)) {
            return Some(Test::OutsideReservation);
        }
        let until = pass.now.saturating_add(shape.secs_min.unwrap_or(shape.secs));
        if pass.calendar.reserved(node, pass.now, until, shape).is_some() {
            return Some(Test::Reserved);
        }
        if !place::shares(shape, slot) {
            return Some(Test::NotShared);
        }
        match fit.lacks(shape, slot, &slot.free, pass.now) {
            Some(Lack::Cores | Lack::Tmp) => return Some(Test::BusyCpus),
            Some(Lack::Memory) => return Some(Test::BusyMemory),
            Some(Lack::Devices) => return Some(Test::BusyDevices),
            None => {}
        }
        let secs = until - pass.now;
        let room = pass.calendar.room_but(shape, fit, node, slot, pass.now, secs, But::Job(job));
        (room == 0).then_some(Test::Promised)
    }

    fn needs(&self, fits: &Fits, shape: &Shape, told: &Explanation) -> Vec<Need> {
        let slots: Vec<&Slot> =
            self.members(&told.partition).map(|node| self.nodes.slot(node)).collect();
        let sum = |name: &str, needed: u64, of: &dyn Fn(&Slot, &Free) -> u64| {
            let open = || slots.iter().filter(|slot| slot.node.usable);
            Need {
                name: name.to_string(),
                needed,
                free: open().map(|slot| of(slot, &slot.free)).sum(),
                most_on_a_node: open().map(|slot| of(slot, &slot.free)).max().unwrap_or(0),
                total: slots.iter().map(|slot| of(slot, &whole(slot))).sum(),
            }
        };
        // A node gives one at least.
        let least = u64::from(shape.nodes_min) * u64::from(shape.cpus_min.max(1));
        let cpus = shape.cpus().max(least);
        let mut needs = vec![
            Need {
                name: "node".to_string(),
                needed: shape.nodes_min.into(),
                free: told.fitting.len() as u64,
                most_on_a_node: 1,
                total: slots.len() as u64,
            },
            sum("cpu", cpus, &|slot, free| {
                u64::from(free.cores) * u64::from(slot.node.threads.max(1))
            }),
        ];
        if !matches!(shape.memory, Memory::None | Memory::Fair) {
            let each = |slot: &&Slot| Some(fits.of_kind(slot.kind)?.memory_needed(shape, slot));
            let each = slots.iter().filter_map(each).min().unwrap_or(0);
            let portions = match shape.memory {
                Memory::PerCpu(_) | Memory::PerUnit(_) => {
                    u64::from(shape.units.div_ceil(shape.units_least()))
                }
                _ => u64::from(shape.nodes_min),
            };
            needs.push(sum("mem", each.saturating_mul(portions), &|_, free| free.memory_mb));
        }
        for need in &shape.gres {
            let name = match &*need.model {
                "" => format!("gres/{}", need.name),
                model => format!("gres/{}:{model}", need.name),
            };
            let times = if need.per == Per::Unit { shape.units } else { shape.nodes_min };
            let of = |slot: &Slot, free: &Free| -> u64 {
                let mut first = 0;
                let mut found = 0;
                for group in slot.node.gres.iter() {
                    let mine = first as usize..(first + group.devices) as usize;
                    first += group.devices;
                    if let Some(parts) = free.parts.get(mine).filter(|_| need.is_of(group)) {
                        found += match need.parts {
                            true => parts.iter().map(|it| u64::from(*it)).sum::<u64>(),
                            false => parts.iter().filter(|it| **it == group.parts).count() as u64,
                        };
                    }
                }
                found
            };
            needs.push(sum(&name, u64::from(need.count) * u64::from(times), &of));
        }
        needs
    }
}

/// Everything a node has.
fn whole(slot: &Slot) -> Free {
    let node = &slot.node;
    Free {
        cores: node.cores.saturating_sub(node.kept.len() as u32),
        memory_mb: node.memory_mb,
        parts: node.gres.iter().flat_map(|it| (0..it.devices).map(|_| it.parts)).collect(),
    }
}
