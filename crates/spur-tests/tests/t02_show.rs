//! `scontrol show` and its questions.

use spur_tests::harness::{Cluster, Output, until};

fn first_line(output: &Output) -> &str {
    output.stdout.lines().next().unwrap_or_default()
}

#[test]
fn the_script_and_the_configuration_are_shown() {
    let cluster = Cluster::up("n1", 1);
    let job = cluster.run("sbatch --parsable -H --wrap true").stdout.trim().to_string();
    let script = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\ntrue\n";
    assert_eq!(cluster.run(&format!("scontrol write batch_script {job} -")).stdout, script);
    let told = cluster.run("scontrol write batch_script 999 -");
    let refusal = "job script retrieval failed: Invalid job id specified\n";
    assert_eq!((told.status, told.stderr.as_str()), (0, refusal));
    let config = cluster.run("scontrol show config").stdout;
    assert!(config.starts_with("Configuration data as of "), "{config}");
    for line in ["MinJobAge               = 300 sec", "SLURM_VERSION           = 25.11.0"] {
        assert!(config.lines().any(|known| known == line), "{line}: {config}");
    }
    assert!(config.contains("\nSlurmctldHost[0]        = "), "{config}");
    let licenses = cluster.run("scontrol show licenses");
    assert_eq!(licenses.stdout, "No licenses configured in Slurm.\n");
}

#[test]
fn jobs_nodes_and_partitions_are_shown_in_slurms_layout() {
    let cluster = Cluster::up("n1", 2);
    let work = cluster.work_dir().display().to_string();
    let words = ["--parsable", "-J", "shown", "-t", "10", "--wrap", "sleep 300"];
    let id = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    until("it runs", || (cluster.squeue(&id, "%T") == "RUNNING").then_some(()));

    let shown = cluster.run(&format!("scontrol show job {id}"));
    assert_eq!(
        (shown.status, first_line(&shown)),
        (0, format!("JobId={id} JobName=shown").as_str())
    );
    let has = |text: &str| assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
    has("\n   JobState=RUNNING Reason=None Dependency=(null)\n");
    has(" TimeLimit=00:10:00 TimeMin=N/A\n");
    has("\n   NodeList=n1\n   BatchHost=n1\n   NumNodes=1 ");
    has(&format!("\n   WorkDir={work}\n"));
    has("\n   Power=\n   \n\n");

    let line = cluster.run(&format!("scontrol show jobid={id} -o"));
    assert_eq!(line.stdout.lines().count(), 1);
    let node = cluster.run("scontrol show node n1 --oneliner");
    assert!(node.stdout.starts_with("NodeName=n1 "), "{}", node.stdout);
    assert!(node.stdout.contains(" CPUAlloc=1 ") && node.stdout.contains(" State=MIXED "));
    let partition = cluster.run("scontrol show partition");
    assert!(partition.stdout.starts_with("PartitionName=default\n   AllowGroups=ALL "));
    assert!(partition.stdout.contains(" Default=YES ") && partition.stdout.contains("Nodes=n1\n"));
    let step = cluster.run(&format!("scontrol -o show step {id}"));
    assert!(step.stdout.starts_with(&format!("StepId={id}.batch UserId=")), "{step:?}");
}

#[test]
fn json_has_the_envelope_of_v42() {
    let cluster = Cluster::up("n1", 1);
    for (line, list, key) in [
        ("scontrol show jobs --json", "jobs", "job_id"),
        ("squeue -t all --json", "jobs", "job_state"),
        ("scontrol show nodes --json", "nodes", "hostname"),
        ("scontrol show partitions --json", "partitions", "maximums"),
        ("sinfo --json", "sinfo", "nodes"),
        ("scontrol ping --json", "pings", "responding"),
    ] {
        let told = cluster.run(line);
        let json: serde_json::Value = serde_json::from_str(&told.stdout).expect(line);
        assert_eq!(json["meta"]["plugin"]["data_parser"], "data_parser/v0.0.42", "{line}");
        assert!(json["errors"].is_array() && json["warnings"].is_array(), "{line}");
        assert!(json[list][0].get(key).is_some(), "{line}: {json}");
    }
}

