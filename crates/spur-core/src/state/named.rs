//! What a request names must be there, and its times must be possible: what Slurm refuses at once rather
//! than let it wait for ever.

use crate::errors::SlurmError;
use crate::gres;
use crate::hostlist;
use crate::ids::NodeName;
use crate::job::JobSpec;
use crate::limit::Limit;
use crate::node::features;
use crate::state::State;

pub(super) fn check(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    nodes(state, spec)?;
    features(state, &spec.placement().constraint, SlurmError::InvalidFeature)?;
    features(state, &spec.placement().prefer, SlurmError::InvalidPrefer)?;
    resources(state, &spec.gres)?;
    segments(spec)?;
    times(state, spec)?;
    sampling(state, &spec.rare().acctg_freq)
}

fn nodes(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    let place = spec.placement();
    let wanted = expand(state, &place.nodelist)?;
    let unwanted = expand(state, &place.exclude)?;
    match wanted.iter().any(|name| unwanted.contains(name)) {
        true => Err(SlurmError::InvalidNodeName),
        false => Ok(()),
    }
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
fn features(state: &State, words: &str, refusal: SlurmError) -> Result<(), SlurmError> {
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

/// Some node must have each kind of generic resource, now or by the configuration.
fn resources(state: &State, wanted: &str) -> Result<(), SlurmError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let is_known = |kind: &str| {
        // Parts of a GPU are there wherever GPUs are.
        let kind = if kind == "shard" { "gpu" } else { kind };
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

fn times(state: &State, spec: &JobSpec) -> Result<(), SlurmError> {
    let lifecycle = spec.lifecycle();
    if let (Some(Limit::Is(least)), Some(Limit::Is(most))) = (lifecycle.time_min, spec.time_limit)
        && least > most
    {
        return Err(SlurmError::InvalidTimeMinLimit);
    }
    match lifecycle.deadline {
        Some(deadline) if deadline < state.now.0 => Err(SlurmError::InvalidTimeLimit),
        _ => Ok(()),
    }
}

/// A job may be looked at more often than configured, not less.
fn sampling(state: &State, wanted: &str) -> Result<(), SlurmError> {
    let most = state.settings.config.accounting.sample_interval.0;
    let seconds = |part: &str| {
        let (kind, number) = part.split_once('=').unwrap_or(("task", part));
        number.trim().parse::<u64>().ok().filter(|_| kind.eq_ignore_ascii_case("task"))
    };
    match wanted.split(',').filter_map(seconds).any(|secs| most > 0 && (secs == 0 || secs > most)) {
        true => Err(SlurmError::InvalidAcctFreq),
        false => Ok(()),
    }
}
