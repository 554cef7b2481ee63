//! Why jobs wait, and what would help.

use proptest::prelude::*;
use spur_core::auth::Actor;
use spur_core::ids::JobId;
use spur_core::job::{JobSpec, Reason};
use spur_core::limit::Limit;
use spur_core::node::Inventory;
use spur_core::state::{Assignment, Command, Control, JobAction, RegisterNode, Settings};
use spur_core::time::Timestamp;

use super::from_state::{Cluster, cluster};
use crate::explain::{Explanation, Test};
use crate::{Advice, Planner};

fn spec(nodes: u32, tasks: u32, minutes: u64) -> JobSpec {
    JobSpec {
        nodes_min: Some(nodes).filter(|nodes| *nodes > 0),
        ntasks: Some(tasks),
        ntasks_said: true,
        time_limit: Some(Limit::Is(minutes)),
        ..JobSpec::default()
    }
}

fn explain(cluster: &Cluster, job: u32) -> Explanation {
    Planner::default().explain(&cluster.0, JobId(job)).expect("waits")
}

fn advise(cluster: &Cluster, job: u32) -> Vec<JobAction> {
    let mut planner = Planner::default();
    let told = planner.explain(&cluster.0, JobId(job)).expect("waits");
    planner.advise(&cluster.0, JobId(job), &told).into_iter().map(|it| it.action).collect()
}

fn set(key: &str, value: &str) -> JobAction {
    JobAction::Update(vec![Assignment { key: key.to_string(), value: value.to_string() }])
}

#[test]
fn the_numbers_behind_a_wait_are_those_of_the_pass() {
    let cluster = cluster(&[4, 4]).submit(spec(1, 3, 60)).submit(spec(1, 4, 30)).started();
    let cluster = cluster.submit(spec(2, 8, 10)).submit(spec(0, 1, 600)).submit(spec(0, 1, 600));
    let told = explain(&cluster, 3);
    let wait = told.wait.expect("waits");
    assert_eq!((wait.reason, wait.start), (Reason::Resources, Some(Timestamp(1 + 3600))));
    assert_eq!(told.fitting, ["n1".into()]);
    assert_eq!(told.rejected.keys().copied().collect::<Vec<_>>(), [Test::BusyCpus]);
    let cpu = told.needs.iter().find(|need| need.name == "cpu").expect("is told");
    assert_eq!((cpu.needed, cpu.free, cpu.total), (8, 1, 8));
    let expected = told.expected.expect("is known");
    assert_eq!((expected.at, expected.nodes.len()), (Timestamp(3601), 2));
    assert_eq!(told.blockers, [(JobId(2), Timestamp(1801)), (JobId(1), Timestamp(3601))]);
    // The promise needs the processor that is free.
    let told = explain(&cluster, 5);
    assert_eq!((told.ahead, &told.first_ahead[..]), (2, &[JobId(3), JobId(4)][..]));
    assert_eq!(told.rejected.get(&Test::Promised).map(Vec::len), Some(1));
    assert_eq!(told.expected.map(|it| it.at), Some(Timestamp(3601 + 600)));
}

#[test]
fn a_shorter_limit_fits_before_a_promise() {
    let cluster = cluster(&[4]).submit(spec(1, 3, 60)).started();
    let cluster = cluster.submit(spec(1, 4, 10)).submit(spec(1, 1, 600));
    assert_eq!(advise(&cluster, 3), [set("TimeLimit", "59")]);
    assert_eq!(advise(&cluster, 2), [set("NumTasks", "1")]);
}

#[test]
fn a_held_job_is_let_go() {
    let cluster = cluster(&[4]).submit(JobSpec { hold: true, ..spec(1, 1, 1) });
    assert_eq!(advise(&cluster, 1), [JobAction::Release]);
    let told = explain(&cluster, 1);
    assert_eq!(told.wait.map(|wait| wait.reason), Some(Reason::JobHeldUser));
}

#[test]
fn a_job_that_can_do_with_less_is_granted_less() {
    let cluster = cluster(&[2, 2]).submit(spec(1, 2, 60)).started().submit(spec(2, 4, 60));
    let mut short = spec(1, 2, 600);
    short.lifecycle_mut().time_min = Some(Limit::Is(10));
    let cluster = cluster.submit(short).started();
    let job = &cluster.0.jobs[&JobId(3)];
    assert_eq!(job.granted.minutes, Some(10));
    assert_eq!(job.time_limit(cluster.0.default_partition()), Limit::Is(10));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn who_follows_advice_starts(
        nodes in prop::collection::vec(1u32..6, 1..5),
        running in prop::collection::vec((0u32..3, 1u32..6, 1u64..200), 0..5),
        waiting in prop::collection::vec((0u32..4, 1u32..9, 1u64..200), 1..6),
    ) {
        let mut cluster = cluster(&nodes);
        for (nodes, tasks, minutes) in running {
            cluster = cluster.submit(spec(nodes, tasks, minutes));
        }
        cluster = cluster.started();
        for (nodes, tasks, minutes) in waiting {
            cluster = cluster.submit(spec(nodes, tasks, minutes));
        }
        let plan = Planner::default().plan(&cluster.0);
        for (job, wait) in plan.waits.iter() {
            let mut planner = Planner::default();
            let told = planner.explain(&cluster.0, job).expect("waits");
            // One opinion.
            prop_assert_eq!(told.wait, Some(wait));
            let enough = told.fitting.len() as u32 + told.rejected.values().map(|it| it.len() as u32).sum::<u32>();
            prop_assert_eq!(enough as usize, cluster.0.nodes.len());
            for Advice { action } in planner.advise(&cluster.0, job, &told) {
                let mut copy = Cluster(cluster.0.clone());
                let control = Control { job, tasks: None, action, by: Actor::Controller, request: None };
                copy.apply(Command::Control(Box::new(control)));
                let starts = Planner::default().plan(&copy.0).starts;
                prop_assert!(starts.iter().any(|start| start.job == job));
            }
        }
    }
}

