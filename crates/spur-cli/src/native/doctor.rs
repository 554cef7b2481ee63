//! `spur doctor`: what is wrong with this machine or the cluster, and the command that mends it.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use serde_json::json;
use spur_core::job::{JobFlag, JobState, JobStatus, Reason};
use spur_core::node::{NodeFlag, NodeState, NodeStatus};
use spur_core::views::{JobView, NodeView};
use spur_proto::slurm::{ControllerView, ListJobsRequest};

use super::daemons::Process;
use super::env;
use super::layout::Layout;
use super::up::SUPERVISOR;
use crate::cluster::{self, Controller};
use crate::output::print;
use crate::{accounting, zone};

/// Looks at this machine and at the cluster, names what is wrong, and says what mends it. The exit status is 1
/// when something is.
#[derive(Parser)]
struct Arguments {
    /// The directory of a cluster of this machine; else the one that all commands find.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// What was seen. Gathered first, judged afterwards.
#[derive(Default)]
struct Seen {
    /// Where the controllers should be.
    addresses: String,
    /// What the controller said to a ping, and after how long.
    version: Option<String>,
    refusal: String,
    latency_ms: u128,
    own_version: &'static str,
    controllers: Vec<ControllerView>,
    nodes: Vec<NodeView>,
    jobs: Vec<JobView>,
    /// Why accounting does not answer; nothing when it does.
    accounting: Option<String>,
    now: i64,
    /// Whether this machine has control groups at all.
    has_groups: bool,
    /// Free space below the directory for temporary files, in megabytes.
    free_tmp_mb: u64,
    /// The cluster of `spur up` that was looked at, if it is one of this machine.
    own: Option<Own>,
}

/// What lies in the directory of a `spur up`.
#[derive(Default)]
struct Own {
    dir: String,
    /// What is said after `spur up` or `spur down` to mean this directory.
    words: String,
    /// Whether the supervisor runs.
    is_watched: bool,
    /// Whether root started it.
    is_roots: bool,
    /// Daemons with a pid file that do not run, each with the last line of its log.
    dead: Vec<(String, String)>,
    /// Free space there, in megabytes.
    free_mb: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Nothing works until it is mended.
    Error,
    /// Something does not work as it should.
    Warning,
    Fine,
}

#[derive(Debug, PartialEq, Eq)]
struct Finding {
    weight: Weight,
    what: String,
    /// A command, or what to do; empty where nothing is to be done.
    fix: String,
}

fn finding(weight: Weight, what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { weight, what: what.into(), fix: fix.into() }
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("doctor", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut found = judge(&look(arguments.dir));
    found.sort_by_key(|it| it.weight);
    match arguments.json {
        true => {
            let list: Vec<_> = found
                .iter()
                .map(|it| json!({ "level": word(it.weight), "what": it.what, "fix": it.fix }))
                .collect();
            print(&format!("{}\n", json!({ "findings": list })));
        }
        false => print(&told(&found)),
    }
    u8::from(found.iter().any(|it| it.weight != Weight::Fine))
}

fn look(dir: Option<PathBuf>) -> Seen {
    let layout = dir.or_else(cluster::own_dir).or_else(of_address);
    let layout = layout.and_then(|dir| Layout::new(Some(dir)).ok());
    let addresses = match &layout {
        Some(layout) => layout.known_addresses(),
        None => cluster::addresses(),
    };
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut seen = Seen {
        addresses: spur_proto::client::Address::list(&addresses),
        own_version: env!("CARGO_PKG_VERSION"),
        now: zone::now().0,
        has_groups: mounts.lines().any(|line| line.split(' ').nth(2).is_some_and(is_groups)),
        free_tmp_mb: free_mb("/tmp"),
        own: layout.as_ref().map(own),
        ..Seen::default()
    };
    let mut controller = Controller::at(addresses);
    let asked = Instant::now();
    match controller.ping() {
        Ok(reply) => seen.version = Some(reply.version),
        Err(error) => {
            seen.refusal = error.to_string();
            return seen;
        }
    }
    seen.latency_ms = asked.elapsed().as_millis();
    seen.controllers = controller.controllers().unwrap_or_default();
    seen.nodes = controller.nodes().unwrap_or_default();
    seen.jobs = controller.jobs(&ListJobsRequest::default()).unwrap_or_default();
    seen.accounting = cluster::block_on(accounting::connect())
        .err()
        .map(|trouble| trouble.to_string().lines().next().unwrap_or_default().to_string());
    seen
}

fn is_groups(kind: &str) -> bool {
    ["cgroup", "cgroup2"].contains(&kind)
}

/// The directory whose socket `SPUR_CONTROLLER_ADDR` names.
fn of_address() -> Option<PathBuf> {
    let addresses = cluster::addresses();
    let run = addresses.first()?.socket()?.parent()?;
    let dir = run.parent().filter(|_| run.ends_with("run"))?;
    dir.join("bin/sbatch").exists().then(|| dir.to_path_buf())
}

fn own(layout: &Layout) -> Own {
    let dir = layout.dir.display().to_string();
    let is_default = Layout::new(None).is_ok_and(|default| default.dir == layout.dir);
    let names = layout.pid_files();
    let is_dead = |name: &&String| *name != SUPERVISOR && Process::read(layout, name).is_none();
    let dead = names.iter().filter(is_dead).map(|name| (name.clone(), last_line(layout, name)));
    Own {
        words: if is_default { String::new() } else { format!(" --dir {}", env::quoted(&dir)) },
        is_watched: Process::read(layout, SUPERVISOR).is_some(),
        is_roots: std::fs::metadata(&layout.dir).is_ok_and(|it| it.uid() == 0),
        dead: dead.collect(),
        free_mb: free_mb(&dir),
        dir,
    }
}

/// The last words of a daemon, without what a terminal would make colours of.
fn last_line(layout: &Layout, daemon: &str) -> String {
    let log = std::fs::read(layout.log(daemon)).unwrap_or_default();
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(4096)..]).into_owned();
    let line = tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|it| !it.is_control()).take(200).collect()
}

