//! A request asked again.

use super::*;
use crate::job::Hold;

fn hold(job: JobId, request: u128) -> Command {
    let action = JobAction::Hold { as_user: true };
    let request = Some(RequestId(request));
    Command::Control(Box::new(Control { job, tasks: None, action, by: alice(), request }))
}

#[test]
fn what_was_done_is_not_done_again() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.done(hold(job, 7));
    assert_eq!(cluster.control(job, "", JobAction::Release), Ok(Reply::Done));
    cluster.done(hold(job, 7));
    assert!(cluster.state.jobs[&job].hold == Hold::None, "the first answer was given again");
    cluster.done(hold(job, 8));
    assert!(cluster.state.jobs[&job].hold == Hold::User, "another request is another matter");
}

#[test]
fn what_was_refused_is_looked_at_again() {
    let mut cluster = cluster();
    let job = JobId(1);
    assert_eq!(cluster.apply(hold(job, 7)).reply, Err(SlurmError::InvalidJobId));
    assert_eq!(cluster.submit(1), job);
    cluster.done(hold(job, 7));
    assert!(cluster.state.jobs[&job].hold == Hold::User);
}

#[test]
fn requests_are_forgotten_after_an_hour() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.done(hold(job, 7));
    cluster.at += 2 * 3600;
    cluster.done(hold(job, 8));
    assert_eq!(cluster.state.repeats.iter().count(), 1);
}
