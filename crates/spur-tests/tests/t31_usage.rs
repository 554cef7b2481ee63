//! What steps use: `sstat` while they run, `sacct` when they are over.

use spur_tests::harness::{Cluster, until};

#[test]
fn whoever_waits_is_told_how_well_a_job_used_what_it_held() {
    let cluster = Cluster::up("n1", 2);
    let job = cluster.run("sbatch --parsable --wrap true").stdout;
    let waited = cluster.run_words("spur", &["wait", "-v", job.trim()]);
    assert_eq!(waited.stdout, format!("{} wrap COMPLETED 0:0\n", job.trim()));
    let line = format!("{} used ", job.trim());
    assert!(
        waited.stderr.starts_with(&line) && waited.stderr.contains(" of 1 core over "),
        "{}",
        waited.stderr
    );
    let quiet = cluster.run_words("spur", &["wait", job.trim()]);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_running_step_is_measured_on_all_its_nodes() {
    let cluster = Cluster::up("n[1-2]", 2);
    let srun = cluster.tool("srun");
    // Each task reads and writes a million bytes and holds thirty million, until a file is there.
    let task = "head -c 1000000 /dev/zero > written.$SLURM_PROCID; \
                a=$(head -c 30000000 /dev/zero | tr '\\\\0' x); \
                while ! [ -e go ]; do sleep 0.1; done";
    let script = format!("{srun} bash -c \"{}\"", task.replace('$', "\\$"));
    let job = cluster.run_words("sbatch", &["--parsable", "-N2", "-n2", "--wrap", &script]);
    let job = job.stdout.trim().to_string();
    let shown = until("the tasks hold what they hold", || {
        let line = "-n -P -o JobID,NTasks,MaxRSS,MaxVMSize,AveDiskWrite,MaxRSSNode,Nodelist";
        let told = cluster.run(&format!("sstat -j {job} --noconvert {line}"));
        let fields: Vec<String> = told.stdout.trim().split('|').map(str::to_string).collect();
        let number = |at: usize| fields.get(at).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        (number(1) == 2 && number(2) > 30_000_000).then_some(fields)
    });
    assert_eq!(shown[0], format!("{job}.0"));
    assert!(shown[3].parse::<u64>().expect("a number") > 30_000_000, "{shown:?}");
    assert!(shown[4].parse::<u64>().expect("a number") >= 1_000_000, "{shown:?}");
    assert!(shown[5].starts_with('n') && shown[6] == "n[1-2]", "{shown:?}");

    let all = cluster.run(&format!("sstat -a -n -P -o JobID,Pids -j {job}")).stdout;
    let steps: Vec<&str> = all.lines().filter_map(|line| line.split('|').next()).collect();
    assert_eq!(steps, [format!("{job}.batch"), format!("{job}.0")], "{all}");
    let by_node = cluster.run(&format!("sstat -i -n -P -j {job}.0")).stdout;
    assert_eq!(by_node.lines().count(), 2, "{by_node}");
    let unknown = cluster.run("sstat -n -j 4711");
    assert_eq!(unknown.stderr, "sstat: error: couldn't get steps for job 4711\n");

    std::fs::write(cluster.work_dir().join("go"), "").expect("writes");
    until("the job is over", || (cluster.squeue(&job, "%T") == "COMPLETED").then_some(()));
    let columns = "JobID,MaxRSS,MaxVMSize,AveDiskWrite,AveDiskRead";
    let rows = until("accounting has it", || {
        let told = cluster.run(&format!("sacct -n -P --noconvert -j {job}.0 -o {columns}")).stdout;
        let fields: Vec<String> = told.trim().split('|').map(str::to_string).collect();
        (fields.len() == 5 && !fields[1].is_empty()).then_some(fields)
    });
    let number = |at: usize| rows[at].trim_end_matches('M').parse::<f64>().unwrap_or(0.0);
    assert!(number(1) > 30_000_000.0 && number(2) >= number(1), "{rows:?}");
    assert!(number(3) > 0.9 && number(4) > 0.9, "read and written: {rows:?}");
}
