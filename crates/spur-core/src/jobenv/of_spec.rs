//! What a job's description tells its processes; where it runs is filled in by whoever knows.

use super::{CpuBindFacts, JobFacts};
use crate::job::spec::LayoutSpec;
use crate::job::{JobSpec, distribution};
use crate::options::cpu_frequency;
use crate::step::binding;

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
            // So do tasks for each GPU.
            tasks: spec.ntasks.filter(|_| {
                spec.ntasks_said
                    || spec.ntasks_per_node.is_some()
                    || spec.gpu().ntasks_per_gpu.is_some()
            }),
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
            acctg_freq: spec.rare().acctg_freq.clone(),
            profile: spec.rare().profile.map_or(String::new(), profile),
            cpu_freq: cpu_freq(spec.layout()),
            mem_bind: CpuBindFacts::of_memory(&spec.layout().mem_bind),
            hint: spec.layout().hint.clone(),
            licenses: spec.placement().licenses.clone(),
            container: spec.rare().container.clone(),
            container_id: spec.rare().container_id.clone(),
            ..JobFacts::default()
        }
    }
}

impl CpuBindFacts {
    /// Of what `--mem-bind` says; nothing where it says nothing.
    pub fn of_memory(asked: &str) -> Option<CpuBindFacts> {
        let (verbose, kind, list) = binding::memory_words(asked)?;
        let says =
            |words: [&str; 2]| asked.split(',').any(|it| words.contains(&&*it.to_lowercase()));
        let prefer = if says(["p", "prefer"]) { "prefer" } else { "" };
        let sort = if says(["sort", "sort"]) { "sort" } else { "" };
        Some(CpuBindFacts { verbose, kind, list, prefer, sort })
    }
}

/// `--profile` in Slurm's order and spelling.
fn profile(bits: u32) -> String {
    const KINDS: &[(u32, &str)] = &[(2, "Energy"), (8, "Lustre"), (16, "Network"), (4, "Task")];
    if bits & 1 != 0 && bits != u32::MAX {
        return "None".to_string();
    }
    let asked = KINDS.iter().filter(|(bit, _)| bits & bit != 0);
    asked.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}

/// `--cpu-freq` as it can be given again: `Low-High:Performance`.
pub fn cpu_freq(layout: &LayoutSpec) -> String {
    let word = |code: Option<u32>| code.map(cpu_frequency::word);
    let range = [word(layout.cpu_freq_min), word(layout.cpu_freq_max)];
    let range = range.into_iter().flatten().collect::<Vec<_>>().join("-");
    let governor = layout.cpu_freq_governor.and_then(cpu_frequency::governor_name);
    let parts = [range, governor.unwrap_or_default().to_string()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}

/// Tasks that were said go round the nodes as far as there are processors for them, or on and on where they share
/// them; where nobody said how many, there are as many as fit.
fn tasks_per_node(spec: &JobSpec, cpus: &[u32]) -> Vec<u32> {
    let per_task = spec.cpus_per_task.unwrap_or(1).max(1);
    if let Some(each) = spec.ntasks_per_node {
        return vec![each; cpus.len()];
    }
    let mut room: Vec<u32> = cpus.iter().map(|cpus| (cpus / per_task).max(1)).collect();
    let Some(tasks) = spec.ntasks.filter(|_| spec.ntasks_said) else { return room };
    if spec.layout().overcommit {
        room.fill(u32::MAX);
    }
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
    use crate::jobenv::{self, StepFacts};

    #[test]
    fn kinds_of_profiles_are_told_in_slurms_order() {
        assert_eq!(profile(4), "Task");
        assert_eq!(profile(4 | 2), "Energy,Task");
        assert_eq!(profile(u32::MAX), "Energy,Lustre,Network,Task");
        assert_eq!(profile(1), "None");
    }

    #[test]
    fn frequencies_are_told_as_they_can_be_given_again() {
        let told = |min, max, governor| {
            let (cpu_freq_min, cpu_freq_max, cpu_freq_governor) = (min, max, governor);
            cpu_freq(&LayoutSpec {
                cpu_freq_min,
                cpu_freq_max,
                cpu_freq_governor,
                ..LayoutSpec::default()
            })
        };
        let performance = Some(0x8200_0000);
        assert_eq!(told(None, None, None), "");
        assert_eq!(told(None, Some(0x8000_0001), None), "Low");
        assert_eq!(told(Some(0x8000_0001), Some(0x8000_0003), None), "Low-High");
        assert_eq!(told(Some(1000), Some(2000), performance), "1000-2000:Performance");
        assert_eq!(told(None, None, performance), "Performance");
    }

    #[test]
    fn jobs_and_steps_tell_how_memory_is_bound() {
        let said = "v,sort,prefer,mask_mem:0x1";
        let mem_bind = CpuBindFacts::of_memory(said);
        let job = JobFacts { mem_bind: mem_bind.clone(), ..JobFacts::default() };
        let step = StepFacts { mem_bind, ..Default::default() };
        let of = |found: Vec<(String, String)>| -> Vec<String> {
            let found = found.into_iter().filter(|(name, _)| name.starts_with("SLURM_MEM_BIND"));
            found
                .map(|(name, value)| format!("{}={value}", &name["SLURM_MEM_BIND".len()..]))
                .collect()
        };
        let of_job = ["=verbose,prefer,sort,mask_mem:1", "_SORT=sort", "_VERBOSE=verbose"];
        assert_eq!(of(jobenv::allocation(&job)), of_job);
        assert_eq!(
            of(jobenv::task(&job, &step, &Default::default())),
            [
                "=verbose,prefer,mask_mem:1",
                "_LIST=1",
                "_PREFER=prefer",
                "_SORT=sort",
                "_TYPE=mask_mem:",
                "_VERBOSE=verbose"
            ]
        );
        let local = JobFacts { mem_bind: CpuBindFacts::of_memory("local"), ..JobFacts::default() };
        assert_eq!(of(jobenv::allocation(&local)), ["=local", "_VERBOSE=quiet"]);
    }

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
        let mut sharing = asked(Some(5), Some(3));
        sharing.layout_mut().overcommit = true;
        assert_eq!(tasks_per_node(&sharing, &[3, 3]), [3, 2]);
        let each = JobSpec { ntasks_per_node: Some(2), ..asked(Some(3), None) };
        assert_eq!(tasks_per_node(&each, &[64, 64]), [2, 2]);
    }
}
