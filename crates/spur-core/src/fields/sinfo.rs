//! The columns of `sinfo`: nodes of one partition that look alike share a line.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::format::Column;
use super::render::{self, RenderContext};
use super::short::*;
use super::{Field, Fit, Value, clock, partition};
use crate::hostlist;
use crate::limit::Limit;
use crate::node::{NodeFlag, NodeState, NodeStatus};
use crate::views::{NodeView, PartitionView};

/// `sinfo`; `#` is the width of the longest partition or node name, see [`fill_widths`].
pub const DEFAULT: &str = "%#P %.5a %.10l %.6D %.6t %N";
/// `sinfo -s`
pub const SUMMARY: &str = "%#P %.5a %.10l %.16F %N";
/// `sinfo -l`
pub const LONG: &str = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
/// `sinfo -N`
pub const NODES: &str = "%#N %.6D %.#P %6t";
/// `sinfo -N -l`
pub const NODES_LONG: &str = "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
/// `sinfo -R`
pub const REASONS: &str = "%20E %9u %19H %N";
/// `sinfo -R -l`
pub const REASONS_LONG: &str = "%20E %12U %19H %6t %N";

/// A line of sinfo: nodes that look alike, in the partition they are shown for.
#[derive(Clone, Debug, Default)]
pub struct NodeGroup {
    /// The partition; `None` where nodes are listed without theirs.
    pub partition: Option<Arc<PartitionView>>,
    /// The nodes, in the order of their names.
    pub nodes: Vec<Arc<NodeView>>,
}

const fn field(
    name: &'static str,
    header: &'static str,
    get: fn(&NodeGroup) -> Value,
) -> Field<NodeGroup> {
    Field::new(name, header, get)
}

const fn only_json(json: &'static str, get: fn(&NodeGroup) -> Value) -> Field<NodeGroup> {
    Field::json_only(json, get)
}

