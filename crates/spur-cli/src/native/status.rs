//! `spur status` and `spur top`: the cluster on one screen.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use spur_core::fields::clock;
use spur_core::fields::job::shown_id;
use spur_core::hostlist;
use spur_core::job::{JobState, JobStatus, Reason};
use spur_core::node::NodeStatus;
use spur_core::views::{JobView, NodeView};
use spur_proto::caller::CallError;
use spur_proto::slurm::ListJobsRequest;

use super::layout::Layout;
use crate::cluster::Controller;
use crate::output::{complain, draw, print};
use crate::zone;

/// Says how the cluster stands: nodes, processors, GPUs, jobs, and why those that wait do.
#[derive(Parser)]
struct Status {
    /// The directory of a cluster of this machine; else the one that all commands find.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// Shows nodes, what of them is in use, and by which jobs; again and again on a terminal.
#[derive(Parser)]
struct Top {
    /// Seconds between two looks.
    #[arg(long, short, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    delay: u64,
    /// Look once.
    #[arg(long, short = '1')]
    once: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// What both are told of.
struct Picture {
    cluster: String,
    nodes: Vec<NodeView>,
    jobs: Vec<JobView>,
    now: i64,
}

/// Runs `spur status`.
pub fn run(args: &[String]) -> u8 {
    let arguments: Status = match super::read("status", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut controller = match arguments.dir.map(|dir| Layout::new(Some(dir))) {
        None => Controller::find(),
        Some(Ok(layout)) => Controller::at(layout.known_addresses()),
        Some(Err(error)) => {
            complain("spur status", error);
            return 1;
        }
    };
    match look(&mut controller) {
        Ok(picture) if arguments.json => print(&format!("{}\n", summary_json(&picture))),
        Ok(picture) => print(&summary(&picture)),
        Err(error) => {
            complain("spur status", error);
            crate::output::note("See: spur doctor");
            return 1;
        }
    }
    0
}

/// Runs `spur top`.
pub fn run_top(args: &[String]) -> u8 {
    let arguments: Top = match super::read("top", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let once = arguments.once || arguments.json || !std::io::stdout().is_terminal();
    let mut controller = Controller::find();
    loop {
        match look(&mut controller) {
            Ok(picture) if arguments.json => print(&format!("{}\n", summary_json(&picture))),
            Ok(picture) => {
                // Home, and clear what an earlier picture left.
                let clear = if once { "" } else { "\x1b[H\x1b[2J" };
                draw(clear);
                print(&format!("{}\n{}", summary(&picture), table(&picture)));
            }
            Err(error) => {
                complain("spur top", &error);
                if once {
                    return 1;
                }
            }
        }
        if once {
            return 0;
        }
        std::thread::sleep(Duration::from_secs(arguments.delay));
    }
}

fn look(controller: &mut Controller) -> Result<Picture, CallError> {
    Ok(Picture {
        cluster: controller.ping()?.cluster_name,
        nodes: controller.nodes()?,
        jobs: controller.jobs(&ListJobsRequest::default())?,
        now: zone::now().0,
    })
}

/// How many of something there are, and how many are in use.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Share {
    used: u64,
    all: u64,
}

impl Share {
    fn add(&mut self, used: u64, all: u64) {
        self.used += used;
        self.all += all;
    }

    fn percent(self) -> u64 {
        (self.used * 100).checked_div(self.all).unwrap_or(0)
    }
}

/// Processors, memory, and devices by name.
fn shares(nodes: &[NodeView]) -> BTreeMap<String, Share> {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for node in nodes {
        let mut add =
            |name: &str, used, all| shares.entry(name.to_string()).or_default().add(used, all);
        add("CPUs", node.cpus_allocated.into(), node.cpus.into());
        add("memory MB", node.memory_allocated_mb, node.memory_mb);
        for (name, all) in devices(&node.gres) {
            let used = devices(&node.gres_used).into_iter().find(|(known, _)| *known == name);
            add(&name, used.map_or(0, |(_, count)| count), all);
        }
    }
    shares
}

/// `gpu:mi300x:8(IDX:0-7),tmp:2` by name and type.
fn devices(text: &str) -> Vec<(String, u64)> {
    let mut plain = String::new();
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            letter if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let device = |item: &str| {
        let (name, count) = item.rsplit_once(':')?;
        Some((name.to_string(), count.parse().ok()?))
    };
    plain.split(',').filter_map(device).collect()
}

fn states(nodes: &[NodeView]) -> BTreeMap<String, Vec<&str>> {
    let mut states: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        let state = NodeStatus(node.state).complete().to_lowercase();
        states.entry(state).or_default().push(&node.name);
    }
    states
}

/// Jobs by state, and those that wait by reason.
fn queue(jobs: &[JobView]) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let (mut states, mut reasons) = (BTreeMap::new(), BTreeMap::new());
    for job in jobs {
        // A waiting array is as many jobs as it has tasks left.
        let tasks =
            spur_core::job::reference::tasks_of(job).map_or(1, |tasks| tasks.ids().count() as u64);
        let state = JobStatus(job.state);
        *states.entry(state.name().to_lowercase()).or_default() += tasks;
        if state.base() == JobState::Pending {
            *reasons.entry(Reason::word(job.reason)).or_default() += tasks;
        }
    }
    (states, reasons)
}

fn summary(picture: &Picture) -> String {
    let mut text = format!("Cluster {}: {} nodes", picture.cluster, picture.nodes.len());
    for (state, names) in states(&picture.nodes) {
        text.push_str(&format!(", {} {state}", names.len()));
    }
    text.push('\n');
    for (name, share) in shares(&picture.nodes) {
        text.push_str(&format!(
            "  {name:<12} {} {:>3} %  {} of {}\n",
            bar(share.percent()),
            share.percent(),
            share.used,
            share.all
        ));
    }
    let (states, reasons) = queue(&picture.jobs);
    match states.is_empty() {
        true => text.push_str("No jobs.\n"),
        false => {
            let told: Vec<String> =
                states.iter().map(|(state, n)| format!("{n} {state}")).collect();
            text.push_str(&format!("Jobs: {}\n", told.join(", ")));
        }
    }
    if !reasons.is_empty() {
        let told: Vec<String> = reasons.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        text.push_str(&format!("  waiting for: {}   (spur why JOB says more)\n", told.join(" · ")));
    }
    for node in picture.nodes.iter().filter(|node| !node.reason.is_empty()) {
        text.push_str(&format!("  {}: {}\n", node.name, node.reason));
    }
    text
}

fn bar(percent: u64) -> String {
    const WIDTH: u64 = 20;
    let full = (percent.min(100) * WIDTH / 100) as usize;
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH as usize - full))
}

