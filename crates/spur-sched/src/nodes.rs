//! The ledger: what every node has, who holds what of it, and nodes in buckets by what is free.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use spur_core::hostlist;
use spur_core::ids::NodeName;
use spur_core::reservation::names;

use crate::bits::Bits;
use crate::gains::Gains;
use crate::shape::{Shape, Sharing};
use crate::view::{RunId, ViewGres, ViewNode};

/// Names a node inside the planner.
pub type NodeIndex = u32;

/// What can be given at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Free {
    pub cores: u32,
    pub memory_mb: u64,
    /// Free parts of each device, group after group.
    pub parts: Vec<u32>,
}

/// What a run holds of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub run: RunId,
    pub end: i64,
    pub user: u32,
    pub label: Arc<str>,
    pub partition: Arc<str>,
    pub reservation: Arc<str>,
    /// The last moment at which it can end.
    pub limit: i64,
    pub sharing: Sharing,
    pub cores: Bits,
    pub memory_mb: u64,
    /// Device, counted over all groups, and parts of it.
    pub parts: Vec<(u32, u32)>,
}

impl Held {
    /// Whether it is this user's.
    pub fn is_of(&self, user: u32) -> bool {
        self.user == user || self.sharing == Sharing::User(user)
    }

    /// Whether it runs in a reservation.
    pub fn is_in(&self, reservation: &str) -> bool {
        names(&self.reservation).any(|it| it == reservation)
    }

    /// Whether it shares its node with a job that does not mind.
    pub fn puts_up_with(&self, other: &Shape) -> bool {
        match self.sharing {
            Sharing::User(own) => other.user == Some(own),
            Sharing::Label => other.label == self.label,
            // What it leaves to the system is nobody's. Those that sleep are in nobody's way.
            Sharing::Nobody => self.cores.is_empty(),
            Sharing::Anybody | Sharing::Cores(_) => true,
        }
    }

    /// Whether a job would share a node with it.
    pub fn is_welcome_to(&self, other: &Shape) -> bool {
        match other.sharing {
            Sharing::Nobody => false,
            Sharing::User(user) => self.is_of(user),
            Sharing::Label => self.label == other.label && self.puts_up_with(other),
            Sharing::Anybody | Sharing::Cores(_) => self.puts_up_with(other),
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Slot {
    pub node: Arc<ViewNode>,
    pub kind: u32,
    /// Where it stands among all: only comparisons mean something.
    pub order: u64,
    pub present: bool,
    pub free: Free,
    pub free_cores: Bits,
    pub runs: Vec<Held>,
    bucket: Option<BucketKey>,
    dirty: bool,
}

/// Nodes that differ only in what is free, in how much memory they have, and in name.
#[derive(Clone, Debug)]
pub struct Kind {
    pub partitions: Arc<[Arc<str>]>,
    pub features: Arc<[Arc<str>]>,
    pub weight: u32,
    pub sockets: u32,
    pub cores: u32,
    /// Cores that no job gets.
    pub kept: Arc<[u32]>,
    pub threads: u32,
    pub gres: Arc<[ViewGres]>,
    /// Memory and temporary space of its nodes; how many there are, and how many of them take jobs.
    pub members: BTreeMap<(u64, u64), (u32, u32)>,
    /// An empty node as its members are, by the same; nobody has a place for it.
    examples: BTreeMap<(u64, u64), Slot>,
    pub buckets: BTreeMap<BucketKey, BTreeSet<(u64, NodeIndex)>>,
}

impl Kind {
    /// Devices of all groups.
    pub fn devices(&self) -> u32 {
        self.gres.iter().map(|it| it.devices).sum()
    }
}

/// What nodes of a bucket have free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketKey {
    pub cores: u32,
    /// Devices of which nothing is given.
    pub devices: u32,
    /// Free memory, roughly; see [`memory_class`].
    pub memory: u16,
    /// A number for what is left of devices that are given in part; see [`Slot::torn`].
    pub torn: u32,
}

impl BucketKey {
    /// Nothing is free.
    pub const LEAST: BucketKey = BucketKey { cores: 0, devices: 0, memory: 0, torn: 0 };
}

/// Four steps for each doubling. A node of a class below that of a need has too little.
pub fn memory_class(memory_mb: u64) -> u16 {
    if memory_mb < 4 {
        return memory_mb as u16;
    }
    let log = memory_mb.ilog2();
    (log as u16) * 4 + ((memory_mb >> (log - 2)) & 3) as u16
}

type KindKey = (u32, Arc<[Arc<str>]>, Arc<[Arc<str>]>, u32, u32, Arc<[u32]>, u32, Arc<[ViewGres]>);

/// All nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    pub slots: Vec<Slot>,
    pub kinds: Vec<Kind>,
    kind_ids: BTreeMap<KindKey, u32>,
    by_name: BTreeMap<NodeName, NodeIndex>,
    in_order: BTreeSet<Natural>,
    /// Where each stands among those that are there, counted when somebody asks.
    places: OnceLock<Vec<u32>>,
    dirty: Vec<NodeIndex>,
    /// Parts of the network, by the way to each.
    pub domains: BTreeMap<Arc<[Arc<str>]>, Domain>,
    /// Counts changes of kinds and their members: what is computed from them is computed anew.
    pub version: u64,
    /// The same for how many members take jobs.
    pub usable: u64,
    /// Counts nodes that ceased to take jobs.
    pub lost: u64,
    pub gains: Gains,
    /// Nodes of which anything has changed.
    pub changes: Gains,
}

/// The nodes below a switch, or in a block.
#[derive(Clone, Debug, Default)]
pub struct Domain {
    /// How many levels of switches are below it.
    pub height: usize,
    pub nodes: BTreeSet<NodeIndex>,
}

#[derive(Clone, Debug)]
struct Natural(NodeName, NodeIndex);

impl PartialEq for Natural {
    fn eq(&self, other: &Natural) -> bool {
        self.0 == other.0
    }
}

impl Eq for Natural {}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Natural) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Natural) -> Ordering {
        hostlist::natural(self.0.as_str(), other.0.as_str())
    }
}

