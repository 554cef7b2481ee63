//! The queue: `squeue` and `sinfo`, their filters and exit statuses.

use spur_tests::harness::{Cluster, until};

/// Jobs 2 (running, `a`), 3 (running, `b`) and 4 (pending, `c`) on one node of two processors.
fn busy() -> Cluster {
    let cluster = Cluster::up("n1", 2);
    for name in ["a", "b", "c"] {
        let submitted = cluster.run_words("sbatch", &["-J", name, "--wrap", "sleep 300"]);
        assert_eq!(submitted.status, 0, "{}", submitted.stderr);
    }
    until("two run, one waits", || {
        let states = cluster.run("squeue -h -o %t").stdout;
        (states == "PD\nR\nR\n").then_some(())
    });
    cluster
}

#[test]
fn filters_choose_jobs() {
    let cluster = busy();
    let table = [
        ("squeue -h -o %i", "4 2 3"),
        ("squeue -h -o %i -t PD", "4"),
        ("squeue -h -o %i -t running", "2 3"),
        ("squeue -h -o %i -n a,c", "4 2"),
        ("squeue -h -o %i -j 3", "3"),
        ("squeue -h -o %i -j 3,2", "2 3"),
        ("squeue -h -o %i --me", "4 2 3"),
        ("squeue -h -o %i -p default", "4 2 3"),
        ("squeue -h -o %i -p nosuch", ""),
        ("squeue -h -o %i -t all", "4 2 3 1"),
        ("squeue -h -O jobid:5,name:4", "4    c 2    a 3    b"),
    ];
    for (line, expected) in table {
        let shown = cluster.run(line);
        let lines: Vec<&str> = shown.stdout.lines().map(str::trim_end).collect();
        assert_eq!((shown.status, lines.join(" ").as_str()), (0, expected), "{line}");
    }
}

#[test]
fn questions_that_cannot_be_answered_are_refused() {
    let cluster = Cluster::up("n1", 1);
    let table = [
        ("squeue -j 99", 1, "slurm_load_jobs error: Invalid job id specified"),
        ("squeue -t bogus", 1, "squeue: error: Invalid job state specified: bogus"),
        ("sinfo --bogus", 1, "sinfo: unrecognized option '--bogus'"),
        ("scancel", 1, "scancel: error: No job identification provided"),
    ];
    for (line, status, message) in table {
        let refused = cluster.run(line);
        let first = refused.stderr.lines().next().unwrap_or_default();
        assert_eq!((refused.status, first), (status, message), "{line}");
    }
}

#[test]
fn a_closed_pipe_is_no_trouble() {
    let cluster = busy();
    let bin = cluster.dir().join("bin/squeue").display().to_string();
    let line = format!("{bin} | true; echo ${{PIPESTATUS[0]}}");
    let done = std::process::Command::new("bash").args(["-c", &line]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "0\n");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}
