//! What a job's processes on a node are held to, by the `[cgroup]` section of the configuration.

use spur_core::config::sections::Cgroup;
use spur_core::job::Share;
use spur_core::state::State;
use spur_proto::internal::Confinement;

/// The limits of one share of a job.
pub(super) fn of(rules: &Cgroup, share: &Share, state: &State) -> Confinement {
    let node_mb = state.nodes.get(&share.node).map_or(0, |node| node.inventory.memory_mb);
    let memory = memory_bytes(rules, share.memory_mb, node_mb);
    Confinement {
        memory_bytes: memory,
        swap_bytes: memory.filter(|_| rules.constrain_swap).map(|_| {
            let allowed = percent(share.memory_mb, rules.allowed_swap_percent);
            allowed.min(percent(node_mb, rules.max_swap_percent))
        }),
        cores: rules.constrain_cores,
        devices: rules.constrain_devices,
        processes: None,
    }
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
