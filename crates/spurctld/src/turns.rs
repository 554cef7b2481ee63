//! Requests of one user are taken no faster than the site says: who asks too often waits, nobody else does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use spur_core::ids::Uid;

/// Users are forgotten that have asked for nothing lately, once there are so many.
const MANY: usize = 1024;

/// When each user's next request has its turn, at the latest.
#[derive(Debug, Default)]
pub struct Turns(BTreeMap<Uid, Instant>);

impl Turns {
    /// How long a request must wait, of a user who may make so many in a second, and as many at once.
    pub fn pause(&mut self, user: Uid, rate: u64, now: Instant) -> Duration {
        let second = Duration::from_secs(1);
        let each = second.div_f64(rate.max(1) as f64);
        if self.0.len() >= MANY {
            self.0.retain(|_, turn| *turn > now);
        }
        let turn = self.0.entry(user).or_insert(now);
        *turn = (*turn).max(now) + each;
        turn.saturating_duration_since(now + second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_s_worth_is_free_and_the_rest_comes_by_and_by() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let waits: Vec<u128> = (0..14).map(|_| turns.pause(Uid(1), 10, now).as_millis()).collect();
        assert_eq!(waits[..10], [0; 10]);
        assert_eq!(waits[10..], [100, 200, 300, 400]);
        assert_eq!(turns.pause(Uid(2), 10, now), Duration::ZERO, "nobody waits for another");
        let later = now + Duration::from_secs(2);
        assert_eq!(turns.pause(Uid(1), 10, later), Duration::ZERO);
    }
}
