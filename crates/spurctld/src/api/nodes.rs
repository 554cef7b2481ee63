//! Nodes and partitions, and whether anybody is in.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use spur_core::accounts::limits::Needs;
use spur_core::accounts::needs;
use spur_core::auth::Actor;
use spur_core::config::words::{CpuBind, PartitionState, Private};
use spur_core::config::{Allowed, Megabytes, NodeList, PreemptMode, Weights, job_defaults};
use spur_core::hostlist;
use spur_core::ids::NodeName;
use spur_core::idset::IdSet;
use spur_core::job::GresShare;
use spur_core::node::{Kept, Link, Node, NodeFlag, NodeState, NodeStatus};
use spur_core::partition::Partition;
use spur_core::reservation::{Flags, Reservation};
use spur_core::state::State;
use spur_core::tres::{Amounts, Tres};
use spur_core::views::{NODE_MEMBERS, NodeView, PartitionView};
use spur_proto::slurm::{ListNodesReply, ListNodesRequest, ListPartitionsReply, PingReply};
use spur_proto::status::to_status;
use tonic::Status;

use super::limits;
use super::service::Service;
use super::sight::Sight;
use crate::raft::members::leader_address;
use crate::shell::Published;

impl Service {
    pub(super) fn pinged(&self) -> Result<PingReply, Status> {
        let published = self.inbox.published();
        Ok(PingReply {
            version: env!("CARGO_PKG_VERSION").to_string(),
            cluster_name: published.state.settings.cluster_name.clone(),
            leads: published.leads,
            history_birth: published.state.history.birth,
            history_records: published.state.history.records,
            leader_address: leader_address(&self.raft).unwrap_or_default(),
            rules_version: published.state.rules.rules().version,
            accounting_address: self.trusted.accounting.clone().unwrap_or_default(),
        })
    }

    pub(super) async fn nodes(
        &self,
        actor: Actor,
        request: ListNodesRequest,
    ) -> Result<ListNodesReply, Status> {
        let published = self.latest().await?;
        Sight::of(&actor, &published.state).open(Private::Nodes).map_err(to_status)?;
        node_list(&published, &request).map_err(Status::invalid_argument)
    }

    pub(super) async fn partitions(&self, actor: Actor) -> Result<ListPartitionsReply, Status> {
        let published = self.latest().await?;
        Sight::of(&actor, &published.state).open(Private::Partitions).map_err(to_status)?;
        let state = &published.state;
        let view = |partition: &Partition| partition_view(state, partition);
        Ok(ListPartitionsReply { partitions: state.partitions.iter().map(view).collect() })
    }
}

/// The page of nodes that is asked for.
fn node_list(published: &Published, request: &ListNodesRequest) -> Result<ListNodesReply, String> {
    let state = &published.state;
    let wanted = match request.members.is_empty() {
        true => None,
        false => Some(node_members(&request.members)?),
    };
    let named: BTreeSet<String> =
        hostlist::expand(&request.names).map_err(|error| error.to_string())?.into_iter().collect();
    let chosen: Vec<&Partition> =
        state.partitions.iter().filter(|it| request.partitions.contains(&it.name)).collect();
    let is_meant = |node: &&Arc<Node>| {
        (request.names.is_empty() || named.contains(node.name.as_str()))
            && (request.partitions.is_empty()
                || chosen.iter().any(|partition| partition.nodes.contains(&node.name)))
    };
    let behind = match request.after.as_str() {
        "" => Bound::Unbounded,
        after => Bound::Excluded(NodeName::from(after)),
    };
    let page = match request.page_size as usize {
        0 => limits::PAGE,
        size => size.min(limits::PAGE),
    };
    let mut meant =
        state.nodes.range((behind, Bound::Unbounded)).map(|(_, node)| node).filter(is_meant);
    let view = |node: &Arc<Node>| match &wanted {
        Some(wanted) => node_view(published, node).only(wanted),
        None => node_view(published, node),
    };
    let nodes: Vec<NodeView> = meant.by_ref().take(page).map(view).collect();
    let next_after = match meant.next() {
        Some(_) => nodes.last().map(|node| node.name.clone()).unwrap_or_default(),
        None => String::new(),
    };
    Ok(ListNodesReply { nodes, next_after })
}

