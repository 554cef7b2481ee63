//! How long jobs will run, told from what the same user's jobs did (Tsafrir et al. 2007), and when not to
//! believe it.
//!
//! A prediction decides about backfill alone: whether a job is over before a promise to another begins, and
//! when runs give back what they hold. What a job may use at most stays its limit; reservations go by that.

use std::collections::BTreeMap;

use spur_core::ids::JobId;

/// Remembers how long jobs ran.
#[derive(Clone, Debug, Default)]
pub struct Predictor {
    /// Of each user the two that were submitted last, of those that have ended: when, and how long they ran.
    last: BTreeMap<u32, [Option<(i64, i64)>; 2]>,
}

impl Predictor {
    /// A job has ended; whether that changes what is expected of the user's others.
    pub fn learn(&mut self, user: u32, submitted: i64, ran: i64) -> bool {
        let last = self.last.entry(user).or_default();
        let before = *last;
        let it = Some((submitted, ran));
        let later = |known: &Option<(i64, i64)>| known.is_none_or(|known| known.0 <= submitted);
        match last {
            [first, _] if later(first) => *last = [it, *first],
            [_, second] if later(second) => *second = it,
            _ => {}
        }
        *last != before
    }

    /// How long a job of a user will run: never beyond its limit, rounded up so that like jobs stay alike.
    pub fn guess(&self, user: u32, limit: i64) -> i64 {
        let mean = match self.last.get(&user) {
            Some([Some((_, last)), Some((_, before))]) => (last + before) / 2,
            Some([Some((_, last)), None]) => *last,
            _ => return limit,
        };
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

/// Watches what predictions do to those that hold a promise. By limits alone its nodes would be a job's own at a
/// certain moment; a job that was let in because it would be over by then, and is not, puts that off, and what is
/// kept for the first one stands idle meanwhile.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Of all processor time at most this part, in percent, may be lost that way.
    pub margin_percent: u32,
    /// A start is put off by at most so many seconds.
    pub patience_secs: i64,
    /// Who holds a promise: when its nodes are its own at the latest, and processors that stand idle for it.
    promised: BTreeMap<JobId, (i64, u32)>,
    /// Processor seconds lost; forgotten by half once a week.
    lost: u128,
    seen: Option<i64>,
    halved: i64,
    closed: bool,
}

const WEEK: i64 = 7 * 86_400;

impl Guard {
    /// A guard that has seen nothing.
    pub fn new(margin_percent: u32, patience_secs: i64) -> Guard {
        let (promised, lost, seen) = (BTreeMap::new(), 0, None);
        Guard { margin_percent, patience_secs, promised, lost, seen, halved: 0, closed: false }
    }

    /// Looks at the promises of a pass, out of so many processors: for whom, when the nodes are its own at the
    /// latest, and how many processors stand idle there. Says whether the next pass may believe predictions.
    pub fn trusts(
        &mut self,
        now: i64,
        capacity: u64,
        promises: impl Iterator<Item = (JobId, i64, u32)>,
    ) -> bool {
        self.halved = if self.seen.is_none() { now } else { self.halved };
        let seen = self.seen.replace(now).unwrap_or(now);
        for (due, idle) in self.promised.values() {
            self.lost += u128::from(*idle) * (now - seen.max(*due)).max(0) as u128;
        }
        let weeks = ((now - self.halved) / WEEK).clamp(0, 127);
        (self.lost, self.halved) = (self.lost >> weeks, self.halved + weeks * WEEK);
        let former = std::mem::take(&mut self.promised);
        let mut starves = false;
        for (job, due, idle) in promises {
            let due = former.get(&job).map_or(due, |(before, _)| due.min(*before));
            starves |= now - due > self.patience_secs;
            self.promised.insert(job, (due, idle));
        }
        // Half of a week's losses are remembered for the next: in the long run twice those of a week.
        let allowed = u128::from(self.margin_percent) * u128::from(capacity) * WEEK as u128 / 100;
        self.closed = if self.closed { self.lost > allowed } else { self.lost > 2 * allowed };
        !starves && !self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_jobs_submitted_last_say_how_long_the_next_one_takes() {
        let mut told = Predictor::default();
        assert_eq!(told.guess(1, 7200), 7200);
        assert!(told.learn(1, 100, 59));
        assert_eq!(told.guess(1, 7200), 60);
        assert!(told.learn(1, 200, 541));
        assert_eq!((told.guess(1, 7200), told.guess(1, 120), told.guess(2, 50)), (360, 120, 50));
        // One that was submitted before both tells nothing new, however late it ends.
        assert!(!told.learn(1, 50, 100_000));
        assert_eq!(told.guess(1, 7200), 360);
    }

    #[test]
    fn a_guess_is_raised_until_it_is_the_limit() {
        assert_eq!((raise(60, 0, 7200), raise(120, 1, 7200), raise(5, 99, 7200)), (120, 420, 7200));
        assert_eq!(raise(7190, 0, 7200), 7200);
    }

    #[test]
    fn whoever_is_put_off_too_long_is_not_put_off_by_predictions_any_more() {
        let mut guard = Guard::new(10, 600);
        let job = |due: i64| [(JobId(1), due, 1)].into_iter();
        assert!(guard.trusts(0, 1000, job(100)));
        // What runs now has a later limit; what counts is the first.
        assert!(guard.trusts(700, 1000, job(5000)));
        assert!(!guard.trusts(701, 1000, job(5000)));
        // It has started; the next one is new.
        assert!(guard.trusts(702, 1000, [(JobId(2), 5000, 1)].into_iter()));
    }

    #[test]
    fn too_much_lost_in_a_week_ends_it_until_enough_is_forgotten() {
        let mut guard = Guard::new(1, i64::MAX);
        let job = || [(JobId(1), 0, 10)].into_iter();
        // Twice one percent of ten processors for a week is 120960 processor seconds.
        assert!(guard.trusts(0, 10, job()));
        assert!(guard.trusts(12_096, 10, job()));
        assert!(!guard.trusts(12_097, 10, job()));
        assert!(!guard.trusts(12_098, 10, std::iter::empty()));
        assert!(guard.trusts(2 * WEEK, 10, std::iter::empty()));
    }
}
