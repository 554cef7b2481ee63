//! Jobs that share processors, sleep for others, and choose nodes by the network, with the real binaries.

use std::fs;

use spur_tests::harness::{Cluster, until};

fn cluster(nodes: &str, config: &str) -> Cluster {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("spur.conf");
    fs::write(&file, config).expect("writes");
    Cluster::up_with(nodes, 2, &["--config", &file.display().to_string()])
}

fn submit(cluster: &Cluster, words: &[&str]) -> String {
    let words: Vec<&str> = ["--parsable"].iter().chain(words).copied().collect();
    let done = cluster.run_words("sbatch", &[&words[..], &["--wrap", "exec sleep 4714"]].concat());
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.trim().to_string()
}

/// Whether all processes of the jobs' scripts are in this state of the kernel's.
fn all_are(cluster: &Cluster, state: &str, count: usize) -> bool {
    let sleeps = cluster.processes().with(&["sleep 4714"]);
    let is = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(state))
    };
    sleeps.iter().filter(|pid| is(pid)).count() == count
}

#[test]
fn nodes_are_shared_and_chosen_as_partitions_and_switches_say() {
    let config = "[scheduler]\ntopology = \"tree\"\n\
                  [[partitions]]\nname = \"all\"\ndefault = true\n\
                  [[partitions]]\nname = \"shared\"\nnodes = \"n4\"\nover_subscribe = \"force:2\"\n\
                  [[partitions]]\nname = \"theirs\"\nallow_accounts = [\"physics\"]\n\
                  [[switches]]\nname = \"s1\"\nnodes = \"n[1-2]\"\n\
                  [[switches]]\nname = \"s2\"\nnodes = \"n[3-4]\"\n\
                  [[switches]]\nname = \"top\"\nswitches = \"s[1-2]\"\n";
    let cluster = cluster("n[1-4]", config);
    let shared: Vec<String> =
        (0..3).map(|_| submit(&cluster, &["-p", "shared", "-n2", "--mem=1"])).collect();
    let states = |jobs: &[String]| -> Vec<String> {
        jobs.iter().map(|job| cluster.squeue(job, "%t %N%r")).collect()
    };
    until("two share what one has", || {
        (states(&shared) == ["R n4None", "R n4None", "PD Resources"]).then_some(())
    });
    until("both scripts run", || all_are(&cluster, "S", 2).then_some(()));
    cluster.run(&format!("scancel {}", shared.join(" ")));
    let blocking = submit(&cluster, &["-w", "n1", "-n2", "--mem=1"]);
    let near = submit(&cluster, &["-N2", "-n2", "--switches=1", "--mem=1"]);
    until("it is at one switch", || (cluster.squeue(&near, "%t %N") == "R n[3-4]").then_some(()));
    let where_it_is = "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN";
    let told = cluster.run_words("srun", &["-w", "n2", "sh", "-c", where_it_is]);
    assert_eq!(told.stdout, "top.s1.n2 switch.switch.node\n", "{}", told.stderr);
    let barred = submit(&cluster, &["-p", "theirs"]);
    until("it says whose the partition is", || {
        let reason = cluster.squeue(&barred, "%r");
        let is_told =
            reason.starts_with("Job's account not ") && reason.contains("theirs allows physics");
        is_told.then_some(())
    });
    until("the scripts run", || all_are(&cluster, "S", 2).then_some(()));
    assert_eq!(cluster.run(&format!("scontrol suspend {near}")).status, 0);
    until("it is stopped", || all_are(&cluster, "T", 1).then_some(()));
    assert_eq!(cluster.squeue(&near, "%t"), "S");
    assert_eq!(cluster.run(&format!("scontrol resume {near}")).status, 0);
    until("it goes on", || all_are(&cluster, "S", 2).then_some(()));
    cluster.run(&format!("scancel {blocking} {near} {barred}"));
}

#[test]
fn a_job_sleeps_while_one_of_a_better_qos_runs() {
    let config = "[preemption]\nby = \"qos\"\nmode = \"suspend,gang\"\n";
    let cluster = cluster("n1", config);
    for line in ["add qos high Priority=10", "modify qos high set Preempt=normal"] {
        let done = cluster.run(&format!("sacctmgr -i {line}"));
        assert_eq!(done.status, 0, "{line}: {}{}", done.stdout, done.stderr);
    }
    let low = submit(&cluster, &["--qos=normal", "-n2", "--mem=1"]);
    until("it runs", || (cluster.squeue(&low, "%t") == "R").then_some(()));
    until("its script runs", || all_are(&cluster, "S", 1).then_some(()));
    let high = submit(&cluster, &["--qos=high", "-n2", "--mem=1"]);
    until("the one sleeps for the other", || {
        (cluster.squeue(&low, "%t") == "S" && cluster.squeue(&high, "%t") == "R").then_some(())
    });
    until("its processes are stopped", || all_are(&cluster, "T", 1).then_some(()));
    cluster.run(&format!("scancel {high}"));
    until("it goes on", || (cluster.squeue(&low, "%t") == "R").then_some(()));
    until("and its processes", || all_are(&cluster, "S", 1).then_some(()));
    cluster.run(&format!("scancel {low}"));
}

#[test]
fn jobs_on_the_same_processors_take_turns() {
    let config = "[preemption]\nmode = \"off,gang\"\n[scheduler]\ntime_slice = 4\n\
                  [[partitions]]\nname = \"shared\"\nover_subscribe = \"force:2\"\n";
    let cluster = cluster("n1", config);
    let jobs = [0, 1].map(|_| submit(&cluster, &["-n2", "--mem=1"]));
    let states = || jobs.each_ref().map(|job| cluster.squeue(job, "%t"));
    for expected in [["R", "S"], ["S", "R"], ["R", "S"]] {
        until("one of them runs", || (states() == expected).then_some(()));
        until("the other is stopped", || {
            (all_are(&cluster, "S", 1) && all_are(&cluster, "T", 1)).then_some(())
        });
    }
    cluster.run(&format!("scancel {}", jobs[0]));
    until("the other goes on alone", || (cluster.squeue(&jobs[1], "%t") == "R").then_some(()));
    until("and its processes", || all_are(&cluster, "S", 1).then_some(()));
    cluster.run(&format!("scancel {}", jobs[1]));
}
