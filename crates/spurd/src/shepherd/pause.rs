//! A run that is suspended: as Slurm its processes hear `TSTP`, and two seconds later they are stopped.

use std::time::{Duration, Instant};

use super::watch::{Family, Insistence};
use crate::machine::pidfd::GENTLY;

/// How long they have to make themselves ready.
const NOTICE: Duration = Duration::from_secs(2);

/// Whether they are suspended.
#[derive(Default)]
pub(super) struct Pause {
    is_asked: bool,
    /// When to stop them, if that is to come.
    due: Option<Instant>,
}

impl Pause {
    /// The signal that a message means. Whoever is to go on in the meantime is not stopped.
    pub(super) fn meant_by(&mut self, message: i32) -> i32 {
        match message {
            GENTLY => {
                *self = Pause { is_asked: true, due: Some(Instant::now() + NOTICE) };
                libc::SIGTSTP
            }
            libc::SIGCONT => {
                *self = Pause::default();
                libc::SIGCONT
            }
            signal => signal,
        }
    }

    /// They are to end. As in Slurm, who is suspended is told nothing, and does not go on before it is killed.
    pub(super) fn end(&mut self, run: &Family, kill_wait: Duration) -> Insistence {
        self.due = None;
        if self.is_asked {
            return Insistence::after(Duration::ZERO);
        }
        run.ask_to_end();
        Insistence::after(kill_wait)
    }

    /// Stops them once it is time to; returns how long to wait for that.
    pub(super) fn stop_when_due(&mut self, stop: impl FnOnce()) -> Option<Duration> {
        let left = self.due?.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Some(left);
        }
        self.due = None;
        stop();
        None
    }
}
