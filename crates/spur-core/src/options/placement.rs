//! Where a job may run, and how its tasks lie on the nodes.

use super::binding;
use super::cpu_frequency;
use super::error::{BAD_VALUE, Refusal};
use super::json::Form;
use super::number::{called, not_negative, positive};
use super::row::Tool::{Salloc, Sbatch, Srun};
use super::row::{JobOption, SBATCH, flag, option, put, text, variable};
use crate::job::{JobSpec, distribution};
use crate::limit::Limit;
use crate::time::duration::parse_seconds;

pub(super) static ROWS: &[JobOption] = &[
    option("batch", "Run the script on a node with these features.")
        .json("batch_features", Form::Plain)
        .takes("list")
        .of(SBATCH)
        .env(&[(Sbatch, "SBATCH_BATCH")])
        .job(|job, list| text(&mut job.placement_mut().batch_constraint, list)),
    option("cluster-constraint", "Use only clusters with these features.")
        .json("cluster_constraint", Form::Plain)
        .whole_job()
        .takes("[!]list")
        .env(&[
            (Sbatch, "SBATCH_CLUSTER_CONSTRAINT"),
            (Srun, "SLURM_CLUSTER_CONSTRAINT"),
            (Salloc, "SALLOC_CLUSTER_CONSTRAINT"),
        ])
        .listed_as("c_constraint")
        .job(|job, list| text(&mut job.placement_mut().cluster_constraint, list)),
    option("clusters", "Submit to the first of these clusters that can start the job.")
        .json("clusters", Form::Plain)
        .whole_job()
        .short('M')
        .takes("names")
        .older(&["cluster"])
        .env(&[
            (Sbatch, "SLURM_CLUSTERS"),
            (Sbatch, "SBATCH_CLUSTERS"),
            (Srun, "SLURM_CLUSTERS"),
            (Salloc, "SLURM_CLUSTERS"),
            (Salloc, "SALLOC_CLUSTERS"),
        ])
        .job(|job, names| text(&mut job.placement_mut().clusters, names)),
    option("consolidate-segments", "Put as many segments as possible into one block.")
        .env(&[
            (Sbatch, "SBATCH_CONSOLIDATE_SEGMENTS"),
            (Srun, "SLURM_CONSOLIDATE_SEGMENTS"),
            (Salloc, "SALLOC_CONSOLIDATE_SEGMENTS"),
        ])
        .job(|job, _| flag(&mut job.placement_mut().consolidate_segments))
        .no_effect("segments are placed where their blocks have room"),
    option("constraint", "Use only nodes with these features.")
        .json("constraints", Form::Plain)
        .short('C')
        .takes("list")
        .env(&[
            (Sbatch, "SBATCH_CONSTRAINT"),
            (Srun, "SLURM_CONSTRAINT"),
            (Salloc, "SALLOC_CONSTRAINT"),
        ])
        .listed_as("contj")
        .job(|job, list| text(&mut job.placement_mut().constraint, list)),
    option("contiguous", "Use nodes that are next to each other.")
        .json("contiguous", Form::Flag(true))
        .job(|job, _| flag(&mut job.placement_mut().contiguous)),
    option("cpu-freq", "Run the CPUs at this frequency or with this governor.")
        .json("cpu_frequency", Form::Plain)
        .takes("low[-high[:governor]]")
        .env(&[
            (Sbatch, "SBATCH_CPU_FREQ_REQ"),
            (Srun, "SLURM_CPU_FREQ_REQ"),
            (Salloc, "SALLOC_CPU_FREQ_REQ"),
        ])
        .job(|job, value| {
            let frequency = cpu_frequency::parse(value)?;
            let layout = job.layout_mut();
            layout.cpu_freq_min = frequency.min;
            layout.cpu_freq_max = frequency.max;
            layout.cpu_freq_governor = frequency.governor;
            Ok(())
        }),
    option("distribution", "Lay tasks out over nodes, sockets and cores this way.")
        .json("distribution", Form::Plain)
        .short('m')
        .takes("type")
        .env(&[(Sbatch, "SBATCH_DISTRIBUTION"), (Srun, "SLURM_DISTRIBUTION")])
        .job(distribute),
    option("exclude", "Use none of these nodes.")
        .json("excluded_nodes", Form::List)
        .short('x')
        .takes("nodes")
        .job(|job, nodes| text(&mut job.placement_mut().exclude, nodes)),
    option("hint", "Lay tasks out as suits this kind of program.")
        .takes("type")
        .env(&[
            (Sbatch, "SLURM_HINT"),
            (Sbatch, "SBATCH_HINT"),
            (Srun, "SLURM_HINT"),
            (Salloc, "SLURM_HINT"),
            (Salloc, "SALLOC_HINT"),
        ])
        .job(|job, kinds| text(&mut job.layout_mut().hint, kinds)),
    option("mem-bind", "Bind tasks to memory this way.")
        .takes("type")
        .env(&[(Sbatch, "SBATCH_MEM_BIND"), (Srun, "SLURM_MEM_BIND"), (Salloc, "SALLOC_MEM_BIND")])
        .job(|job, kind| text(&mut job.layout_mut().mem_bind, &binding::memory(kind)?)),
    option("nodefile", "Use the nodes named in this file.")
        .short('F')
        .takes("file")
        .tool(|tool, path| text(&mut tool.nodefile, path)),
    option("nodelist", "Use these nodes, and others if need be.")
        .json("required_nodes", Form::List)
        .short('w')
        .takes("nodes")
        .job(|job, nodes| text(&mut job.placement_mut().nodelist, nodes)),
    option("partition", "Run in one of these partitions.")
        .json("partition", Form::Plain)
        .short('p')
        .takes("names")
        .env(&[
            (Sbatch, "SBATCH_PARTITION"),
            (Srun, "SLURM_PARTITION"),
            (Salloc, "SALLOC_PARTITION"),
        ])
        .job(|job, names| text(&mut job.partition, names)),
    option("prefer", "Use nodes with these features if possible.")
        .json("prefer", Form::Plain)
        .takes("list")
        .job(|job, list| text(&mut job.placement_mut().prefer, list)),
    option("reboot", "Restart the nodes before the job starts.")
        .json("reboot", Form::Flag(true))
        .job(|job, _| flag(&mut job.placement_mut().reboot)),
    option("reservation", "Run within one of these reservations.")
        .json("reservation", Form::Plain)
        .whole_job()
        .takes("names")
        .env(&[
            (Sbatch, "SBATCH_RESERVATION"),
            (Srun, "SLURM_RESERVATION"),
            (Salloc, "SALLOC_RESERVATION"),
        ])
        .job(|job, names| text(&mut job.placement_mut().reservation, names)),
    option("resv-ports", "Reserve this many communication ports on each node.")
        .may_take("count")
        .env(&[(Srun, "SLURM_RESV_PORTS")])
        .job(|job, count| {
            let ports =
                if count.is_empty() { Ok(0) } else { called("--resv-port", count, positive) };
            put(&mut job.layout_mut().reserved_ports, ports)
        }),
    option("segment", "Keep this many nodes at a time within one block.")
        .json("segment_size", Form::Number)
        .takes("size")
        .env(&[
            (Sbatch, "SBATCH_SEGMENT_SIZE"),
            (Srun, "SRUN_SEGMENT_SIZE"),
            (Salloc, "SALLOC_SEGMENT_SIZE"),
        ])
        .job(|job, size| put(&mut job.placement_mut().segment, positive(size))),
    option("spread-job", "Use many nodes with few tasks on each.")
        .env(&[
            (Sbatch, "SBATCH_SPREAD_JOB"),
            (Srun, "SLURM_SPREAD_JOB"),
            (Salloc, "SALLOC_SPREAD_JOB"),
        ])
        .job(|job, _| flag(&mut job.placement_mut().spread_job)),
    option("spread-segments", "Put each segment into a block of its own.")
        .env(&[
            (Sbatch, "SBATCH_SPREAD_SEGMENTS"),
            (Srun, "SLURM_SPREAD_SEGMENTS"),
            (Salloc, "SALLOC_SPREAD_SEGMENTS"),
        ])
        .job(|job, _| flag(&mut job.placement_mut().spread_segments))
        .no_effect("segments are placed where their blocks have room"),
    option("switches", "Use at most this many switches, or wait so long for them.")
        .takes("count[@time]")
        .env(&[
            (Sbatch, "SBATCH_REQ_SWITCH"),
            (Srun, "SLURM_REQ_SWITCH"),
            (Salloc, "SALLOC_REQ_SWITCH"),
        ])
        .job(|job, value| {
            let (count, wait) = value.split_once('@').unwrap_or((value, ""));
            let count = called("--switches", count, positive)?;
            job.placement_mut().switches = Some(count);
            switches_wait(job, wait)
        }),
    option("use-min-nodes", "Of a range of nodes, use as few as possible.")
        .env(&[
            (Sbatch, "SBATCH_USE_MIN_NODES"),
            (Srun, "SLURM_USE_MIN_NODES"),
            (Salloc, "SALLOC_USE_MIN_NODES"),
        ])
        .job(|job, _| flag(&mut job.placement_mut().use_min_nodes)),
    variable("time", "Wait so long for the switches that --switches asks for.")
        .env(&[
            (Sbatch, "SBATCH_WAIT4SWITCH"),
            (Srun, "SLURM_WAIT4SWITCH"),
            (Salloc, "SALLOC_WAIT4SWITCH"),
        ])
        .job(switches_wait),
    variable("size", "The size of a plane where --distribution=plane names none.")
        .env(&[(Srun, "SLURM_DIST_PLANESIZE")])
        .job(|job, size| put(&mut job.layout_mut().plane_size, not_negative(size))),
];

fn distribute(job: &mut JobSpec, kind: &str) -> Result<(), Refusal> {
    let read = distribution::parse(kind).map_err(|error| match error {
        distribution::Error::Plane => {
            Refusal::Said(format!("{error}\nInvalid --distribution specification"), BAD_VALUE)
        }
        distribution::Error::Unknown => Refusal::Specification,
    })?;
    let layout = job.layout_mut();
    if let Some(distribution::Nodes::Plane(size)) = read.nodes {
        layout.plane_size = Some(size);
    }
    text(&mut layout.distribution, kind)
}

/// Slurm takes a time it cannot read for none.
fn switches_wait(job: &mut JobSpec, wait: &str) -> Result<(), Refusal> {
    if let Ok(Limit::Is(seconds)) = parse_seconds(wait) {
        job.placement_mut().switches_wait_secs = u32::try_from(seconds).ok();
    }
    Ok(())
}
