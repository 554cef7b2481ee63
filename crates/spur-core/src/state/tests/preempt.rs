//! Jobs that make room for others.

use super::*;
use crate::job::Removal;

fn displace(job: JobId, how: Removal) -> Command {
    Command::Preempt(vec![Displace { job, epoch: Epoch(1), how }])
}

fn signals(effects: &[Effect]) -> Vec<u32> {
    let signal = |effect: &Effect| match effect {
        Effect::Signal { signal, .. } => Some(*signal),
        _ => None,
    };
    effects.iter().filter_map(signal).collect()
}

#[test]
fn a_displaced_job_runs_again_or_ends() {
    let mut cluster = cluster();
    let (again, ends) = (cluster.submit(1), cluster.submit(2));
    cluster.start(again, 1, "n1", 1);
    cluster.start(ends, 1, "n2", 1);
    for (job, how) in [(again, Removal::Requeue), (ends, Removal::Cancel)] {
        let effects = cluster.done(displace(job, how));
        assert!(matches!(effects[..], [Effect::Kill { .. }]), "{effects:?}");
        // A second plan of the same mind does no harm.
        assert_eq!(cluster.done(displace(job, how)), []);
    }
    let exit = Outcome::Exited(ExitStatus { code: 0, signal: 15 });
    cluster.finish(again, 1, "n1", exit);
    cluster.finish(ends, 1, "n2", exit);
    assert_eq!(cluster.phase(again), &Phase::Pending);
    assert_eq!(cluster.state.jobs[&again].restarts, 1);
    assert!(matches!(cluster.phase(ends), Phase::Ended { cause: Cause::Preempted, .. }));
}

#[test]
fn a_displaced_job_has_its_grace() {
    let mut cluster = cluster();
    let text = "[[partitions]]\nname = \"all\"\nnodes = \"ALL\"\ngrace_time = 60\n";
    let config = crate::config::read(text).expect("is in order");
    cluster.done(Command::Configure(Settings::of(&config)));
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    let effects = cluster.done(displace(job, Removal::Requeue));
    assert_eq!(signals(&effects), [18, 15]);
    let steps = |it: &&Effect| matches!(it, Effect::Signal { scope: SignalScope::Steps, .. });
    assert_eq!(effects.iter().filter(steps).count(), 2, "the script hears of it at the end");
    assert_eq!(cluster.done(displace(job, Removal::Requeue)), []);
    assert!(matches!(cluster.phase(job), Phase::Running { .. }));
    let until = cluster.state.jobs[&job].displaced.map(|displaced| displaced.until);
    assert_eq!(until, Some(Timestamp(cluster.at - 1 + 60)));
    cluster.done(Command::GraceOver { job, epoch: Epoch(1) });
    assert!(matches!(cluster.phase(job), Phase::Completing { .. }));
}

#[test]
fn a_job_that_sleeps_gives_its_processors_and_takes_them_back() {
    let mut cluster = cluster();
    let (low, high) = (cluster.submit(1), cluster.submit(2));
    cluster.start(low, 1, "n1", 4);
    assert_eq!(cluster.start(high, 1, "n1", 2), 0, "the node is full");
    let effects = cluster.done(displace(low, Removal::Suspend));
    assert_eq!(signals(&effects), [19]);
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 0);
    assert_eq!(cluster.start(high, 1, "n1", 2), 1);
    assert_eq!(cluster.done(displace(low, Removal::Resume)), [], "somebody is there");
    let resume = Control { action: JobAction::Resume, ..Control::cancel(low, Actor::Controller) };
    assert_eq!(cluster.done(Command::Control(Box::new(resume))), [], "it goes on later");
    cluster.finish(high, 1, "n1", OK);
    let effects = cluster.done(displace(low, Removal::Resume));
    assert_eq!(signals(&effects), [18]);
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 4);
    assert!(cluster.state.jobs[&low].pause.secs > 0, "the pause does not count");
}

