//! What of a node is kept for the system: cores and memory that no job gets.

use crate::config::Config;
use crate::config::sections;
use crate::idset::IdSet;
use crate::node::{Inventory, Node};

/// Cores, counted over all sockets, and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Which cores, in rising order.
    pub cores: Vec<u32>,
    /// How much memory.
    pub memory_mb: u64,
}

impl Kept {
    /// What a configuration says about a node.
    pub fn on(config: &Config, node: &Node) -> Kept {
        let says = |it: &&sections::Node| {
            it.core_spec_count.is_some()
                || it.cpu_spec_list.is_some()
                || it.mem_spec_limit_mb.is_some()
        };
        let mut rows = config.nodes.iter().filter(says);
        let row = rows.find(|row| row.names.names().contains(&node.name));
        row.map_or_else(Kept::default, |row| Kept::of(row, &node.inventory))
    }

    /// What one row of the configuration means on a node.
    fn of(row: &sections::Node, has: &Inventory) -> Kept {
        let threads = has.threads_per_core.max(1);
        let cores = (has.cpus / threads).max(1);
        let mut kept: Vec<u32> = match (&row.cpu_spec_list, row.core_spec_count) {
            (Some(list), _) => numbers(list).map(|cpu| cpu / threads).collect(),
            (None, Some(count)) => order(cores, has.sockets.max(1)).take(count as usize).collect(),
            (None, None) => Vec::new(),
        };
        kept.retain(|core| *core < cores);
        kept.sort_unstable();
        kept.dedup();
        let memory_mb = row.mem_spec_limit_mb.map_or(0, |size| size.0);
        Kept { cores: kept, memory_mb }
    }

    /// The same as processors, as `scontrol show node` lists them.
    pub fn cpus(&self, has: &Inventory) -> IdSet {
        let threads = has.threads_per_core.max(1);
        let all =
            self.cores.iter().flat_map(|core| (0..threads).map(move |it| core * threads + it));
        all.collect()
    }
}

/// Cores in the order in which Slurm keeps them: the last of the last socket, then of the one before it …
pub fn order(cores: u32, sockets: u32) -> impl Iterator<Item = u32> {
    let each = (cores / sockets).max(1);
    (0..each)
        .flat_map(move |back| (0..sockets).rev().map(move |socket| socket * each + each - 1 - back))
}

/// `0,4-7`
fn numbers(list: &str) -> impl Iterator<Item = u32> + '_ {
    list.split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let read = |text: &str| text.trim().parse::<u32>().ok();
        let ends = read(first).zip(read(last));
        ends.map_or(0..0, |(first, last)| first..last.saturating_add(1).min(1 << 16))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_kept_from_the_end_of_each_socket_or_as_listed() {
        let has = Inventory { cpus: 8, sockets: 1, threads_per_core: 1, ..Inventory::default() };
        let count =
            |count| sections::Node { core_spec_count: Some(count), ..sections::Node::default() };
        assert_eq!(Kept::of(&count(2), &has).cores, [6, 7]);
        let two = Inventory { cpus: 16, sockets: 2, threads_per_core: 2, ..Inventory::default() };
        let kept = Kept::of(&count(3), &two);
        assert_eq!(kept.cores, [3, 6, 7]);
        assert_eq!(kept.cpus(&two).to_string(), "6-7,12-15");
        let list =
            sections::Node { cpu_spec_list: Some("0,5-6".into()), ..sections::Node::default() };
        assert_eq!(Kept::of(&list, &two).cores, [0, 2, 3]);
        assert_eq!(Kept::of(&count(99), &has).cores.len(), 8);
    }
}