/// Every column and every member of the JSON object.
#[rustfmt::skip]
pub static SINFO_FIELDS: &[Field<NodeGroup>] = &[
    field("AllocMem", "ALLOCMEM", |g| number(sum(g, |n| n.memory_allocated_mb))).json("memory.allocated"),
    field("AllocNodes", "ALLOCNODES", |g| of(g, |p| all(&p.allow_alloc_nodes))).letter('S'),
    field("Available", "AVAIL", |g| of(g, |p| Value::Text(available(p).into()))).letter('a'),
    field("Cluster", "CLUSTER", |g| first(g, |n| or(&n.cluster, "N/A"))).letter('V').json("cluster"),
    field("Comment", "COMMENT", |g| first(g, |n| nullable(&n.comment))).json("comment"),
    field("Cores", "CORES", |g| at_least(g, |n| n.cores.into())).letter('Y').json("cores"),
    field("CPUs", "CPUS", |g| at_least(g, |n| n.cpus.into())).letter('c'),
    field("CPUsLoad", "CPU_LOAD", |g| between(g, |n| n.cpu_load_centi.map(u64::from), |load| format!("{:.2}", load as f64 / 100.0))).letter('O'),
    only_json("cpus.load.minimum", |g| number(least(g, |n| n.cpu_load_centi.unwrap_or(0).into()))),
    only_json("cpus.load.maximum", |g| number(most(g, |n| n.cpu_load_centi.unwrap_or(0).into()))),
    field("CPUsState", "CPUS(A/I/O/T)", |g| Value::Text(cpus(g).slashed())).letter('C'),
    only_json("cpus.allocated", |g| number(cpus(g).allocated)),
    only_json("cpus.idle", |g| number(cpus(g).idle)),
    only_json("cpus.other", |g| number(cpus(g).other)),
    only_json("cpus.total", |g| number(cpus(g).total)),
    only_json("cpus.minimum", |g| number(least(g, |n| n.cpus.into()))),
    only_json("cpus.maximum", |g| number(most(g, |n| n.cpus.into()))),
    field("DefaultTime", "DEFAULTTIME", |g| of(g, |p| time(p.default_time, "n/a"))).letter('L'),
    field("Disk", "TMP_DISK", |g| at_least(g, |n| n.temporary_disk_mb)).letter('d').json("disk"),
    field("Extra", "EXTRA", |g| first(g, |n| nullable(&n.extra))).json("extra"),
    field("Features", "AVAIL_FEATURES", |g| first(g, |n| features(&n.features))).letter('f').json("features.total"),
    field("features_act", "ACTIVE_FEATURES", |g| first(g, |n| features(&n.active_features))).letter('b').json("features.active"),
    field("FreeMem", "FREE_MEM", |g| between(g, |n| n.free_memory_mb, |free| free.to_string())).letter('e').json("memory.free"),
    only_json("memory.minimum", |g| number(least(g, |n| n.memory_mb))),
    only_json("memory.maximum", |g| number(most(g, |n| n.memory_mb))),
    field("Gres", "GRES", |g| first(g, |n| nullable(&n.gres))).letter('G').json("gres.total"),
    field("GresUsed", "GRES_USED", |g| first(g, |n| nullable(&n.gres_used))).json("gres.used"),
    field("Groups", "GROUPS", |g| of(g, |p| all(&p.allow_groups))).letter('g'),
    field("MaxCPUsPerNode", "MAX_CPUS_PER_NODE", |g| of(g, |p| unlimited(p.max_cpus_per_node))).letter('B').json("cpus.per_node.max"),
    field("Memory", "MEMORY", |g| at_least(g, |n| n.memory_mb)).letter('m'),
    field("NodeAddr", "NODE_ADDR", |g| names(g, |n| &n.address).whole()).letter('o').json("nodes.addresses").fit(Fit::WholeHeader),
    field("NodeAI", "NODES(A/I)", |g| Value::Text(format!("{}/{}", nodes(g).allocated, nodes(g).idle))).letter('A'),
    field("NodeAIOT", "NODES(A/I/O/T)", |g| Value::Text(nodes(g).slashed())).letter('F'),
    only_json("nodes.allocated", |g| number(nodes(g).allocated)),
    only_json("nodes.idle", |g| number(nodes(g).idle)),
    only_json("nodes.other", |g| number(nodes(g).other)),
    field("NodeHost", "HOSTNAMES", |g| names(g, |n| &n.hostname).whole()).letter('n').json("nodes.hostnames").fit(Fit::WholeHeader),
    field("NodeList", "NODELIST", |g| names(g, |n| &n.name).whole()).letter('N').json("nodes.nodes").fit(Fit::WholeHeader),
    field("Nodes", "NODES", |g| number(g.nodes.len() as u64)).letter('D').json("nodes.total"),
    field("OverSubscribe", "OVERSUBSCRIBE", |g| of(g, |p| or(&p.over_subscribe, "NO"))).letter('h'),
    field("Share", "OVERSUBSCRIBE", |g| of(g, |p| or(&p.over_subscribe, "NO"))),
    field("Partition", "PARTITION", |g| of(g, |p| Value::Text(starred(p)))).letter('P').fit(Fit::KeepStar),
    field("PartitionName", "PARTITION", |g| of(g, |p| text(&p.name))).letter('R'),
    only_json("partition", |g| g.partition.as_ref().map_or(Value::Json(json!({})), |p| Value::Json(render::json(partition::PARTITION_FIELDS, p)))),
    field("Port", "PORT", |g| first(g, |n| number(n.port))).json("port"),
    field("PreemptMode", "PREEMPT_MODE", |g| of(g, |p| or(&p.preempt_mode, "OFF"))).letter('M'),
    field("PriorityJobFactor", "PRIO_JOB_FACTOR", |g| of(g, |p| number(p.priority_job_factor))).letter('I'),
    field("PriorityTier", "PRIO_TIER", |g| of(g, |p| number(p.priority_tier))).letter('p'),
    field("Priority", "PRIO_TIER", |g| of(g, |p| number(p.priority_tier))),
    field("Reason", "REASON", |g| first(g, |n| or(&n.reason, "none"))).letter('E').json("reason.description"),
    field("Reservation", "RESERVATION", |g| first(g, |n| text(&n.reservation))).letter('i').json("reservation"),
    only_json("resource_spec.cpus", |g| first(g, |n| text(&n.cpu_spec_list))),
    only_json("resource_spec.memory", |g| first(g, |n| number(n.memory_spec_mb))),
    field("Root", "ROOT", |g| of(g, |p| Value::Either(p.root_only, "yes", "no"))).letter('r'),
    field("Size", "JOB_SIZE", |g| of(g, |p| Value::Text(job_size(p)))).letter('s'),
    field("SocketCoreThread", "S:C:T", sockets_cores_threads).letter('z'),
    field("Sockets", "SOCKETS", |g| at_least(g, |n| n.sockets.into())).letter('X').json("sockets"),
    field("StateCompact", "STATE", |g| state(g, Value::NodeStateCompact)).letter('t'),
    field("StateComplete", "STATECOMPLETE", |g| first(g, |n| Value::Text(NodeStatus(n.state).complete().to_lowercase()))),
    field("StateLong", "STATE", |g| state(g, Value::NodeState)).letter('T').json("node.state"),
    field("Threads", "THREADS", |g| at_least(g, |n| n.threads.into())).letter('Z').json("threads"),
    field("Time", "TIMELIMIT", |g| of(g, |p| time(p.max_time, "infinite"))).letter('l'),
    field("TimeStamp", "TIMESTAMP", |g| first(g, |n| Value::both(Value::Moment(reason_time(n), "Unknown"), Value::Integer(n.reason_time)))).letter('H').json("reason.time"),
    field("User", "USER", |g| first(g, |n| or(&n.reason_user, "Unknown"))).letter('u').json("reason.user"),
    field("UserLong", "USER", |g| first(g, user_long)).letter('U'),
    field("Version", "VERSION", |g| first(g, |n| or(&n.version, "N/A"))).letter('v'),
    field("Weight", "WEIGHT", |g| at_least(g, |n| n.weight.into())).letter('w').json("weight"),
];

