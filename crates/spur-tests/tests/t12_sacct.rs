//! `sacct` with the real binaries: steps, arrays, requeues, usage.

#[path = "../../spurdbd/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use spur_tests::harness::{Cluster, until};

fn sacct(cluster: &Cluster, line: &str) -> Vec<String> {
    let done = cluster.run(&format!("sacct -n -P {line}"));
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.lines().map(str::to_string).collect()
}

fn submit(cluster: &Cluster, words: &[&str]) -> String {
    let words: Vec<&str> = ["--parsable"].iter().chain(words).copied().collect();
    let done = cluster.run_words("sbatch", &words);
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.trim().to_string()
}

/// Two steps, the second of which fails; the script ends well all the same.
const SCRIPT: &str = "#!/bin/bash
$1 -J busy -n2 bash -c 'for ((i = 0; i < 20000; i++)); do :; done'
$1 -n1 false
exit 0
";

#[test]
fn steps_tasks_and_runs_have_lines_of_their_own() {
    let more = ["--set", "jobs.requeue_delay=0", "--set", "accounting.track_wckey=true"];
    let cluster = Cluster::up_with("n[1-2]", 4, &more);
    let script = cluster.work_dir().join("steps.sh");
    fs::write(&script, SCRIPT).expect("a script");
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("permissions");
    let srun = cluster.tool("srun");
    let job = submit(&cluster, &["--wait", "-N2", "-n2", "-J", "steps", "steps.sh", &srun]);
    assert_eq!(
        sacct(
            &cluster,
            &format!("-j {job} -o JobID,JobName,State,ExitCode,DerivedExitCode,NTasks")
        ),
        [
            format!("{job}|steps|COMPLETED|0:0|1:0|"),
            format!("{job}.batch|batch|COMPLETED|0:0||1"),
            format!("{job}.0|busy|COMPLETED|0:0||2"),
            format!("{job}.1|false|FAILED|1:0||1"),
        ]
    );
    let used = sacct(&cluster, &format!("-j {job}.0 -o JobID,MaxRSS,TotalCPU,MaxRSSNode,UserCPU"));
    let fields: Vec<&str> = used[0].split('|').collect();
    assert!(!fields[1].is_empty() && fields[1] != "0", "memory was measured: {used:?}");
    assert_ne!(fields[4], "00:00:00", "processor time was measured: {used:?}");
    assert!(fields[3].starts_with('n'), "{used:?}");

    // All of a node's memory is asked for as what it is; who names no key has their own, with a star.
    let all = submit(&cluster, &["--wait", "-n1", "--mem=0", "--wrap", "exit 0"]);
    let told = sacct(&cluster, &format!("-X -j {all} -o ReqTRES,AllocTRES,ReqMem,WCKey"));
    let fields: Vec<&str> = told[0].split('|').collect();
    assert!(fields[0] == fields[1] && fields[0].contains("mem="), "{told:?}");
    assert!(fields[0].contains(&format!("mem={}", fields[2])) && fields[3] == "*", "{told:?}");
    assert!(cluster.run("sacctmgr show user").stdout.contains("Def WCKey"));

    let array = submit(&cluster, &["-W", "--array=1-2", "--wrap", "exit 0"]);
    let mut lines = sacct(&cluster, &format!("-X -j {array} -o JobID,State"));
    lines.sort();
    assert_eq!(lines, [1, 2].map(|task| format!("{array}_{task}|COMPLETED")));
    let part = sacct(&cluster, &format!("-X -j {array}_[2,5] -o JobID"));
    assert_eq!(part, [format!("{array}_2")]);
    let odd = cluster.run("sacct something");
    assert_eq!((odd.status, odd.stderr.lines().count()), (1, 2), "{}", odd.stderr);

    let again = submit(&cluster, &["--wrap", "sleep 300"]);
    let state = || cluster.squeue(&again, "%t");
    until("it runs", || (state() == "R").then_some(()));
    assert_eq!(cluster.run(&format!("scontrol requeue {again}")).status, 0);
    until("it runs once more", || {
        let lines = sacct(&cluster, &format!("-D -X -j {again} -o State"));
        (lines == ["REQUEUED", "RUNNING"]).then_some(())
    });
    let requeued = sacct(&cluster, "-D -X -s requeued -S now-1hour -E now -o JobID,State");
    assert_eq!(requeued, [format!("{again}|REQUEUED")]);
    assert_eq!(cluster.run(&format!("scancel {again}")).status, 0);
    until("the last run is shown alone", || {
        let lines = sacct(&cluster, &format!("-X -j {again} -o State"));
        lines.iter().any(|line| line.starts_with("CANCELLED by")).then_some(lines.len() == 1)
    });
}

