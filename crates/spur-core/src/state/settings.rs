//! The part of the configuration that decides what entries mean, and is therefore replicated.

use std::sync::Arc;

use crate::errors::SlurmError;
use crate::limit::Limit;
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
    /// What an empty configuration file means: one partition with every node that joins.
    fn default() -> Settings {
        Settings {
            cluster_name: "cluster".to_string(),
            partitions: vec![Partition {
                name: "main".to_string(),
                is_default: true,
                nodes: NodeSet::All,
                max_time: Limit::Unlimited,
                default_time: None,
            }],
            min_job_age_secs: 300,
            kill_wait_secs: 30,
            first_job_id: 1,
        }
    }
}

pub(super) fn configure(state: &mut State, settings: &Settings) -> Result<Reply, SlurmError> {
    state.next_job.0 = state.next_job.0.max(settings.first_job_id);
    state.settings = Arc::new(settings.clone());
    Ok(Reply::Done)
}
