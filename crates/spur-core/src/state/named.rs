//! What a request names must be there, and its times must be possible: what Slurm refuses at once rather
//! than let it wait for ever.

use crate::errors::SlurmError;
use crate::gres;
use crate::hostlist;
use crate::ids::NodeName;
use crate::job::JobSpec;
use crate::limit::Limit;
use crate::node::features;
use crate::number;
use crate::state::State;

/// The nodes that are asked for by name.
pub(super) fn wanted_nodes(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    expand(state, &spec.placement().nodelist).map(|_| ())
}

/// The nodes that are refused by name, which the others must not be among.
pub(super) fn unwanted_nodes(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    let wanted = neighbours(state, spec)?;
    let unwanted = expand(state, &spec.placement().exclude)?;
    match wanted.iter().any(|name| unwanted.contains(name)) {
        true => Err(SlurmError::InvalidNodeName),
        false => Ok(()),
    }
}

/// The nodes that are asked for by name, with `--contiguous` also those between them.
pub(super) fn neighbours(state: &State, spec: &JobSpec) -> Result<Vec<String>, SlurmError> {
    let wanted = expand(state, &spec.placement().nodelist)?;
    if !spec.placement().contiguous || wanted.len() < 2 {
        return Ok(wanted);
    }
    let mut all: Vec<&str> = state.nodes.keys().map(NodeName::as_str).collect();
    all.sort_by(|a, b| hostlist::natural(a, b));
    let is_wanted = |name: &&str| wanted.iter().any(|it| it == *name);
    let (Some(first), Some(last)) =
        (all.iter().position(&is_wanted), all.iter().rposition(&is_wanted))
    else {
        return Ok(wanted);
    };
    Ok(all[first..=last].iter().map(|name| (*name).to_string()).collect())
}

/// How many nodes there may be.
pub(super) fn number_of_nodes(spec: &JobSpec) -> Result<(), SlurmError> {
    // A script that is held may still be given some.
    if spec.nodes_min == Some(0) && !(spec.hold && spec.allocation.is_none()) {
        return Err(SlurmError::InvalidNodeCount);
    }
    segments(spec)
}

/// What nodes must have, and the one of the script among them.
pub(super) fn features(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    batch(spec)?;
    some_have(state, &spec.placement().constraint, SlurmError::InvalidFeature)?;
    some_have(state, &spec.placement().prefer, SlurmError::InvalidPrefer)
}

/// The generic resources that are asked for.
pub(super) fn resources(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    known(state, &spec.gres)?;
    gpus(spec)
}

fn expand(state: &State, list: &str) -> Result<Vec<String>, SlurmError> {
    let names = hostlist::expand(list).map_err(|_| SlurmError::InvalidNodeName)?;
    let is_known = |name: &String| {
        state.nodes.contains_key(&NodeName::from(name.as_str()))
            || state.settings.config.node_names().any(|known| known.as_str() == name)
    };
    if names.iter().all(is_known) { Ok(names) } else { Err(SlurmError::InvalidNodeName) }
}

/// Some node must have each feature, now or by the configuration.
fn some_have(state: &State, words: &str, refusal: SlurmError) -> Result<(), SlurmError> {
    let Some(wanted) = features::parse(words).map_err(|_| refusal)? else {
        return Ok(());
    };
    let is_known = |name: &str| {
        let has = |features: &[String]| features.iter().any(|known| known == name);
        state.nodes.values().any(|node| has(&node.features))
            || state.settings.config.nodes.iter().any(|node| has(&node.features))
    };
    match wanted.names().into_iter().all(is_known) {
        true => Ok(()),
        false => Err(refusal),
    }
}

/// The node of the script is one of the others: what it must have, `--constraint` asks for.
fn batch(spec: &JobSpec) -> Result<(), SlurmError> {
    let place = spec.placement();
    let refusal = SlurmError::BatchConstraint;
    let Some(wanted) = features::parse(&place.batch_constraint).map_err(|_| refusal)? else {
        return Ok(());
    };
    let all = features::parse(&place.constraint).map_err(|_| refusal)?;
    let all = all.as_ref().map(features::Features::names).unwrap_or_default();
    match wanted.names().first().is_none_or(|name| all.contains(name)) {
        true => Ok(()),
        false => Err(refusal),
    }
}

/// Amounts of GPUs must be numbers.
fn gpus(spec: &JobSpec) -> Result<(), SlurmError> {
    let gpu = spec.gpu();
    let lists = [&gpu.gpus, &gpu.gpus_per_node, &gpu.gpus_per_socket, &gpu.gpus_per_task];
    match lists.iter().find_map(|list| gres::parse_gpus(list).err()) {
        Some(gres::Error::Tres) => Err(SlurmError::InvalidTres),
        _ => Ok(()),
    }
}

/// Some node must have each kind of generic resource, now or by the configuration.
fn known(state: &State, wanted: &str) -> Result<(), SlurmError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let is_known = |kind: &str| {
        // Parts of a GPU are there wherever GPUs are.
        let kind = if kind == gres::SHARD { gres::GPU } else { kind };
        state.nodes.values().any(|node| node.inventory.gres.iter().any(|gres| gres.name == kind))
            || state
                .settings
                .config
                .nodes
                .iter()
                .any(|node| node.gres.iter().any(|gres| gres.name == kind))
    };
    match gres::parse_known(wanted, is_known) {
        Ok(_) => Ok(()),
        Err(gres::Error::Gres) => Err(SlurmError::InvalidGres),
        Err(gres::Error::WithAndWithoutModel) => Err(SlurmError::InvalidGresType),
        Err(gres::Error::Tres) => Err(SlurmError::InvalidTres),
    }
}

/// Groups of nodes must come out even.
fn segments(spec: &JobSpec) -> Result<(), SlurmError> {
    match (spec.placement().segment, spec.nodes_min) {
        (Some(size @ 1..), Some(nodes)) if !nodes.is_multiple_of(size) => {
            Err(SlurmError::InvalidNodeCount)
        }
        _ => Ok(()),
    }
}

/// Its times must be possible, and samples not too far from each other.
pub(super) fn times(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    let lifecycle = spec.lifecycle();
    if let Some(least) = lifecycle.time_min {
        let partition = state.first_partition(spec);
        let usual = partition.map(|it| it.default_time.unwrap_or(it.max_time));
        let most = spec.time_limit.or(usual).unwrap_or(Limit::Unlimited);
        let exceeds = match (least, most) {
            // None at all is no limit.
            (Limit::Unlimited | Limit::Is(0), Limit::Is(_)) => true,
            (Limit::Is(least), Limit::Is(most)) => least > most,
            (_, Limit::Unlimited) => false,
        };
        if exceeds {
            return Err(SlurmError::InvalidTimeMinLimit);
        }
    }
    match lifecycle.deadline {
        Some(deadline) if deadline < state.now.0 => Err(SlurmError::InvalidTimeLimit),
        _ => sampling(state, &spec.rare().acctg_freq),
    }
}

/// A job may be looked at more often than configured, not less.
fn sampling(state: &State, wanted: &str) -> Result<(), SlurmError> {
    let most = state.settings.config.accounting.sample_interval.0;
    let seconds = |part: &str| {
        let (kind, number) = part.split_once('=').unwrap_or(("task", part));
        let number = number::leading(number).map(|(number, _)| number.unsigned_abs());
        number.filter(|_| kind.eq_ignore_ascii_case("task"))
    };
    match wanted.split(',').filter_map(seconds).any(|secs| most > 0 && (secs == 0 || secs > most)) {
        true => Err(SlurmError::InvalidAcctFreq),
        false => Ok(()),
    }
}
