//! GPUs of steps: what `srun` takes of what its job has.

use spur_tests::harness::{Cluster, binary, until};

const SHOW: &str = "echo $SLURM_PROCID: ${SLURM_STEP_GPUS:-none} of ${SLURM_GPUS_ON_NODE:-0}";

/// What a script inside an allocation prints, line by line.
fn inside(cluster: &Cluster, options: &[&str], script: &str) -> Vec<String> {
    let script = format!("PATH={}:$PATH\n{script}", cluster.dir().join("bin").display());
    let words = [&["--quiet"], options, &["bash", "-c", &script]].concat();
    let said = cluster.run_words("salloc", &words);
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
    said.stdout.lines().map(str::to_string).collect()
}

#[test]
fn a_step_has_all_gpus_of_its_job_or_those_it_asks_for() {
    let cluster = Cluster::up_with("n1", 8, &["--gres", "gpu:trial:4"]);
    let steps = [
        ("--ntasks=1", "0: 0,1,2,3 of 4"),
        ("--ntasks=1 --gpus=1", "0: 0 of 1"),
        ("--ntasks=1 --gres=gpu:2", "0: 0,1 of 2"),
        ("--ntasks=1 --gpus-per-node=3", "0: 0,1,2 of 3"),
        ("--ntasks=1 --gres=none", "0: none of 0"),
        ("--ntasks=1 --gpus=0", "0: none of 0"),
        ("--ntasks=2 --gpus-per-task=2", "0: 0,1 of 4\n1: 2,3 of 4"),
    ];
    let lines: Vec<String> = steps
        .iter()
        .map(|(options, _)| format!("srun {options} bash -c '{SHOW}' | sort"))
        .collect();
    let shown = inside(&cluster, &["--ntasks=4", "--gpus=4"], &lines.join("\n"));
    let expected: Vec<&str> = steps.iter().flat_map(|(_, shown)| shown.lines()).collect();
    assert_eq!(shown, expected);
    let more = "srun --ntasks=1 --gpus=5 true 2>&1; echo $?";
    let shown = inside(&cluster, &["--ntasks=4", "--gpus=4"], more);
    assert_eq!(shown.last().map(String::as_str), Some("1"));
    let refusal = "Invalid generic resource (gres) specification";
    assert!(shown.iter().any(|line| line.ends_with(refusal)), "{shown:?}");
    // What only came along with a whole node belongs to the script, not to its steps.
    let shown = inside(&cluster, &["--exclusive"], &format!("srun --ntasks=1 bash -c '{SHOW}'"));
    assert_eq!(shown, ["0: none of 0"]);
}

#[test]
fn steps_beside_each_other_have_different_gpus_and_wait_for_those_of_others() {
    let cluster = Cluster::up_with("n1", 8, &["--gres", "gpu:trial:2"]);
    // Each goes on once it has seen the other; the third has to wait for one of them.
    let script = "
        one='echo $SLURM_STEP_GPUS > $0.has; until [ -s $1.has ]; do sleep 0.05; done; rm -f go'
        srun --exact --ntasks=1 --gpus=1 bash -c \"$one\" a b &
        srun --exact --ntasks=1 --gpus=1 bash -c \"$one\" b a &
        wait
        srun --exact --ntasks=1 --gpus=2 bash -c 'echo all $SLURM_STEP_GPUS'
        cat a.has b.has | sort";
    let shown = inside(&cluster, &["--ntasks=4", "--gpus=2"], script);
    assert_eq!(shown, ["all 0,1", "0", "1"]);
    let busy = "
        srun --exact --ntasks=1 bash -c ': > began; until [ -e go ]; do sleep 0.05; done; echo first' &
        until [ -e began ]; do sleep 0.05; done
        srun --exact --ntasks=1 --overlap --gpus=1 bash -c 'echo overlaps $SLURM_STEP_GPUS'
        srun --immediate=1 --exact --ntasks=1 --gpus=1 true 2> refused || echo busy
        : > go
        wait";
    let shown = inside(&cluster, &["--ntasks=4", "--gpus=2"], busy);
    assert_eq!(shown, ["overlaps 0", "busy", "first"]);
}

