//! Crontabs and triggers, with the real binaries.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use spur_tests::harness::{Cluster, until};

/// Hands a text to `scrontab` on its standard input; the exit status and what it complained of.
fn scrontab(cluster: &Cluster, text: &str) -> (Option<i32>, String) {
    let mut command = cluster.command("scrontab");
    let command = command.arg("-").stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("runs");
    let mut input = child.stdin.take().expect("has an input");
    input.write_all(text.as_bytes()).expect("is read");
    drop(input);
    let done = child.wait_with_output().expect("ends");
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn a_crontab_is_kept_and_its_jobs_wait_for_their_time() {
    let cluster = Cluster::up("n1", 4);
    let none = cluster.run("scrontab -l");
    assert_eq!(none.status, 1);
    assert!(none.stderr.starts_with("no crontab for "), "{}", none.stderr);
    let table = "# mine\n#SCRON -J night -t 5\n0 3 * * * true\n@yearly date\n";
    assert_eq!(scrontab(&cluster, table), (Some(0), String::new()));
    assert_eq!(cluster.run("scrontab -l").stdout, table);
    let rows = |cluster: &Cluster| cluster.run_words("squeue", &["-h", "-o", "%j %t %r"]).stdout;
    until("both wait", || {
        let rows = rows(&cluster);
        let both = ["night PD BeginTime", "date PD BeginTime"];
        both.iter().all(|row| rows.lines().any(|line| line == *row)).then_some(())
    });
    let is_cron = cluster.run_words("squeue", &["-h", "-n", "night", "-O", "CronJob:,TimeLimit:"]);
    assert_eq!(is_cron.stdout, "Yes5:00\n");

    let (status, complaint) = scrontab(&cluster, "@daily true\n#SCRON -p nowhere\n@hourly true\n");
    assert_eq!(status, Some(1));
    assert_eq!(
        complaint,
        "There was an issue with the job submission on lines 2-3\n\
         The error code return was: Invalid partition name specified\n"
    );
    assert_eq!(cluster.run("scrontab -l").stdout, table, "the one before is in force");

    assert_eq!(cluster.run("scancel -n night").status, 0);
    let disabled = table.replace("#SCRON", "#DISABLED: #SCRON").replace("0 3", "#DISABLED: 0 3");
    assert_eq!(cluster.run("scrontab -l").stdout, disabled);
    assert_eq!(cluster.run("scrontab -r").status, 0);
    until("no job is left", || rows(&cluster).is_empty().then_some(()));
}

#[test]
fn programs_of_triggers_are_run_once_and_told_what_happened() {
    let cluster = Cluster::up("n[1-2]", 4);
    let program = cluster.work_dir().join("told");
    let told = cluster.work_dir().join("told.log");
    let script = format!("#!/bin/sh\necho \"$@\" >>{}\n", told.display());
    fs::write(&program, script).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    let read = || fs::read_to_string(&told).unwrap_or_default();
    let set = |words: &[&str]| {
        let all = [&["--set", "-p", program.to_str().expect("is text")], words].concat();
        cluster.run_words("strigger", &all)
    };
    let job = cluster.run_words("sbatch", &["--parsable", "--wrap", "sleep 300"]);
    let job = job.stdout.trim();
    assert_eq!(set(&["--fini", "-j", job]).status, 0);
    assert_eq!(set(&["--node", "--drained", "--flags=PERM"]).status, 0);
    let again = set(&["--fini", "-j", job]);
    assert_eq!(again.stderr, "slurm_set_trigger: Duplicate event trigger\n");
    let unheard = set(&["--burst_buffer"]);
    let refusal = "slurm_set_trigger: Requested operation not supported on this system\n";
    assert_eq!((unheard.status, unheard.stderr.as_str()), (1, refusal));
    assert_eq!(cluster.run(&format!("scancel {job}")).status, 0);
    until("the end of the job is told", || (read() == format!("{job}\n")).then_some(()));
    let drain = cluster.run("scontrol update nodename=n[1-2] state=drain reason=test");
    assert_eq!(drain.status, 0);
    until("the nodes are told", || (read() == format!("{job}\nn[1-2]\n")).then_some(()));
    let left = cluster.run("strigger --get -N");
    assert!(left.stdout.contains(" drained ") && !left.stdout.contains(" fini "), "{left:?}");
    assert_eq!(cluster.run("strigger --clear --id=2").status, 0);
    let gone = cluster.run("strigger --clear --id=2");
    assert_eq!((gone.status, gone.stderr.as_str()), (1, "slurm_clear_trigger: No such process\n"));
}
