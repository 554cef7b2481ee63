//! `salloc`: an allocation with a command in it, and what becomes of it when the command ends or vanishes.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_tests::harness::{Cluster, Processes, until};

fn queue(cluster: &Cluster) -> String {
    cluster.run("squeue -h -o %T").stdout
}

#[test]
fn a_command_runs_in_an_allocation_that_ends_with_it() {
    let cluster = Cluster::up("n[1-2]", 4);
    let script =
        "echo $SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURM_JOB_CPUS_PER_NODE $SLURM_NTASKS; exit 5";
    let done = cluster.run_words("salloc", &["-N2", "-n3", "sh", "-c", script]);
    let job = done.stdout.split(' ').next().unwrap_or_default().to_string();
    assert_eq!(done.stdout, format!("{job} n[1-2] 2,1 3\n"));
    assert_eq!(done.status, 5);
    assert_eq!(
        done.stderr,
        format!(
            "salloc: Granted job allocation {job}\nsalloc: Relinquishing job allocation {job}\n"
        )
    );
    assert_eq!(cluster.squeue(&job, "%T %j"), "FAILED interactive");
}

#[test]
fn steps_run_inside() {
    let cluster = Cluster::up("n[1-2]", 4);
    let srun = cluster.tool("srun");
    let words =
        ["-Q", "-N2", "-n3", &srun, "-l", "sh", "-c", "echo $SLURM_STEP_ID $SLURMD_NODENAME"];
    let done = cluster.run_words("salloc", &words);
    let mut lines: Vec<&str> = done.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: 0 n1", "1: 0 n1", "2: 0 n2"], "{}", done.stderr);
    let refused = cluster.run_words("salloc", &["-Q", "-n2", &srun, "-n3", "true"]);
    assert_eq!(refused.status, 1);
    let message = "More processors requested than permitted\n";
    assert!(refused.stderr.contains("srun: error: Unable to create step for job"), "{refused:?}");
    assert!(refused.stderr.ends_with(message), "{refused:?}");
}

#[test]
fn one_that_has_to_wait_says_so_and_can_be_given_up() {
    let cluster = Cluster::up("n1", 2);
    let busy = cluster.run_words("salloc", &["--no-shell", "-n2"]);
    assert_eq!(busy.status, 0, "{}", busy.stderr);
    assert!(busy.stderr.starts_with("salloc: Granted job allocation "));
    let now = cluster.run("salloc -I -n1 true");
    let message = "salloc: error: Unable to allocate resources: Requested nodes are busy\n";
    assert!(now.status == 1 && now.stderr.starts_with(message), "{now:?}");
    let job = now.stderr.split_whitespace().find_map(|word| word.parse::<u32>().ok());
    let job = job.expect("which was revoked");
    let status = cluster.run(&format!("scontrol show job {job}")).stdout;
    let ended = |word: &str| status.split_whitespace().any(|it| it == word);
    assert!(ended("JobState=FAILED") && ended("Reason=BadConstraints"), "{status}");
    assert!(ended("ExitCode=0:1"), "{status}");
    let mut waiting = cluster.command("salloc");
    waiting.args(["-n1", "true"]).stderr(Stdio::piped());
    let waiting = waiting.spawn().expect("starts");
    until("it waits", || queue(&cluster).contains("PENDING").then_some(()));
    kill(Pid::from_raw(waiting.id() as i32), Signal::SIGINT).expect("is there");
    let done = waiting.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("has been revoked."), "{said}");
    assert_eq!(done.status.code(), Some(1));
    until("it is gone", || (!queue(&cluster).contains("PENDING")).then_some(()));
    assert_eq!(queue(&cluster), "RUNNING\n", "nobody attends it, and nobody has to");
    cluster.run("scancel -u root");
}

#[test]
fn a_hang_up_ends_it_and_the_shell_runs_what_names_no_interpreter() {
    let cluster = Cluster::up("n1", 2);
    let script = cluster.work_dir().join("script");
    fs::write(&script, "echo $1 $SLURM_NTASKS\nexit 3\n").expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, executable).expect("permissions");
    let done = cluster.run_words("salloc", &["-Q", "-n2", "./script", "word"]);
    assert_eq!((done.status, done.stdout.as_str()), (3, "word 2\n"), "{}", done.stderr);
    let mut salloc = cluster.command("salloc");
    salloc.args([
        "-n1",
        "sh",
        "-c",
        "trap 'echo > heard' HUP; echo > up; while :; do sleep 0.1; done",
    ]);
    let mut salloc = salloc.stderr(Stdio::piped()).spawn().expect("starts");
    let exists = |name: &str| cluster.work_dir().join(name).exists().then_some(());
    until("the command runs", || exists("up"));
    kill(Pid::from_raw(salloc.id() as i32), Signal::SIGHUP).expect("is there");
    assert_eq!(salloc.wait().expect("ends").code(), Some(1));
    until("the command has heard it", || exists("heard"));
    until("it is given back", || queue(&cluster).is_empty().then_some(()));
    for pid in cluster.processes().with(&["echo > heard"]) {
        Processes::kill(pid);
    }
}

