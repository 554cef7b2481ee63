//! What tasks see of their node and of each other, and what becomes of them when nobody waits for them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spur_tests::harness::{Cluster, Processes, until};

#[test]
fn a_node_has_its_own_name_and_tasks_find_each_other() {
    let cluster = Cluster::up("n[1-2]", 2);
    let script =
        "echo $(hostname) $SLURMD_NODENAME $MASTER_ADDR:$MASTER_PORT $NODE_RANK/$WORLD_SIZE";
    let ran = cluster.run_words("srun", &["-N2", "-n2", "-l", "sh", "-c", script]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{}", ran.stdout);
    let masters: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(masters[0], masters[1], "one meeting place");
    let port: u16 = masters[0].rsplit(':').next().expect("a port").parse().expect("a number");
    assert!((15_000..32_000).contains(&port), "{port}");
    for (line, node) in lines.iter().zip(["n1", "n2"]) {
        assert!(line.ends_with("/2") && line.contains(&format!(" {node} ")), "{line}");
        if nix::unistd::Uid::effective().is_root() {
            assert!(line.contains(&format!(": {node} {node} ")), "{line}");
            // Scripts look the first node of the list up, libraries their own.
            for name in ["n1", "n2"] {
                let words = ["-w", node, "getent", "ahostsv4", name];
                let found = cluster.run_words("srun", &words);
                assert!(found.stdout.starts_with("127.0.0.1 "), "{name} on {node}: {found:?}");
            }
        } else {
            eprintln!("SKIPPED: host names need root");
        }
    }
    let mut own = cluster.command("srun");
    own.args(["-n2", "sh", "-c", "echo $MASTER_PORT"]).env("MASTER_PORT", "77");
    let own = own.output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&own.stdout), "77\n77\n");
}

#[test]
fn tasks_end_with_whoever_waits_for_them() {
    let cluster = Cluster::up("n1", 2);
    let srun = cluster.tool("srun");
    // The script is not ended by what happens to its srun, and tells how it went.
    let script = format!("{srun} sleep 4711 & echo $! > srun.pid; wait; sleep 300");
    let done = cluster.command("sbatch").args(["--wrap", &script]).stdout(Stdio::null()).status();
    assert!(done.expect("runs").success());
    let sleeps = || cluster.processes().list().iter().filter(|(_, it)| it == "sleep 4711 ").count();
    until("the task runs", || (sleeps() == 1).then_some(()));
    let pid = fs::read_to_string(cluster.work_dir().join("srun.pid")).expect("it began");
    kill(Pid::from_raw(pid.trim().parse().expect("a number")), Signal::SIGKILL).expect("lives");
    until("the task is gone", || (sleeps() == 0).then_some(()));
}

#[test]
fn a_step_that_ended_well_is_never_called_cancelled() {
    let cluster = Cluster::up("n1", 2);
    for _ in 0..3 {
        assert_eq!(cluster.run("srun true").status, 0);
    }
    let states = until("accounting has them", || {
        let told = cluster.run("sacct -n -P -o JobID,State").stdout;
        let steps: Vec<String> =
            told.lines().filter(|it| it.contains(".0|")).map(str::to_string).collect();
        let over = steps.len() >= 3 && !told.contains("RUNNING");
        over.then_some(steps)
    });
    assert!(states.iter().all(|step| step.ends_with("|COMPLETED")), "{states:?}");
}

#[test]
fn an_exit_code_can_mean_once_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("spur.conf");
    let text = "[jobs]\nrequeue_exit = [\"7\"]\nrequeue_exit_hold = [\"8\"]\nrequeue_delay = 0\nmax_batch_requeue = 1\n";
    fs::write(&config, text).expect("writes");
    let cluster = Cluster::up_with("n1", 2, &["--config", &config.display().to_string()]);
    let script = "echo $SLURM_RESTART_COUNT >> runs; exit 7";
    let job = cluster.run_words("sbatch", &["--parsable", "--wrap", script]).stdout;
    until("it is held after its second run", || {
        (cluster.squeue(job.trim(), "%T %r") == "PENDING JobHeldAdmin").then_some(())
    });
    let runs = fs::read_to_string(cluster.work_dir().join("runs")).expect("it ran");
    assert_eq!(runs, "\n1\n");
    let job = cluster.run_words("sbatch", &["--parsable", "--wrap", "exit 8"]).stdout;
    until("somebody is to look at it", || {
        (cluster.squeue(job.trim(), "%T %r") == "SPECIAL_EXIT JobHeldUser").then_some(())
    });
}

