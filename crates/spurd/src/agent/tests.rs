//! The rules of launching, one by one.

use spur_core::job::ExitStatus;
use spur_disk::SimDisk;
use spur_proto::internal::Outcome::NodeFault;
use spur_proto::internal::{Acknowledge, Beat, Kills, Welcome};

use super::*;

fn identity(boot_id: &str) -> Identity {
    let inventory = spur_core::node::Inventory::simple(4, 100);
    Identity {
        node: "n1".to_string(),
        boot_id: boot_id.to_string(),
        inventory,
        address: String::new(),
    }
}

fn fresh(disk: &SimDisk) -> Agent<SimDisk> {
    Agent::recover(identity("boot"), disk.clone(), |_| Found::Gone).expect("recovers").0
}

/// An agent in session 5 of term 3, with a lease from 0 to 1000.
fn in_session(disk: &SimDisk) -> Agent<SimDisk> {
    let mut agent = fresh(disk);
    hear(&mut agent, 0, welcome(5, 3));
    agent
}

fn welcome(session: u64, term: u64) -> Hears {
    Hears::Welcome(Welcome { session, term, echo_ms: 0, lease_ms: 1000, public_key: Vec::new() })
}

fn launch(session: u64, term: u64, job: u32, epoch: u32) -> Hears {
    let launch = Launch { job, epoch, ..Launch::default() };
    Hears::Launches(Launches { session, term, launches: vec![launch] })
}

fn hear(agent: &mut Agent<SimDisk>, now: u64, message: Hears) -> Vec<Output> {
    if let Hears::Welcome(welcome) = &message {
        agent.on(Millis(welcome.echo_ms), Input::Connected).expect("the disk works");
    }
    let mut outputs = agent.on(Millis(now), Input::Heard(message)).expect("the disk works");
    outputs.retain(|output| !matches!(output, Output::Heard(_)));
    outputs
}

fn batch(job: u32, epoch: u32) -> RunId {
    RunId::batch(JobId(job), Epoch(epoch))
}

fn spawn(job: u32, epoch: u32) -> Vec<Output> {
    vec![Output::Spawn(batch(job, epoch), Some(0))]
}

const EXITED: Outcome = Outcome::Exited(ExitStatus { code: 0, signal: 0 });

fn end(agent: &mut Agent<SimDisk>, job: u32, epoch: u32) -> Vec<Output> {
    agent
        .on(Millis(1), Input::Over(batch(job, epoch), EXITED, Box::default()))
        .expect("the disk works");
    agent.flush().expect("the disk works")
}

#[test]
fn launches_inside_a_live_lease_only() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    assert_eq!(hear(&mut agent, 1000, launch(5, 3, 7, 1)), [], "the lease is over");
    hear(
        &mut agent,
        1000,
        Hears::Beat(Beat { term: 3, echo_ms: 900, lease_ms: 1000, ..Beat::default() }),
    );
    assert_eq!(hear(&mut agent, 1000, launch(5, 3, 7, 1)), spawn(7, 1));
    agent.on(Millis(1001), Input::Disconnected).expect("the disk works");
    assert_eq!(hear(&mut agent, 1001, launch(5, 3, 8, 1)), [], "no session");
}

#[test]
fn launches_of_another_session_are_late_ghosts() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    assert_eq!(hear(&mut agent, 1, launch(4, 3, 7, 1)), []);
}

#[test]
fn an_older_leader_is_not_obeyed_even_after_a_restart() {
    let disk = SimDisk::new();
    in_session(&disk);
    let mut agent = fresh(&disk);
    assert_eq!(hear(&mut agent, 0, welcome(6, 2)), [Output::HangUp]);
    assert_eq!(hear(&mut agent, 1, launch(6, 2, 7, 1)), []);
}

#[test]
fn a_late_welcome_opens_no_session() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    agent.on(Millis(50), Input::Connected).expect("the disk works");
    let late = Input::Heard(welcome(4, 3));
    agent.on(Millis(60), late).expect("the disk works");
    assert_eq!(hear(&mut agent, 61, launch(4, 3, 7, 1)), []);
}

#[test]
fn the_same_run_is_started_once() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    assert_eq!(hear(&mut agent, 1, launch(5, 3, 7, 2)), spawn(7, 2));
    assert_eq!(hear(&mut agent, 2, launch(5, 3, 7, 2)), [], "again");
    assert_eq!(hear(&mut agent, 3, launch(5, 3, 7, 1)), [], "an older run");
    end(&mut agent, 7, 2);
    hear(&mut agent, 4, Hears::Acknowledge(Acknowledge { sequences: vec![1] }));
    assert_eq!(hear(&mut agent, 5, launch(5, 3, 7, 2)), [], "again, after its end");
    assert_eq!(hear(&mut agent, 6, launch(5, 3, 7, 3)), spawn(7, 3), "a newer run");
}

