//! Programs that others made for Slurm, unchanged: `SPUR_CLIENTS=DIR ./test` runs every program of DIR against a
//! cluster of four nodes. Each installs the client it checks, and exits with 0 if that did its work.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use spur_tests::harness::Cluster;

/// What needs a part of Slurm that is not there yet, and what only runs the others.
const LEFT_OUT: &[&str] = &["rest-generated", "run-all"];

/// The programs of a directory; `SPUR_CLIENTS_ONLY=a,b` names some of them.
fn checks(dir: &Path) -> Vec<PathBuf> {
    let only = std::env::var("SPUR_CLIENTS_ONLY").unwrap_or_default();
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let wanted = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        !LEFT_OUT.contains(&name.as_str())
            && (only.is_empty() || only.split(',').any(|one| one == name))
    };
    let entries = std::fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|it| is_program(it) && wanted(it)).collect();
    found.sort();
    found
}

#[test]
fn clients_made_for_slurm_work_unchanged() {
    let Some(dir) = std::env::var_os("SPUR_CLIENTS").map(PathBuf::from) else {
        eprintln!("SKIPPED: SPUR_CLIENTS names no directory of clients");
        return;
    };
    let checks = checks(&dir);
    assert!(!checks.is_empty(), "{} has no programs", dir.display());
    let cluster = Cluster::up("n[1-4]", 8);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", cluster.dir().join("bin").display());
    let mut failed = Vec::new();
    for check in checks {
        let mut command = Command::new(&check);
        command.env("PATH", &path).env_remove("SPUR_CONTROLLER_ADDR");
        let ran = command.output().expect("runs");
        let said = String::from_utf8_lossy(&ran.stdout).trim().to_string();
        println!("{said}");
        // 77 means that the client could not be installed, which shows nothing.
        if !ran.status.success() {
            failed.push(said);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
