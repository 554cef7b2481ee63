//! What associations and QOS have used, fading with time: after one half-life half of it counts.
//!
//! Only basic arithmetic is used, so that all controllers come to the same numbers.

use std::collections::BTreeMap;

use crate::accounts::limits::{Needs, Spent};
use crate::config::words::UsageReset;
use crate::time::{Civil, FixedOffset, Timestamp, Zone};
use crate::tres::Tres;

/// Usage as of a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// The moment.
    pub at: Timestamp,
    /// Seconds of each resource.
    pub seconds: BTreeMap<Tres, f64>,
    /// Seconds of running.
    pub wall: f64,
}

/// How fast usage fades.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Seconds after which half of it counts; 0 keeps everything.
    pub half_life: f64,
    /// What was used before this moment is forgotten.
    pub reset: Option<Timestamp>,
}

/// The last moment at which usage was forgotten all at once. All controllers have the same calendar: UTC.
pub fn last_reset(period: UsageReset, now: Timestamp) -> Option<Timestamp> {
    let today = FixedOffset::UTC.civil(now);
    let midnight = Civil { hour: 0, minute: 0, second: 0, ..today };
    let first = Civil { day: 1, ..midnight };
    let begins = match period {
        UsageReset::None | UsageReset::Now => return None,
        UsageReset::Daily => midnight,
        UsageReset::Weekly => {
            // The first day of the epoch was a Thursday; weeks begin on Sundays.
            let days = (now.0.div_euclid(86_400) + 4).rem_euclid(7);
            return Some(FixedOffset::UTC.moment(midnight).plus_secs(-days * 86_400));
        }
        UsageReset::Monthly => first,
        UsageReset::Quarterly => Civil { month: (first.month - 1) / 3 * 3 + 1, ..first },
        UsageReset::Yearly => Civil { month: 1, ..first },
    };
    Some(FixedOffset::UTC.moment(begins))
}

impl Fading {
    /// By the days of the configuration.
    pub fn of_days(days: f64) -> Fading {
        Fading { half_life: (days * 86_400.0).max(0.0), reset: None }
    }

    /// How much of the last seconds before a moment counts.
    pub fn counted(self, secs: i64, now: Timestamp) -> i64 {
        self.reset.map_or(secs, |reset| secs.min(now.0 - reset.0).max(0))
    }

    /// What is left of one after a time.
    pub fn left(self, secs: i64) -> f64 {
        if self.half_life == 0.0 || secs <= 0 { 1.0 } else { half_to(secs as f64 / self.half_life) }
    }

    /// What a steady second-by-second use over a time comes to at its end.
    pub fn sum(self, secs: i64) -> f64 {
        let secs = secs.max(0);
        if self.half_life == 0.0 {
            return secs as f64;
        }
        let faded = (1.0 - self.left(secs)) * self.half_life / std::f64::consts::LN_2;
        // For short times the difference of two like numbers says little.
        if (secs as f64) < self.half_life / 1e6 { secs as f64 } else { faded }
    }
}

/// `2^-power`, by a series that every machine adds up alike.
fn half_to(power: f64) -> f64 {
    let whole = power.floor();
    if whole > 1000.0 {
        return 0.0;
    }
    let exponent = -(power - whole) * std::f64::consts::LN_2;
    let (mut sum, mut term) = (1.0, 1.0);
    for step in 1..24 {
        term *= exponent / f64::from(step);
        sum += term;
    }
    for _ in 0..whole as u32 {
        sum /= 2.0;
    }
    sum
}

impl Usage {
    /// The same as of a later moment.
    pub fn at(&self, now: Timestamp, fading: Fading) -> Usage {
        if fading.reset.is_some_and(|reset| self.at < reset) {
            return Usage { at: now.max(self.at), ..Usage::default() };
        }
        let left = fading.left(now.0 - self.at.0);
        Usage {
            at: now.max(self.at),
            seconds: self.seconds.iter().map(|(tres, used)| (tres.clone(), used * left)).collect(),
            wall: self.wall * left,
        }
    }