/// Members by their names, and that by which a node is known.
fn node_members(names: &[String]) -> Result<Vec<&str>, String> {
    match names.iter().find(|name| !NODE_MEMBERS.contains(&name.as_str())) {
        Some(name) => Err(format!("a node has no member {name}")),
        None => Ok(names.iter().map(String::as_str).chain(["name"]).collect()),
    }
}

fn partition_view(state: &State, partition: &Partition) -> PartitionView {
    let rules = &partition.rules;
    let members = state.nodes.values().filter(|node| partition.nodes.contains(&node.name));
    let members: Vec<&Node> = members.map(|node| &**node).collect();
    let sum = |of: fn(&Node) -> u64| -> u64 { members.iter().map(|node| of(node)).sum() };
    let memory = |amount: Option<Megabytes>| amount.map(|amount| amount.0);
    let allowed = |allowed: &Allowed| match allowed {
        Allowed::All => "ALL".to_string(),
        Allowed::These(names) => names.join(","),
    };
    PartitionView {
        name: partition.name.clone(),
        is_default: partition.is_default,
        is_up: rules.state == PartitionState::Up,
        state: rules.state.word().to_uppercase(),
        max_time: Some(partition.max_time),
        default_time: partition.default_time,
        nodes: hostlist::compress(members.iter().map(|node| node.name.as_str())),
        total_nodes: members.len() as u32,
        total_cpus: sum(|node| u64::from(node.inventory.cpus)) as u32,
        allow_accounts: allowed(&rules.allow_accounts),
        deny_accounts: rules.deny_accounts.join(","),
        allow_groups: allowed(&rules.allow_groups),
        allow_qos: allowed(&rules.allow_qos),
        deny_qos: rules.deny_qos.join(","),
        allow_alloc_nodes: match &rules.alloc_nodes {
            NodeList::All => "ALL".to_string(),
            NodeList::Named { text, .. } => text.clone(),
        },
        qos: rules.qos.clone().unwrap_or_default(),
        alternate: rules.alternate.clone().unwrap_or_default(),
        default_memory_per_cpu_mb: memory(rules.def_mem_per_cpu),
        default_memory_per_node_mb: memory(rules.def_mem_per_node),
        max_memory_per_cpu_mb: memory(rules.max_mem_per_cpu),
        max_memory_per_node_mb: memory(rules.max_mem_per_node),
        max_cpus_per_node: Some(rules.max_cpus_per_node.0),
        max_cpus_per_socket: Some(rules.max_cpus_per_socket.0),
        max_nodes: Some(rules.max_nodes.0),
        min_nodes: rules.min_nodes,
        over_subscribe: rules.over_subscribe.slurm(),
        over_time_limit: rules.over_time_limit.map(|limit| limit.0),
        priority_job_factor: rules.priority_job_factor.into(),
        priority_tier: rules.priority_tier.into(),
        preempt_mode: preempt_mode(
            rules.preempt_mode.unwrap_or(state.settings.config.preemption.mode),
        ),
        grace_secs: u32::try_from(rules.grace_time.0).unwrap_or(u32::MAX),
        root_only: rules.root_only,
        hidden: rules.hidden,
        disable_root_jobs: rules
            .disable_root_jobs
            .unwrap_or(state.settings.config.jobs.disable_root_jobs),
        reservation_required: rules.require_reservation,
        least_loaded_nodes: rules.least_loaded,
        exclusive_user: rules.exclusive_user,
        power_down_on_idle: rules.power_down_on_idle,
        job_defaults: job_defaults(rules.def_cpu_per_gpu, rules.def_mem_per_gpu),
        billing_weights: rules.tres_billing_weights.as_ref().map(Weights::said).unwrap_or_default(),
        cpu_binding: rules.cpu_bind.map_or(0, CpuBind::bit),
        tres: tres(
            state,
            sum(|node| u64::from(node.inventory.cpus)),
            sum(|node| node.inventory.memory_mb),
            Some(members.len() as u64),
            members
                .iter()
                .flat_map(|node| &node.inventory.gres)
                .map(|gres| (gres.name.as_str(), gres.kind.as_str(), gres.count)),
            Some(&[partition]),
        ),
        ..PartitionView::default()
    }
}

