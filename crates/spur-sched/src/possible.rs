//! Where jobs of a shape could be if everything were free, and why nowhere.

use std::collections::BTreeSet;

use spur_core::job::Reason;
use spur_core::node::features::{self, Features, Join, What};

use crate::fit::Fit;
use crate::nodes::{NodeIndex, Nodes, Slot};
use crate::shape::Shape;

/// Where jobs of a class can be at all.
#[derive(Clone, Debug)]
pub struct Fits {
    /// Which state of the nodes this was told from.
    pub version: u64,
    /// One set of kinds for each alternative, lightest first; any of them will do.
    pub alternatives: Vec<Vec<Fit>>,
    /// Nodes that must have a feature: how many, of which kinds. Empty where all nodes are alike.
    pub counted: Vec<(u32, Vec<Fit>)>,
    /// A node counts for one of them only, as in brackets.
    pub apart: bool,
    pub wanted: Vec<NodeIndex>,
    pub barred: BTreeSet<NodeIndex>,
    /// Why no job of the class can ever start.
    pub never: Option<Reason>,
}

impl Fits {
    /// Looks a shape up.
    pub fn of(shape: &Shape, partition: &str, nodes: &Nodes) -> Fits {
        let mut fits = Fits {
            version: nodes.version,
            alternatives: Vec::new(),
            counted: Vec::new(),
            apart: false,
            wanted: shape.nodelist.iter().filter_map(|name| nodes.present(name)).collect(),
            barred: shape.exclude.iter().filter_map(|name| nodes.present(name)).collect(),
            never: None,
        };
        let Ok(wish) = Wish::of(&shape.constraint) else {
            fits.never = Some(Reason::BadConstraints);
            return fits;
        };
        let kinds = |features: Option<&Features>| kinds(shape, partition, nodes, features);
        match &wish {
            Wish::Any => fits.alternatives.push(kinds(None)),
            Wish::Each(features) => fits.alternatives.push(kinds(Some(features))),
            Wish::OneOf(all) => fits.alternatives = all.iter().map(|it| kinds(Some(it))).collect(),
            Wish::Counts { all, apart } => {
                fits.alternatives.push(kinds(None));
                fits.apart = *apart;
                fits.counted =
                    all.iter().map(|(features, count)| (*count, kinds(Some(features)))).collect();
            }
        }
        // What it would rather have is tried first, whatever it insists on otherwise, as in Slurm.
        if let (Ok(Some(prefer)), true) = (features::parse(&shape.prefer), fits.counted.is_empty())
        {
            fits.alternatives.insert(0, kinds(Some(&prefer)));
        }
        if !shape.avoid.is_empty() {
            let (strict, avoided) = (fits.barred.clone(), shape.avoid.iter());
            fits.barred.extend(avoided.filter_map(|name| nodes.present(name)));
            if !fits.possible_now(shape, nodes)
                || fits.wanted.iter().any(|it| fits.barred.contains(it))
            {
                fits.barred = strict;
            }
        }
        fits.never = fits.why_never(shape, nodes, false, &wish);
        fits
    }

    /// Why a job could not start even with everything free.
    fn why_never(&self, shape: &Shape, nodes: &Nodes, usable: bool, wish: &Wish) -> Option<Reason> {
        if self.wanted.len() < shape.nodelist.len() {
            return Some(Reason::ReqNodeNotAvail);
        }
        let of_use = |node: &NodeIndex| {
            let slot = nodes.slot(*node);
            let (memory_mb, tmp_mb) = (slot.node.memory_mb, slot.node.tmp_mb);
            let mut kinds = self.alternatives.iter().flatten().filter(|it| it.kind == slot.kind);
            kinds.any(|fit| room_if_empty(shape, nodes, fit, memory_mb, tmp_mb) > 0)
        };
        if !self.wanted.iter().all(of_use) {
            return Some(Reason::BadConstraints);
        }
        if self.alternatives.iter().any(|fits| self.would_do(shape, nodes, fits, usable)) {
            return None;
        }
        let members = |fits: &Vec<Fit>| -> u32 {
            let kinds = fits.iter().map(|fit| &nodes.kinds[fit.kind as usize]);
            kinds.flat_map(|kind| kind.members.values()).map(|(all, _)| all).sum()
        };
        let most = self.alternatives.iter().map(members).max().unwrap_or(0);
        let processors = |fits: &Vec<Fit>| -> u64 {
            let kinds = fits.iter().map(|fit| &nodes.kinds[fit.kind as usize]);
            let each = kinds.map(|kind| {
                let nodes: u32 = kind.members.values().map(|(all, _)| all).sum();
                u64::from(nodes) * u64::from(kind.open_cores()) * u64::from(kind.threads)
            });
            each.sum()
        };
        let cpus = self.alternatives.iter().map(processors).max().unwrap_or(0);
        Some(match wish {
            // Slurm asks for processors first.
            Wish::Any if cpus < shape.cpus() && most > 0 => Reason::PartitionConfig,
            Wish::Any if most < shape.nodes_min => Reason::PartitionNodeLimit,
            Wish::Any => Reason::PartitionConfig,
            _ => Reason::BadConstraints,
        })
    }