/// One step with all GPUs of its job, and one that asks for one of them.
const GPU_STEPS: &str = "#!/bin/bash
$1 -n1 true
$1 -n1 --gpus=1 true
";

#[test]
fn gpus_of_steps_and_notes_of_administrators_are_kept() {
    let cluster = Cluster::up_with("n1", 4, &["--gres", "gpu:mi300x:2"]);
    let script = cluster.work_dir().join("gpus.sh");
    fs::write(&script, GPU_STEPS).expect("a script");
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("permissions");
    let srun = cluster.tool("srun");
    let job = submit(&cluster, &["--wait", "-n2", "--gpus=2", "gpus.sh", &srun]);
    let lines = sacct(&cluster, &format!("-j {job} -o JobID,AllocTRES"));
    let gpus: Vec<(&str, Vec<&str>)> = lines
        .iter()
        .map(|line| {
            let (id, tres) = line.split_once('|').expect("two columns");
            (id, tres.split(',').filter(|it| it.starts_with("gres/")).collect())
        })
        .collect();
    let both = vec!["gres/gpu:mi300x=2", "gres/gpu=2"];
    let one = vec!["gres/gpu:mi300x=1", "gres/gpu=1"];
    let id = |step: &str| format!("{job}{step}");
    let ids = [id(""), id(".batch"), id(".0"), id(".1")];
    let expected = [both.clone(), both.clone(), both, one];
    let expected: Vec<(&str, Vec<&str>)> = ids.iter().map(String::as_str).zip(expected).collect();
    assert_eq!(gpus, expected);

    let waits = submit(&cluster, &["-H", "--comment=own", "--wrap", "true"]);
    let note = format!("scontrol update jobid={waits} admincomment=checked");
    assert_eq!(cluster.run(&note).status, 0);
    let kept = sacct(&cluster, &format!("-X -j {waits} -o Comment,AdminComment"));
    assert_eq!(kept, ["own|checked"]);
    // Held until it was cancelled, it never was to run: only its number finds it.
    assert_eq!(cluster.run(&format!("scancel {waits}")).status, 0);
    until("it is over", || {
        let lines = sacct(&cluster, &format!("-X -j {waits} -o State,Eligible"));
        let over = lines.first().filter(|line| line.starts_with("CANCELLED"))?;
        assert!(over.ends_with("|Unknown"), "{over}");
        Some(())
    });
    let window = sacct(&cluster, "-X -S now-1hour -o JobID");
    assert!(!window.contains(&waits), "{window:?}");
}

#[test]
fn history_is_kept_in_the_database_that_the_configuration_names() {
    let elsewhere = tempfile::tempdir().expect("a directory");
    let server = postgres::Server::start();
    let file = format!("sqlite:{}", elsewhere.path().join("history.db").display());
    let urls = server.iter().map(|server| server.url()).chain([file]);
    for url in urls {
        let set = format!("accounting.database_url={url}");
        let cluster = Cluster::up_with("n1", 2, &["--set", &set]);
        let job = submit(&cluster, &["-W", "--wrap", "exit 0"]);
        until("it is history", || {
            let told = sacct(&cluster, &format!("-X -j {job} -o JobID,State"));
            (told == [format!("{job}|COMPLETED")]).then_some(())
        });
        let stats = cluster.run("sacctmgr show stats").stdout;
        let engine = url.split(':').next().expect("a scheme");
        assert!(stats.contains(&format!("Database: {engine}")), "{stats}");
        assert!(!cluster.dir().join("accounting.db").exists(), "nothing is kept beside it");
    }
}

#[test]
fn whoever_starts_a_cluster_is_told_that_accounting_does_not_come_up() {
    let cluster = Cluster::up("n1", 2);
    cluster.down();
    let url = "accounting.database_url=postgresql://nobody@127.0.0.1:1/nowhere";
    let said = cluster.start_with("n1", 2, &["--set", url]);
    assert!(said.contains("spur: spurdbd does not come up: "), "{said}");
    assert!(said.contains("spurdbd.log"), "{said}");
    assert_eq!(cluster.run("sbatch -W --wrap true").status, 0, "jobs run all the same");
}
