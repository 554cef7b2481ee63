//! Heterogeneous jobs, with the real binaries.

use std::fs;

use spur_tests::harness::{Cluster, until};

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.work_dir().join(file)).unwrap_or_default()
}

/// Scripts find the cluster's commands.
fn write_script(cluster: &Cluster, text: &str) {
    let text = text.replace("srun ", &format!("{}/bin/srun ", cluster.dir().display()));
    fs::write(cluster.work_dir().join("het.sh"), text).expect("a file");
}

#[test]
fn a_script_of_two_components_runs_once_and_its_steps_span_both() {
    let cluster = Cluster::up("n[1-2]", 2);
    write_script(
        &cluster,
        "#!/bin/bash\n#SBATCH -n1 -J lead -w n1 -o het.out\n#SBATCH hetjob\n#SBATCH -n2 -J second -w n2\n\
         echo size $SLURM_HET_SIZE\n\
         echo ids $SLURM_JOB_ID $SLURM_JOB_ID_HET_GROUP_0 $SLURM_JOB_ID_HET_GROUP_1\n\
         echo nodes $SLURM_JOB_NODELIST_HET_GROUP_0 $SLURM_JOB_NODELIST_HET_GROUP_1 $SLURM_NTASKS_HET_GROUP_1\n\
         srun -l --het-group=0,1 bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME in $SLURM_JOB_ID.$SLURM_STEP_ID' | sort\n\
         srun bash -c 'echo alone $SLURM_NTASKS $SLURMD_NODENAME'\n\
         srun --het-group=1 bash -c 'echo second $SLURM_PROCID $SLURMD_NODENAME' | sort\n\
         srun -n1 echo one : -n1 echo two | sort\n\
         srun --het-group=2 true 2>&1\n",
    );
    let done = cluster.run("sbatch --wait --parsable het.sh");
    assert_eq!(done.status, 1, "the last step is refused: {}", done.stderr);
    let a: u32 = done.stdout.trim().parse().expect("a number");
    let b = a + 1;
    let expected = format!(
        "size 2\nids {a} {a} {b}\nnodes n1 n2 2\n\
         0: 0 of 3 on n1 in {a}.0\n1: 1 of 3 on n2 in {a}.0\n2: 2 of 3 on n2 in {a}.0\n\
         alone 1 n1\nsecond 0 n2\nsecond 1 n2\none\ntwo\n\
         srun: error: Requested het-group offset exceeds highest hetjob index (2 > 1)\n"
    );
    assert_eq!(read(&cluster, "het.out"), expected);
    let job = a.to_string();
    until("both components are over", || (cluster.squeue(&job, "%t") == "F\nF").then_some(()));
    let shown = cluster.run(&format!("scontrol show job {a}")).stdout;
    for line in [
        format!("JobId={a} HetJobId={a} HetJobOffset=0 JobName=lead"),
        format!("JobId={b} HetJobId={a} HetJobOffset=1 JobName=second"),
        format!("   HetJobIdSet={a}-{b}"),
    ] {
        assert!(shown.contains(&line), "{shown}");
    }
}

#[test]
fn components_wait_and_end_together() {
    let cluster = Cluster::up("n1", 2);
    let hold = cluster.run_words("sbatch", &["-n1", "--wrap", "sleep 300"]);
    assert_eq!(hold.status, 0, "{}", hold.stderr);
    let words = ["--parsable", "-n1", ":", "-n1", "--wrap", "sleep 300"];
    let job = cluster.run_words("sbatch", &words).stdout.trim().to_string();
    let shown = |word: &str| {
        cluster.run_words("squeue", &["-h", "-S", "i", "-j", word, "-o", "%i %t %r"]).stdout
    };
    until("both wait", || {
        let waiting = format!("{job}+0 PD Resources\n{job}+1 PD Resources\n");
        (shown(&job) == waiting).then_some(())
    });
    assert_eq!(shown(&format!("{job}+1")), format!("{job}+1 PD Resources\n"));
    let refused = cluster.run(&format!("scancel {job}+1"));
    let word = "Operation not permitted on individual component of heterogeneous job";
    assert!(refused.stderr.contains(word), "{}", refused.stderr);
    assert_eq!(cluster.run(&format!("scancel {job}")).status, 0);
    until("both are gone", || shown(&job).is_empty().then_some(()));
}

#[test]
fn salloc_and_srun_take_components() {
    let cluster = Cluster::up("n1", 4);
    let script = format!(
        "echo $SLURM_HET_SIZE $SLURM_NTASKS_HET_GROUP_1; \
         {}/bin/srun --het-group=0-1 bash -c 'echo $SLURM_PROCID' | sort",
        cluster.dir().display()
    );
    let words = ["-Q", "-n1", ":", "-n2", "bash", "-c", &script];
    let done = cluster.run_words("salloc", &words);
    assert_eq!((done.status, done.stdout.as_str()), (0, "2 2\n0\n1\n2\n"), "{}", done.stderr);
    let done =
        cluster.run_words("srun", &["-Q", "-l", "-n1", "echo", "a", ":", "-n1", "echo", "b"]);
    let mut lines: Vec<&str> = done.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!((done.status, lines), (0, vec!["0: a", "1: b"]), "{}", done.stderr);
    let words = ["-n2", "true", ":", "-n2", "sh", "-c", "exit 3"];
    let failed = cluster.run_words("srun", &words);
    assert_eq!(failed.status, 3);
    let told = "tasks 0-1: Exited with exit code 3";
    assert!(failed.stderr.contains(told), "each component counts its own: {}", failed.stderr);
}
