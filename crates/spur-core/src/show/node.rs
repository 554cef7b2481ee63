//! `scontrol show node`

use super::{Item, Scene, first, if_any, moment, or, or_null, then};
use crate::config::words::CpuBind;
use crate::node::NodeStatus;
use crate::views::NodeView;

/// Its words.
#[rustfmt::skip]
pub static NODE: &[Item<NodeView>] = &[
    first("NodeName", |n, _| Some(n.name.clone())),
    then("Arch", |n, _| if_any(&n.architecture)),
    then("CpuBind", |n, _| CpuBind::of_bit(n.cpu_binding).map(|it| it.kind().to_string())),
    then("CoresPerSocket", |n, _| Some(format!("{} ", n.cores))),
    first("CPUAlloc", |n, _| Some(n.cpus_allocated.to_string())),
    then("CPUEfctv", |n, _| Some(if n.cpus_effective > 0 { n.cpus_effective } else { n.cpus }.to_string())),
    then("CPUTot", |n, _| Some(n.cpus.to_string())),
    then("CPULoad", |n, _| Some(n.cpu_load_centi.map_or_else(|| "N/A".into(), |load| format!("{:.2}", f64::from(load) / 100.0)))),
    first("AvailableFeatures", |n, _| or_null(&n.features.join(","))),
    first("ActiveFeatures", |n, _| or_null(&n.active_features.join(","))),
    first("Gres", |n, _| or_null(&n.gres)),
    first("GresDrain", |n, s| s.details.then(|| or(&n.gres_drained, "N/A"))?),
    first("GresUsed", |n, s| s.details.then(|| or(&n.gres_used, "N/A"))?),
    first("NodeAddr", |n, _| or(&n.address, &n.name)),
    then("NodeHostName", |n, _| or(&n.hostname, &n.name)),
    then("Port", |n, _| (n.port > 0).then(|| n.port.to_string())),
    then("Version", |n, _| if_any(&n.version)),
    first("OS", |n, _| (!n.operating_system.is_empty()).then(|| format!("{} ", n.operating_system))),
    first("RealMemory", |n, _| Some(n.memory_mb.to_string())),
    then("AllocMem", |n, _| Some(n.memory_allocated_mb.to_string())),
    then("FreeMem", |n, _| Some(n.free_memory_mb.map_or_else(|| "N/A".into(), |free| free.to_string()))),
    then("Sockets", |n, _| Some(n.sockets.to_string())),
    then("Boards", |n, _| Some(n.boards.max(1).to_string())),
    first("CoreSpecCount", |n, _| (n.core_spec_count > 0).then(|| n.core_spec_count.to_string())),
    then("CPUSpecList", |n, _| if_any(&n.cpu_spec_list)),
    then("MemSpecLimit", |n, _| (n.memory_spec_mb > 0).then(|| n.memory_spec_mb.to_string())),
    first("State", |n, _| Some(NodeStatus(n.state).complete())),
    then("ThreadsPerCore", |n, _| Some(n.threads.to_string())),
    then("TmpDisk", |n, _| Some(n.temporary_disk_mb.to_string())),
    then("Weight", |n, _| Some(n.weight.to_string())),
    then("Owner", |n, _| or(&n.owner, "N/A")),
    then("MCS_label", |n, _| or(&n.mcs_label, "N/A")),
    first("NextState", |n, _| if_any(&n.next_state)),
    first("Partitions", |n, _| (!n.partitions.is_empty()).then(|| format!("{} ", n.partitions.join(",")))),
    first("BootTime", |n, s| moment(n.boot_time, "None", s)),
    then("SlurmdStartTime", |n, s| moment(n.agent_start_time, "None", s)),
    first("LastBusyTime", |n, s| moment(n.last_busy, "Unknown", s)),
    then("ResumeAfterTime", |n, s| (n.resume_after > 0).then(|| moment(n.resume_after, "None", s))?),
    first("CfgTRES", |n, _| Some(n.tres.clone())),
    first("AllocTRES", |n, _| Some(n.tres_used.clone())),
    first("CapWatts", |_, _| Some("n/a".into())),
    first("CurrentWatts", |_, _| Some("0".into())),
    then("AveWatts", |_, _| Some("0".into())),
    first("ExtSensorsJoules", |_, _| Some("n/s".into())),
    then("ExtSensorsWatts", |_, _| Some("0".into())),
    then("ExtSensorsTemp", |_, _| Some("n/s".into())),
    first("Reason", |n, s| (!n.reason.is_empty()).then(|| reason(n, s))),
    first("Comment", |n, _| if_any(&n.comment)),
    first("Extra", |n, _| if_any(&n.extra)),
    first("ReservationName", |n, _| if_any(&n.reservation)),
];

/// `maintenance [root@2026-11-15T18:07:21]`
fn reason(node: &NodeView, scene: &Scene<'_>) -> String {
    match node.reason_time {
        0 => node.reason.clone(),
        secs => {
            let user = match node.reason_user.as_str() {
                "" => node.reason_uid.to_string(),
                name => name.to_string(),
            };
            format!("{} [{user}@{}]", node.reason, scene.context.moment(secs))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::RenderContext;
    use crate::show::text;

    #[test]
    fn a_drained_node_as_slurm_prints_it() {
        let node = NodeView {
            name: "n4".into(),
            hostname: "n4".into(),
            address: "127.0.1.4".into(),
            port: 39_904,
            version: "22.05.8".into(),
            architecture: "x86_64".into(),
            operating_system: "Linux 6.18".into(),
            cpus: 64,
            sockets: 2,
            cores: 32,
            threads: 1,
            boards: 1,
            weight: 1,
            memory_mb: 256_000,
            cpu_load_centi: Some(3139),
            free_memory_mb: Some(5937),
            state: 2 | 0x200,
            partitions: vec!["debug".into(), "cpu".into()],
            boot_time: 1_794_764_320,
            agent_start_time: 1_794_766_032,
            last_busy: 1_794_766_032,
            tres: "cpu=64,mem=250G,billing=64".into(),
            reason: "maintenance".into(),
            reason_user: "root".into(),
            reason_time: 1_794_766_041,
            ..NodeView::default()
        };
        let scene = Scene { context: RenderContext::default(), details: false };
        let expected = "\
NodeName=n4 Arch=x86_64 CoresPerSocket=32 
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=31.39
   AvailableFeatures=(null)
   ActiveFeatures=(null)
   Gres=(null)
   NodeAddr=127.0.1.4 NodeHostName=n4 Port=39904 Version=22.05.8
   OS=Linux 6.18 
   RealMemory=256000 AllocMem=0 FreeMem=5937 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=debug,cpu 
   BootTime=2026-11-15T17:38:40 SlurmdStartTime=2026-11-15T18:07:12
   LastBusyTime=2026-11-15T18:07:12
   CfgTRES=cpu=64,mem=250G,billing=64
   AllocTRES=
   CapWatts=n/a
   CurrentWatts=0 AveWatts=0
   ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
   Reason=maintenance [root@2026-11-15T18:07:21]";
        assert_eq!(text(NODE, &node, &scene, false), expected);
    }
}
