//! Columns: what `-o` and `-O` make of a job and of nodes, and exit statuses of every tool, as of real Slurm.

mod recorded;

use std::process::{Command, Stdio};
use std::sync::Mutex;

use spur_tests::harness::{Cluster, until};

/// Command lines with Slurm's answers; see the file's head.
const RECORDED: &str = include_str!("data/formats.tsv");

/// Exit statuses and first lines; see the file's head.
const EXITS: &str = include_str!("data/exits.tsv");

#[test]
fn every_tool_ends_as_slurms_does() {
    let cluster = recorded::cluster(&[]);
    let next = Mutex::new(EXITS.lines().filter(|line| !line.starts_with('#')));
    let wrong = Mutex::new(Vec::new());
    // Whoever calls a controller that is away waits for it a while.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(line) = { next.lock().expect("lines").next() } {
                    let found = difference(&cluster, line);
                    wrong.lock().expect("a list").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// How a tool ends otherwise than it should, if it does.
fn difference(cluster: &Cluster, line: &str) -> Option<String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [said, status, stream, first] = columns[..] else { panic!("{line}") };
    let (kind, said) = said.split_once(": ").unwrap_or(("", said));
    let words: Vec<&str> = said.split(' ').collect();
    let mut command = match kind {
        "denied" if !nix::unistd::geteuid().is_root() => return None,
        "denied" => as_nobody(cluster, words[0]),
        _ => cluster.command(words[0]),
    };
    if kind == "away" {
        // Nobody has ever listened there.
        command.env("SPUR_CONTROLLER_ADDR", "127.0.0.1:9");
    }
    command.args(&words[1..]).stdin(Stdio::null());
    let answer = command.output().expect("it runs");
    let first_of = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().to_string()
    };
    let (out, err) = (first_of(&answer.stdout), first_of(&answer.stderr));
    let found = match (err.is_empty(), out.is_empty()) {
        (false, _) => ("err", err.as_str()),
        (true, false) => ("out", ""),
        (true, true) => ("", ""),
    };
    let ended = answer.status.code().unwrap_or(-1).to_string();
    let differs = (ended.as_str(), found) != (status, (stream, first));
    differs.then(|| format!("{kind} {said}: {ended} {found:?}, not {status} {stream} {first:?}"))
}

/// A tool as it is called by somebody without rights.
fn as_nobody(cluster: &Cluster, tool: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    command.arg(cluster.command(tool).get_program());
    command.env_remove("SPUR_CONTROLLER_ADDR").current_dir("/");
    command
}

#[test]
fn columns_are_as_wide_and_as_full_as_slurms() {
    let cluster = recorded::cluster(&[]);
    until("all nodes are idle", || {
        (cluster.run("sinfo -h -p debug -t idle -o %D").stdout == "4\n").then_some(())
    });
    let held = "-H -J a-long-name -N2 -n4 -c2 -t 90 --mem=100 -C gpu --nice=5 -w n[1-2] -x n4 \
                --gres=gpu:2 --tmp=1G --begin=2030-01-02T03:04:05 --wrap=true";
    let mut words: Vec<&str> = held.split(' ').filter(|word| !word.is_empty()).collect();
    words.insert(0, "--comment=some words");
    let submitted = cluster.run_words("sbatch", &words);
    assert_eq!(submitted.status, 0, "{}", submitted.stderr);
    until("the first job is forgotten or over", || {
        (cluster.run("squeue -h -o %j").stdout == "a-long-name\n").then_some(())
    });
    let mut wrong = Vec::new();
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [command, status, printed] = columns[..] else { panic!("{line}") };
        let words = recorded::words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = cluster.run_words(words[0], &words[1..]);
        let printed = printed.replace("\\n", "\n");
        if (answer.status.to_string().as_str(), &answer.stdout) != (status, &printed) {
            wrong.push(format!("{command}:\n{:?}, not\n{printed:?}", answer.stdout));
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}
