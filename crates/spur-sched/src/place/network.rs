//! Nodes close to each other: below as few switches as possible, or in as few blocks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::nodes::{Domain, NodeIndex, Nodes};
use crate::place::Chosen;
use crate::place::leaves::are_followed;
use crate::shape::Shape;
use crate::timeline::Place;

/// Nodes that are out of the question.
pub type Barred = BTreeSet<NodeIndex>;

/// Only these nodes, if said.
pub type Within<'a> = Option<&'a BTreeSet<NodeIndex>>;

/// Chooses nodes for a shape among some, but for others.
type Search<'a> = dyn Fn(&Shape, &Barred, Within<'_>) -> Option<Chosen> + 'a;

/// Chooses nodes as `search` does, in the smallest part of the network that has room.
pub fn place(
    nodes: &Nodes,
    shape: &Shape,
    barred: &Barred,
    within: Within<'_>,
    search: &Search<'_>,
) -> Option<Chosen> {
    let anywhere = search(shape, barred, within)?;
    if nodes.domains.is_empty() || anywhere.len() < 2 {
        return Some(anywhere);
    }
    let count = anywhere.len() as u32;
    if let Some(size) = segment(nodes, shape, count) {
        return segments(nodes, shape, size, count, barred, within, search);
    }
    let most = shape.switches.map_or(usize::MAX, |most| most.max(1) as usize);
    let as_slurm = are_followed(nodes, shape) && leaves(nodes, &anywhere) <= most;
    if as_slurm || leaves(nodes, &anywhere) == 1 {
        return Some(anywhere);
    }
    let size = shape.nodes_min as usize;
    for domain in smallest_first(nodes).into_iter().filter(|it| it.nodes.len() >= size) {
        let found = search(shape, barred, Some(&both(within, &domain.nodes)));
        if let Some(found) = found.filter(|found| leaves(nodes, found) <= most) {
            return Some(found);
        }
    }
    if leaves(nodes, &anywhere) <= most {
        return Some(anywhere);
    }
    let several = groups(nodes, most, size);
    several.iter().find_map(|group| search(shape, barred, Some(&both(within, group))))
}

