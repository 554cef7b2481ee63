//! Why jobs wait, and what would help.

use proptest::prelude::*;
use spur_core::auth::Actor;
use spur_core::ids::JobId;
use spur_core::job::{JobSpec, Reason};
use spur_core::limit::Limit;
use spur_core::state::{Assignment, Command, Control, JobAction};
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
    assert_eq!(advise(&cluster, 3), [set("TimeLimit", "60")]);
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
    assert_eq!(job.granted.minutes, Some(60));
    assert_eq!(job.time_limit(cluster.0.default_partition()), Limit::Is(60));
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
