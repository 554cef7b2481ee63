//! How much of a job fits on a node, told from what is free there.

use spur_core::node::features::Features;
use spur_core::node::kept;

use crate::bits::Bits;
use crate::nodes::{BucketKey, Free, Kind, Slot, memory_class};
use crate::place::{self, devices::Whereabouts};
use crate::shape::{Cap, LeftCores, Memory, Per, Shape, Sharing};

/// What a shape means on nodes of one kind.
#[derive(Clone, Debug)]
pub struct Fit {
    pub kind: u32,
    /// Threads used of each core.
    threads: u32,
    sockets: u32,
    /// Cores that jobs can have.
    node_cores: u32,
    /// Cores of a socket, and threads of a core.
    socket_cores: u32,
    core_threads: u32,
    /// Cores that a job which is alone leaves to the system.
    left: Vec<u32>,
    /// What goes with all GPUs of the node, which who is alone has; 0 where it is not asked for that way.
    gpu_memory: u64,
    /// A node with fewer free cores is of no use.
    pub cores_least: u32,
    /// A node with fewer free devices is of no use.
    pub devices_least: u32,
    /// A node with less free memory is of no use.
    pub memory_least: u16,
    needs: Vec<NeedFit>,
}

/// Which devices of the node will do for a need.
#[derive(Clone, Debug)]
struct NeedFit {
    devices: Vec<u32>,
    /// Where each of them is.
    places: Vec<Whereabouts>,
    /// Parts of a whole device.
    whole: u32,
    count: u32,
    per: Per,
    parts: bool,
}

/// What a job takes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub cores: u32,
    pub memory_mb: u64,
    /// Device and parts.
    pub parts: Vec<(u32, u32)>,
}

impl Fit {
    /// Whether nodes of a kind can be of use at all, and how.
    pub fn of(shape: &Shape, id: u32, kind: &Kind, features: Option<&Features>) -> Option<Fit> {
        let has = |name: &str| kind.features.iter().any(|feature| &**feature == name);
        let cores_per_socket = kind.cores / kind.sockets;
        if kind.sockets < shape.sockets_min
            || cores_per_socket < shape.cores_per_socket_min
            || shape.threads_per_core.is_some_and(|threads| threads > kind.threads)
            || shape.units_per_socket.is_some_and(|units| units > cores_per_socket * kind.threads)
            || features.is_some_and(|features| !features.admits(&has))
        {
            return None;
        }
        let mut needs = Vec::new();
        for need in &shape.gres {
            let (mut devices, mut first, mut whole) = (Vec::new(), 0, 1);
            let mut places = Vec::new();
            for group in kind.gres.iter() {
                if need.is_of(group) {
                    devices.extend(first..first + group.devices);
                    // Those of different groups are far from each other.
                    let inside = place::devices::whereabouts(group).into_iter();
                    places.extend(inside.map(|(island, near)| (island + first, near)));
                    whole = group.parts;
                }
                first += group.devices;
            }
            let (count, per, parts) = (need.count, need.per, need.parts);
            needs.push(NeedFit { devices, places, whole, count, per, parts });
        }
        let left = left(shape, kind);
        if left.len() as u32 >= kind.open_cores() && !left.is_empty() {
            return None;
        }
        let mut fit = Fit {
            kind: id,
            threads: shape.threads_per_core.unwrap_or(kind.threads).max(1),
            sockets: kind.sockets,
            node_cores: kind.open_cores() - left.len() as u32,
            left,
            gpu_memory: match shape.sharing {
                Sharing::Nobody => {
                    let gpus = kind.gres.iter().filter(|group| &*group.name == "gpu");
                    gpus.map(|group| u64::from(group.devices)).sum::<u64>() * shape.memory_per_gpu
                }
                _ => 0,
            },
            socket_cores: cores_per_socket.max(1),
            core_threads: kind.threads,
            cores_least: 0,
            devices_least: 0,
            memory_least: 0,
            needs,
        };
        let least = shape.units_least();
        fit.cores_least = fit.cores(shape, least);
        fit.devices_least = (fit.needs.iter())
            .map(|need| if need.parts { 0 } else { need.total(least) })
            .max()
            .unwrap_or(0);
        fit.memory_least = memory_class(match shape.memory {
            Memory::None | Memory::All | Memory::Fair => 0,
            _ => fit.memory(shape, least, fit.cores_least, 1),
        });
        Some(fit)
    }

    /// Cores that some units take.
    pub fn cores(&self, shape: &Shape, units: u32) -> u32 {
        // Tasks that share processors have those of one.
        let cpus = shape.cpus_of(if shape.overcommit { units.min(1) } else { units });
        let cores = cpus.max(shape.cpus_min).max(1).div_ceil(self.threads);
        let cores = match shape.units_per_core {
            Some(each) if !shape.overcommit => cores.max(units.div_ceil(each.max(1))),
            _ => cores,
        };
        match shape.whole_sockets {
            true => cores.next_multiple_of(self.socket_cores).min(self.node_cores),
            false => cores,
        }
    }

