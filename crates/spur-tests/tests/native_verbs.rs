//! Spur's own verbs: why, plan, logs, exec, status, top, doctor.

use spur_tests::harness::{Cluster, until};

fn submit(cluster: &Cluster, words: &[&str], script: &str) -> String {
    let words = [&["--parsable"], words, &["--wrap", script]].concat();
    let done = cluster.run_words("sbatch", &words);
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.trim().to_string()
}

#[test]
fn a_waiting_job_is_explained_and_planned() {
    let cluster = Cluster::up("n[1-2]", 2);
    let first = submit(&cluster, &["-N2", "--exclusive", "-t10"], "sleep 300");
    until("it runs", || (cluster.squeue(&first, "%T") == "RUNNING").then_some(()));
    let waits = submit(&cluster, &["-N2", "-t5", "-J", "later"], "true");
    let held = submit(&cluster, &["-H"], "true");
    until("it waits", || (cluster.squeue(&waits, "%r") == "Resources").then_some(()));
    let told = cluster.run(&format!("spur why {waits}")).stdout;
    for part in ["(later, ", "has been PENDING for", "Needs 2 CPUs", "Estimated start: "] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    assert!(told.contains(&format!("Job {first} has to end first")), "{told}");
    let told = cluster.run(&format!("spur why {held}")).stdout;
    assert!(
        told.contains("its owner holds it") && told.contains(&format!("scontrol release {held}")),
        "{told}"
    );
    let json = cluster.run(&format!("spur why --json {waits}")).stdout;
    assert!(json.contains("\"reason\":\"Resources\"") && json.contains("\"expected\":{"), "{json}");
    let plan = cluster.run("spur plan").stdout;
    assert!(plan.lines().any(|line| line.trim_start().starts_with(&waits)), "{plan}");
    let tried = cluster.run("spur plan -N1 -t1 --wrap true");
    assert!(tried.stdout.starts_with("Would start "), "{}{}", tried.stdout, tried.stderr);
    assert_eq!(cluster.run("spur why 999").status, 1);
}

#[test]
fn what_a_job_writes_is_read_until_its_end() {
    let cluster = Cluster::up("n1", 2);
    let go = cluster.work_dir().join("go");
    let script =
        format!("echo first; while [ ! -e {} ]; do sleep 0.05; done; echo last", go.display());
    let job = submit(&cluster, &[], &script);
    until("it writes", || {
        cluster.run(&format!("spur logs {job}")).stdout.contains("first").then_some(())
    });
    let inside = cluster.run(&format!("spur exec {job} printenv SLURM_JOB_ID"));
    assert_eq!((inside.status, inside.stdout), (0, format!("{job}\n")), "{}", inside.stderr);
    let follower = cluster
        .command("spur")
        .args(["logs", "-f", &job])
        .stdout(std::process::Stdio::piped())
        .spawn();
    std::fs::write(&go, "").expect("written");
    let done = follower.expect("spur runs").wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "first\nlast\n");
    assert_eq!(cluster.run(&format!("spur logs -n1 {job}")).stdout, "last\n");
}

#[test]
fn the_cluster_is_shown_and_looked_after() {
    let cluster = Cluster::up("n1", 2);
    let status = cluster.run("spur status").stdout;
    assert!(status.contains("1 nodes, 1 idle") && status.contains("0 of 2"), "{status}");
    assert!(cluster.run("spur status --json").stdout.contains("\"cpus\":2"));
    assert!(cluster.run("spur top").stdout.contains("n1   idle"));
    let drain = ["update", "nodename=n1", "state=drain", "reason=bad disk"];
    assert_eq!(cluster.run_words("scontrol", &drain).status, 0);
    let told = cluster.run("spur doctor");
    assert_eq!(told.status, 1, "{}", told.stdout);
    assert!(told.stdout.contains("node n1 is idle+drain: bad disk"), "{}", told.stdout);
    assert!(told.stdout.contains("scontrol update nodename=n1 state=resume"), "{}", told.stdout);
}

