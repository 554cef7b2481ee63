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

#[test]
fn the_quick_start_works_line_by_line() {
    let cluster = Cluster::up("n1", 4);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/quickstart.md")).expect("the document");
    let blocks = blocks(&document);
    assert!(blocks.len() >= 3, "{blocks:?}");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", cluster.dir().join("bin").display());
    for block in blocks {
        let mut bash = Command::new("bash");
        bash.args(["-e", "-c", &block]).env("PATH", &path).current_dir(cluster.work_dir());
        let ran = bash.env_remove("SPUR_CONTROLLER_ADDR").output().expect("bash runs");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{block}\n{told}");
    }
    let written = fs::read_to_string(cluster.work_dir().join("train-4.out")).unwrap_or_default();
    let mut lines: Vec<&str> = written.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: rank 0 of 2", "1: rank 1 of 2"]);
}
