//! `scontrol` changes jobs, nodes and partitions.

use spur_tests::harness::{Cluster, until};

fn submit(cluster: &Cluster, words: &[&str]) -> String {
    let words = [&["--parsable"], words, &["--wrap", "sleep 300"]].concat();
    let done = cluster.run_words("sbatch", &words);
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.trim().to_string()
}

fn done(cluster: &Cluster, line: &str) {
    let told = cluster.run(line);
    assert_eq!((told.status, told.stderr.as_str()), (0, ""), "{line}");
}

#[test]
fn jobs_are_held_released_suspended_and_changed() {
    let cluster = Cluster::up("n1", 1);
    let job = submit(&cluster, &["-H", "-J", "a"]);
    until("it is held", || (cluster.squeue(&job, "%r") == "JobHeldUser").then_some(()));
    done(&cluster, &format!("scontrol update jobid={job} timelimit=7 jobname=b"));
    assert_eq!(cluster.squeue(&job, "%l %j"), "7:00 b");
    done(&cluster, &format!("scontrol release {job}"));
    until("it runs", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    done(&cluster, &format!("scontrol suspend {job}"));
    until("it stands still", || (cluster.squeue(&job, "%T") == "SUSPENDED").then_some(()));
    done(&cluster, &format!("scontrol resume {job}"));
    until("it goes on", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    done(&cluster, &format!("scontrol requeuehold {job}"));
    until("it waits again", || (cluster.squeue(&job, "%T") == "PENDING").then_some(()));
}

#[test]
fn nodes_are_drained_and_resumed() {
    let cluster = Cluster::up("n1", 1);
    let drain = ["update", "nodename=n1", "state=drain", "reason=bad disk"];
    assert_eq!(cluster.run_words("scontrol", &drain).status, 0);
    assert_eq!(cluster.run("sinfo -h -o %t,%E").stdout, "drain,bad disk\n");
    assert!(cluster.run("sinfo -h -R").stdout.starts_with("bad disk             "));
    done(&cluster, "scontrol update node n1 state=resume");
    assert_eq!(cluster.run("sinfo -h -o %t,%E").stdout, "idle,none\n");
}

#[test]
fn refusals_are_slurms() {
    let cluster = Cluster::up("n1", 1);
    let table = [
        ("scontrol hold", "too few arguments for keyword:hold"),
        ("scontrol hold 999", "Invalid job id specified for job 999"),
        ("scontrol requeue 999", "Invalid job id specified for job 999"),
        ("scontrol hold word", "Invalid job id specified for job word"),
        ("scontrol update", "too few arguments for update keyword"),
        ("scontrol update foo=bar", "No valid entity in update command"),
        ("scontrol update jobid=1", "No changes specified"),
        ("scontrol update jobid=1 foo", "Invalid input: foo"),
        ("scontrol update jobid=1 foo=1", "Update of this parameter is not supported: foo=1"),
        ("scontrol update jobid=1 timelimit=xx", "scontrol: error: Invalid TimeLimit value"),
        ("scontrol update jobid=1 starttime=x", "Invalid time specification (pos=0): x"),
        ("scontrol update jobid=999 timelimit=1", "Invalid job id specified for job 999"),
        ("scontrol update nodename=n1", "No changes specified"),
        ("scontrol update nodename=n1 state=bogus", "Invalid input: state=bogus"),
        ("scontrol update nodename=n1 foo=1", "Update of this parameter is not supported: foo=1"),
        (
            "scontrol update nodename=n1 state=drain",
            "You must specify a reason when DOWNING or DRAINING a node. Request denied",
        ),
        (
            "scontrol update nodename=nosuch state=resume",
            "slurm_update error: Invalid node name specified",
        ),
        ("scontrol update partition=default", "scontrol: error: No changes specified"),
        ("scontrol create foo=1", "scontrol: error: Invalid creation entity: foo=1"),
        ("scontrol delete foo=1", "Invalid deletion entity: foo=1"),
    ];
    for (line, message) in table {
        let told = cluster.run(line);
        let first = told.stderr.lines().next().unwrap_or_default();
        assert_eq!((told.status, first), (1, message), "{line}");
    }
}
