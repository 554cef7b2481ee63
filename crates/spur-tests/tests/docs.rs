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
    blocks.retain(|block| !block.contains("cargo build") && !block.contains("/etc/slurm"));
    blocks
}

/// Runs every block of a document, in one shell, so that later ones know what earlier ones learnt.
fn run(document: &str, cluster: &Cluster) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join(document)).expect("the document");
    let blocks = blocks(&document);
    assert!(blocks.len() >= 3, "{blocks:?}");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", cluster.dir().join("bin").display());
    let mut bash = Command::new("bash");
    bash.args(["-e", "-x", "-c", &blocks.concat()]).env("PATH", &path);
    bash.current_dir(cluster.work_dir()).env_remove("SPUR_CONTROLLER_ADDR");
    let ran = bash.output().expect("bash runs");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
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
    run("docs/quickstart.md", &cluster);
    let written = sorted(&cluster.work_dir().join("train-4.out"));
    assert_eq!(written, ["0: rank 0 of 2", "1: rank 1 of 2"]);
}

#[test]
fn the_user_guide_works_line_by_line() {
    let gpus = ["--gres", "gpu:trial:2"];
    let cluster = Cluster::up_with("n[1-2]", 4, &gpus);
    run("docs/user/guide.md", &cluster);
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
    run("docs/admin/guide.md", &Cluster::up("n[1-4]", 4));
}