impl Nodes {
    /// The node of this name.
    pub fn index(&self, name: &NodeName) -> Option<NodeIndex> {
        self.by_name.get(name).copied()
    }

    /// The same, if it is there: one that was taken out is remembered, as it may come back.
    pub fn present(&self, name: &NodeName) -> Option<NodeIndex> {
        self.index(name).filter(|node| self.slot(*node).present)
    }

    pub fn slot(&self, node: NodeIndex) -> &Slot {
        &self.slots[node as usize]
    }

    /// Nodes in the order people count them.
    pub fn in_order(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.in_order.iter().map(|natural| natural.1)
    }

    /// Where a node stands among those that are there.
    pub fn place(&self, node: NodeIndex) -> u32 {
        let places = self.places.get_or_init(|| {
            let mut places = vec![u32::MAX; self.slots.len()];
            let there = self.in_order().filter(|node| self.slot(*node).present);
            there.zip(0..).for_each(|(node, place)| places[node as usize] = place);
            places
        });
        places[node as usize]
    }

    /// Takes a node in, or in place of its former self. What runs on it stays.
    pub fn put(&mut self, node: &Arc<ViewNode>) {
        let kind = self.kind(node);
        let present = self.index(&node.name);
        if present.is_none_or(|index| !self.slot(index).present) {
            self.places.take();
        }
        let alike = present.is_some_and(|index| {
            let slot = self.slot(index);
            let same = (slot.node.memory_mb, slot.node.tmp_mb) == (node.memory_mb, node.tmp_mb);
            slot.present && slot.kind == kind && same
        });
        if !alike {
            self.version += 1;
        }
        self.lost += u64::from(present.is_some_and(|index| {
            let slot = self.slot(index);
            slot.present && slot.node.usable && !node.usable
        }));
        let (as_known, size) = (&mut self.kinds[kind as usize], (node.memory_mb, node.tmp_mb));
        as_known.examples.entry(size).or_insert_with(|| Slot::example(node, kind));
        let (all, usable) = as_known.members.entry(size).or_default();
        self.usable += 1;
        (*all, *usable) = (*all + 1, *usable + u32::from(node.usable));
        match present {
            Some(index) => {
                self.leave_domains(index);
                self.leave_kind(index);
                let slot = &mut self.slots[index as usize];
                slot.node = node.clone();
                slot.kind = kind;
                slot.present = true;
                self.enter_domains(index);
                self.recount(index);
            }
            None => {
                let index = self.slots.len() as NodeIndex;
                self.slots.push(Slot {
                    node: node.clone(),
                    kind,
                    order: 0,
                    present: true,
                    free: Free::default(),
                    free_cores: Bits::default(),
                    runs: Vec::new(),
                    bucket: None,
                    dirty: false,
                });
                self.by_name.insert(node.name.clone(), index);
                self.find_order(index);
                self.enter_domains(index);
                self.recount(index);
            }
        }
    }

