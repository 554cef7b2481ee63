//! What users' jobs usually do, where the configuration wants backfill to go by that.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::config::sections;
use spur_core::ids::JobId;
use spur_core::job::{Job, Phase};
use spur_core::state::State;
use spur_core::time::Timestamp;

use super::request;
use crate::planner::Planner;
use crate::predict::{Guard, Predictor, raise};
use crate::waits::Promised;

/// Waiting jobs of a user that are told anew when another of them has ended; the rest keep what was expected.
const TOLD: usize = 1000;

/// What is known of users' jobs. A controller that has just begun to lead knows of those that ended lately.
#[derive(Debug, Default)]
pub struct Habits {
    guard: Option<Guard>,
    predictor: Predictor,
    /// Who waits, by user.
    waiting: BTreeMap<u32, BTreeSet<JobId>>,
    /// How long runs are expected to last, and how often that was too little.
    runs: BTreeMap<JobId, (i64, usize)>,
    /// The same by when they are expected to end.
    ends: BTreeSet<(i64, JobId)>,
}

impl Habits {
    /// Does as the configuration says; what was learnt stays.
    pub fn set(&mut self, rules: &sections::Scheduler, state: &State) {
        (self.waiting, self.runs, self.ends) = Default::default();
        if !rules.predict_run_times {
            *self = Habits::default();
            return;
        }
        let margin = rules.predict_margin_percent;
        let patience = rules.predict_patience.0.number().map_or(i64::MAX, |it| it as i64 * 60);
        if let Some(guard) = &mut self.guard {
            (guard.margin_percent, guard.patience_secs) = (margin, patience);
            return;
        }
        self.guard = Some(Guard::new(margin, patience));
        for job in state.jobs.values() {
            self.ended(job, state);
        }
    }

    /// How long a waiting job is expected to run, if anybody knows.
    pub fn expects(&mut self, job: &Job, limit: i64) -> Option<i64> {
        self.guard.as_ref()?;
        let user = job.owner.uid.0;
        // It may have run before.
        self.runs.remove(&job.id);
        self.waiting.entry(user).or_default().insert(job.id);
        Some(self.predictor.guess(user, limit)).filter(|guess| *guess < limit)
    }

    /// A job does not wait any more.
    pub fn waits_no_more(&mut self, job: &Job) {
        if let Some(waiting) = self.waiting.get_mut(&job.owner.uid.0) {
            waiting.remove(&job.id);
        }
    }

    /// When a run is expected to end that has to by a moment.
    pub fn end_of(&mut self, job: &Job, since: i64, end: i64, now: Timestamp) -> i64 {
        if self.guard.is_none() {
            return end;
        }
        let limit = end.saturating_sub(since);
        let guess = self.predictor.guess(job.owner.uid.0, limit);
        let (secs, times) = self.runs.entry(job.id).or_insert((guess, 0));
        self.ends.remove(&(since.saturating_add(*secs), job.id));
        let ran = now.0 - since;
        while *secs <= ran && *secs < limit {
            (*secs, *times) = (raise(ran, *times, limit), *times + 1);
        }
        let expected = since.saturating_add((*secs).min(limit));
        if expected < end {
            self.ends.insert((since.saturating_add(*secs), job.id));
        }
        expected
    }

    /// Runs that go on although they were expected to be over.
    pub fn outlived(&mut self, now: Timestamp) -> Vec<JobId> {
        let after = self.ends.split_off(&(now.0.saturating_add(1), JobId(0)));
        std::mem::replace(&mut self.ends, after).into_iter().map(|(_, job)| job).collect()
    }

    /// A job may have ended; says which waiting jobs are now expected to take another time.
    pub fn ended(&mut self, job: &Job, state: &State) -> Vec<JobId> {
        let Phase::Ended { started: Some(started), at, .. } = &job.phase else { return Vec::new() };
        if self.guard.is_none() {
            return Vec::new();
        }
        self.runs.remove(&job.id);
        let ran = (at.0 - started.0 - job.pause.secs).max(0);
        let limit = request::secs(job.time_limit(state.partition_of(job)));
        if !self.predictor.learn(job.owner.uid.0, job.submitted.0, ran, limit) {
            return Vec::new();
        }
        let waiting = self.waiting.get(&job.owner.uid.0).into_iter().flatten();
        waiting.copied().take(TOLD).collect()
    }

    /// Looks at what a pass promised, and tells the planner whether to go on believing.
    pub fn watch(
        &mut self,
        planner: &mut Planner,
        now: Timestamp,
        held: &BTreeMap<JobId, Promised>,
    ) {
        let Some(guard) = &mut self.guard else { return };
        let promises = held.iter().map(|(job, it)| (*job, it.due.0, it.idle));
        let trust = guard.trusts(now.0, planner.capacity(), promises);
        planner.set_trust(trust);
    }
}