#[test]
fn one_that_its_partition_never_fulfils_is_told_so_whatever_else_holds_it_up() {
    let cluster = Cluster::up("n1", 2);
    cluster.run("scontrol update partition=default maxtime=1:00:00");
    let first_word = |options: &[&str]| {
        let path = cluster.work_dir().join("told");
        let told = std::fs::File::create(&path).expect("a file");
        let mut waiting = cluster.command("salloc");
        let mut waiting = waiting.args(options).arg("true").stderr(told).spawn().expect("starts");
        let said = || std::fs::read_to_string(&path).unwrap_or_default();
        until("it waits", || said().contains("queued and waiting").then_some(()));
        kill(Pid::from_raw(waiting.id() as i32), Signal::SIGINT).expect("is there");
        waiting.wait().expect("ends");
        said().lines().next().unwrap_or_default().to_string()
    };
    let never = "salloc: Requested partition configuration not available now";
    for options in [
        &["-H", "-N2"][..],
        &["-H", "-n3"],
        &["-H", "-t", "2:00:00"],
        &["-b", "now+1hour", "-t", "2:00:00"],
        &["-b", "now+1hour", "-N2"],
    ] {
        assert_eq!(first_word(options), never, "{options:?}");
    }
    // Whether a node is of that kind is looked at when its turn has come.
    for options in [&["-H"][..], &["-H", "--threads-per-core=64"], &["-H", "--sockets-per-node=9"]]
    {
        let held = "salloc: Job is in held state, pending scheduler release";
        assert_eq!(first_word(options), held, "{options:?}");
    }
}

#[test]
fn it_goes_to_the_directory_first() {
    let cluster = Cluster::up("n1", 2);
    let refused = cluster.run("salloc -D /nosuch -n1 true");
    let why = "salloc: error: chdir(/nosuch): No such file or directory\n";
    assert_eq!((refused.status, refused.stderr.as_str()), (1, why));
    let seen = cluster.run("salloc -Q -D / sh -c pwd");
    assert_eq!(seen.stdout, "/\n", "{}", seen.stderr);
}

#[test]
fn an_allocation_outlives_the_controller_but_not_its_client() {
    let cluster = Cluster::up("n1", 2);
    let mut salloc = cluster.command("salloc");
    salloc.args(["-n1", "sleep", "600"]).stderr(Stdio::piped());
    let mut salloc = salloc.spawn().expect("starts");
    until("it runs", || (queue(&cluster) == "RUNNING\n").then_some(()));
    for pid in cluster.processes().with(&["spurctld"]) {
        Processes::kill(pid);
    }
    cluster.start("n1", 2);
    until("it still runs", || (queue(&cluster) == "RUNNING\n").then_some(()));
    Processes::kill(salloc.id() as i32);
    salloc.wait().expect("ends");
    until("it is given back", || queue(&cluster).is_empty().then_some(()));
    for pid in cluster.processes().with(&["sleep 600"]) {
        Processes::kill(pid);
    }
}

#[test]
fn a_word_for_the_job_is_printed_where_it_was_asked_for() {
    let cluster = Cluster::up("n1", 2);
    let told = std::fs::File::create(cluster.work_dir().join("told")).expect("a file");
    let scontrol = cluster.tool("scontrol");
    // The allocation goes on until its words have come.
    let script = format!(
        "{scontrol} notify $SLURM_JOB_ID hello 'to you' && \
         until grep -q '^salloc: hello to you$' told; do sleep 0.02; done"
    );
    let mut salloc = cluster.command("salloc");
    let salloc = salloc.args(["sh", "-c", &script]).stderr(Stdio::from(told));
    assert!(salloc.status().expect("runs").success());
    // A script has it in its output; it goes on until it has.
    let script = format!(
        "{scontrol} notify $SLURM_JOB_ID hello 'to you' && \
         until grep -q '^slurmstepd: error: hello to you$' err; do sleep 0.02; done"
    );
    let words = ["-W", "-o", "out", "-e", "err", "--wrap", &script];
    let done = cluster.run_words("sbatch", &words);
    assert_eq!(done.status, 0, "{}", done.stderr);
    // One that waits has nobody to hear it.
    let job = cluster.run_words("sbatch", &["--parsable", "-H", "--wrap", "true"]).stdout;
    let refused = cluster.run(&format!("scontrol notify {} hello", job.trim()));
    let why = "job notify failure: Requested operation is presently disabled\n";
    assert_eq!((refused.status, refused.stderr.as_str()), (1, why));
}
