//! Shepherds care for run after run: of one user, and no run finds anything of the one before.

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use common::agents::{Agent, job};
use common::controller::Controller;
use common::{Spool, lives, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use spur_proto::internal::{Confinement, Launch, Outcome};
use spurd::confine::Confines;

/// A controller with an agent that greeted it.
fn begin(spool: &Spool) -> (Controller, Agent) {
    let controller = Controller::start(&spool.socket());
    let agent = Agent::start(spool);
    controller.await_agent();
    (controller, agent)
}

/// Runs a job to its end and tells which process its shepherd was, and how it ended.
fn run(spool: &Spool, controller: &Controller, mut launch: Launch) -> (String, Outcome) {
    let (job, script) = (launch.job, String::from_utf8(launch.script).expect("is text"));
    launch.script = script.replacen('\n', &format!("\necho $PPID > shepherd-{job}\n"), 1).into();
    controller.launch(vec![launch]);
    let outcome = controller.report(job).outcome();
    let told = String::from_utf8(spool.output(&format!("shepherd-{job}"))).expect("is text");
    (told.trim().to_string(), outcome)
}

fn signal(pid: &str, signal: Signal) {
    kill(Pid::from_raw(pid.parse().expect("a number")), signal).expect("signals");
}

/// All that a process can have from the one that started it.
const LOOK: &str = "
    env | grep -v -e ^SLURM_ -e ^SPUR_RUN= -e ^_= | sort
    pwd; umask; ulimit -a; id; nice; cat /proc/sys/kernel/hostname /proc/self/oom_score_adj
    grep -E '^(Sig[PBIC]|ShdPnd|Groups|Cap|NoNewPrivs|Seccomp:|Cpus_allowed:|Umask)' /proc/self/status
    for name in mnt pid net ipc user cgroup time; do readlink /proc/self/ns/$name; done
    ls /proc/$$/fd; sed 's/job_[0-9]*/job_/' /proc/self/cgroup; chrt -p $$ | sed 's/.*: //'
    ls -A /proc/$PPID/fd | wc -l";

const TRASH: &str = "
    export TRACE=1; cd /; umask 077; ulimit -n 99; ulimit -Hc 0; exec 7> /dev/null 8< /dev/null
    trap '' TERM HUP USR1; renice 5 $$; chrt -b -p 0 $$; taskset -p 1 $$
    echo elsewhere > /proc/sys/kernel/hostname
    (setsid sleep 1000 &); env -i setsid sleep 1000 & kill -STOP $! ; kill -TERM $$
    exit 0";

#[test]
fn a_run_finds_no_trace_of_the_one_before() {
    let spool = Spool::new();
    let (controller, _agent) = begin(&spool);
    let (first, _) = run(&spool, &controller, job(&spool, 1, LOOK));
    let (second, outcome) = run(&spool, &controller, job(&spool, 2, TRASH));
    assert_eq!(outcome, Outcome::Exited);
    let (third, _) = run(&spool, &controller, job(&spool, 3, LOOK));
    assert_eq!([&second, &third], [&first, &first], "one shepherd cares for all three");
    let told =
        |job: u32| String::from_utf8(spool.output(&format!("slurm-{job}.out"))).expect("text");
    assert!(told(1).contains("PATH="), "{}", told(1));
    assert_eq!(told(3), told(1));
}

#[test]
fn another_user_has_another_shepherd() {
    if !Uid::effective().is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let spool = Spool::new();
    fs::set_permissions(spool.work_dir(), Permissions::from_mode(0o777)).expect("opens up");
    let (controller, _agent) = begin(&spool);
    let of = |number: u32, uid: u32| Launch { uid, gid: uid, ..job(&spool, number, "id -u") };
    let users = [0, 65534, 0, 65534];
    let shepherds: Vec<String> = (1..)
        .zip(users)
        .map(|(number, uid)| {
            let (shepherd, outcome) = run(&spool, &controller, of(number, uid));
            assert_eq!(outcome, Outcome::Exited);
            let told = String::from_utf8(spool.output(&format!("slurm-{number}.out")));
            assert_eq!(told.expect("is text").trim(), uid.to_string());
            shepherd
        })
        .collect();
    assert_eq!(shepherds[..2], shepherds[2..]);
    assert_ne!(shepherds[0], shepherds[1]);
}

#[test]
fn one_that_dies_while_it_waits_is_missed_by_nobody() {
    let spool = Spool::new();
    let (controller, agent) = begin(&spool);
    let (first, _) = run(&spool, &controller, job(&spool, 1, "exit 0"));
    signal(&first, Signal::SIGKILL);
    until(|| !lives(&first));
    let (second, outcome) = run(&spool, &controller, job(&spool, 2, "exit 0"));
    assert_eq!(outcome, Outcome::Exited);
    assert_ne!(first, second);
    // It cannot know which run is meant, so it takes none.
    signal(&second, Signal::SIGTERM);
    let (third, outcome) = run(&spool, &controller, job(&spool, 3, "exit 0"));
    assert_eq!(outcome, Outcome::Exited);
    assert_ne!(second, third);
    drop(agent);
    until(|| !lives(&third));
    // As the next agent would.
    if let Some(confines) = Confines::read(&spool.path()) {
        confines.host.remove_spares_of_the_dead();
    }
}

#[test]
fn one_that_dies_in_a_run_takes_only_that_run_along() {
    let spool = Spool::new();
    let (controller, _agent) = begin(&spool);
    let (first, _) = run(&spool, &controller, job(&spool, 1, "exit 0"));
    let (second, outcome) = run(&spool, &controller, job(&spool, 2, "kill -9 $PPID; sleep 1000"));
    assert_eq!((&second, outcome), (&first, Outcome::ShepherdLost));
    let (third, outcome) = run(&spool, &controller, job(&spool, 3, "exit 0"));
    assert_eq!(outcome, Outcome::Exited);
    assert_ne!(second, third);
}

/// Whatever of its groups is used again, each run has its own limits and is counted for itself.
#[test]
fn a_run_without_memory_is_followed_by_one_that_has_enough() {
    let spool = Spool::new();
    let (controller, _agent) = begin(&spool);
    let run = |number: u32, limit_mb: Option<u64>, used_mb: u64| {
        let limit = limit_mb.map(|limit| limit << 20);
        let script = format!("head -c {} /dev/zero | tail | wc -c; true", used_mb << 20);
        let mut launch = job(&spool, number, &script);
        let swap = limit.map(|_| 0);
        let confinement =
            Confinement { memory_bytes: limit, swap_bytes: swap, ..Confinement::default() };
        launch.confinement = Some(confinement);
        run(&spool, &controller, launch)
    };
    let (shepherd, outcome) = run(1, Some(40), 200);
    if outcome != Outcome::OutOfMemory {
        eprintln!("SKIPPED: no memory controller");
        return;
    }
    let expected = [
        (Some(40), 1, Outcome::Exited),
        (Some(60), 1, Outcome::Exited),
        (None, 200, Outcome::Exited),
        (Some(40), 1, Outcome::Exited),
        (Some(40), 200, Outcome::OutOfMemory),
        (Some(400), 200, Outcome::Exited),
    ];
    for (number, (limit, used, outcome)) in (2..).zip(expected) {
        assert_eq!(run(number, limit, used), (shepherd.clone(), outcome), "job {number}");
    }
}
