//! How important a job is: the weighted sum of factors, as `sprio` shows it.

use std::collections::BTreeMap;

use spur_core::accounts::classic;
use spur_core::accounts::fairshare::{self, Tree};
use spur_core::accounts::limits::{Purse, Whole};
use spur_core::accounts::needs;
use spur_core::accounts::usage::Usage;
use spur_core::config::sections;
use spur_core::config::words::{PriorityFlag, PriorityKind};
use spur_core::job::{Demand, Job};
use spur_core::limit::Limit;
use spur_core::node::Kept;
use spur_core::partition::Partition;
use spur_core::state::State;
use spur_core::time::Timestamp;
use spur_core::tres;

/// What priorities are told by at one moment: the same for all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// The moment, in seconds since the epoch.
    pub told: i64,
    /// Processors of the cluster.
    pub cpus: u64,
    /// Its nodes.
    pub nodes: u64,
    /// Everybody's share.
    pub tree: Tree,
    /// Everybody's usage.
    pub usage: BTreeMap<Purse, Usage>,
    /// What there is, if limits are parts of it.
    pub whole: Option<Whole>,
}

impl Basis {
    /// As of a moment.
    pub fn of(state: &State, told: i64) -> Basis {
        let usage = match state.rules.is_empty() {
            true => BTreeMap::new(),
            false => state.usage_at(Timestamp(told).max(state.now)),
        };
        // Sums stand at every level; the tree wants what each user did itself.
        let own = state.rules.associations().filter(|one| !one.user_name.is_empty());
        let billed =
            own.filter_map(|one| Some((one.id, usage.get(&Purse::Association(one.id))?.billed())));
        let flags = &state.settings.config.priority.flags;
        let formula = match () {
            () if flags.contains(&PriorityFlag::DepthOblivious) => classic::depth_oblivious,
            () if flags.contains(&PriorityFlag::NoFairTree) => classic::tree,
            () => fairshare::tree,
        };
        let tree = formula(&state.rules, &billed.collect());
        let cpus = (state.nodes.values())
            .map(|node| {
                let kept = Kept::on(&state.settings.config, node).cpus(&node.inventory).len();
                u64::from(node.inventory.cpus.saturating_sub(kept))
            })
            .sum();
        Basis { told, cpus, nodes: state.nodes.len() as u64, tree, usage, whole: state.whole() }
    }
}

/// When priorities are told anew, at moments that do not depend on when the planner was started.
pub fn moment(state: &State) -> i64 {
    let rules = &state.settings.config.priority;
    let period = rules.calc_period.0.number().unwrap_or(5).clamp(1, 1440) as i64 * 60;
    state.now.0.div_euclid(period) * period
}

/// What is known about a job.
pub fn facts(state: &State, job: &Job, partition: Option<&Partition>, basis: &Basis) -> Facts {
    let rules = &state.settings.config.priority;
    let has = |flag: PriorityFlag| rules.flags.contains(&flag);
    // Factors as they are, not as parts of the largest.
    let raw = |flag: PriorityFlag| has(flag) || has(PriorityFlag::NoNormalAll);
    let since = match has(PriorityFlag::AccrueAlways) {
        true => job.submitted.0,
        false => job.submitted.max(job.begin.unwrap_or(job.submitted)).0,
    };
    let factor = |it: &Partition| f64::from(it.rules.priority_job_factor);
    let largest = state.partitions.iter().map(factor).fold(1.0, f64::max);
    let demand = Demand::of(&job.spec);
    let association = state.association_of(job);
    Facts {
        age_secs: match state.accrues_since(job).filter(|_| !has(PriorityFlag::AccrueAlways)) {
            Some(begun) => begun.map_or(0, |begun| basis.told - begun.0),
            None => basis.told - since,
        },
        size: match has(PriorityFlag::SmallRelativeToTime) {
            true => size_by_time(demand.cpus().into(), job.time_limit(partition), basis, rules),
            false => size((demand.cpus().into(), demand.nodes_min.into()), basis, rules),
        },
        partition: match raw(PriorityFlag::NoNormalPartition) {
            true => partition.map_or(0.0, factor),
            false => partition.map_or(0.0, factor) / largest,
        },
        qos: match raw(PriorityFlag::NoNormalQos) {
            true => state.rules.qos(&job.spec.qos).map_or(0.0, |qos| f64::from(qos.priority)),
            false => state.rules.qos_factor(&job.spec.qos),
        },
        association: association.map_or(0.0, |one| match raw(PriorityFlag::NoNormalAssociation) {
            true => f64::from(state.rules.association_priority(one)),
            false => state.rules.association_factor(one),
        }),
        fair_share: association.map_or(0.0, |one| basis.tree.factor(one.id)),
        tres: tres_terms(state, job, partition).iter().map(|(_, term)| term).sum(),
        site: i64::from(job.spec.rare().site_factor.unwrap_or(0)),
        nice: i64::from(job.spec.nice.unwrap_or(0)),
    }
}

