//! Backfill that goes by how long jobs of a user usually take.

use std::sync::Arc;

use spur_core::config::read;
use spur_core::ids::{Epoch, JobId, StepId};
use spur_core::job::{ExitStatus, JobSpec};
use spur_core::limit::Limit;
use spur_core::state::{Command, Finish, Outcome, Settings};
use spur_core::time::Timestamp;

use super::from_state::{Cluster, cluster};
use crate::view::ViewReservation;

fn job(tasks: u32, minutes: u64) -> JobSpec {
    JobSpec { ntasks: Some(tasks), time_limit: Some(Limit::Is(minutes)), ..JobSpec::default() }
}

/// Somebody asked for an hour and was done at once. Now most of the node is taken, the next job waits for all
/// of it, and the one after that asks for an hour again.
fn habitual(scheduler: &str) -> Cluster {
    let text = format!(
        "[scheduler]\n{scheduler}\n[[partitions]]\nname = \"a\"\nnodes = \"n1\"\n\
         [[nodes]]\nnames = \"n1\"\ncpus = 4\n"
    );
    let mut cluster = cluster(&[4]);
    let config = read(&text).expect("is in order");
    cluster.apply(Command::Configure(Settings::of(&config)));
    let mut cluster = cluster.submit(job(1, 60)).started();
    let outcome = Outcome::Exited(ExitStatus::default());
    let (job_id, step) = (JobId(1), StepId::BATCH);
    let finish =
        Finish { job: job_id, epoch: Epoch(1), step, outcome, usage: None, said: String::new() };
    cluster.apply(Command::Finished { node: "n1".into(), finishes: vec![finish] });
    cluster.submit(job(3, 10)).started().submit(job(4, 10)).submit(job(1, 60))
}

#[test]
fn a_job_that_will_be_over_in_time_fills_a_gap_only_where_that_is_wanted() {
    assert_eq!(habitual("").plan(), ["3 Resources", "4 Priority"]);
    assert_eq!(habitual("predict_run_times = true").plan(), ["4 on n1:1", "3 Resources"]);
}

#[test]
fn a_limit_that_would_reach_into_a_reservation_still_counts() {
    let mut shape = crate::shape::Shape { secs: 3600, expected: Some(60), ..Default::default() };
    assert_eq!(shape.likely(), 60);
    shape.secs = 30;
    assert_eq!(shape.likely(), 30);
    // The maintenance begins in an hour: nobody is let in who may still be there, however short it will be.
    let mut nodes = super::cluster(&[4]);
    let (start, end) = (Timestamp(3600), Timestamp(7200));
    let nodes_of = ["n1".into()].into();
    let maintenance = ViewReservation {
        start,
        end,
        nodes: nodes_of,
        every: None,
        flexible: false,
        over: false,
        anywhere: false,
        cores: Arc::default(),
        without: [false; 7],
    };
    nodes.view.reservations.insert("m".into(), Arc::new(maintenance));
    let nodes = nodes.job(|shape| (shape.secs, shape.expected) = (3601, Some(60)));
    assert_eq!(nodes.decide().starts.len(), 0);
    let nodes = nodes.job(|shape| (shape.secs, shape.expected) = (3600, Some(60)));
    assert_eq!(nodes.decide().starts.len(), 1);
}
