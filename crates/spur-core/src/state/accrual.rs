//! Waiting jobs that grow older, where limits say how many of a user, an account or a QOS may: the first to come begin,
//! and whoever follows begins when one of them has left the queue.

use std::collections::BTreeMap;

use crate::accounts::limits::{self, Needs};
use crate::config::words::Enforce;
use crate::errors::SlurmError;
use crate::ids::JobId;
use crate::job::{Job, Phase};
use crate::state::{Reply, State};
use crate::time::Timestamp;

/// The age of these begins now.
pub(super) fn begin(state: &mut State, jobs: &[JobId]) -> Result<Reply, SlurmError> {
    for id in jobs {
        let waiting = state.jobs.get(id).filter(|job| job.phase == Phase::Pending);
        if let Some(job) = waiting.filter(|job| job.accrues.is_none()) {
            let job = Job { accrues: Some(state.now), ..(**job).clone() };
            state.put_job(job);
        }
    }
    Ok(Reply::Done)
}

impl State {
    fn limits_accrual(&self) -> bool {
        self.enforces(Enforce::Limits) && self.rules.limits_accrual()
    }

    /// Jobs that may begin to grow older by now, in their order.
    pub fn accruals_due(&self) -> Vec<JobId> {
        if !self.limits_accrual() {
            return Vec::new();
        }
        let nothing = Needs::new();
        let mut there: BTreeMap<String, u64> = BTreeMap::new();
        let mut young = Vec::new();
        for job in self.index.pending.iter().filter_map(|id| self.jobs.get(id)) {
            let counters = limits::accrual(&self.rules, &self.asks_of(job, &nothing));
            if counters.is_empty() || self.obstacle(job).is_some() {
                continue;
            }
            match job.accrues {
                Some(_) => {
                    counters.into_iter().for_each(|(name, _)| *there.entry(name).or_default() += 1);
                }
                None => young.push((job.id, counters)),
            }
        }
        young.sort_by_key(|(id, _)| *id);
        let mut due = Vec::new();
        for (id, counters) in young {
            let has_room = |(name, max): &(String, u64)| there.get(name).is_none_or(|it| it < max);
            if counters.iter().all(|it| it.1 > 0 && has_room(it)) {
                counters.into_iter().for_each(|(name, _)| *there.entry(name).or_default() += 1);
                due.push(id);
            }
        }
        due
    }

    /// Since when a job grows older if a limit has a say in that: `Some(None)` while it does not.
    pub fn accrues_since(&self, job: &Job) -> Option<Option<Timestamp>> {
        if !self.limits_accrual() {
            return None;
        }
        let nothing = Needs::new();
        let counters = limits::accrual(&self.rules, &self.asks_of(job, &nothing));
        (!counters.is_empty()).then_some(job.accrues)
    }
}
