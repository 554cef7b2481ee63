//! The members of a node in JSON: `scontrol show nodes --json`, `GET /slurm/v0.0.42/nodes`.

use serde_json::json;

use super::short::*;
use super::{Field, Value};
use crate::node::NodeStatus;
use crate::views::NodeView;

const fn json(json: &'static str, get: fn(&NodeView) -> Value) -> Field<NodeView> {
    Field::json_only(json, get)
}

/// Every member of the JSON object. The columns of sinfo are those of groups of nodes, in `sinfo.rs`.
#[rustfmt::skip]
pub static NODE_FIELDS: &[Field<NodeView>] = &[
    json("architecture", |n| text(&n.architecture)),
    json("burstbuffer_network_address", |_| text("")),
    json("boards", |n| number(n.boards)),
    json("boot_time", |n| moment(n.boot_time)),
    json("cluster_name", |n| text(&n.cluster)),
    json("cores", |n| number(n.cores)),
    json("specialized_cores", |n| number(n.core_spec_count)),
    json("cpu_binding", |n| number(n.cpu_binding)),
    json("cpu_load", |n| number(n.cpu_load_centi.unwrap_or(0))),
    json("free_mem", |n| maybe(n.free_memory_mb, "")),
    json("cpus", |n| number(n.cpus)),
    json("effective_cpus", |n| number(n.cpus_effective)),
    json("specialized_cpus", |n| text(&n.cpu_spec_list)),
    json("energy", |_| Value::Json(json!({
        "average_watts": 0, "base_consumed_energy": 0, "consumed_energy": 0,
        "current_watts": counted(0u32).json(), "previous_consumed_energy": 0, "last_collected": 0,
    }))),
    json("external_sensors", |_| Value::Json(json!({}))),
    json("extra", |n| text(&n.extra)),
    json("power", |_| Value::Json(json!({}))),
    json("features", |n| list(&n.features)),
    json("active_features", |n| list(&n.active_features)),
    json("gpu_spec", |_| text("")),
    json("gres", |n| text(&n.gres)),
    json("gres_drained", |n| Value::Text(if n.gres_drained.is_empty() { "N/A".into() } else { n.gres_drained.clone() })),
    json("gres_used", |n| text(&n.gres_used)),
    json("instance_id", |n| text(&n.instance_id)),
    json("instance_type", |n| text(&n.instance_type)),
    json("last_busy", |n| moment(n.last_busy)),
    json("mcs_label", |n| text(&n.mcs_label)),
    json("specialized_memory", |n| number(n.memory_spec_mb)),
    json("name", |n| text(&n.name)),
    json("next_state_after_reboot", |_| Value::Json(json!(["INVALID"]))),
    json("address", |n| text(&n.address)),
    json("hostname", |n| text(&n.hostname)),
    json("state", |n| Value::NodeState(NodeStatus(n.state))),
    json("operating_system", |n| text(&n.operating_system)),
    json("owner", |n| text(&n.owner)),
    json("partitions", |n| list(&n.partitions)),
    json("port", |n| number(n.port)),
    json("real_memory", |n| number(n.memory_mb)),
    json("res_cores_per_gpu", |_| number(0u32)),
    json("comment", |n| text(&n.comment)),
    json("reason", |n| text(&n.reason)),
    json("reason_changed_at", |n| moment(n.reason_time)),
    json("reason_set_by_user", |n| text(&n.reason_user)),
    json("resume_after", |n| moment(n.resume_after)),
    json("reservation", |n| text(&n.reservation)),
    json("alloc_memory", |n| number(n.memory_allocated_mb)),
    json("alloc_cpus", |n| number(n.cpus_allocated)),
    json("alloc_idle_cpus", |n| number(n.cpus_effective.saturating_sub(n.cpus_allocated))),
    json("tres_used", |n| text(&n.tres_used)),
    json("tres_weighted", |_| Value::Fraction(0.0, 1)),
    json("slurmd_start_time", |n| moment(n.agent_start_time)),
    json("sockets", |n| number(n.sockets)),
    json("threads", |n| number(n.threads)),
    json("temporary_disk", |n| number(n.temporary_disk_mb)),
    json("weight", |n| number(n.weight)),
    json("tres", |n| text(&n.tres)),
    json("version", |n| text(&n.version)),
];

fn moment(secs: i64) -> Value {
    Value::Moment(secs, "None")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{check_table, render};

    #[test]
    fn the_table_is_sound() {
        check_table(NODE_FIELDS);
    }

    #[test]
    fn states_are_lists() {
        let node = NodeView { name: "n4".into(), state: 2 | 0x200, ..NodeView::default() };
        let told = render::json(NODE_FIELDS, &node);
        assert_eq!(told["state"], json!(["IDLE", "DRAIN"]));
        assert_eq!(told["boot_time"], json!({"set": true, "infinite": false, "number": 0}));
    }
}
