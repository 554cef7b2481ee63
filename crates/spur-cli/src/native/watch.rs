//! `spur watch`: what becomes of jobs and nodes, as it happens.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use spur_core::fields::job::{JOB_FIELDS, shown_id};
use spur_core::fields::node::NODE_FIELDS;
use spur_core::fields::render;
use spur_core::job::{JobStatus, Reason};
use spur_core::node::NodeStatus;
use spur_core::views::JobView;
use spur_proto::slurm::WatchRequest;
use spur_proto::slurm::watch_reply::Event;

use crate::cluster::{self, Controller};
use crate::output::{complain, print};

/// Prints a line for each change. A controller that goes away is waited for, and nothing is told twice.
#[derive(Parser)]
struct Arguments {
    /// Only these jobs; without any, all.
    jobs: Vec<u32>,
    /// Only your own jobs.
    #[arg(long)]
    me: bool,
    /// Nodes too.
    #[arg(long)]
    nodes: bool,
    /// Begin with everything there is now.
    #[arg(long)]
    all: bool,
    /// A line of JSON for each change: {"event": "job", "job": {…}}.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("watch", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let mut seen = Seen { jobs: BTreeMap::new(), telling: arguments.all };
    loop {
        let request = WatchRequest {
            job_ids: arguments.jobs.clone(),
            uids: arguments.me.then(|| nix::unistd::getuid().as_raw()).into_iter().collect(),
            // What was missed while nobody listened is found by comparing.
            snapshot: true,
            nodes: arguments.nodes,
        };
        let ended = Controller::find().watch(request, |event| {
            if let Some(line) = seen.line(event, arguments.json) {
                print(&line);
            }
        });
        if let Err(error) = ended
            && cluster::is_final(&error)
        {
            complain("spur watch", error);
            return 1;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What was told before.
struct Seen {
    jobs: BTreeMap<u32, JobView>,
    /// Whether the first picture is told, or only what changes it.
    telling: bool,
}

impl Seen {
    fn line(&mut self, event: Event, json: bool) -> Option<String> {
        match event {
            Event::Job(job) => {
                // That the scheduler looked at it again is no news.
                let mut settled = job.clone();
                settled.last_sched_eval = 0;
                let known = self.jobs.insert(job.job_id, settled.clone());
                let news = self.telling && known.as_ref() != Some(&settled);
                news.then(|| job_line(&job, json))
            }
            Event::JobGone(id) => {
                let known = self.jobs.remove(&id).is_some();
                (known && self.telling).then(|| match json {
                    true => format!("{}\n", json!({ "event": "job_gone", "job_id": id })),
                    false => format!("job {id} forgotten\n"),
                })
            }
            Event::Node(node) => self.telling.then(|| match json {
                true => {
                    let told = render::json(NODE_FIELDS, &node);
                    format!("{}\n", json!({ "event": "node", "node": told }))
                }
                false => {
                    let state = NodeStatus(node.state).complete();
                    format!("node {} {state} {}\n", node.name, node.reason).replace(" \n", "\n")
                }
            }),
            Event::SnapshotEnd(_) => {
                self.telling = true;
                None
            }
        }
    }
}

fn job_line(job: &JobView, json: bool) -> String {
    if json {
        let told = render::json(JOB_FIELDS, job);
        return format!("{}\n", json!({ "event": "job", "job": told }));
    }
    let state = JobStatus(job.state).name();
    let more = match job.nodes.as_str() {
        "" => format!("({})", Reason::word(job.reason)),
        nodes => nodes.to_string(),
    };
    format!("job {} {} {state} {more}\n", shown_id(job), job.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_proto::slurm::SnapshotEnd;

    #[test]
    fn only_news_is_told() {
        let mut seen = Seen { jobs: BTreeMap::new(), telling: false };
        let job = JobView {
            job_id: 7,
            name: "a".into(),
            nodes: "n1".into(),
            state: 1,
            ..JobView::default()
        };
        assert_eq!(seen.line(Event::Job(job.clone()), false), None);
        assert_eq!(seen.line(Event::SnapshotEnd(SnapshotEnd {}), false), None);
        assert_eq!(seen.line(Event::Job(job.clone()), false), None);
        let over = JobView { state: 3, ..job };
        let told = seen.line(Event::Job(over), false);
        assert_eq!(told.as_deref(), Some("job 7 a COMPLETED n1\n"));
        assert_eq!(seen.line(Event::JobGone(7), false).as_deref(), Some("job 7 forgotten\n"));
        assert_eq!(seen.line(Event::JobGone(8), false), None);
    }
}