    /// Whether the nodes that take jobs at present would do if they were empty.
    pub fn possible_now(&self, shape: &Shape, nodes: &Nodes) -> bool {
        let usable = |node: &NodeIndex| {
            let slot = nodes.slot(*node);
            slot.present && slot.node.usable
        };
        self.wanted.iter().all(usable)
            && self.alternatives.iter().any(|fits| self.would_do(shape, nodes, fits, true))
    }

    /// How many of the nodes that take jobs at present would do.
    pub fn usable(&self, shape: &Shape, nodes: &Nodes) -> u32 {
        let each =
            self.alternatives.iter().map(|fits| rooms(shape, nodes, fits, true, &self.barred));
        each.map(|rooms| rooms.iter().map(|(_, nodes)| nodes).sum()).max().unwrap_or(0)
    }

    /// How many of the nodes that take jobs may cease to, whichever they are, and the others would still do
    /// if they were empty; nothing where they would not even now.
    pub fn spare_now(&self, shape: &Shape, nodes: &Nodes) -> Option<u32> {
        if !self.wanted.is_empty() || !self.counted.is_empty() {
            return self.possible_now(shape, nodes).then_some(0);
        }
        let all = self.alternatives.iter();
        let all = all.map(|fits| rooms(shape, nodes, fits, true, &self.barred));
        let spare = all.filter(|rooms| enough(shape, rooms.clone())).map(|rooms| {
            let count: u32 = rooms.iter().map(|(_, nodes)| nodes).sum();
            let least = rooms.iter().map(|(room, _)| *room).min().unwrap_or(1);
            // As if each had no more room than the one with least.
            let needed = shape.units.div_ceil(least.max(1)).max(shape.nodes_min);
            if needed <= shape.nodes_max { count.saturating_sub(needed) } else { 0 }
        });
        spare.max()
    }

    /// Kinds that have any of the features that are counted.
    fn any_counted(&self) -> Vec<Fit> {
        let mut all: Vec<Fit> = self.counted.iter().flat_map(|(_, fits)| fits.clone()).collect();
        all.sort_by_key(|fit| fit.kind);
        all.dedup_by_key(|fit| fit.kind);
        all
    }

    fn would_do(&self, shape: &Shape, nodes: &Nodes, fits: &[Fit], usable: bool) -> bool {
        let there = |fits: &[Fit]| -> u32 {
            rooms(shape, nodes, fits, usable, &self.barred).iter().map(|(_, it)| it).sum()
        };
        let counted = self.counted.iter().all(|(count, fits)| there(fits) >= *count)
            && (!self.apart
                || there(&self.any_counted()) >= self.counted.iter().map(|it| it.0).sum::<u32>());
        counted && enough(shape, rooms(shape, nodes, fits, usable, &self.barred))
    }
}

/// Whether nodes with so much room, so many of each, are enough for a job.
fn enough(shape: &Shape, mut rooms: Vec<(u32, u32)>) -> bool {
    rooms.sort_unstable_by(|a, b| b.cmp(a));
    let (mut count, mut units) = (0u32, 0u64);
    for (room, nodes) in rooms {
        let taken = nodes.min(shape.nodes_max - count);
        count += taken;
        units += u64::from(taken) * u64::from(room);
    }
    count >= shape.nodes_min && units >= u64::from(shape.units)
}