/// What the weights of resources make of a job: each as a part of what its partition has.
pub fn tres_terms(state: &State, job: &Job, partition: Option<&Partition>) -> Vec<(String, f64)> {
    let rules = &state.settings.config.priority;
    let weights = &rules.weight_tres.0;
    let raw = rules.flags.contains(&PriorityFlag::NoNormalTres)
        || rules.flags.contains(&PriorityFlag::NoNormalAll);
    let Some(partition) = partition.filter(|_| !weights.is_empty()) else { return Vec::new() };
    let needs = state.needs_of(job);
    let nodes = state.nodes.values().filter(|node| partition.nodes.contains(&node.name));
    let there = needs::of_nodes(nodes.map(|node| &**node));
    let term = |(name, weight): (&String, &spur_core::config::Weight)| {
        let tres = tres::parse_name(name).ok()?;
        let all = there.get(&tres).copied().filter(|all| *all > 0)?;
        let needed = needs.get(&tres).copied().unwrap_or(0) as f64;
        let part = if raw { needed } else { (needed / all as f64).min(1.0) };
        Some((tres.to_string(), weight.factor * part))
    };
    weights.iter().filter_map(term).collect()
}

/// What a job's priority is told from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Since when it could start, in seconds before the moment.
    pub age_secs: i64,
    /// Its nodes or processors as a part of the cluster's, from 0 to 1.
    pub size: f64,
    /// Its partition's factor as a part of the largest.
    pub partition: f64,
    /// Its QOS's priority as a part of the largest.
    pub qos: f64,
    /// Its association's priority as a part of the largest.
    pub association: f64,
    /// Its fair-share factor.
    pub fair_share: f64,
    /// What the weights of resources make of it, already weighted.
    pub tres: f64,
    /// Set by the site.
    pub site: i64,
    /// Subtracted.
    pub nice: i64,
}

/// The terms of a priority: each factor times its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// For waiting.
    pub age: f64,
    /// For size.
    pub job_size: f64,
    /// For the partition.
    pub partition: f64,
    /// For the QOS.
    pub qos: f64,
    /// For the association.
    pub association: f64,
    /// For fair share.
    pub fair_share: f64,
    /// For what it asks for.
    pub tres: f64,
    /// By the site.
    pub site: f64,
    /// Taken away.
    pub nice: f64,
}

impl Terms {
    /// The terms by a configuration.
    pub fn of(facts: &Facts, rules: &sections::Priority) -> Terms {
        let weigh = |weight: u32, factor: f64| f64::from(weight) * factor.clamp(0.0, 1.0);
        let max_age = rules.max_age.0.number().map_or(0, |minutes| minutes.saturating_mul(60));
        let age = if max_age == 0 { 0.0 } else { facts.age_secs.max(0) as f64 / max_age as f64 };
        Terms {
            age: weigh(rules.weight_age, age),
            job_size: weigh(rules.weight_job_size, facts.size),
            partition: f64::from(rules.weight_partition) * facts.partition,
            qos: f64::from(rules.weight_qos) * facts.qos,
            association: f64::from(rules.weight_association) * facts.association,
            fair_share: weigh(rules.weight_fairshare, facts.fair_share),
            tres: facts.tres,
            site: facts.site as f64,
            nice: facts.nice as f64,
        }
    }

    /// Their sum; a job that is not held has at least 1.
    pub fn sum(&self) -> u32 {
        let sum = self.age
            + self.job_size
            + self.partition
            + self.qos
            + self.association
            + self.fair_share
            + self.tres
            + self.site
            - self.nice;
        sum.clamp(1.0, f64::from(u32::MAX - 1)) as u32
    }
}

/// The size factor, of processors and nodes alike: large jobs are favoured, or small ones.
pub fn size((cpus, nodes): (u64, u64), basis: &Basis, rules: &sections::Priority) -> f64 {
    let of = |one: u64, all: u64| if all == 0 { 0.0 } else { (one as f64 / all as f64).min(1.0) };
    let part = (of(cpus, basis.cpus) + of(nodes, basis.nodes)) / 2.0;
    if rules.favor_small { 1.0 - part } else { part }
}

/// The size factor where processors are held against the time limit.
fn size_by_time(cpus: u64, limit: Limit, basis: &Basis, rules: &sections::Priority) -> f64 {
    let minutes = limit.number().unwrap_or(365 * 1440).max(1);
    let part = (cpus as f64 / minutes as f64 / basis.cpus.max(1) as f64).min(1.0);
    if rules.favor_small { 1.0 - part } else { part }
}

/// Whether priorities are told from factors at all.
pub fn is_multifactor(rules: &sections::Priority) -> bool {
    rules.plugin == PriorityKind::Multifactor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_those_slurm_showed_for_the_same_jobs() {
        let rules = sections::Priority {
            weight_age: 1000,
            weight_fairshare: 10_000,
            weight_job_size: 1000,
            weight_partition: 1000,
            weight_qos: 2000,
            ..sections::Priority::default()
        };
        let basis = Basis { cpus: 256, nodes: 4, ..Basis::default() };
        let facts = |cpus, nodes, qos, nice| Facts {
            size: size((cpus, nodes), &basis, &rules),
            partition: 0.1,
            fair_share: 1.0,
            qos,
            nice,
            ..Facts::default()
        };
        assert_eq!(Terms::of(&facts(1, 1, 0.0, 0), &rules).sum(), 10_226);
        assert_eq!(Terms::of(&facts(3, 3, 1.0, 0), &rules).sum(), 12_480);
        assert_eq!(Terms::of(&facts(128, 4, 0.0, 500), &rules).sum(), 10_350);
    }
}
