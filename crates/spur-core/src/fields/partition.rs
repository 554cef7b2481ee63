//! The members of a partition in JSON: `scontrol show partitions --json`, `GET /slurm/v0.0.42/partitions`.

use serde_json::json;

use super::short::*;
use super::{Field, Value};
use crate::views::PartitionView;

const fn json(json: &'static str, get: fn(&PartitionView) -> Value) -> Field<PartitionView> {
    Field::json_only(json, get)
}

/// Every member of the JSON object. The columns of sinfo are those of groups of nodes, in `sinfo.rs`.
#[rustfmt::skip]
pub static PARTITION_FIELDS: &[Field<PartitionView>] = &[
    json("nodes.allowed_allocation", |p| text(&p.allow_alloc_nodes)),
    json("nodes.configured", |p| text(&p.nodes)),
    json("nodes.total", |p| number(p.total_nodes)),
    json("accounts.allowed", |p| text(&p.allow_accounts)),
    json("accounts.deny", |p| text(&p.deny_accounts)),
    json("groups.allowed", |p| text(&p.allow_groups)),
    json("qos.allowed", |p| text(&p.allow_qos)),
    json("qos.deny", |p| text(&p.deny_qos)),
    json("qos.assigned", |p| text(&p.qos)),
    json("alternate", |p| text(&p.alternate)),
    json("tres.billing_weights", |p| text(&p.billing_weights)),
    json("tres.configured", |p| text(&p.tres)),
    json("cluster", |_| text("")),
    json("select_type", |_| Value::Json(json!([]))),
    json("cpus.task_binding", |p| number(p.cpu_binding)),
    json("cpus.total", |p| number(p.total_cpus)),
    json("defaults.memory_per_cpu", |p| number(either(p.default_memory_per_cpu_mb, p.default_memory_per_node_mb))),
    json("defaults.partition_memory_per_cpu", |p| maybe(p.default_memory_per_cpu_mb, "")),
    json("defaults.partition_memory_per_node", |p| per_node(p.default_memory_per_cpu_mb, p.default_memory_per_node_mb)),
    json("defaults.time", |p| Value::Minutes(p.default_time, "NONE", "UNLIMITED")),
    json("defaults.job", |p| text(&p.job_defaults)),
    json("grace_time", |p| number(p.grace_secs)),
    json("maximums.cpus_per_node", |p| unlimited(p.max_cpus_per_node)),
    json("maximums.cpus_per_socket", |p| unlimited(p.max_cpus_per_socket)),
    json("maximums.memory_per_cpu", |p| number(either(p.max_memory_per_cpu_mb, p.max_memory_per_node_mb))),
    json("maximums.partition_memory_per_cpu", |p| maybe(p.max_memory_per_cpu_mb, "")),
    json("maximums.partition_memory_per_node", |p| per_node(p.max_memory_per_cpu_mb, p.max_memory_per_node_mb)),
    json("maximums.nodes", |p| unlimited(p.max_nodes)),
    json("maximums.shares", |p| number(shares(p))),
    json("maximums.oversubscribe.jobs", |p| number(shares(p))),
    json("maximums.oversubscribe.flags", |p| Value::Json(if p.over_subscribe.starts_with("FORCE") { json!(["force"]) } else { json!([]) })),
    json("maximums.time", |p| unlimited(p.max_time)),
    json("maximums.over_time_limit", |p| Value::Limited(p.over_time_limit, "", "UNLIMITED")),
    json("minimums.nodes", |p| number(p.min_nodes)),
    json("name", |p| text(&p.name)),
    json("node_sets", |p| text(&p.node_sets)),
    json("priority.job_factor", |p| number(p.priority_job_factor)),
    json("priority.tier", |p| number(p.priority_tier)),
    json("timeouts.resume", |p| maybe(p.resume_timeout_secs, "")),
    json("timeouts.suspend", |p| maybe(p.suspend_timeout_secs, "")),
    json("partition.state", |p| Value::Json(json!([state(p)]))),
    json("suspend_time", |p| maybe(p.suspend_time_secs, "")),
];

/// The state in Slurm's word, `UP` or `DOWN` where nobody says more.
pub fn state(partition: &PartitionView) -> &str {
    match partition.state.as_str() {
        "" if partition.is_up => "UP",
        "" => "DOWN",
        state => state,
    }
}

/// How many jobs may share a resource: the number in `YES:4`, 0 for whole nodes, else 1.
fn shares(partition: &PartitionView) -> u32 {
    match partition.over_subscribe.split_once(':') {
        Some((_, count)) => count.parse().unwrap_or(1),
        None if partition.over_subscribe == "EXCLUSIVE" => 0,
        None => 1,
    }
}

fn either(per_cpu: Option<u64>, per_node: Option<u64>) -> u64 {
    per_cpu.or(per_node).unwrap_or(0)
}

/// Per node is what counts when nobody set it per CPU; not set at all is a set zero.
fn per_node(per_cpu: Option<u64>, per_node: Option<u64>) -> Value {
    Value::Counted(per_node.or(if per_cpu.is_none() { Some(0) } else { None }), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{check_table, render};
    use crate::limit::Limit;

    #[test]
    fn the_table_is_sound() {
        check_table(PARTITION_FIELDS);
    }

    #[test]
    fn members_nest_by_their_dots() {
        let partition = PartitionView {
            name: "debug".into(),
            is_up: true,
            max_time: Some(Limit::Is(1440)),
            nodes: "n[1-4]".into(),
            over_subscribe: "YES:4".into(),
            ..PartitionView::default()
        };
        let told = render::json(PARTITION_FIELDS, &partition);
        assert_eq!(told["nodes"]["configured"], "n[1-4]");
        assert_eq!(told["partition"]["state"], json!(["UP"]));
        assert_eq!(told["maximums"]["oversubscribe"], json!({"jobs": 4, "flags": []}));
        assert_eq!(told["maximums"]["nodes"], json!({"set": false, "infinite": true, "number": 0}));
        assert_eq!(told["maximums"]["time"]["number"], 1440);
    }
}
