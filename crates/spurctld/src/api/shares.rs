//! What priorities are made of, and everybody's share.

use std::collections::BTreeMap;

use spur_core::accounts::limits::{Needs, Purse};
use spur_core::accounts::needs;
use spur_core::auth::Actor;
use spur_core::job::{Array, Job, Phase, Reason};
use spur_core::partition::Partition;
use spur_core::state::State;
use spur_core::tres::{self, Tres};
use spur_core::views::{PriorityView, ShareView};
use spur_proto::slurm::{ListPrioritiesReply, ListSharesReply};
use spur_sched::priority::{self, Basis, Facts, Terms};
use tonic::Status;

use super::service::Service;
use super::sight::Sight;
use crate::shell::Published;

impl Service {
    pub(super) async fn priorities(&self, actor: Actor) -> Result<ListPrioritiesReply, Status> {
        let published = self.latest().await?;
        let state = &published.state;
        let sight = Sight::of(&actor, state);
        let pending = state.index.pending.iter().filter_map(|id| state.jobs.get(id));
        // A task that its array holds back does not wait for its turn.
        let held_back = |job: &&std::sync::Arc<Job>| {
            let wait = published.waits.get(job.id);
            wait.is_some_and(|wait| wait.reason == Reason::JobArrayTaskLimit)
        };
        let shown = pending
            .filter(|job| sight.job(job) && state.obstacle(job).is_none() && !held_back(job));
        // Each of its partitions weighs a job by itself.
        let rows = shown.flat_map(|job| {
            let partitions: Vec<_> = state.partitions_of(job).collect();
            match partitions.len() {
                0 | 1 => {
                    let told = published.waits.priority(job.id);
                    vec![priority_view(&published, job, state.partition_of(job), told)]
                }
                _ => partitions
                    .into_iter()
                    .map(|it| priority_view(&published, job, Some(it), None))
                    .collect(),
            }
        });
        Ok(ListPrioritiesReply {
            priorities: std::iter::once(weights(state)).chain(rows).collect(),
        })
    }

    pub(super) async fn shares(&self, actor: Actor) -> Result<ListSharesReply, Status> {
        let published = self.latest().await?;
        let state = &published.state;
        let own = match actor.uid() {
            Some(uid) => self.names.of(uid).await,
            None => String::new(),
        };
        let sight = Sight::of(&actor, state);
        // As of now, not of when priorities were last told, nor of the last entry: nothing may have happened since.
        let basis = &Basis::of(state, crate::clock::now().wall.0);
        let sums = Sums { run_minutes: run_minutes(state), always: always(state) };
        let rows = basis.tree.shares.iter();
        let shares = rows.filter_map(|share| share_view(state, basis, share, &sums));
        let shares = shares.filter(|it| sight.share(&own, &it.user_name, &it.account));
        Ok(ListSharesReply { shares: shares.collect() })
    }
}

fn weights(state: &State) -> PriorityView {
    let rules = &state.settings.config.priority;
    let tres: Vec<String> = rules
        .weight_tres
        .0
        .iter()
        .map(|(name, weight)| format!("{name}={}", weight.factor))
        .collect();
    PriorityView {
        is_weights: true,
        cluster: state.settings.cluster_name.clone(),
        age_weight: rules.weight_age,
        association_weight: rules.weight_association,
        fairshare_weight: rules.weight_fairshare,
        job_size_weight: rules.weight_job_size,
        partition_weight: rules.weight_partition,
        qos_weight: rules.weight_qos,
        tres_weights: tres.join(","),
        ..PriorityView::default()
    }
}

fn priority_view(
    published: &Published,
    job: &Job,
    partition: Option<&Partition>,
    told: Option<u32>,
) -> PriorityView {
    let state = &published.state;
    let rules = &state.settings.config.priority;
    // What was set by hand is not made of anything.
    let facts = match job.spec.priority {
        Some(_) => Facts { nice: i64::from(job.spec.nice.unwrap_or(0)), ..Facts::default() },
        None => priority::facts(state, job, partition, &published.waits.basis),
    };
    let terms = Terms::of(&facts, rules);
    // Factors as they were weighed: none is above one.
    let factor = |term: f64, weight: u32| if weight == 0 { 0.0 } else { term / f64::from(weight) };
    let tres = match job.spec.priority {
        Some(_) => Vec::new(),
        None => priority::tres_terms(state, job, partition),
    };
    let list = |of: &dyn Fn(&str, f64) -> String| -> String {
        let parts: Vec<String> = tres.iter().map(|(name, term)| of(name, *term)).collect();
        parts.join(",")
    };
    let weight_of = |name: &str| rules.weight_tres.0.get(name).map_or(1.0, |weight| weight.factor);
    // What was set by hand holds in every partition.
    let told = told.or(job.spec.priority).unwrap_or_else(|| terms.sum());
    let last_task = state.last_task(job);
    PriorityView {
        job_id: job.id.0,
        array_job_id: job.array_id().map_or(0, |array| array.0),
        array_task_id: job.task().or(last_task),
        array_task_string: match job.array.as_deref() {
            Some(Array::Waiting(tasks)) if last_task.is_none() => tasks.shown(),
            _ => String::new(),
        },
        partition: partition.map(|it| it.name.clone()).unwrap_or_default(),
        user_name: job.owner.name.clone(),
        account: job.spec.account.clone(),
        qos: job.spec.qos.clone(),
        priority: told,
        site: facts.site,
        nice: facts.nice,
        age: factor(terms.age, rules.weight_age),
        association: factor(terms.association, rules.weight_association),
        fairshare: factor(terms.fair_share, rules.weight_fairshare),
        job_size: factor(terms.job_size, rules.weight_job_size),
        partition_factor: factor(terms.partition, rules.weight_partition),
        qos_factor: factor(terms.qos, rules.weight_qos),
        tres: list(&|name, term| format!("{name}={term:.0}")),
        tres_normalized: list(&|name, term| format!("{name}={:.2}", term / weight_of(name))),
        is_weights: false,
        ..weights(state)
    }
}

