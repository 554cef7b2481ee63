//! What the documents tell people to type does what they say.

use std::fs;
use std::path::Path;
use std::process::Command;

use spur_tests::harness::Cluster;

/// The blocks of shell commands of a document, but those that build or start what the test has already.
fn blocks(document: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in document.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some(text), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks.retain(|block| !block.contains("cargo build"));
    blocks
}

fn read(document: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(document)).expect("the document")
}

/// Between these headings, or to the end.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let from = document.find(heading).expect("the heading");
    let rest = &document[from + heading.len()..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

const CLUSTER: &str = "## A cluster, five minutes";

/// Runs every block of a document, in one shell, so that later ones know what earlier ones learnt.
fn run(text: &str, cluster: &Cluster) {
    let blocks = blocks(text);
    assert!(!blocks.is_empty(), "nothing to run in\n{text}");
    let ran = shell(&blocks.concat(), cluster);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn shell(script: &str, cluster: &Cluster) -> std::process::Output {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", cluster.dir().join("bin").display());
    let mut bash = Command::new("bash");
    bash.args(["-e", "-x", "-c", script]).env("PATH", &path);
    bash.current_dir(cluster.work_dir()).env_remove("SPUR_CONTROLLER_ADDR");
    bash.output().expect("bash runs")
}

fn sorted(file: &Path) -> Vec<String> {
    let written = fs::read_to_string(file).unwrap_or_default();
    let mut lines: Vec<String> = written.lines().map(str::to_string).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_quick_start_works_line_by_line() {
    let cluster = Cluster::up("n1", 4);
    let document = read("docs/quickstart.md");
    run(&document.replace(section(&document, CLUSTER), ""), &cluster);
    let written = sorted(&cluster.work_dir().join("train-4.out"));
    assert_eq!(written, ["0: rank 0 of 2", "1: rank 1 of 2"]);
}

#[test]
fn the_user_guide_works_line_by_line() {
    let gpus = ["--gres", "gpu:trial:2"];
    let cluster = Cluster::up_with("n[1-2]", 4, &gpus);
    run(&read("docs/user/guide.md"), &cluster);
    let written = sorted(&cluster.work_dir().join("train.out"));
    assert_eq!(written.len(), 4);
    assert_eq!(written[3], "rank 3 of 4, here 1, node 1");
    assert_eq!(sorted(&cluster.work_dir().join("part-6.out")), ["part 6 of 6"]);
}

#[test]
fn the_admin_guide_works_line_by_line() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    run(&read("docs/admin/guide.md"), &Cluster::up("n[1-4]", 4));
}

/// A machine of one's own: its name, its network, and its own of each directory that daemons use.
const MACHINE: &str = "
    ip link set lo up
    hostname ctl1
    printf '127.0.0.1 localhost ctl1\\n' > $FOLDER/hosts
    mount --bind $FOLDER/hosts /etc/hosts
    for dir in /run/spur /var/spool /etc/spur /var/lib/spur; do
        mkdir -p $dir
        mount -t tmpfs none $dir
    done
    until_it() { for _ in $(seq 600); do \"$@\" > /dev/null 2>&1 && return; sleep 0.1; done; \"$@\"; }
    trap 'kill $(jobs -p); wait' EXIT
";

/// One machine is first and node at once; the token is what the first one printed.
#[test]
fn a_cluster_in_five_minutes_works_line_by_line() {
    let needed = ["unshare", "ip"].map(|it| Command::new(it).arg("--help").output().is_ok());
    if !nix::unistd::geteuid().is_root() || needed.contains(&false) {
        eprintln!("SKIPPED: needs root, unshare and ip");
        return;
    }
    let folder = tempfile::Builder::new().prefix("spur-test-").tempdir().expect("a folder");
    let binaries = spur_tests::harness::binary("spur");
    for name in ["sinfo", "srun"] {
        std::os::unix::fs::symlink(&binaries, folder.path().join(name)).expect("links");
    }
    let document = read("docs/quickstart.md");
    let blocks = blocks(section(&document, CLUSTER));
    let [first, node, any] = &blocks[..] else { panic!("{blocks:?}") };
    let first = first.replace("spur token create", "until_it spur status; spur token create");
    let first = first.replace("--uses 16", "--uses 16 > $FOLDER/token");
    let node = node.replace("TOKEN", "$(cat $FOLDER/token)");
    let wait = "until_it sh -c 'sinfo -h -o %T | grep -q idle'\n";
    let script = [MACHINE, &first, &node, wait, any].concat();
    let mut bash = Command::new("unshare");
    bash.args(["-n", "-m", "-u", "--propagation", "private", "bash", "-e", "-x", "-c", &script]);
    let own = binaries.parent().expect("a folder").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    bash.env("PATH", format!("{}:{own}:{path}", folder.path().display()));
    bash.env("FOLDER", folder.path()).env_remove("SPUR_CONTROLLER_ADDR").current_dir("/");
    let ran = bash.output().expect("runs");
    let (told, trouble) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{told}{trouble}");
    assert!(told.ends_with("\nn1\n"), "{told}{trouble}");
}

#[test]
fn moving_and_troubleshooting_work_line_by_line() {
    let cluster = Cluster::up_with("n[1-2]", 4, &["--gres", "gpu:trial:2"]);
    run(&read("docs/troubleshooting.md"), &cluster);
    let slurm = cluster.work_dir().join("slurm");
    fs::create_dir(&slurm).expect("makes");
    let text = "ClusterName=old\nNodeName=n[1-2] CPUs=4 Gres=gpu:2\nPartitionName=p Nodes=ALL\n";
    fs::write(slurm.join("slurm.conf"), text).expect("writes");
    fs::write(slurm.join("gres.conf"), "NodeName=n[1-2] Name=gpu Count=2\n").expect("writes");
    let slurm = slurm.display().to_string();
    run(&read("docs/migration.md").replace("/etc/slurm", &slurm), &cluster);
    in_running_text(&cluster);
}

/// Commands that documents name between backticks.
fn named(document: &str) -> Vec<String> {
    let outside = blocks_removed(document);
    let spans = outside.split('`').skip(1).step_by(2).map(|it| it.replace('\n', " "));
    let is_command = |span: &String| {
        let tools = [
            "sacct", "salloc", "sbatch", "scancel", "scontrol", "sinfo", "spur", "squeue", "srun",
            "sstat",
        ];
        let (name, rest) = span.split_once(' ').unwrap_or((span, ""));
        tools.contains(&name) && !rest.is_empty()
    };
    spans.filter(is_command).collect()
}

fn blocks_removed(document: &str) -> String {
    let mut inside = false;
    let outside = document.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// Where a name stands for something, something of that kind; a script where there is none. What starts or stops
/// whole clusters, needs other machines or a terminal has tests of its own: of those only the options are looked at.
fn in_running_text(cluster: &Cluster) {
    const ELSEWHERE: &[&str] =
        &["spur up", "spur down", "spur join", "spur nodes remove", "spur controllers remove"];
    const DOCUMENTS: &[&str] = &[
        "docs/quickstart.md",
        "docs/troubleshooting.md",
        "docs/migration.md",
        "docs/user/guide.md",
        "docs/user/endings.md",
        "docs/admin/guide.md",
        "docs/admin/machines.md",
    ];
    let job = cluster.run_words("sbatch", &["--parsable", "--wrap", "sleep 100"]).stdout;
    let mut seen = std::collections::BTreeSet::new();
    for document in DOCUMENTS {
        for said in named(&read(document)) {
            if !seen.insert(said.clone()) || said.contains('…') {
                continue;
            }
            let mut line = said.clone();
            for (name, thing) in [
                ("JOB", job.trim()),
                ("ID", job.trim()),
                ("12_4", job.trim()),
                ("NAME", "n1"),
                ("DIR", "."),
                ("FILE", "spur.conf"),
                ("SIG", "CONT"),
            ] {
                line = line
                    .split(' ')
                    .map(|it| if it == name { thing } else { it })
                    .collect::<Vec<_>>()
                    .join(" ");
            }
            let has_no_script = line.starts_with("sbatch ") && !line.contains("--help");
            if has_no_script {
                line += " --hold --wrap true";
            }
            line = line.replace("srun --pty bash", "srun --pty true");
            line = line.replace("salloc -N 1 -t 30", "salloc -N 1 -t 30 true");
            line = line.replace("spur exec JOB", "spur exec");
            if ELSEWHERE.iter().any(|it| line.starts_with(it)) {
                line += " --help";
            }
            let ran = shell(&format!("timeout 20 {line} < /dev/null"), cluster);
            let told = String::from_utf8_lossy(&ran.stderr).into_owned();
            let wrong =
                ["unexpected argument", "unrecognized", "invalid option", "Usage:", "usage:"];
            assert!(!wrong.iter().any(|it| told.contains(it)), "{document}: {said}\n{told}");
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}