#[test]
fn a_step_is_held_to_the_memory_it_asks_for() {
    let cluster = Cluster::up("n1", 2);
    let log = fs::read_to_string(cluster.dir().join("log/spurd-n1.log")).unwrap_or_default();
    if log.contains("without control groups") || log.contains("have no memory") {
        eprintln!("SKIPPED: memory cannot be limited");
        return;
    }
    let srun = cluster.tool("srun");
    // At most 128 MB, should nobody stop it.
    let hog = "sh -c 'head -c 134217728 /dev/zero | tail | wc -c'";
    let script = format!("{srun} {hog}; {srun} --mem=40M {hog}; echo $? > last");
    let job =
        cluster.run_words("sbatch", &["--wait", "--parsable", "--mem=400M", "--wrap", &script]);
    let job = job.stdout.trim().to_string();
    let states = until("accounting has it", || {
        let told = cluster.run(&format!("sacct -n -P -j {job} -o JobID,State")).stdout;
        told.contains(&format!("{job}.1|OUT_OF_MEMORY")).then_some(told)
    });
    assert!(states.contains(&format!("{job}.0|COMPLETED")), "{states}");
    assert!(states.contains(&format!("{job}|COMPLETED")), "{states}");
}

/// It is bounded by itself too: no more than a hundred, should nobody hold it.
#[test]
fn a_fork_bomb_is_held_to_what_the_site_allows_a_job() {
    let cluster = Cluster::up_with("n1", 2, &["--set", "cgroup.max_processes=40"]);
    let log = fs::read_to_string(cluster.dir().join("log/spurd-n1.log")).unwrap_or_default();
    if log.contains("without control groups") || log.contains("have no pids") {
        eprintln!("SKIPPED: processes cannot be limited");
        return;
    }
    let bomb = "#!/bin/sh\nborn=0\nwhile [ $born -lt 100 ]; do sleep 1000 & born=$((born + 1)); \
                echo $born > born; done\n";
    fs::write(cluster.work_dir().join("bomb"), bomb).expect("writes");
    cluster.run("sbatch --wait bomb");
    let born = fs::read_to_string(cluster.work_dir().join("born")).expect("some were born");
    let born: u32 = born.trim().parse().expect("a number");
    assert!((1..40).contains(&born), "{born}");
    // Another job has as many again.
    let ran = cluster.run_words("srun", &["sh", "-c", "sleep 0 & wait; echo fine"]);
    assert_eq!(ran.stdout, "fine\n", "{}", ran.stderr);
}

/// A node that is this very machine: its tasks are bound to real processors.
#[test]
fn tasks_are_bound_to_processors_of_their_own() {
    let own = nix::sched::sched_getaffinity(Pid::from_raw(0)).expect("the kernel tells");
    let count = nix::sched::CpuSet::count();
    let cpus: Vec<usize> = (0..count).filter(|cpu| own.is_set(*cpu) == Ok(true)).collect();
    let host = nix::unistd::gethostname().expect("a name").to_string_lossy().into_owned();
    let host = host.split('.').next().unwrap_or_default().to_string();
    if cpus.len() < 2 {
        eprintln!("SKIPPED: needs two processors");
        return;
    }
    let cluster = Cluster::up(&host, cpus.len() as u32);
    let tasks = format!("-n{}", cpus.len());
    let script = "echo $SLURM_CPU_BIND_TYPE $(grep Cpus_allowed_list /proc/self/status)";
    let ran = cluster.run_words("srun", &[&tasks, "--cpu-bind=v,threads", "sh", "-c", script]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut allowed: Vec<usize> = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("mask_cpu: Cpus_allowed_list:")?.trim().parse().ok())
        .collect();
    allowed.sort_unstable();
    assert_eq!(allowed, cpus, "{}", ran.stdout);
    let said = format!("cpu-bind=MASK - {host}, task  0  0 [");
    assert!(ran.stderr.contains(&said) && ran.stderr.contains(": mask 0x"), "{}", ran.stderr);
    // Steps beside each other have processors of their own, though nobody asks for that.
    let srun = cluster.tool("srun");
    let step = format!("{srun} -n1 --exact grep Cpus_allowed_list /proc/self/status");
    let script = format!("{step} & {step} & wait");
    let words = ["--wait", "-n2", "-o", "beside", "--wrap", &script];
    assert_eq!(cluster.run_words("sbatch", &words).status, 0);
    let told = fs::read_to_string(cluster.work_dir().join("beside")).expect("it ran");
    let mut beside: Vec<usize> =
        told.lines().filter_map(|line| line.split('\t').nth(1)?.parse().ok()).collect();
    beside.sort_unstable();
    assert_eq!(beside.len(), 2, "{told}");
    assert_ne!(beside[0], beside[1], "{told}");
    let outside = cluster.run_words("srun", &["-n1", "--cpu-bind=map_cpu:4000", "true"]);
    assert_ne!(outside.status, 0);
    let words = "CPU binding outside of job step allocation, allocated CPUs are: ";
    assert!(outside.stderr.contains(words), "{}", outside.stderr);
    let words = "Application launch failed: Unable to satisfy cpu bind request";
    assert!(outside.stderr.contains(words), "{}", outside.stderr);
}

