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

/// Tasks that were said go round the nodes as far as there are processors for them; where nobody said how many, there
/// are as many as fit.
fn tasks_per_node(spec: &JobSpec, cpus: &[u32]) -> Vec<u32> {
    let per_task = spec.cpus_per_task.unwrap_or(1).max(1);
    if let Some(each) = spec.ntasks_per_node {
        return vec![each; cpus.len()];
    }
    let room: Vec<u32> = cpus.iter().map(|cpus| (cpus / per_task).max(1)).collect();
    let Some(tasks) = spec.ntasks.filter(|_| spec.ntasks_said) else { return room };
    let mut placed: Vec<u32> = vec![1; cpus.len()];
    let mut left = tasks.saturating_sub(cpus.len() as u32);
    while left > 0 && placed.iter().zip(&room).any(|(has, room)| has < room) {
        for (has, room) in placed.iter_mut().zip(&room) {
            if *has < *room && left > 0 {
                *has += 1;
                left -= 1;
            }
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_go_where_the_processors_are() {
        let asked = |ntasks: Option<u32>, cpus_per_task| {
            let ntasks_said = ntasks.is_some();
            JobSpec { ntasks, ntasks_said, cpus_per_task, ..JobSpec::default() }
        };
        assert_eq!(tasks_per_node(&asked(Some(4), None), &[3, 1]), [3, 1]);
        assert_eq!(tasks_per_node(&asked(Some(5), None), &[64, 64]), [3, 2]);
        assert_eq!(tasks_per_node(&asked(None, None), &[64, 64]), [64, 64]);
        assert_eq!(tasks_per_node(&asked(None, Some(4)), &[64, 64]), [16, 16]);
        assert_eq!(tasks_per_node(&asked(Some(3), Some(2)), &[4, 4]), [2, 1]);
        assert_eq!(tasks_per_node(&asked(Some(1), None), &[4]), [1]);
        assert_eq!(tasks_per_node(&asked(Some(9), None), &[2, 2]), [2, 2]);
        let each = JobSpec { ntasks_per_node: Some(2), ..asked(Some(3), None) };
        assert_eq!(tasks_per_node(&each, &[64, 64]), [2, 2]);
    }
}
