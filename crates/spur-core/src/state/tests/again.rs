//! Jobs that run again: after what, how often, when and where.

use super::*;
use crate::config::Seconds;
use crate::ids::NodeName;
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
fn a_node_is_not_left_for_what_was_taken_back_before_it_began() {
    let mut cluster = cluster();
    let job = cluster.submit_spec(1, restartable(1));
    cluster.start(job, 1, "n1", 1);
    let displace = Displace { job, epoch: Epoch(1), how: crate::job::Removal::Requeue };
    cluster.done(Command::Preempt(vec![displace]));
    cluster.finish(job, 1, "n1", Outcome::Lost);
    let setbacks = cluster.state.jobs[&job].setbacks.clone().expect("it was displaced");
    assert_eq!((setbacks.preemptions, setbacks.node_losses, setbacks.avoid.len()), (1, 0, 0));
}

#[test]
fn a_job_that_goes_back_to_the_queue_waits_as_long_as_slurm_lets_it() {
    for delay in [120, 0] {
        let mut cluster = cluster();
        let settings = Arc::make_mut(&mut cluster.state.settings);
        Arc::make_mut(&mut settings.config).jobs.requeue_delay = Seconds(delay);
        let [asked, displaced, lost] = [1, 2, 3].map(|user| cluster.submit(user));
        for job in [asked, displaced, lost] {
            cluster.start(job, 1, "n1", 1);
        }
        assert_eq!(cluster.control(asked, "", JobAction::Requeue { hold: false }), Ok(Reply::Done));
        let how = crate::job::Removal::Requeue;
        cluster.done(Command::Preempt(vec![Displace { job: displaced, epoch: Epoch(1), how }]));
        for (job, outcome) in [(asked, failed(1)), (displaced, failed(1)), (lost, Outcome::Lost)] {
            cluster.finish(job, 1, "n1", outcome);
            let known = &cluster.state.jobs[&job];
            let waits = match delay {
                // Whom a job made room for is to be there first.
                0 if job == displaced => Some(2),
                0 => None,
                // A second more than is said, as Slurm has it.
                _ => Some(121),
            };
            assert_eq!(known.begin, waits.map(|secs| Timestamp(cluster.at + secs)));
            let why = waits.map(|_| Reason::BeginTime);
            assert_eq!(known.obstacle(cluster.state.now), why);
        }
    }
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

/// Somebody says that nodes are down.
fn take_down(cluster: &mut Cluster, nodes: &str) -> Vec<Effect> {
    let say = |key: &str, value: &str| Assignment { key: key.into(), value: value.into() };
    cluster.done(Command::Administer(Box::new(Administer {
        noun: Noun::Node,
        verb: Verb::Update,
        name: nodes.to_string(),
        assignments: vec![say("State", "DOWN"), say("Reason", "burnt")],
        by: Actor::Controller,
        request: None,
    })))
}

#[test]
fn a_job_that_can_do_without_goes_on_without_the_node_that_is_taken_down() {
    for (goes, is_heard) in [("n2", true), ("n2", false), ("n1", true)] {
        let mut cluster = cluster();
        let mut spec = restartable(1);
        spec.lifecycle_mut().no_kill = true;
        let job = cluster.submit_spec(1, spec);
        let shares = ["n1", "n2"].map(|node| Share::of_cpus(node.into(), 1)).to_vec();
        cluster.start_with(job, 1, shares);
        if !is_heard {
            cluster.done(Command::NodeLost { node: goes.into() });
        }
        take_down(&mut cluster, goes);
        let nodes = |cluster: &Cluster| -> Vec<String> {
            let held = cluster.phase(job).holds().expect("it runs");
            held.shares.iter().map(|share| share.node.to_string()).collect()
        };
        if goes == "n2" {
            assert!(matches!(cluster.phase(job), Phase::Running { .. }));
            assert_eq!(nodes(&cluster), ["n1"]);
            // It cannot do without the last one.
            take_down(&mut cluster, "n1");
        }
        assert!(matches!(cluster.phase(job), Phase::Completing { .. }), "its script was on {goes}");
    }
}

#[test]
fn jobs_end_with_a_node_that_somebody_takes_down() {
    let mut cluster = cluster();
    let (ends, gone) = (cluster.submit(1), cluster.submit(2));
    cluster.start(ends, 1, "n1", 1);
    cluster.start(gone, 1, "n2", 1);
    cluster.done(Command::NodeLost { node: "n2".into() });
    let effects = take_down(&mut cluster, "n[1-2]");
    assert!(matches!(effects[..], [Effect::Kill { .. }]), "{effects:?}");
    // The one is waited for, of the other nothing is left by the operator's word.
    assert!(matches!(cluster.phase(ends), Phase::Completing { .. }));
    assert_eq!(cluster.phase(gone), &Phase::Pending);
    cluster.finish(ends, 1, "n1", Outcome::Exited(ExitStatus { code: 0, signal: 15 }));
    assert_eq!(cluster.phase(ends), &Phase::Pending);
}

/// Starts a new job on a node, which cannot.
fn fail_to_launch(cluster: &mut Cluster, request: u128, node: &str) -> JobId {
    let job = cluster.submit(request);
    assert_eq!(cluster.start(job, 1, node, 1), 1);
    let finish = Finish {
        outcome: Outcome::NodeFault,
        said: "no room in the spool".to_string(),
        ..Finish::lost(job, Epoch(1), StepId::BATCH)
    };
    cluster.done(Command::Finished { node: node.into(), finishes: vec![finish] });
    job
}

#[test]
fn a_node_that_cannot_start_scripts_is_taken_out_of_service() {
    let mut cluster = cluster();
    fail_to_launch(&mut cluster, 1, "n1");
    fail_to_launch(&mut cluster, 2, "n1");
    // One that starts proves that the node can.
    let works = cluster.submit(3);
    cluster.start(works, 1, "n1", 1);
    cluster.finish(works, 1, "n1", OK);
    fail_to_launch(&mut cluster, 4, "n1");
    // A fault of the request proves nothing about the node, either way.
    let user = cluster.submit(5);
    cluster.start(user, 1, "n1", 1);
    cluster.finish(user, 1, "n1", Outcome::CouldNotStart);
    fail_to_launch(&mut cluster, 6, "n1");
    assert!(cluster.state.nodes[&NodeName::from("n1")].service.is_open());
    fail_to_launch(&mut cluster, 7, "n1");
    let service = &cluster.state.nodes[&NodeName::from("n1")].service;
    let reason = service.reason.as_ref().map(|note| note.text.as_str());
    assert!(service.drain);
    assert_eq!(reason, Some("Launch failed 3 times in a row: no room in the spool"));
    // Where most of the nodes fail, it is nothing of theirs.
    for request in 10..20 {
        fail_to_launch(&mut cluster, request, "n2");
    }
    assert!(cluster.state.nodes[&NodeName::from("n2")].service.is_open());
}

#[test]
fn faults_of_requests_never_take_a_node_out_of_service() {
    let mut cluster = cluster();
    for request in 0..20 {
        let job = cluster.submit(request);
        cluster.start(job, 1, "n1", 1);
        cluster.finish(job, 1, "n1", Outcome::CouldNotStart);
        assert!(cluster.phase(job).is_over());
    }
    assert!(cluster.state.nodes[&NodeName::from("n1")].service.is_open());
}

#[test]
fn a_job_that_no_node_can_start_comes_less_and_less_often_and_is_held_at_last() {
    let mut cluster = cluster();
    let job = fail_to_launch(&mut cluster, 1, "n1");
    let waits = |cluster: &Cluster| {
        let known = &cluster.state.jobs[&job];
        known.begin.map_or(0, |begin| begin.0 - cluster.at)
    };
    let known = &cluster.state.jobs[&job];
    assert_eq!(known.setbacks.as_ref().expect("one").avoid, ["n1".into()], "elsewhere");
    assert_eq!(waits(&cluster), 0, "at once");
    for (epoch, node, secs) in [(2, "n2", 10), (3, "n1", 20), (4, "n2", 40)] {
        cluster.start(job, epoch, node, 1);
        cluster.finish(job, epoch, node, Outcome::NodeFault);
        assert_eq!(waits(&cluster), secs);
        assert_eq!(cluster.state.jobs[&job].hold, Hold::None);
    }
    cluster.start(job, 5, "n1", 1);
    cluster.finish(job, 5, "n1", Outcome::NodeFault);
    assert_eq!(cluster.state.jobs[&job].hold, Hold::Launch);
    let setbacks = cluster.state.jobs[&job].setbacks.clone().expect("it had some");
    assert_eq!((setbacks.failures, setbacks.node_losses, setbacks.failed_launches), (0, 0, 5));
}

#[test]
fn a_job_whose_shepherd_was_killed_has_failed() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    cluster.finish(job, 1, "n1", Outcome::ShepherdLost);
    let Phase::Ended { cause, exit, .. } = cluster.phase(job) else { panic!("it is over") };
    assert_eq!((*cause, *exit), (Cause::ShepherdLost, ExitStatus::KILLED));
    let shown = crate::accounts::record::ending(*cause, *exit);
    assert_eq!(shown, (crate::job::JobState::Failed, Reason::SystemFailure));
}
