//! What a job's description tells its processes; where it runs is filled in by whoever knows.

use super::JobFacts;
use crate::job::{JobSpec, distribution};

impl JobFacts {
    /// Of a job with so many processors on each of its nodes.
    pub fn of_spec(spec: &JobSpec, cpus: &[u32]) -> JobFacts {
        JobFacts {
            name: spec.name.clone(),
            account: spec.account.clone(),
            qos: spec.qos.clone(),
            reservation: spec.placement().reservation.clone(),
            tasks_per_node: tasks_per_node(spec, cpus),
            cpus_per_node: cpus.to_vec(),
            // Tasks for each node say how many there are as well.
            tasks: spec.ntasks.filter(|_| spec.ntasks_said || spec.ntasks_per_node.is_some()),
            cpus_per_task: spec.cpus_per_task,
            tasks_per_node_asked: spec.ntasks_per_node,
            tasks_per_core: spec.layout().ntasks_per_core,
            tasks_per_socket: spec.layout().ntasks_per_socket,
            tasks_per_gpu: spec.gpu().ntasks_per_gpu,
            threads_per_core: spec.layout().threads_per_core,
            memory_per_cpu_mb: spec.memory_per_cpu,
            memory_per_node_mb: spec.memory_per_node,
            memory_per_gpu_mb: spec.gpu().memory_per_gpu,
            gpus: spec.gpu().gpus.clone(),
            gpus_per_node: spec.gpu().gpus_per_node.clone(),
            gpus_per_socket: spec.gpu().gpus_per_socket.clone(),
            gpus_per_task: spec.gpu().gpus_per_task.clone(),
            cpus_per_gpu: spec.gpu().cpus_per_gpu.map_or(String::new(), |cpus| cpus.to_string()),
            gpu_bind: spec.gpu().gpu_bind.clone(),
            gpu_freq: spec.gpu().gpu_freq.clone(),
            tres_per_task: spec.gpu().tres_per_task.clone(),
            distribution: distribution::shown(&spec.layout().distribution),
            plane_size: spec.layout().plane_size,
            overcommit: spec.layout().overcommit,
            dependency: spec.dependency.clone(),
            export: spec.export.clone(),
            open_mode: spec
                .open_append
                .map_or("", |append| if append { "a" } else { "t" })
                .to_string(),
            hint: spec.layout().hint.clone(),
            licenses: spec.placement().licenses.clone(),
            container: spec.rare().container.clone(),
            container_id: spec.rare().container_id.clone(),
            ..JobFacts::default()
        }
    }
}

/// One task for each node, and the rest in order to where there are processors for more.
fn tasks_per_node(spec: &JobSpec, cpus: &[u32]) -> Vec<u32> {
    let per_task = spec.cpus_per_task.unwrap_or(1).max(1);
    let mut left = spec.ntasks.unwrap_or(0).saturating_sub(cpus.len() as u32);
    let tasks = cpus.iter().map(|cpus| {
        let more = left.min((cpus / per_task).saturating_sub(1));
        left -= more;
        1 + more
    });
    tasks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_go_where_the_processors_are() {
        let asked = |ntasks, cpus_per_task| JobSpec { ntasks, cpus_per_task, ..JobSpec::default() };
        assert_eq!(tasks_per_node(&asked(Some(4), None), &[3, 1]), [3, 1]);
        assert_eq!(tasks_per_node(&asked(None, None), &[4, 4]), [1, 1]);
        assert_eq!(tasks_per_node(&asked(Some(3), Some(2)), &[4, 4]), [2, 1]);
        assert_eq!(tasks_per_node(&asked(Some(1), None), &[4]), [1]);
    }
}