    /// Takes a node out.
    pub fn remove(&mut self, name: &NodeName) {
        let Some(index) = self.index(name) else { return };
        self.version += 1;
        self.usable += 1;
        self.leave_domains(index);
        self.leave_kind(index);
        self.places.take();
        self.slots[index as usize].present = false;
        self.touch(index);
    }

    fn enter_domains(&mut self, index: NodeIndex) {
        let way = self.slot(index).node.switches.clone();
        for depth in 1..=way.len() {
            let domain = self.domains.entry(way[..depth].into()).or_default();
            domain.height = domain.height.max(way.len() - depth);
            domain.nodes.insert(index);
        }
    }

    fn leave_domains(&mut self, index: NodeIndex) {
        let way = self.slot(index).node.switches.clone();
        for depth in 1..=way.len() {
            let Some(domain) = self.domains.get_mut(&way[..depth]) else { continue };
            domain.nodes.remove(&index);
            if domain.nodes.is_empty() {
                self.domains.remove(&way[..depth]);
            }
        }
    }

    /// Where a node stands among all, with neighbours in the network side by side.
    pub fn rank(&self, node: NodeIndex) -> (u64, u64) {
        let slot = self.slot(node);
        let leaf = self.domains.get(&slot.node.switches);
        let first = leaf.and_then(|leaf| leaf.nodes.iter().map(|it| self.slot(*it).order).min());
        (first.unwrap_or(0), slot.order)
    }

    fn leave_kind(&mut self, index: NodeIndex) {
        let slot = &mut self.slots[index as usize];
        let kind = &mut self.kinds[slot.kind as usize];
        if let Some(key) = slot.bucket.take() {
            leave(kind, key, slot.order, index);
        }
        if slot.present {
            let key = (slot.node.memory_mb, slot.node.tmp_mb);
            if let Some((all, usable)) = kind.members.get_mut(&key) {
                (*all, *usable) = (*all - 1, *usable - u32::from(slot.node.usable));
                if *all == 0 {
                    kind.members.remove(&key);
                    kind.examples.remove(&key);
                }
            }
        }
    }

    fn kind(&mut self, node: &ViewNode) -> u32 {
        let key = (
            node.weight,
            node.partitions.clone(),
            node.features.clone(),
            node.sockets,
            node.cores,
            node.kept.clone(),
            node.threads,
            node.gres.clone(),
        );
        if let Some(kind) = self.kind_ids.get(&key) {
            return *kind;
        }
        let id = self.kinds.len() as u32;
        self.kinds.push(Kind {
            partitions: node.partitions.clone(),
            features: node.features.clone(),
            weight: node.weight,
            sockets: node.sockets.max(1),
            cores: node.cores,
            kept: node.kept.clone(),
            threads: node.threads.max(1),
            gres: node.gres.clone(),
            members: BTreeMap::new(),
            examples: BTreeMap::new(),
            buckets: BTreeMap::new(),
        });
        self.kind_ids.insert(key, id);
        id
    }