#[test]
fn however_many_runs_there_were_no_more_are_remembered() {
    let mut agent = in_session(&SimDisk::new());
    let last = DONE_KEPT as u32 + 10;
    for job in 1..=last {
        assert_eq!(hear(&mut agent, 1, launch(5, 3, job, 1)), spawn(job, 1));
        end(&mut agent, job, 1);
        let sequences = vec![u64::from(job)];
        hear(&mut agent, 1, Hears::Acknowledge(Acknowledge { sequences }));
    }
    assert_eq!((agent.runs.len(), agent.stuck.len(), agent.done.len()), (0, 0, DONE_KEPT));
    assert_eq!(hear(&mut agent, 1, launch(5, 3, last, 1)), [], "the last is not forgotten");
}

#[test]
fn a_report_is_repeated_until_it_is_confirmed() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    hear(&mut agent, 1, launch(5, 3, 7, 1));
    let sent = end(&mut agent, 7, 1);
    assert_eq!(sent.len(), 1);
    let mut agent = fresh(&disk);
    assert_eq!(hear(&mut agent, 0, welcome(6, 3)), sent, "a restart forgets nothing");
    hear(&mut agent, 1, Hears::Acknowledge(Acknowledge { sequences: vec![1] }));
    assert_eq!(agent.table().count(), 0);
    assert_eq!(hear(&mut agent, 2, welcome(7, 3)), []);
}

#[test]
fn a_report_survives_a_power_cut_once_it_is_sent() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    hear(&mut agent, 1, launch(5, 3, 7, 1));
    let sent = end(&mut agent, 7, 1);
    disk.crash(|_| 0);
    let (mut agent, _) =
        Agent::recover(identity("next boot"), disk, |_| Found::Gone).expect("recovers");
    assert_eq!(hear(&mut agent, 0, welcome(6, 3)), sent);
}

#[test]
fn an_unclaimed_launch_is_taken_up_again_but_not_after_a_reboot() {
    let disk = SimDisk::new();
    hear(&mut in_session(&disk), 1, launch(5, 3, 7, 1));
    let recover = |boot| Agent::recover(identity(boot), disk.clone(), |_| Found::Unclaimed);
    assert_eq!(recover("boot").expect("recovers").1, [Output::Spawn(batch(7, 1), None)]);
    let (mut agent, outputs) = recover("next boot").expect("recovers");
    assert_eq!(outputs, []);
    agent.flush().expect("the disk works");
    let reports = hear(&mut agent, 0, welcome(6, 3));
    let lost = outbox::report(1, batch(7, 1), Outcome::Lost);
    assert_eq!(reports, [Output::Say(Says::Reports(Reports { reports: vec![lost] }))]);
}

#[test]
fn what_an_answer_answers_is_noted_not_when_it_came() {
    let mut agent = in_session(&SimDisk::new());
    let beat = |term| Hears::Beat(Beat { term, echo_ms: 700, lease_ms: 1000, ..Beat::default() });
    let outputs = agent.on(Millis(900), Input::Heard(beat(3))).expect("the disk works");
    assert_eq!(outputs, [Output::Heard(Millis(700))]);
    // A leader of the past keeps nothing alive.
    let outputs = agent.on(Millis(950), Input::Heard(beat(2))).expect("the disk works");
    assert_eq!(outputs, [Output::HangUp]);
}

#[test]
fn a_run_waits_for_another_port_where_its_own_is_taken() {
    let mut agent = in_session(&SimDisk::new());
    agent.ask_for_ports(|port| port != 15_000);
    let launch = |master_port| {
        let launch =
            Launch { job: 7, epoch: 1, master_port, check_port: true, ..Launch::default() };
        Hears::Launches(Launches { session: 5, term: 3, launches: vec![launch] })
    };
    let taken = PortTaken { job: 7, epoch: 1, port: 15_000 };
    assert_eq!(hear(&mut agent, 1, launch(15_000)), [Output::Say(Says::PortTaken(taken))]);
    assert_eq!(hear(&mut agent, 2, launch(15_001)), spawn(7, 1));
}

#[test]
fn killing_an_unknown_run_fences_it() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    let kills = Hears::Kills(Kills { session: 5, term: 3, runs: vec![batch(7, 1).message()] });
    let gone = outbox::report(0, batch(7, 1), Outcome::Lost);
    assert_eq!(
        hear(&mut agent, 1, kills),
        [Output::Say(Says::Reports(Reports { reports: vec![gone] }))]
    );
    assert_eq!(hear(&mut agent, 2, launch(5, 3, 7, 1)), []);
}

#[test]
fn a_full_disk_accepts_no_launch() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    disk.set_fault(Some(spur_disk::SimFault::Full));
    assert!(agent.on(Millis(1), Input::Heard(launch(5, 3, 7, 1))).is_err());
    disk.set_fault(None);
    assert_eq!(agent.table().count(), 0);
    assert_eq!(hear(&mut agent, 1, launch(5, 3, 7, 1)), spawn(7, 1), "and recovers");
}

