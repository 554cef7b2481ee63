//! `srun`: tasks, their input and output, their endings.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_tests::harness::{Cluster, Output, Processes, until};

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.work_dir().join(file)).unwrap_or_default()
}

fn with_input(cluster: &Cluster, words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut srun = start(cluster, words);
    let mut stdin = srun.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = srun.wait_with_output().expect("ends");
    writer.join().expect("writes").expect("all was read");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn start(cluster: &Cluster, words: &[&str]) -> Child {
    let mut srun = cluster.command("srun");
    srun.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    srun.spawn().expect("starts")
}

/// No process of a job is left, and nothing in the spools.
fn nothing_is_left(cluster: &Cluster) {
    until("shepherds go", || cluster.processes().with(&["shepherd"]).is_empty().then_some(()));
    until("the queue is empty", || (cluster.run("squeue -h").stdout.is_empty()).then_some(()));
}

#[test]
fn tasks_run_on_all_nodes_and_know_who_they_are() {
    let cluster = Cluster::up("n[1-2]", 4);
    let script = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS \
                  $SLURM_STEP_ID $RANK/$WORLD_SIZE $SLURM_STEP_TASKS_PER_NODE";
    let done = cluster.run_words("srun", &["-N2", "-n3", "-l", "sh", "-c", script]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert_eq!(
        sorted(&done.stdout),
        ["0: 0 0 0 n1 3 0 0/3 2,1", "1: 1 1 0 n1 3 0 1/3 2,1", "2: 2 0 1 n2 3 0 2/3 2,1"]
    );
    assert_eq!(done.stderr, "");
    nothing_is_left(&cluster);
}

#[test]
fn more_tasks_than_the_named_node_has_room_for_go_to_others_too() {
    let cluster = Cluster::up("n[1-2]", 2);
    let done = cluster.run_words("srun", &["-n3", "-w", "n2", "sh", "-c", "echo $SLURMD_NODENAME"]);
    assert_eq!(sorted(&done.stdout), ["n1", "n1", "n2"], "{}", done.stderr);
}

#[test]
fn a_step_alone_on_its_nodes_has_the_processors_it_asks_for() {
    let cluster = Cluster::up("n[1-2]", 4);
    let counts = "echo $SLURM_CPUS_ON_NODE of $SLURM_JOB_CPUS_PER_NODE";
    let done = cluster.run_words("srun", &["-n2", "--exclusive", "sh", "-c", counts]);
    assert_eq!(done.stdout, "2 of 4\n2 of 4\n", "{}", done.stderr);
    let refused = |words: &str| {
        let told = cluster.run(&format!("srun {words} true"));
        (told.status, told.stderr)
    };
    let both = |two: &str| (1, format!("srun: error: {two}\n"));
    let overlap = both("--exclusive and --overlap are mutually exclusive");
    assert_eq!(refused("--overlap --exclusive=user"), overlap);
    let whole = both("--exact and --whole are mutually exclusive.");
    assert_eq!(refused("--exclusive --whole"), whole);
    // Tasks that share processors go round the nodes, each of which gives processors for one.
    let script = ["-Q", "-N2", "-n5", "-O", "-c2", "sh", "-c"];
    let asked = "echo $SLURM_TASKS_PER_NODE on $SLURM_JOB_CPUS_PER_NODE";
    let done = cluster.run_words("salloc", &[&script[..], &[asked]].concat());
    assert_eq!(done.stdout, "3,2 on 2(x2)\n", "{}", done.stderr);
}

#[test]
fn endings_are_told_as_slurm_tells_them() {
    let cluster = Cluster::up("n[1-2]", 4);
    let table = [
        ("exit 3", "-n1 -w n1", 3, "srun: error: n1: task 0: Exited with exit code 3\n"),
        ("exit 2", "-n4 -N1 -w n1", 2, "srun: error: n1: tasks 0-3: Exited with exit code 2\n"),
        ("kill -SEGV $$", "-n1 -w n1", 139, "srun: error: n1: task 0: Segmentation fault\n"),
    ];
    for (script, options, status, message) in table {
        let mut words: Vec<&str> = options.split(' ').collect();
        words.extend(["sh", "-c", script]);
        let done = cluster.run_words("srun", &words);
        assert_eq!((done.status, done.stderr.as_str()), (status, message), "{script}");
        // The next one would say that it had to wait.
        nothing_is_left(&cluster);
    }
    let killed = cluster.run_words("srun", &["-wn1", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status, 137);
    assert!(killed.stderr.starts_with("srun: error: n1: task 0: Killed\n"), "{}", killed.stderr);
    assert!(killed.stderr.contains("srun: Force Terminated StepId="), "{}", killed.stderr);
    let missing = cluster.run("srun nosuchprogram");
    assert_eq!(missing.status, 2);
    assert_eq!(
        missing.stderr,
        "slurmstepd: error: execve(): nosuchprogram: No such file or directory\n\
         srun: error: n1: task 0: Exited with exit code 2\n"
    );
    let none = cluster.run("srun");
    assert_eq!(
        (none.status, none.stderr.as_str()),
        (1, "srun: fatal: No command given to execute.\n")
    );
}

#[test]
fn megabytes_pass_unchanged_both_ways() {
    let cluster = Cluster::up("n[1-2]", 4);
    let bytes: Vec<u8> =
        (0..6_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert!(with_input(&cluster, &["-n1", "cat"], &bytes) == bytes, "some bytes differ");
    let twice = with_input(&cluster, &["-N2", "-n2", "sh", "-c", "cksum"], &bytes);
    let twice = String::from_utf8_lossy(&twice).into_owned();
    let sums = sorted(&twice);
    assert_eq!(sums.len(), 2);
    assert_eq!(sums[0], sums[1], "both tasks have read all of it");
    let only = with_input(&cluster, &["-n2", "--input=1", "-l", "cat"], b"to one\n");
    assert_eq!(String::from_utf8_lossy(&only), "1: to one\n");
}

#[test]
fn files_are_named_by_pattern() {
    let cluster = Cluster::up("n[1-2]", 4);
    let script = "echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2";
    let words = ["-N2", "-n2", "-o", "o-%t", "-e", "e-%N", "sh", "-c", script];
    let done = cluster.run_words("srun", &words);
    assert_eq!((done.status, done.stdout.as_str(), done.stderr.as_str()), (0, "", ""));
    assert_eq!(
        (read(&cluster, "o-0").as_str(), read(&cluster, "o-1").as_str()),
        ("out 0\n", "out 1\n")
    );
    assert_eq!(
        (read(&cluster, "e-n1").as_str(), read(&cluster, "e-n2").as_str()),
        ("err 0\n", "err 1\n")
    );
    // Tasks that share a file take nothing out of it that another has written.
    let done = cluster.run_words("srun", &["-N1", "-n3", "-o", "on-%N", "sh", "-c", "echo here"]);
    assert_eq!((done.status, read(&cluster, "on-n1").as_str()), (0, "here\nhere\nhere\n"));
    let done = cluster.run_words("srun", &["-n2", "-o", "all-%j", "sh", "-c", script]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    let all = fs::read_dir(cluster.work_dir()).expect("lists").flatten();
    let all = all.map(|entry| entry.file_name().into_string().unwrap_or_default());
    let name = all.into_iter().find(|name| name.starts_with("all-")).expect("is there");
    assert_eq!(sorted(&read(&cluster, &name)), ["err 0", "err 1", "out 0", "out 1"]);
    let none = cluster.run_words("srun", &["-n2", "-o", "none", "sh", "-c", script]);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", ""));
}

#[test]
fn steps_of_a_batch_script_share_its_processors() {
    let cluster = Cluster::up("n[1-2]", 2);
    let script = "#!/bin/bash\n#SBATCH -N2 -n4\n\
        srun -N2 -n4 -l sh -c 'echo $SLURM_STEP_ID $SLURMD_NODENAME'\n\
        srun -N1 -n1 sh -c 'touch one; until [ -e go ]; do sleep 0.01; done' &\n\
        until [ -e one ]; do sleep 0.01; done\n\
        srun --overlap -N2 -n2 sh -c 'echo overlap $SLURM_STEP_ID'\n\
        (srun -N2 -n2 echo waited 2>&1) &\n\
        sleep 0.3; touch go; wait\n";
    let bin = cluster.dir().join("bin");
    let script = script.replace("srun ", &format!("{}/srun ", bin.display()));
    fs::write(cluster.work_dir().join("job.sh"), script).expect("writes");
    let done = cluster.run("sbatch --wait job.sh");
    assert_eq!(done.status, 0, "{}", done.stderr);
    let job = done.stdout.trim().rsplit(' ').next().expect("a number").to_string();
    let output = read(&cluster, &format!("slurm-{job}.out"));
    let lines = sorted(&output);
    for line in ["0: 0 n1", "1: 0 n1", "2: 0 n2", "3: 0 n2", "overlap 2", "waited"] {
        assert!(lines.contains(&line), "{line} is missing:\n{output}");
    }
    let retry = "step creation temporarily disabled, retrying (Requested nodes are busy)";
    assert!(output.contains(retry), "{output}");
    nothing_is_left(&cluster);
}

#[test]
fn a_bad_exit_ends_the_others_if_asked_to() {
    let cluster = Cluster::up("n[1-2]", 2);
    let script = "test $SLURM_PROCID = 1 && exit 9; exec sleep 600";
    let done = cluster.run_words("srun", &["-N2", "-n2", "-K", "sh", "-c", script]);
    assert_eq!(done.status, 143, "{}", done.stderr);
    assert!(done.stderr.contains("srun: error: n2: task 1: Exited with exit code 9\n"));
    assert!(done.stderr.contains("srun: Terminating StepId="), "{}", done.stderr);
    assert!(done.stderr.contains("srun: error: n1: task 0: Terminated\n"), "{}", done.stderr);
    nothing_is_left(&cluster);
}

#[test]
fn two_interrupts_end_a_step_and_one_tells_how_it_stands() {
    let cluster = Cluster::up("n1", 2);
    let mut srun = start(&cluster, &["-n2", "sh", "-c", "touch up-$SLURM_PROCID; exec sleep 600"]);
    let mut stderr = BufReader::new(srun.stderr.take().expect("is piped"));
    until("both run", || {
        ["up-0", "up-1"].iter().all(|it| cluster.work_dir().join(it).exists()).then_some(())
    });
    let pid = Pid::from_raw(srun.id() as i32);
    kill(pid, Signal::SIGINT).expect("is there");
    let mut said = String::new();
    while !said.contains("running\n") {
        assert!(stderr.read_line(&mut said).expect("reads") > 0, "{said}");
    }
    kill(pid, Signal::SIGINT).expect("is there");
    stderr.read_to_string(&mut said).expect("reads");
    let done = srun.wait_with_output().expect("ends");
    assert!(said.contains("srun: interrupt (one more within 1 sec to abort)\n"), "{said}");
    assert!(said.contains("tasks 0-1: running\n"), "{said}");
    assert!(said.contains("srun: sending Ctrl-C to StepId="), "{said}");
    assert_eq!(done.status.code(), Some(130), "{said}");
    nothing_is_left(&cluster);
}

#[test]
fn an_interrupt_may_be_meant_for_the_tasks_and_a_hang_up_is_the_end() {
    let cluster = Cluster::up("n1", 2);
    let stays = "trap '' INT; echo > up; exec sleep 600";
    let words = ["-X", "-n1", "-u", "sh", "-c", stays];
    for (signals, said, status) in [
        (&[Signal::SIGINT, Signal::SIGHUP][..], "sending Ctrl-C to StepId=", 137),
        (&[Signal::SIGQUIT], "srun: Quit\n", 137),
        (&[Signal::SIGALRM, Signal::SIGCONT, Signal::SIGPIPE], "srun: got SIGCONT\n", 137),
    ] {
        let srun = start(&cluster, &words);
        until("it runs", || cluster.work_dir().join("up").exists().then_some(()));
        let pid = Pid::from_raw(srun.id() as i32);
        signals.iter().for_each(|signal| kill(pid, *signal).expect("is there"));
        let done = srun.wait_with_output().expect("ends");
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(told.contains(said), "{told}");
        let forced = signals.last() != Some(&Signal::SIGPIPE);
        assert_eq!(told.contains("srun: forcing job termination\n"), forced, "{told}");
        assert_eq!(done.status.code(), Some(status), "{told}");
        fs::remove_file(cluster.work_dir().join("up")).expect("is there");
        nothing_is_left(&cluster);
    }
}

/// As an MPI library does: says what it has, waits for all, asks what the next rank has.
const PMI_CLIENT: &str = r#"
say() { echo "$*" >&"$PMI_FD"; read -r -u "$PMI_FD" told; }
say cmd=init pmi_version=1 pmi_subversion=1
say cmd=put kvsname=x key="of-$PMI_RANK" value="$SLURMD_NODENAME.$PMI_RANK"
say cmd=barrier_in
say cmd=get kvsname=x key="of-$(( (PMI_RANK + 1) % PMI_SIZE ))"
echo "$PMI_RANK of $PMI_SIZE: $told"
[ -z "$1" ] || { [ "$PMI_RANK" = 1 ] && echo cmd=abort exitcode=3 >&"$PMI_FD"; read -r -u "$PMI_FD"; }
say cmd=finalize
"#;

#[test]
fn processes_of_an_mpi_program_find_each_other() {
    let cluster = Cluster::up("n[1-2]", 4);
    let client = ["--mpi=pmi2", "-N2", "-n3", "bash", "-c", PMI_CLIENT, "client"];
    let done = cluster.run_words("srun", &client);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert_eq!(
        sorted(&done.stdout),
        [
            "0 of 3: cmd=get_result rc=0 value=n1.1",
            "1 of 3: cmd=get_result rc=0 value=n2.2",
            "2 of 3: cmd=get_result rc=0 value=n1.0"
        ]
    );
    let aborted = cluster.run_words("srun", &[&client[..], &["abort"]].concat());
    assert_eq!(aborted.status, 128 + Signal::SIGKILL as i32, "{}", aborted.stderr);
    let line = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.";
    assert!(aborted.stderr.contains(line), "{}", aborted.stderr);
    let without = cluster.run_words("srun", &["--mpi=none", "sh", "-c", "env | grep PMI"]);
    assert_eq!(without.stdout, "");
    nothing_is_left(&cluster);
}

#[test]
fn several_programs_in_one_step() {
    let cluster = Cluster::up("n[1-2]", 2);
    fs::write(cluster.work_dir().join("who"), "0 echo zero\n1-2 echo %t %o\n* echo rest\n")
        .expect("writes");
    let done = cluster.run("srun -n4 -l --multi-prog who");
    assert_eq!(sorted(&done.stdout), ["0: zero", "1: 1 0", "2: 2 1", "3: rest"], "{}", done.stderr);
}

#[test]
fn a_step_survives_the_death_of_its_agent() {
    let cluster = Cluster::up("n[1-2]", 2);
    let script = "for i in $(seq 200); do echo line $i; sleep 0.02; done";
    let srun = start(&cluster, &["-N2", "-n2", "-l", "sh", "-c", script]);
    until("both have a shepherd", || {
        (cluster.processes().with(&["shepherd"]).len() == 2).then_some(())
    });
    for pid in cluster.processes().with(&["spurd", "-N n1"]) {
        Processes::kill(pid);
    }
    let done = srun.wait_with_output().expect("ends");
    let output = String::from_utf8_lossy(&done.stdout);
    for rank in 0..2 {
        let lines: Vec<&str> =
            output.lines().filter_map(|line| line.strip_prefix(&format!("{rank}: "))).collect();
        let expected: Vec<String> = (1..=200).map(|i| format!("line {i}")).collect();
        assert_eq!(lines, expected, "task {rank}");
    }
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    cluster.start("n[1-2]", 2);
    nothing_is_left(&cluster);
}

#[test]
fn a_killed_shepherd_fails_its_step_and_leaves_nothing() {
    let cluster = Cluster::up("n1", 2);
    let srun = start(&cluster, &["-n2", "sleep", "600"]);
    let shepherd = until("it has a shepherd", || {
        let found = cluster.processes().with(&["shepherd"]);
        let sleeping = cluster.processes().with(&["sleep 600"]).len();
        (found.len() == 1 && sleeping >= 2).then(|| found[0])
    });
    Processes::kill(shepherd);
    let done = srun.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("srun: error: Node failure on n1"), "{said}");
    assert!(!done.status.success());
    nothing_is_left(&cluster);
}

#[test]
fn a_terminal_is_passed_through() {
    let cluster = Cluster::up("n1", 2);
    let srun = cluster.dir().join("bin/srun");
    let line = format!("{} --pty sh -c 'tty; stty size; exit 4'", srun.display());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(cluster.work_dir()).stdin(Stdio::null());
    let Ok(done) = script.output() else {
        eprintln!("SKIPPED: there is no script(1)");
        return;
    };
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("/dev/pts/"), "{said}");
    assert_eq!(done.status.code(), Some(4), "{said}");
}

#[test]
fn who_attaches_sees_what_a_step_writes_and_files_reach_every_node() {
    let cluster = Cluster::up("n[1-2]", 2);
    let go = cluster.work_dir().join("go");
    let srun = cluster.tool("srun");
    let wait =
        format!("while [ ! -e {} ]; do echo tick; sleep 0.05; done; echo said", go.display());
    let script = format!("{srun} -N2 -n2 sh -c '{wait}'");
    let words = ["--parsable", "-N2", "-o", "/dev/null", "--wrap", &script];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    let step = format!("{job}.0");
    until("the step runs", || {
        cluster.run("squeue -h -s -o %i").stdout.contains(&step).then_some(())
    });
    fs::write(cluster.work_dir().join("data"), "some bytes").expect("written");
    let target = cluster.work_dir().join("copy").display().to_string();
    let copied = cluster.run(&format!("sbcast -f -j {job} data {target}"));
    assert_eq!((copied.status, copied.stderr.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(&target).expect("it is there"), "some bytes");
    let again = cluster.run(&format!("sbcast -j {job} data {target}"));
    let line = |node: &str, why: &str| format!("sbcast: error: REQUEST_FILE_BCAST({node}): {why}");
    let refused = |done: &Output, status: i32, why: &str| {
        assert_eq!(sorted(&done.stderr), [line("n1", why), line("n2", why)]);
        assert_eq!(done.status, status);
    };
    refused(&again, 17, "File exists");
    let nowhere = cluster.run(&format!("sbcast -j {job} data {target}/copy"));
    refused(&nowhere, 20, "Not a directory");
    let nowhere = cluster.run(&format!("sbcast -j {job} data {target}-nowhere/copy"));
    refused(&nowhere, 2, "No such file or directory");
    let folder = cluster.run(&format!("sbcast -j {job} data {target}/"));
    let why = "sbcast: error: Target filename cannot be a directory.\n";
    assert_eq!((folder.status, folder.stderr.as_str()), (1, why));
    let layout = cluster.run(&format!("sattach --layout {step}")).stdout;
    assert!(layout.contains("2 tasks, 2 nodes (n[1-2])"), "{layout}");
    let mut attached = cluster.command("sattach");
    let mut attached = attached.args(["-l", &step]).stdout(Stdio::piped()).spawn().expect("runs");
    let mut output = BufReader::new(attached.stdout.take().expect("a pipe"));
    let mut said = String::new();
    output.read_line(&mut said).expect("a line");
    fs::write(&go, "").expect("written");
    output.read_to_string(&mut said).expect("the rest");
    assert!(attached.wait().expect("it ends").success());
    let lines: Vec<&str> = sorted(&said).into_iter().filter(|it| !it.ends_with("tick")).collect();
    assert_eq!(lines, ["0: said", "1: said"]);
    let gone = cluster.run("sattach 999.0");
    let refusal = "sattach: error: Could not get job step info: Invalid job id specified\n";
    assert_eq!((gone.status, gone.stderr.as_str()), (1, refusal));
}

#[test]
fn who_is_asked_to_be_silent_says_nothing_of_errors() {
    let cluster = Cluster::up("n1", 1);
    for line in
        ["srun -QQ -p nosuch true", "salloc -QQ -p nosuch true", "sbatch -QQ -p nosuch --wrap true"]
    {
        let told = cluster.run(line);
        assert_eq!((told.status, told.stderr.as_str()), (1, ""), "{line}");
    }
    let told = cluster.run("srun -Q -p nosuch true");
    assert!(told.stderr.starts_with("srun: error: "), "{}", told.stderr);
    let quiet = cluster.command("srun").arg("true").env("SLURM_DEBUG", "").output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
}

#[test]
fn programs_around_a_step_that_fail_are_told() {
    let cluster = Cluster::up("n1", 1);
    let told = cluster.run("srun --prolog=/bin/false echo hello");
    let aborted = "srun: error: srun prolog failed rc = 1. Aborting step.\n";
    assert_eq!((told.status, told.stdout.as_str(), told.stderr.as_str()), (0, "", aborted));
    let told = cluster.run("srun --epilog=/bin/false echo hello");
    let failed = "srun: error: srun epilog failed status=1\n";
    assert_eq!((told.status, told.stdout.as_str(), told.stderr.as_str()), (0, "hello\n", failed));
    let told = cluster.run("srun --task-epilog=/bin/false true");
    assert_eq!(told.stderr, "slurmstepd: error: TaskEpilog failed status=256\n");
    let told = cluster.run("srun --task-epilog=/nosuch true");
    let denied = "slurmstepd: error: Could not run user task_epilog [/nosuch]: access denied\n\
                  slurmstepd: error: TaskEpilog failed status=-1\n";
    assert_eq!(told.stderr, denied);
    // It is told the command, and the name it runs by.
    let told = cluster.run("srun -J SLURM_JOB_NAME --prolog=/usr/bin/printenv SLURM_JOB_NAME");
    assert!(told.stdout.starts_with("SLURM_JOB_NAME\n"), "{}", told.stdout);
}