    /// Finds a number between those of the neighbours; when there is none left, all get new ones.
    fn find_order(&mut self, index: NodeIndex) {
        let natural = Natural(self.slot(index).node.name.clone(), index);
        let before = self.in_order.range(..natural.clone()).next_back();
        let after = self.in_order.range(natural.clone()..).next();
        let low = before.map_or(0, |it| self.slot(it.1).order);
        let high = after.map_or(u64::MAX, |it| self.slot(it.1).order);
        // Names mostly come in rising order: leave more room above than below.
        let step = if after.is_none() { (1 << 32).min((high - low) / 2) } else { (high - low) / 2 };
        self.in_order.insert(natural);
        if step > 0 {
            self.slots[index as usize].order = low + step;
            return;
        }
        for kind in &mut self.kinds {
            kind.buckets.clear();
        }
        let spacing = u64::MAX / (self.in_order.len() as u64 + 2);
        let in_order: Vec<NodeIndex> = self.in_order().collect();
        for (place, index) in (1..).zip(in_order) {
            let slot = &mut self.slots[index as usize];
            slot.order = place * spacing;
            slot.bucket = None;
            self.touch(index);
        }
    }

    /// What is free, told from what is held.
    fn recount(&mut self, index: NodeIndex) {
        let slot = &mut self.slots[index as usize];
        slot.free_cores = slot.node.open_cores();
        slot.free.memory_mb = slot.node.memory_mb;
        slot.free.parts =
            slot.node.gres.iter().flat_map(|it| (0..it.devices).map(|_| it.parts)).collect();
        let runs = std::mem::take(&mut slot.runs);
        for held in &runs {
            slot.subtract(held);
        }
        slot.runs = runs;
        slot.free.cores = slot.free_cores.count();
        // What a node that takes no jobs has is of use to nobody.
        if slot.present && slot.node.usable {
            self.gains.note(index);
        }
        self.touch(index);
    }

    /// Somebody holds something.
    pub fn take(&mut self, node: NodeIndex, held: Held) {
        let slot = &mut self.slots[node as usize];
        slot.subtract(&held);
        slot.free.cores = slot.free_cores.count();
        slot.runs.push(held);
        self.touch(node);
    }

    /// A run gives back what it holds of a node.
    pub fn give(&mut self, node: NodeIndex, run: RunId) {
        let slot = &mut self.slots[node as usize];
        let Some(place) = slot.runs.iter().rposition(|held| held.run == run) else { return };
        slot.runs.remove(place);
        // Cores may be held twice where nodes shrank or are oversubscribed: count anew.
        self.recount(node);
    }

    fn touch(&mut self, node: NodeIndex) {
        self.changes.note(node);
        let slot = &mut self.slots[node as usize];
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push(node);
        }
    }

    /// Puts nodes that changed into their buckets.
    pub fn settle(&mut self) {
        while let Some(index) = self.dirty.pop() {
            let slot = &mut self.slots[index as usize];
            slot.dirty = false;
            let key = slot.key();
            if key == slot.bucket {
                continue;
            }
            let kind = &mut self.kinds[slot.kind as usize];
            if let Some(old) = slot.bucket {
                leave(kind, old, slot.order, index);
            }
            if let Some(new) = key {
                kind.buckets.entry(new).or_default().insert((slot.order, index));
            }
            slot.bucket = key;
        }
    }
}

fn leave(kind: &mut Kind, key: BucketKey, order: u64, index: NodeIndex) {
    let Some(bucket) = kind.buckets.get_mut(&key) else { return };
    bucket.remove(&(order, index));
    if bucket.is_empty() {
        kind.buckets.remove(&key);
    }
}

impl ViewNode {
    /// Cores that jobs can have.
    fn open_cores(&self) -> Bits {
        let mut cores = Bits::first(self.cores);
        cores.remove_all(&self.kept.iter().copied().collect());
        cores
    }
}

impl Kind {
    /// How many cores jobs can have.
    pub fn open_cores(&self) -> u32 {
        self.cores.saturating_sub(self.kept.len() as u32)
    }
}

impl Slot {
    /// Where it stands; nowhere while it has nothing to give.
    pub fn bucket(&self) -> Option<BucketKey> {
        self.bucket
    }

