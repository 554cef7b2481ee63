//! `scancel`: whom it ends, what it says, and with which status.

use spur_tests::harness::{Cluster, until};

fn submit(cluster: &Cluster, name: &str) -> String {
    let words = ["--parsable", "-J", name, "--wrap", "sleep 300"];
    cluster.run_words("sbatch", &words).stdout.trim().to_string()
}

fn is_over(cluster: &Cluster, job: &str) {
    until("it is cancelled", || (cluster.squeue(job, "%T") == "CANCELLED").then_some(()));
}

#[test]
fn jobs_are_ended_by_id_name_and_state() {
    let cluster = Cluster::up("n1", 1);
    let (one, two, three) =
        (submit(&cluster, "one"), submit(&cluster, "two"), submit(&cluster, "three"));
    until("one runs", || (cluster.squeue(&one, "%T") == "RUNNING").then_some(()));

    let told = cluster.run(&format!("scancel -v -t R -n two {one}"));
    assert_eq!(told.status, 0);
    assert_eq!(
        told.stderr,
        "scancel: error: No active jobs match ALL job filters, including: job_name=two state=RUNNING \n"
    );
    assert_eq!(cluster.squeue(&one, "%T"), "RUNNING");

    let told = cluster.run("scancel -v --name two");
    assert_eq!((told.status, told.stderr), (0, format!("scancel: Terminating job {two}\n")));
    is_over(&cluster, &two);
    assert_eq!(cluster.run(&format!("scancel {three},{one}")).status, 0);
    is_over(&cluster, &one);
    is_over(&cluster, &three);
    let told = cluster.run(&format!("scancel -v {one}"));
    let expected = format!(
        "scancel: Terminating job {one}\nscancel: error: Kill job error on job id {one}: \
         Job/step already completing or completed\n"
    );
    assert_eq!((told.status, told.stderr), (0, expected));
}

#[test]
fn a_step_is_ended_and_its_job_goes_on() {
    let cluster = Cluster::up("n1", 2);
    let srun = cluster.tool("srun");
    let script = format!("{srun} -n1 sleep 300; sleep 300");
    let words = ["--parsable", "-n2", "--wrap", &script];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    let step = format!("{job}.0");
    until("the step runs", || {
        cluster.run("squeue -h -s -o %i").stdout.contains(&step).then_some(())
    });
    let told = cluster.run(&format!("scancel -v {step}"));
    assert_eq!((told.status, told.stderr), (0, format!("scancel: Terminating step {step}\n")));
    until("the step is over", || {
        (!cluster.run("squeue -h -s -o %i").stdout.contains(&step)).then_some(())
    });
    assert_eq!(cluster.squeue(&job, "%T"), "RUNNING");
    let told = cluster.run(&format!("scancel {step}"));
    let refusal = format!("Kill job error on job step id {job}: Invalid job id specified\n");
    assert_eq!((told.status, told.stderr), (225, format!("scancel: error: {refusal}")));
}

/// A task that is asked to end and does so once it may.
const SAVES: &str =
    "trap 'echo > asked; until [ -e go ]; do sleep 0.05; done; echo > saved; exit 0' TERM
    echo > begun
    while :; do sleep 0.05; done";

#[test]
fn tasks_have_time_to_end_although_srun_is_asked_to_end_with_them() {
    let cluster = Cluster::up("n1", 2);
    let exists = |name: &str| cluster.work_dir().join(name).exists().then_some(());
    std::fs::write(cluster.work_dir().join("saves"), SAVES).expect("writes");
    let srun = cluster.tool("srun");
    for words in ["scancel", "scancel -s KILL", "scancel -f -s KILL"] {
        for name in ["begun", "asked", "go", "saved"] {
            let _ = std::fs::remove_file(cluster.work_dir().join(name));
        }
        // The script goes on while srun does, as one that waits for it.
        let script = format!("trap : TERM; {srun} -n1 sh saves & wait; wait; wait");
        let job = cluster.run_words("sbatch", &["--parsable", "-n2", "--wrap", &script]).stdout;
        let job = job.trim();
        until("the task has begun", || exists("begun"));
        cluster.run(&format!("{words} {job}"));
        until("the task is asked to end", || exists("asked"));
        // srun has heard it by now, and asked the controller; both would take no longer than this.
        until("srun has said so", || {
            let name = format!("slurm-{job}.out");
            read(&cluster, &name).contains("Job step aborted").then_some(())
        });
        assert_eq!(cluster.squeue(job, "%t"), "CG", "{words}");
        std::fs::write(cluster.work_dir().join("go"), "").expect("writes");
        until("the task has ended by itself", || exists("saved"));
        is_over(&cluster, job);
    }
}

