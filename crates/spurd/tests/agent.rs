//! Real agents on a temporary spool, with a controller that obeys the test.

mod common;

use std::fs;
use std::process::{Command, Stdio};

use common::agents::{Agent, job};
use common::controller::Controller;
use common::{Spool, lives, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prost::Message;
use spur_proto::internal::{Outcome, Report};

/// A script's lines that say it runs and wait to be let go.
const WAIT: &str = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo went on; exit 5";

fn let_go(spool: &Spool) {
    fs::write(spool.work_dir().join("go"), "").expect("writes");
}

fn number_in(spool: &Spool, file: &str) -> String {
    let read = || String::from_utf8(spool.output(file)).expect("is text");
    until(|| read().ends_with('\n'));
    read().trim().to_string()
}

/// The shepherd of job 1.
fn shepherd(spool: &Spool) -> Pid {
    let claim = fs::read_to_string(spool.path().join("runs/1.1.shepherd")).expect("is claimed");
    Pid::from_raw(claim.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a number"))
}

fn is_forgotten(spool: &Spool) -> bool {
    // A folder that was never needed is as good as an empty one.
    let is_empty = |folder: &str| {
        fs::read_dir(spool.path().join(folder)).map_or(true, |mut entries| entries.next().is_none())
    };
    is_empty("runs") && is_empty("scripts")
}

#[track_caller]
fn assert_exited(report: Report, status: u32) {
    assert_eq!((report.outcome(), report.exit_status), (Outcome::Exited, status));
}

#[test]
fn a_job_runs_is_reported_and_forgotten() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let _agent = Agent::start(&spool);
    controller.await_agent();
    controller.launch(vec![job(&spool, 1, "echo one; exit 3"), job(&spool, 2, "kill -9 $$")]);
    assert_exited(controller.report(1), 3 << 8);
    assert_exited(controller.report(2), 9);
    assert_eq!(spool.output("slurm-1.out"), b"one\n");
    until(|| is_forgotten(&spool));
    assert_eq!(controller.table(), []);
}

#[test]
fn an_agent_waits_for_its_controller() {
    let spool = Spool::new();
    let agent = Agent::start(&spool);
    until(|| spool.path().join("spurd.lock").exists());
    let controller = Controller::start(&spool.socket());
    controller.await_agent();
    drop(controller);
    let controller = Controller::start(&spool.socket());
    controller.await_agent();
    controller.launch(vec![job(&spool, 1, "exit 0")]);
    assert_exited(controller.report(1), 0);
    assert_eq!(agent.ask_to_leave(), Some(0));
}

#[test]
fn a_run_survives_its_agent() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let agent = Agent::start(&spool);
    controller.await_agent();
    controller.launch(vec![job(&spool, 1, WAIT)]);
    let pid = number_in(&spool, "pid");
    drop(agent);
    assert!(lives(&pid));
    let agent = Agent::start(&spool);
    controller.await_agent();
    until(|| controller.table().len() == 1);
    assert_eq!(agent.ask_to_leave(), Some(0));
    assert!(lives(&pid), "also one that leaves in peace");
    let _agent = Agent::start(&spool);
    let_go(&spool);
    assert_exited(controller.report(1), 5 << 8);
    assert_eq!(spool.output("slurm-1.out"), b"went on\n");
    assert_eq!(number_in(&spool, "pid"), pid, "it ran once");
}

#[test]
fn a_run_that_ends_without_an_agent_is_reported_by_the_next() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let agent = Agent::start(&spool);
    controller.await_agent();
    controller.launch(vec![job(&spool, 1, WAIT)]);
    let pid = number_in(&spool, "pid");
    drop(agent);
    let_go(&spool);
    until(|| !lives(&pid));
    controller.confirm_nothing();
    let agent = Agent::start(&spool);
    assert_exited(controller.report(1), 5 << 8);
    drop(agent);
    drop(controller);
    let controller = Controller::start(&spool.socket());
    let _agent = Agent::start(&spool);
    assert_exited(controller.report(1), 5 << 8);
    until(|| is_forgotten(&spool));
}