    /// Parts of each device when nothing of it is given, group after group.
    pub fn wholes(&self) -> impl Iterator<Item = u32> + '_ {
        self.node.gres.iter().flat_map(|it| (0..it.devices).map(|_| it.parts))
    }

    fn subtract(&mut self, held: &Held) {
        self.free_cores.remove_all(&held.cores);
        self.free.memory_mb = self.free.memory_mb.saturating_sub(held.memory_mb);
        for (device, parts) in &held.parts {
            if let Some(free) = self.free.parts.get_mut(*device as usize) {
                *free = free.saturating_sub(*parts);
            }
        }
    }

    /// Cores that jobs of a reservation hold at a moment.
    pub fn held_in(&self, reservation: &str, at: i64) -> u32 {
        let theirs = self.runs.iter().filter(|held| held.end > at && held.is_in(reservation));
        theirs.map(|held| held.cores.count()).sum()
    }

    /// Cores that are free then at the most; fewer are where some were held twice.
    pub fn cores_at_most(&self, at: i64) -> u32 {
        let ended = self.runs.iter().filter(|held| held.end <= at);
        self.free.cores + ended.map(|held| held.cores.count()).sum::<u32>()
    }

    /// What is free once everything has ended that ends by then.
    pub fn free_at(&self, at: i64) -> Free {
        let mut free = self.free.clone();
        if self.runs.iter().all(|held| held.end > at) {
            return free;
        }
        let mut cores = self.node.open_cores();
        for held in self.runs.iter().filter(|held| held.end > at) {
            cores.remove_all(&held.cores);
        }
        free.cores = cores.count();
        for held in self.runs.iter().filter(|held| held.end <= at) {
            free.memory_mb = (free.memory_mb + held.memory_mb).min(self.node.memory_mb);
            for (device, parts) in &held.parts {
                if let Some(free) = free.parts.get_mut(*device as usize) {
                    *free += parts;
                }
            }
        }
        free
    }

    fn key(&self) -> Option<BucketKey> {
        if !self.present || !self.node.usable || self.free.cores == 0 {
            return None;
        }
        let devices =
            self.wholes().zip(&self.free.parts).filter(|(whole, free)| whole == *free).count();
        Some(BucketKey {
            cores: self.free.cores,
            devices: devices as u32,
            memory: memory_class(self.free.memory_mb),
            torn: self.torn(),
        })
    }

    /// Two nodes of a kind with the same number have, all but surely, devices of which the same is left, in
    /// some order.
    fn torn(&self) -> u32 {
        let mut number: u32 = 0;
        let (mut wholes, mut frees) = (self.wholes(), self.free.parts.iter());
        for (group, gres) in (1..).zip(self.node.gres.iter()) {
            for _ in 0..gres.devices {
                let (Some(whole), Some(free)) = (wholes.next(), frees.next()) else {
                    return number;
                };
                if 0 < *free && *free < whole {
                    // A sum does not depend on the order.
                    let mixed = (u64::from(*free) << 8 | group).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    number = number.wrapping_add((mixed >> 32) as u32);
                }
            }
        }
        number
    }
}

impl Nodes {
    /// An empty node as some of a kind are.
    pub fn example(&self, kind: u32, memory_mb: u64, tmp_mb: u64) -> Option<&Slot> {
        self.kinds.get(kind as usize)?.examples.get(&(memory_mb, tmp_mb))
    }
}

impl Slot {
    /// The same with nothing on it. Which cores are free says nobody.
    fn example(node: &ViewNode, kind: u32) -> Slot {
        let node = ViewNode { name: "".into(), usable: true, switches: [].into(), ..node.clone() };
        let parts = node.gres.iter().flat_map(|it| (0..it.devices).map(|_| it.parts));
        let free = Free {
            cores: node.open_cores().count(),
            memory_mb: node.memory_mb,
            parts: parts.collect(),
        };
        Slot {
            node: Arc::new(node),
            kind,
            order: 0,
            present: true,
            free,
            free_cores: Bits::default(),
            runs: Vec::new(),
            bucket: None,
            dirty: false,
        }
    }
}
