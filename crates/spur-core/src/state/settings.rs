//! The part of the configuration that decides what entries mean, and is therefore replicated.

use std::sync::Arc;

use crate::config::{Config, Members, Seconds, sections};
use crate::errors::SlurmError;
use crate::partition::{NodeSet, Partition};
use crate::state::{Reply, State};

/// Replicated configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The cluster's name.
    pub cluster_name: String,
    /// Its partitions, in the order they were written.
    pub partitions: Vec<Partition>,
    /// How long an ended job is still shown, in seconds.
    pub min_job_age_secs: u32,
    /// How long a job that is asked to end may take, in seconds.
    pub kill_wait_secs: u32,
    /// The first job's number.
    pub first_job_id: u32,
}

impl Default for Settings {
    /// What an empty configuration file means.
    fn default() -> Settings {
        Settings::of(&Config::default())
    }
}

impl Settings {
    /// The part of a configuration that is replicated.
    pub fn of(config: &Config) -> Settings {
        let secs = |seconds: Seconds| u32::try_from(seconds.0).unwrap_or(u32::MAX);
        Settings {
            cluster_name: config.cluster.cluster_name.clone(),
            partitions: config.partitions.iter().map(|entry| partition(config, entry)).collect(),
            min_job_age_secs: secs(config.timeouts.min_job_age),
            kill_wait_secs: secs(config.timeouts.kill_wait),
            first_job_id: config.limits.first_job_id,
        }
    }
}

fn partition(config: &Config, entry: &sections::Partition) -> Partition {
    let nodes = match config.members(entry) {
        Members::All => NodeSet::All,
        Members::These(names) => NodeSet::Named(names.into_iter().collect()),
    };
    let is_default = config.default_partition().is_some_and(|default| default.name == entry.name);
    Partition {
        name: entry.name.clone(),
        is_default,
        nodes,
        max_time: entry.max_time.0,
        default_time: entry.default_time.map(|limit| limit.0),
    }
}

pub(super) fn configure(state: &mut State, settings: &Settings) -> Result<Reply, SlurmError> {
    state.next_job.0 = state.next_job.0.max(settings.first_job_id);
    state.settings = Arc::new(settings.clone());
    Ok(Reply::Done)
}