#[test]
fn a_run_is_lost_with_its_shepherd_and_nothing_of_it_is_left() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let _agent = Agent::start(&spool);
    controller.await_agent();
    let orphans = "(setsid sleep 1000 & echo $! > orphan); env -i sleep 1000 & echo $! > bare";
    controller.launch(vec![job(&spool, 1, &format!("{orphans}\n{WAIT}"))]);
    let pids = ["pid", "orphan", "bare"].map(|file| number_in(&spool, file));
    kill(shepherd(&spool), Signal::SIGKILL).expect("signals");
    assert_eq!(controller.report(1).outcome(), Outcome::ShepherdLost);
    for pid in pids {
        assert!(!lives(&pid));
    }
    until(|| is_forgotten(&spool));
}

#[test]
fn a_shepherd_that_died_without_an_agent_is_found_missing() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let agent = Agent::start(&spool);
    controller.await_agent();
    controller.launch(vec![job(&spool, 1, WAIT)]);
    let pid = number_in(&spool, "pid");
    drop(agent);
    kill(shepherd(&spool), Signal::SIGKILL).expect("signals");
    assert!(lives(&pid), "an orphan");
    let _agent = Agent::start(&spool);
    assert_eq!(controller.report(1).outcome(), Outcome::ShepherdLost);
    assert!(!lives(&pid));
}

#[test]
fn a_launch_that_nobody_took_is_taken_up_after_a_restart() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    drop(Agent::start(&spool));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("reads");
    fs::write(spool.path().join("spool-id"), "this one").expect("writes");
    fs::write(spool.path().join("boot"), format!("{} this one", boot.trim())).expect("writes");
    let launch = job(&spool, 1, "echo once").encode_to_vec();
    fs::write(spool.path().join("runs/1.1.launch"), launch).expect("writes");
    let _agent = Agent::start(&spool);
    assert_exited(controller.report(1), 0);
    assert_eq!(spool.output("slurm-1.out"), b"once\n");
}

#[test]
fn a_run_ends_when_told_to() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let _agent = Agent::start(&spool);
    controller.await_agent();
    controller.launch(vec![job(&spool, 1, "echo $$ > pid; exec sleep 1000")]);
    let pid = number_in(&spool, "pid");
    controller.kill(1, 1);
    assert_exited(controller.report(1), 15);
    assert!(!lives(&pid));
}

#[test]
fn being_told_to_end_is_never_too_early() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let _agent = Agent::start(&spool);
    controller.await_agent();
    const RUNS: u32 = 50;
    for number in 1..=RUNS {
        controller.launch(vec![job(&spool, number, "exec sleep 1000")]);
        controller.kill(number, 1);
    }
    for number in 1..=RUNS {
        let report = controller.report(number);
        let is_ended = match report.outcome() {
            Outcome::Exited => report.exit_status == 15,
            outcome => outcome == Outcome::Lost,
        };
        assert!(is_ended, "{report:?}");
    }
    until(|| is_forgotten(&spool));
}

#[test]
fn a_second_agent_is_turned_away() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    let _agent = Agent::start(&spool);
    controller.await_agent();
    let second = Command::new(env!("CARGO_BIN_EXE_spurd"))
        .args(["-D", "--controller", "unix:/nowhere", "--state-dir"])
        .arg(spool.path())
        .stdin(Stdio::null())
        .output()
        .expect("starts");
    assert_eq!(second.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(complaint, format!("spurd: error: another spurd uses {}\n", spool.path().display()));
}

#[test]
fn a_crowd_of_jobs_is_carried_out_while_the_agent_is_killed_again_and_again() {
    let spool = Spool::new();
    let controller = Controller::start(&spool.socket());
    const RUNS: u32 = 60;
    let jobs = (1..=RUNS).map(|n| job(&spool, n, &format!("echo {n} $$ >> all; exit {n}")));
    let agent = Agent::start(&spool);
    controller.await_agent();
    controller.launch(jobs.collect());
    until(|| controller.reported() >= 1);
    drop(agent);
    for times in 2..5 {
        let agent = Agent::start(&spool);
        until(|| controller.reported() >= (RUNS * times / 6) as usize);
        drop(agent);
    }
    let _agent = Agent::start(&spool);
    for number in 1..=RUNS {
        assert_exited(controller.report(number), number << 8);
    }
    let all = String::from_utf8(spool.output("all")).expect("is text");
    assert_eq!(all.lines().count(), RUNS as usize, "each ran once");
    until(|| is_forgotten(&spool));
}
