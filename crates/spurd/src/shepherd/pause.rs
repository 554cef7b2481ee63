//! A run that is suspended: as Slurm its processes hear `TSTP`, and two seconds later they are stopped.

use std::time::{Duration, Instant};

use crate::machine::pidfd::GENTLY;

/// How long they have to make themselves ready.
const NOTICE: Duration = Duration::from_secs(2);

/// When to stop them, if that is to come.
#[derive(Default)]
pub(super) struct Pause(Option<Instant>);

impl Pause {
    /// The signal that a message means. Whoever is to go on in the meantime is not stopped.
    pub(super) fn meant_by(&mut self, message: i32) -> i32 {
        match message {
            GENTLY => {
                self.0 = Some(Instant::now() + NOTICE);
                libc::SIGTSTP
            }
            libc::SIGCONT => {
                self.0 = None;
                libc::SIGCONT
            }
            signal => signal,
        }
    }

    /// They are to end, and must be able to.
    pub(super) fn give_up(&mut self) {
        self.0 = None;
    }

    /// Stops them once it is time to; returns how long to wait for that.
    pub(super) fn stop_when_due(&mut self, stop: impl FnOnce()) -> Option<Duration> {
        let left = self.0?.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Some(left);
        }
        self.0 = None;
        stop();
        None
    }
}
