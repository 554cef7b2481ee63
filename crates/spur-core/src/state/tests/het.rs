//! Heterogeneous jobs: started together, ended with the first.

use super::*;

/// A job of two components.
fn two(cluster: &mut Cluster) -> (JobId, JobId) {
    let second = JobSpec { name: "b".to_string(), ..JobSpec::default() };
    let submit = Submit { others: vec![second], ..submission(1) };
    let leader = match cluster.apply(Command::Submit(Box::new(submit))).reply {
        Ok(Reply::Job(id)) => id,
        other => panic!("not accepted: {other:?}"),
    };
    (leader, JobId(leader.0 + 1))
}

fn start_of(job: JobId, epoch: u32, node: &str, cpus: u32) -> JobStart {
    let allocation = Allocation { shares: vec![Share::of_cpus(node.into(), cpus)] };
    let (epoch, partition) = (Epoch(epoch), String::new());
    let (task, minutes, priority, reason) = (None, None, None, None);
    JobStart { job, epoch, task, allocation, partition, minutes, priority, reason }
}

fn started(cluster: &mut Cluster, starts: Vec<JobStart>) -> usize {
    match cluster.apply(Command::Start(starts)).reply {
        Ok(Reply::Started(count)) => count,
        other => panic!("not accepted: {other:?}"),
    }
}

#[test]
fn components_have_numbers_one_after_the_other() {
    let mut cluster = cluster();
    let (leader, second) = two(&mut cluster);
    assert_eq!(two(&mut cluster), (leader, second), "the same request is the same job");
    assert_eq!(cluster.submit(2), JobId(second.0 + 1));
    let component = cluster.state.jobs[&second].component.expect("is one");
    assert_eq!((component.leader, component.offset, component.size), (leader, 1, 2));
    assert_eq!(component.id_set(), "1-2");
}

#[test]
fn all_start_or_none() {
    let mut cluster = cluster();
    let (a, b) = two(&mut cluster);
    assert_eq!(started(&mut cluster, vec![start_of(a, 1, "n1", 1)]), 0, "one is missing");
    let together = vec![start_of(a, 1, "n1", 3), start_of(b, 1, "n1", 2)];
    assert_eq!(started(&mut cluster, together), 0, "together they do not fit");
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 0);
    let together = vec![start_of(b, 1, "n1", 2), start_of(a, 1, "n1", 2)];
    assert_eq!(started(&mut cluster, together), 2);
    let runs = |job: JobId| cluster.state.jobs[&job].steps.live.len();
    assert_eq!((runs(a), runs(b)), (1, 0), "the script runs once, in the first");
}

#[test]
fn all_end_with_the_first() {
    let mut cluster = cluster();
    let (a, b) = two(&mut cluster);
    started(&mut cluster, vec![start_of(a, 1, "n1", 1), start_of(b, 1, "n2", 4)]);
    cluster.finish(a, 1, "n1", Outcome::Exited(ExitStatus { code: 3, signal: 0 }));
    for job in [a, b] {
        assert!(matches!(
            cluster.phase(job),
            Phase::Ended { exit: ExitStatus { code: 3, .. }, .. }
        ));
    }
    assert_eq!(cluster.state.cpus_used(&"n2".into()), 0);
}

#[test]
fn one_is_cancelled_alone_only_while_it_runs() {
    let mut cluster = cluster();
    let (a, b) = two(&mut cluster);
    let refused = cluster.apply(cancel(b, alice())).reply;
    assert_eq!(refused, Err(SlurmError::NotWholeHetJob));
    started(&mut cluster, vec![start_of(a, 1, "n1", 1), start_of(b, 1, "n2", 1)]);
    cluster.done(cancel(b, alice()));
    assert!(cluster.phase(b).is_over());
    assert!(matches!(cluster.phase(a), Phase::Running { .. }));
    cluster.done(cancel(a, alice()));
    cluster.finish(a, 1, "n1", OK);
    assert!(cluster.phase(a).is_over());
}

#[test]
fn cancelling_the_first_of_those_that_wait_cancels_all() {
    let mut cluster = cluster();
    let (a, b) = two(&mut cluster);
    cluster.done(cancel(a, alice()));
    assert!(cluster.phase(a).is_over() && cluster.phase(b).is_over());
}

#[test]
fn what_runs_again_does_so_as_a_whole() {
    let mut cluster = cluster();
    let (a, b) = two(&mut cluster);
    started(&mut cluster, vec![start_of(a, 1, "n1", 1), start_of(b, 1, "n2", 1)]);
    cluster.finish(a, 1, "n1", Outcome::Lost);
    assert_eq!((cluster.phase(a), cluster.phase(b)), (&Phase::Pending, &Phase::Pending));
    let again = vec![start_of(a, 2, "n1", 1), start_of(b, 2, "n2", 1)];
    assert_eq!(started(&mut cluster, again), 2);
}

#[test]
fn one_that_is_over_does_not_keep_the_others_from_running_again() {
    let mut cluster = cluster();
    let (a, b) = two(&mut cluster);
    started(&mut cluster, vec![start_of(a, 1, "n1", 1), start_of(b, 1, "n2", 1)]);
    cluster.done(cancel(b, alice()));
    cluster.finish(a, 1, "n1", Outcome::Lost);
    assert_eq!(cluster.phase(a), &Phase::Pending);
    assert_eq!(started(&mut cluster, vec![start_of(a, 2, "n1", 1)]), 1);
    assert!(cluster.phase(b).is_over());
}
