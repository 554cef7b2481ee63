//! Containers and security contexts, and what is accepted without effect.

use super::json::Form;
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, SRUN, option, text};

const NO_BURST_BUFFERS: &str = "there are no burst buffers; scontrol shows what was asked for";

pub(super) static ROWS: &[JobOption] = &[
    option("bb", "Use a burst buffer.")
        .json("burst_buffer", Form::Plain)
        .takes("spec")
        .env(&[
            (Sbatch, "SBATCH_BURST_BUFFER"),
            (Srun, "SLURM_BURST_BUFFER"),
            (Salloc, "SALLOC_BURST_BUFFER"),
        ])
        .listed_as("burst_buffer")
        .job(|job, spec| text(&mut job.rare_mut().burst_buffer, spec))
        .no_effect(NO_BURST_BUFFERS),
    option("bbf", "Use a burst buffer as this file says.")
        .takes("file")
        .listed_as("burst_buffer_file")
        .tool(|tool, path| text(&mut tool.burst_buffer_file, path))
        .no_effect(NO_BURST_BUFFERS),
    option("container", "Run in the OCI bundle at this path.")
        .json("container", Form::Plain)
        .takes("path")
        .env(&[
            (Sbatch, "SBATCH_CONTAINER"),
            (Srun, "SRUN_CONTAINER"),
            (Salloc, "SALLOC_CONTAINER"),
        ])
        .job(|job, path| text(&mut job.rare_mut().container, path)),
    option("container-id", "Call the container this.")
        .json("container_id", Form::Plain)
        .takes("id")
        .env(&[
            (Sbatch, "SBATCH_CONTAINER_ID"),
            (Srun, "SRUN_CONTAINER_ID"),
            (Salloc, "SALLOC_CONTAINER_ID"),
        ])
        .job(|job, id| text(&mut job.rare_mut().container_id, id)),
    option("context", "Run with this SELinux context.")
        .json("selinux_context", Form::Plain)
        .takes("context")
        .job(|job, context| text(&mut job.rare_mut().context, context))
        .no_effect("SELinux is not supported"),
    option("debugger-test", "Stop tasks at their start, for debuggers under test.")
        .of(SRUN)
        .no_effect("a debugger attaches to a task as to any process"),
    option("msg-timeout", "Wait this long for answers to messages.")
        .whole_job()
        .takes("seconds")
        .of(SRUN)
        .tool(|_, seconds| super::number::positive(seconds).map(|_| ()))
        .no_effect("timeouts are the controller's"),
    option("network", "Use the network this way.")
        .json("network", Form::Plain)
        .takes("type")
        .env(&[(Sbatch, "SBATCH_NETWORK"), (Srun, "SLURM_NETWORK"), (Salloc, "SALLOC_NETWORK")])
        .job(|job, kind| text(&mut job.rare_mut().network, kind))
        .no_effect("the networks it is about are not supported; scontrol shows it"),
    option("power", "Manage the job's power this way.")
        .takes("flags")
        .env(&[(Sbatch, "SBATCH_POWER"), (Srun, "SLURM_POWER"), (Salloc, "SALLOC_POWER")])
        .job(|job, flags| {
            let level = flags.split(',').any(|flag| flag.eq_ignore_ascii_case(LEVEL));
            text(&mut job.rare_mut().power, if level { "LEVEL" } else { "" })
        })
        .remark(|flags| {
            let known = |flag: &&str| flag.is_empty() || flag.eq_ignore_ascii_case(LEVEL);
            let unknown = flags.split(',').filter(|flag| !known(flag));
            unknown.map(|it| format!("error: Ignoring unrecognized power option ({it})")).collect()
        })
        .no_effect("power capping is not supported; scontrol shows it"),
    option("threads", "Start tasks on this many nodes at a time.")
        .short('T')
        .takes("nthreads")
        .of(SRUN)
        .env(&[(Srun, "SLURM_THREADS")])
        .listed_as("ta")
        .tool(|_, count| super::number::positive(count).map(|_| ()))
        .remark(|count| {
            let count = super::number::positive(count).ok().filter(|count| *count > MANY_THREADS);
            let words = |count| {
                format!(
                    "error: Thread value --threads={count} exceeds recommended limit of {MANY_THREADS}"
                )
            };
            count.map(words).into_iter().collect()
        })
        .no_effect("all nodes are started at once"),
    option("treewidth", "Pass messages on to this many nodes at a time.")
        .takes("size")
        .of(SRUN)
        .tool(|_, _| Ok(()))
        .no_effect("the controller talks to each node itself"),
];

/// The one way to manage power.
const LEVEL: &str = "level";
/// Slurm warns of more.
const MANY_THREADS: u32 = 60;