#[test]
fn an_array_is_waited_for_as_a_whole_and_what_failed_runs_again() {
    let cluster = Cluster::up("n1", 4);
    let flag = cluster.work_dir().join("mended");
    let script = format!(
        "echo task $SLURM_ARRAY_TASK_ID; [ $SLURM_ARRAY_TASK_ID = 2 ] && [ ! -e {} ] && exit 5; true",
        flag.display()
    );
    let words = ["--array=1-4", "--parsable", "--wait", "-ot-%a", "--wrap", &script];
    let ran = cluster.run_words("sbatch", &words);
    // Slurm: the highest exit code of all tasks.
    assert_eq!(ran.status, 5, "{}", ran.stderr);
    let array = ran.stdout.trim().to_string();
    let waited = cluster.run(&format!("spur wait {array}"));
    assert_eq!(waited.status, 5);
    assert_eq!(waited.stdout, format!("{array}_2 wrap FAILED 5:0 (1 of 4 tasks failed)\n"));
    assert_eq!(cluster.run(&format!("spur wait {array}_3")).status, 0);
    assert_eq!(cluster.run(&format!("spur wait -q {array}_[2-3]")).status, 5);
    let logs = cluster.run(&format!("spur logs {array}")).stdout;
    assert_eq!(
        logs,
        (1..=4).map(|task| format!("{array}_{task}: task {task}\n")).collect::<String>()
    );
    std::fs::write(&flag, "").expect("written");
    let again = cluster.run(&format!("spur retry {array} --failed"));
    assert_eq!(again.stdout, format!("{array}_2 wrap was FAILED 5:0\n"), "{}", again.stderr);
    assert_eq!(cluster.run(&format!("spur wait {array}")).status, 0);
    assert_eq!(cluster.run(&format!("spur retry {array} --failed")).stdout, "");
    assert_eq!(cluster.run("spur retry 999 --failed").status, 1);
}

#[test]
fn tasks_of_a_step_are_shown_together_or_one_by_one() {
    let cluster = Cluster::up("n[1-2]", 2);
    let srun = cluster.tool("srun");
    let script = format!(
        "{srun} -N2 -n4 -o task-%t sh -c 'echo rank $SLURM_PROCID'; {srun} -N1 -n1 echo to srun"
    );
    let words = ["-N2", "-n4", "--parsable", "--wait", "-oall", "--wrap", &script];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    let logs = cluster.run(&format!("spur logs {job}.0"));
    assert_eq!(logs.stdout, "0: rank 0\n1: rank 1\n2: rank 2\n3: rank 3\n", "{}", logs.stderr);
    assert_eq!(cluster.run(&format!("spur logs {job}.0:2")).stdout, "2: rank 2\n");
    assert_eq!(cluster.run(&format!("spur logs {job}")).stdout, "to srun\n");
    let none = cluster.run(&format!("spur logs {job}.1"));
    assert_eq!((none.status, none.stdout.as_str()), (1, ""), "{}", none.stderr);
}

#[test]
fn a_second_up_starts_what_is_missing_and_needs_no_words() {
    let cluster = Cluster::up("n[1-2]", 2);
    let dir = cluster.dir().display().to_string();
    let up = |words: &[&str]| {
        let words = [&["up", "--detach", "--dir", &dir][..], words].concat();
        let ran = cluster.run_words("spur", &words);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout
    };
    let nodes = || cluster.run("sinfo -h -t idle -o %N").stdout;
    assert_eq!(up(&[]), format!("spur: already up in {dir}\n"));
    assert_eq!(up(&["--nodes", "n[1-3]"]), format!("spur: already up in {dir}\n"));
    assert_eq!(nodes(), "n[1-3]\n");
    cluster.down();
    let told = up(&[]);
    assert!(told.starts_with("spur: starting spurdbd, spurctld and spurd of n[1-3] in "), "{told}");
    assert_eq!(nodes(), "n[1-3]\n");
    // Who looks after it is killed, and an agent after that: the doctor sees both, and what it says helps.
    let kill = |name: &str| {
        let file = std::fs::read_to_string(cluster.dir().join(format!("run/{name}.pid")));
        let file = file.expect("a pid file");
        let pid = file.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a number");
        spur_tests::harness::Processes::kill(pid);
    };
    kill("up");
    kill("spurd-n2");
    let fix = format!("fix: spur up --dir {dir} ");
    until("the doctor sees it and says what helps", || {
        let told = cluster.run("spur doctor").stdout;
        let parts = ["spurd-n2 does not run", "nobody watches", &fix];
        parts.iter().all(|part| told.contains(part)).then_some(())
    });
    up(&[]);
    until("all is well", || (cluster.run("spur doctor").status == 0).then_some(()));
    // Other nodes the next time: those of before are none of the cluster's.
    cluster.down();
    up(&["--nodes", "n[1-2]"]);
    until("n3 is forgotten", || {
        (cluster.run("sinfo -h -a -o %N").stdout == "n[1-2]\n").then_some(())
    });
    until("and not missed", || (cluster.run("spur doctor").status == 0).then_some(()));
}

#[test]
fn a_cluster_whose_first_job_cannot_run_comes_up_all_the_same() {
    let config = tempfile::NamedTempFile::new().expect("a file");
    let text = "[[partitions]]\nname = \"closed\"\nnodes = \"ALL\"\nstate = \"down\"\n";
    std::fs::write(&config, text).expect("writes");
    let cluster = Cluster::up_with("n1", 1, &["--config", &config.path().display().to_string()]);
    assert_eq!(cluster.squeue("1", "%T %r"), "PENDING PartitionDown");
}