/// The earliest place as `search` finds it, below few enough switches.
pub fn earliest(
    nodes: &Nodes,
    shape: &Shape,
    within: Within<'_>,
    search: &dyn Fn(Within<'_>) -> Option<Place>,
) -> Option<Place> {
    let Some(most) = shape.switches.filter(|_| !nodes.domains.is_empty() && shape.nodes_min > 1)
    else {
        return search(within);
    };
    let few = |place: &Place| leaves(nodes, &place.nodes) <= most.max(1) as usize;
    let anywhere = search(within)?;
    if few(&anywhere) {
        return Some(anywhere);
    }
    let (most, size) = (most.max(1) as usize, shape.nodes_min as usize);
    let each = nodes.domains.values().filter(|it| it.nodes.len() >= size);
    let each = each.map(|domain| &domain.nodes);
    let several = if most > 1 { groups(nodes, most, size) } else { Vec::new() };
    let found = each.chain(&several);
    let found = found.filter_map(|group| search(Some(&both(within, group))).filter(few));
    found.min_by_key(|place| place.at)
}

/// Ways to take several leaves together that are looked at.
const GROUPS: usize = 64;

/// The nodes of so many leaves together, those with most free nodes first.
fn groups(nodes: &Nodes, most: usize, size: usize) -> Vec<BTreeSet<NodeIndex>> {
    let leaves = nodes.domains.values().filter(|it| it.height == 0);
    let mut leaves: Vec<_> = leaves.map(|leaf| (Reverse(free(nodes, leaf)), leaf)).collect();
    let first = |domain: &Domain| domain.nodes.iter().map(|node| nodes.slot(*node).order).min();
    leaves.sort_by_cached_key(|(free, leaf)| (*free, first(leaf)));
    let most = most.min(leaves.len());
    let mut chosen: Vec<usize> = (0..most).collect();
    let mut found = Vec::new();
    while found.len() < GROUPS {
        let all = chosen.iter().flat_map(|place| &leaves[*place].1.nodes);
        found.push(all.copied().collect());
        // The next choice, in the order of the leaves.
        let is_last = |place: &usize| chosen[*place] == leaves.len() - most + *place;
        let Some(place) = (0..most).rev().find(|place| !is_last(place)) else { break };
        let next = chosen[place] + 1;
        for (offset, it) in chosen[place..].iter_mut().enumerate() {
            *it = next + offset;
        }
    }
    found.retain(|group: &BTreeSet<NodeIndex>| group.len() >= size);
    found
}

/// Of how many nodes each is that must stay within one leaf, if that is said.
pub fn segment(nodes: &Nodes, shape: &Shape, count: u32) -> Option<u32> {
    shape.segment.filter(|size| !nodes.domains.is_empty() && count.is_multiple_of(*size))
}

/// The same nodes with as many units together as are asked for: the last ones get less.
pub fn without_surplus(mut chosen: Chosen, units: u32) -> Chosen {
    let all: u32 = chosen.iter().map(|(_, units)| units).sum();
    let mut surplus = all.saturating_sub(units);
    for (_, units) in chosen.iter_mut().rev() {
        let less = surplus.min(units.saturating_sub(1));
        *units -= less;
        surplus -= less;
    }
    chosen
}

/// Groups of so many nodes, each in one leaf; as few leaves as possible.
fn segments(
    nodes: &Nodes,
    shape: &Shape,
    size: u32,
    count: u32,
    barred: &Barred,
    within: Within<'_>,
    search: &Search<'_>,
) -> Option<Chosen> {
    let whole = shape.on_nodes(count);
    let each = whole.units.div_ceil(count.max(1));
    let part = Shape {
        segment: None,
        switches: None,
        nodelist: Vec::new(),
        units: each * size,
        units_per_node: Some(each.max(1)),
        ..whole.on_nodes(size)
    };
    let mut taken = barred.clone();
    let mut all: Chosen = Vec::new();
    let mut blocks: Vec<&Domain> = nodes.domains.values().filter(|it| it.height == 0).collect();
    blocks.sort_by_key(|block| std::cmp::Reverse(free(nodes, block)));
    for block in blocks {
        let inside = both(within, &block.nodes);
        while all.len() < count as usize
            && let Some(found) = search(&part, &taken, Some(&inside))
        {
            taken.extend(found.iter().map(|(node, _)| *node));
            all.extend(found);
        }
    }
    all.sort_by_key(|(node, _)| nodes.rank(*node));
    (all.len() == count as usize).then(|| without_surplus(all, whole.units))
}

/// Those with the fewest switches below them first, then those that would be filled best.
fn smallest_first(nodes: &Nodes) -> Vec<&Domain> {
    let mut all: Vec<(usize, usize, &Domain)> =
        nodes.domains.values().map(|it| (it.height, free(nodes, it), it)).collect();
    // Not by their numbers, which follow the order in which nodes came.
    let first = |domain: &Domain| domain.nodes.iter().map(|node| nodes.slot(*node).order).min();
    all.sort_by_cached_key(|(height, free, domain)| (*height, *free, first(domain)));
    all.into_iter().map(|(_, _, domain)| domain).collect()
}

fn free(nodes: &Nodes, domain: &Domain) -> usize {
    domain.nodes.iter().filter(|node| nodes.slot(**node).free.cores > 0).count()
}

/// How many leaf switches or blocks some nodes are at.
fn leaves(nodes: &Nodes, chosen: &Chosen) -> usize {
    let ways: BTreeSet<_> =
        chosen.iter().map(|(node, _)| &nodes.slot(*node).node.switches).collect();
    ways.len()
}

fn both(within: Within<'_>, these: &BTreeSet<NodeIndex>) -> BTreeSet<NodeIndex> {
    match within {
        Some(within) => within.intersection(these).copied().collect(),
        None => these.clone(),
    }
}