#[test]
fn a_script_alone_is_killed_and_a_step_without_time_to_end() {
    let cluster = Cluster::up("n1", 2);
    let exists = |name: &str| cluster.work_dir().join(name).exists().then_some(());
    std::fs::write(cluster.work_dir().join("saves"), SAVES).expect("writes");
    let words = ["--parsable", "--wrap", "echo > begun; sleep 300"];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    until("the script has begun", || exists("begun"));
    assert_eq!(cluster.run(&format!("scancel -b {job}")).status, 0);
    until("its script was killed", || (cluster.squeue(&job, "%T") == "FAILED").then_some(()));
    std::fs::remove_file(cluster.work_dir().join("begun")).expect("is there");
    let srun = cluster.tool("srun");
    let script = format!("{srun} -n1 sh saves; sleep 300");
    let job = cluster.run_words("sbatch", &["--parsable", "--wrap", &script]).stdout;
    let job = job.trim();
    until("the task has begun", || exists("begun"));
    assert_eq!(cluster.run(&format!("scancel {job}.0")).status, 0);
    until("the step is over", || {
        let state = cluster.run(&format!("sacct -n -P -o State -j {job}.0")).stdout;
        let by = format!("CANCELLED by {}", nix::unistd::getuid());
        (state.trim() == by).then_some(())
    });
    assert!(exists("asked").is_none(), "nobody was asked");
}

#[test]
fn a_cancelled_step_is_killed_at_once_and_srun_says_so() {
    let cluster = Cluster::up("n1", 2);
    // Who heeds TERM would end by itself.
    let deaf = "trap 'echo heard TERM; exit 4' TERM; touch up; sleep 300 & wait";
    let srun = cluster.tool("srun");
    let script = format!("{srun} -n1 sh -c \"{deaf}\"; echo ended $?; sleep 300");
    let words = ["--parsable", "-n2", "-o", "out", "--wrap", &script];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    until("the step runs", || cluster.work_dir().join("up").exists().then_some(()));
    cluster.run(&format!("scancel {job}.0"));
    until("the step is over", || read(&cluster, "out").contains("ended").then_some(()));
    let told = read(&cluster, "out");
    let line = format!("slurmstepd: error: *** STEP {job}.0 ON n1 CANCELLED AT 20");
    assert!(told.contains("srun: Job step aborted: Waiting up to "), "{told}");
    assert!(told.contains(&line) && !told.contains("DUE TO"), "{told}");
    assert!(told.contains("srun: error: n1: task 0: Killed\n"), "{told}");
    assert!(told.contains("ended 137") && !told.contains("heard"), "{told}");
    let ended = format!("{job}.0|CANCELLED by {}|0:9", nix::unistd::getuid());
    until("accounting knows who", || {
        let rows = cluster.run(&format!("sacct -n -P -j {job} -o jobid,state,exitcode")).stdout;
        rows.contains(&ended).then_some(())
    });
}

#[test]
fn each_job_is_asked_about_where_that_is_wanted() {
    use std::io::Write;
    use std::process::Stdio;
    let cluster = Cluster::up("n1", 1);
    let job = submit(&cluster, "asked");
    let answer = |word: &[u8]| {
        let mut child = cluster
            .command("scancel")
            .args(["-i", &job])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scancel runs");
        child.stdin.take().expect("a pipe").write_all(word).expect("written");
        String::from_utf8_lossy(&child.wait_with_output().expect("it ends").stdout).into_owned()
    };
    let question = format!("Cancel job_id={job} name=asked partition=default [y/n]? ");
    assert_eq!(answer(b"x\nn\n"), question.repeat(2));
    assert_ne!(cluster.squeue(&job, "%T"), "CANCELLED");
    assert_eq!(answer(b"y\n"), question);
    is_over(&cluster, &job);
}

#[test]
fn refusals_are_slurms() {
    let cluster = Cluster::up("n1", 1);
    let table = [
        ("scancel", 1, "scancel: error: No job identification provided"),
        ("scancel abc", 1, "scancel: error: Invalid job id abc"),
        ("scancel 7,8x", 1, "scancel: error: Invalid job id 8x"),
        ("scancel 999", 0, ""),
        ("scancel 999_[1-2]", 0, ""),
        ("scancel -v 999", 0, "scancel: Terminating job 999"),
        (
            "scancel 999.0",
            1,
            "scancel: error: Kill job error on job step id 999.0: Invalid job id specified",
        ),
        (
            "scancel -s USR1 999",
            1,
            "scancel: error: Kill job error on job id 999: Invalid job id specified",
        ),
        ("scancel -s BOGUS 7", 1, "Unknown job signal: BOGUS"),
        ("scancel -t CD 7", 1, "Invalid job state specified: CD"),
        ("scancel -u nosuch", 1, "scancel: error: Invalid user name: nosuch"),
        ("scancel -u 77777", 1, "scancel: error: Invalid user name: 77777"),
        ("scancel -n nosuch", 0, ""),
        ("scancel -p nosuch", 0, ""),
        ("scancel -M nosuch 7", 1, "scancel: error: No cluster 'nosuch' known by database."),
    ];
    for (line, status, message) in table {
        let told = cluster.run(line);
        let first = told.stderr.lines().next().unwrap_or_default();
        assert_eq!((told.status, first), (status, message), "{line}");
    }
}