#[test]
fn a_job_that_leaves_its_environment_behind_has_that_of_a_login() {
    let cluster = Cluster::up("n1", 2);
    let show =
        "echo ${MINE:-none} $HOME $(command -v env > /dev/null && echo found) $SLURM_GET_USER_ENV";
    for (export, mine) in [("NONE", "none"), ("MINE=7", "7")] {
        let export = format!("--export={export}");
        let words = ["--wait", &export, "-o", "out", "--wrap", show];
        let said = cluster.run_words("sbatch", &words);
        assert_eq!(said.status, 0, "{}", said.stderr);
        let home = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
        let home = home.expect("we are somebody").dir.display().to_string();
        let shown = std::fs::read_to_string(cluster.work_dir().join("out")).expect("is there");
        assert_eq!(shown, format!("{mine} {home} found 1\n"));
    }
}

#[test]
fn tasks_that_come_with_gpus_have_those_they_came_with() {
    let cluster = Cluster::up_with("n1", 8, &["--gres", "gpu:trial:4"]);
    let shown = inside(
        &cluster,
        &["--gpus=2", "--ntasks-per-gpu=2"],
        &format!("echo $SLURM_NTASKS; srun bash -c '{SHOW}' | sort"),
    );
    assert_eq!(shown, ["4", "0: 0 of 2", "1: 0 of 2", "2: 1 of 2", "3: 1 of 2"]);
}

/// A machine's tree with GPUs of AMD and their device files, which are of a driver that is not here.
fn tree_of_gpus(root: &std::path::Path, count: u64) -> bool {
    let write = |file: String, text: String| {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
        std::fs::write(path, text).expect("writes");
    };
    std::fs::create_dir_all(root.join("dev/dri")).expect("makes");
    let topology = "sys/class/kfd/kfd/topology/nodes";
    write(format!("{topology}/0/properties"), "cpu_cores_count 8\nsimd_count 0\n".to_string());
    (0..count).all(|gpu| {
        let (node, minor) = (gpu + 1, gpu + 128);
        let properties = format!(
            "simd_count 304\ndevice_id 29857\nunique_id {node}\ndrm_render_minor {minor}\n"
        );
        write(format!("{topology}/{node}/properties"), properties);
        let device = nix::sys::stat::makedev(226, minor);
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o666);
        let file = root.join(format!("dev/dri/renderD{minor}"));
        nix::sys::stat::mknod(&file, nix::sys::stat::SFlag::S_IFCHR, mode, device).is_ok()
    })
}

