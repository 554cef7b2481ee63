//! The columns of steps: `squeue -s`.

use super::short::*;
use super::value::Elapsed;
use super::{Field, Fit, Value};
use crate::job::JobStatus;
use crate::views::StepView;

/// `squeue -s` without a format.
pub const DEFAULT: &str = "%.15i %.8j %.9P %.8u %.9M %N";

const fn field(
    name: &'static str,
    header: &'static str,
    get: fn(&StepView) -> Value,
) -> Field<StepView> {
    Field::new(name, header, get)
}

/// Every column.
#[rustfmt::skip]
pub static STEP_FIELDS: &[Field<StepView>] = &[
    field("ArrayJobID", "ARRAY_JOB_ID", |s| number(s.array_job_id)),
    field("ArrayTaskID", "ARRAY_TASK_ID", |s| maybe(s.array_task_id, "N/A")),
    field("Cluster", "CLUSTER", |s| nullable(&s.cluster)),
    field("Container", "CONTAINER", |s| nullable(&s.container)),
    field("ContainerID", "CONTAINERID", |s| nullable(&s.container_id)),
    field("CPUFreq", "CPU_FREQ", |s| or(&s.cpu_frequency, "NO_VAL")),
    field("cpus-per-tres", "CPUS_PER_TRES", |s| or(&s.cpus_per_tres, "N/A")),
    field("JobID", "JOB_ID", |s| number(s.job_id)),
    field("mem-per-tres", "MEM_PER_TRES", |s| or(&s.memory_per_tres, "N/A")),
    field("Network", "NETWORK", |s| nullable(&s.network)),
    field("Nodes", "NODELIST", |s| text(&s.nodes).whole()).letter('N').fit(Fit::WholeHeader),
    field("NumCPUs", "NUM_CPUS", |s| number(s.num_cpus)),
    field("NumTasks", "TASKS", |s| number(s.num_tasks)).letter('A'),
    field("Partition", "PARTITION", |s| text(&s.partition)).letter('P'),
    field("ResvPorts", "RESERVED_PORTS", |s| nullable(&s.reserved_ports)),
    field("StartTime", "START_TIME", |s| Value::Moment(s.start_time, "N/A")).letter('S'),
    field("StdErr", "STDERR", |s| text(&s.standard_error)),
    field("StdIn", "STDIN", |s| text(&s.standard_input)),
    field("StdOut", "STDOUT", |s| text(&s.standard_output)),
    field("StepID", "STEPID", |s| Value::Text(shown_id(s))).letter('i'),
    field("StepName", "NAME", |s| text(&s.name)).letter('j'),
    field("StepState", "STATE", |s| Value::JobState(JobStatus(s.state))),
    field("TimeLimit", "TIME_LIMIT", |s| Value::Minutes(s.time_limit, "UNLIMITED", "UNLIMITED").whole()).letter('l'),
    field("TimeUsed", "TIME", |s| Value::Elapsed(used(s)).whole()).letter('M'),
    field("tres-bind", "TRES_BIND", |s| nullable(&s.tres_bind)),
    field("tres-freq", "TRES_FREQ", |s| nullable(&s.tres_freq)),
    field("tres-per-job", "TRES_PER_STEP", |s| nullable(&s.tres_per_step)),
    field("tres-per-step", "TRES_PER_STEP", |s| nullable(&s.tres_per_step)),
    field("tres-per-node", "TRES_PER_JOB", |s| nullable(&s.tres_per_node)).letter('b'),
    field("Gres", "TRES_PER_JOB", |s| nullable(&s.tres_per_node)),
    field("tres-per-socket", "TRES_PER_SOCKET", |s| nullable(&s.tres_per_socket)),
    field("tres-per-task", "TRES_PER_TASK", |s| nullable(&s.tres_per_task)),
    field("UserID", "UID", |s| number(s.uid)).letter('U'),
    field("UserName", "USER", |s| text(&s.user_name)).letter('u'),
];

/// The id as squeue shows it: `7.0`, `7.batch`, `9_1.batch`, `27+1.0`.
pub fn shown_id(step: &StepView) -> String {
    match step {
        StepView { array_job_id: 1.., array_task_id: Some(task), .. } => {
            format!("{}_{task}.{}", step.array_job_id, step.step_id)
        }
        StepView { het_job_id: 1.., het_job_offset: 1.., .. } => {
            format!("{}+{}.{}", step.het_job_id, step.het_job_offset, step.step_id)
        }
        _ => format!("{}.{}", step.job_id, step.step_id),
    }
}

/// How long it has run, pauses left out.
pub fn used(step: &StepView) -> Elapsed {
    match step.run_secs_before_suspend {
        Some(counted) => Elapsed { counted, since: None },
        None => {
            let since = (step.start_time > 0).then_some(step.start_time);
            Elapsed { counted: -step.suspended_secs, since }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::format::{letters, names};
    use crate::fields::{RenderContext, check_table, render};
    use crate::time::Timestamp;

    fn step(step_id: &str, name: &str, nodes: &str, num_tasks: u32) -> StepView {
        StepView {
            job_id: 7,
            step_id: step_id.into(),
            name: name.into(),
            user_name: "root".into(),
            partition: "debug".into(),
            state: 1,
            start_time: 100,
            nodes: nodes.into(),
            num_tasks,
            ..StepView::default()
        }
    }

    #[test]
    fn the_time_of_a_paused_step_stands_still() {
        let running = StepView { suspended_secs: 3, ..step("0", "a", "n1", 1) };
        let paused = StepView { run_secs_before_suspend: Some(40), ..running.clone() };
        let at = |step: &StepView, now| {
            used(step).secs(&RenderContext { now: Timestamp(now), ..RenderContext::default() })
        };
        assert_eq!((at(&running, 150), at(&running, 160)), (47, 57));
        assert_eq!((at(&paused, 150), at(&paused, 160)), (40, 40));
    }

    #[test]
    fn the_table_is_sound() {
        check_table(STEP_FIELDS);
    }

    #[test]
    fn layouts_of_squeue() {
        let context = RenderContext { now: Timestamp(187), ..RenderContext::default() };
        let columns = names(STEP_FIELDS, "stepid,stepname,stepstate,numtasks,nodes").columns;
        assert_eq!(
            [
                render::header(&columns),
                render::row(&columns, &step("0", "solve", "n[1-2]", 8), &context),
                render::row(&columns, &step("batch", "batch", "n1", 1), &context),
            ],
            [
                "STEPID              NAME                STATE               TASKS               NODELIST            ",
                "7.0                 solve               RUNNING             8                   n[1-2]              ",
                "7.batch             batch               RUNNING             1                   n1                  ",
            ]
        );
        let columns = letters(STEP_FIELDS, DEFAULT).columns;
        assert_eq!(
            render::row(&columns, &step("0", "solve", "n[1-2]", 8), &context),
            "            7.0    solve     debug     root      1:27 n[1-2]"
        );
        let columns = letters(STEP_FIELDS, "%all").columns;
        assert_eq!(
            render::row(&columns, &step("batch", "batch", "n1", 1), &context),
            "(null)|7.batch|batch|UNLIMITED|root|1|1:27|n1|debug|1970-01-01T00:01:40|0"
        );
    }
}