/// A line for each node with its jobs.
fn table(picture: &Picture) -> String {
    let mut on_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for job in picture.jobs.iter().filter(|job| !job.nodes.is_empty()) {
        let about = format!(
            "{} {} {}",
            shown_id(job),
            job.user_name,
            clock::span(picture.now - job.start_time)
        );
        for node in hostlist::expand(&job.nodes).unwrap_or_default() {
            on_node.entry(node).or_default().push(about.clone());
        }
    }
    let widest = picture.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:<widest$} {:<10} {:>9} {:>7} {:<14} JOBS\n",
        "NODE", "STATE", "CPUS", "MEM", "DEVICES"
    );
    for node in &picture.nodes {
        let used = devices(&node.gres_used);
        let held = |name: &str| used.iter().find(|(known, _)| known == name).map_or(0, |(_, n)| *n);
        let held: Vec<String> = devices(&node.gres)
            .iter()
            .map(|(name, all)| {
                format!("{} {}/{all}", name.rsplit(':').next().unwrap_or(name), held(name))
            })
            .collect();
        let memory = Share { used: node.memory_allocated_mb, all: node.memory_mb };
        let jobs = on_node.remove(&node.name).unwrap_or_default();
        let shown = jobs.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more =
            if jobs.len() > 3 { format!(", {} more", jobs.len() - 3) } else { String::new() };
        let line = format!(
            "{:<widest$} {:<10} {:>9} {:>5} % {:<14} {shown}{more}",
            node.name,
            NodeStatus(node.state).complete().to_lowercase(),
            format!("{}/{}", node.cpus_allocated, node.cpus),
            memory.percent(),
            held.join(",")
        );
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text
}

fn summary_json(picture: &Picture) -> serde_json::Value {
    let (jobs, waiting) = queue(&picture.jobs);
    let nodes: Vec<_> = picture
        .nodes
        .iter()
        .map(|node| {
            json!({
                "name": node.name,
                "state": NodeStatus(node.state).complete().to_lowercase(),
                "cpus": node.cpus,
                "cpus_used": node.cpus_allocated,
                "memory_mb": node.memory_mb,
                "memory_used_mb": node.memory_allocated_mb,
                "gres": node.gres,
                "gres_used": node.gres_used,
                "reason": node.reason,
            })
        })
        .collect();
    let shares: BTreeMap<String, _> = shares(&picture.nodes)
        .into_iter()
        .map(|(name, share)| (name, json!({ "used": share.used, "all": share.all })))
        .collect();
    json!({
        "cluster": picture.cluster,
        "resources": shares,
        "jobs": jobs,
        "waiting_for": waiting,
        "nodes": nodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let node = NodeView {
            name: "n1".into(),
            state: 5,
            cpus: 4,
            cpus_allocated: 1,
            memory_mb: 1000,
            memory_allocated_mb: 500,
            gres: "gpu:mi300x:8".into(),
            gres_used: "gpu:mi300x:2(IDX:0-1)".into(),
            ..NodeView::default()
        };
        let job = JobView {
            job_id: 7,
            state: JobState::Running.number(),
            nodes: "n1".into(),
            user_name: "alice".into(),
            start_time: 10,
            ..JobView::default()
        };
        let array = JobView {
            job_id: 8,
            array_job_id: 8,
            array_task_string: "1-3".into(),
            reason: Reason::Resources.number(),
            ..JobView::default()
        };
        Picture { cluster: "spur".into(), nodes: vec![node], jobs: vec![job, array], now: 70 }
    }

    #[test]
    fn a_cluster_fits_on_a_screen() {
        let text = summary(&picture());
        let expected = "\
Cluster spur: 1 nodes, 1 mixed
  CPUs         [#####...............]  25 %  1 of 4
  gpu:mi300x   [#####...............]  25 %  2 of 8
  memory MB    [##########..........]  50 %  500 of 1000
Jobs: 3 pending, 1 running
  waiting for: Resources 3   (spur why JOB says more)
";
        assert_eq!(text, expected);
        let line = table(&picture()).lines().nth(1).map(str::to_string);
        assert_eq!(
            line.as_deref(),
            Some("n1   mixed            1/4    50 % mi300x 2/8     7 alice 1:00")
        );
    }

    #[test]
    fn devices_are_counted_by_type() {
        assert_eq!(
            devices("gpu:a:2(IDX:0,3),tmp:1"),
            [("gpu:a".to_string(), 2), ("tmp".to_string(), 1)]
        );
        assert_eq!(devices(""), []);
    }
}
