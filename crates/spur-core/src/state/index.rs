//! What can be told from the jobs, kept at hand. Never stored: rebuilt when a snapshot is read, and
//! compared with a rebuilt one in tests.

use imbl::{OrdMap, OrdSet};

use crate::ids::{JobId, NodeName, Uid};
use crate::job::dependency::Term;
use crate::job::{Job, Phase, RequestId};
use crate::state::Charged;
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
    /// Records of each array: those of its tasks, and that of the ones that wait.
    pub arrays: OrdMap<JobId, OrdSet<JobId>>,
    /// Pending jobs that wait for each job or array.
    pub dependents: OrdMap<JobId, OrdSet<JobId>>,
    /// Pending jobs that wait for others of their name.
    pub singletons: OrdSet<JobId>,
    /// Pending jobs that must not start yet, by when they may.
    pub begins: OrdSet<(Timestamp, JobId)>,
    /// Pending jobs with a deadline.
    pub deadlines: OrdSet<(Timestamp, JobId)>,
    /// How many tasks count against whom.
    pub charged: OrdMap<Charged, u64>,
    /// Ports lent to jobs that hold resources.
    pub ports: OrdSet<u16>,
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

    /// How many tasks count against those that are wanted.
    pub fn charged_to(&self, wanted: &dyn Fn(&Charged) -> bool) -> u64 {
        self.charged.iter().filter(|(whom, _)| wanted(whom)).map(|(_, tasks)| tasks).sum()
    }

    fn insert(&mut self, job: &Job) {
        if let Some(charged) = Charged::of(job) {
            *self.charged.entry(charged).or_insert(0) += Charged::tasks(job);
        }
        if let Some(request) = job.request {
            self.requests.insert((job.owner.uid, request), job.id);
        }
        if let Some(array) = job.array_id() {
            self.arrays.entry(array).or_default().insert(job.id);
        }
        match &job.phase {
            Phase::Pending => {
                self.pending.insert(job.id);
                self.begins.extend(job.begin.map(|begin| (begin, job.id)));
                self.deadlines.extend(deadline(job).map(|deadline| (deadline, job.id)));
                for other in targets(job) {
                    self.dependents.entry(other).or_default().insert(job.id);
                }
                if is_singleton(job) {
                    self.singletons.insert(job.id);
                }
            }
            Phase::Running { allocation, .. } | Phase::Completing { allocation, .. } => {
                self.active.insert(job.id);
                self.ports.extend(job.granted.port);
                for share in &allocation.shares {
                    self.on_node
                        .entry(share.node.clone())
                        .or_default()
                        .insert(job.id, job.cpus_of(share));
                }
            }
            Phase::Ended { at, .. } => {
                self.ended.insert((*at, job.id));
            }
        }
    }

    fn remove(&mut self, job: &Job) {
        if let Some(charged) = Charged::of(job)
            && let Some(tasks) = self.charged.get_mut(&charged)
        {
            *tasks -= Charged::tasks(job);
            if *tasks == 0 {
                self.charged.remove(&charged);
            }
        }
        if let Some(request) = job.request {
            self.requests.remove(&(job.owner.uid, request));
        }
        if let Some(array) = job.array_id() {
            remove_from(&mut self.arrays, array, job.id);
        }
        match &job.phase {
            Phase::Pending => {
                self.pending.remove(&job.id);
                job.begin.map(|begin| self.begins.remove(&(begin, job.id)));
                deadline(job).map(|deadline| self.deadlines.remove(&(deadline, job.id)));
                for other in targets(job) {
                    remove_from(&mut self.dependents, other, job.id);
                }
                self.singletons.remove(&job.id);
            }
            Phase::Running { allocation, .. } | Phase::Completing { allocation, .. } => {
                self.active.remove(&job.id);
                job.granted.port.map(|port| self.ports.remove(&port));
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

/// The jobs and arrays a job waits for.
/// Whose end may change what a job waits for: nobody's, once it waits in vain.
fn targets(job: &Job) -> impl Iterator<Item = JobId> {
    let waits = job.waits.as_deref().filter(|waits| !waits.never);
    let terms = waits.map_or(&[][..], |waits| &waits.on.terms[..]);
    terms.iter().filter_map(|term| match term {
        Term::Job { job, .. } => Some(*job),
        Term::Singleton => None,
    })
}

fn is_singleton(job: &Job) -> bool {
    job.waits.as_deref().is_some_and(|waits| waits.on.terms.contains(&Term::Singleton))
}

fn deadline(job: &Job) -> Option<Timestamp> {
    job.spec.lifecycle().deadline.map(Timestamp)
}

fn remove_from(sets: &mut OrdMap<JobId, OrdSet<JobId>>, key: JobId, job: JobId) {
    if let Some(set) = sets.get_mut(&key) {
        set.remove(&job);
        if set.is_empty() {
            sets.remove(&key);
        }
    }
}
