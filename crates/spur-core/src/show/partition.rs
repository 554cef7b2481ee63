//! `scontrol show partition`

use super::{Item, first, if_any, or, or_null, then, yes};
use crate::config::words::CpuBind;
use crate::fields::clock;
use crate::fields::partition::state;
use crate::limit::Limit;
use crate::views::PartitionView;

/// Its words.
#[rustfmt::skip]
pub static PARTITION: &[Item<PartitionView>] = &[
    first("PartitionName", |p, _| Some(p.name.clone())),
    first("AllowGroups", |p, _| all(&p.allow_groups)),
    then("AllowAccounts", |p, _| (p.deny_accounts.is_empty() || !is_all(&p.allow_accounts)).then(|| all(&p.allow_accounts))?),
    then("DenyAccounts", |p, _| is_all(&p.allow_accounts).then(|| if_any(&p.deny_accounts))?),
    then("AllowQos", |p, _| (p.deny_qos.is_empty() || !is_all(&p.allow_qos)).then(|| all(&p.allow_qos))?),
    then("DenyQos", |p, _| is_all(&p.allow_qos).then(|| if_any(&p.deny_qos))?),
    first("AllocNodes", |p, _| all(&p.allow_alloc_nodes)),
    then("Alternate", |p, _| if_any(&p.alternate)),
    then("Default", |p, _| yes(p.is_default)),
    // With a blank of its own behind it.
    then("CpuBind", |p, _| CpuBind::of_bit(p.cpu_binding).map(|it| format!("{} ", it.kind()))),
    then("QoS", |p, _| or(&p.qos, "N/A")),
    first("DefaultTime", |p, _| Some(p.default_time.map_or_else(|| "NONE".into(), |limit| minutes(Some(limit))))),
    then("DisableRootJobs", |p, _| yes(p.disable_root_jobs)),
    then("ExclusiveUser", |p, _| yes(p.exclusive_user)),
    then("GraceTime", |p, _| Some(p.grace_secs.to_string())),
    then("Hidden", |p, _| yes(p.hidden)),
    first("MaxNodes", |p, _| Some(number(p.max_nodes))),
    then("MaxTime", |p, _| Some(minutes(p.max_time))),
    then("MinNodes", |p, _| Some(p.min_nodes.to_string())),
    then("LLN", |p, _| yes(p.least_loaded_nodes)),
    then("MaxCPUsPerNode", |p, _| Some(number(p.max_cpus_per_node))),
    first("NodeSets", |p, _| if_any(&p.node_sets)),
    first("Nodes", |p, _| or_null(&p.nodes)),
    first("PriorityJobFactor", |p, _| Some(p.priority_job_factor.to_string())),
    then("PriorityTier", |p, _| Some(p.priority_tier.to_string())),
    then("RootOnly", |p, _| yes(p.root_only)),
    then("ReqResv", |p, _| yes(p.reservation_required)),
    then("OverSubscribe", |p, _| or(&p.over_subscribe, "NO")),
    first("OverTimeLimit", |p, _| Some(p.over_time_limit.map_or_else(|| "NONE".into(), |limit| number(Some(limit))))),
    then("PreemptMode", |p, _| or(&p.preempt_mode, "OFF")),
    first("State", |p, _| Some(state(p).into())),
    then("TotalCPUs", |p, _| Some(p.total_cpus.to_string())),
    then("TotalNodes", |p, _| Some(p.total_nodes.to_string())),
    then("SelectTypeParameters", |_, _| Some("NONE".into())),
    first("JobDefaults", |p, _| or_null(&p.job_defaults)),
    first("DefMemPerCPU", |p, _| p.default_memory_per_cpu_mb.map(|memory| memory.to_string())),
    then("DefMemPerNode", |p, _| p.default_memory_per_cpu_mb.is_none().then(|| memory(p.default_memory_per_node_mb))),
    then("MaxMemPerCPU", |p, _| p.max_memory_per_cpu_mb.map(|memory| memory.to_string())),
    then("MaxMemPerNode", |p, _| p.max_memory_per_cpu_mb.is_none().then(|| memory(p.max_memory_per_node_mb))),
    first("TRES", |p, _| or_null(&p.tres)),
    first("TRESBillingWeights", |p, _| if_any(&p.billing_weights)),
];

fn all(list: &str) -> Option<String> {
    or(list, "ALL")
}

fn is_all(list: &str) -> bool {
    list.is_empty() || list == "ALL"
}

fn number(limit: Option<Limit>) -> String {
    match limit {
        Some(Limit::Is(number)) => number.to_string(),
        _ => "UNLIMITED".into(),
    }
}

fn minutes(limit: Option<Limit>) -> String {
    match limit {
        Some(Limit::Is(minutes)) => {
            clock::span_padded(i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX))
        }
        _ => "UNLIMITED".into(),
    }
}

fn memory(megabytes: Option<u64>) -> String {
    megabytes.map_or_else(|| "UNLIMITED".into(), |megabytes| megabytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::RenderContext;
    use crate::show::{Scene, text};

    #[test]
    fn a_partition_as_slurm_prints_it() {
        let partition = PartitionView {
            name: "debug".into(),
            is_default: true,
            is_up: true,
            max_time: Some(Limit::Is(1440)),
            default_time: Some(Limit::Is(60)),
            nodes: "n[1-4]".into(),
            total_cpus: 256,
            total_nodes: 4,
            priority_job_factor: 1,
            priority_tier: 1,
            tres: "cpu=256,mem=1000G,node=4,billing=256".into(),
            ..PartitionView::default()
        };
        let scene = Scene { context: RenderContext::default(), details: false };
        let expected = "\
PartitionName=debug
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=n[1-4]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=256 TotalNodes=4 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=256,mem=1000G,node=4,billing=256";
        assert_eq!(text(PARTITION, &partition, &scene, false), expected);
        let partition = PartitionView {
            allow_accounts: "ALL".into(),
            deny_accounts: "chem".into(),
            allow_qos: "ALL".into(),
            deny_qos: "high".into(),
            cpu_binding: 4,
            default_memory_per_cpu_mb: Some(5),
            ..partition
        };
        let told = text(PARTITION, &partition, &scene, false);
        for line in [
            "   AllowGroups=ALL DenyAccounts=chem DenyQos=high\n",
            "   AllocNodes=ALL Default=YES CpuBind=cores  QoS=N/A\n",
            "   DefMemPerCPU=5 MaxMemPerNode=UNLIMITED\n",
        ] {
            assert!(told.contains(line), "{line} is not in {told}");
        }
    }
}
