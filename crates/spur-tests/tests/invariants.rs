//! What only real processes can show: I11 no-orphan, I12 readopt, I13 output-exact. Which check stands for which
//! invariant is a table in ARCHITECTURE.md.

use spur_tests::harness::{Cluster, Processes, until};

const LINES: usize = 1500;

/// I12 readopt, I13 output-exact: a job writes numbered lines while its agent and the controller are killed with -9
/// again and again. The same process goes on, no line is missing or there twice, and its exit is its own.
#[test]
fn i12_i13_a_run_goes_on_and_its_output_is_exact_whoever_is_killed() {
    let cluster = Cluster::up("n1", 2);
    let script = format!(
        "for ((line = 1; line <= {LINES}; line++)); do echo \"$$ line $line\"; sleep 0.002; done; exit 9"
    );
    let script = format!("exec bash -c '{script}'");
    let words = ["--parsable", "-o", "lines.out", "--wrap", &script];
    let id = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    let file = cluster.work_dir().join("lines.out");
    let written = || std::fs::read_to_string(&file).unwrap_or_default();
    let first = until("it writes", || {
        written().split(' ').next().map(str::to_string).filter(|it| !it.is_empty())
    });
    for victim in [[" -N n1 ", "spurd"], ["spurctld", "-D"]].iter().cycle().take(6) {
        let pid =
            until("the victim is back", || cluster.processes().with(victim).into_iter().next());
        let before = written().lines().count();
        Processes::kill(pid);
        until("the job goes on", || {
            let now = written().lines().count();
            (now > before || now == LINES).then_some(())
        });
    }
    until("its end is known", || (cluster.squeue(&id, "%T") == "FAILED").then_some(()));
    let expected: String = (1..=LINES).map(|line| format!("{first} line {line}\n")).collect();
    assert!(written() == expected, "the output of job {id} is not what it wrote");
    let job = cluster.jobs().into_iter().find(|job| job.job_id.to_string() == id);
    assert_eq!(job.expect("is known").exit_status, 9 << 8);
}

/// Leaves whatever it can behind: a daemon that forked twice, a crowd, and all of them deaf to SIGTERM.
const DEAF: &str = r#"
trap '' TERM INT HUP
(setsid sh -c '(exec sleep 3001) & (exec sleep 3002) &' &) &
crowd() { (( $1 == 0 )) || { crowd $(($1 - 1)) & crowd $(($1 - 1)) & wait; }; sleep 3003; }
crowd 6 &
sleep 3004 &
wait
"#;

/// What a crowd of six generations comes to, and the others.
const CROWD: usize = 64;

/// I11 no-orphan: nothing of a job outlives it, whatever it forks and however little it listens.
#[test]
fn i11_nothing_is_left_of_crowds_daemons_and_the_deaf() {
    // Who does not listen is asked for a moment only.
    let cluster = Cluster::up_with("n1", 4, &["--set", "timeouts.kill_wait=1"]);
    std::fs::write(cluster.work_dir().join("deaf.sh"), format!("#!/bin/bash\n{DEAF}"))
        .expect("a script");
    let sleepers = || cluster.processes().with(&["sleep 300"]).len();
    let submit = |words: &[&str]| {
        let words = [&["--parsable", "-o", "/dev/null"], words, &["deaf.sh"]].concat();
        cluster.run_words("sbatch", &words).stdout.trim().to_string()
    };
    let leaves_nobody = |id: &str| {
        assert_eq!(cluster.run_words("scancel", &[id]).status, 0);
        until("its end is known", || (cluster.squeue(id, "%T") == "CANCELLED").then_some(()));
        let left = cluster.processes().list();
        assert_eq!(sleepers(), 0, "job {id} has ended, and left these: {left:?}");
    };
    let id = submit(&[]);
    until("the crowd is there", || (sleepers() > CROWD).then_some(()));
    leaves_nobody(&id);
    // A job that ends by itself takes its children along, too.
    let script = "(setsid sh -c '(exec sleep 3005) &' &); sleep 3006 & exit 0";
    let done = cluster.run_words("sbatch", &["--wait", "-o", "/dev/null", "--wrap", script]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    until("nothing is left", || (sleepers() == 0).then_some(()));
    // The same while the agent is away: whoever comes back cleans up.
    let id = submit(&[]);
    until("the crowd is there", || (sleepers() > CROWD).then_some(()));
    let agent =
        until("its agent", || cluster.processes().with(&[" -N n1 ", "spurd"]).into_iter().next());
    Processes::kill(agent);
    leaves_nobody(&id);
}