#[test]
fn a_node_that_is_not_fit_sends_new_jobs_back() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    assert_eq!(hear(&mut agent, 1, launch(5, 3, 7, 1)), spawn(7, 1));
    let mut told = |problems: &[&str]| {
        let problems = problems.iter().map(ToString::to_string).collect();
        agent.on(Millis(2), Input::Health(problems)).expect("the disk works")
    };
    let said = |problems: &[&str]| {
        let problems = problems.iter().map(ToString::to_string).collect();
        vec![Output::Say(Says::Health(Health { problems }))]
    };
    assert_eq!(told(&[]), [], "no news");
    assert_eq!(told(&["full"]), said(&["full"]));
    assert_eq!(told(&["full"]), [], "once is enough");
    assert_eq!(hear(&mut agent, 3, launch(5, 3, 8, 1)), []);
    let reported = agent.flush().expect("the disk works");
    let Some(Output::Say(Says::Reports(reports))) = reported.first() else {
        panic!("{reported:?}")
    };
    assert_eq!((reports.reports[0].job, agent.table().count()), (8, 2));
    let step = Launch {
        step: Some(spur_proto::internal::StepLaunch::default()),
        ..Launch { job: 7, epoch: 1, ..Launch::default() }
    };
    let step = Hears::Launches(Launches { session: 5, term: 3, launches: vec![step] });
    assert_eq!(hear(&mut agent, 4, step).len(), 1, "what is here goes on");
    agent.on(Millis(5), Input::Health(Vec::new())).expect("the disk works");
    assert_eq!(hear(&mut agent, 6, launch(5, 3, 9, 1)), spawn(9, 1));
}

#[test]
fn another_program_to_ask_is_news_once() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    let rules = HealthRules { program: "/check".to_string(), interval_secs: 60 };
    let beat = |health| {
        Hears::Beat(Beat { term: 3, echo_ms: 1, lease_ms: 1000, health, wall_ms: 0, reboot: None })
    };
    assert_eq!(hear(&mut agent, 1, beat(None)), []);
    assert_eq!(hear(&mut agent, 2, beat(Some(rules.clone()))), [Output::CareFor(rules.clone())]);
    assert_eq!(hear(&mut agent, 3, beat(Some(rules))), []);
    assert_eq!(hear(&mut agent, 4, beat(None)), [Output::CareFor(HealthRules::default())]);
}

#[test]
fn a_run_that_the_spool_has_no_room_for_goes_elsewhere_in_the_end() {
    let disk = SimDisk::new();
    let mut agent = in_session(&disk);
    hear(
        &mut agent,
        1,
        Hears::Beat(Beat { term: 3, echo_ms: 1, lease_ms: 60_000, ..Beat::default() }),
    );
    disk.set_fault(Some(spur_disk::SimFault::Full));
    let offered = Input::Heard(launch(5, 3, 7, 1));
    assert!(agent.on(Millis(10), offered.clone()).is_err(), "there may be room in a moment");
    assert!(agent.on(Millis(STUCK_MS), offered.clone()).is_err());
    let outputs = agent.on(Millis(10 + STUCK_MS), offered).expect("it is answered");
    let [Output::Say(Says::Reports(said))] = &outputs[..] else { panic!("{outputs:?}") };
    let report = &said.reports[0];
    assert_eq!((report.sequence, report.outcome()), (0, NodeFault));
    assert!(report.said.contains("7.1"), "{}", report.said);
    // It was given up: with room again it does not begin after all.
    disk.set_fault(None);
    let again = hear(&mut agent, 20_000, launch(5, 3, 7, 1));
    assert_eq!(again, outputs, "the word may have been lost");
    assert_eq!(hear(&mut agent, 20_000, launch(5, 3, 7, 2)), spawn(7, 2));
}

#[test]
fn a_restart_is_begun_once_however_often_it_is_said() {
    let mut agent = in_session(&SimDisk::new());
    let say = |agent: &mut Agent<SimDisk>, marker, term| {
        let reboot = Some(spur_proto::internal::Reboot { program: "/sbin/reboot".into(), marker });
        hear(
            agent,
            1,
            Hears::Beat(Beat { term, echo_ms: 1, lease_ms: 1000, reboot, ..Beat::default() }),
        )
    };
    let begun = [Output::Reboot("/sbin/reboot".to_string())];
    assert_eq!(say(&mut agent, 70, 3), begun);
    assert_eq!(say(&mut agent, 70, 3), []);
    assert_eq!(say(&mut agent, 80, 3), begun, "another one");
    assert_eq!(say(&mut agent, 90, 2), [Output::HangUp], "a leader of the past");
}
