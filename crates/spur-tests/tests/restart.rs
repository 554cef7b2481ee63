//! Daemons come back in whatever order they like; nobody has to be started again by hand.

use spur_tests::harness::{Cluster, Processes, until};

/// Agents that dial while the controller is not the leader yet are turned away, and must come again.
#[test]
fn every_node_is_back_after_a_restart_of_everything() {
    let cluster = Cluster::up("n[1-3]", 1);
    for round in 1..=6 {
        let dir = cluster.dir().display().to_string();
        let down = cluster.run_words("spur", &["down", "--keep-jobs", "--dir", &dir]);
        assert_eq!(down.status, 0, "{}", down.stderr);
        cluster.start("n[1-3]", 1);
        let done =
            cluster.run_words("sbatch", &["-N3", "--wait", "-o", "/dev/null", "--wrap", "true"]);
        assert_eq!(done.status, 0, "round {round}: {}", done.stderr);
    }
}

#[test]
fn every_node_is_back_after_a_crash_of_the_controller() {
    let cluster = Cluster::up("n[1-3]", 1);
    for round in 1..=8 {
        let pid = until("the controller runs", || {
            cluster.processes().with(&["spurctld", "-D"]).into_iter().next()
        });
        Processes::kill(pid);
        // A job on each node, one after the other: all of them take work again.
        for node in 1..=3 {
            let words = ["-N3", "--wait", "-o", "/dev/null", "--wrap", "true"];
            let done = cluster.run_words("sbatch", &words);
            assert_eq!(done.status, 0, "round {round}, job {node}: {}", done.stderr);
        }
    }
}

#[test]
fn a_cluster_stopped_by_force_leaves_nothing_running_and_what_waits_waiting() {
    let cluster = Cluster::up("n[1-4]", 2);
    for _ in 0..8 {
        cluster.run_words("sbatch", &["-c2", "--wrap", "exec sleep 1000"]);
    }
    // An array has tasks that run and some that wait.
    cluster.run_words("sbatch", &["-c2", "--array=0-7%2", "--wrap", "exec sleep 1000"]);
    let count = |state: &str| {
        let shown = cluster.run_words("squeue", &["-h", "-r", "-t", state, "-o", "%A"]);
        shown.stdout.lines().count()
    };
    until("all nodes are busy", || (count("running") == 4).then_some(()));
    cluster.down();
    let left = cluster.processes().list();
    assert!(left.is_empty(), "still there: {left:?}");
    cluster.start("n[1-4]", 2);
    until("the next ones run", || (count("running") == 4).then_some(()));
    assert_eq!((count("cancelled"), count("pending")), (4, 8));
}
