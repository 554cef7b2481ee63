//! Waiting for a condition, never for a while.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Asks until the answer is `Some`; fails the test with `what` when it takes too long.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
