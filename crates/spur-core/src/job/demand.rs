//! How much a job needs, told from what was asked for: the planner and `--test-only` ask here.

use crate::job::JobSpec;

/// What must be found for a job to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// At least this many nodes.
    pub nodes_min: u32,
    /// At most this many nodes.
    pub nodes_max: u32,
    /// Tasks over all nodes, at least one on each.
    pub tasks: u32,
    /// Processors for each task.
    pub cpus_per_task: u32,
}

impl Demand {
    /// Reads a request: one task a node where no number of tasks was said.
    pub fn of(spec: &JobSpec) -> Demand {
        let nodes_min = spec.nodes_min.unwrap_or(1).max(1);
        let tasks = spec.ntasks.unwrap_or(nodes_min).max(nodes_min);
        let nodes_max = match (spec.nodes_min, spec.nodes_max) {
            (_, Some(max)) => max.max(nodes_min),
            (_, None) => tasks,
        };
        Demand {
            nodes_min,
            nodes_max: nodes_max.min(tasks),
            tasks,
            cpus_per_task: spec.cpus_per_task.unwrap_or(1).max(1),
        }
    }

    /// Processors over all nodes.
    pub fn cpus(&self) -> u32 {
        self.tasks.saturating_mul(self.cpus_per_task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_tasks_fill_each_other_in() {
        let demand = |nodes_min, ntasks| {
            let demand = Demand::of(&JobSpec { nodes_min, ntasks, ..JobSpec::default() });
            (demand.nodes_min, demand.nodes_max, demand.tasks)
        };
        assert_eq!(demand(None, None), (1, 1, 1));
        assert_eq!(demand(Some(3), None), (3, 3, 3));
        assert_eq!(demand(None, Some(5)), (1, 5, 5));
        assert_eq!(demand(Some(2), Some(5)), (2, 5, 5));
        assert_eq!(demand(Some(4), Some(2)), (4, 4, 4));
    }
}
