//! Which nodes a job gets.

use spur_core::ids::NodeName;
use spur_core::job::{Allocation, Demand, Share};

/// Free processors of usable nodes, in order of choice.
pub type Free = Vec<(NodeName, u32)>;

/// Takes the first nodes that together are enough, or nothing.
///
/// Every node gets one task; the others fill the nodes from the first on, as Slurm's block layout does.
pub fn place(
    demand: &Demand,
    free: &mut Free,
    eligible: impl Fn(&NodeName) -> bool,
) -> Option<Allocation> {
    let room = |cpus: u32| cpus / demand.cpus_per_task;
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    let mut tasks = 0;
    for (index, (node, cpus)) in free.iter().enumerate() {
        let enough = chosen.len() >= demand.nodes_min as usize && tasks >= demand.tasks;
        if enough || chosen.len() == demand.nodes_max as usize {
            break;
        }
        if room(*cpus) > 0 && eligible(node) {
            tasks += room(*cpus);
            chosen.push((index, room(*cpus)));
        }
    }
    if chosen.len() < demand.nodes_min as usize || tasks < demand.tasks {
        return None;
    }
    let mut extra = demand.tasks - chosen.len() as u32;
    let shares = chosen
        .into_iter()
        .map(|(index, room)| {
            let more = extra.min(room - 1);
            extra -= more;
            let (node, cpus_free) = &mut free[index];
            let cpus = (1 + more) * demand.cpus_per_task;
            *cpus_free -= cpus;
            Share::of_cpus(node.clone(), cpus)
        })
        .collect();
    Some(Allocation { shares })
}