#[test]
fn what_is_chosen_is_named_as_squeue_does_and_switches_are_true_or_false() {
    let cluster = Cluster::up("n1", 1);
    let array = cluster.run("sbatch --parsable -H -a 1-3 -J many --wrap true");
    let array = array.stdout.trim();
    let told = cluster.run(&format!("scancel -v -n many -t PENDING {array}"));
    assert_eq!(told.stderr, format!("scancel: Terminating job {array}_[1-3]\n"));
    let held = cluster.run("sbatch --parsable -H --wrap true");
    let held = held.stdout.trim();
    let told = cluster.run(&format!("scancel -v -f {held}"));
    assert_eq!(told.stderr, format!("scancel: Terminating full job {held}\n"));
    for (value, said) in [
        ("false", ""),
        ("1", "scancel: error: Unrecognized SCANCEL_VERBOSE value: 1"),
        ("True", "scancel: Terminating job 999"),
    ] {
        let told = cluster.command("scancel").arg("999").env("SCANCEL_VERBOSE", value).output();
        let told = told.expect("runs");
        let text = String::from_utf8_lossy(&told.stderr);
        assert_eq!(text.lines().next().unwrap_or_default(), said, "{value}");
        assert_eq!(told.status.code(), Some(0));
    }
}

#[test]
fn the_first_node_of_a_step_says_that_it_was_ended() {
    let cluster = Cluster::up("n[1-2]", 1);
    let srun = cluster.tool("srun");
    let script = format!("{srun} sleep 300");
    let words = ["--parsable", "-N2", "-o", "two", "--wrap", &script];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    until("the step runs", || {
        cluster.run("squeue -h -s -o %i").stdout.contains(&format!("{job}.0")).then_some(())
    });
    cluster.run(&format!("scancel {job}.0"));
    until("it is over", || cluster.squeue(&job, "%T").ends_with("FAILED").then_some(()));
    let told = read(&cluster, "two");
    let words = format!("*** STEP {job}.0 ON ");
    let nodes: Vec<&str> =
        told.lines().filter_map(|line| line.split_once(&words)).map(|it| it.1).collect();
    assert_eq!(nodes.len(), 1, "{told}");
    assert!(nodes[0].starts_with("n1 CANCELLED AT 20"), "{told}");
}

#[test]
fn a_script_that_alone_is_sent_term_says_so() {
    let cluster = Cluster::up("n1", 1);
    let words = ["--parsable", "-o", "term", "--wrap", SAYS_HELLO];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    until("it has begun", || read(&cluster, "term").contains("hello").then_some(()));
    cluster.run(&format!("scancel -b -s TERM {job}"));
    let words = format!("slurmstepd: error: *** JOB {job} ON n1 CANCELLED AT 20");
    until("its output says so", || read(&cluster, "term").contains(&words).then_some(()));
}

#[test]
fn the_output_of_a_script_tells_that_it_was_ended_and_why() {
    let cluster = Cluster::up("n1", 2);
    let start = |name: &str| {
        let words = ["--parsable", "--requeue", "-o", name, "--open-mode=append"];
        let job = cluster.run_words("sbatch", &[&words[..], &["--wrap", SAYS_HELLO]].concat());
        let job = job.stdout.trim().to_string();
        until("it has begun", || read(&cluster, name).contains("hello").then_some(()));
        job
    };
    let cancelled = start("cancelled");
    cluster.run(&format!("scancel {cancelled}"));
    is_over(&cluster, &cancelled);
    let told = read(&cluster, "cancelled");
    let line = told.lines().find(|line| line.contains("***")).unwrap_or(&told);
    let begins = format!("slurmstepd: error: *** JOB {cancelled} ON n1 CANCELLED AT 20");
    assert!(line.starts_with(&begins) && line.ends_with(" ***"), "{told}");
    assert!(!line.contains("DUE TO"), "{told}");
    let again = start("again");
    cluster.run(&format!("scontrol requeue {again}"));
    until("it says why", || {
        read(&cluster, "again").contains("DUE TO JOB REQUEUE ***").then_some(())
    });
}

const SAYS_HELLO: &str = "echo hello; sleep 300";

fn read(cluster: &Cluster, name: &str) -> String {
    std::fs::read_to_string(cluster.work_dir().join(name)).unwrap_or_default()
}
