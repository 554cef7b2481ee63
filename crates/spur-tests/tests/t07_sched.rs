//! The scheduler: what starts where, what waits, and why.

use std::fs;

use spur_core::job::JobStatus;
use spur_tests::harness::{Cluster, until};

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.work_dir().join(file)).unwrap_or_default()
}

#[test]
fn jobs_wait_for_room_and_say_why() {
    let cluster = Cluster::up("n[1-2]", 2);
    for line in ["-N2 -n4", "-N2 -n4", "-N2 -n4"] {
        let words: Vec<&str> = line.split(' ').chain(["--wrap", "sleep 300"]).collect();
        assert_eq!(cluster.run_words("sbatch", &words).status, 0);
    }
    until("the first job runs", || (cluster.squeue("2", "%t") == "R").then_some(()));
    until("the others know why they wait", || {
        let reasons = cluster.run_words("squeue", &["-h", "-t", "PD", "-o", "%i %r"]).stdout;
        (reasons == "4 Priority\n3 Resources\n").then_some(())
    });
    let line = cluster.run("squeue -j 2").stdout;
    let mut lines = line.lines();
    assert_eq!(
        lines.next(),
        Some(
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
        )
    );
    assert!(lines.next().is_some_and(|line| line.ends_with("      2 n[1-2]")), "{line}");
    let nodes = cluster.run("sinfo").stdout;
    let expected = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n\
                    default*     up   infinite      2  alloc n[1-2]\n";
    assert_eq!(nodes, expected);
}

#[test]
fn who_waits_for_nodes_out_of_service_is_told_which() {
    let cluster = Cluster::up("n[1-3]", 2);
    let drain = ["update", "nodename=n3", "state=drain", "reason=disk"];
    assert_eq!(cluster.run_words("scontrol", &drain).status, 0);
    for line in ["-N3", "-N3", "-n6", "-N2"] {
        assert_eq!(cluster.run_words("sbatch", &[line, "--wrap", "sleep 300"]).status, 0);
    }
    // The first of a partition has other words, as in Slurm.
    let expected = "2 Nodes required for job are DOWN, DRAINED or reserved for jobs in higher \
                    priority partitions\n\
                    3 ReqNodeNotAvail, UnavailableNodes:n3\n\
                    4 ReqNodeNotAvail, UnavailableNodes:n3\n\
                    5 None\n";
    until("everybody knows", || {
        let told = cluster.run_words("squeue", &["-h", "-S", "i", "-o", "%i %r"]).stdout;
        (told == expected).then_some(())
    });
}

#[test]
fn a_configuration_makes_the_partitions() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("spur.conf");
    let text = "cluster_name = \"trial\"\n\
                [[partitions]]\nname = \"short\"\ndefault = true\nnodes = \"n1\"\nmax_time = \"1:00:00\"\n\
                [[partitions]]\nname = \"long\"\nnodes = \"n[1-2]\"\n";
    fs::write(&file, text).expect("writes");
    let cluster = Cluster::up_with("n[1-2]", 2, &["--config", &file.display().to_string()]);
    let expected = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n\
                    short*       up    1:00:00      1   idle n1\n\
                    long         up   infinite      2   idle n[1-2]\n";
    assert_eq!(cluster.run("sinfo").stdout, expected);
    let done = cluster.run_words(
        "sbatch",
        &["-p", "long", "-N2", "--wait", "--wrap", "echo $SLURM_CLUSTER_NAME $SLURM_JOB_NODELIST"],
    );
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert_eq!(read(&cluster, "slurm-2.out"), "trial n[1-2]\n");
}