#[test]
fn a_job_that_somebody_suspends_gives_its_processors_until_somebody_lets_it_go_on() {
    let mut cluster = cluster();
    let (first, second) = (cluster.submit(1), cluster.submit(2));
    let control = |action| {
        Command::Control(Box::new(Control { action, ..Control::cancel(first, Actor::Controller) }))
    };
    cluster.start(first, 1, "n1", 4);
    assert_eq!(signals(&cluster.done(control(JobAction::Suspend))), [19]);
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 0);
    assert_eq!(cluster.done(control(JobAction::Suspend)), [], "it stands still already");
    assert_eq!(cluster.done(displace(first, Removal::Resume)), [], "nobody said so");
    assert_eq!(cluster.start(second, 1, "n1", 2), 1);
    assert_eq!(cluster.done(control(JobAction::Resume)), [], "its processors are taken");
    cluster.finish(second, 1, "n1", OK);
    assert_eq!(signals(&cluster.done(displace(first, Removal::Resume))), [18]);
    assert_eq!(cluster.state.cpus_used(&"n1".into()), 4);
    assert!(!cluster.state.jobs[&first].asleep);
}

#[test]
fn whoever_goes_within_its_grace_was_displaced_too() {
    let text = "[[partitions]]\nname = \"all\"\nnodes = \"ALL\"\ngrace_time = 60\n";
    let killed = Outcome::Exited(ExitStatus { code: 0, signal: 15 });
    for (how, outcome, expected) in [
        (Removal::Requeue, killed, "waits"),
        (Removal::Cancel, killed, "preempted"),
        (Removal::Cancel, OK, "done"),
    ] {
        let mut cluster = cluster();
        let config = crate::config::read(text).expect("is in order");
        cluster.done(Command::Configure(Settings::of(&config)));
        let job = cluster.submit(1);
        cluster.start(job, 1, "n1", 1);
        cluster.done(displace(job, how));
        cluster.finish(job, 1, "n1", outcome);
        let became = match cluster.phase(job) {
            Phase::Pending => "waits",
            Phase::Ended { cause: Cause::Preempted, .. } => "preempted",
            Phase::Ended { cause: Cause::Exited, .. } => "done",
            other => panic!("{other:?}"),
        };
        assert_eq!(became, expected);
    }
}

#[test]
fn jobs_on_the_same_processors_take_turns() {
    let mut cluster = cluster();
    let text = "[preemption]\nmode = \"off,gang\"\n\
                [[partitions]]\nname = \"all\"\nnodes = \"ALL\"\nover_subscribe = \"force:3\"\n";
    let config = crate::config::read(text).expect("is in order");
    cluster.done(Command::Configure(Settings::of(&config)));
    let jobs: Vec<JobId> = (1..=3).map(|request| cluster.submit(request)).collect();
    for job in &jobs {
        let mut share = Share::of_cpus("n1".into(), 2);
        share.cpu_ids = [0, 1].into_iter().collect();
        assert_eq!(cluster.start_on(*job, 1, share), 1);
    }
    let runs = |cluster: &Cluster| -> Vec<bool> {
        jobs.iter().map(|job| cluster.state.jobs[job].pause.since.is_none()).collect()
    };
    let turn = |cluster: &mut Cluster, is_over: bool| {
        let changes = cluster.state.turns(is_over);
        signals(&cluster.done(Command::Preempt(changes)))
    };
    // Those that came later stop at once, and nothing changes before the slice is over.
    assert_eq!(turn(&mut cluster, false), [19, 19]);
    assert_eq!(cluster.state.turns(false), []);
    for expected in [[false, true, false], [false, false, true], [true, false, false]] {
        assert_eq!(turn(&mut cluster, true), [19, 18]);
        assert_eq!(runs(&cluster), expected);
    }
    // Nobody is in the way of one that is left alone.
    cluster.finish(jobs[0], 1, "n1", OK);
    assert_eq!(turn(&mut cluster, false), [18]);
    cluster.finish(jobs[1], 1, "n1", OK);
    assert_eq!(turn(&mut cluster, false), [18]);
    assert_eq!(cluster.state.turns(true), []);
}