/// Names of columns that tell about a whole group, so they never split one.
const TOTALS: &[&str] = &["Nodes", "NodeList", "NodeAI", "NodeAIOT", "CPUsState"];
/// Columns that show a range (`64+`), so they split a group only with `-e`.
const RANGES: &[&str] = &[
    "Cores",
    "CPUs",
    "CPUsLoad",
    "Disk",
    "FreeMem",
    "Memory",
    "SocketCoreThread",
    "Sockets",
    "Threads",
    "Weight",
    "Port",
];

/// Gathers nodes that look alike in these columns; `exact` is `-e`.
///
/// Partitions stand in the given order; without a column about partitions a node is counted once.
/// A partition none of whose nodes is among `nodes` still gets its line.
pub fn group(
    columns: &[Column<NodeGroup>],
    partitions: &[Arc<PartitionView>],
    nodes: &[Arc<NodeView>],
    exact: bool,
    context: &RenderContext<'_>,
) -> Vec<NodeGroup> {
    let splits: Vec<&Field<NodeGroup>> = columns
        .iter()
        .filter_map(|column| column.field)
        .filter(|field| !TOTALS.contains(&field.name) && (exact || !RANGES.contains(&field.name)))
        .collect();
    // Where the group of each look stands in `groups`, which is in the order of first appearance.
    let mut known: BTreeMap<Vec<Option<String>>, usize> = BTreeMap::new();
    let mut groups: Vec<(usize, NodeGroup)> = Vec::new();
    let by_partition = splits.iter().any(|field| is_about_partitions(field));
    let mut counted: BTreeSet<(usize, &str)> = BTreeSet::new();
    for (place, partition) in partitions.iter().enumerate() {
        let members = nodes.iter().filter(|node| node.partitions.contains(&partition.name));
        let mut empty = true;
        for node in members {
            empty = false;
            let one = NodeGroup { partition: Some(partition.clone()), nodes: vec![node.clone()] };
            let look = splits.iter().map(|field| (field.get)(&one).text(context)).collect();
            let at = *known.entry(look).or_insert(groups.len());
            if at == groups.len() {
                groups.push((place, NodeGroup { nodes: Vec::new(), ..one }));
            }
            // A node that looks the same in several partitions is counted once.
            if counted.insert((at, &node.name)) {
                groups[at].1.nodes.push(node.clone());
            }
        }
        if empty && by_partition {
            let group = NodeGroup { partition: Some(partition.clone()), nodes: Vec::new() };
            groups.push((place, group));
        }
    }
    // sinfo's own order, `#P,-t`: partitions as configured, then the highest state number first.
    groups.sort_by_key(|(place, group)| {
        let place = if by_partition { *place } else { 0 };
        (place, Reverse(group.nodes.first().map_or(0, |node| node.state)))
    });
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Puts the widths of partition and node names into one of the layouts above.
pub fn fill_widths(layout: &str, longest_partition: usize, longest_node: usize) -> String {
    // The length of the longer header is the least either takes.
    let partition = longest_partition.max("PARTITION".len());
    let node = longest_node.max("PARTITION".len());
    layout.replace("#P", &format!("{partition}P")).replace("#N", &format!("{node}N"))
}

fn is_about_partitions(field: &Field<NodeGroup>) -> bool {
    const NAMES: &[&str] = &[
        "AllocNodes",
        "Available",
        "DefaultTime",
        "Groups",
        "MaxCPUsPerNode",
        "OverSubscribe",
        "Share",
        "Partition",
        "PartitionName",
        "PreemptMode",
        "PriorityJobFactor",
        "PriorityTier",
        "Priority",
        "Root",
        "Size",
        "Time",
    ];
    NAMES.contains(&field.name)
}

/// How many are in use, free, neither, and all together.
struct Counts {
    allocated: u64,
    idle: u64,
    other: u64,
    total: u64,
}

impl Counts {
    fn slashed(&self) -> String {
        format!("{}/{}/{}/{}", self.allocated, self.idle, self.other, self.total)
    }
}

/// Whether nothing new may start on a node.
fn is_closed(status: NodeStatus) -> bool {
    status.has(NodeFlag::Drain)
        || status.has(NodeFlag::Fail)
        || !matches!(status.base(), NodeState::Idle | NodeState::Allocated | NodeState::Mixed)
}

fn nodes(group: &NodeGroup) -> Counts {
    let mut counts = Counts { allocated: 0, idle: 0, other: 0, total: group.nodes.len() as u64 };
    for node in &group.nodes {
        let status = NodeStatus(node.state);
        let busy = matches!(status.base(), NodeState::Allocated | NodeState::Mixed);
        if busy || (status.has(NodeFlag::Completing) && status.base() == NodeState::Idle) {
            counts.allocated += 1;
        } else if is_closed(status) {
            counts.other += 1;
        } else {
            counts.idle += 1;
        }
    }
    counts
}

fn cpus(group: &NodeGroup) -> Counts {
    let mut counts = Counts { allocated: 0, idle: 0, other: 0, total: 0 };
    for node in &group.nodes {
        let (all, taken) = (u64::from(node.cpus), u64::from(node.cpus_allocated));
        let rest = all.saturating_sub(taken);
        counts.total += all;
        counts.allocated += taken;
        *(if is_closed(NodeStatus(node.state)) { &mut counts.other } else { &mut counts.idle }) +=
            rest;
    }
    counts
}

fn of(group: &NodeGroup, get: fn(&PartitionView) -> Value) -> Value {
    group.partition.as_ref().map_or_else(|| text(""), |partition| get(partition))
}

fn first(group: &NodeGroup, get: fn(&NodeView) -> Value) -> Value {
    group.nodes.first().map_or_else(|| text("n/a"), |node| get(node))
}

fn state(group: &NodeGroup, spell: fn(NodeStatus) -> Value) -> Value {
    group.nodes.first().map_or_else(|| text("n/a"), |node| spell(NodeStatus(node.state)))
}

fn least(group: &NodeGroup, get: fn(&NodeView) -> u64) -> u64 {
    group.nodes.iter().map(|node| get(node)).min().unwrap_or(0)
}

fn most(group: &NodeGroup, get: fn(&NodeView) -> u64) -> u64 {
    group.nodes.iter().map(|node| get(node)).max().unwrap_or(0)
}

fn sum(group: &NodeGroup, get: fn(&NodeView) -> u64) -> u64 {
    group.nodes.iter().map(|node| get(node)).sum()
}

/// The least, with a `+` where some have more.
fn plus(group: &NodeGroup, get: fn(&NodeView) -> u64) -> String {
    let least = least(group, get);
    if least < most(group, get) { format!("{least}+") } else { least.to_string() }
}

fn at_least(group: &NodeGroup, get: fn(&NodeView) -> u64) -> Value {
    let json = json!({ "minimum": least(group, get), "maximum": most(group, get) });
    Value::both(Value::Text(plus(group, get)), Value::Json(json))
}

/// One value, or the least and the most with a dash; `N/A` where a node does not say.
fn between(
    group: &NodeGroup,
    get: fn(&NodeView) -> Option<u64>,
    spell: fn(u64) -> String,
) -> Value {
    let known: Option<Vec<u64>> = group.nodes.iter().map(|node| get(node)).collect();
    let ends = known.and_then(|known| Some((*known.iter().min()?, *known.iter().max()?)));
    let said = match ends {
        None => "N/A".into(),
        Some((least, most)) if least == most => spell(least),
        Some((least, most)) => format!("{}-{}", spell(least), spell(most)),
    };
    let end = |end: Option<u64>| maybe(end, "").json();
    let json = json!({
        "minimum": end(ends.map(|(least, _)| least)),
        "maximum": end(ends.map(|(_, most)| most)),
    });
    Value::both(Value::Text(said), Value::Json(json))
}

fn names(group: &NodeGroup, get: fn(&NodeView) -> &str) -> Value {
    let mut names: Vec<&str> = group.nodes.iter().map(|node| get(node)).collect();
    names.sort_by(|a, b| hostlist::natural(a, b));
    names.dedup();
    let json = json!(names);
    Value::both(Value::Text(hostlist::compress(&names)), Value::Json(json))
}

/// sinfo says `all` where scontrol says `ALL`.
fn all(allowed: &str) -> Value {
    text(if matches!(allowed, "" | "ALL") { "all" } else { allowed })
}

fn features(features: &[String]) -> Value {
    nullable(&features.join(","))
}

fn sockets_cores_threads(group: &NodeGroup) -> Value {
    let sockets = plus(group, |node| node.sockets.into());
    let cores = plus(group, |node| node.cores.into());
    Value::Text(format!("{sockets}:{cores}:{}", plus(group, |node| node.threads.into())))
}

/// Minutes that are cut like any text, unlike squeue's.
fn time(limit: Option<Limit>, unset: &'static str) -> Value {
    match limit {
        None => text(unset),
        Some(Limit::Unlimited) => text("infinite"),
        Some(Limit::Is(minutes)) => {
            let secs = i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX);
            Value::Text(clock::span(secs))
        }
    }
}

fn available(partition: &PartitionView) -> &'static str {
    match partition::state(partition) {
        "UP" => "up",
        "DRAIN" => "drain",
        "INACTIVE" => "inact",
        _ => "down",
    }
}

fn starred(partition: &PartitionView) -> String {
    format!("{}{}", partition.name, if partition.is_default { "*" } else { "" })
}

/// How many nodes a job may have: `1-infinite`, `2-8`, `4`.
fn job_size(partition: &PartitionView) -> String {
    let least = u64::from(partition.min_nodes.max(1));
    match partition.max_nodes {
        Some(Limit::Is(most)) if most == least => most.to_string(),
        Some(Limit::Is(most)) => format!("{least}-{most}"),
        Some(Limit::Unlimited) | None => format!("{least}-infinite"),
    }
}

/// The time of a reason counts only while there is one.
fn reason_time(node: &NodeView) -> i64 {
    if node.reason.is_empty() { 0 } else { node.reason_time }
}

fn user_long(node: &NodeView) -> Value {
    if node.reason_user.is_empty() {
        return text("Unknown");
    }
    Value::Text(format!("{}({})", node.reason_user, node.reason_uid))
}

#[cfg(test)]
mod tests;