fn preempt_mode(mode: PreemptMode) -> String {
    let word = mode.action.word().to_uppercase();
    if mode.gang { format!("GANG,{word}") } else { word }
}

/// `cpu=4,mem=1000M,node=2,gres/gpu=8`, with `billing=4` where it is said which partitions charge for it: the
/// one that charges most counts. Types of devices where they are tracked.
pub(super) fn tres<'a>(
    state: &State,
    cpus: u64,
    memory_mb: u64,
    nodes: Option<u64>,
    gres: impl Iterator<Item = (&'a str, &'a str, u64)>,
    billed_in: Option<&[&Partition]>,
) -> String {
    let config = &state.settings.config;
    let mut needs = Needs::from([(Tres::Cpu, cpus)]);
    if memory_mb > 0 {
        needs.insert(Tres::Memory, memory_mb);
    }
    needs.extend(nodes.map(|nodes| (Tres::Node, nodes)));
    for (name, kind, count) in gres {
        needs::add_gres(&mut needs, name, kind, count);
    }
    if let Some(partitions) = billed_in {
        needs::bill_most(&mut needs, partitions.iter().map(|it| &*it.rules), &config.priority);
    }
    needs.retain(|tres, _| match tres {
        Tres::Named { name, .. } if name.contains(':') => {
            let tres = tres.to_string();
            config.accounting.tres.contains(&tres)
        }
        _ => true,
    });
    let amounts: Amounts = needs.into_iter().map(|(tres, amount)| (tres, Some(amount))).collect();
    spur_core::tres::display(&amounts)
}

