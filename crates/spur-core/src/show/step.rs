//! `scontrol show step`

use super::job::minutes;
use super::{Item, first, if_any, moment, or, or_null, then};
use crate::fields::step::shown_id;
use crate::job::JobStatus;
use crate::views::StepView;

/// Its words.
#[rustfmt::skip]
pub static STEP: &[Item<StepView>] = &[
    first("StepId", |s, _| Some(shown_id(s))),
    then("UserId", |s, _| Some(s.uid.to_string())),
    then("StartTime", |s, scene| moment(s.start_time, "Unknown", scene)),
    then("TimeLimit", |s, _| Some(minutes(s.time_limit, "UNLIMITED"))),
    first("State", |s, _| Some(JobStatus(s.state).name().into())),
    then("Partition", |s, _| or_null(&s.partition)),
    then("NodeList", |s, _| or_null(&s.nodes)),
    first("Nodes", |s, _| Some(s.num_nodes.to_string())),
    then("CPUs", |s, _| Some(s.num_cpus.to_string())),
    then("Tasks", |s, _| Some(s.num_tasks.to_string())),
    then("Name", |s, _| or_null(&s.name)),
    then("Network", |s, _| or_null(&s.network)),
    first("TRES", |s, _| or_null(&s.tres_allocated)),
    first("ResvPorts", |s, _| or_null(&s.reserved_ports)),
    first("CPUFreqReq", |s, _| or(&s.cpu_frequency, "Default")),
    then("Dist", |s, _| if_any(&s.distribution)),
    first("SrunHost:Pid", |s, _| Some(format!("{}:{}", if s.srun_host.is_empty() { "(null)" } else { &s.srun_host }, s.srun_pid))),
    first("CpusPerTres", |s, _| if_any(&s.cpus_per_tres)),
    first("MemPerTres", |s, _| if_any(&s.memory_per_tres)),
    first("TresBind", |s, _| if_any(&s.tres_bind)),
    first("TresFreq", |s, _| if_any(&s.tres_freq)),
    first("TresPerStep", |s, _| if_any(&s.tres_per_step)),
    first("TresPerNode", |s, _| if_any(&s.tres_per_node)),
    first("TresPerSocket", |s, _| if_any(&s.tres_per_socket)),
    first("TresPerTask", |s, _| if_any(&s.tres_per_task)),
];
