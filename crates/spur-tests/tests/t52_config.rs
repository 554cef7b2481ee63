//! The configuration, through `spur config`.

use std::process::{Command, Output};

use spur_tests::harness::{Cluster, binary};

fn config(words: &[&str]) -> Output {
    Command::new(binary("spur")).arg("config").args(words).output().expect("spur runs")
}

#[test]
fn every_problem_is_named_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("spur.conf");
    let name = file.display().to_string();
    let text = "[scheduler]\nplugin = \"magic\"\n[[partitions]]\nname = \"a\"\ndefualt = true\n";
    std::fs::write(&file, text).expect("writes");
    let refused = config(&["check", &name]);
    assert_eq!(refused.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(complaint.contains(&format!("{name}:2: plugin = \"magic\"")), "{complaint}");
    assert!(complaint.contains("did you mean \"default\"?"), "{complaint}");
    std::fs::write(&file, "").expect("writes");
    assert!(config(&["check", &name]).status.success(), "an empty file runs a cluster");
}

#[test]
fn a_slurm_conf_becomes_a_spur_conf() {
    let dir = tempfile::tempdir().expect("a directory");
    let slurm = dir.path().join("slurm.conf");
    let text = "ClusterName=old\nSlurmctldHost=ctl\nMpiDefault=none\n\
                NodeName=n[1-4] CPUs=8 RealMemory=16000\n\
                PartitionName=batch Nodes=n[1-4] Default=YES MaxTime=1-00:00:00\n";
    std::fs::write(&slurm, text).expect("writes");
    let imported = config(&["import", &slurm.display().to_string()]);
    assert!(imported.status.success());
    let file = dir.path().join("spur.conf");
    std::fs::write(&file, &imported.stdout).expect("writes");
    let checked = config(&["check", &file.display().to_string()]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let made = String::from_utf8_lossy(&imported.stdout).into_owned();
    for line in ["cluster_name = \"old\"", "name = \"batch\"", "names = \"n[1-4]\""] {
        assert!(made.contains(line), "{line} is missing in:\n{made}");
    }
}

#[test]
fn partitions_and_keys_are_said_with_the_command_that_starts_a_cluster() {
    let more = ["--partition", "cpu=n[1-2]", "--partition", "gpu=n3", "--set", "cluster_name=mine"];
    let cluster = Cluster::up_with("n[1-3]", 2, &more);
    assert_eq!(listed(&cluster), "cpu* n[1-2]\ngpu n3\n");
    let shown = cluster.run("scontrol show config").stdout;
    let name = shown.lines().find(|line| line.starts_with("ClusterName")).unwrap_or_default();
    assert!(name.ends_with("= mine"), "{name}");
    let dir = cluster.dir().display().to_string();
    let status = Command::new(binary("spur")).args(["status", "--dir", &dir]).output();
    let status = String::from_utf8_lossy(&status.expect("spur runs").stdout).into_owned();
    assert!(status.contains("mine"), "{status}");
    // The next time it need not be said again.
    cluster.down();
    cluster.start("n[1-3]", 2);
    assert_eq!(listed(&cluster), "cpu* n[1-2]\ngpu n3\n");
}

fn listed(cluster: &Cluster) -> String {
    cluster.run_words("sinfo", &["-h", "-o", "%P %N"]).stdout
}