fn free_mb(dir: &str) -> u64 {
    nix::sys::statvfs::statvfs(dir)
        .map_or(u64::MAX, |disk| (disk.blocks_available() * disk.fragment_size()) >> 20)
}

/// What follows from what was seen.
fn judge(seen: &Seen) -> Vec<Finding> {
    let mut found = machine(seen);
    let Some(version) = &seen.version else {
        let what = format!("no controller answers at {}: {}", seen.addresses, seen.refusal);
        let fix = match &seen.own {
            Some(own) => format!("spur up{}", own.words),
            None => "spur up   (or say where it is: export SPUR_CONTROLLER_ADDR=unix:/PATH)".into(),
        };
        found.push(finding(Weight::Error, what, fix));
        return found;
    };
    let controller =
        format!("the controller answers within {} ms (version {version})", seen.latency_ms);
    found.push(finding(Weight::Fine, controller, ""));
    if version != seen.own_version {
        let what =
            format!("this command is of version {}, the controller of {version}", seen.own_version);
        found.push(finding(Weight::Warning, what, "install the same version on both"));
    }
    controllers(seen, &mut found);
    nodes(seen, &mut found);
    jobs(seen, &mut found);
    match &seen.accounting {
        None => found.push(finding(Weight::Fine, "accounting answers", "")),
        Some(what) => found.push(finding(
            Weight::Warning,
            format!("accounting: {what}"),
            match &seen.own {
                Some(own) => format!("spur up{}; jobs go on meanwhile", own.words),
                None => "systemctl restart spurdbd; jobs go on meanwhile".to_string(),
            },
        )),
    }
    found
}

/// What is wrong with this machine, whether a controller answers or not.
fn machine(seen: &Seen) -> Vec<Finding> {
    let mut found = Vec::new();
    if !seen.has_groups {
        found.push(finding(
            Weight::Warning,
            "no control groups are mounted here: jobs are not held to their memory and devices",
            "mount -t cgroup2 none /sys/fs/cgroup",
        ));
    }
    if seen.free_tmp_mb < 256 {
        found.push(finding(
            Weight::Warning,
            format!("/tmp has {} MB left", seen.free_tmp_mb),
            "make room: du -xsh /tmp/* | sort -h",
        ));
    }
    let Some(own) = &seen.own else { return found };
    if own.free_mb < 256 {
        let what = format!("{} has {} MB left", own.dir, own.free_mb);
        let fix = format!("make room: df -h {}", env::quoted(&own.dir));
        found.push(finding(Weight::Warning, what, fix));
    }
    for (daemon, said) in &own.dead {
        let said = if said.is_empty() { String::new() } else { format!("; it said last: {said}") };
        found.push(finding(
            Weight::Error,
            format!("{daemon} does not run{said}"),
            format!("spur up{}   (its log: {}/log/{daemon}.log)", own.words, own.dir),
        ));
    }
    if !own.is_watched && seen.version.is_some() {
        found.push(finding(
            Weight::Warning,
            "nobody watches over the daemons: one that dies stays dead",
            format!("spur up{} --detach", own.words),
        ));
    }
    if !own.is_roots {
        let what = "started without root: jobs are not held to their memory and devices";
        found.push(finding(Weight::Fine, what, ""));
    }
    found
}

fn controllers(seen: &Seen, found: &mut Vec<Finding>) {
    let voters = seen.controllers.iter().filter(|it| it.votes).count();
    if voters == 2 {
        found.push(finding(
            Weight::Warning,
            "two controllers survive the loss of none",
            "spur controllers add   (three survive the loss of one)",
        ));
    }
    for controller in &seen.controllers {
        if controller.behind.is_some_and(|behind| behind > 10_000) {
            let what = format!(
                "controller {} is {} entries behind",
                controller.address,
                controller.behind.unwrap_or(0)
            );
            found.push(finding(
                Weight::Warning,
                what,
                "look at its log; if it is gone for good: spur controllers remove ID",
            ));
        }
    }
}