/// Units that fit on empty nodes, and how many such nodes there are.
fn rooms(
    shape: &Shape,
    nodes: &Nodes,
    fits: &[Fit],
    usable: bool,
    barred: &BTreeSet<NodeIndex>,
) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for fit in fits {
        let kind = &nodes.kinds[fit.kind as usize];
        for ((memory_mb, tmp_mb), (all, open)) in &kind.members {
            let is_it = |slot: &&Slot| {
                slot.present
                    && slot.kind == fit.kind
                    && (slot.node.memory_mb, slot.node.tmp_mb) == (*memory_mb, *tmp_mb)
            };
            let out = barred.iter().map(|node| nodes.slot(*node)).filter(is_it);
            let out = out.filter(|slot| !usable || slot.node.usable).count() as u32;
            let count = if usable { *open } else { *all }.saturating_sub(out);
            let room =
                if count > 0 { room_if_empty(shape, nodes, fit, *memory_mb, *tmp_mb) } else { 0 };
            if room > 0 {
                found.push((room, count));
            }
        }
    }
    found
}

/// Units that fit on an empty node of a kind; any of them will do as an example.
fn room_if_empty(shape: &Shape, nodes: &Nodes, fit: &Fit, memory_mb: u64, tmp_mb: u64) -> u32 {
    let Some(slot) = nodes.example(fit.kind, memory_mb, tmp_mb) else { return 0 };
    fit.room(shape, slot, &slot.free, i64::MAX)
}

fn kinds(shape: &Shape, partition: &str, nodes: &Nodes, features: Option<&Features>) -> Vec<Fit> {
    let mut fits: Vec<Fit> = (0..)
        .zip(&nodes.kinds)
        .filter(|(_, kind)| !kind.members.is_empty())
        .filter(|(_, kind)| kind.partitions.iter().any(|it| &**it == partition))
        .filter_map(|(id, kind)| Fit::of(shape, id, kind, features))
        .collect();
    fits.sort_by_key(|fit| (nodes.kinds[fit.kind as usize].weight, fit.kind));
    fits
}

/// What `--constraint` asks for.
enum Wish {
    Any,
    Each(Features),
    /// All nodes the same one of these.
    OneOf(Vec<Features>),
    /// So many with each; one node may stand for several unless they are to be apart.
    Counts {
        all: Vec<(Features, u32)>,
        apart: bool,
    },
}

impl Wish {
    fn of(text: &str) -> Result<Wish, features::Error> {
        let Some(features) = features::parse(text)? else { return Ok(Wish::Any) };
        let all: Vec<(Features, u32)> = counted(&features);
        if !all.is_empty() {
            let is_bracket = |term: &features::Term| matches!(term.what, What::Matching(_));
            let apart = features.terms().iter().any(is_bracket);
            return Ok(Wish::Counts { all, apart });
        }
        if let [term] = features.terms()
            && let What::Matching(inside) = &term.what
            && inside.terms().iter().skip(1).all(|term| term.joined == Join::Or)
        {
            let words = inside.terms().iter().map(|term| match &term.what {
                What::Feature(name) => features::parse(name),
                What::Group(group) | What::Matching(group) => Ok(Some(group.clone())),
            });
            let all: Result<Vec<Option<Features>>, features::Error> = words.collect();
            return Ok(Wish::OneOf(all?.into_iter().flatten().collect()));
        }
        Ok(Wish::Each(features))
    }
}

fn counted(features: &Features) -> Vec<(Features, u32)> {
    let mut found = Vec::new();
    for term in features.terms() {
        match (&term.what, term.count) {
            (What::Feature(name), Some(count)) => {
                found.extend(features::parse(name).ok().flatten().map(|it| (it, count)));
            }
            (What::Group(group), Some(count)) => found.push((group.clone(), count)),
            (What::Matching(inside), None) => found.extend(counted(inside)),
            _ => {}
        }
    }
    found
}
