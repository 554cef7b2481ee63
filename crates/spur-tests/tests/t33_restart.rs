//! Jobs that ask to run again do: after failures, and elsewhere when their node is not heard any more.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_tests::harness::{Cluster, until};

#[test]
fn a_failing_job_runs_again_on_another_node() {
    let cluster = Cluster::up("n[1-2]", 2);
    let script = "echo $SLURMD_NODENAME $SLURM_RESTART_COUNT >> runs; exit 3";
    let words = ["--parsable", "--max-restarts=1", "--restart-delay=0", "--wrap", script];
    let job = cluster.run_words("sbatch", &words);
    assert_eq!(job.status, 0, "{}", job.stderr);
    let shown = until("it has failed for good", || {
        let shown = cluster.run(&format!("scontrol show job {}", job.stdout.trim())).stdout;
        shown.contains("JobState=FAILED").then_some(shown)
    });
    assert!(shown.contains("Restarts=1") && shown.contains("ExitCode=3:0"), "{shown}");
    assert!(shown.contains("Failures=1 Preemptions=0 NodeLosses=0 AvoidNodeList=n1"), "{shown}");
    let runs = fs::read_to_string(cluster.work_dir().join("runs")).expect("it ran");
    assert_eq!(runs, "n1\nn2 1\n");
    let bad = cluster.run("sbatch --max-restarts=1 --restart-on=1,x --wrap true");
    assert_ne!(bad.status, 0);
}

#[test]
fn a_run_on_a_silent_node_ends_there_before_it_begins_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("spur.conf");
    fs::write(&config, "fence_restartable_after = 1\n").expect("writes");
    let cluster = Cluster::up_with("n[1-2]", 2, &["--config", &config.display().to_string()]);
    let script = "echo $SLURMD_NODENAME >> runs; exec sleep 4712";
    let job = cluster.run_words("sbatch", &["--parsable", "--max-restarts=1", "--wrap", script]);
    let job = job.stdout.trim().to_string();
    let stays = cluster.run_words("sbatch", &["--parsable", "-wn1", "--wrap", "exec sleep 4713"]);
    let stays = stays.stdout.trim().to_string();
    let sleeps = |words: &str| {
        cluster.processes().list().iter().filter(|(_, command)| command == words).count()
    };
    until("both run", || (sleeps("sleep 4712 ") + sleeps("sleep 4713 ") == 2).then_some(()));
    let agent = cluster.processes().with(&["spurd", " -N n1 "])[0];
    kill(Pid::from_raw(agent), Signal::SIGSTOP).expect("the agent is there");
    until("it has ended where nobody is heard", || (sleeps("sleep 4712 ") == 0).then_some(()));
    until("it runs on the other node", || {
        assert!(sleeps("sleep 4712 ") <= 1, "it runs twice");
        (cluster.squeue(&job, "%T %N") == "RUNNING n2" && sleeps("sleep 4712 ") == 1).then_some(())
    });
    assert_eq!(cluster.squeue(&stays, "%T %N"), "RUNNING n1", "who did not ask for it runs on");
    assert_eq!(sleeps("sleep 4713 "), 1);
    kill(Pid::from_raw(agent), Signal::SIGCONT).expect("the agent is there");
    until("the node is back", || {
        (!cluster.run("sinfo -h -N -n n1 -o %T").stdout.contains("down")).then_some(())
    });
    let runs = fs::read_to_string(cluster.work_dir().join("runs")).expect("it ran");
    assert_eq!(runs, "n1\nn2\n");
    cluster.run(&format!("scancel {job} {stays}"));
}

#[test]
fn who_is_suspended_hears_nothing_when_its_job_is_cancelled() {
    let cluster = Cluster::up("n1", 1);
    let script = "trap 'echo CONT >> heard' CONT; trap 'echo TERM >> heard' TERM; trap 'echo TSTP >> heard' TSTP\n\
                  echo ready >> heard; while :; do sleep 0.1; done";
    let job = cluster.run_words("sbatch", &["--parsable", "--wrap", script]).stdout;
    let job = job.trim();
    let heard = || fs::read_to_string(cluster.work_dir().join("heard")).unwrap_or_default();
    until("it runs", || (heard() == "ready\n").then_some(()));
    assert_eq!(cluster.run(&format!("scontrol suspend {job}")).status, 0);
    until("it is told", || (heard() == "ready\nTSTP\n").then_some(()));
    assert_eq!(cluster.run(&format!("scancel {job}")).status, 0);
    until("it is over", || (cluster.squeue(job, "%T") == "CANCELLED").then_some(()));
    assert_eq!(heard(), "ready\nTSTP\n");
}

#[test]
fn a_port_that_a_stranger_has_is_not_lent() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("spur.conf");
    // Somebody has a port, and the only other one is the next.
    let (stranger, port) = (14_000..14_900)
        .step_by(2)
        .find_map(|port| {
            let next = std::net::TcpListener::bind(("0.0.0.0", port + 1)).ok()?;
            drop(next);
            Some((std::net::TcpListener::bind(("0.0.0.0", port)).ok()?, port))
        })
        .expect("two ports are free");
    let text = format!("[agent]\nrendezvous_ports = \"{port}-{}\"\n", port + 1);
    fs::write(&config, text).expect("writes");
    let cluster = Cluster::up_with("n1", 2, &["--config", &config.display().to_string()]);
    for _ in 0..2 {
        let ran = cluster.run_words("srun", &["-n2", "sh", "-c", "echo $MASTER_PORT"]);
        let free = port + 1;
        assert_eq!(ran.stdout, format!("{free}\n{free}\n"), "{}", ran.stderr);
    }
    drop(stranger);
}
