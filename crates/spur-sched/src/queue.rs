//! The order of the queue: pending jobs in classes that start and wait alike, each sorted by rank.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;

use crate::nap::Naps;
use crate::possible::Fits;
use crate::recall::Failure;
use crate::shape::Shape;
use crate::short::Short;
use crate::view::{Charge, Companion, PendingJob, Standing, Tiers};
use crate::waits::{Place, Places};

/// What orders jobs: the rank, lowest first, then the number, and then which of a job's partitions it is: of jobs of
/// one rank the first is tried in all of its partitions before the next one is tried in any.
pub type Key = (u64, JobId, u8);

/// Jobs that start and wait alike.
#[derive(Debug)]
pub struct Class {
    pub partition: Arc<str>,
    pub shape: Arc<Shape>,
    pub charges: Arc<[Charge]>,
    /// Jobs that start with the only job of this class.
    pub with: Arc<[Companion]>,
    /// By which it displaces others.
    pub rank: u32,
    /// Why none of them takes part, if so.
    pub barred: Option<Reason>,
    pub jobs: BTreeSet<Key>,
    /// The first of them.
    pub first: Option<Key>,
    /// Tasks of all its jobs.
    pub tasks: u64,
    /// How many of its jobs wait in other partitions too.
    pub in_several: u32,
    /// The number of its partition.
    pub ward: u32,
    /// Where its jobs can be at all, once that was looked up.
    pub fits: Option<Arc<Fits>>,
    /// Whether less was free than a job needs, if that was found out.
    pub short: Option<Short>,
    /// How many of the nodes that take jobs could be spared if all were empty, and when that was found out: how
    /// many were lost before, and how many changed.
    pub possible: Option<(u64, u64, Option<u32>)>,
    /// When a job of it found no place although enough is free, and why that was.
    pub failure: Option<Failure>,
}

type ClassKey = (Arc<str>, Arc<Shape>, Arc<[Charge]>, Arc<[Companion]>, u32, Option<Reason>);

/// All pending jobs.
#[derive(Debug, Default)]
pub struct Queue {
    pub classes: Vec<Class>,
    /// Of the classes that cannot start.
    pub naps: Naps,
    /// Partitions that jobs wait in; classes name them by number.
    pub wards: Vec<Arc<str>>,
    ids: BTreeMap<ClassKey, u32>,
    /// Classes by the addresses of what they are made of; the addresses stay taken.
    by_address: BTreeMap<Addresses, u32>,
    kept: Vec<(Tiers, Arc<Shape>, Arc<[Charge]>)>,
    pub places: Places,
    /// Records that stand for several tasks, with their number.
    pub counts: BTreeMap<JobId, u32>,
    /// Second and further partitions of jobs.
    others: BTreeMap<JobId, Vec<Place>>,
    /// Jobs that start with another one, by that one.
    led: BTreeMap<JobId, Vec<JobId>>,
    /// Jobs that wait for a moment.
    pub later: BTreeSet<(i64, JobId)>,
    waiting: BTreeMap<JobId, (i64, Arc<PendingJob>)>,
    /// Jobs put in since the last look, to be sorted in at once.
    fresh: Vec<(u32, Key)>,
    unused: Vec<u32>,
    /// How often a class lost its last job since all were looked through.
    emptied: usize,
}

type Addresses = (usize, usize, usize, u32);

/// The higher a tier and a priority, the lower the rank.
pub fn rank(tier: u16, priority: u32, reserved: bool) -> u64 {
    u64::from(!reserved) << 48 | u64::from(!tier) << 32 | u64::from(!priority)
}

/// Which of a job's partitions it is.
fn nth(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}

impl Queue {
    /// Takes a job in, or in place of its former self.
    pub fn put(&mut self, job: &Arc<PendingJob>, now: i64) {
        self.remove(job.id);
        let barred = match job.standing {
            Standing::Ready => None,
            Standing::From(at) if at.0 <= now => None,
            Standing::From(at) => {
                self.later.insert((at.0, job.id));
                self.waiting.insert(job.id, (at.0, job.clone()));
                Some(Reason::BeginTime)
            }
            Standing::Barred(reason) => Some(reason),
        };
        let reserved = !job.shape.reservation.is_empty();
        if job.count > 1 {
            self.counts.insert(job.id, job.count);
        }
        let elsewhere = job.elsewhere.iter().map(Some).chain(std::iter::repeat(None));
        let priorities = std::iter::once(None).chain(elsewhere);
        for ((place, (_, tier)), own) in job.partitions.iter().enumerate().zip(priorities) {
            let rank = rank(*tier, *own.unwrap_or(&job.priority), reserved);
            let class = self.class(job, place, barred);
            self.naps.wake(class);
            let it = &mut self.classes[class as usize];
            it.tasks += u64::from(job.count.max(1));
            it.in_several += u32::from(job.partitions.len() > 1);
            self.fresh.push((class, (rank, job.id, nth(place))));
            let at = Place { class, rank };
            if place == 0 {
                self.places.insert(job.id, at);
                self.lead(job, at);
            } else {
                self.others.entry(job.id).or_default().push(at);
            }
        }
    }

    /// Those that start with a job stand where it stands.
    fn lead(&mut self, job: &PendingJob, at: Place) {
        if job.with.is_empty() {
            return;
        }
        for companion in job.with.iter() {
            self.places.insert(companion.job, at);
        }
        self.led.insert(job.id, job.with.iter().map(|it| it.job).collect());
    }

