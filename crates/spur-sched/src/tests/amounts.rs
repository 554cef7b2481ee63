//! Amounts that are known only when a job has its place, and nodes beside those that are asked for.

use spur_core::job::Reason;

use super::*;
use crate::shape::Sharing;
use crate::view::{Counter, Of};

fn counted(nodes: Cluster, max: u64, reason: Reason) -> Cluster {
    let mut nodes = nodes;
    nodes.view.counters.insert("group".into(), Counter { max, reason });
    nodes
}

fn uses(amount: u64, of: Of) -> impl Fn(&mut PendingJob) {
    move |job| job.charges = [Charge { of, ..charge("group", amount) }].into()
}

#[test]
fn a_job_alone_on_its_node_counts_with_all_of_it() {
    let alone = |shape: &mut Shape| shape.sharing = Sharing::Nobody;
    let nodes = counted(cluster(&[4, 4]), 6, Reason::AssocGrpCpuLimit);
    let both = nodes.job_with(alone, uses(1, Of::Cpus(1))).job_with(alone, uses(1, Of::Cpus(1)));
    assert_eq!(both.plan(), ["1 on n1:4", "2 AssocGrpCpuLimit"]);
    // Who shares is counted by what it asks for.
    let small = both.cancelled(2).job_with(|_| {}, uses(1, Of::Cpus(1)));
    assert_eq!(small.plan(), ["1 on n1:4", "2 on n2:1"]);
}

#[test]
fn memory_that_goes_with_gpus_goes_with_all_of_those_who_are_alone() {
    let plan = |sharing: Sharing| {
        let nodes = counted(cluster(&[4]), 300, Reason::AssocGrpMemLimit);
        let nodes = nodes.node("n1", |node| node.gres = gpus(4));
        let two = move |shape: &mut Shape| {
            shape.gres = vec![gpu_need(2, Per::Node)];
            (shape.memory, shape.memory_per_gpu, shape.sharing) =
                (Memory::PerNode(200), 100, sharing);
        };
        nodes.job_with(two, uses(1, Of::Memory(1))).plan()
    };
    assert_eq!(plan(Sharing::Anybody), ["1 on n1:1"]);
    assert_eq!(plan(Sharing::Nobody), ["1 AssocGrpMemLimit"]);
}

#[test]
fn a_node_that_several_jobs_of_a_group_are_on_counts_once() {
    let nodes = counted(cluster(&[2, 2]), 1, Reason::AssocGrpNodeLimit);
    let mut nodes = nodes;
    for _ in 0..3 {
        nodes = nodes.job_with(|_| {}, uses(1, Of::Nodes));
    }
    assert_eq!(nodes.plan(), ["1 on n1:1", "2 on n1:1", "3 AssocGrpNodeLimit"]);
    let later = nodes.started();
    assert_eq!(later.plan(), ["3 AssocGrpNodeLimit"]);
    assert_eq!(later.ended(1).plan(), ["3 on n1:1"]);
}

#[test]
fn neighbours_go_with_a_node_that_is_asked_for() {
    let on = |name: &'static str, nodes: u32, most: u32, units: u32| {
        let shape = move |shape: &mut Shape| {
            shape.nodelist = vec![name.into()];
            (shape.nodes_min, shape.nodes_max, shape.units) = (nodes, most, units);
        };
        cluster(&[4, 4, 4, 4]).job(shape).plan()
    };
    assert_eq!(on("n1", 1, 10, 10), ["1 on n1:4 n2:4 n3:2"]);
    assert_eq!(on("n3", 2, 2, 2), ["1 on n3:1 n4:1"]);
    assert_eq!(on("n4", 1, 6, 6), ["1 on n3:4 n4:2"]);
    assert_eq!(on("n4", 3, 3, 3), ["1 on n2:1 n3:1 n4:1"]);
}

#[test]
fn minutes_weigh_as_much_as_the_qos_says_once_they_run() {
    let weighed = |weight: u64| {
        move |job: &mut PendingJob| job.charges = [Charge { weight, ..charge("group", 10) }].into()
    };
    let plan = |weight: u64, max: u64| {
        let nodes = counted(cluster(&[4]), max, Reason::QOSGrpCPURunMinutesLimit);
        nodes.job_with(|_| {}, weighed(weight)).job_with(|_| {}, weighed(weight)).plan()
    };
    assert_eq!(plan(1000, 25), ["1 on n1:1", "2 on n1:1"]);
    assert_eq!(plan(2000, 25), ["1 on n1:1", "2 QOSGrpCPURunMinutesLimit"]);
    assert_eq!(plan(500, 16), ["1 on n1:1", "2 on n1:1"]);
}