fn nodes(seen: &Seen, found: &mut Vec<Finding>) {
    if seen.nodes.is_empty() {
        found.push(finding(
            Weight::Error,
            "the cluster has no node",
            "spurd --controller ADDRESS on a machine, or: spur up",
        ));
        return;
    }
    let mut good = 0;
    for node in &seen.nodes {
        let status = NodeStatus(node.state);
        let why = if node.reason.is_empty() { String::new() } else { format!(": {}", node.reason) };
        if status.has(NodeFlag::NotResponding)
            || status.base() == NodeState::Down && node.reason_time == 0
        {
            found.push(finding(
                Weight::Warning,
                format!("node {} does not answer", node.name),
                match &seen.own {
                    Some(own) => format!(
                        "spur up{}   (log: {}/log/spurd-{}.log)",
                        own.words, own.dir, node.name
                    ),
                    None => format!(
                        "on {}: systemctl restart spurd; journalctl -u spurd",
                        node.hostname
                    ),
                },
            ));
        } else if status.has(NodeFlag::Drain)
            || status.has(NodeFlag::Fail)
            || status.base() == NodeState::Down
        {
            let state = status.complete().to_lowercase();
            found.push(finding(
                Weight::Warning,
                format!("node {} is {state}{why}", node.name),
                format!("when it is mended: scontrol update nodename={} state=resume", node.name),
            ));
        } else {
            good += 1;
        }
    }
    found.push(finding(
        Weight::Fine,
        format!("{good} of {} nodes take jobs", seen.nodes.len()),
        "",
    ));
}

/// Jobs that will not go on by themselves.
fn jobs(seen: &Seen, found: &mut Vec<Finding>) {
    const LONG_SECS: i64 = 600;
    for job in &seen.jobs {
        let status = JobStatus(job.state);
        if status.has(JobFlag::Completing) && seen.now - job.end_time > LONG_SECS {
            found.push(finding(Weight::Warning, format!("job {} has been completing for {} minutes on {}", job.job_id, (seen.now - job.end_time) / 60, job.nodes), format!("look for its processes on {}; scontrol update nodename={} state=down reason=stuck gives it up", job.nodes, job.nodes)));
        }
        if status.base() == JobState::Pending
            && job.reason == Reason::DependencyNeverSatisfied.number()
        {
            found.push(finding(
                Weight::Warning,
                format!(
                    "job {} waits for what can no longer happen: {}",
                    job.job_id, job.dependency
                ),
                format!("scancel {}", job.job_id),
            ));
        }
    }
}

fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Error => "error",
        Weight::Warning => "warning",
        Weight::Fine => "ok",
    }
}

fn told(found: &[Finding]) -> String {
    let mut text = String::new();
    for it in found {
        text.push_str(&format!("{:<8} {}\n", word(it.weight), it.what));
        if !it.fix.is_empty() {
            text.push_str(&format!("         fix: {}\n", it.fix));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_wrong_has_a_fix() {
        let nothing = judge(&Seen { addresses: "unix:/x".into(), ..Seen::default() });
        assert!(nothing.iter().any(|it| it.weight == Weight::Error), "{nothing:?}");
        let node = |name: &str, state, reason: &str| NodeView {
            name: name.into(),
            state,
            reason: reason.into(),
            ..NodeView::default()
        };
        let idle = NodeState::Idle.number();
        let drained = NodeStatus(idle).with(NodeFlag::Drain).0;
        let silent = NodeStatus(NodeState::Down.number()).with(NodeFlag::NotResponding).0;
        let seen = Seen {
            version: Some("0".into()),
            own_version: "1",
            nodes: vec![node("n1", idle, ""), node("n2", drained, "ECC"), node("n3", silent, "")],
            jobs: vec![JobView {
                job_id: 9,
                reason: Reason::DependencyNeverSatisfied.number(),
                ..JobView::default()
            }],
            accounting: Some("away".into()),
            ..Seen::default()
        };
        let own = Own {
            dir: "/x".into(),
            words: " --dir /x".into(),
            dead: vec![("spurd-n3".into(), "no room".into())],
            ..Own::default()
        };
        let seen = Seen { own: Some(own), ..seen };
        let found = judge(&seen);
        assert!(
            found.iter().all(|it| it.weight == Weight::Fine || !it.fix.is_empty()),
            "{found:?}"
        );
        let text = told(&found);
        for part in [
            "spurd-n3 does not run; it said last: no room\n         fix: spur up --dir /x ",
            "nobody watches over the daemons",
            "fix: spur up --dir /x   (log: /x/log/spurd-n3.log)",
            "node n2 is idle+drain: ECC",
            "scontrol update nodename=n2 state=resume",
            "node n3 does not answer",
            "1 of 3 nodes take jobs",
            "scancel 9",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