/// What a node is doing follows from its jobs, its link and its service; it is kept nowhere.
pub(super) fn node_view(published: &Published, node: &Node) -> NodeView {
    let state = &published.state;
    let used = state.used_on(&node.name);
    let kept = Kept::on(&state.settings.config, node);
    let kept_cpus = kept.cpus(&node.inventory);
    let restarts = node.restarting().is_some();
    let base = match used.cpus {
        _ if !node.link.is_up() || node.service.down || restarts => NodeState::Down,
        0 => NodeState::Idle,
        used if used >= node.inventory.cpus.saturating_sub(kept_cpus.len()) => NodeState::Allocated,
        _ => NodeState::Mixed,
    };
    let mine = |it: &Reservation| it.is_active(state.now) && it.nodes.contains(&node.name);
    let reserved = |flag: Flags| {
        let all = state.reservations.values();
        let (maint, mut of_kind) = (flag == Flags::MAINT, all.filter(|it| mine(it)));
        of_kind.any(|it| it.flags.has(Flags::MAINT) == maint)
    };
    let flags = [
        // Nobody expects to hear a node that restarts.
        (!node.link.is_up() && !restarts, NodeFlag::NotResponding),
        (restarts, NodeFlag::RebootIssued),
        (node.reboot.is_some() && !restarts, NodeFlag::RebootRequested),
        (node.service.drain, NodeFlag::Drain),
        (node.service.fail, NodeFlag::Fail),
        (reserved(Flags::MAINT), NodeFlag::Maintenance),
        (reserved(Flags::default()), NodeFlag::Reserved),
        (base == NodeState::Idle && published.planned().contains(&node.name), NodeFlag::Planned),
    ];
    let status = flags.iter().filter(|(holds, _)| *holds);
    let status = status.fold(NodeStatus(base.number()), |status, (_, flag)| status.with(*flag));
    let partitions = state.partitions.iter();
    let partitions = partitions.filter(|partition| partition.nodes.contains(&node.name));
    let billed_in: Vec<&Partition> = partitions.collect();
    let (has, note) = (&node.inventory, node.service.reason.as_ref());
    let or_name =
        |text: &str| if text.is_empty() { node.name.to_string() } else { text.to_string() };
    let not_responding =
        || if node.link.is_up() { String::new() } else { "Not responding".to_string() };
    let next_state = node.reboot.as_ref().and_then(|reboot| reboot.next);
    let load = published.loads.get(&node.name).filter(|_| node.link.is_up());
    NodeView {
        name: node.name.to_string(),
        state: status.0,
        cpus: has.cpus,
        cpus_allocated: used.cpus,
        cpus_effective: has.cpus.saturating_sub(kept_cpus.len()),
        core_spec_count: kept.cores.len() as u32,
        cpu_spec_list: kept_cpus.to_string(),
        memory_mb: has.memory_mb,
        memory_allocated_mb: used.memory_mb,
        reason: note.map_or_else(not_responding, |note| note.text.clone()),
        reason_time: note.map_or(0, |note| note.at.0),
        reason_uid: note.map_or(0, |note| note.by.0),
        partitions: billed_in.iter().map(|partition| partition.name.clone()).collect(),
        boards: has.boards.max(1),
        sockets: has.sockets,
        cores: has.cores_per_socket,
        threads: has.threads_per_core,
        temporary_disk_mb: has.tmp_mb,
        weight: node.weight,
        features: node.features.clone(),
        active_features: node.active_features.clone(),
        gres: gres_text(
            has.gres.iter().map(|gres| (gres.name.as_str(), gres.kind.as_str(), gres.count)),
        ),
        gres_used: gres_used(published, node),
        tres: tres(
            state,
            has.cpus.into(),
            has.memory_mb,
            None,
            has.gres.iter().map(|gres| (gres.name.as_str(), gres.kind.as_str(), gres.count)),
            Some(&billed_in),
        ),
        tres_used: match used.cpus {
            0 => String::new(),
            cpus => {
                let gres = used.gres.iter();
                let gres = gres.map(|((name, kind), n)| (name.as_str(), kind.as_str(), *n));
                tres(state, cpus.into(), used.memory_mb, None, gres, None)
            }
        },
        architecture: node.found.architecture.clone(),
        operating_system: node.found.operating_system.clone(),
        version: node.found.version.clone(),
        hostname: or_name(&node.found.hostname),
        address: or_name(&node.found.address),
        boot_time: node.found.boot_time,
        agent_start_time: node.found.agent_start,
        last_busy: last_busy(published, node),
        cpu_load_centi: load.and_then(|load| load.centi),
        free_memory_mb: load.and_then(|load| load.free_memory_mb),
        comment: node.comment.clone(),
        extra: node.extra.clone(),
        cpu_binding: node.cpu_bind.map_or(0, CpuBind::bit),
        next_state: next_state.map(|it| it.word().to_string()).unwrap_or_default(),
        cluster: state.settings.cluster_name.clone(),
        ..NodeView::default()
    }
}

/// When the node was last given to a job or came back from one; until then since when it is there.
fn last_busy(published: &Published, node: &Node) -> i64 {
    let there = match node.link {
        Link::Up(since) | Link::Down(since) => since,
    };
    published.busy().get(&node.name).map_or(there.0, |busy| busy.0)
}

