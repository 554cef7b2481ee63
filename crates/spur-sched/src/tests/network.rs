//! Nodes below switches, in blocks, and in numbers that must be right.

use std::sync::Arc;

use spur_core::ids::NodeName;

use super::{Cluster, cluster};
use crate::shape::Shape;
use crate::view::ViewNode;

fn tasks(nodes: u32, tasks: u32) -> impl Fn(&mut Shape) {
    move |shape| (shape.nodes_min, shape.nodes_max, shape.units) = (nodes, nodes, tasks)
}

/// Nodes `n1` to `n6` of two processors: two to each leaf, the leaves below one switch.
fn tree() -> Cluster {
    let mut cluster = cluster(&[2; 6]);
    for (name, node) in &mut cluster.view.nodes {
        let number: u32 = name.as_str()[1..].parse().expect("a number");
        let leaf = format!("s{}", number.div_ceil(2));
        let switches = [Arc::from("s0"), Arc::from(leaf.as_str())].into();
        *node = Arc::new(ViewNode { switches, ..(**node).clone() });
    }
    cluster
}

fn named(node: &str) -> impl Fn(&mut Shape) {
    let node = NodeName::from(node);
    move |shape| shape.nodelist = vec![node.clone()]
}

#[test]
fn a_job_gets_nodes_of_one_leaf_where_it_can() {
    let busy = tree().job(named("n1")).job(named("n1")).started();
    assert_eq!(busy.job(tasks(2, 4)).plan(), ["3 on n3:2 n4:2"], "not n2 and n3");
}

#[test]
fn who_wants_one_switch_waits_for_it() {
    let plan = full_but(&["n1", "n3", "n5"]).job(|shape| {
        tasks(2, 4)(shape);
        shape.switches = Some(1);
    });
    assert_eq!(plan.plan(), ["7 Resources@3600"]);
    let two = full_but(&["n1", "n3", "n5"]).job(|shape| {
        tasks(2, 4)(shape);
        shape.switches = Some(2);
    });
    assert_eq!(two.plan(), ["7 on n2:2 n4:2"]);
}

#[test]
fn who_wants_a_few_switches_holds_a_place_below_them() {
    let short = |node: &'static str| {
        move |shape: &mut Shape| (shape.nodelist, shape.secs) = (vec![node.into()], 600)
    };
    let busy = ["n1", "n3"].iter().fold(tree(), |all, node| all.job(named(node)).job(short(node)));
    let busy = busy.started();
    let few = |shape: &mut Shape| {
        tasks(4, 8)(shape);
        shape.switches = Some(2);
    };
    // Of the leaves of n1 and n3 half is in use, and no two leaves have four free nodes.
    assert_eq!(busy.clone().job(few).plan(), ["5 Resources@3600"]);
    let below = |shape: &mut Shape| {
        tasks(3, 6)(shape);
        shape.secs = 7200;
    };
    let plan = busy.job(few).job_with(below, |job| job.priority = 0).plan();
    assert!(plan[1].starts_with("6 Priority"), "it would delay the first: {plan:?}");
}

fn full_but(busy: &[&str]) -> Cluster {
    busy.iter().fold(tree(), |all, node| all.job(named(node)).job(named(node))).started()
}

#[test]
fn segments_stay_within_a_block() {
    let busy = full_but(&["n2"]);
    let plan = busy.job(|shape| {
        tasks(4, 4)(shape);
        shape.segment = Some(2);
    });
    assert_eq!(plan.plan(), ["3 on n3:1 n4:1 n5:1 n6:1"]);
    let none = full_but(&["n2", "n4"]).job(|shape| {
        tasks(4, 4)(shape);
        shape.segment = Some(2);
    });
    assert_eq!(none.plan(), ["5 Resources@3600"]);
}

#[test]
fn a_job_of_segments_holds_a_place_and_gets_all_its_tasks() {
    let mut blocks = cluster(&[2; 12]);
    for (name, node) in &mut blocks.view.nodes {
        let number: u32 = name.as_str()[1..].parse().expect("a number");
        let switches = [Arc::from(format!("b{}", number.div_ceil(4)))].into();
        *node = Arc::new(ViewNode { switches, ..(**node).clone() });
    }
    let busy = |nodes: &[&str]| {
        let two = |all: Cluster, node: &&str| all.job(named(node)).job(named(node));
        nodes.iter().fold(blocks.clone(), two).started()
    };
    let halves = |units: u32| {
        move |shape: &mut Shape| {
            tasks(6, units)(shape);
            shape.segment = Some(3);
        }
    };
    let beside = busy(&["n1", "n2", "n3", "n4"]).job(halves(7));
    assert_eq!(beside.plan(), ["9 on n5:2 n6:1 n7:1 n9:1 n10:1 n11:1"]);
    // Six are free, but not three and three; who comes later must not delay it.
    let waits = busy(&["n1", "n2", "n5", "n6", "n9", "n10"]).job(halves(6));
    let long = (0..6).fold(waits, |all, _| all.job(|it| (it.unit_cpus, it.secs) = (2, 7200)));
    let holds = |cluster: &Cluster| cluster.plan().contains(&"13 Resources@3600".to_string());
    assert!(holds(&long) && holds(&long.started()));
}

#[test]
fn only_the_numbers_of_nodes_that_were_named_will_do() {
    let sizes = |shape: &mut Shape| {
        (shape.nodes_min, shape.nodes_max, shape.units) = (1, 4, 1);
        shape.units_follow_nodes = true;
        shape.sizes = vec![1, 3, 4];
    };
    assert_eq!(cluster(&[1, 1]).job(sizes).plan(), ["1 on n1:1"], "two would not do");
    assert_eq!(cluster(&[1; 5]).job(sizes).plan(), ["1 on n1:1 n2:1 n3:1 n4:1"]);
}

