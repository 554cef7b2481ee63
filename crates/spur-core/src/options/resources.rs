//! How much a job needs: nodes, tasks, CPUs, memory, GPUs.

use super::binding;
use super::error::Refusal;
use super::json::Form;
use super::number::{node_count, node_info, positive, small};
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, flag, option, put, text};
use crate::job::JobSpec;
use crate::job::spec::Sharing;
use crate::size::parse_megabytes;

pub(super) static ROWS: &[JobOption] = &[
    option("core-spec", "Leave this many cores of each node to the system.")
        .json("core_specification", Form::Count)
        .short('S')
        .takes("count")
        .env(&[
            (Sbatch, "SBATCH_CORE_SPEC"),
            (Srun, "SLURM_CORE_SPEC"),
            (Salloc, "SALLOC_CORE_SPEC"),
        ])
        .job(|job, count| {
            put(&mut job.placement_mut().core_spec, super::number::not_negative(count))
        }),
    option("cores-per-socket", "Use nodes with at least this many cores in a socket.")
        .takes("cores")
        .env(&[(Srun, "SLURM_NCORES_PER_SOCKET")])
        .job(|job, cores| put(&mut job.layout_mut().cores_per_socket, small(cores))),
    option("cpus-per-gpu", "Give the job this many CPUs for each GPU.")
        .json("cpus_per_tres", Form::Gpus)
        .takes("ncpus")
        .env(&[
            (Sbatch, "SBATCH_CPUS_PER_GPU"),
            (Srun, "SLURM_CPUS_PER_GPU"),
            (Salloc, "SALLOC_CPUS_PER_GPU"),
        ])
        .job(|job, count| put(&mut job.gpu_mut().cpus_per_gpu, positive(count))),
    option("cpus-per-task", "Give each task this many CPUs.")
        .json("cpus_per_task", Form::Count)
        .short('c')
        .takes("ncpus")
        .env(&[(Srun, "SLURM_CPUS_PER_TASK"), (Srun, "SRUN_CPUS_PER_TASK")])
        .job(|job, count| put(&mut job.cpus_per_task, small(count))),
    option("exclusive", "Share the nodes with no other job, or only with the user's own.")
        .may_take("user|mcs|topo")
        .env(&[
            (Sbatch, "SBATCH_EXCLUSIVE"),
            (Srun, "SLURM_EXCLUSIVE"),
            (Salloc, "SALLOC_EXCLUSIVE"),
        ])
        .job(|job, whom| {
            job.sharing = Some(exclusive(whom)? as i32);
            Ok(())
        }),
    option("extra-node-info", "Use nodes with at least these sockets, cores and threads.")
        .short('B')
        .takes("sockets[:cores[:threads]]")
        .job(|job, info| {
            let [sockets, cores, threads] = node_info(info)?;
            let layout = job.layout_mut();
            layout.sockets_per_node = sockets;
            layout.cores_per_socket = cores;
            layout.threads_per_core = threads;
            text(&mut layout.extra_node_info, info)
        }),
    option("gpu-bind", "Bind tasks to GPUs this way.")
        .takes("type")
        .env(&[(Sbatch, "SBATCH_GPU_BIND"), (Srun, "SLURM_GPU_BIND"), (Salloc, "SALLOC_GPU_BIND")])
        .job(|job, kind| text(&mut job.gpu_mut().gpu_bind, &binding::gpu(kind)?)),
    option("gpu-freq", "Run the GPUs at this frequency.")
        .json("tres_freq", Form::Gpus)
        .takes("frequency")
        .env(&[(Sbatch, "SBATCH_GPU_FREQ"), (Srun, "SLURM_GPU_FREQ"), (Salloc, "SALLOC_GPU_FREQ")])
        .job(|job, value| text(&mut job.gpu_mut().gpu_freq, &binding::gpu_frequency(value)?)),
    option("gpus", "Give the job this many GPUs in all.")
        .json("tres_per_job", Form::Gpus)
        .short('G')
        .takes("[type:]number")
        .env(&[(Sbatch, "SBATCH_GPUS"), (Srun, "SLURM_GPUS"), (Salloc, "SALLOC_GPUS")])
        .job(|job, count| text(&mut job.gpu_mut().gpus, count)),
    option("gpus-per-node", "Give the job this many GPUs on each node.")
        .takes("[type:]number")
        .env(&[
            (Sbatch, "SBATCH_GPUS_PER_NODE"),
            (Srun, "SLURM_GPUS_PER_NODE"),
            (Salloc, "SALLOC_GPUS_PER_NODE"),
        ])
        .job(|job, count| text(&mut job.gpu_mut().gpus_per_node, count)),
    option("gpus-per-socket", "Give the job this many GPUs on each socket.")
        .json("tres_per_socket", Form::Gpus)
        .takes("[type:]number")
        .env(&[
            (Sbatch, "SBATCH_GPUS_PER_SOCKET"),
            (Srun, "SLURM_GPUS_PER_SOCKET"),
            (Salloc, "SALLOC_GPUS_PER_SOCKET"),
        ])
        .job(|job, count| text(&mut job.gpu_mut().gpus_per_socket, count)),
    option("gpus-per-task", "Give each task this many GPUs.")
        .takes("[type:]number")
        .env(&[
            (Sbatch, "SBATCH_GPUS_PER_TASK"),
            (Srun, "SLURM_GPUS_PER_TASK"),
            (Salloc, "SALLOC_GPUS_PER_TASK"),
        ])
        .job(|job, count| text(&mut job.gpu_mut().gpus_per_task, count)),
    option("gres", "Give the job these generic resources on each node.")
        .json("tres_per_node", Form::Gres)
        .takes("name[:type][:count],...")
        .env(&[(Sbatch, "SBATCH_GRES"), (Srun, "SLURM_GRES"), (Salloc, "SALLOC_GRES")])
        .job(|job, list| {
            let none = list.eq_ignore_ascii_case("none");
            text(&mut job.gres, if none { "" } else { list })
        }),
    option("gres-flags", "Say how generic resources and cores go together.")
        .takes("flags")
        .env(&[
            (Sbatch, "SBATCH_GRES_FLAGS"),
            (Srun, "SLURM_GRES_FLAGS"),
            (Salloc, "SALLOC_GRES_FLAGS"),
        ])
        .job(gres_flags),
    option("licenses", "Hold these licenses while the job runs.")
        .json("licenses", Form::Plain)
        .short('L')
        .takes("name[:count],...")
        .job(|job, list| text(&mut job.placement_mut().licenses, list)),
    option("mem", "Give the job this much memory on each node.")
        .json("memory_per_node", Form::Number)
        .takes("size")
        .env(&[
            (Sbatch, "SBATCH_MEM_PER_NODE"),
            (Srun, "SLURM_MEM_PER_NODE"),
            (Salloc, "SALLOC_MEM_PER_NODE"),
        ])
        .job(|job, size| put(&mut job.memory_per_node, megabytes(size))),
    option("mem-per-cpu", "Give the job this much memory for each CPU.")
        .json("memory_per_cpu", Form::Number)
        .takes("size")
        .env(&[
            (Sbatch, "SBATCH_MEM_PER_CPU"),
            (Srun, "SLURM_MEM_PER_CPU"),
            (Salloc, "SALLOC_MEM_PER_CPU"),
        ])
        .job(|job, size| match megabytes(size)? {
            // All the memory there is, as with `--mem=0`.
            0 => {
                job.memory_per_cpu = None;
                put(&mut job.memory_per_node, Ok(0))
            }
            size => put(&mut job.memory_per_cpu, Ok(size)),
        }),
    option("mem-per-gpu", "Give the job this much memory for each GPU.")
        .json("memory_per_tres", Form::Gpus)
        .takes("size")
        .env(&[
            (Sbatch, "SBATCH_MEM_PER_GPU"),
            (Srun, "SLURM_MEM_PER_GPU"),
            (Salloc, "SALLOC_MEM_PER_GPU"),
        ])
        .job(|job, size| put(&mut job.gpu_mut().memory_per_gpu, megabytes(size))),
    option("mincpus", "Use nodes with at least this many CPUs.")
        .json("minimum_cpus_per_node", Form::Count)
        .takes("count")
        .job(|job, count| put(&mut job.placement_mut().mincpus, small(count))),
    option("nodes", "Use at least MIN and at most MAX nodes, or one of these sizes.")
        .json("nodes", Form::Plain)
        .short('N')
        .takes("min[-max]")
        .env(&[(Srun, "SLURM_NNODES"), (Srun, "SLURM_JOB_NUM_NODES")])
        .job(|job, count| {
            let read = node_count(count)?;
            (job.nodes_min, job.nodes_max) = (Some(read.min), read.max);
            text(&mut job.node_sizes, if read.sizes.is_some() { count } else { "" })
        }),
    option("ntasks", "Run this many tasks.")
        .json("tasks", Form::Count)
        .short('n')
        .takes("number")
        .env(&[(Srun, "SLURM_NPROCS"), (Srun, "SLURM_NTASKS")])
        .job(|job, count| put(&mut job.ntasks, positive(count))),
    option("ntasks-per-core", "Run at most this many tasks on a core.")
        .json("tasks_per_core", Form::Count)
        .takes("ntasks")
        .env(&[(Srun, "SLURM_NTASKS_PER_CORE")])
        .job(|job, count| put(&mut job.layout_mut().ntasks_per_core, small(count))),
    option("ntasks-per-gpu", "Run this many tasks for each GPU.")
        .json("ntasks_per_tres", Form::Count)
        .takes("ntasks")
        .env(&[(Srun, "SLURM_NTASKS_PER_GPU")])
        .job(|job, count| put(&mut job.gpu_mut().ntasks_per_gpu, positive(count))),
    option("ntasks-per-node", "Run this many tasks on each node.")
        .json("tasks_per_node", Form::Count)
        .takes("ntasks")
        .older(&["tasks-per-node"])
        .env(&[(Srun, "SLURM_NTASKS_PER_NODE")])
        .job(|job, count| put(&mut job.ntasks_per_node, positive(count))),
    option("ntasks-per-socket", "Run at most this many tasks on a socket.")
        .json("tasks_per_socket", Form::Count)
        .takes("ntasks")
        .env(&[(Srun, "SLURM_NTASKS_PER_SOCKET")])
        .job(|job, count| put(&mut job.layout_mut().ntasks_per_socket, small(count))),
    option(
        "ntasks-per-tres",
        "Run this many tasks for each GPU: an older name of --ntasks-per-gpu.",
    )
    .takes("ntasks")
    .env(&[(Srun, "SLURM_NTASKS_PER_TRES")])
    .job(|job, count| put(&mut job.gpu_mut().ntasks_per_gpu, positive(count))),
    option("overcommit", "Let tasks share CPUs: one CPU a node is enough.")
        .json("overcommit", Form::Flag(true))
        .short('O')
        .env(&[
            (Sbatch, "SBATCH_OVERCOMMIT"),
            (Srun, "SLURM_OVERCOMMIT"),
            (Salloc, "SALLOC_OVERCOMMIT"),
        ])
        .job(|job, _| flag(&mut job.layout_mut().overcommit)),
    option("oversubscribe", "Let other jobs share the resources.").short('s').job(|job, _| {
        job.sharing = Some(Sharing::Oversubscribe as i32);
        Ok(())
    }),
    option("resources", "Use these hierarchical resources.")
        .takes("list")
        .job(|_, _| Err(Refusal::Said("no hierarchical resources are configured".into(), 1))),
    option("sockets-per-node", "Use nodes with at least this many sockets.")
        .json("sockets_per_node", Form::Count)
        .takes("sockets")
        .env(&[(Srun, "SLURM_NSOCKETS_PER_NODE")])
        .job(|job, count| put(&mut job.layout_mut().sockets_per_node, small(count))),
    option("thread-spec", "Leave this many threads of each node to the system.")
        .json("thread_specification", Form::Count)
        .takes("count")
        .env(&[
            (Sbatch, "SBATCH_THREAD_SPEC"),
            (Srun, "SLURM_THREAD_SPEC"),
            (Salloc, "SALLOC_THREAD_SPEC"),
        ])
        .job(|job, count| put(&mut job.placement_mut().thread_spec, positive(count))),
    option("threads-per-core", "Use at most this many threads of a core.")
        .json("threads_per_core", Form::Count)
        .takes("threads")
        .env(&[
            (Sbatch, "SBATCH_THREADS_PER_CORE"),
            (Srun, "SLURM_THREADS_PER_CORE"),
            (Salloc, "SALLOC_THREADS_PER_CORE"),
        ])
        .job(|job, count| put(&mut job.layout_mut().threads_per_core, small(count))),
    option("tmp", "Use nodes with at least this much temporary disk space.")
        .json("temporary_disk_per_node", Form::Count)
        .takes("size")
        .job(|job, size| put(&mut job.placement_mut().tmp, megabytes(size))),
    option("tres-bind", "Bind tasks to trackable resources this way.")
        .json("tres_bind", Form::Plain)
        .takes("list")
        .env(&[
            (Sbatch, "SBATCH_TRES_BIND"),
            (Srun, "SLURM_TRES_BIND"),
            (Salloc, "SALLOC_TRES_BIND"),
        ])
        .job(|job, list| {
            // GPUs are what can be bound.
            if let Some(kind) = list.strip_prefix("gres/gpu:") {
                text(&mut job.gpu_mut().gpu_bind, kind)?;
            }
            text(&mut job.gpu_mut().tres_bind, list)
        }),
    option("tres-per-task", "Give each task these trackable resources.")
        .json("tres_per_task", Form::Plain)
        .takes("list")
        .env(&[
            (Sbatch, "SBATCH_TRES_PER_TASK"),
            (Srun, "SLURM_TRES_PER_TASK"),
            (Salloc, "SALLOC_TRES_PER_TASK"),
        ])
        .job(tres_per_task),
];

