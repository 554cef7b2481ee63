//! Arrays and dependencies, with the real binaries.

use std::fs;

use spur_tests::harness::{Cluster, until};

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.work_dir().join(file)).unwrap_or_default()
}

fn submit(cluster: &Cluster, words: &[&str]) -> String {
    let words: Vec<&str> = ["--parsable"].iter().chain(words).copied().collect();
    let done = cluster.run_words("sbatch", &words);
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.trim().to_string()
}

#[test]
fn every_task_of_an_array_runs_once_with_its_own_variables_and_file() {
    let cluster = Cluster::up("n1", 4);
    let script = "echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT \
                  $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX $SLURM_ARRAY_TASK_STEP";
    let array = submit(&cluster, &["--array=1-7:2", "--wait", "--wrap", script]);
    for task in [1, 3, 5, 7] {
        let file = format!("slurm-{array}_{task}.out");
        until(&file, || (!read(&cluster, &file).is_empty()).then_some(()));
        assert_eq!(read(&cluster, &file), format!("{array} {task} 4 1 7 2\n"));
    }
}

/// Slurm's number for no task stands in the names of an array that waits as a whole.
#[test]
fn a_waiting_task_is_shown_with_the_file_it_will_write() {
    let cluster = Cluster::up("n1", 1);
    let array = submit(&cluster, &["--hold", "--array=5-7", "-e", "%A-%a.err", "--wrap", "true"]);
    let shows = |what: &str, name: &str, file: &str| {
        let shown = cluster.run(&format!("scontrol show job {what}")).stdout;
        let line = shown.lines().find(|line| line.trim_start().starts_with(name));
        assert!(line.is_some_and(|line| line.ends_with(&format!("/{file}"))), "{file}: {shown}");
    };
    shows(&format!("{array}_5"), "StdOut=", &format!("slurm-{array}_5.out"));
    shows(&format!("{array}_5"), "StdErr=", &format!("{array}-5.err"));
    let whole = format!("slurm-{array}_4294967294.out");
    shows(&array, "StdOut=", &whole);
    let column = cluster.run("squeue -h -O STDOUT:200").stdout;
    assert!(column.trim_end().ends_with(&format!("/{whole}")), "{column}");
    assert!(cluster.run("squeue --json").stdout.contains(&whole));
}

#[test]
fn waiting_tasks_are_one_line_and_a_throttle_holds() {
    let cluster = Cluster::up("n1", 4);
    let array = submit(&cluster, &["--array=1-5%2", "--wrap", "sleep 300"]);
    until("two tasks run, three wait", || {
        let lines = cluster.run_words("squeue", &["-h", "-S", "i", "-o", "%i %t %r"]).stdout;
        let expected = [
            format!("{array}_[3-5%2] PD JobArrayTaskLimit"),
            format!("{array}_1 R None"),
            format!("{array}_2 R None"),
        ];
        expected.iter().all(|line| lines.lines().any(|shown| shown == line)).then_some(())
    });
    assert_eq!(cluster.run(&format!("scancel {array}_1")).status, 0);
    until("the next task runs", || {
        let lines = cluster.run_words("squeue", &["-h", "-o", "%i %t"]).stdout;
        lines.contains(&format!("{array}_3 R")).then_some(())
    });
    assert_eq!(cluster.run(&format!("scancel {array}")).status, 0);
    until("nothing is left", || cluster.run("squeue -h").stdout.is_empty().then_some(()));
}

#[test]
fn a_job_starts_when_what_it_waits_for_has_come_true() {
    let cluster = Cluster::up("n1", 4);
    let first = submit(&cluster, &["--hold", "--wrap", "exit 3"]);
    let ok = submit(&cluster, &["-d", &format!("afterok:{first}"), "--wrap", "true"]);
    let not_ok = submit(&cluster, &["-d", &format!("afternotok:{first}"), "--wrap", "echo ran"]);
    until("all know what they wait for", || {
        let lines = cluster.run_words("squeue", &["-h", "-o", "%i %r"]).stdout;
        let expected = [
            format!("{first} JobHeldUser"),
            format!("{ok} Dependency"),
            format!("{not_ok} Dependency"),
        ];
        expected.iter().all(|line| lines.lines().any(|shown| shown == line)).then_some(())
    });
    assert_eq!(cluster.run(&format!("scontrol release {first}")).status, 0);
    let file = format!("slurm-{not_ok}.out");
    until("the one for failures runs", || (read(&cluster, &file) == "ran\n").then_some(()));
    assert_eq!(cluster.squeue(&ok, "%t %r"), "PD DependencyNeverSatisfied");
}

#[test]
fn waiting_tasks_share_a_line_also_when_some_were_changed() {
    let cluster = Cluster::up("n1", 1);
    let array = submit(&cluster, &["-H", "--array=1-4%2", "--wrap", "true"]);
    let lines = |options: &str| {
        let told = cluster.run(&format!("squeue -h -S i -o %i {options}")).stdout;
        told.lines().map(|line| line.replacen(&array, "A", 1)).collect::<Vec<_>>()
    };
    cluster.run(&format!("scontrol update jobid={array}_3 comment=x"));
    assert_eq!(lines(""), ["A_[1-4]"]);
    let mut each = lines("-r");
    each.sort();
    assert_eq!(each, ["A_1", "A_2", "A_3", "A_4"]);
    assert_eq!(lines(&format!("-j {array}_2,{array}_4")), ["A_[2,4]"]);
    assert_eq!(lines(&format!("-j {array}_2")), ["A_2"]);
    cluster.run(&format!("scontrol update jobid={array}_3 name=other"));
    let mut apart = lines("");
    apart.sort();
    assert_eq!(apart, ["A_3", "A_[1-2,4%2]"]);
}
