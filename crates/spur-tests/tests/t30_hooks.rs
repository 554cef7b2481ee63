//! Programs that a site has run around jobs and tasks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spur_tests::harness::{Cluster, until};

/// Where the programs are and what they write.
struct Site {
    folder: tempfile::TempDir,
    cluster: Cluster,
}

impl Site {
    /// Nodes n1 and n2, with a prolog and an epilog that tell what they see, and fail where a file says so.
    fn new() -> Site {
        let folder = tempfile::Builder::new().prefix("spur-test-").tempdir().expect("a folder");
        let at = folder.path();
        fs::set_permissions(at, PermissionsExt::from_mode(0o777)).expect("permissions");
        let here = at.display();
        let script = |name: &str, text: String| {
            let path = at.join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("permissions");
        };
        for kind in ["prolog", "epilog"] {
            script(
                kind,
                format!(
                    "env > {here}/{kind}-$SLURM_JOB_ID-$SLURMD_NODENAME.part\n\
                     mv {here}/{kind}-$SLURM_JOB_ID-$SLURMD_NODENAME.part \
                     {here}/{kind}-$SLURM_JOB_ID-$SLURMD_NODENAME\n\
                     ! [ -e {here}/fail-{kind}-$SLURMD_NODENAME ]"
                ),
            );
        }
        script(
            "task-prolog",
            "echo export MADE=by prolog\necho print hello\necho unset GONE".into(),
        );
        script("task-epilog", format!("touch {here}/task-epilog-$SLURM_JOB_ID.$SLURM_PROCID"));
        let config = at.join("spur.conf");
        let text = format!(
            "[hooks]\nprolog = [\"{here}/prolo?\"]\nepilog = [\"{here}/epilog\"]\n\
             task_prolog = \"{here}/task-prolog\"\ntask_epilog = \"{here}/task-epilog\"\n\
             [jobs]\nrequeue_delay = 0\n"
        );
        fs::write(&config, text).expect("writes");
        let cluster = Cluster::up_with("n[1-2]", 2, &["--config", &config.display().to_string()]);
        Site { folder, cluster }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn told(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn nodes(&self) -> String {
        self.cluster.run_words("sinfo", &["-h", "-N", "-o", "%N %T %E"]).stdout
    }
}

fn exists(path: &Path) -> Option<()> {
    path.exists().then_some(())
}

#[test]
fn nodes_are_made_ready_and_tidied_up_and_tasks_are_told() {
    let site = Site::new();
    let mut sbatch = site.cluster.command("sbatch");
    sbatch.args(["-W", "-N2", "-n2", "-o", "out", "--comment", "a remark", "--wrap"]);
    let srun = site.cluster.tool("srun");
    sbatch.arg(format!("echo \"$MADE $GONE\"; {srun} -J step sh -c 'echo \"task $MADE $GONE $SLURM_JOB_NAME $SLURM_SCRIPT_CONTEXT\"'"));
    let done = sbatch.env("SECRET", "x").env("GONE", "still there").output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let output = fs::read_to_string(site.cluster.work_dir().join("out")).expect("it ran");
    assert_eq!(
        output.replace("hello\n", ""),
        "by prolog \ntask by prolog  step prolog_task\ntask by prolog  step prolog_task\n",
        "{output}"
    );
    assert_eq!(output.matches("hello\n").count(), 3, "the script and two tasks: {output}");
    for node in ["n1", "n2"] {
        // `sbatch --wait` returns when the job is over, and that includes its epilogs.
        for (kind, context) in [("prolog", "prolog_slurmd"), ("epilog", "epilog_slurmd")] {
            let told = site.told(&format!("{kind}-2-{node}"));
            for line in ["SLURM_JOB_COMMENT=a remark", &format!("SLURM_SCRIPT_CONTEXT={context}")] {
                assert!(told.lines().any(|it| it == line), "{kind} on {node}: {line} in {told}");
            }
            assert!(!told.contains("SECRET"), "{told}");
        }
    }
    for rank in [0, 1] {
        until("the task's epilog", || exists(&site.file(&format!("task-epilog-2.{rank}"))));
    }
    let marks =
        fs::read_dir(site.cluster.dir().join("spool/n1/prologs")).map_or(0, Iterator::count);
    assert_eq!(marks, 0, "nothing is left");
}

#[test]
fn a_node_that_cannot_be_made_ready_is_drained_and_its_job_held() {
    let site = Site::new();
    fs::write(site.file("fail-prolog-n1"), "").expect("writes");
    let job = site.cluster.run_words("sbatch", &["--parsable", "-w", "n1", "--wrap", "true"]);
    let job = job.stdout.trim().to_string();
    until("the job is held", || {
        let shown = site.cluster.squeue(&job, "%T|%r");
        (shown == "PENDING|launch failed requeued held").then_some(())
    });
    assert!(site.nodes().contains("n1 drained Prolog error"), "{}", site.nodes());
    fs::write(site.file("fail-epilog-n2"), "").expect("writes");
    let ran = site.cluster.run_words("srun", &["-w", "n2", "echo", "fine"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "hello\nfine\n"), "{}", ran.stderr);
    until("n2 is drained", || site.nodes().contains("n2 drained Epilog error").then_some(()));

    // A step of srun is refused in Slurm's words.
    fs::rename(site.file("fail-prolog-n1"), site.file("fail-prolog-n2")).expect("renames");
    let resumed =
        site.cluster.run_words("scontrol", &["update", "nodename=n[1-2]", "state=resume"]);
    assert_eq!(resumed.status, 0, "{}", resumed.stderr);
    assert_eq!(site.cluster.run(&format!("scontrol release {job}")).status, 0);
    let ran = site.cluster.run_words("srun", &["-w", "n2", "true"]);
    assert_ne!(ran.status, 0);
    let words = "failed on node n2: Job prolog failed";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    until("the job runs", || (site.cluster.squeue(&job, "%T") == "COMPLETED").then_some(()));
    assert!(site.nodes().contains("n2 drained Prolog error"), "{}", site.nodes());
}
