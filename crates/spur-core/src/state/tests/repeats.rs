//! A request asked again.

use super::*;
use crate::job::Hold;
use crate::trigger::{Subject, Trigger, bit};

fn administrator() -> Actor {
    Actor::user(Uid(0), Gid(0), Level::Administrator)
}

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

#[test]
fn the_first_answer_is_given_again_also_from_a_snapshot() {
    let mut cluster = cluster();
    let job = cluster.submit(1);
    let mut once = |command: Command, request| {
        let command = command.once(Some(Uid(0)), Some(RequestId(request)));
        let first = cluster.apply(command.clone()).reply;
        cluster.state = through_a_snapshot(&cluster.state);
        let second = cluster.apply(command);
        assert!(second.effects.is_empty() && second.records.is_empty());
        assert_eq!(first, second.reply);
        (first, cluster.state.triggers.len())
    };
    let trigger = || {
        Command::SetTrigger(Box::new(Trigger {
            id: 0,
            owner: submission(0).owner,
            about: Subject::Job(job),
            events: bit("fini").expect("there is one"),
            offset_secs: 0,
            program: "/bin/true".to_string(),
            permanent: false,
            since: Timestamp(0),
            seen: Vec::new(),
            happened: None,
        }))
    };
    assert_eq!(once(trigger(), 1), (Ok(Reply::Done), 1));
    let another = (Err(SlurmError::TriggerDup), 1);
    assert_eq!(once(trigger(), 2), another, "another request is another matter");
    let clear = ClearTriggers { by: administrator(), which: Which::default() };
    assert_eq!(once(Command::ClearTriggers(clear), 3), (Ok(Reply::Started(1)), 0));
    let reservation = Administer {
        noun: Noun::Reservation,
        verb: Verb::Create,
        name: String::new(),
        assignments: ["StartTime=5000", "Duration=60", "NodeCnt=1", "Users=root"]
            .map(|it| {
                let (key, value) = it.split_once('=').expect("has a value");
                Assignment { key: key.to_string(), value: value.to_string() }
            })
            .into(),
        by: administrator(),
        request: None,
    };
    let (reply, _) = once(Command::Administer(Box::new(reservation)), 4);
    assert!(matches!(&reply, Ok(Reply::Named(name)) if !name.is_empty()), "{reply:?}");
}
