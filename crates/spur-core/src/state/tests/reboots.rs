//! Nodes that restart.

use super::*;

fn shown(cluster: &Cluster, name: &str) -> (bool, bool, bool, String) {
    let node = &cluster.state.nodes[&NodeName::from(name)];
    let reason = node.service.reason.as_ref().map(|note| note.text.clone()).unwrap_or_default();
    (node.takes_jobs(), node.service.drain, node.service.down, reason)
}

fn update(name: &str, words: &str) -> Command {
    let say = |word: &str| {
        let (key, value) = word.split_once('=').expect("a pair");
        Assignment { key: key.to_string(), value: value.to_string() }
    };
    Command::Administer(Box::new(Administer {
        noun: Noun::Node,
        verb: Verb::Update,
        name: name.to_string(),
        assignments: words.split(' ').map(say).collect(),
        by: Actor::Controller,
        request: None,
    }))
}

fn register(cluster: &mut Cluster, name: &str, boot_id: &str) {
    cluster.done(Command::RegisterNode(RegisterNode {
        name: name.into(),
        inventory: Inventory::simple(4, 1000),
        boot_id: boot_id.to_string(),
    }));
}

/// Where nodes can restart, and have 20 seconds to do so.
fn site() -> Cluster {
    let mut cluster = cluster();
    let text = "[agent]\nreboot_program = \"/sbin/reboot\"\n[power]\nresume_timeout = 20\n";
    let config = crate::config::read(text).expect("is in order");
    cluster.done(Command::Configure(Settings::of(&config)));
    cluster
}

#[test]
fn nodes_restart_once_they_are_idle_and_become_what_was_said() {
    // What is asked for, and then: takes jobs, is drained, is down, why.
    let issued = "reboot requested : reboot issued";
    let table = [
        ("State=REBOOT", issued, (true, false, false, "")),
        (
            "State=REBOOT_ASAP NextState=RESUME Reason=new",
            "new : reboot issued",
            (true, false, false, ""),
        ),
        ("State=REBOOT_ASAP", "Reboot ASAP : reboot issued", (true, false, false, "")),
        (
            "State=REBOOT NextState=DOWN",
            issued,
            (false, false, true, "reboot requested : reboot issued : reboot complete"),
        ),
    ];
    for (words, issued, (takes, drain, down, reason)) in table {
        let mut cluster = site();
        let job = cluster.submit(1);
        cluster.start(job, 1, "n1", 1);
        cluster.done(update("n1", words));
        assert!(!cluster.state.reboot_is_due(Timestamp(cluster.at)), "{words}: it is busy");
        let asap = words.contains("ASAP");
        assert_eq!((shown(&cluster, "n1").0, shown(&cluster, "n1").1), (!asap, asap), "{words}");
        cluster.finish(job, 1, "n1", OK);
        assert!(cluster.state.reboot_is_due(Timestamp(cluster.at)));
        cluster.done(Command::RebootsDue);
        assert_eq!((shown(&cluster, "n1").0, shown(&cluster, "n1").3.as_str()), (false, issued));
        let next = cluster.submit(2);
        assert_eq!(cluster.start(next, 1, "n1", 1), 0, "it restarts");
        // An agent that merely began anew proves nothing.
        register(&mut cluster, "n1", "boot");
        assert!(!shown(&cluster, "n1").0, "{words}");
        register(&mut cluster, "n1", "another boot");
        assert_eq!(shown(&cluster, "n1"), (takes, drain, down, reason.to_string()), "{words}");
        assert_eq!(cluster.state.nodes[&NodeName::from("n1")].reboot, None);
    }
}

#[test]
fn who_does_not_come_back_in_time_is_down_until_resumed() {
    let mut cluster = site();
    cluster.done(update("n1", "State=REBOOT Reason=fans"));
    cluster.done(Command::RebootsDue);
    assert!(!cluster.state.reboot_is_due(Timestamp(cluster.at + 20)));
    cluster.at += 21;
    assert!(cluster.state.reboot_is_due(Timestamp(cluster.at)));
    cluster.done(Command::RebootsDue);
    let why = "fans : reboot issued : reboot timed out".to_string();
    assert_eq!(shown(&cluster, "n1"), (false, false, true, why));
    cluster.done(update("n1", "State=RESUME"));
    assert_eq!(shown(&cluster, "n1"), (true, false, false, String::new()));
}

#[test]
fn a_restart_can_be_called_off_until_it_has_begun() {
    let mut cluster = site();
    let cancel = || update("n1", "State=CANCEL_REBOOT");
    assert_eq!(cluster.apply(cancel()).reply, Err(SlurmError::InvalidNodeState));
    cluster.done(update("n1", "State=REBOOT_ASAP"));
    cluster.done(cancel());
    assert_eq!(shown(&cluster, "n1"), (true, false, false, String::new()));
    // What others have said stays.
    cluster.done(update("n1", "State=DRAIN Reason=mine"));
    cluster.done(update("n1", "State=REBOOT_ASAP"));
    cluster.done(cancel());
    assert_eq!(shown(&cluster, "n1"), (false, true, false, "mine".to_string()));
    cluster.done(update("n1", "State=REBOOT"));
    cluster.done(Command::RebootsDue);
    assert_eq!(cluster.apply(cancel()).reply, Err(SlurmError::InvalidNodeState));
    register(&mut cluster, "n1", "another boot");
    assert_eq!(shown(&cluster, "n1"), (false, true, false, "mine : reboot issued".to_string()));
}

#[test]
fn without_a_program_nothing_restarts() {
    let mut cluster = cluster();
    let reply = cluster.apply(update("n1", "State=REBOOT")).reply;
    assert_eq!(reply, Err(SlurmError::NotSupported));
}
