//! The path of a job through the real binaries, as a user sees it.

use std::fs;

use spur_core::job::JobStatus;
use spur_tests::harness::{Cluster, until};

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.work_dir().join(file)).unwrap_or_default()
}

/// The job's columns as squeue shows them, ended or not.
fn squeue(cluster: &Cluster, job: &str, format: &str) -> String {
    let shown = cluster.run_words("squeue", &["-h", "-t", "all", "-j", job, "-o", format]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    shown.stdout.trim_end().to_string()
}

#[test]
fn a_job_runs_and_its_exit_status_comes_back() {
    let cluster = Cluster::up("n[1-2]", 4);
    let script = "echo out; echo err >&2; exit 7";
    let words = ["-J", "both", "-o", "%x-%j.out", "-e", "err.txt", "--wait", "--wrap", script];
    let done = cluster.run_words("sbatch", &words);
    assert_eq!((done.status, done.stdout.as_str()), (7, "Submitted batch job 2\n"));
    assert_eq!(read(&cluster, "both-2.out"), "out\n");
    assert_eq!(read(&cluster, "err.txt"), "err\n");
    assert_eq!(squeue(&cluster, "2", "%j %T %N"), "both FAILED n1");
}

#[test]
fn scripts_bring_their_options_and_get_their_arguments() {
    let cluster = Cluster::up("n1", 4);
    let script = "#!/bin/bash\n#SBATCH -J named\n#SBATCH --cpus-per-task=3\n\
                  echo \"$SLURM_JOB_NAME $SLURM_CPUS_PER_TASK $SLURM_SUBMIT_DIR $1 $2\"\n";
    fs::write(cluster.work_dir().join("job.sh"), script).expect("writes");
    let done = cluster.run("sbatch --parsable --wait -J louder job.sh one two");
    assert_eq!((done.status, done.stdout.as_str()), (0, "2\n"));
    let here = cluster.work_dir().display().to_string();
    assert_eq!(read(&cluster, "slurm-2.out"), format!("louder 3 {here} one two\n"));
}

#[test]
fn jobs_wait_for_room_and_say_why() {
    let cluster = Cluster::up("n[1-2]", 2);
    for line in ["-N2 -n4", "-n1", "-n1"] {
        let words: Vec<&str> = line.split(' ').chain(["--wrap", "sleep 300"]).collect();
        assert_eq!(cluster.run_words("sbatch", &words).status, 0);
    }
    until("the first job runs", || (squeue(&cluster, "2", "%t") == "R").then_some(()));
    until("the others know why they wait", || {
        let reasons = cluster.run_words("squeue", &["-h", "-t", "PD", "-o", "%i %r"]).stdout;
        (reasons == "3 Resources\n4 Priority\n").then_some(())
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
    assert_eq!(squeue(&cluster, "3", "%T"), "CANCELLED");
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
fn refusals_are_slurms() {
    let cluster = Cluster::up("n1", 4);
    let table = [
        ("sbatch -t bad --wrap=true", 255, "sbatch: error: Invalid --time specification"),
        ("sbatch --bogus", 255, "sbatch: unrecognized option '--bogus'"),
        (
            "sbatch -p nosuch --wrap=true",
            1,
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
        ),
        ("sbatch nosuch.sh", 1, "sbatch: error: Unable to open file nosuch.sh"),
        ("squeue --bogus", 1, "squeue: unrecognized option '--bogus'"),
    ];
    for (line, status, message) in table {
        let refused = cluster.run(line);
        let first = refused.stderr.lines().next().unwrap_or_default();
        assert_eq!((refused.status, first), (status, message), "{line}");
    }
}

#[test]
fn jobs_outlive_a_cluster_that_is_stopped_around_them() {
    let cluster = Cluster::up("n1", 2);
    let script = "touch begun; until [ -e go ]; do sleep 0.01; done; echo done";
    cluster.run_words("sbatch", &["--wrap", script]);
    until("it runs", || cluster.work_dir().join("begun").exists().then_some(()));
    let refused =
        cluster.run_words("spur", &["down", "--dir", &cluster.dir().display().to_string()]);
    assert_eq!(refused.status, 1, "a running job is not ended by accident: {}", refused.stderr);
    let dir = cluster.dir().display().to_string();
    let down = cluster.run_words("spur", &["down", "--keep-jobs", "--dir", &dir]);
    assert_eq!(down.status, 0, "{}", down.stderr);
    assert_eq!(cluster.processes().with(&["spurctld"]).len(), 0);
    fs::write(cluster.work_dir().join("go"), "").expect("writes");
    until("it ends by itself", || (read(&cluster, "slurm-2.out") == "done\n").then_some(()));
    cluster.start("n1", 2);
    until("its end is recorded", || (squeue(&cluster, "2", "%T") == "COMPLETED").then_some(()));
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