/// A cluster with partitions of several kinds, licences, and memory.
fn mixed(cpus: &[u32]) -> Cluster {
    let text = "licenses = { x = 2 }\n\
                [[partitions]]\nname = \"low\"\ndefault = true\n\
                [[partitions]]\nname = \"high\"\npriority_tier = 9\n\
                [[partitions]]\nname = \"short\"\nmax_time = 30\n\
                [[partitions]]\nname = \"small\"\nmax_nodes = 1\nmax_cpus_per_node = 2\n\
                max_mem_per_node = 500\n\
                [[partitions]]\nname = \"down\"\nstate = \"down\"\n";
    let config = spur_core::config::read(text).expect("is in order");
    let mut cluster = cluster(&[]);
    cluster.apply(Command::Configure(Settings::of(&config)));
    for (number, cpus) in (1..).zip(cpus) {
        let (name, boot_id) = (format!("n{number}").into(), String::new());
        let inventory = Inventory::simple(*cpus, 1000);
        cluster.apply(Command::RegisterNode(RegisterNode { name, inventory, boot_id }));
    }
    cluster
}

/// One of many things that can be asked for.
fn with(mut spec: JobSpec, partition: usize, extra: u8) -> JobSpec {
    spec.partition = ["low", "high", "short", "small", "down", "low,high"][partition].to_string();
    let place = spec.placement_mut();
    match extra {
        1 => place.licenses = "x:1".to_string(),
        2 => place.licenses = "x:2".to_string(),
        3 => place.nodelist = "n1".to_string(),
        4 => place.exclude = "n1".to_string(),
        5 => spec.hold = true,
        6 => spec.begin = Some(5000),
        7 => spec.memory_per_node = Some(600),
        8 => spec.sharing = Some(spur_core::job::spec::Sharing::Exclusive as i32),
        9 => spec.array = "1-3%1".to_string(),
        10 => spec.dependency = "afterok:1".to_string(),
        _ => {}
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_wait_is_explained_and_advice_about_it_works(
        nodes in prop::collection::vec(1u32..6, 1..5),
        running in prop::collection::vec((0usize..4, 0u32..2, 1u32..4, 1u64..200, 0u8..5), 0..5),
        waiting in prop::collection::vec((0usize..6, 0u32..4, 1u32..9, 1u64..200, 0u8..12), 1..7),
    ) {
        // Somebody to wait for.
        let mut cluster = mixed(&nodes).submit(spec(1, 1, 300));
        for (partition, nodes, tasks, minutes, extra) in running {
            cluster = cluster.submit(with(spec(nodes, tasks, minutes), partition, extra));
        }
        cluster = cluster.started();
        for (partition, nodes, tasks, minutes, extra) in waiting {
            cluster = cluster.submit(with(spec(nodes, tasks, minutes), partition, extra));
        }
        let plan = Planner::default().plan(&cluster.0);
        for (job, wait) in plan.waits.iter() {
            let mut planner = Planner::default();
            let told = planner.explain(&cluster.0, job).expect("waits");
            prop_assert_eq!(told.wait, Some(wait));
            let seen = told.fitting.len() + told.rejected.values().map(Vec::len).sum::<usize>();
            prop_assert_eq!(seen, cluster.0.nodes.len());
            let over = |it: &crate::LimitUse| it.used + it.needed > it.max;
            if matches!(wait.reason, Reason::Licenses | Reason::JobArrayTaskLimit) {
                prop_assert!(told.limits.iter().any(over), "which limit it is");
            }
            for Advice { action } in planner.advise(&cluster.0, job, &told) {
                let mut copy = Cluster(cluster.0.clone());
                let by = Actor::Controller;
                let control = Control { job, tasks: None, action, by, request: None };
                copy.apply(Command::Control(Box::new(control)));
                let starts = Planner::default().plan(&copy.0).starts;
                prop_assert!(starts.iter().any(|start| start.job == job));
            }
        }
    }
}

#[test]
fn an_estimate_waits_for_what_others_hold_of_a_limit() {
    let licence = |minutes: u64| with(spec(1, 1, minutes), 0, 2);
    let cluster = mixed(&[4]).submit(licence(60)).started().submit(licence(10));
    let told = explain(&cluster, 2);
    assert_eq!(told.wait.map(|wait| wait.reason), Some(Reason::Licenses));
    assert_eq!(told.expected.map(|it| it.at), Some(Timestamp(3601)));
}