/// `cpu=4,gres/gpu=2`, with `:` in place of `=` too: processors and GPUs of each task.
fn tres_per_task(job: &mut JobSpec, list: &str) -> Result<(), Refusal> {
    for item in list.split(',').filter(|item| !item.is_empty()) {
        let (name, count) = match item.strip_prefix("gres/gpu") {
            Some(rest) => ("gpu", rest.strip_prefix([':', '=']).ok_or(Refusal::Specification)?),
            None => item.split_once([':', '=']).ok_or(Refusal::Specification)?,
        };
        match name {
            "cpu" => put(&mut job.cpus_per_task, positive(count))?,
            "gpu" => text(&mut job.gpu_mut().gpus_per_task, &count.replace('=', ":"))?,
            _ => return Err(Refusal::Specification),
        }
    }
    text(&mut job.gpu_mut().tres_per_task, list)
}

fn megabytes(size: &str) -> Result<u64, Refusal> {
    parse_megabytes(size).map_err(|_| Refusal::Specification)
}

fn exclusive(whom: &str) -> Result<Sharing, Refusal> {
    match whom.to_ascii_lowercase().as_str() {
        "" | "exclusive" => Ok(Sharing::Exclusive),
        "user" => Ok(Sharing::User),
        "mcs" => Ok(Sharing::Mcs),
        "topo" => Ok(Sharing::Topology),
        _ => Err(Refusal::Specification),
    }
}

fn gres_flags(job: &mut JobSpec, flag: &str) -> Result<(), Refusal> {
    let gpu = job.gpu_mut();
    match flag.to_ascii_lowercase().as_str() {
        "enforce-binding" => gpu.enforce_binding = Some(true),
        "disable-binding" => gpu.enforce_binding = Some(false),
        "allow-task-sharing" | "multiple-tasks-per-sharing" | "one-task-per-sharing" => {
            gpu.gres_flags = flag.to_ascii_lowercase();
        }
        _ => return Err(Refusal::Specification),
    }
    Ok(())
}