#[test]
fn four_gpus_of_eight_are_four_that_can_be_used_whether_others_are_closed_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    if !tree_of_gpus(root, 8) {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let cluster = Cluster::up("n1", 8);
    let log = std::fs::read_to_string(cluster.dir().join("log/spurd-n1.log")).unwrap_or_default();
    if log.contains("without control groups") || log.contains("have no devices") {
        eprintln!("SKIPPED: devices cannot be denied");
        return;
    }
    let controller = format!("unix:{}", cluster.dir().join("run/spurctld.sock").display());
    let spool = cluster.dir().join("spool/g1").display().to_string();
    let tree = root.display().to_string();
    let words = ["-D", "-N", "g1", "--cpus", "8", "--controller", &controller];
    let mut agent = std::process::Command::new(binary("spurd"))
        .args(words)
        .args(["--state-dir", &spool, "--sysfs-root", &tree])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    until("the node is there", || {
        let shown = cluster.run("sinfo -h -N -n g1 -o %G/%T").stdout;
        (shown.trim() == "gpu:mi300x:8/idle").then_some(())
    });
    let words = ["--parsable", "-w", "g1", "--gpus=4", "--wrap", "sleep 1000"];
    let first = cluster.run_words("sbatch", &words).stdout;
    until("the first four are taken", || {
        (cluster.squeue(first.trim(), "%T") == "RUNNING").then_some(())
    });
    // Whether the file of a GPU can be opened: nobody drives it, but only who is let through is told so.
    let look = format!(
        "echo $SLURM_STEP_GPUS: ${{ROCR_VISIBLE_DEVICES-all}}; for n in 0 4; do \
         cat {tree}/dev/dri/renderD$((128 + n)) 2>&1 | grep -c permitted; done; true"
    );
    let seen = |gpus: &str| {
        let ran = cluster.run_words("srun", &["-w", "g1", gpus, "sh", "-c", &look]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seen("--gpus=4"), "4,5,6,7: 0,1,2,3 1 0", "counted among those that are open");
    assert_eq!(seen("--gpus=0"), ": all 1 1", "no variable is needed where none can be opened");
    // One that has no file cannot be closed: programs are told the numbers of the machine.
    std::fs::remove_file(root.join("dev/dri/renderD129")).expect("removes");
    assert_eq!(seen("--gpus=4"), "4,5,6,7: 4,5,6,7 1 0");
    agent.kill().expect("ends");
    agent.wait().expect("is gone");
}

/// Four GPUs, the first linked to the third and the second to the fourth, as `gres.conf` would tell it.
const LINKED: &str = r#"
[[gres]]
name = "gpu"
type = "trial"
links = "-1,0,4,0"
[[gres]]
name = "gpu"
type = "trial"
links = "0,-1,0,4"
[[gres]]
name = "gpu"
type = "trial"
links = "4,0,-1,0"
[[gres]]
name = "gpu"
type = "trial"
links = "0,4,0,-1"
[[gres]]
name = "shard"
count = "16"
[[gres]]
name = "fpga"
count = "2"
"#;

#[test]
fn the_file_tells_of_devices_their_links_and_their_parts() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), LINKED).expect("writes");
    let config = file.path().display().to_string();
    let cluster = Cluster::up_with("n1", 8, &["--config", &config]);
    let node = cluster.run("sinfo -h -N -o %G/%T").stdout;
    assert_eq!(node.trim(), "fpga:2,gpu:trial:4,shard:16/idle");
    let seen = |options: &str, script: &str| {
        let ran = cluster.run_words("srun", &[options, "sh", "-c", script]);
        assert_eq!(ran.status, 0, "{options}: {}", ran.stderr);
        ran.stdout.trim().to_string()
    };
    assert_eq!(seen("--gres=gpu:2", "echo $SLURM_STEP_GPUS"), "0,2", "linked ones");
    assert_eq!(seen("--gres=fpga:2", "echo ${SLURM_STEP_GPUS:-none}"), "none");
    let shards = "echo $SLURM_SHARDS_ON_NODE of $CUDA_VISIBLE_DEVICES";
    assert_eq!(seen("--gres=shard:3", shards), "3 of 0");
    assert_eq!(seen("--gres=shard:4", shards), "4 of 0", "all that a device has are still shards");
    // Two that share a device, whole ones beside them, and no more than there is.
    let options = ["--gres=shard:3", "--gres=shard:1", "--gres=gpu:3", "--gres=shard:1"];
    for gres in options {
        cluster.run_words("sbatch", &[gres, "--wrap", "sleep 1000"]);
    }
    until("all but the last run", || {
        let shown = cluster.run("squeue -h -o %t/%r").stdout;
        (shown == "PD/Resources\nR/None\nR/None\nR/None\n").then_some(())
    });
    let used = cluster.run("scontrol show node n1 -d").stdout;
    let used = used.lines().find_map(|line| line.trim().strip_prefix("GresUsed=")).unwrap_or("");
    assert_eq!(used, "fpga:0(IDX:N/A),gpu:trial:3(IDX:1-3),shard:4(IDX:0)");
}

#[test]
fn device_files_of_the_file_are_closed_to_those_who_were_not_given_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |number: u64| folder.path().join(format!("fpga{number}"));
    for number in 0..2 {
        let device = nix::sys::stat::makedev(240, number);
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o666);
        let made = nix::sys::stat::mknod(&at(number), nix::sys::stat::SFlag::S_IFCHR, mode, device);
        if made.is_err() {
            eprintln!("SKIPPED: needs root");
            return;
        }
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    let files = folder.path().join("fpga[0-1]").display().to_string();
    let text = format!("[[gres]]\nname = \"fpga\"\nfiles = \"{files}\"\n");
    std::fs::write(file.path(), text).expect("writes");
    let cluster = Cluster::up_with("n1", 8, &["--config", &file.path().display().to_string()]);
    let log = std::fs::read_to_string(cluster.dir().join("log/spurd-n1.log")).unwrap_or_default();
    if log.contains("without control groups") || log.contains("have no devices") {
        eprintln!("SKIPPED: devices cannot be denied");
        return;
    }
    let opened = |words: &[&str]| {
        let look = format!("for n in 0 1; do cat {}/fpga$n; done 2>&1", folder.path().display());
        let ran = cluster.run_words("srun", &[words, &["sh", "-c", &look]].concat());
        let said = ran.stdout.lines().map(|line| match line.rsplit(": ").next() {
            Some("Operation not permitted") => "closed",
            Some("No such device or address") => "open",
            other => panic!("{other:?} of {}", ran.stderr),
        });
        said.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(opened(&["-n1"]), "closed closed");
    assert_eq!(opened(&["--gres=fpga:2"]), "open open");
    assert_eq!(opened(&["--gres=fpga:1"]), "open closed");
}
