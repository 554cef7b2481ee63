//! Heterogeneous jobs: jobs with consecutive numbers that start together. The first one leads: it runs the
//! script, and the others end with it.

use crate::ids::JobId;

/// A job's place in a heterogeneous job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    /// The first one, whose number is the whole job's.
    pub leader: JobId,
    /// How many stand before this one.
    pub offset: u32,
    /// How many there are.
    pub size: u32,
}

impl Component {
    /// Whether it is the first one.
    pub fn leads(&self) -> bool {
        self.offset == 0
    }

    /// The numbers of all components, the first one's first.
    pub fn ids(&self) -> impl Iterator<Item = JobId> + use<> {
        let (first, size) = (self.leader.0, self.size);
        (0..size).map(move |offset| JobId(first + offset))
    }

    /// The numbers as `HetJobIdSet` shows them.
    pub fn id_set(&self) -> String {
        format!("{}-{}", self.leader, self.leader.0 + self.size.saturating_sub(1))
    }
}
