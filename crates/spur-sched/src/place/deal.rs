//! How many of a job's tasks each of its nodes gets, as Slurm's block layout has it: processors are counted first, tasks
//! after. Each node takes what it can and leaves a single processor for each that must follow; then tasks go round by
//! turns to nodes that have processors for them, one to every node at least. `-N4 -n8` is 5,1,1,1 where one node can
//! take five, and with `-c2` on nodes of eight processors 3,3,1,1. Nodes beyond those that are needed must not follow:
//! `-N2-4 -n8` on nodes of four is 3,3,1,1, and `-N4 -n8` there 4,2,1,1.

/// Units for each node, given how many each has room for and how many nodes there must be. Nothing where there are
/// more units.
pub fn deal(units: u32, cpus: u32, nodes_min: u32, rooms: &[u32]) -> Option<Vec<u32>> {
    let (cpus, nodes) = (u64::from(cpus.max(1)), rooms.len() as u64);
    // With fewer units than nodes the last ones have none.
    let least = u64::from(u64::from(units) >= nodes);
    let mut left = u64::from(units) * cpus;
    let must_follow = (0..u64::from(nodes_min)).rev().chain(std::iter::repeat(0));
    let most = rooms.iter().zip(must_follow).map(|(room, behind)| {
        let taken = (u64::from(*room) * cpus).min(left.saturating_sub(behind * least)).max(least);
        left = left.saturating_sub(taken);
        u32::try_from((taken / cpus).max(least)).unwrap_or(u32::MAX)
    });
    by_turns(units, most.collect())
}

/// What going round gives each, worked out without going: all have the same, or else as much as they can.
fn by_turns(units: u32, most: Vec<u32>) -> Option<Vec<u32>> {
    let mut ascending = most.clone();
    ascending.sort_unstable();
    let (mut level, mut left) = (0, u64::from(units));
    for (at, cap) in ascending.iter().enumerate() {
        let open = (most.len() - at) as u64;
        let rounds = (left / open).min(u64::from(cap - level));
        left -= rounds * open;
        level += rounds as u32;
        if level < *cap {
            break;
        }
    }
    let dealt: Vec<u32> = most
        .into_iter()
        .map(|cap| {
            let one_more = cap > level && left > 0;
            left -= u64::from(one_more);
            cap.min(level) + u32::from(one_more)
        })
        .collect();
    (left == 0).then_some(dealt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen on Slurm: nodes, processors of each, tasks, processors for a task, and what the nodes got.
    const OBSERVED: &[(u32, u32, u32, &[u32])] = &[
        (64, 8, 1, &[5, 1, 1, 1]),
        (64, 8, 2, &[5, 1, 1, 1]),
        (8, 8, 2, &[3, 3, 1, 1]),
        (8, 10, 1, &[8, 1, 1]),
        (8, 6, 2, &[4, 2]),
        (8, 7, 2, &[4, 3]),
        (8, 3, 3, &[2, 1]),
        (8, 9, 2, &[4, 4, 1]),
        (64, 9, 12, &[5, 4]),
        (64, 20, 3, &[17, 1, 1, 1]),
        (64, 20, 4, &[13, 3, 1, 1, 1, 1]),
        (64, 20, 9, &[7, 7, 5, 1]),
        (64, 22, 12, &[5, 5, 5, 5, 1, 1]),
        (64, 30, 9, &[7, 7, 7, 7, 2]),
        (64, 32, 4, &[16, 15, 1]),
        (64, 35, 2, &[32, 2, 1]),
        (64, 47, 2, &[30, 13, 1, 1, 1, 1]),
        (64, 49, 4, &[16, 16, 15, 1, 1]),
        (64, 51, 5, &[12, 12, 12, 12, 3]),
        (64, 60, 4, &[16, 16, 15, 11, 1, 1]),
        (64, 62, 4, &[16, 16, 15, 13, 1, 1]),
        (64, 201, 1, &[64, 64, 64, 7, 1, 1]),
    ];

    #[test]
    fn tasks_are_dealt_as_slurm_does() {
        for (cpus, tasks, each, got) in OBSERVED {
            let rooms = vec![cpus / each; got.len()];
            let dealt = deal(*tasks, *each, got.len() as u32, &rooms);
            assert_eq!(dealt.as_deref(), Some(*got), "-n{tasks} -c{each} on {cpus}");
        }
    }

    /// Seen on Slurm, on nodes of four processors: the least number of nodes, tasks, and what the nodes got.
    const OBSERVED_WIDER: &[(u32, u32, &[u32])] = &[
        (4, 8, &[4, 2, 1, 1]),
        (3, 8, &[3, 3, 1, 1]),
        (2, 8, &[3, 3, 1, 1]),
        (1, 8, &[3, 3, 1, 1]),
        (2, 8, &[4, 3, 1]),
        (2, 8, &[2, 2, 1, 1, 1, 1]),
        (2, 6, &[2, 2, 1, 1]),
        (2, 5, &[2, 1, 1, 1]),
        (2, 10, &[4, 3, 2, 1]),
        (2, 4, &[1, 1, 1, 1]),
    ];

    #[test]
    fn only_nodes_that_must_follow_are_left_something() {
        for (nodes_min, tasks, got) in OBSERVED_WIDER {
            let dealt = deal(*tasks, 1, *nodes_min, &vec![4; got.len()]);
            assert_eq!(dealt.as_deref(), Some(*got), "-N{nodes_min}-{} -n{tasks}", got.len());
        }
    }

    #[test]
    fn what_fits_is_dealt_and_what_does_not_is_not() {
        for each in 1..5 {
            for rooms in [[1, 1, 1], [4, 1, 2], [1, 9, 3], [7, 7, 7]] {
                let all: u32 = rooms.iter().sum();
                for units in 3..=all {
                    let dealt = deal(units, each, 3, &rooms).expect("fits");
                    assert_eq!(dealt.iter().sum::<u32>(), units, "{rooms:?}");
                    assert!(dealt.iter().zip(rooms).all(|(it, room)| (1..=room).contains(it)));
                }
                assert_eq!(deal(all + 1, each, 3, &rooms), None);
            }
        }
        assert_eq!(deal(2, 2, 3, &[1, 1, 1]), Some(vec![1, 1, 0]), "fewer than nodes");
    }
}
