//! Reservations and licences.

use super::*;
use crate::job::Hold;

fn say(verb: Verb, name: &str, line: &str) -> Command {
    let assignments = line.split(' ').filter_map(crate::update::split).collect();
    let by = Actor::Controller;
    let name = name.to_string();
    Command::Administer(Box::new(Administer {
        noun: Noun::Reservation,
        verb,
        name,
        assignments,
        by,
        request: None,
    }))
}

fn create(cluster: &mut Cluster, line: &str) -> Result<Reply, SlurmError> {
    cluster.apply(say(Verb::Create, "", line)).reply
}

fn named(name: &str) -> Result<Reply, SlurmError> {
    Ok(Reply::Named(name.to_string()))
}

fn ask(cluster: &mut Cluster, request: u128, reservation: &str) -> Result<Reply, SlurmError> {
    let mut submit = submission(request);
    submit.spec.placement_mut().reservation = reservation.to_string();
    cluster.apply(Command::Submit(Box::new(submit))).reply
}

#[test]
fn reservations_are_made_changed_and_deleted() {
    let mut cluster = cluster();
    let line = "StartTime=5000 Duration=60 Users=alice Nodes=n1";
    assert_eq!(create(&mut cluster, line), named("alice_1"));
    assert_eq!(create(&mut cluster, line), Err(SlurmError::ReservationOverlap));
    assert_eq!(create(&mut cluster, &format!("{line} Flags=overlap")), named("alice_2"));
    let twice = format!("ReservationName=alice_1 {line}");
    assert_eq!(create(&mut cluster, &twice), Err(SlurmError::ReservationNameDup));
    let unknown = "StartTime=5000 Duration=60 Users=alice Nodes=n9";
    assert_eq!(create(&mut cluster, unknown), Err(SlurmError::InvalidNodeName));
    let past = "StartTime=5 Duration=60 Users=alice Nodes=n2";
    assert_eq!(create(&mut cluster, past), Err(SlurmError::InvalidTimeValue));
    let count = "ReservationName=two StartTime=5000 Duration=60 Users=bob NodeCnt=1";
    assert_eq!(create(&mut cluster, count), named("two"));
    assert_eq!(cluster.state.reservations["two"].nodes, ["n2".into()]);
    let more = "ReservationName=three StartTime=5000 Duration=60 Users=bob NodeCnt=1";
    assert_eq!(create(&mut cluster, more), Err(SlurmError::NodesBusy));
    cluster.done(say(Verb::Update, "two", "Users+=carol Duration=120 Flags=+daily"));
    let two = &cluster.state.reservations["two"];
    assert_eq!((two.end, &two.users[..]), (Timestamp(12_200), &["bob".into(), "carol".into()][..]));
    let unknown = cluster.apply(say(Verb::Update, "none", "Duration=1")).reply;
    assert_eq!(unknown, Err(SlurmError::ReservationInvalid));
    cluster.done(say(Verb::Delete, "two", ""));
    let gone = cluster.apply(say(Verb::Delete, "two", "")).reply;
    assert_eq!(gone, Err(SlurmError::ReservationInvalid));
}

#[test]
fn only_those_it_is_for_may_use_it() {
    let mut cluster = cluster();
    create(&mut cluster, "ReservationName=r StartTime=5000 Duration=60 Users=bob Nodes=n1")
        .expect("is made");
    assert_eq!(ask(&mut cluster, 1, "none"), Err(SlurmError::ReservationInvalid));
    assert_eq!(ask(&mut cluster, 1, "r"), Err(SlurmError::ReservationAccess));
    cluster.done(say(Verb::Update, "r", "Users=alice"));
    assert_eq!(ask(&mut cluster, 1, "r"), Ok(Reply::Job(JobId(1))));
    assert_eq!(cluster.apply(say(Verb::Delete, "r", "")).reply, Err(SlurmError::ReservationBusy));
    // When it is over the job waits to be let go; a daily one comes again.
    cluster.at = 9000;
    cluster.done(Command::ReservationsPassed);
    let job = &cluster.state.jobs[&JobId(1)];
    assert_eq!((job.hold, job.spec.placement().reservation.as_str()), (Hold::User, ""));
    assert!(cluster.state.reservations.is_empty());
    create(
        &mut cluster,
        "ReservationName=d StartTime=9100 Duration=1 Users=bob Nodes=n1 Flags=daily",
    )
    .expect("is made");
    cluster.at = 9200;
    cluster.done(Command::ReservationsPassed);
    assert_eq!(cluster.state.reservations["d"].start, Timestamp(9100 + 86_400));
}

#[test]
fn nobody_holds_more_licences_than_there_are() {
    let mut cluster = cluster();
    let config = crate::config::read("licenses = { matlab = 1 }\n").expect("is in order");
    cluster.done(Command::Configure(Settings::of(&config)));
    let mut jobs = Vec::new();
    for request in 1..=2 {
        let mut submit = submission(request);
        submit.spec.placement_mut().licenses = "matlab".to_string();
        match cluster.apply(Command::Submit(Box::new(submit))).reply {
            Ok(Reply::Job(id)) => jobs.push(id),
            other => panic!("not accepted: {other:?}"),
        }
    }
    assert_eq!(cluster.start(jobs[0], 1, "n1", 1), 1);
    assert_eq!(cluster.start(jobs[1], 1, "n1", 1), 0);
    for unknown in ["ansys", "matlab:2"] {
        let mut submit = submission(9);
        submit.spec.placement_mut().licenses = unknown.to_string();
        let reply = cluster.apply(Command::Submit(Box::new(submit))).reply;
        assert_eq!(reply, Err(SlurmError::InvalidLicenses));
    }
}
