//! Jobs that run again: after what, how often, when and where.

use super::*;
use crate::job::{Hold, Reason};

fn restartable(max: u32) -> JobSpec {
    let mut spec = JobSpec::default();
    spec.lifecycle_mut().max_restarts = Some(max);
    spec
}

fn failed(code: u8) -> Outcome {
    Outcome::Exited(ExitStatus { code, signal: 0 })
}

#[test]
fn a_failed_job_runs_again_later_and_elsewhere_until_it_may_not() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, restartable(2));
    for (epoch, waits, node) in [(1, 10, "n1"), (2, 20, "n2")] {
        cluster.start(job, epoch, node, 1);
        cluster.finish(job, epoch, node, failed(3));
        let known = &cluster.state.jobs[&job];
        assert_eq!(known.begin, Some(Timestamp(cluster.at + waits)));
        assert_eq!(known.obstacle(cluster.state.now), Some(Reason::BeginTime));
    }
    let setbacks = cluster.state.jobs[&job].setbacks.clone().expect("it failed twice");
    assert_eq!((setbacks.failures, setbacks.preemptions, setbacks.node_losses), (2, 0, 0));
    assert_eq!(setbacks.avoid, ["n1".into(), "n2".into()]);
    cluster.start(job, 3, "n1", 1);
    cluster.finish(job, 3, "n1", failed(3));
    assert!(matches!(cluster.phase(job), Phase::Ended { cause: Cause::Exited, .. }));
}

#[test]
fn only_the_codes_that_were_named_count() {
    let mut cluster = cluster();
    let mut spec = restartable(9);
    spec.lifecycle_mut().restart_on = "75,137".to_string();
    spec.lifecycle_mut().restart_delay_secs = Some(0);
    let job = cluster.submit_spec(1, spec);
    let killed = Outcome::Exited(ExitStatus { code: 0, signal: 9 });
    for (epoch, outcome) in [(1, failed(75)), (2, killed)] {
        cluster.start(job, epoch, "n1", 1);
        cluster.finish(job, epoch, "n1", outcome);
        assert_eq!(cluster.phase(job), &Phase::Pending);
        assert_eq!(cluster.state.jobs[&job].obstacle(cluster.state.now), None);
    }
    cluster.start(job, 3, "n1", 1);
    cluster.finish(job, 3, "n1", failed(1));
    assert!(cluster.phase(job).is_over());
}

#[test]
fn causes_are_counted_apart() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, restartable(1));
    cluster.start(job, 1, "n1", 1);
    let displace = Displace { job, epoch: Epoch(1), how: crate::job::Removal::Requeue };
    cluster.done(Command::Preempt(vec![displace]));
    cluster.finish(job, 1, "n1", failed(1));
    cluster.start(job, 2, "n1", 1);
    cluster.finish(job, 2, "n1", Outcome::Lost);
    let setbacks = cluster.state.jobs[&job].setbacks.clone().expect("it had some");
    assert_eq!((setbacks.failures, setbacks.preemptions, setbacks.node_losses), (0, 1, 1));
    cluster.start(job, 3, "n2", 1);
    cluster.finish(job, 3, "n2", failed(1));
    assert_eq!(cluster.phase(job), &Phase::Pending, "its one failure is still free");
    assert_eq!(cluster.state.jobs[&job].restarts, 3);
    cluster.start(job, 4, "n2", 1);
    cluster.finish(job, 4, "n2", Outcome::Lost);
    assert!(matches!(cluster.phase(job), Phase::Ended { cause: Cause::NodeFailed, .. }));
}

#[test]
fn a_node_that_cannot_be_made_ready_is_left_by_those_who_may_run_elsewhere() {
    let mut cluster = cluster();
    let (held, goes) = (cluster.submit(1), cluster.submit_spec(2, restartable(1)));
    for job in [held, goes] {
        cluster.start(job, 1, "n1", 1);
    }
    for job in [held, goes] {
        cluster.finish(job, 1, "n1", Outcome::PrologFailed);
    }
    assert_eq!(cluster.state.jobs[&held].hold, Hold::Launch);
    assert_eq!(cluster.state.jobs[&goes].hold, Hold::None);
}

#[test]
fn a_run_on_a_silent_node_is_given_up_only_where_the_node_ends_it_too() {
    let mut cluster = cluster();
    let (waits, goes) = (cluster.submit(1), cluster.submit_spec(2, restartable(1)));
    for job in [waits, goes] {
        cluster.start(job, 1, "n1", 1);
    }
    assert_eq!(cluster.state.jobs[&goes].granted.fence_secs, Some(30));
    let runs = vec![(waits, Epoch(1)), (goes, Epoch(1))];
    cluster.done(Command::NodeLost { node: "n1".into() });
    cluster.done(Command::GiveUp { node: "n1".into(), runs: runs.clone() });
    assert!(matches!(cluster.phase(waits), Phase::Running { .. }));
    assert_eq!(cluster.phase(goes), &Phase::Pending);
    cluster.start(goes, 2, "n2", 1);
    // What was meant for the run before, or said twice, changes nothing.
    cluster.done(Command::GiveUp { node: "n1".into(), runs });
    assert!(matches!(cluster.phase(goes), Phase::Running { .. }));
}

#[test]
fn a_job_gets_another_port_while_nobody_knows_the_first() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 2);
    let taken = cluster.state.jobs[&job].granted.port.expect("it may have two tasks");
    let effects = cluster.done(Command::AnotherPort { job, epoch: Epoch(1), taken });
    assert!(matches!(effects[..], [Effect::Launch { .. }]), "{effects:?}");
    let port = cluster.state.jobs[&job].granted.port.expect("there are many");
    assert_ne!(port, taken);
    let again = cluster.apply(Command::AnotherPort { job, epoch: Epoch(1), taken });
    assert!(again.reply.is_err(), "said twice");
}

#[test]
fn jobs_end_with_a_node_that_somebody_takes_down() {
    let mut cluster = cluster();
    let (ends, gone) = (cluster.submit(1), cluster.submit(2));
    cluster.start(ends, 1, "n1", 1);
    cluster.start(gone, 1, "n2", 1);
    cluster.done(Command::NodeLost { node: "n2".into() });
    let say = |key: &str, value: &str| Assignment { key: key.into(), value: value.into() };
    let effects = cluster.done(Command::Administer(Box::new(Administer {
        noun: Noun::Node,
        verb: Verb::Update,
        name: "n[1-2]".to_string(),
        assignments: vec![say("State", "DOWN"), say("Reason", "burnt")],
        by: Actor::Controller,
        request: None,
    })));
    assert!(matches!(effects[..], [Effect::Kill { .. }]), "{effects:?}");
    // The one is waited for, of the other nothing is left by the operator's word.
    assert!(matches!(cluster.phase(ends), Phase::Completing { .. }));
    assert_eq!(cluster.phase(gone), &Phase::Pending);
    cluster.finish(ends, 1, "n1", Outcome::Exited(ExitStatus { code: 0, signal: 15 }));
    assert_eq!(cluster.phase(ends), &Phase::Pending);
}
