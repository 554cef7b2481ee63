//! How tasks are started and what becomes of their input and output.

use super::error::Refusal;
use super::json::Form;
use super::number::{leading_or_zero, not_negative};
use super::row::Tool::Srun;
use super::row::{JobOption, SRUN, flag, option, put, text, variable};

const NO_LIBRARIES: &str = "only the program is copied: nodes have their libraries";

pub(super) static ROWS: &[JobOption] = &[
    option("accel-bind", "Bind tasks to the nearest GPUs (g) and network cards (n).")
        .takes("g|n|v...")
        .of(SRUN)
        .step(|step, kinds| {
            if !kinds.chars().all(|kind| "gnvGNV".contains(kind)) {
                return Err(Refusal::Specification);
            }
            text(&mut step.accel_bind, kinds)
        }),
    option("bcast", "Copy the program to the nodes first.")
        .may_take("path")
        .of(SRUN)
        .env(&[(Srun, "SLURM_BCAST")])
        .step(|step, path| put(&mut step.bcast, Ok(path.to_owned()))),
    option("bcast-exclude", "Do not copy libraries below these paths.")
        .takes("path,...")
        .of(SRUN)
        .env(&[(Srun, "SLURM_BCAST_EXCLUDE")])
        .step(|step, paths| text(&mut step.bcast_exclude, paths))
        .no_effect(NO_LIBRARIES),
    option("compress", "Compress the program while it is copied.")
        .may_take("type")
        .of(SRUN)
        .env(&[(Srun, "SLURM_COMPRESS")])
        .step(|step, kind| put(&mut step.compress, Ok(kind.to_owned())))
        .remark(|kind| match kind.to_ascii_lowercase().as_str() {
            "" | "lz4" | "none" => Vec::new(),
            _ => vec![format!(
                "error: Compression type '{kind}' unknown, disabling compression support."
            )],
        })
        .no_effect("what is copied goes over the step's own connections as it is"),
    option("cpu-bind", "Bind tasks to CPUs this way.")
        .json("cpu_binding", Form::Plain)
        .takes("type")
        .older(&["cpu_bind"])
        .of(SRUN)
        .env(&[(Srun, "SLURM_CPU_BIND")])
        .step(|step, kind| text(&mut step.cpu_bind, kind)),
    option("exact", "Take no more of the job than the step asks for.")
        .of(SRUN)
        .env(&[(Srun, "SLURM_EXACT")])
        .step(|step, _| flag(&mut step.exact)),
    option("external-launcher", "Make a step whose tasks are started by somebody else.")
        .may_take("type")
        .of(SRUN)
        .env(&[(Srun, "SLURM_EXTERNAL_LAUNCHER")])
        .step(|step, kind| {
            // What it starts by itself comes beside it.
            step.overlap = true;
            put(&mut step.external_launcher, Ok(kind.to_owned()))
        }),
    option("het-group", "Start the step in these components of a heterogeneous job.")
        .takes("numbers")
        .older(&["pack-group"])
        .of(SRUN)
        .step(|step, numbers| {
            let well_formed = |range: &str| {
                range.split('-').all(|number| number.parse::<u32>().is_ok_and(|n| n < 128))
            };
            if let Some(bad) = numbers.split(',').find(|range| !well_formed(range)) {
                let message = format!(
                    "_parse_single_range: Invalid range: `{bad}'\nInvalid --het-group value: {numbers}"
                );
                return Err(Refusal::Said(message, 1));
            }
            text(&mut step.het_group, numbers)
        }),
    option("interactive", "Make the step of an interactive allocation.")
        .of(SRUN)
        .step(|step, _| flag(&mut step.interactive)),
    option("kill-on-bad-exit", "End the step when a task ends badly.").whole_job()
        .short('K')
        .may_take("0|1")
        .of(SRUN)
        .env(&[(Srun, "SLURM_KILL_BAD_EXIT")])
        .step(|step, value| {
            let value = if value.is_empty() { Ok(1) } else { not_negative(value) };
            put(&mut step.kill_on_bad_exit, value.map(|number| number != 0))
        }),
    option("label", "Start each line of output with the number of its task.").whole_job()
        .short('l')
        .of(SRUN)
        .env(&[(Srun, "SLURM_LABELIO")])
        .step(|step, _| flag(&mut step.label)),
    option("mpi", "Start an MPI program of this kind; `list` shows the kinds.")
        .takes("type")
        .of(SRUN)
        .env(&[(Srun, "SLURM_MPI_TYPE")])
        .step(|step, kind| text(&mut step.mpi, kind)),
    option("multi-prog", "Run different programs, as the file named as command says.")
        .of(SRUN)
        .env(&[(Srun, "SLURM_SRUN_MULTI")])
        .step(|step, _| flag(&mut step.multi_prog)),
    option("overlap", "Share the job's resources with other steps.")
        .may_take("force")
        .of(SRUN)
        .env(&[(Srun, "SLURM_OVERLAP")])
        .step(|step, _| flag(&mut step.overlap)),
    option("preserve-env", "Leave the variables about nodes and tasks as they are.")
        .short('E')
        .of(SRUN)
        .step(|step, _| flag(&mut step.preserve_env)),
    option("pty", "Run task zero in a terminal.").whole_job()
        .may_take("descriptor")
        .of(SRUN)
        .step(|step, _| flag(&mut step.pty)),
    option("relative", "Start with this node of the job, counted from zero.")
        .short('r')
        .takes("n")
        .of(SRUN)
        .step(|step, first| put(&mut step.relative, not_negative(first))),
    option("send-libs", "Copy the program's libraries too.")
        .may_take("yes|no")
        .of(SRUN)
        .env(&[(Srun, "SLURM_SEND_LIBS")])
        .step(|step, answer| {
            let answer = match answer.to_ascii_lowercase().as_str() {
                "" | "yes" | "y" => Ok(true),
                "no" | "n" => Ok(false),
                _ => Err(Refusal::Specification),
            };
            put(&mut step.send_libs, answer)
        })
        .no_effect(NO_LIBRARIES),
    option("slurmd-debug", "Let the node agent print this much.").whole_job()
        .takes("level")
        .of(SRUN)
        .env(&[(Srun, "SLURMD_DEBUG")])
        .step(|step, level| put(&mut step.slurmd_debug, Ok(debug_level(level))))
        .no_effect("agents log as they are told at their start"),
    option("task-epilog", "Run this program after each task.").whole_job()
        .takes("program")
        .of(SRUN)
        .env(&[(Srun, "SLURM_TASK_EPILOG")])
        .step(|step, program| text(&mut step.task_epilog, program)),
    option("task-prolog", "Run this program before each task.").whole_job()
        .takes("program")
        .of(SRUN)
        .env(&[(Srun, "SLURM_TASK_PROLOG")])
        .step(|step, program| text(&mut step.task_prolog, program)),
    option("unbuffered", "Pass output on at once, not line by line.").whole_job()
        .short('u')
        .of(SRUN)
        .env(&[(Srun, "SLURM_UNBUFFEREDIO")])
        .step(|step, _| flag(&mut step.unbuffered)),
    option("wait", "End the step so many seconds after its first task ended.").whole_job()
        .short('W')
        .takes("seconds")
        .of(SRUN)
        .env(&[(Srun, "SLURM_WAIT")])
        .step(|step, seconds| put(&mut step.wait_secs, not_negative(seconds))),
    option("wait-for-children", "Count a task as ended when all its processes have.")
        .of(SRUN)
        .no_effect("what a task leaves behind ends with it")
        .step(|step, _| flag(&mut step.wait_for_children)),
    option("whole", "Take all that the job has on the step's nodes.")
        .of(SRUN)
        .step(|step, _| flag(&mut step.whole)),
    variable("list", "Generic resources for a step, in place of --gres.")
        .env(&[(Srun, "SLURM_STEP_GRES")])
        .step(|step, list| text(&mut step.gres, list)),
];

/// A level by number or name; what is neither is the highest that may be asked for.
fn debug_level(level: &str) -> u32 {
    u32::try_from(level_said(level).unwrap_or(HIGHEST).min(HIGHEST)).unwrap_or(0)
}

/// Whether less comes of it than was asked for.
pub(super) fn is_above_highest(level: &str) -> bool {
    level_said(level).is_none_or(|level| level > HIGHEST)
}

const HIGHEST: i64 = 4;

fn level_said(level: &str) -> Option<i64> {
    let names = ["quiet", "fatal", "error", "info", "verbose"];
    match names.iter().position(|name| name.eq_ignore_ascii_case(level)) {
        Some(at) => i64::try_from(at).ok(),
        None if level.starts_with(|c: char| c.is_ascii_digit()) => Some(leading_or_zero(level)),
        None => None,
    }
}
