//! The queue: `squeue` and `sinfo`, their filters and exit statuses.

use spur_core::fields::job::JOB_FIELDS;
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

/// Each column by itself is fetched with nothing else; all of them together are the whole record.
#[test]
fn a_projection_tells_what_the_whole_record_tells() {
    let cluster = busy();
    for line in ["-H -d singleton", "--array=1-9%2 -a 3-5", "-N 2", "--begin=now+1hour -t 7"] {
        assert_eq!(cluster.run(&format!("sbatch {line} --wrap true")).status, 0, "{line}");
    }
    // These move on between two looks.
    let moving = ["TimeUsed", "TimeLeft", "PendingTime", "LastSchedEval"];
    let names = JOB_FIELDS.iter().map(|field| field.name);
    let names: Vec<&str> =
        names.filter(|name| !name.is_empty() && !moving.contains(name)).collect();
    let columns: Vec<String> = names.iter().map(|name| format!("{name}:60|")).collect();
    let whole = cluster.run(&format!("squeue -h -O {}", columns.join(","))).stdout;
    let whole: Vec<Vec<&str>> = whole.lines().map(|line| line.split('|').collect()).collect();
    assert_eq!(whole.len(), 7, "{whole:?}");
    for (place, (name, column)) in names.iter().zip(&columns).enumerate() {
        let alone = cluster.run(&format!("squeue -h -O {column}")).stdout;
        let told: Vec<&str> = alone.lines().map(|line| line.trim_end_matches('|')).collect();
        let expected: Vec<&str> = whole.iter().map(|line| line[place]).collect();
        assert_eq!(told, expected, "{name}");
    }
}

#[test]
fn filters_choose_jobs() {
    let cluster = busy();
    let table = [
        ("squeue -h -S i -o %i", "2 3 4"),
        ("squeue -h -S -i -o %i", "4 3 2"),
        ("squeue -h -o %t", "PD R R"),
        ("squeue -h -o %i -t PD", "4"),
        ("squeue -h -S i -o %i -t running", "2 3"),
        ("squeue -h -S i -o %i -n a,C", "2 4"),
        ("squeue -h -o %i -j 3", "3"),
        ("squeue -h -S i -o %i -j3,2", "2 3"),
        ("squeue -h -S i -o %i -j 3,99", "3"),
        ("squeue -h -S i -o %i --me", "2 3 4"),
        ("squeue -h -S i -o %i --notme", ""),
        ("squeue -h -S i -o %i -p default", "2 3 4"),
        ("squeue -h -o %i -p nosuch", ""),
        ("squeue -h -o %i -A nosuch", ""),
        ("squeue -h -S i -o %i -w n1", "2 3"),
        ("squeue -h -S -j -o %j", "c b a"),
        ("squeue -h -o %t -t all", "CD PD R R"),
        ("squeue -h -S i -O jobid:5,name:4", "2    a 3    b 4    c"),
        ("squeue -h -s -S i -o %i,%j,%P", "2.batch,batch,default 3.batch,batch,default"),
        ("squeue -h -s2.batch -o %i", "2.batch"),
        ("squeue --start -h -o %i", "4"),
        ("sinfo -h -o %D", "1"),
        ("sinfo -h -N -o %N,%t", "n1,alloc"),
        ("sinfo -h -t idle -o %P,%D", "default*,0"),
        ("sinfo -h -t alloc,mix -n n1 -o %D", "1"),
        ("sinfo -h -R", ""),
        ("squeue -h -s -S i -O ArrayJobID:2,tres-per-task", "0 (null) 0 (null)"),
        ("sinfo -h -d -o %P,%D", "default*,0"),
    ];
    for (line, expected) in table {
        let shown = cluster.run(line);
        let lines: Vec<&str> = shown.stdout.lines().map(str::trim_end).collect();
        let told = lines.join(" ");
        let told = told.trim();
        assert_eq!((shown.status, told), (0, expected), "{line}: {}", shown.stderr);
    }
}

#[test]
fn questions_that_cannot_be_answered_are_refused() {
    let cluster = Cluster::up("n1", 1);
    let table = [
        ("squeue -j 99", 1, "slurm_load_jobs error: Invalid job id specified"),
        ("squeue -j abc", 1, "squeue: error: Invalid job id: abc"),
        ("squeue -s7", 1, "squeue: error: Invalid job_step id: 7.??"),
        ("squeue -i 0", 1, "squeue: error: --iterate=0"),
        ("squeue -S k", 1, "squeue: error: Invalid sort specification: k"),
        ("squeue -w nosuch", 1, "squeue: error: Invalid node name nosuch"),
        (
            "squeue -o %i -O name",
            1,
            "squeue: error: -O (--Format) is incompatible with -o (--format)",
        ),
        ("squeue -M nosuch", 1, "squeue: error: No cluster 'nosuch' known by database."),
        ("squeue -u nosuch", 0, "squeue: error: Invalid user: nosuch"),
        ("squeue word", 1, "squeue: error: Unrecognized option: word"),
        ("sinfo -t bogus", 1, "sinfo: error: Bad state string: \"bogus\""),
        ("sinfo -i x", 1, "sinfo: error: Error: invalid entry for --iterate=x"),
        ("sinfo -O nosuch", 0, "sinfo: error: Invalid job format specification: nosuch"),
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
    let bin = cluster.tool("squeue");
    let line = format!("{bin} | true; echo ${{PIPESTATUS[0]}}");
    let done = std::process::Command::new("bash").args(["-c", &line]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "0\n");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

#[test]
fn waiting_returns_with_the_jobs_own_code() {
    let cluster = Cluster::up("n1", 1);
    let submit = |script: &str| {
        let words = ["--parsable", "-J", "w", "--wrap", script];
        cluster.run_words("sbatch", &words).stdout.trim().to_string()
    };
    let (good, bad) = (submit("true"), submit("exit 3"));
    let waited = cluster.run_words("spur", &["wait", &good, &bad]);
    assert_eq!(waited.status, 3, "{}", waited.stderr);
    assert_eq!(waited.stdout, format!("{good} w COMPLETED 0:0\n{bad} w FAILED 3:0\n"));
    let unknown = cluster.run_words("spur", &["wait", "999"]);
    assert_eq!(unknown.status, 1);
    assert_eq!(unknown.stderr, "spur wait: error: job 999: Invalid job id specified\n");
}