#[test]
fn a_node_that_is_not_fit_takes_no_jobs() {
    let folder = tempfile::Builder::new().prefix("spur-test-").tempdir().expect("a folder");
    let check = folder.path().join("check");
    let ill = folder.path().join("ill");
    let text = format!("#!/bin/sh\n[ -e {0} ] || exit 0\ncat {0}\nexit 1\n", ill.display());
    fs::write(&check, text).expect("writes");
    fs::set_permissions(&check, PermissionsExt::from_mode(0o755)).expect("permissions");
    let config = folder.path().join("spur.conf");
    let text = format!("[health_check]\nprogram = \"{}\"\ninterval = 1\n", check.display());
    fs::write(&config, text).expect("writes");
    let cluster = Cluster::up_with("n1", 2, &["--config", &config.display().to_string()]);
    let fit = cluster.run("spur health");
    assert_eq!((fit.status, fit.stdout.as_str()), (0, "n1  fit\n"), "{}", fit.stderr);
    // What is told is what is wrong now, not what was wrong first.
    for trouble in ["the fan is broken", "no \"light\"; $(reboot)"] {
        fs::write(folder.path().join("new"), trouble).expect("writes");
        fs::rename(folder.path().join("new"), &ill).expect("renames");
        let expected = format!("n1  DRAIN: Health: {trouble}\n");
        until("the node is drained for it", || {
            let told = cluster.run("spur health");
            (told.status == 1 && told.stdout == expected).then_some(())
        });
    }
    fs::remove_file(&ill).expect("removes");
    until("the node is back", || (cluster.run("spur health").status == 0).then_some(()));
    // What somebody has closed by hand stays closed.
    assert_eq!(cluster.run("scontrol update nodename=n1 state=drain reason=mine").status, 0);
    fs::write(&ill, "").expect("writes");
    fs::remove_file(&ill).expect("removes");
    assert_eq!(cluster.run("spur health").stdout, "n1  DRAIN: mine\n");
}

/// The site's program only leaves a mark here; what a restart is to the cluster the test brings about itself.
#[test]
fn a_node_restarts_once_its_job_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("restart");
    let mark = folder.path().join("mark");
    let text = format!("#!/bin/sh\necho $SLURMD_NODENAME $(id -u) >> {}\n", mark.display());
    fs::write(&program, text).expect("writes");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("permissions");
    let config = folder.path().join("spur.conf");
    let text = format!("[agent]\nreboot_program = \"{}\"\n", program.display());
    fs::write(&config, text).expect("writes");
    let more = ["--config", &config.display().to_string()];
    let cluster = Cluster::up_with("n1", 2, &more);
    let shows = |word: &str, reason: &str| {
        let told = cluster.run_words("sinfo", &["-h", "-N", "-o", "%t|%E"]).stdout;
        told.lines().next() == Some(&format!("{word}|{reason}"))
    };
    assert_eq!(cluster.run("scontrol cancel_reboot n1").status, 1, "nothing waits");
    assert!(cluster.run_words("sbatch", &["--wrap", "sleep 300"]).status == 0);
    until("the job runs", || shows("mix", "none").then_some(()));
    assert_eq!(cluster.run("scontrol reboot n1").status, 0);
    assert!(shows("mix@", "reboot requested"));
    assert_eq!(cluster.run("scontrol cancel_reboot n1").status, 0);
    assert!(shows("mix", "none"));
    assert_eq!(cluster.run("scontrol reboot ASAP reason=fans ALL").status, 0);
    assert!(shows("drng@", "fans"));
    let node = cluster.run("scontrol show node n1").stdout;
    assert!(node.contains("State=MIXED+DRAIN+REBOOT_REQUESTED "), "{node}");
    assert!(node.contains("\n   NextState=RESUME\n"), "{node}");
    assert_eq!(cluster.run("scancel -t running").status, 0);
    let told =
        until("the program runs", || fs::read_to_string(&mark).ok().filter(|it| !it.is_empty()));
    assert_eq!(told, format!("n1 {}\n", nix::unistd::Uid::effective()));
    assert!(shows("boot^", "fans : reboot issued"));
    let agent = cluster.processes().with(&[" -N n1 ", "spurd"]);
    agent.into_iter().for_each(Processes::kill);
    fs::remove_file(cluster.dir().join("spool/n1/spool-id")).expect("was there");
    cluster.start_with("n1", 2, &more);
    until("the node is back", || shows("idle", "none").then_some(()));
    assert_eq!(fs::read_to_string(&mark).expect("is there"), told, "once");
}