#[test]
fn nodes_with_the_preferred_features_are_tried_first() {
    let mut cluster = cluster(&[1, 1]);
    let node = cluster.view.nodes.get_mut(&NodeName::from("n2")).expect("is there");
    *node = Arc::new(ViewNode { features: [Arc::from("fast")].into(), ..(**node).clone() });
    let wish = |shape: &mut Shape| shape.prefer = "fast".into();
    assert_eq!(cluster.clone().job(wish).job(wish).plan(), ["1 on n2:1", "2 on n1:1"]);
    let node = cluster.view.nodes.get_mut(&NodeName::from("n1")).expect("is there");
    *node = Arc::new(ViewNode { features: [Arc::from("slow")].into(), ..(**node).clone() });
    let both =
        |shape: &mut Shape| (shape.prefer, shape.constraint) = ("fast".into(), "slow".into());
    let plan = cluster.job(both).job(both).job(both).plan();
    assert_eq!(plan, ["1 on n2:1", "2 on n1:1", "3 Resources@3600"], "whatever it insists on");
}

#[test]
fn a_socket_takes_no_more_tasks_than_it_may() {
    let mut cluster = cluster(&[8]);
    let node = cluster.view.nodes.get_mut(&NodeName::from("n1")).expect("is there");
    *node = Arc::new(ViewNode { sockets: 2, ..(**node).clone() });
    let cluster = cluster.job(|shape| {
        tasks(1, 2)(shape);
        shape.unit_cpus = 3;
        shape.units_per_socket = Some(1);
    });
    let start = &cluster.decide().starts[0];
    assert_eq!(start.shares[0].cores, [0, 1, 2, 4, 5, 6]);
    let more = cluster.started().job(|shape| {
        shape.unit_cpus = 2;
        shape.units_per_socket = Some(1);
    });
    assert_eq!(more.plan(), ["2 Resources@3600"], "one core is free on each socket");
}

/// Eight nodes of four processors: two below the first leaf, three below each of the others.
fn uneven() -> Cluster {
    let mut cluster = cluster(&[4; 8]);
    for (name, node) in &mut cluster.view.nodes {
        let number: u32 = name.as_str()[1..].parse().expect("a number");
        let leaf = format!("s{}", 1 + u32::from(number > 2) + u32::from(number > 5));
        let switches = [Arc::from("s0"), Arc::from(leaf.as_str())].into();
        *node = Arc::new(ViewNode { switches, ..(**node).clone() });
    }
    cluster
}

/// So many tasks on any nodes.
fn anywhere(units: u32) -> impl Fn(&mut Shape) {
    move |shape| (shape.nodes_max, shape.units) = (8, units)
}

fn alone(nodes: u32) -> impl Fn(&mut Shape) {
    move |shape| {
        tasks(nodes, nodes)(shape);
        shape.sharing = crate::shape::Sharing::Nobody;
    }
}

/// Some tasks on a node that is named.
fn some(node: &str, units: u32) -> impl Fn(&mut Shape) {
    let node = named(node);
    move |shape| {
        node(shape);
        shape.units = units;
    }
}

/// Seen on Slurm.
#[test]
fn leaves_are_filled_one_after_another() {
    let last = |cluster: Cluster| cluster.plan().pop().expect("a plan");
    let used = || uneven().job(some("n1", 1)).started();
    assert_eq!(last(used().job(anywhere(4))), "2 on n1:3 n2:1");
    let more = used().job(anywhere(4)).started();
    assert_eq!(last(more.job(anywhere(4))), "3 on n2:3 n3:1", "a leaf of one node goes first");
    assert_eq!(last(uneven().job(tasks(4, 4))), "1 on n1:1 n3:1 n4:1 n5:1", "the largest leaf");
    assert_eq!(last(uneven().job(tasks(6, 6))), "1 on n3:1 n4:1 n5:1 n6:1 n7:1 n8:1");
    let middle = uneven().job(some("n4", 1)).started();
    assert_eq!(last(middle.job(alone(5))), "2 on n1:4 n2:4 n6:4 n7:4 n8:4");
    let scattered = ["n1", "n3", "n6"].iter().fold(uneven(), |all, node| all.job(some(node, 1)));
    let eight = scattered.started().job(anywhere(8));
    assert_eq!(last(eight.clone()), "4 on n1:3 n2:4 n3:1");
    assert_eq!(last(eight.started().job(tasks(3, 9))), "5 on n3:2 n4:4 n5:3");
    let beside = uneven().job(|shape| {
        named("n3")(shape);
        tasks(4, 4)(shape);
    });
    assert_eq!(last(beside), "1 on n1:1 n3:1 n4:1 n5:1", "the leaf of what is named");
}

#[test]
fn a_job_of_two_sockets_has_a_core_of_each() {
    let node = |node: &mut ViewNode| (node.cores, node.sockets) = (4, 2);
    let one = cluster(&[]).node("n1", node).node("n2", node).job(|shape| {
        tasks(1, 2)(shape);
        shape.sockets_min = 2;
    });
    assert_eq!(one.decide().starts[0].shares[0].cores, [0, 2]);
    let two = one.started().job(|shape| {
        tasks(1, 2)(shape);
        (shape.sockets_min, shape.cores_per_socket_min) = (1, 2);
    });
    assert_eq!(two.plan(), ["2 on n2:2"], "a socket with two free cores");
}
