//! What a job's processes on a node are held to, by the `[cgroup]` section of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::config::sections::Cgroup;
use spur_core::gres::{GPU, SHARD};
use spur_core::job::Share;
use spur_core::node::Gres;
use spur_core::state::State;
use spur_proto::internal::Confinement;

/// The limits of one share of a job, and of a step that asks for so many MB of it.
pub(super) fn of(
    rules: &Cgroup,
    share: &Share,
    step_mb: Option<u64>,
    state: &State,
) -> Confinement {
    let inventory = state.nodes.get(&share.node).map(|node| &node.inventory);
    let node_mb = inventory.map_or(0, |inventory| inventory.memory_mb);
    let gres = inventory.filter(|_| rules.constrain_devices).map_or(&[][..], |it| &it.gres[..]);
    let memory = memory_bytes(rules, share.memory_mb, node_mb);
    Confinement {
        memory_bytes: memory,
        swap_bytes: memory.filter(|_| rules.constrain_swap).map(|_| {
            let allowed = percent(share.memory_mb, rules.allowed_swap_percent);
            allowed.min(percent(node_mb, rules.max_swap_percent))
        }),
        cores: rules.constrain_cores,
        devices: rules.constrain_devices,
        processes: rules.max_processes,
        closed_files: closed_files(gres, share),
        step_memory_bytes: step_mb
            .filter(|asked| *asked < share.memory_mb)
            .and_then(|asked| memory_bytes(rules, asked, node_mb)),
    }
}

/// The device files of the node that are others'. Devices are counted over all of a name; a file that is not of a single
/// one is open to whoever has any of it.
fn closed_files(gres: &[Gres], share: &Share) -> Vec<String> {
    let mut first: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut open, mut all) = (BTreeSet::new(), BTreeSet::new());
    for group in gres.iter().filter(|group| !group.no_consume) {
        let before = first.entry(&group.name).or_default();
        let is_it = |name: &str| name == group.name || name == SHARD && group.name == GPU;
        let given: Vec<_> = share.gres.iter().filter(|given| is_it(&given.name)).collect();
        let single = group.files.len() as u64 == group.count;
        for (file, number) in group.files.iter().zip(*before..) {
            let has = |id: u32| !single || u64::from(id) == number;
            let is_given = given.iter().any(|given| given.ids.iter().any(has))
                || !single && given.iter().any(|given| given.count > 0);
            all.insert(file);
            if is_given {
                open.insert(file);
            }
        }
        *before += group.count;
    }
    all.difference(&open).map(|file| (*file).clone()).collect()
}

/// A share that asks for no memory is held to none, as it is in Slurm.
fn memory_bytes(rules: &Cgroup, memory_mb: u64, node_mb: u64) -> Option<u64> {
    if !rules.constrain_memory || memory_mb == 0 {
        return None;
    }
    let allowed = percent(memory_mb, rules.allowed_memory_percent);
    let most = percent(node_mb, rules.max_memory_percent);
    let least = rules.min_memory_mb.0 << 20;
    Some(allowed.min(most).max(least))
}

fn percent(megabytes: u64, percent: f64) -> u64 {
    let bytes = (megabytes as f64) * f64::from(1 << 20) * percent / 100.0;
    // A float that is too large, or none at all, saturates.
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::job::GresShare;

    #[test]
    fn device_files_of_others_are_closed() {
        let group = |name: &str, kind: &str, files: &[&str], count| Gres {
            name: name.to_string(),
            kind: kind.to_string(),
            files: files.iter().map(|file| file.to_string()).collect(),
            count,
            ..Gres::default()
        };
        let gres = [
            group("fpga", "a", &["/dev/a0", "/dev/a1"], 2),
            group("fpga", "b", &["/dev/b0"], 1),
            group("link", "", &["/dev/link"], 4),
            group("tmp", "", &[], 9),
        ];
        let closed = |held: &[(&str, &[u32], u64)]| {
            let held = held.iter().map(|(name, ids, count)| GresShare {
                name: name.to_string(),
                ids: ids.iter().copied().collect(),
                count: *count,
                ..GresShare::default()
            });
            let mut share = Share::of_cpus("n1".into(), 1);
            share.gres = held.collect();
            closed_files(&gres, &share).join(" ")
        };
        assert_eq!(closed(&[]), "/dev/a0 /dev/a1 /dev/b0 /dev/link");
        assert_eq!(closed(&[("fpga", &[1], 1)]), "/dev/a0 /dev/b0 /dev/link");
        assert_eq!(closed(&[("fpga", &[0, 2], 2), ("link", &[], 1)]), "/dev/a1");
        assert_eq!(closed(&[("tmp", &[], 9)]), "/dev/a0 /dev/a1 /dev/b0 /dev/link");
    }

    #[test]
    fn memory_is_what_was_asked_for_within_what_the_node_may_give() {
        let rules = Cgroup::default();
        assert_eq!(memory_bytes(&rules, 100, 1000), Some(100 << 20));
        assert_eq!(memory_bytes(&rules, 0, 1000), None);
        assert_eq!(memory_bytes(&rules, 1, 1000), Some(30 << 20), "nobody can live with less");
        assert_eq!(memory_bytes(&rules, 2000, 1000), Some(1000 << 20));
        let wide = Cgroup { allowed_memory_percent: 150.0, ..Cgroup::default() };
        assert_eq!(memory_bytes(&wide, 100, 1000), Some(150 << 20));
        let free = Cgroup { constrain_memory: false, ..Cgroup::default() };
        assert_eq!(memory_bytes(&free, 100, 1000), None);
    }
}
