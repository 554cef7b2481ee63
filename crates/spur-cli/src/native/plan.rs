//! `spur plan`: when waiting jobs are expected to start; with a script, when that one would.

use serde_json::json;
use spur_core::fields::clock;
use spur_core::options::Request;
use spur_core::time::Timestamp;
use spur_proto::caller::CallError;
use spur_proto::slurm::ExpectedStart;

use crate::cluster::Controller;
use crate::commands::sbatch;
use crate::output::{complain, print};
use crate::zone;

const HELP: &str = "\
Usage: spur plan [--json] [SBATCH OPTION ... SCRIPT]

Without a script: when and where waiting jobs are expected to start.
With one, and with any option of sbatch: when that job would start, and what would start it sooner. Nothing
is submitted.
";

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let json = args.iter().any(|word| word == "--json");
    let words: Vec<String> = args.iter().filter(|word| *word != "--json").cloned().collect();
    if matches!(words.first().map(String::as_str), Some("-h" | "--help")) {
        print(HELP);
        return 0;
    }
    let mut controller = Controller::find();
    match words.is_empty() {
        true => queue(&mut controller, json),
        false => match sbatch::request(&words) {
            Ok(Some(request)) => job(&mut controller, &request, json),
            Ok(None) => 0,
            Err(status) => status,
        },
    }
}

fn queue(controller: &mut Controller, json: bool) -> u8 {
    let plan = match controller.plan() {
        Ok(plan) => plan,
        Err(error) => {
            complain("spur plan", error);
            return 1;
        }
    };
    if json {
        let starts: Vec<_> = plan.starts.iter().map(start_json).collect();
        print(&format!("{}\n", json!({ "now": plan.now, "starts": starts })));
        return 0;
    }
    if plan.starts.is_empty() {
        print("No waiting job has an expected start.\n");
        return 0;
    }
    let mut text = format!(
        "{:>10} {:<19} {:>9} {:>5} {:>6} {}\n",
        "JOB", "START", "PARTITION", "NODES", "CPUS", "NODELIST"
    );
    for start in &plan.starts {
        text.push_str(&format!(
            "{:>10} {:<19} {:>9} {:>5} {:>6} {}\n",
            start.job_id,
            when(start.start_time),
            start.partition,
            start.node_count,
            start.cpus,
            start.nodes
        ));
    }
    print(&text);
    0
}

/// A way to ask for less, and what is said about it.
type Variation = (&'static str, fn(&Request) -> Option<(String, Request)>);

const VARIATIONS: &[Variation] = &[
    ("half the time", |request| {
        let Some(spur_core::limit::Limit::Is(minutes)) = request.job.time_limit else {
            return None;
        };
        let less = minutes / 2;
        let mut request = request.clone();
        request.job.time_limit = Some(spur_core::limit::Limit::Is(less));
        (less > 0).then(|| (format!("-t {less}"), request))
    }),
    ("half the nodes", |request| {
        let less = request.job.nodes_min.filter(|nodes| *nodes > 1)? / 2;
        let mut request = request.clone();
        request.job.nodes_min = Some(less);
        request.job.nodes_max = request.job.nodes_max.map(|_| less);
        Some((format!("-N {less}"), request))
    }),
    ("no memory of its own", |request| {
        let mut less = request.clone();
        let said = less.job.memory_per_node.take().or(less.job.memory_per_cpu.take());
        said.map(|_| ("without --mem".to_string(), less))
    }),
];

fn job(controller: &mut Controller, request: &Request, json: bool) -> u8 {
    let start = match controller.try_job(&request.job) {
        Ok(reply) => reply.expected.unwrap_or_default(),
        Err(error) => return refuse(&error),
    };
    let now = zone::now().0;
    let mut sooner: Vec<(String, ExpectedStart)> = Vec::new();
    if start.start_time > now {
        for (_, vary) in VARIATIONS {
            let Some((option, varied)) = vary(request) else { continue };
            let tried = controller.try_job(&varied.job).ok().and_then(|reply| reply.expected);
            if let Some(tried) = tried.filter(|tried| tried.start_time < start.start_time) {
                sooner.push((option, tried));
            }
        }
    }
    if json {
        let others: Vec<_> = sooner
            .iter()
            .map(|(option, start)| json!({ "option": option, "start": start_json(start) }))
            .collect();
        print(&format!("{}\n", json!({ "start": start_json(&start), "sooner": others })));
        return 0;
    }
    print(&told(&start, &sooner, now));
    0
}

fn told(start: &ExpectedStart, sooner: &[(String, ExpectedStart)], now: i64) -> String {
    let at = |secs: i64| if secs <= now { "now".to_string() } else { when(secs) };
    let mut text = format!(
        "Would start {} in partition {} on {} ({} CPUs).\n",
        at(start.start_time),
        start.partition,
        start.nodes,
        start.cpus
    );
    for (option, start) in sooner {
        text.push_str(&format!("  With {option}: {} on {}\n", at(start.start_time), start.nodes));
    }
    text
}

fn refuse(error: &CallError) -> u8 {
    complain("spur plan", format!("allocation failure: {error}"));
    1
}

fn when(secs: i64) -> String {
    clock::moment(secs, zone::offset_at(Timestamp(secs)))
}

fn start_json(start: &ExpectedStart) -> serde_json::Value {
    json!({
        "job_id": start.job_id,
        "start_time": start.start_time,
        "partition": start.partition,
        "nodes": start.nodes,
        "node_count": start.node_count,
        "cpus": start.cpus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_start_sooner_stands_behind_the_answer() {
        let start = |start_time, nodes: &str| ExpectedStart {
            start_time,
            partition: "gpu".into(),
            nodes: nodes.into(),
            cpus: 8,
            ..ExpectedStart::default()
        };
        let text = told(&start(10, "n1"), &[("-t 30".into(), start(5, "n2"))], 20);
        assert_eq!(
            text,
            "Would start now in partition gpu on n1 (8 CPUs).\n  With -t 30: now on n2\n"
        );
    }
}