#[test]
fn cancelled_jobs_leave_nothing_behind() {
    let cluster = Cluster::up("n1", 4);
    let stubborn = "trap '' TERM; setsid sleep 500 & sleep 500; sleep 500";
    cluster.run_words("sbatch", &["--wrap", stubborn]);
    cluster.run_words("sbatch", &["-n4", "--wrap", "true"]);
    until("the job runs", || {
        let sleeping = cluster.processes().with(&["sleep 500"]);
        (sleeping.len() >= 2).then_some(())
    });
    assert_eq!(cluster.run("scancel 3").status, 0);
    assert_eq!(cluster.squeue("3", "%T"), "CANCELLED");
    let cancelled = cluster.run("scancel -v 2");
    assert_eq!((cancelled.status, cancelled.stderr.as_str()), (0, "scancel: Terminating job 2\n"));
    until("it is gone", || {
        let ended = cluster.jobs().iter().all(|job| JobStatus(job.state).base().is_ended());
        (ended && cluster.processes().with(&["sleep 500"]).is_empty()).then_some(())
    });
    let unknown = cluster.run("squeue -j 99");
    assert_eq!(unknown.status, 1);
    assert_eq!(unknown.stderr, "slurm_load_jobs error: Invalid job id specified\n");
    assert_eq!(cluster.run("scancel 99").status, 0);
}

#[test]
fn a_start_is_told_before_it_happens() {
    let cluster = Cluster::up("n[1-2]", 2);
    let trial = cluster.run_words("sbatch", &["--test-only", "-N2", "-n3", "--wrap", "true"]);
    let line = |tool: &str, tail: &str, said: &str| {
        let said = said.strip_prefix(&format!("{tool}: Job 2 to start at ")).unwrap_or(said);
        assert_eq!(said.get(19..), Some(tail), "{said}");
        said[..19].to_string()
    };
    let tail = " using 3 processors on nodes n[1-2] in partition default\n";
    line("sbatch", tail, &trial.stderr);
    assert_eq!((trial.status, trial.stdout.as_str()), (0, ""));
    let never = cluster.run("srun --test-only -N9 true");
    let refusal = "allocation failure: Requested node configuration is not available\n";
    assert_eq!((never.status, never.stderr.as_str()), (1, refusal));
    cluster.run_words("sbatch", &["-N2", "-n4", "-t", "10", "--wrap", "sleep 300"]);
    until("the job runs", || (cluster.squeue("2", "%t") == "R").then_some(()));
    // Its end is when the others start, as long as there is room for both.
    let end = cluster.squeue("2", "%e");
    let said = cluster.run("srun --test-only true").stderr.replacen("Job 3", "Job 2", 1);
    assert_eq!(line("srun", " using 1 processors on nodes n1 in partition default\n", &said), end);
    for _ in 0..2 {
        cluster.run_words("sbatch", &["-n2", "-t", "10", "--wrap", "true"]);
    }
    until("both are told their start", || {
        let words = ["--start", "-h", "-o", "%i %S %Y"];
        let told = cluster.run_words("squeue", &words).stdout;
        (told == format!("3 {end} n1\n4 {end} n2\n")).then_some(())
    });
}

#[test]
fn a_job_of_a_higher_tier_takes_the_place_of_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("spur.conf");
    let text = "[jobs]\nrequeue_delay = 0\n\
                [preemption]\nby = \"partition_tier\"\nmode = \"requeue\"\n\
                [[partitions]]\nname = \"low\"\ndefault = true\nnodes = \"ALL\"\n\
                [[partitions]]\nname = \"high\"\nnodes = \"ALL\"\npriority_tier = 10\n";
    fs::write(&file, text).expect("writes");
    let cluster = Cluster::up_with("n[1-2]", 2, &["--config", &file.display().to_string()]);
    for _ in 0..2 {
        cluster.run_words("sbatch", &["-n2", "--wrap", "sleep 300"]);
    }
    let states = || {
        let words = ["-h", "-t", "all", "-o", "%i %t", "-S", "i"];
        cluster.run_words("squeue", &words).stdout.replace('\n', " ")
    };
    until("both run", || states().contains("2 R 3 R").then_some(()));
    let high = cluster.run_words("sbatch", &["-p", "high", "-n2", "--wrap", "sleep 300"]);
    assert_eq!(high.status, 0, "{}", high.stderr);
    // One is enough.
    until("one makes room", || {
        let now = states();
        (now.contains("2 R 3 PD 4 R") || now.contains("2 PD 3 R 4 R")).then_some(())
    });
    cluster.run("scancel 4");
    until("it runs again", || states().contains("2 R 3 R").then_some(()));
}
