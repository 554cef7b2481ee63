//! Jobs that start together or not at all.

use spur_core::blob::BlobHash;
use spur_core::job::{JobSpec, RequestId};
use spur_core::state::{Blob, Command, Submit};

use super::from_state::{Cluster, cluster};
use crate::Planner;

fn tasks(ntasks: u32) -> JobSpec {
    JobSpec { ntasks: Some(ntasks), ..JobSpec::default() }
}

fn on(node: &str, ntasks: u32) -> JobSpec {
    let mut spec = JobSpec { nodes_min: Some(1), nodes_max: Some(1), ..tasks(ntasks) };
    spec.placement_mut().nodelist = node.to_string();
    spec
}

fn het(mut cluster: Cluster, specs: Vec<JobSpec>) -> Cluster {
    let mut specs = specs.into_iter();
    let hash = BlobHash::of(b"");
    let submit = Submit {
        request: RequestId(u128::from(cluster.0.next_job.0)),
        owner: Default::default(),
        spec: specs.next().expect("one"),
        others: specs.collect(),
        script: hash,
        environment: hash,
        blobs: vec![Blob { bytes: Vec::new() }],
    };
    cluster.apply(Command::Submit(Box::new(submit)));
    cluster
}

#[test]
fn components_start_in_one_plan() {
    let plan = het(cluster(&[4, 4]), vec![tasks(1), tasks(4)]).plan();
    assert_eq!(plan, ["1 on n1:1", "2 on n2:4"]);
}

#[test]
fn the_component_of_the_highest_priority_gets_its_nodes_first() {
    let urgent = |ntasks| JobSpec { priority: Some(9), ..tasks(ntasks) };
    let usual = JobSpec { priority: Some(1), ..tasks(1) };
    let plan = het(cluster(&[4, 4]), vec![usual, urgent(2)]).plan();
    assert_eq!(plan, ["2 on n1:2", "1 on n2:1"]);
}

#[test]
fn who_can_never_start_says_why_and_the_others_wait() {
    let wide = JobSpec { nodes_min: Some(9), nodes_max: Some(9), ..tasks(9) };
    let plan = het(cluster(&[4, 4]), vec![tasks(1), wide]).plan();
    assert_eq!(plan, ["1 Resources", "2 PartitionConfig"]);
}

#[test]
fn the_one_with_least_choice_is_placed_first() {
    let plan = het(cluster(&[2, 2]), vec![tasks(2), on("n1", 2)]).plan();
    assert_eq!(plan.len(), 2, "{plan:?}");
    assert!(plan.contains(&"2 on n1:2".to_string()), "{plan:?}");
}

#[test]
fn none_starts_while_one_does_not_fit() {
    let full = cluster(&[4, 4]).submit(on("n2", 3)).started();
    let plan = het(full, vec![tasks(1), on("n2", 2)]).plan();
    assert_eq!(plan, ["2 Resources", "3 Resources"]);
}

#[test]
fn they_hold_one_place_in_the_future() {
    let mut blocking = on("n2", 4);
    blocking.time_limit = Some(spur_core::limit::Limit::Is(10));
    let full = cluster(&[4, 4]).submit(blocking).started();
    // What would delay them waits; what ends in time does not.
    let mut long = on("n1", 4);
    long.time_limit = Some(spur_core::limit::Limit::Is(20));
    let mut short = on("n1", 4);
    short.time_limit = Some(spur_core::limit::Limit::Is(5));
    let cluster = het(full, vec![on("n1", 4), on("n2", 4)]).submit(long).submit(short);
    assert_eq!(cluster.plan(), ["5 on n1:4", "2 Resources", "3 Resources", "4 Priority"]);
    let plan = Planner::default().plan(&cluster.0);
    let starts =
        [2, 3].map(|job| plan.waits.get(spur_core::ids::JobId(job)).and_then(|it| it.start));
    assert_eq!(starts[0], starts[1]);
    assert!(starts[0].is_some());
}

#[test]
fn a_component_is_in_any_of_its_partitions() {
    let text = "[[partitions]]\nname = \"a\"\nnodes = \"n1\"\n\
                [[partitions]]\nname = \"b\"\nnodes = \"n2\"\n\
                [[nodes]]\nnames = \"n[1-2]\"\ncpus = 2\n";
    let config = spur_core::config::read(text).expect("is in order");
    let mut cluster = cluster(&[2, 2]);
    cluster.apply(Command::Configure(spur_core::state::Settings::of(&config)));
    let part = |partition: &str| JobSpec { partition: partition.to_string(), ..tasks(2) };
    let plan = het(cluster, vec![part("a"), part("a,b")]).plan();
    assert_eq!(plan.len(), 2, "{plan:?}");
    assert!(plan.contains(&"2 on n2:2".to_string()), "{plan:?}");
}
