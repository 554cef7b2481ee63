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
    users: BTreeMap<u32, Habit>,
}

/// What is known of a user's jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    /// The two that were submitted last, of those that have ended: when, and how long they ran.
    last: [Option<(i64, i64)>; 2],
    /// How much nearer to the truth guesses were lately than limits; below zero they were not.
    nearer: f64,
}

/// Of how much nearer guesses were before, this part counts once another job has ended.
const REMEMBERED: f64 = 0.9;

impl Habit {
    /// How long the next one takes by what the last ones did.
    fn mean(&self) -> Option<i64> {
        match self.last {
            [Some((_, last)), Some((_, before))] => Some((last + before) / 2),
            [Some((_, last)), None] => Some(last),
            _ => None,
        }
    }

    /// The same where guesses are worth more than limits.
    fn guess(&self) -> Option<i64> {
        self.mean().filter(|_| self.nearer >= 0.0)
    }
}

/// By which factor one time is beside another, as a logarithm. Below ten seconds all are alike.
fn beside(one: i64, other: i64) -> f64 {
    (one.max(10) as f64 / other.max(10) as f64).ln().abs()
}

impl Predictor {
    /// A job has ended that ran for so long and had such a limit; whether that changes what is expected of the
    /// user's others.
    pub fn learn(&mut self, user: u32, submitted: i64, ran: i64, limit: i64) -> bool {
        let habit = self.users.entry(user).or_default();
        let before = habit.guess();
        if let Some(mean) = habit.mean() {
            let gain = beside(limit, ran) - beside(mean.min(limit), ran);
            habit.nearer = habit.nearer * REMEMBERED + gain;
        }
        let it = Some((submitted, ran));
        let later = |known: &Option<(i64, i64)>| known.is_none_or(|known| known.0 <= submitted);
        match habit.last {
            [first, _] if later(&first) => habit.last = [it, first],
            [_, second] if later(&second) => habit.last[1] = it,
            _ => {}
        }
        habit.guess() != before
    }

    /// How long a job of a user will run: never beyond its limit, rounded up so that like jobs stay alike.
    pub fn guess(&self, user: u32, limit: i64) -> i64 {
        let Some(mean) = self.users.get(&user).and_then(Habit::guess) else { return limit };
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
        assert!(told.learn(1, 100, 59, 7200));
        assert_eq!(told.guess(1, 7200), 60);
        assert!(told.learn(1, 200, 541, 7200));
        assert_eq!((told.guess(1, 7200), told.guess(1, 120), told.guess(2, 50)), (360, 120, 50));
        // One that was submitted before both tells nothing new, however late it ends.
        assert!(!told.learn(1, 50, 541, 7200));
        assert_eq!(told.guess(1, 7200), 360);
    }

    #[test]
    fn where_limits_were_nearer_to_the_truth_lately_they_count() {
        let mut told = Predictor::default();
        for (at, ran) in (0..).zip([100, 36_000, 100, 36_000]) {
            told.learn(1, at, ran, 2 * ran);
        }
        assert_eq!(told.guess(1, 72_000), 72_000, "no two are alike, and limits tell them apart");
        for at in 10..20 {
            told.learn(1, at, 590, 72_000);
        }
        assert_eq!(told.guess(1, 72_000), 600);
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
