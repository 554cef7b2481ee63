//! Submission: what `sbatch` takes, refuses, and makes of it.

use std::fs;

use spur_tests::harness::{Cluster, until};

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.work_dir().join(file)).unwrap_or_default()
}

#[test]
fn a_job_runs_and_its_exit_status_comes_back() {
    let cluster = Cluster::up("n[1-2]", 4);
    let script = "echo out; echo err >&2; exit 7";
    let words = ["-J", "both", "-o", "%x-%j.out", "-e", "err.txt", "--wait", "--wrap", script];
    let done = cluster.run_words("sbatch", &words);
    assert_eq!((done.status, done.stdout.as_str()), (7, "Submitted batch job 2\n"));
    assert_eq!(read(&cluster, "both-2.out"), "out\n");
    assert_eq!(read(&cluster, "err.txt"), "err\n");
    assert_eq!(cluster.squeue("2", "%j %T %N"), "both FAILED n1");
    // Nothing else happens meanwhile that would make the planner look.
    let later = cluster.run("sbatch --wait --begin=now+1 --wrap true");
    assert_eq!(later.status, 0, "{}", later.stderr);
}

#[test]
fn scripts_bring_their_options_and_get_their_arguments() {
    let cluster = Cluster::up("n1", 4);
    let script = "#!/bin/bash\n#SBATCH -J named\n#SBATCH --cpus-per-task=3\n\
                  echo \"$SLURM_JOB_NAME $SLURM_CPUS_PER_TASK $SLURM_SUBMIT_DIR $1 $2\"\n";
    fs::write(cluster.work_dir().join("job.sh"), script).expect("writes");
    let done = cluster.run("sbatch --parsable --wait -J louder job.sh one two");
    assert_eq!((done.status, done.stdout.as_str()), (0, "2\n"));
    let here = cluster.work_dir().display().to_string();
    assert_eq!(read(&cluster, "slurm-2.out"), format!("louder 3 {here} one two\n"));
    let shown = cluster.run("scontrol show job 2").stdout;
    assert!(shown.contains(&format!("Command={here}/job.sh one two\n")), "{shown}");
}

#[test]
fn refusals_are_slurms() {
    let cluster = Cluster::up("n1", 4);
    let table = [
        ("sbatch -t bad --wrap=true", 255, "sbatch: error: Invalid --time specification"),
        ("sbatch --bogus", 255, "sbatch: unrecognized option '--bogus'"),
        ("sbatch -p nosuch --wrap=true", 1, "sbatch: error: invalid partition specified: nosuch"),
        ("sbatch nosuch.sh", 1, "sbatch: error: Unable to open file nosuch.sh"),
        ("squeue --bogus", 1, "squeue: unrecognized option '--bogus'"),
    ];
    for (line, status, message) in table {
        let refused = cluster.run(line);
        let first = refused.stderr.lines().next().unwrap_or_default();
        assert_eq!((refused.status, first), (status, message), "{line}");
    }
}

#[test]
fn jobs_outlive_a_cluster_that_is_stopped_around_them() {
    let cluster = Cluster::up("n1", 2);
    let script = "touch begun; until [ -e go ]; do sleep 0.01; done; echo done";
    cluster.run_words("sbatch", &["--wrap", script]);
    until("it runs", || cluster.work_dir().join("begun").exists().then_some(()));
    let refused =
        cluster.run_words("spur", &["down", "--dir", &cluster.dir().display().to_string()]);
    assert_eq!(refused.status, 1, "a running job is not ended by accident: {}", refused.stderr);
    let dir = cluster.dir().display().to_string();
    let down = cluster.run_words("spur", &["down", "--keep-jobs", "--dir", &dir]);
    assert_eq!(down.status, 0, "{}", down.stderr);
    assert_eq!(cluster.processes().with(&["spurctld"]).len(), 0);
    fs::write(cluster.work_dir().join("go"), "").expect("writes");
    until("it ends by itself", || (read(&cluster, "slurm-2.out") == "done\n").then_some(()));
    cluster.start("n1", 2);
    until("its end is recorded", || (cluster.squeue("2", "%T") == "COMPLETED").then_some(()));
}

#[test]
fn what_no_node_has_is_refused_at_once() {
    let cluster = Cluster::up("n[1-2]", 2);
    let unavailable = "Batch job submission failed: Requested node configuration is not available";
    for (words, remark) in [
        ("--mem=999999999", "sbatch: error: Memory specification can not be satisfied\n"),
        ("-c 3", "sbatch: error: CPU count per node can not be satisfied\n"),
        ("-N1 -n3", ""),
    ] {
        let told = cluster.run(&format!("sbatch {words} --wrap true"));
        let refusal = format!("{remark}sbatch: error: {unavailable}\n");
        assert_eq!((told.status, told.stderr), (1, refusal), "{words}");
    }
    let told = cluster.run("sbatch -N0 --wrap true");
    let refusal = "sbatch: error: Batch job submission failed: Node count specification invalid\n";
    assert_eq!((told.status, told.stderr.as_str()), (1, refusal));
    // More nodes than there are may come.
    for words in ["-N3", "-n5"] {
        let told = cluster.run(&format!("sbatch {words} --wrap true"));
        assert_eq!(told.status, 0, "{words}: {}", told.stderr);
    }
}

