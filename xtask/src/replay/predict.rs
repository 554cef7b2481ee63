//! How long a job will run, told from the last two of the same user (Tsafrir et al. 2007).

use std::collections::BTreeMap;

/// Remembers how long jobs ran.
#[derive(Debug, Default)]
pub struct Predictor {
    last: BTreeMap<u32, (i64, Option<i64>)>,
}

impl Predictor {
    /// A job has ended.
    pub fn learn(&mut self, user: u32, run: i64) {
        let before = self.last.get(&user).map(|(last, _)| *last);
        self.last.insert(user, (run, before));
    }

    /// A guess, never beyond what was asked for, rounded so that like jobs stay alike.
    pub fn guess(&self, user: u32, limit: i64) -> i64 {
        let Some((last, before)) = self.last.get(&user) else { return limit };
        let mean = before.map_or(*last, |before| (last + before) / 2);
        let round = if mean < 3600 { 60 } else { 600 };
        (mean.max(1).div_euclid(round) * round + round).min(limit)
    }
}

/// A guess that turned out too short is raised, by more each time, up to the limit.
pub fn raise(ran: i64, times: usize, limit: i64) -> i64 {
    const STEPS: [i64; 11] =
        [60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000];
    STEPS.get(times).map_or(limit, |step| (ran + step).min(limit))
}