/// Minutes that running jobs may still use, by association and everything above it.
fn run_minutes(state: &State) -> BTreeMap<u32, Needs> {
    let mut sums: BTreeMap<u32, Needs> = BTreeMap::new();
    for job in state.index.active.iter().filter_map(|id| state.jobs.get(id)) {
        let Some(own) = state.association_of(job) else { continue };
        let needs = state.needs_of(job);
        let Some(left) = minutes_left(state, job) else { continue };
        for one in state.rules.lineage(own) {
            let sum = sums.entry(one.id).or_default();
            for (tres, amount) in &needs {
                *sum.entry(tres.clone()).or_insert(0) += amount * left;
            }
        }
    }
    sums
}

/// How long a running job may still run.
pub(super) fn minutes_left(state: &State, job: &Job) -> Option<u64> {
    let minutes = job.time_limit(state.partition_of(job)).number()?;
    let since = match &job.phase {
        Phase::Running { since, .. } | Phase::Completing { started: since, .. } => *since,
        Phase::Pending | Phase::Ended { .. } => return None,
    };
    Some(minutes.saturating_sub((state.now.0 - since.0).max(0) as u64 / 60))
}

fn share_view(
    state: &State,
    basis: &Basis,
    share: &spur_core::accounts::fairshare::Share,
    sums: &Sums,
) -> Option<ShareView> {
    let one = state.rules.associations().find(|one| one.id == share.id)?;
    let is_root = share.depth == 0;
    let from_parent = one.shares == spur_core::accounts::settings::SHARES_FROM_PARENT;
    let spent = basis.usage.get(&Purse::Association(one.id)).map(|usage| usage.spent());
    let listed = |amounts: &BTreeMap<Tres, u64>| listed(&sums.always, amounts);
    let raw = listed(&spent.map(|spent| spent.minutes).unwrap_or_default());
    Some(ShareView {
        id: one.id,
        cluster: one.cluster.clone(),
        account: one.account.clone(),
        user_name: one.user_name.clone(),
        partition: one.partition.clone(),
        parent: if one.user_name.is_empty() { one.parent.clone() } else { one.account.clone() },
        depth: share.depth,
        raw_shares: (!is_root && !from_parent).then_some(one.shares),
        shares_from_parent: from_parent,
        norm_shares: share.norm_shares,
        raw_usage: share.usage as u64,
        norm_usage: (!is_root).then_some(share.norm_usage),
        effective_usage: share.effective_usage,
        fairshare: share.factor,
        level_fairshare: match is_root || from_parent {
            true => None,
            false => Some(share.level.unwrap_or(f64::INFINITY)),
        },
        grp_tres_mins: one.grp_tres_mins.clone(),
        grp_tres_raw: raw,
        tres_run_mins: listed(sums.run_minutes.get(&one.id).unwrap_or(&Needs::new())),
    })
}

/// What is the same for all rows.
struct Sums {
    run_minutes: BTreeMap<u32, Needs>,
    always: Needs,
}

/// What is always counted, zero or not: Slurm's own resources, those the configuration names, and what nodes have.
pub(super) fn always(state: &State) -> Needs {
    let own = [
        Tres::Cpu,
        Tres::Memory,
        Tres::Energy,
        Tres::Node,
        Tres::Billing,
        Tres::Disk,
        Tres::VirtualMemory,
        Tres::Pages,
    ];
    let named = &state.settings.config.accounting.tres;
    let named = named.iter().filter_map(|name| tres::parse_name(name).ok());
    let there = needs::of_nodes(state.nodes.values().map(|node| &**node));
    own.into_iter().chain(named).chain(there.into_keys()).map(|tres| (tres, 0)).collect()
}

/// As `sshare` lists amounts.
pub(super) fn listed(always: &Needs, amounts: &BTreeMap<Tres, u64>) -> String {
    let mut all = always.clone();
    all.extend(amounts.iter().map(|(tres, amount)| (tres.clone(), *amount)));
    let parts: Vec<String> = all.iter().map(|(tres, amount)| format!("{tres}={amount}")).collect();
    parts.join(",")
}
