//! Which neighbours a job gets, as seen on Slurm: eight nodes of sixteen processors.

use super::{Cluster, cluster};

/// Processors in use, `-N`, `-n`, and what was given: node and processors.
type Case = (&'static [(u32, u32)], (u32, u32), u32, &'static [(u32, u32)]);

const OBSERVED: &[Case] = &[
    (&[(2, 8), (6, 12)], (1, 8), 4, &[(6, 4)]),
    (&[(2, 8), (6, 16)], (1, 8), 6, &[(7, 6)]),
    (&[(4, 8), (6, 12), (7, 14)], (1, 1), 9, &[(5, 9)]),
    (&[(4, 8), (6, 12), (7, 14)], (1, 8), 9, &[(1, 9)]),
    (&[(4, 16), (7, 16)], (1, 1), 1, &[(8, 1)]),
    (&[(3, 16), (5, 16)], (3, 3), 3, &[(6, 1), (7, 1), (8, 1)]),
    (&[(4, 16), (7, 16)], (2, 2), 2, &[(5, 1), (6, 1)]),
    (&[(3, 16), (6, 16)], (4, 4), 4, &[(1, 1), (2, 1), (4, 1), (5, 1)]),
    (&[(2, 16), (5, 16)], (1, 8), 20, &[(3, 16), (4, 4)]),
    (&[(2, 16), (5, 16)], (1, 8), 40, &[(6, 16), (7, 16), (8, 8)]),
    (&[(2, 15), (4, 15), (6, 15)], (1, 8), 17, &[(1, 16), (2, 1)]),
    (&[(3, 14), (4, 14), (5, 14), (2, 16), (6, 16)], (2, 2), 6, &[(1, 4), (3, 2)]),
    (&[(3, 14), (4, 14), (5, 14), (2, 16), (6, 16)], (2, 2), 2, &[(3, 1), (4, 1)]),
    (&[(3, 15), (4, 15), (5, 15), (2, 16), (6, 16), (8, 16)], (2, 2), 2, &[(3, 1), (7, 1)]),
    (&[(3, 8), (4, 8), (5, 8), (2, 16), (6, 16)], (3, 3), 3, &[(1, 1), (7, 1), (8, 1)]),
    (&[(1, 14), (2, 14), (3, 14), (4, 16), (7, 16)], (2, 2), 4, &[(1, 1), (8, 3)]),
    (&[(1, 15), (2, 15), (3, 15), (4, 16), (7, 16)], (1, 8), 40, &[(5, 16), (6, 16), (8, 8)]),
    (&[(2, 15), (4, 16), (6, 15)], (3, 3), 40, &[(1, 8), (7, 16), (8, 16)]),
    (&[(3, 14), (4, 14), (5, 12), (6, 12), (2, 16), (7, 16)], (3, 3), 7, &[(3, 1), (4, 1), (8, 5)]),
    (
        &[(1, 12), (2, 16), (5, 16), (3, 12), (4, 12), (6, 16), (7, 12), (8, 12)],
        (1, 8),
        10,
        &[(1, 2), (3, 4), (4, 4)],
    ),
];

/// A cluster on which so many processors of some nodes are taken.
fn busy(used: &[(u32, u32)]) -> Cluster {
    busy_of(&[16; 8], used)
}

fn busy_of(nodes: &[u32], used: &[(u32, u32)]) -> Cluster {
    used.iter().fold(cluster(nodes), |all, (node, cores)| {
        let all = all.job(|shape| {
            (shape.units, shape.nodelist) = (*cores, vec![format!("n{node}").as_str().into()]);
        });
        all.started()
    })
}

fn told(job: usize, given: &[(u32, u32)]) -> String {
    let nodes: Vec<String> = given.iter().map(|(node, cpus)| format!("n{node}:{cpus}")).collect();
    format!("{job} on {}", nodes.join(" "))
}

#[test]
fn neighbours_are_chosen_as_on_slurm() {
    for (used, nodes, tasks, given) in OBSERVED {
        let plan = busy(used).job(|shape| {
            (shape.nodes_min, shape.nodes_max) = *nodes;
            shape.units = *tasks;
        });
        assert_eq!(plan.plan(), [told(used.len() + 1, given)], "{used:?} {nodes:?} -n{tasks}");
    }
}

#[test]
fn who_asks_for_neighbours_gets_the_least_run_that_will_do() {
    // Six nodes of four processors, as seen on Slurm: processors in use, nodes, tasks, and what was given.
    let observed: [Case; 6] = [
        (&[(3, 4)], (2, 2), 2, &[(1, 1), (2, 1)]),
        (&[(4, 4)], (2, 2), 2, &[(5, 1), (6, 1)]),
        (&[(2, 4), (5, 4)], (2, 2), 8, &[(3, 4), (4, 4)]),
        (&[(5, 4)], (3, 3), 6, &[(1, 4), (2, 1), (3, 1)]),
        (&[(1, 1), (4, 4), (5, 1)], (2, 2), 2, &[(5, 1), (6, 1)]),
        (&[(1, 1), (4, 4), (5, 2), (6, 1)], (1, 1), 2, &[(5, 2)]),
    ];
    for (used, nodes, tasks, given) in observed {
        let plan = busy_of(&[4; 6], used).job(|shape| {
            (shape.nodes_min, shape.nodes_max) = nodes;
            (shape.units, shape.contiguous) = (tasks, true);
        });
        assert_eq!(plan.plan(), [told(used.len() + 1, given)], "{used:?} {nodes:?} -n{tasks}");
    }
    // Whatever they weigh.
    let heavy = |node: &mut crate::view::ViewNode| node.weight = 5;
    let some = cluster(&[4; 3]).node("n2", heavy).job(|shape| {
        (shape.nodes_min, shape.nodes_max) = (2, 2);
        (shape.units, shape.contiguous) = (2, true);
    });
    assert_eq!(some.plan(), ["1 on n1:1 n2:1"]);
}

#[test]
fn lighter_nodes_go_before_longer_runs() {
    let light = |nodes: u32| {
        let mut all = cluster(&[16; 8]);
        for node in 1..=3 {
            all = all.node(&format!("n{node}"), |node| node.weight = 5);
        }
        let sized = all.job(|shape| {
            (shape.nodes_min, shape.nodes_max, shape.units) = (nodes, nodes, nodes);
        });
        sized.plan()
    };
    assert_eq!(light(2), ["1 on n4:1 n5:1"]);
    assert_eq!(light(6), ["1 on n1:1 n4:1 n5:1 n6:1 n7:1 n8:1"]);
}