/// `gpu:mi300x:4(IDX:0-3)`: what jobs hold of each resource of the node, and which devices.
fn gres_used(published: &Published, node: &Node) -> String {
    let state = &published.state;
    let jobs = state.index.on_node.get(&node.name).into_iter().flat_map(|jobs| jobs.keys());
    let held = jobs.filter_map(|id| state.jobs.get(id)?.phase.holds());
    let shares: Vec<&GresShare> = held
        .flat_map(|held| &held.shares)
        .filter(|share| share.node == node.name)
        .flat_map(|share| &share.gres)
        .collect();
    let mut told = Vec::new();
    for gres in &node.inventory.gres {
        let mine = |share: &&&GresShare| gres.gives(&share.name, &share.kind);
        let count: u64 = shares.iter().filter(mine).map(|share| share.count).sum();
        let ids: IdSet = shares.iter().filter(mine).flat_map(|share| share.ids.iter()).collect();
        let ids = if ids.is_empty() { "N/A".to_string() } else { ids.to_string() };
        let item = gres_text(std::iter::once((gres.name.as_str(), gres.kind.as_str(), count)));
        told.push(format!("{item}(IDX:{ids})"));
    }
    // What others have and this one lacks is told as none.
    let lacks = |name: &&String| node.inventory.gres.iter().all(|gres| gres.name != **name);
    told.extend(published.resources().iter().filter(lacks).map(|name| format!("{name}:0")));
    told.join(",")
}

/// `gpu:mi300x:8,tmp:2`
fn gres_text<'a>(gres: impl Iterator<Item = (&'a str, &'a str, u64)>) -> String {
    let item = |(name, kind, count): (&str, &str, u64)| match kind {
        "" => format!("{name}:{count}"),
        kind => format!("{name}:{kind}:{count}"),
    };
    gres.map(item).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::state::{Command, Entry, Origin, RegisterNode, Settings, apply};
    use spur_core::time::Timestamp;

    fn cluster() -> Published {
        let config = "[[partitions]]\nname = \"low\"\nnodes = \"n[1-3]\"\n\n[[partitions]]\nname = \"all\"\ndefault = true\n";
        let settings = Settings::of(&spur_core::config::read(config).expect("is in order"));
        let mut published = Published::default();
        let register = |name: &str| {
            Command::RegisterNode(RegisterNode {
                name: name.into(),
                inventory: Default::default(),
                boot_id: String::new(),
            })
        };
        let nodes = ["n1", "n2", "n3", "n4"].map(register);
        for command in std::iter::once(Command::Configure(settings)).chain(nodes) {
            let entry = Entry { at: Timestamp(1), origin: Origin::default(), command };
            apply(&mut published.state, &entry).reply.expect("is accepted");
        }
        published
    }

    fn names(reply: &ListNodesReply) -> Vec<&str> {
        reply.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn nodes_are_chosen_and_come_page_by_page() {
        let published = cluster();
        let list = |request: ListNodesRequest| node_list(&published, &request).expect("is told");
        let all = list(ListNodesRequest::default());
        assert_eq!((names(&all), all.next_after.as_str()), (vec!["n1", "n2", "n3", "n4"], ""));
        let some = list(ListNodesRequest { names: "n[2,4,9]".into(), ..Default::default() });
        assert_eq!(names(&some), ["n2", "n4"]);
        let low = vec!["low".to_string()];
        let first =
            ListNodesRequest { partitions: low.clone(), page_size: 2, ..Default::default() };
        let page = list(first.clone());
        assert_eq!((names(&page), page.next_after.as_str()), (vec!["n1", "n2"], "n2"));
        let page = list(ListNodesRequest { after: page.next_after, ..first });
        assert_eq!((names(&page), page.next_after.as_str()), (vec!["n3"], ""));
        let wrong = ListNodesRequest { names: "n[".into(), page_size: 1, ..Default::default() };
        assert!(list(wrong).nodes.is_empty());
    }

    #[test]
    fn only_members_that_are_asked_for_are_told() {
        let published = cluster();
        let asked = |member: &str| {
            let members = vec![member.to_string()];
            node_list(&published, &ListNodesRequest { members, ..Default::default() })
        };
        let whole = node_list(&published, &ListNodesRequest::default()).expect("is told");
        let part = asked("state").expect("is told");
        assert_eq!(part.nodes[0].state, whole.nodes[0].state);
        assert_eq!(part.nodes[0].name, "n1");
        assert!(part.nodes[0].partitions.is_empty() && !whole.nodes[0].partitions.is_empty());
        assert_eq!(asked("nosuch").unwrap_err(), "a node has no member nosuch");
    }
}