#[test]
fn refusals_are_slurms() {
    let cluster = Cluster::up("n1", 1);
    let table = [
        ("scontrol show", 1, "", "too few arguments for keyword:show"),
        ("scontrol show job abc", 1, "", "scontrol_print_job error: Invalid job id specified"),
        ("scontrol show job 999", 1, "", "slurm_load_jobs error: Invalid job id specified"),
        ("scontrol show job 1 2", 1, "", "too many arguments for keyword:show"),
        ("scontrol show node nosuch", 1, "Node nosuch not found\n", ""),
        ("scontrol show partition nosuch", 1, "Partition nosuch not found\n", ""),
        ("scontrol show steps 999", 1, "", "slurm_get_job_steps error: Invalid job id specified"),
        ("scontrol show bogus", 1, "", "invalid entity:bogus for keyword:show "),
        ("scontrol bogus", 1, "", "invalid keyword: bogus"),
        ("scontrol ping x", 1, "", "too many arguments for keyword:ping"),
        ("scontrol errnumstr 2017", 0, "Invalid job id specified\n", ""),
        ("scontrol errnumstr", 1, "", "one arguments required for keyword:errnumstr"),
        ("scontrol wait_job 999", 1, "", "scontrol: Problem running job 999"),
        ("scontrol -Q show job 999", 1, "", ""),
        ("scontrol show topo", 0, "", "scontrol: error: No topology information available"),
    ];
    for (line, status, stdout, stderr) in table {
        let told = cluster.run(line);
        let first = told.stderr.lines().next().unwrap_or_default();
        assert_eq!((told.status, told.stdout.as_str(), first), (status, stdout, stderr), "{line}");
    }
}

#[test]
fn several_commands_may_be_typed() {
    use std::io::Write;
    use std::process::Stdio;
    let cluster = Cluster::up("n1", 1);
    let mut child = cluster
        .command("scontrol")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("scontrol runs");
    let typed = b"version\nbogus\n!!\nquit\nversion\n";
    child.stdin.take().expect("a pipe").write_all(typed).expect("written");
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(1));
    let told = String::from_utf8_lossy(&done.stdout);
    assert_eq!(
        told,
        "scontrol: version\nslurm 25.11.0\nscontrol: bogus\nscontrol: !!\nscontrol: quit\n"
    );
    let complaints = String::from_utf8_lossy(&done.stderr);
    assert_eq!(complaints, "invalid keyword: bogus\ninvalid keyword: bogus\n");
}

#[test]
fn sdiag_counts_jobs_passes_and_calls() {
    let cluster = Cluster::up("n1", 2);
    // Whatever the cluster did to greet.
    cluster.run("sdiag -r");
    let told = cluster.run("sbatch -W -o /dev/null --wrap true");
    assert_eq!(told.status, 0, "{}", told.stderr);
    assert_eq!(cluster.run("sbatch -Q -H --wrap true").status, 0);
    let text = cluster.run("sdiag").stdout;
    for line in ["Jobs submitted: 2", "Jobs started:   1", "Jobs completed: 1", "Jobs pending:   1"]
    {
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    }
    assert!(text.contains("\tREQUEST_SUBMIT_BATCH_JOB                ( 4003) count:2 "), "{text}");
    let told: serde_json::Value =
        serde_json::from_str(&cluster.run("sdiag --json").stdout).expect("JSON");
    assert_eq!(told["statistics"]["jobs_submitted"], 2);
    assert!(told["statistics"]["schedule_cycle_total"].as_u64() > Some(0), "{told}");
    assert_eq!(cluster.run("sdiag -r").stdout, "Reset scheduling statistics\n");
    let text = cluster.run("sdiag").stdout;
    assert!(text.lines().any(|line| line == "Jobs submitted: 0"), "{text}");
    assert_eq!(cluster.run("sdiag --nosuchoption").status, 1);
}
