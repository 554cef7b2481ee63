//! Which jobs run again, after what, how often and when. What is nobody's fault but the job's is counted apart
//! from nodes that were lost and from room that was made for others.

use std::sync::Arc;

use crate::config::sections::Jobs;
use crate::ids::NodeName;
use crate::job::setbacks::Setbacks;
use crate::job::{Back, Cause, ExitStatus, Granted, Hold, Job, Pause, Phase, Steps};
use crate::state::{State, crontabs, het};
use crate::time::Timestamp;

/// What becomes of a batch job that ended with this status; nothing if it is over.
pub(super) fn by_exit(rules: &Jobs, job: &Job, exit: ExitStatus) -> Option<Cause> {
    if job.is_allocation() {
        return None;
    }
    let back = |hold, why| Some(Cause::Requeued { hold, why });
    let failed = |hold| back(hold, Back::Failed);
    let failures = job.setbacks.as_ref().map_or(0, |it| it.failures);
    let code = u32::from(exit.code);
    if exit.signal == 0 && lists(&rules.requeue_exit_hold, code) {
        return back(true, Back::Exit);
    }
    if exit.signal == 0 && lists(&rules.requeue_exit, code) {
        // Who has come back too often waits for somebody to look at it.
        return failed(failures >= rules.max_batch_requeue);
    }
    let asked = job.spec.lifecycle();
    let most = asked.max_restarts?;
    // As shells tell it.
    let told = if exit.signal > 0 { 128 + u32::from(exit.signal) } else { code };
    let meant = asked.restart_on.is_empty() || lists(std::slice::from_ref(&asked.restart_on), told);
    (!exit.is_success() && meant && failures < most).then(|| failed(false)).flatten()
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

/// Whether a job runs again after something that was not its fault.
pub(super) fn may_requeue(state: &State, job: &Job) -> bool {
    let asks = job.spec.lifecycle().max_restarts.is_some();
    job.spec.requeue.unwrap_or(state.settings.config.jobs.requeue || asks)
}

/// Whether a job runs again once more after its node was lost.
fn outlives_a_loss(state: &State, job: &Job) -> bool {
    let leader = het::leader_of(state, job);
    let losses = job.setbacks.as_ref().map_or(0, |it| it.node_losses);
    let most = leader.spec.lifecycle().max_restarts;
    may_requeue(state, leader) && most.is_none_or(|most| losses < most)
}

/// A run that is over and whose job is to run again.
pub(super) fn back_to_the_queue(state: &State, job: &Job) -> Option<Job> {
    let Phase::Ended { cause, started: Some(_), .. } = &job.phase else { return None };
    let asks = het::leader_of(state, job).spec.lifecycle().max_restarts.is_some();
    let mut setbacks = job.setbacks.as_deref().cloned().unwrap_or_default();
    let mut begin = job.begin;
    let hold = match cause {
        Cause::Requeued { hold, why } => {
            match why {
                Back::Asked | Back::Special => begin = begin.max(after_a_while(state)),
                Back::Displaced => {
                    setbacks.preemptions += 1;
                    begin =
                        begin.max(after_a_while(state).or(Some(state.now.plus_secs(ROOM_SECS))));
                }
                Back::Failed | Back::Exit => {
                    setbacks.failures += 1;
                    if asks {
                        begin = begin.max(Some(backed_off(state, job, setbacks.failures)));
                    } else {
                        begin = begin.max(after_a_while(state));
                    }
                }
            }
            match (hold, why) {
                (true, Back::Asked) => Hold::Requeued,
                (true, Back::Special) => Hold::Special,
                (true, Back::Exit) => Hold::Exit,
                (true, _) => Hold::Admin,
                (false, _) => job.hold,
            }
        }
        // Somewhere else it may do, if it asked for that; else somebody must look at it first.
        Cause::PrologFailed if asks && outlives_a_loss(state, job) => {
            setbacks.node_losses += 1;
            job.hold
        }
        Cause::PrologFailed => {
            setbacks.node_losses += 1;
            begin = begin.max(after_a_while(state));
            Hold::Launch
        }
        Cause::NodeFailed if outlives_a_loss(state, job) => {
            setbacks.node_losses += 1;
            if !asks {
                begin = begin.max(after_a_while(state));
            }
            job.hold
        }
        Cause::NodeFault if may_requeue(state, het::leader_of(state, job)) => {
            setbacks.failed_launches += 1;
            let failed = setbacks.failed_launches;
            begin = begin.max(launched_again(state.now, failed));
            if failed >= MOST_LAUNCHES { Hold::Launch } else { job.hold }
        }
        Cause::Cancelled { .. } => return None,
        // The next run of a crontab's line is no repetition of this one.
        _ => {
            let next = crontabs::next_run(state, job)?;
            return Some(Job { restarts: 0, setbacks: None, ..anew(next) });
        }
    };
    let setbacks = (setbacks != Setbacks::default()).then(|| Arc::new(setbacks));
    Some(anew(Job { hold, begin, setbacks, ..job.clone() }))
}

/// Something went wrong with a job on a node. One that asks to run again does so elsewhere.
pub(super) fn shun(state: &State, job: &mut Job, node: &NodeName) {
    if het::leader_of(state, job).spec.lifecycle().max_restarts.is_some() {
        Arc::make_mut(job.setbacks.get_or_insert_default()).shun(node);
    }
}

/// A node could not start a job: the next run is elsewhere while there is an elsewhere.
pub(super) fn avoid(job: &mut Job, node: &NodeName) {
    Arc::make_mut(job.setbacks.get_or_insert_default()).shun(node);
}

/// A job that could not be started on so many occasions waits for somebody to look at it.
const MOST_LAUNCHES: u32 = 5;

/// Elsewhere at once; if that failed too, it may be the same place, and twice as long after each time.
fn launched_again(now: Timestamp, failed: u32) -> Option<Timestamp> {
    (failed > 1).then(|| now.plus_secs(10 << (failed - 2).min(5)))
}

/// A job as it waits for its next run.
pub(super) fn anew(job: Job) -> Job {
    Job {
        phase: Phase::Pending,
        restarts: job.restarts + 1,
        pause: Pause::default(),
        is_warned: false,
        granted: Granted::default(),
        displaced: None,
        asleep: false,
        accrues: None,
        parked: false,
        steps: Steps::default(),
        ..job
    }
}

/// For so long a displaced job at least leaves its place to whom it was displaced for, and is not back there first.
const ROOM_SECS: i64 = 2;

/// Slurm lets every job wait that goes back to the queue, and a second more than is configured.
fn after_a_while(state: &State) -> Option<Timestamp> {
    let secs = i64::try_from(state.settings.config.jobs.requeue_delay.0).unwrap_or(i64::MAX);
    (secs > 0).then(|| state.now.plus_secs(secs.saturating_add(1)))
}

/// Twice as long after each failure, up to the site's bound.
fn backed_off(state: &State, job: &Job, failures: u32) -> Timestamp {
    let rules = &state.settings.config.jobs;
    let first = job.spec.lifecycle().restart_delay_secs.map_or(rules.restart_delay.0, u64::from);
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(30));
    // Who asks for more than the bound gets it.
    let secs = doubled.min(rules.restart_delay_max.0.max(first));
    state.now.plus_secs(i64::try_from(secs).unwrap_or(i64::MAX))
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
