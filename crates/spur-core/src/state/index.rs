//! What can be told from the jobs, kept at hand. Never stored: rebuilt when a snapshot is read, and
//! compared with a rebuilt one in tests.

use imbl::{OrdMap, OrdSet};

use crate::ids::{JobId, NodeName, Uid};
use crate::job::{Job, Phase, RequestId};
use crate::time::Timestamp;

/// Ways to find jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// Jobs waiting to start.
    pub pending: OrdSet<JobId>,
    /// Jobs holding resources, with their processors, by node.
    pub on_node: OrdMap<NodeName, OrdMap<JobId, u32>>,
    /// Jobs holding resources.
    pub active: OrdSet<JobId>,
    /// Jobs that are over, by when.
    pub ended: OrdSet<(Timestamp, JobId)>,
    /// The job each user's request made.
    pub requests: OrdMap<(Uid, RequestId), JobId>,
}

impl Index {
    /// Builds the index of these jobs.
    pub fn of<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Index {
        let mut index = Index::default();
        for job in jobs {
            index.replace(None, Some(job));
        }
        index
    }

    /// Accounts for one job's change.
    pub fn replace(&mut self, former: Option<&Job>, present: Option<&Job>) {
        if let Some(job) = former {
            self.remove(job);
        }
        if let Some(job) = present {
            self.insert(job);
        }
    }

    fn insert(&mut self, job: &Job) {
        self.requests.insert((job.owner.uid, job.request), job.id);
        match &job.phase {
            Phase::Pending => {
                self.pending.insert(job.id);
            }
            Phase::Running { allocation, .. } | Phase::Completing { allocation, .. } => {
                self.active.insert(job.id);
                for share in &allocation.shares {
                    self.on_node.entry(share.node.clone()).or_default().insert(job.id, share.cpus);
                }
            }
            Phase::Ended { at, .. } => {
                self.ended.insert((*at, job.id));
            }
        }
    }

    fn remove(&mut self, job: &Job) {
        self.requests.remove(&(job.owner.uid, job.request));
        match &job.phase {
            Phase::Pending => {
                self.pending.remove(&job.id);
            }
            Phase::Running { allocation, .. } | Phase::Completing { allocation, .. } => {
                self.active.remove(&job.id);
                for share in &allocation.shares {
                    if let Some(jobs) = self.on_node.get_mut(&share.node) {
                        jobs.remove(&job.id);
                        if jobs.is_empty() {
                            self.on_node.remove(&share.node);
                        }
                    }
                }
            }
            Phase::Ended { at, .. } => {
                self.ended.remove(&(*at, job.id));
            }
        }
    }
}
