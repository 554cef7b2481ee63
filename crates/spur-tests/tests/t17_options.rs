//! Every submission option makes a difference that can be seen, or is on the short list of those that do not.

#[allow(dead_code, reason = "reads no recorded lines")]
mod recorded;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use spur_core::options::{Tool, options};
use spur_tests::harness::{Cluster, until};

/// A line for each option; see the file's head.
const SEEN: &str = include_str!("data/options.tsv");

struct Line {
    option: &'static str,
    is_job: bool,
    words: &'static str,
    seen: &'static str,
}

fn lines() -> Vec<Line> {
    let read = |line: &'static str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [option, kind, words, seen] = columns[..] else { panic!("{line}") };
        Line { option, is_job: kind == "job", words, seen }
    };
    SEEN.lines().filter(|line| !line.starts_with('#')).map(read).collect()
}

#[test]
fn every_option_has_a_line_unless_it_is_taken_without_effect() {
    let told: BTreeSet<&str> = lines().iter().map(|line| line.option).collect();
    let mut known = BTreeSet::new();
    for tool in [Tool::Sbatch, Tool::Srun, Tool::Salloc] {
        for row in options(tool).filter(|row| !row.long.is_empty()) {
            known.insert(row.long);
            let without = !row.no_effect.is_empty();
            assert_eq!(told.contains(row.long), !without, "--{} of {}", row.long, tool.name());
        }
    }
    let unknown: Vec<&&str> = told.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn every_option_makes_a_difference() {
    let leave = "jobs.allow_spec_resources_usage=true";
    let cluster = recorded::cluster(&["--set", "licenses.matlab=2", "--set", leave]);
    let all = lines();
    let next = Mutex::new(all.iter());
    let wrong = Mutex::new(Vec::new());
    // Most of the time is spent waiting for one's turn.
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(line) = { next.lock().expect("lines").next() } {
                    let answer = asked(&cluster, line);
                    if !answer.contains(&line.seen.replace("\\n", "\n")) {
                        let what =
                            format!("--{}: {:?} is not in\n{answer}", line.option, line.seen);
                        wrong.lock().expect("a list").push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_job_without_kill_outlives_one_of_its_nodes() {
    let cluster = Cluster::up("n[1-2]", 2);
    let submit = |more: &str| {
        let line = format!("sbatch --parsable -N2 -o /dev/null {more} --no-requeue --wrap");
        let mut words: Vec<&str> = line.split_whitespace().skip(1).collect();
        words.push("sleep 300");
        cluster.run_words("sbatch", &words).stdout.trim().to_string()
    };
    let (stays, goes) = (submit("-k"), submit(""));
    for job in [&stays, &goes] {
        until("it runs", || (cluster.squeue(job, "%T") == "RUNNING").then_some(()));
    }
    let down = cluster.run("scontrol update nodename=n2 state=down reason=test");
    assert_eq!(down.status, 0, "{}", down.stderr);
    until("the other is over", || (cluster.squeue(&goes, "%T") == "NODE_FAIL").then_some(()));
    assert_eq!(cluster.squeue(&stays, "%T"), "RUNNING");
}

/// Lines that only root can say.
const ROOTS: &[&str] = &["gid", "no-allocate", "priority", "uid"];

/// What is seen of a line, in a directory of its own.
fn asked(cluster: &Cluster, line: &Line) -> String {
    if ROOTS.contains(&line.option) && !nix::unistd::geteuid().is_root() {
        return line.seen.to_string();
    }
    let words = match line.is_job {
        true => format!(
            "J=$(sbatch -H --parsable {} --wrap true) && scontrol -d -o show job $J",
            line.words
        ),
        false => line.words.to_string(),
    };
    let dir = cluster.work_dir().join(line.option);
    std::fs::create_dir(&dir).expect("a directory");
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", cluster.dir().join("bin").display());
    let answer = Command::new("bash")
        .args(["-c", &words])
        .current_dir(&dir)
        .env("PATH", path)
        .env("TZ", "UTC")
        .env_remove("SPUR_CONTROLLER_ADDR")
        .env_remove("DISPLAY")
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = answer.status.code().unwrap_or(-1);
    format!("{}{}exit {status}", text(&answer.stdout), text(&answer.stderr))
}
