//! Triggers: what has happened is told once.

use super::*;
use crate::trigger::{Notice, Subject, Trigger, bit};

fn trigger(event: &str, about: Subject) -> Trigger {
    Trigger {
        id: 0,
        owner: submission(0).owner,
        about,
        events: bit(event).expect("there is one"),
        offset_secs: 0,
        program: "/bin/true".to_string(),
        permanent: false,
        since: Timestamp(0),
        seen: Vec::new(),
        happened: None,
    }
}

fn any_node() -> Subject {
    Subject::Nodes(Vec::new())
}

/// Looks at all triggers as the leader does; what the programs are told.
fn look(cluster: &mut Cluster) -> Vec<String> {
    let limit = |job: &crate::job::Job| match job.phase {
        Phase::Running { since, .. } => Some(since.plus_secs(60)),
        _ => None,
    };
    let (state, now) = (&cluster.state, Timestamp(cluster.at));
    let notices: Vec<Notice> =
        state.triggers.values().filter_map(|it| state.look_at(it, now, &limit)).collect();
    let effects = cluster.done(Command::Noticed(notices));
    let told = |effect: Effect| match effect {
        Effect::RunProgram { argument, .. } => Some(argument),
        _ => None,
    };
    effects.into_iter().filter_map(told).collect()
}

fn set(cluster: &mut Cluster, trigger: Trigger) {
    cluster.done(Command::SetTrigger(Box::new(trigger)));
}

#[test]
fn a_node_that_goes_down_is_told_once() {
    let mut cluster = cluster();
    cluster.done(Command::NodeLost { node: "n1".into() });
    set(&mut cluster, trigger("down", any_node()));
    assert!(look(&mut cluster).is_empty(), "it was down before");
    cluster.done(Command::NodeLost { node: "n2".into() });
    assert_eq!(look(&mut cluster), ["n2"]);
    assert!(cluster.state.triggers.is_empty());
}

#[test]
fn a_permanent_trigger_tells_every_time() {
    let mut cluster = cluster();
    set(&mut cluster, Trigger { permanent: true, ..trigger("down", any_node()) });
    for _ in 0..2 {
        cluster.done(Command::NodeLost { node: "n1".into() });
        cluster.done(Command::NodeLost { node: "n2".into() });
        assert_eq!(look(&mut cluster), ["n[1-2]"]);
        assert!(look(&mut cluster).is_empty());
        for name in ["n1", "n2"] {
            cluster.done(Command::RegisterNode(RegisterNode {
                name: name.into(),
                inventory: Inventory::simple(4, 1000),
                boot_id: "boot".to_string(),
            }));
        }
        assert!(look(&mut cluster).is_empty());
    }
}

#[test]
fn a_node_idles_for_the_time_that_was_said() {
    let mut cluster = cluster();
    let offset_secs = 100;
    let nodes = Subject::Nodes(vec!["n1".to_string()]);
    set(&mut cluster, Trigger { offset_secs, ..trigger("idle", nodes) });
    assert!(look(&mut cluster).is_empty());
    let job = cluster.submit(1);
    cluster.start(job, 1, "n1", 1);
    cluster.at += 200;
    assert!(look(&mut cluster).is_empty(), "it has something to do");
    cluster.finish(job, 1, "n1", OK);
    assert!(look(&mut cluster).is_empty());
    cluster.at += 100;
    assert_eq!(look(&mut cluster), ["n1"]);
}

#[test]
fn the_end_of_a_job_and_its_limit_are_told_with_its_number() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    set(&mut cluster, trigger("fini", Subject::Job(job)));
    let offset_secs = -30;
    set(&mut cluster, Trigger { offset_secs, ..trigger("time", Subject::Job(job)) });
    cluster.start(job, 1, "n1", 1);
    assert!(look(&mut cluster).is_empty());
    cluster.at += 30;
    assert_eq!(look(&mut cluster), [job.to_string()], "30 seconds before its limit");
    cluster.finish(job, 1, "n1", OK);
    assert_eq!(look(&mut cluster), [job.to_string()]);
    assert!(cluster.state.triggers.is_empty());
}

#[test]
fn another_life_of_the_controller_is_told_and_the_same_one_is_not() {
    let mut cluster = cluster();
    set(&mut cluster, trigger("primary_slurmctld_failure", Subject::Controller));
    cluster.done(Command::Configure(Settings::default()));
    assert!(look(&mut cluster).is_empty());
    let origin = Origin { life: 8, number: 1 };
    let command = Command::Configure(Settings::default());
    apply(&mut cluster.state, &Entry { at: Timestamp(cluster.at), origin, command });
    assert_eq!(look(&mut cluster), [""]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut cluster = cluster();
    let mut refused = |trigger: Trigger| {
        cluster.apply(Command::SetTrigger(Box::new(trigger))).reply.expect_err("is refused")
    };
    let nowhere = Subject::Nodes(vec!["n9".to_string()]);
    assert_eq!(refused(trigger("down", nowhere)), SlurmError::InvalidNodeName);
    let nobody = Subject::Job(JobId(99));
    assert_eq!(refused(trigger("fini", nobody)), SlurmError::InvalidJobId);
    let burst = trigger("burst_buffer", Subject::Controller);
    assert_eq!(refused(burst), SlurmError::NotSupported);
    set(&mut cluster, trigger("down", any_node()));
    let again = cluster.apply(Command::SetTrigger(Box::new(trigger("down", any_node()))));
    assert_eq!(again.reply, Err(SlurmError::TriggerDup));
    let by = Actor::user(Uid(7), Gid(7), Level::None);
    let clear = |by| Command::ClearTriggers(ClearTriggers { by, which: Which::default() });
    assert_eq!(cluster.apply(clear(by)).reply, Err(SlurmError::AccessDenied));
    assert_eq!(cluster.apply(clear(alice())).reply, Ok(Reply::Started(1)));
}
