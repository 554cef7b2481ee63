//! `scontrol` changes jobs, nodes and partitions.

use spur_tests::harness::{Cluster, until};

fn submit(cluster: &Cluster, words: &[&str]) -> String {
    wrapped(cluster, words, "sleep 300")
}

fn wrapped(cluster: &Cluster, words: &[&str], script: &str) -> String {
    let words = [&["--parsable"], words, &["-o", "/dev/null", "--wrap", script]].concat();
    let done = cluster.run_words("sbatch", &words);
    assert_eq!(done.status, 0, "{}", done.stderr);
    done.stdout.trim().to_string()
}

fn done(cluster: &Cluster, line: &str) {
    let told = cluster.run(line);
    assert_eq!((told.status, told.stderr.as_str()), (0, ""), "{line}");
}

#[test]
fn jobs_are_held_released_suspended_and_changed() {
    let cluster = Cluster::up_with("n1", 1, &["--set", "jobs.requeue_delay=0"]);
    let job = submit(&cluster, &["-H", "-J", "a", "--mem=1"]);
    until("it is held", || (cluster.squeue(&job, "%r") == "JobHeldUser").then_some(()));
    done(&cluster, &format!("scontrol update jobid={job} timelimit=7 jobname=b"));
    assert_eq!(cluster.squeue(&job, "%l %j"), "7:00 b");
    done(&cluster, &format!("scontrol release {job}"));
    until("it runs", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    done(&cluster, &format!("scontrol suspend {job}"));
    until("it stands still", || (cluster.squeue(&job, "%T") == "SUSPENDED").then_some(()));
    done(&cluster, &format!("scontrol suspend {job}"));
    let other = submit(&cluster, &["-J", "c", "--mem=1"]);
    until("its processor is another's", || {
        (cluster.squeue(&other, "%T") == "RUNNING").then_some(())
    });
    done(&cluster, &format!("scontrol resume {job}"));
    assert_eq!(cluster.squeue(&job, "%T"), "SUSPENDED", "nobody's processor is taken away");
    done(&cluster, &format!("scancel {other}"));
    until("it goes on", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    done(&cluster, &format!("scontrol requeuehold {job}"));
    until("it waits again", || (cluster.squeue(&job, "%T") == "PENDING").then_some(()));
    until("it is told why", || {
        (cluster.squeue(&job, "%r") == "job requeued in held state").then_some(())
    });
    let again = cluster.run(&format!("scontrol requeuehold {job}"));
    let refused = format!("Job is pending execution for job {job}\n");
    assert_eq!((again.status, again.stderr), (1, refused));
    done(&cluster, &format!("scontrol release {job}"));
    until("it runs again", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    done(&cluster, &format!("scontrol requeuehold State=SpecialExit {job}"));
    let special = "SPECIAL_EXIT SE job requeued in held state";
    until("it is marked", || (cluster.squeue(&job, "%T %t %r") == special).then_some(()));
    assert_eq!(cluster.run("squeue -h -t SE -o %i").stdout, format!("{job}\n"));
    done(&cluster, &format!("scontrol release {job}"));
    until("it runs once more", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
}

#[test]
fn a_running_job_keeps_its_nodes_and_ended_ones_are_named_too() {
    let cluster = Cluster::up("n1", 2);
    let ended = wrapped(&cluster, &["-J", "a"], "true");
    let over = || cluster.run(&format!("scontrol show job {ended}")).stdout.contains("=COMPLETED ");
    until("it is over", || over().then_some(()));
    let job = submit(&cluster, &["-J", "a", "-n1"]);
    until("it runs", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    let change =
        |count| cluster.run(&format!("scontrol update jobid={job} numnodes={count}")).stderr;
    assert_eq!(change("1"), "");
    let refused = [
        ("2", "Requested operation not supported on this system"),
        ("3-1", "Requested operation not supported on this system"),
        ("0", "Node count specification invalid"),
        ("1-2", "Job is no longer pending execution"),
    ];
    for (count, why) in refused {
        assert_eq!(change(count), format!("{why} for job {job}\n"), "{count}");
    }
    done(&cluster, &format!("scancel {job}"));
    let waits = submit(&cluster, &["-H", "-J", "b"]);
    done(&cluster, &format!("scontrol update jobid={waits} jobname=a"));
    done(&cluster, "scontrol release name=nobody");
    let told = cluster.run("scontrol hold jobname=a");
    let done_before = "Job has already finished for job";
    let expected =
        format!("{done_before} {ended}\n{done_before} {job}\nslurm_suspend error: No error\n");
    assert_eq!((told.status, told.stderr), (1, expected));
    let told = cluster.run("scontrol requeue name=a");
    let expected = "Invalid job id specified for job name=a\n".to_string();
    assert_eq!((told.status, told.stderr), (1, expected));
    let quiet = |line: &str| cluster.run(line).stderr;
    assert_eq!(quiet("scontrol -Q bogus"), "invalid keyword: bogus\n");
    assert_eq!(quiet("scontrol -Q hold 999"), "");
}

#[test]
fn nodes_are_drained_and_resumed() {
    let cluster = Cluster::up("n1", 1);
    let drain = ["update", "nodename=n1", "state=drain", "reason=bad disk"];
    assert_eq!(cluster.run_words("scontrol", &drain).status, 0);
    assert_eq!(cluster.run("sinfo -h -o %t,%E").stdout, "drain,bad disk\n");
    assert!(cluster.run("sinfo -h -R").stdout.starts_with("bad disk             "));
    done(&cluster, "scontrol update node n1 state=resume");
    assert_eq!(cluster.run("sinfo -h -o %t,%E").stdout, "idle,none\n");
}

#[test]
fn refusals_are_slurms() {
    let cluster = Cluster::up("n1", 1);
    let table = [
        ("scontrol hold", "too few arguments for keyword:hold"),
        ("scontrol hold 999", "Invalid job id specified for job 999"),
        ("scontrol requeue 999", "Invalid job id specified for job 999"),
        ("scontrol hold word", "Invalid job id specified for job word"),
        ("scontrol update", "too few arguments for update keyword"),
        ("scontrol update foo=bar", "No valid entity in update command"),
        ("scontrol update jobid=1", "No changes specified"),
        ("scontrol update jobid=1 foo", "Invalid input: foo"),
        ("scontrol update jobid=1 foo=1", "Update of this parameter is not supported: foo=1"),
        ("scontrol update jobid=1 timelimit=xx", "scontrol: error: Invalid TimeLimit value"),
        ("scontrol update jobid=1 starttime=x", "Invalid time specification (pos=0): x"),
        ("scontrol update job", "Invalid input: job"),
        ("scontrol update jobid=1 priority=top", "scontrol: error: Invalid Priority value: top"),
        (
            "scontrol update jobid=1 minmemorynode=1G",
            "scontrol: error: Invalid MinMemoryNode value: 1G",
        ),
        (
            "scontrol update jobid=1 numcpus=x",
            "scontrol: error: Invalid numeric value \"x\" for NumCPUs.",
        ),
        ("scontrol update jobid=1 numcpus=8-4", "scontrol: error: Invalid NumCPUs value: 8-4"),
        ("scontrol update jobid=1 requeue=x", "scontrol: error: Invalid Requeue value: x"),
        ("scontrol update jobid=1 shared=x", "scontrol: error: Invalid OverSubscribe value: x"),
        ("scontrol update jobid=1 contig=x", "scontrol: error: Invalid Contiguous value: x"),
        ("scontrol update jobid=1 timemin=x", "scontrol: error: Invalid TimeMin value"),
        ("scontrol update jobid=1 delayboot=x", "scontrol: error: Invalid DelayBoot value"),
        ("scontrol update jobid=1 mailtype=bad", "Invalid MailType: bad"),
        ("scontrol update jobid=1 userid=nosuch", "Invalid UserID: nosuch"),
        ("scontrol update jobname=nosuch comment=x", "scontrol: error: No jobs with name 'nosuch'"),
        ("scontrol update jobid=999_1 timelimit=1", "999_1: Invalid job id specified"),
        ("scontrol update jobid=999 timelimit=1", "Invalid job id specified for job 999"),
        ("scontrol update nodename=n1", "No changes specified"),
        ("scontrol update nodename=n1 state=bogus", "Invalid input: state=bogus"),
        ("scontrol update nodename=n1 foo=1", "Update of this parameter is not supported: foo=1"),
        (
            "scontrol update nodename=n1 state=drain",
            "You must specify a reason when DOWNING or DRAINING a node. Request denied",
        ),
        (
            "scontrol update nodename=n1 state=resume",
            "slurm_update error: Invalid node state specified",
        ),
        (
            "scontrol update nodename=n1 state=power_up",
            "slurm_update error: Invalid node state specified",
        ),
        (
            "scontrol update nodename=n1 activefeatures=z",
            "slurm_update error: Active features not subset of available features",
        ),
        (
            "scontrol update nodename=n1 gres=gpu:2",
            "slurm_update error: Invalid generic resource (gres) specification",
        ),
        (
            "scontrol create nodename=n9",
            "scontrol: error: Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol",
        ),
        (
            "scontrol update nodename=nosuch state=resume",
            "slurm_update error: Invalid node name specified",
        ),
        ("scontrol update partition=default", "scontrol: error: No changes specified"),
        (
            "scontrol update partition=default maxtime=bad",
            "scontrol: error: Invalid input maxtime=bad",
        ),
        (
            "scontrol update partition=default hidden=bad",
            "scontrol: error: Invalid input: hidden=bad",
        ),
        (
            "scontrol update partition=default maxnodes=bad",
            "scontrol: error: Invalid numeric value \"bad\" for MaxNodes.",
        ),
        (
            "scontrol update partition=default bogus=1",
            "scontrol: error: Update of this parameter is not supported: bogus=1",
        ),
        (
            "scontrol update partition=default nodes=nosuch",
            "slurm_update error: Invalid node name specified",
        ),
        (
            "scontrol create reservation starttime=now duration=10 users=root",
            "scontrol: error: CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.  \
             No reservation created.",
        ),
        (
            "scontrol create reservation starttime=now duration=bad users=root nodecnt=1",
            "scontrol: error: Invalid duration duration=bad.  No reservation created.",
        ),
        ("scontrol notify 999 hello", "job notify failure: Invalid job id specified"),
        ("scontrol errnumstr x", "numeric arguments required for keyword:errnumstr"),
        ("scontrol setdebug bogus", "invalid debug level: bogus"),
        ("scontrol create foo=1", "scontrol: error: Invalid creation entity: foo=1"),
        ("scontrol delete foo=1", "Invalid deletion entity: foo=1"),
    ];
    for (line, message) in table {
        let told = cluster.run(line);
        let first = told.stderr.lines().next().unwrap_or_default();
        assert_eq!((told.status, first), (1, message), "{line}");
    }
}

#[test]
fn a_job_is_changed_word_by_word() {
    let cluster = Cluster::up("n1", 4);
    let job = submit(&cluster, &["-H", "-J", "a", "-t", "30", "-n", "2"]);
    let has = |words: &str, seen: &str| {
        done(&cluster, &format!("scontrol update jobid={job} {words}"));
        let told = cluster.run(&format!("scontrol -o show job {job}")).stdout;
        assert!(told.contains(seen), "{words}: {seen} is not in {told}");
    };
    has("timelimit+=5", " TimeLimit=00:35:00 ");
    has("timelimit-=10", " TimeLimit=00:25:00 ");
    has("timelimit=+10", " TimeLimit=00:35:00 ");
    has("numnodes=1", " NumNodes=1 ");
    has("nice", " Nice=100 ");
    has("reqcores=2", " ReqB:S:C:T=0:0:2:* ");
    has("switches=2@5:00", " Switches=2@00:05:00 ");
    has("wait-for-switch=100", " Switches=2@00:01:40 ");
    has("comment=one", " Comment=one ");
    done(&cluster, "scontrol update jobname=a comment=two");
    has("resetaccruetime", " Comment=two ");
    let held = cluster.run(&format!("scontrol update jobid={job} priority=7"));
    assert_eq!(
        held.stderr,
        format!("Job is in held state, pending scheduler release for job {job}\n")
    );
    let ended = cluster.run(&format!("scontrol update jobid={job} endtime=now+1hour"));
    assert_eq!(ended.stderr, format!("Job is not running for job {job}\n"));
}

#[test]
fn the_limits_of_steps_are_changed() {
    let cluster = Cluster::up("n1", 2);
    let srun = cluster.tool("srun");
    let script =
        format!("{srun} --overlap -n1 -t 7 sleep 300 & {srun} --overlap -n1 sleep 300 & wait");
    let job = wrapped(&cluster, &["-n2"], &script);
    let limits = || -> Vec<String> {
        let shown = cluster.run(&format!("scontrol -o show step {job}")).stdout;
        let limit = |line: &str| {
            let word = |key: &str| line.split(' ').find_map(|it| it.strip_prefix(key));
            let (step, limit) = (word("StepId=")?, word("TimeLimit=")?);
            Some(format!("{} {limit}", step.split('.').nth(1)?))
        };
        let mut limits: Vec<String> = shown.lines().filter_map(limit).collect();
        limits.sort();
        limits
    };
    let mut seven = String::new();
    until("both steps run", || {
        let now = limits();
        seven = now.iter().find(|it| it.ends_with(" 00:07:00"))?[..1].to_string();
        (now.len() == 3).then_some(())
    });
    let refusals = [
        (format!("stepid={job}.0"), "No changes specified\n"),
        (format!("stepid={job}.7 timelimit=3"), "slurm_update error: Invalid job id specified\n"),
        (format!("stepid={job}.0 timelimit=x"), "scontrol: error: Invalid TimeLimit value\n"),
        (
            format!("stepid={job}.{seven} timelimit=-30"),
            "scontrol: error: TimeLimit decrement larger than current time limit (30 > 7)\n",
        ),
        (
            "stepid=x timelimit=3".to_string(),
            "Invalid StepID parameter: stepid=x\nRequest aborted\n",
        ),
        (
            format!("stepid={job}.0 name=x"),
            "Update of this parameter is not supported: name=x\nRequest aborted\n",
        ),
    ];
    for (words, expected) in refusals {
        let told = cluster.run(&format!("scontrol update {words}"));
        assert_eq!((told.status, told.stderr.as_str()), (1, expected), "{words}");
    }
    done(&cluster, &format!("scontrol update stepid={job}.{seven} timelimit=+2"));
    assert!(limits().contains(&format!("{seven} 00:09:00")), "{:?}", limits());
    done(&cluster, &format!("scontrol update stepid={job} timelimit=0:30"));
    assert_eq!(limits(), ["0 00:01:00", "1 00:01:00", "batch 00:01:00"]);
    done(&cluster, &format!("scontrol update stepid={job}.0 timelimit=unlimited"));
    assert_eq!(limits(), ["0 UNLIMITED", "1 00:01:00", "batch 00:01:00"]);
    let job_limit = cluster.squeue(&job, "%l");
    assert_ne!(job_limit, "1:00", "the job's own is another one");
}

#[test]
fn a_job_that_runs_while_it_is_held_says_so() {
    let cluster = Cluster::up("n1", 1);
    let job = submit(&cluster, &[]);
    until("it runs", || (cluster.squeue(&job, "%T") == "RUNNING").then_some(()));
    done(&cluster, &format!("scontrol uhold {job}"));
    assert_eq!(cluster.squeue(&job, "%T %r"), "RUNNING JobHeldUser");
    done(&cluster, &format!("scontrol release {job}"));
    assert_eq!(cluster.squeue(&job, "%T %r"), "RUNNING None");
}

#[test]
fn a_job_that_is_ending_tells_since_when() {
    let cluster = Cluster::up("n1", 1);
    let deaf = "trap '' TERM; touch up; sleep 300";
    let job = wrapped(&cluster, &["-t", "60"], deaf);
    until("it runs", || cluster.work_dir().join("up").exists().then_some(()));
    done(&cluster, &format!("scancel {job}"));
    let shown = cluster.run(&format!("squeue -h -j {job} -t all -o '%t %M %e'")).stdout;
    assert!(!shown.contains("1:00:00"), "{shown}");
}

#[test]
fn the_controller_logs_as_much_as_it_is_told() {
    let cluster = Cluster::up("n1", 1);
    let told = |key: &str| {
        let all = cluster.run("scontrol show config").stdout;
        let line = all.lines().find(|line| line.starts_with(&format!("{key} ")));
        line.and_then(|line| line.split_once("= ")).map(|(_, value)| value.to_string())
    };
    assert_eq!(told("DebugFlags").as_deref(), Some("(null)"));
    done(&cluster, "scontrol setdebug debug2");
    done(&cluster, "scontrol setdebugflags +backfill");
    done(&cluster, "scontrol setdebugflags +steps");
    assert_eq!(told("SlurmctldDebug").as_deref(), Some("debug2"));
    assert_eq!(told("DebugFlags").as_deref(), Some("Backfill,Steps"));
    done(&cluster, "scontrol setdebugflags -backfill");
    done(&cluster, "scontrol setdebug 3");
    assert_eq!(told("SlurmctldDebug").as_deref(), Some("info"));
    assert_eq!(told("DebugFlags").as_deref(), Some("Steps"));
}

#[test]
fn partitions_are_changed_key_by_key_and_survive_a_restart() {
    let cluster = Cluster::up("n[1-2]", 1);
    done(&cluster, "scontrol create partitionname=pp nodes=n1 maxtime=10 priority=5");
    let default = cluster.run("sinfo -h -o %P").stdout;
    assert!(default.contains("default*\n"), "jobs that name none go where they went: {default}");
    // What the keys say together is the administrator's business.
    done(
        &cluster,
        "scontrol update partitionname=pp defaulttime=50 alternate=default minnodes=3 maxnodes=2",
    );
    done(&cluster, "scontrol update partitionname=pp nodes+=n2");
    done(&cluster, "scontrol update partitionname=pp cpubind=core jobdefaults=DefCpuPerGPU=2");
    let shown = || cluster.run("scontrol show partition pp").stdout;
    let before = shown();
    for seen in ["CpuBind=cores", "JobDefaults=DefCpuPerGPU=2"] {
        assert!(before.contains(seen), "{seen}: {before}");
    }
    for seen in ["Alternate=default", "DefaultTime=00:50:00", "Nodes=n[1-2]", "PriorityTier=5"] {
        assert!(before.contains(seen), "{seen}: {before}");
    }
    cluster.down();
    cluster.start("n[1-2]", 1);
    until("it is known again", || (shown() == before).then_some(()));
}

#[test]
fn of_several_partitions_the_first_says_how_long_jobs_may_run_that_ask_for_nothing() {
    let cluster = Cluster::up("n1", 2);
    done(&cluster, "scontrol create partitionname=short nodes=n1 maxtime=100 defaulttime=7");
    done(&cluster, "scontrol create partitionname=long nodes=n1 maxtime=50");
    done(&cluster, "scontrol update partitionname=short state=down");
    for (partitions, limit) in [("short,long", "7:00"), ("long,short", "50:00")] {
        let words = ["--parsable", "-p", partitions, "--wrap", "sleep 300"];
        let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
        until("it runs where it can", || {
            (cluster.squeue(&job, "%T,%P") == "RUNNING,long").then_some(())
        });
        assert_eq!(cluster.squeue(&job, "%l"), limit, "{partitions}");
    }
}