    /// Adds a run that had `held` for so long until now, charged by a factor.
    pub fn add(&mut self, held: &Needs, secs: i64, factor: f64, fading: Fading) {
        let weight = fading.sum(secs) * factor;
        for (tres, amount) in held {
            *self.seconds.entry(tres.clone()).or_insert(0.0) += *amount as f64 * weight;
        }
        self.wall += weight;
    }

    /// Adds another one of the same moment.
    pub fn join(&mut self, other: &Usage) {
        for (tres, used) in &other.seconds {
            *self.seconds.entry(tres.clone()).or_insert(0.0) += used;
        }
        self.wall += other.wall;
    }

    /// Seconds as they are billed.
    pub fn billed(&self) -> f64 {
        self.seconds.get(&Tres::Billing).copied().unwrap_or(0.0)
    }

    /// In minutes, for limits.
    pub fn spent(&self) -> Spent {
        let minutes = self.seconds.iter().map(|(tres, used)| (tres.clone(), (used / 60.0) as u64));
        Spent { minutes: minutes.collect(), wall_minutes: (self.wall / 60.0) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn half_is_left_after_a_half_life() {
        let fading = Fading::of_days(7.0);
        assert!(close(fading.left(7 * 86_400), 0.5));
        assert!(close(fading.left(21 * 86_400), 0.125));
        assert!(close(fading.left(86_400), 2f64.powf(-1.0 / 7.0)));
        assert_eq!(Fading::of_days(0.0).left(1 << 40), 1.0);
        assert_eq!(fading.left(1 << 50), 0.0);
    }

    #[test]
    fn usage_is_forgotten_when_a_period_begins() {
        // Wednesday, 18 November 2026, 12:00.
        let now = Timestamp(1_795_003_200);
        let days = |period| last_reset(period, now).map(|at| (now.0 - at.0) as f64 / 86_400.0);
        assert_eq!(days(UsageReset::Daily), Some(0.5));
        assert_eq!(days(UsageReset::Weekly), Some(3.5));
        assert_eq!(days(UsageReset::Monthly), Some(17.5));
        assert_eq!(days(UsageReset::Quarterly), Some(31.0 + 17.5));
        assert_eq!(days(UsageReset::Yearly), Some(304.0 + 17.5));
        assert_eq!(days(UsageReset::None), None);
        let fading = Fading { reset: last_reset(UsageReset::Daily, now), ..Fading::of_days(0.0) };
        let mut usage = Usage { at: now, ..Usage::default() };
        usage.add(&Needs::from([(Tres::Billing, 1)]), 60, 1.0, fading);
        assert_eq!(usage.at(now.plus_secs(60), fading).billed(), 60.0);
        let tomorrow = now.plus_secs(86_400);
        let fading = Fading { reset: last_reset(UsageReset::Daily, tomorrow), ..fading };
        assert_eq!(usage.at(tomorrow, fading).billed(), 0.0);
        assert_eq!(
            fading.counted(86_400, tomorrow),
            43_200,
            "what ran over midnight counts from there"
        );
    }

    #[test]
    fn a_long_run_counts_as_its_halves_do() {
        let fading = Fading::of_days(1.0);
        let held = Needs::from([(Tres::Billing, 4)]);
        let mut whole = Usage { at: Timestamp(7200), ..Usage::default() };
        whole.add(&held, 7200, 1.0, fading);
        let mut halves = Usage { at: Timestamp(3600), ..Usage::default() };
        halves.add(&held, 3600, 1.0, fading);
        let mut halves = halves.at(Timestamp(7200), fading);
        halves.add(&held, 3600, 1.0, fading);
        assert!(close(whole.billed(), halves.billed()), "{} {}", whole.billed(), halves.billed());
        assert!(whole.billed() < 4.0 * 7200.0);
    }
}