#[test]
fn owners_are_told_by_mail_in_slurms_words() {
    let dir = tempfile::tempdir().expect("a directory");
    let (program, sent) = (dir.path().join("mail"), dir.path().join("sent"));
    let script =
        format!("#!/bin/sh\necho \"$1|$2|$3|$SLURM_JOB_MAIL_TYPE\" >> {}\n", sent.display());
    fs::write(&program, script).expect("writes");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable).expect("permissions");
    let set = format!("jobs.mail_program={}", program.display());
    let cluster = Cluster::up_with("n1", 2, &["--set", &set]);
    cluster.run("sbatch --wait --mail-type=ALL --mail-user=a@b --wrap false");
    cluster.run("sbatch --wait --mail-type=END --wrap false");
    cluster.run("sbatch --wait --mail-type=END --array=1-2 --wrap true");
    let owner = cluster.squeue("2", "%u");
    let wanted = [
        "-s|Slurm Job_id=2 Name=wrap Began, Queued time T|a@b|Began".to_string(),
        "-s|Slurm Job_id=2 Name=wrap Failed, Run time T, FAILED, ExitCode 1|a@b|Failed".to_string(),
        format!(
            "-s|Slurm Array Summary Job_id=4_* (4) Name=wrap Ended, COMPLETED, ExitCode [0-0]|{owner}|Ended"
        ),
    ];
    let told = until("three letters are sent", || {
        let text = fs::read_to_string(&sent).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(without_times).collect();
        (lines.len() >= wanted.len()).then_some(lines)
    });
    assert_eq!(told, wanted, "who asks for the end is not told of a failure");
}

/// `00:00:01` is `T`.
fn without_times(line: &str) -> String {
    let word = |word: &str| match word.strip_prefix("00:00:") {
        Some(rest) => format!("T{}", &rest[2..]),
        None => word.to_string(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_job_does_not_bring_along_it_has_from_a_login_of_its_user() {
    let cluster = Cluster::up("n1", 2);
    let variables = |option: &str| {
        let words = [option, "--wait", "-o", "variables", "--wrap", "env"];
        let done = cluster.command("sbatch").args(words).env("MINE", "here").output();
        assert!(done.expect("runs").status.success());
        read(&cluster, "variables")
    };
    let has = |text: &str, name: &str| text.lines().any(|line| line.starts_with(name));
    for option in ["--export=NONE", "--export=OTHER=1"] {
        let told = variables(option);
        assert!(!has(&told, "MINE=") && has(&told, "SLURM_GET_USER_ENV=1"), "{told}");
        assert!(has(&told, "HOME=/") && has(&told, "PATH=/") && has(&told, "USER="), "{told}");
    }
    let told = variables("--export=ALL");
    assert!(has(&told, "MINE=here") && !has(&told, "SLURM_GET_USER_ENV"), "{told}");
    let told = variables("--export=ALL,OTHER=1");
    assert!(has(&told, "MINE=here") && has(&told, "OTHER=1"), "{told}");
    assert!(has(&told, "SLURM_GET_USER_ENV=1"), "{told}");
    let told = variables("--get-user-env");
    assert!(has(&told, "MINE=here") && has(&told, "SLURM_GET_USER_ENV=1"), "{told}");
}

#[test]
fn a_file_of_variables_stands_in_for_those_of_the_caller() {
    let cluster = Cluster::up("n1", 2);
    fs::write(cluster.work_dir().join("file"), "A=1\0B=2\0").expect("written");
    let variables = |options: &[&str]| {
        let words = [options, &["--wait", "-o", "variables", "--wrap", "env"]].concat();
        let done = cluster.command("sbatch").args(words).env("MINE", "here").output();
        assert!(done.expect("runs").status.success());
        let text = read(&cluster, "variables");
        let wanted = ["A", "B", "FOO", "MINE", "SLURM_EXPORT_ENV", "SLURM_GET_USER_ENV"];
        let is_wanted =
            |line: &&str| line.split_once('=').is_some_and(|(name, _)| wanted.contains(&name));
        let mut found: Vec<String> = text.lines().filter(is_wanted).map(str::to_string).collect();
        found.sort();
        found.join(" ")
    };
    for (export, told) in [
        ("--export=ALL", "A=1 B=2"),
        ("--export=NONE", "SLURM_GET_USER_ENV=1"),
        ("--export=MINE", "A=1 B=2 SLURM_GET_USER_ENV=1"),
        ("--export=FOO=3", "A=1 B=2 FOO=3 SLURM_GET_USER_ENV=1"),
        ("--export=ALL,FOO=3", "A=1 B=2 FOO=3 SLURM_GET_USER_ENV=1"),
    ] {
        assert_eq!(variables(&["--export-file=file", export]), told, "{export}");
    }
}

#[test]
fn advice_is_for_those_who_look_for_it() {
    let cluster = Cluster::up("n1", 2);
    let script = format!("#!/bin/sh\n#{}\n", "x".repeat(5 << 20));
    fs::write(cluster.work_dir().join("long"), script).expect("written");
    let refusal = "sbatch: error: Batch job submission failed: Pathname of a file, directory or \
                   other parameter too long\n";
    let refused = cluster.run("sbatch long");
    assert_eq!((refused.status, refused.stderr.as_str()), (1, refusal));
    let more = cluster.run("sbatch -v long").stderr;
    assert!(more.contains(refusal) && more.contains("the limit is"), "{more}");
}