    /// Cores that a job may have of those that are free.
    fn cores_for(&self, shape: &Shape, slot: &Slot, free: &Free, beside: u32) -> u32 {
        let mut cores = free.cores.saturating_sub(self.left.len() as u32);
        if shape.whole_sockets {
            // Which cores are free is known of the present only.
            cores = match slot.free_cores.count() == free.cores {
                true => self.whole_sockets(slot) * self.socket_cores,
                false => cores / self.socket_cores * self.socket_cores,
            };
        }
        let Some(cap) = &shape.cap else { return cores };
        let each = cap.socket_cpus / self.core_threads.max(1);
        let by_sockets = each.saturating_mul(self.sockets);
        let most = (cap.cpus / self.core_threads.max(1)).min(by_sockets);
        // Who is alone has the whole node.
        let too_few = shape.sharing == Sharing::Nobody && most < self.node_cores;
        if each < self.socket_cores && slot.free_cores.count() == free.cores {
            let free = self.by_sockets(slot.free_cores.iter());
            let left = free.iter().zip(self.left_of_sockets(cap, slot));
            cores = cores.min(left.map(|(free, left)| (*free).min(left)).sum());
        }
        if too_few { 0 } else { cores.min(most.saturating_sub(beside)) }
    }

    /// How many of some cores each socket has.
    fn by_sockets(&self, cores: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut counts = vec![0; self.sockets.max(1) as usize];
        for core in cores {
            if let Some(count) = counts.get_mut((core / self.socket_cores) as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Cores of each socket that jobs of a partition may have besides those they have.
    fn left_of_sockets(&self, cap: &Cap, slot: &Slot) -> Vec<u32> {
        let mine = slot.runs.iter().filter(|held| held.partition == cap.partition);
        let held = self.by_sockets(mine.flat_map(|held| held.cores.iter()));
        let each = cap.socket_cpus / self.core_threads.max(1);
        held.into_iter().map(|held| each.saturating_sub(held)).collect()
    }

    fn whole_sockets(&self, slot: &Slot) -> u32 {
        self.sockets_with(slot, self.socket_cores)
    }

    /// Sockets that have so many free cores.
    fn sockets_with(&self, slot: &Slot, cores: u32) -> u32 {
        let free = self.by_sockets(slot.free_cores.iter());
        free.iter().filter(|count| **count >= cores).count() as u32
    }

    /// Whether as many sockets as are asked for have as many free cores, as far as that is known: of the
    /// present.
    fn has_sockets(&self, shape: &Shape, slot: &Slot, free: &Free) -> bool {
        let asks = shape.sockets_min > 0 || shape.cores_per_socket_min > 0;
        let known = slot.free_cores.count() == free.cores;
        !asks
            || !known
            || self.sockets_with(slot, shape.cores_per_socket_min.max(1))
                >= shape.sockets_min.max(1)
    }

    fn memory(&self, shape: &Shape, units: u32, cores: u32, total_mb: u64) -> u64 {
        // Who is alone gets all processors, and what goes with each as far as it is there.
        let alone = shape.sharing == Sharing::Nobody;
        let cores = if alone { self.node_cores } else { cores };
        match shape.memory {
            // Nobody knows what there is, so nobody counts it.
            _ if total_mb == 0 => 0,
            Memory::None => 0,
            Memory::PerNode(_) | Memory::PerUnit(_) if self.gpu_memory > 0 => {
                self.gpu_memory.min(total_mb)
            }
            Memory::PerNode(mb) => mb,
            Memory::PerCpu(mb) => {
                let all = mb * u64::from(cores) * u64::from(self.threads);
                if alone { all.min(total_mb) } else { all }
            }
            Memory::PerUnit(mb) => mb * u64::from(units),
            // Whoever shares processors shares what goes with them.
            Memory::Fair => {
                let parts = u64::from(self.node_cores.max(1)) * u64::from(shape.sharing.layers());
                total_mb * u64::from(cores) / parts
            }
            Memory::All => total_mb,
        }
    }

    /// How many units of a job fit at a moment, or none.
    pub fn room(&self, shape: &Shape, slot: &Slot, free: &Free, at: i64) -> u32 {
        self.room_beside(shape, slot, free, shape.beside(slot, at))
    }

    /// How many would fit at present if the job had any number of them.
    pub fn breadth(&self, shape: &Shape, slot: &Slot, at: i64) -> u32 {
        self.room_up_to(shape, slot, &slot.free, shape.beside(slot, at), u32::MAX)
    }

    /// How many units of a job fit where jobs of its partition hold so many cores.
    pub fn room_beside(&self, shape: &Shape, slot: &Slot, free: &Free, beside: u32) -> u32 {
        self.room_up_to(shape, slot, free, beside, shape.units)
    }

    fn room_up_to(&self, shape: &Shape, slot: &Slot, free: &Free, beside: u32, most: u32) -> u32 {
        let cores = self.cores_for(shape, slot, free, beside);
        if cores < self.cores_least
            || slot.node.tmp_mb < shape.tmp_mb
            || !self.has_sockets(shape, slot, free)
        {
            return 0;
        }
        let mut room = match shape.overcommit {
            true => shape.units,
            false => shape.units_on(cores * self.threads),
        };
        if let Some(each) = shape.units_per_socket {
            room = room.min(self.by_socket(shape, slot, free, each));
        }
        let caps = [
            shape.units_per_node,
            shape.units_per_core.map(|each| each.saturating_mul(cores)),
            Some(most),
        ];
        room = caps.into_iter().flatten().fold(room, u32::min);
        for need in &self.needs {
            room = room.min(need.room(free));
        }
        let fits = |units: u32| {
            let memory = self.memory(shape, units, self.cores(shape, units), slot.node.memory_mb);
            memory <= free.memory_mb
        };
        if !fits(room) {
            // The largest that does: what is needed grows with the units.
            let (mut low, mut high) = (0, room);
            while low + 1 < high {
                let middle = (low + high) / 2;
                if fits(middle) { low = middle } else { high = middle }
            }
            room = low;
        }
        if room < shape.units_least() { 0 } else { room }
    }

    /// Units that fit where each socket takes at most so many. Which cores are free is known of the
    /// present only; later they are taken to be spread evenly.
    fn by_socket(&self, shape: &Shape, slot: &Slot, free: &Free, each: u32) -> u32 {
        let unit = shape.unit_cpus.max(1).div_ceil(self.threads).max(1);
        let per_socket = self.socket_cores;
        if slot.free_cores.count() != free.cores {
            let units = (free.cores / self.sockets.max(1)) / unit;
            return if shape.overcommit { each } else { units.min(each) } * self.sockets;
        }
        let mut cores = vec![0; self.sockets.max(1) as usize];
        for core in slot.free_cores.iter() {
            let last = cores.len() - 1;
            cores[((core / per_socket) as usize).min(last)] += 1;
        }
        let units = |cores: &u32| if shape.overcommit { each } else { (cores / unit).min(each) };
        cores.iter().map(units).sum()
    }

    /// Cores of each socket that a job may have, where that is limited.
    pub fn cores_of_sockets(&self, shape: &Shape, slot: &Slot) -> Option<Vec<u32>> {
        let unit = shape.unit_cpus.max(1).div_ceil(self.threads).max(1);
        let alone = shape.sharing == Sharing::Nobody;
        let own = shape.units_per_socket.filter(|_| !alone).map(|each| each.saturating_mul(unit));
        let cap = shape.cap.as_ref().filter(|cap| cap.socket_cpus < u32::MAX);
        let left = cap.map(|cap| self.left_of_sockets(cap, slot));
        match (own, left) {
            (None, left) => left,
            (Some(own), None) => Some(vec![own; self.sockets.max(1) as usize]),
            (Some(own), Some(left)) => Some(left.into_iter().map(|left| left.min(own)).collect()),
        }
    }

    /// What a node has too little of to be of any use; nothing where [`Fit::room`] finds room.
    pub fn lacks(&self, shape: &Shape, slot: &Slot, free: &Free, at: i64) -> Option<Lack> {
        if self.cores_for(shape, slot, free, shape.beside(slot, at)) < self.cores_least {
            return Some(Lack::Cores);
        }
        if slot.node.tmp_mb < shape.tmp_mb {
            return Some(Lack::Tmp);
        }
        let least = shape.units_least();
        if self.needs.iter().any(|need| need.room(free) < least) {
            return Some(Lack::Devices);
        }
        (self.room(shape, slot, free, at) == 0).then(|| {
            let memory = self.memory(shape, least, self.cores(shape, least), slot.node.memory_mb);
            if memory > free.memory_mb { Lack::Memory } else { Lack::Cores }
        })
    }

    /// Memory that a node must give at least.
    pub fn memory_needed(&self, shape: &Shape, slot: &Slot) -> u64 {
        let least = shape.units_least();
        self.memory(shape, least, self.cores(shape, least), slot.node.memory_mb)
    }

    /// Takes what some units need; `None` when it is not there.
    pub fn take(&self, shape: &Shape, slot: &Slot, free: &mut Free, units: u32) -> Option<Taken> {
        self.take_some(shape, slot, free, units, u32::MAX)
    }

    /// The same with no more than so many processors.
    pub fn take_some(
        &self,
        shape: &Shape,
        slot: &Slot,
        free: &mut Free,
        units: u32,
        most: u32,
    ) -> Option<Taken> {
        let alone = shape.sharing == Sharing::Nobody;
        let own = self.cores(shape, units).min(most.div_ceil(self.threads));
        let cores = match alone {
            true => free.cores.saturating_sub(self.left.len() as u32),
            false => own,
        };
        let memory_mb = self.memory(shape, units, own, slot.node.memory_mb);
        if cores > free.cores || memory_mb > free.memory_mb {
            return None;
        }
        let mut parts = Vec::new();
        for need in &self.needs {
            need.take(free, units, &mut parts)?;
        }
        if alone {
            for (device, free) in (0..).zip(&mut free.parts) {
                if *free > 0 {
                    parts.push((device, std::mem::take(free)));
                }
            }
        }
        free.cores -= cores;
        free.memory_mb -= memory_mb;
        Some(Taken { cores, memory_mb, parts })
    }

    /// Whether nodes of a bucket may be of use.
    pub fn may_do(&self, key: &BucketKey) -> bool {
        key.cores >= self.cores_least
            && key.devices >= self.devices_least
            && key.memory >= self.memory_least
    }

    /// The free cores but those that are left to the system, where any are.
    pub fn cores_but_left(&self, slot: &Slot) -> Option<Bits> {
        let left: Bits = self.left.iter().copied().collect();
        let mut cores = slot.free_cores.clone();
        cores.remove_all(&left);
        (!self.left.is_empty()).then_some(cores)
    }

    /// Threads used of each core.
    pub fn threads(&self) -> u32 {
        self.threads
    }
}

/// Cores beyond those that a node keeps anyway which a job leaves to the system.
fn left(shape: &Shape, kind: &Kind) -> Vec<u32> {
    let cores = match shape.left {
        LeftCores::None => return Vec::new(),
        LeftCores::Cores(cores) => cores,
        LeftCores::Threads(threads) => threads.div_ceil(kind.threads.max(1)),
    };
    let more = (cores as usize).saturating_sub(kind.kept.len());
    let open = kept::order(kind.cores, kind.sockets).filter(|core| !kind.kept.contains(core));
    open.take(more).collect()
}

impl Shape {
    /// Cores of a node that jobs hold at a moment which count against the same cap.
    pub fn beside(&self, slot: &Slot, at: i64) -> u32 {
        let Some(cap) = &self.cap else { return 0 };
        let held = slot.runs.iter().filter(|held| held.end > at && held.partition == cap.partition);
        held.map(|held| held.cores.count()).sum()
    }
}

/// What a node can have too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    Cores,
    Tmp,
    Devices,
    Memory,
}

impl NeedFit {
    fn total(&self, units: u32) -> u32 {
        match self.per {
            Per::Unit => self.count.saturating_mul(units),
            Per::Node => self.count,
        }
    }

    fn room(&self, free: &Free) -> u32 {
        let frees = self.devices.iter().filter_map(|device| free.parts.get(*device as usize));
        let found: u32 = match (self.parts, self.per) {
            (true, Per::Unit) => frees.map(|free| free / self.count.max(1)).sum(),
            (true, Per::Node) => frees.map(|free| u32::from(*free >= self.count)).sum(),
            (false, _) => frees.map(|free| u32::from(*free == self.whole)).sum(),
        };
        match (self.per, self.parts) {
            _ if self.count == 0 => u32::MAX,
            (Per::Unit, true) => found,
            (Per::Unit, false) => found / self.count,
            (Per::Node, true) => {
                if found > 0 {
                    u32::MAX
                } else {
                    0
                }
            }
            (Per::Node, false) => {
                if found >= self.count {
                    u32::MAX
                } else {
                    0
                }
            }
        }
    }

    fn take(&self, free: &mut Free, units: u32, taken: &mut Vec<(u32, u32)>) -> Option<()> {
        if self.parts {
            let times = if self.per == Per::Unit { units } else { 1 };
            for _ in 0..times {
                // The fullest device that has enough left.
                let device = (self.devices.iter().copied())
                    .filter(|device| free.parts[*device as usize] >= self.count)
                    .min_by_key(|device| (free.parts[*device as usize], *device))?;
                free.parts[device as usize] -= self.count;
                taken.push((device, self.count));
            }
            return Some(());
        }
        let count = self.total(units) as usize;
        let is_free = |(device, _): &(u32, Whereabouts)| free.parts[*device as usize] == self.whole;
        let all = self.devices.iter().copied().zip(self.places.iter().copied());
        let whole: Vec<(u32, Whereabouts)> = all.filter(is_free).collect();
        if whole.len() < count {
            return None;
        }
        for device in place::devices::pick(&whole, count) {
            free.parts[device as usize] = 0;
            taken.push((device, self.whole));
        }
        Some(())
    }
}