    /// Forgets classes without jobs once they are many.
    pub fn tidy(&mut self) {
        if self.emptied < 1024.max(self.classes.len() / 2) {
            return;
        }
        self.emptied = 0;
        // A class may have no jobs but some that are not sorted in yet.
        self.sort_in();
        self.by_address.clear();
        self.kept.clear();
        self.unused.clear();
        let classes = &self.classes;
        self.ids.retain(|_, class| !classes[*class as usize].jobs.is_empty());
        self.unused = (0..self.classes.len() as u32)
            .filter(|class| self.classes[*class as usize].jobs.is_empty())
            .collect();
    }

    /// Takes a job out.
    pub fn remove(&mut self, job: JobId) {
        let Some(place) = self.places.get(job) else { return };
        self.sort_in();
        let count = u64::from(self.counts.remove(&job).unwrap_or(1));
        if let Some((at, _)) = self.waiting.remove(&job) {
            self.later.remove(&(at, job));
        }
        self.places.remove(job);
        for companion in self.led.remove(&job).unwrap_or_default() {
            self.places.remove(companion);
        }
        let others = self.others.remove(&job).unwrap_or_default();
        let in_several = u32::from(!others.is_empty());
        for (at, place) in [place].into_iter().chain(others).enumerate() {
            self.naps.wake(place.class);
            let class = &mut self.classes[place.class as usize];
            class.jobs.remove(&(place.rank, job, nth(at)));
            class.first = class.jobs.first().copied();
            self.emptied += usize::from(class.first.is_none());
            class.tasks -= count;
            class.in_several -= in_several;
        }
    }

    /// Lets those in whose moment has come.
    pub fn wake(&mut self, now: i64) {
        while let Some((at, job)) = self.later.first().copied() {
            if at > now {
                break;
            }
            self.later.remove(&(at, job));
            if let Some((_, job)) = self.waiting.remove(&job) {
                self.put(&job, now);
            }
        }
        self.sort_in();
    }

    /// Where a job of several partitions stands last.
    pub fn last_place(&self, job: JobId) -> Option<(Key, u32)> {
        let others = self.others.get(&job)?;
        let all = self.places.get(job).into_iter().chain(others.iter().copied());
        all.enumerate().map(|(at, place)| ((place.rank, job, nth(at)), place.class)).max()
    }

    /// Whether a job is queued in several partitions.
    pub fn is_in_several(&self, job: JobId) -> bool {
        !self.others.is_empty() && self.others.contains_key(&job)
    }

    /// The moment a job waits for, if it waits for one.
    pub fn begins(&self, job: JobId) -> Option<i64> {
        self.waiting.get(&job).map(|(at, _)| *at)
    }

    fn sort_in(&mut self) {
        if self.fresh.len() < 64 {
            for (class, key) in self.fresh.drain(..) {
                self.naps.wake(class);
                let class = &mut self.classes[class as usize];
                class.jobs.insert(key);
                class.first = class.jobs.first().copied();
            }
            return;
        }
        // Many at once: sets are built from sorted runs.
        self.fresh.sort_unstable();
        for run in self.fresh.chunk_by(|a, b| a.0 == b.0) {
            self.naps.wake(run[0].0);
            let class = &mut self.classes[run[0].0 as usize];
            let mut keys: BTreeSet<Key> = run.iter().map(|(_, key)| *key).collect();
            class.jobs.append(&mut keys);
            class.first = class.jobs.first().copied();
        }
        self.fresh.clear();
    }

    fn class(&mut self, job: &PendingJob, place: usize, barred: Option<Reason>) -> u32 {
        let shared = job.with.is_empty();
        let displaces = match job.ranks_by_tier {
            true => u32::from(job.partitions[place].1) + 1,
            false => job.rank,
        };
        let address = (
            Arc::as_ptr(&job.partitions).cast::<u8>() as usize + place,
            Arc::as_ptr(&job.shape) as usize,
            Arc::as_ptr(&job.charges).cast::<u8>() as usize,
            displaces << 9 | barred.map_or(0, |reason| reason.number() + 1),
        );
        if let Some(class) = self.by_address.get(&address).filter(|_| shared) {
            return *class;
        }
        let partition = &job.partitions[place].0;
        let (shape, charges, with) = (job.shape.clone(), job.charges.clone(), job.with.clone());
        let key = (partition.clone(), shape, charges, with, displaces, barred);
        let next = self.unused.last().copied().unwrap_or(self.classes.len() as u32);
        let class = *self.ids.entry(key).or_insert(next);
        if class == next {
            let known = self.wards.iter().position(|ward| ward == partition);
            let ward = known.unwrap_or_else(|| {
                self.wards.push(partition.clone());
                self.wards.len() - 1
            });
            let fresh = Class {
                partition: partition.clone(),
                shape: job.shape.clone(),
                charges: job.charges.clone(),
                with: job.with.clone(),
                rank: displaces,
                barred,
                jobs: BTreeSet::new(),
                first: None,
                tasks: 0,
                in_several: 0,
                ward: ward as u32,
                fits: None,
                short: None,
                possible: None,
                failure: None,
            };
            match self.unused.pop() {
                Some(unused) => {
                    self.classes[unused as usize] = fresh;
                    self.naps.wake(unused);
                }
                None => {
                    self.classes.push(fresh);
                    self.naps.grow();
                }
            }
        }
        // Addresses mean something only while nobody else can have them; shapes that nobody shares are
        // not worth keeping.
        if shared && Arc::strong_count(&job.shape) > 2 && self.kept.len() < 1 << 16 {
            self.by_address.insert(address, class);
            self.kept.push((job.partitions.clone(), job.shape.clone(), job.charges.clone()));
        }
        class
    }
}
