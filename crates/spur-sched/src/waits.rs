//! Why each pending job waits, in a form that costs nothing to hand around.
//!
//! Jobs of a class wait for the same reason, so a pass writes one line for each class. Which class a job
//! is in is kept in pages that are shared between passes.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use spur_core::ids::{JobId, NodeName};
use spur_core::job::Reason;
use spur_core::time::Timestamp;

use crate::priority::Basis;

/// Why a job waits, and until when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Slurm's word.
    pub reason: Reason,
    /// When it is expected to start, if the pass found out.
    pub start: Option<Timestamp>,
    /// A reservation keeps it out.
    pub reserved: bool,
}

impl From<Reason> for Wait {
    fn from(reason: Reason) -> Wait {
        Wait { reason, start: None, reserved: false }
    }
}

const PAGE: u32 = 256;

/// Where a job stands in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub class: u32,
    pub rank: u64,
}

const NOWHERE: Place = Place { class: u32::MAX, rank: 0 };

/// Places by job, in pages.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pages: OrdMap<u32, Arc<Page>>,
}

#[derive(Clone, Debug)]
struct Page {
    used: u32,
    places: [Place; PAGE as usize],
}

impl Places {
    pub fn get(&self, job: JobId) -> Option<Place> {
        let page = self.pages.get(&(job.0 / PAGE))?;
        Some(page.places[(job.0 % PAGE) as usize]).filter(|place| *place != NOWHERE)
    }

    pub fn insert(&mut self, job: JobId, place: Place) {
        let empty = || Arc::new(Page { used: 0, places: [NOWHERE; PAGE as usize] });
        let page = Arc::make_mut(self.pages.entry(job.0 / PAGE).or_insert_with(empty));
        let former = std::mem::replace(&mut page.places[(job.0 % PAGE) as usize], place);
        if former == NOWHERE {
            page.used += 1;
        }
    }

    pub fn remove(&mut self, job: JobId) {
        let Some(page) = self.pages.get_mut(&(job.0 / PAGE)) else { return };
        let page = Arc::make_mut(page);
        let former = std::mem::replace(&mut page.places[(job.0 % PAGE) as usize], NOWHERE);
        if former == NOWHERE {
            return;
        }
        page.used -= 1;
        if page.used == 0 {
            self.pages.remove(&(job.0 / PAGE));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (JobId, Place)> + '_ {
        self.pages.iter().flat_map(|(number, page)| {
            let all = page.places.iter().enumerate().filter(|(_, place)| **place != NOWHERE);
            all.map(move |(index, place)| (JobId(number * PAGE + index as u32), *place))
        })
    }
}

/// Where and when a waiting job is expected to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    /// When.
    pub at: Timestamp,
    /// In which of its partitions.
    pub partition: Arc<str>,
    /// Where, in rank order.
    pub nodes: Vec<NodeName>,
    /// Processors it would get there.
    pub cpus: u32,
    /// When these nodes are its own at the latest: what runs there ends by its limit.
    pub due: Timestamp,
    /// Processors there that nobody uses at present.
    pub idle: u32,
}

/// Why each pending job waits. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// What was found for those that hold a promise.
    pub(crate) promised: Arc<BTreeMap<JobId, Promised>>,
    pub(crate) places: Places,
    pub(crate) by_class: Arc<Vec<Wait>>,
    /// Nodes that a class asked for by name and that are kept for others.
    pub(crate) unavailable: Arc<BTreeMap<u32, Vec<NodeName>>>,
    /// Jobs about which more is known than about their class; `None` for those that start.
    pub(crate) special: Arc<BTreeMap<JobId, Option<Wait>>>,
    /// What priorities were told by.
    pub basis: Arc<Basis>,
}

impl Waits {
    /// Why a job waits; nothing for a job that starts, or is not known.
    pub fn get(&self, job: JobId) -> Option<Wait> {
        let place = self.places.get(job)?;
        match self.special.get(&job) {
            Some(wait) => *wait,
            None => self.by_class.get(place.class as usize).copied(),
        }
    }

    /// Whether no more is known about a job than about all of its class.
    pub fn is_as_its_class(&self, job: JobId) -> bool {
        !self.special.contains_key(&job)
    }

    /// Which of the nodes that a job asked for by name are kept for others.
    pub fn unavailable(&self, job: JobId) -> &[NodeName] {
        let place = self.places.get(job);
        place.and_then(|place| self.unavailable.get(&place.class)).map_or(&[], Vec::as_slice)
    }

    /// Where a job is promised a place.
    pub fn promised(&self, job: JobId) -> Option<&Promised> {
        self.promised.get(&job)
    }

    /// Every job that is promised a place.
    pub fn all_promised(&self) -> impl Iterator<Item = (JobId, &Promised)> + '_ {
        self.promised.iter().map(|(job, promised)| (*job, promised))
    }

    /// The priority a pending job was looked at with.
    pub fn priority(&self, job: JobId) -> Option<u32> {
        // The rank ends in it, turned round.
        self.places.get(job).map(|place| !(place.rank as u32))
    }

    /// Every waiting job, by number.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, Wait)> + '_ {
        self.places.iter().filter_map(|(job, _)| self.get(job).map(|wait| (job, wait)))
    }

    /// Whether two are one and the same, told without looking at their content. A "no" may be wrong.
    pub fn is_same(&self, other: &Waits) -> bool {
        Arc::ptr_eq(&self.by_class, &other.by_class)
            && Arc::ptr_eq(&self.special, &other.special)
            && Arc::ptr_eq(&self.basis, &other.basis)
            && Arc::ptr_eq(&self.promised, &other.promised)
            && self.places.pages.ptr_eq(&other.places.pages)
    }
}

impl PartialEq for Waits {
    fn eq(&self, other: &Waits) -> bool {
        self.is_same(other) || self.promised == other.promised && self.iter().eq(other.iter())
    }
}

impl Eq for Waits {}
