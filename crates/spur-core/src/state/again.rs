//! Which batch jobs run again because of how they ended: by their exit code, as often as the site allows.

use crate::config::sections::Jobs;
use crate::job::{Cause, ExitStatus, Job};

/// What becomes of a batch job that ended with this status; nothing if it is over.
pub(super) fn by_exit(rules: &Jobs, job: &Job, exit: ExitStatus) -> Option<Cause> {
    let code = u32::from(exit.code);
    if job.is_allocation() || exit.signal != 0 {
        return None;
    }
    if lists(&rules.requeue_exit_hold, code) {
        return Some(Cause::Requeued { hold: true });
    }
    // Who has come back too often waits for somebody to look at it.
    lists(&rules.requeue_exit, code)
        .then_some(Cause::Requeued { hold: job.restarts >= rules.max_batch_requeue })
}

/// Whether one of `1`, `3-5` has the code.
fn lists(codes: &[String], code: u32) -> bool {
    codes.iter().flat_map(|codes| codes.split(',')).any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&code),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_single_or_from_one_to_another() {
        let codes = ["1".to_string(), "3-5,9".to_string()];
        let found: Vec<u32> = (0..12).filter(|code| lists(&codes, *code)).collect();
        assert_eq!(found, [1, 3, 4, 5, 9]);
        assert!(!lists(&["x-".to_string()], 0));
    }
}
