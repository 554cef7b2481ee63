//! The order of `sinfo`'s lines: `-S '#P,-t'`. Each letter is one pass of a stable sort, the last first.

use std::cmp::Ordering;

use spur_core::fields::sinfo::NodeGroup;
use spur_core::hostlist;
use spur_core::views::{NodeView, PartitionView};

/// Puts lines in order; letters nobody sorts by are passed over, as sinfo does.
pub fn sort(lines: &mut [NodeGroup], letters: &str, partitions: &[&str]) {
    let mut keys: Vec<(char, bool, bool)> = Vec::new();
    let (mut descending, mut configured) = (false, false);
    for letter in letters.chars() {
        match letter {
            '-' => descending = true,
            '+' => descending = false,
            '#' => (configured, descending) = (true, false),
            ',' => {}
            letter => {
                keys.push((letter, descending, configured));
                (descending, configured) = (false, false);
            }
        }
    }
    for (letter, descending, configured) in keys.into_iter().rev() {
        lines.sort_by(|a, b| {
            let order = match configured && letter == 'P' {
                true => place(a, partitions).cmp(&place(b, partitions)),
                false => compare(letter, a, b),
            };
            if descending { order.reverse() } else { order }
        });
    }
}

fn place(group: &NodeGroup, partitions: &[&str]) -> usize {
    let name = group.partition.as_ref().map(|partition| partition.name.as_str());
    partitions.iter().position(|known| Some(*known) == name).unwrap_or(usize::MAX)
}

fn compare(letter: char, a: &NodeGroup, b: &NodeGroup) -> Ordering {
    let by_text = |get: fn(&NodeView) -> &str| first(a).map(get).cmp(&first(b).map(get));
    let by_number = |get: fn(&NodeView) -> u64| first(a).map(get).cmp(&first(b).map(get));
    let by_partition = |get: fn(&PartitionView) -> String| {
        a.partition.as_deref().map(get).cmp(&b.partition.as_deref().map(get))
    };
    match letter {
        'P' | 'R' => by_partition(|partition| partition.name.clone()),
        'a' => by_partition(|partition| partition.state.clone()),
        'g' => by_partition(|partition| partition.allow_groups.clone()),
        'l' => by_partition(|partition| format!("{:?}", partition.max_time)),
        'p' => by_partition(|partition| format!("{:010}", partition.priority_tier)),
        'D' => a.nodes.len().cmp(&b.nodes.len()),
        'N' => natural(a, b, |node| &node.name),
        'n' => natural(a, b, |node| &node.hostname),
        'o' => natural(a, b, |node| &node.address),
        't' | 'T' => by_number(|node| node.state.into()),
        'c' | 'C' => by_number(|node| node.cpus.into()),
        'm' => by_number(|node| node.memory_mb),
        'd' => by_number(|node| node.temporary_disk_mb),
        'w' => by_number(|node| node.weight.into()),
        'O' => by_number(|node| node.cpu_load_centi.unwrap_or(0).into()),
        'e' => by_number(|node| node.free_memory_mb.unwrap_or(0)),
        'H' => by_number(|node| node.reason_time.max(0) as u64),
        'u' | 'U' => by_number(|node| node.reason_uid.into()),
        'X' => by_number(|node| node.sockets.into()),
        'Y' => by_number(|node| node.cores.into()),
        'Z' => by_number(|node| node.threads.into()),
        'E' => by_text(|node| &node.reason),
        'G' => by_text(|node| &node.gres),
        'f' => first(a).map(|node| &node.features).cmp(&first(b).map(|node| &node.features)),
        _ => Ordering::Equal,
    }
}

fn natural(a: &NodeGroup, b: &NodeGroup, get: fn(&NodeView) -> &str) -> Ordering {
    match (first(a), first(b)) {
        (Some(a), Some(b)) => hostlist::natural(get(a), get(b)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

fn first(group: &NodeGroup) -> Option<&NodeView> {
    group.nodes.first().map(AsRef::as_ref)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn sorted(letters: &str) -> String {
        let line = |partition: &str, node: &str, state| NodeGroup {
            partition: Some(Arc::new(PartitionView {
                name: partition.into(),
                ..Default::default()
            })),
            nodes: vec![Arc::new(NodeView { name: node.into(), state, ..Default::default() })],
        };
        let mut lines = vec![
            line("debug", "n1", 5),
            line("gpu", "n1", 5),
            line("cpu", "n3", 5),
            line("debug", "n4", 2 | 0x200),
            line("cpu", "n4", 2 | 0x200),
        ];
        sort(&mut lines, letters, &["debug", "gpu", "cpu"]);
        let name = |line: &NodeGroup| {
            let partition = &line.partition.as_ref().expect("a partition").name;
            format!("{}{}", &partition[..1], &line.nodes[0].name[1..])
        };
        lines.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn orders_as_sinfo_prints_them() {
        assert_eq!(sorted("#P,-t"), "d4 d1 g1 c4 c3");
        assert_eq!(sorted("P"), "c3 c4 d1 d4 g1");
        assert_eq!(sorted("-P"), "g1 d1 d4 c3 c4");
        assert_eq!(sorted("t"), "d1 g1 c3 d4 c4");
        assert_eq!(sorted("#P"), "d1 d4 g1 c3 c4");
        assert_eq!(sorted("x"), "d1 g1 c3 d4 c4");
    }
}
