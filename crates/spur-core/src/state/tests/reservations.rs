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
    let next = "StartTime=5000 Duration=60 Users=bob Nodes=n2";
    assert_eq!(create(&mut cluster, next), named("bob_4"), "no number comes twice");
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

#[test]
fn some_cores_are_kept_and_licences_once() {
    let mut cluster = cluster();
    let config = crate::config::read("licenses = { x = 3 }\n").expect("is in order");
    cluster.done(Command::Configure(Settings::of(&config)));
    let time = "StartTime=1000 Duration=60 Users=alice";
    let line = format!("ReservationName=some {time} CoreCnt=5");
    assert_eq!(create(&mut cluster, &line), named("some"));
    let some = &cluster.state.reservations["some"];
    assert_eq!((some.nodes.len(), &some.cores[..]), (2, &[4, 1][..]));
    let line = format!("ReservationName=each {time} Nodes=n1,n2 CoreCnt=1,2 Flags=overlap");
    assert_eq!(create(&mut cluster, &line), named("each"));
    let odd = format!("ReservationName=odd {time} Nodes=n1,n2 CoreCnt=1,2,3 Flags=overlap");
    assert_eq!(create(&mut cluster, &odd), Err(SlurmError::InvalidCpuCount));
    let two = format!("ReservationName=l1 {time} Licenses=x:2 Flags=license_only");
    assert_eq!(create(&mut cluster, &two), named("l1"));
    let again = format!("ReservationName=l2 {time} Licenses=x:2 Flags=any_nodes");
    assert_eq!(create(&mut cluster, &again), Err(SlurmError::InvalidLicenses));
    let unsaid = format!("ReservationName=l3 {time} Licenses=x:1");
    assert_eq!(create(&mut cluster, &unsaid), Err(SlurmError::InvalidNodeName));
    let mut asks = |request: u128, reservation: &str| {
        let mut submit = submission(request);
        submit.spec.placement_mut().licenses = "x:2".to_string();
        submit.spec.placement_mut().reservation = reservation.to_string();
        let Ok(Reply::Job(id)) = cluster.apply(Command::Submit(Box::new(submit))).reply else {
            panic!("is taken")
        };
        cluster.start(id, 1, "n1", 1)
    };
    assert_eq!((asks(1, ""), asks(2, "l1")), (0, 1), "they are for its own jobs");
}

#[test]
fn nodes_are_replaced_and_idle_reservations_go() {
    let mut cluster = cluster();
    let time = "StartTime=1000 Duration=60 Users=alice";
    let line = format!("ReservationName=one {time} NodeCnt=1 Flags=replace_down");
    assert_eq!(create(&mut cluster, &line), named("one"));
    assert_eq!(cluster.state.reservations["one"].nodes, ["n1".into()]);
    assert!(!cluster.state.reservation_is_due(Timestamp(cluster.at)));
    let drain = Administer {
        noun: Noun::Node,
        verb: Verb::Update,
        name: "n1".to_string(),
        assignments: ["State=drain", "Reason=x"]
            .iter()
            .filter_map(|it| crate::update::split(it))
            .collect(),
        by: Actor::Controller,
        request: None,
    };
    cluster.done(Command::Administer(Box::new(drain)));
    assert!(cluster.state.reservation_is_due(Timestamp(cluster.at)));
    cluster.done(Command::ReservationsPassed);
    assert_eq!(cluster.state.reservations["one"].nodes, ["n2".into()]);
    cluster.done(say(Verb::Update, "one", "Flags+=purge_comp=1"));
    let begin = cluster.state.reservations["one"].start;
    assert!(!cluster.state.reservation_is_due(begin.plus_secs(59)));
    assert!(cluster.state.reservation_is_due(begin.plus_secs(60)));
    cluster.at = begin.0 + 60;
    cluster.done(Command::ReservationsPassed);
    assert!(cluster.state.reservations.is_empty());
}

#[test]
fn accounting_is_told_what_was_kept_and_for_how_long() {
    let mut cluster = cluster();
    let mut settings = Settings::default();
    settings.accounting = true;
    cluster.done(Command::Configure(settings));
    let told = |applied: Applied| -> Vec<String> {
        let events = applied.records.into_iter().filter_map(|record| record.event);
        let line = |it: crate::views::EventView| {
            let name = it.reservation;
            let length = it.end_time - it.start_time;
            format!("{name} {} from {} for {length}: {}", it.nodes, it.start_time, it.tres)
        };
        events.filter(|it| !it.reservation.is_empty()).map(line).collect()
    };
    let line = "ReservationName=r StartTime=5000 Duration=60 Users=alice Nodes=n1";
    let made = cluster.apply(say(Verb::Create, "", line));
    let n1 = "cpu=4,mem=1000M,node=1,billing=4";
    assert_eq!(told(made), [format!("r n1 from 5000 for 3600: {n1}")]);
    let shared = cluster.apply(say(Verb::Update, "r", "Users+=bob"));
    assert_eq!(told(shared), [format!("r n1 from 5000 for 3600: {n1}")], "whom it is charged to");
    let same = cluster.apply(say(Verb::Update, "r", "Users+=bob"));
    assert_eq!(told(same), [""; 0]);
    let longer = cluster.apply(say(Verb::Update, "r", "Duration=120"));
    assert_eq!(told(longer), [format!("r n1 from 5000 for 7200: {n1}")]);
    let later = cluster.apply(say(Verb::Update, "r", "StartTime=6000 Duration=60"));
    assert_eq!(
        told(later),
        [format!("r n1 from 5000 for 0: {n1}"), format!("r n1 from 6000 for 3600: {n1}")]
    );
    cluster.at = 7000;
    let gone = told(cluster.apply(say(Verb::Delete, "r", "")));
    let length = cluster.state.now.0 - 6000;
    assert_eq!(gone, [format!("r n1 from 6000 for {length}: {n1}")]);
}

#[test]
fn one_that_floats_is_always_as_far_away() {
    let mut cluster = cluster();
    let now = cluster.at;
    let line = format!("ReservationName=f StartTime={} Duration=60 Users=bob Nodes=n1", now + 600);
    let daily = create(&mut cluster, &format!("{line} Flags=TIME_FLOAT,DAILY"));
    assert_eq!(daily, Err(SlurmError::NotSupported));
    assert_eq!(create(&mut cluster, &format!("{line} Flags=TIME_FLOAT")), named("f"));
    let away = cluster.state.reservations["f"].times(Timestamp(0)).0.0;
    assert!((590..=600).contains(&away), "{away}");
    cluster.at = now + 100_000;
    assert!(!cluster.state.reservation_is_due(Timestamp(cluster.at)), "its time never comes");
    cluster.done(say(Verb::Update, "f", "Duration=30"));
    let it = &cluster.state.reservations["f"];
    assert_eq!(it.times(Timestamp(0)), (Timestamp(away), Timestamp(away + 1800)));
    let fixed = cluster.apply(say(Verb::Update, "f", "Flags=-TIME_FLOAT")).reply;
    assert_eq!(fixed, Err(SlurmError::NotSupported));
}
