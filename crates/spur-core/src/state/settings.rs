//! The part of the configuration that decides what entries mean, and is therefore replicated.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::words::UsageReset;
use crate::config::{Config, Seconds, sections};
use crate::errors::SlurmError;
use crate::ids::{JobId, NodeName};
use crate::partition::Partition;
use crate::state::{Reply, State, nodes};

/// Replicated configuration: the sections that matter to the state, and what is asked of them often.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The cluster's name.
    pub cluster_name: String,
    /// The partitions of the file, in its order; those in force are [`State::partitions`].
    pub partitions: Vec<Partition>,
    /// How long an ended job is still shown, in seconds.
    pub min_job_age_secs: u32,
    /// How long a job that is asked to end may take, in seconds.
    pub kill_wait_secs: u32,
    /// The first job's number.
    pub first_job_id: u32,
    /// Everything else.
    pub config: Arc<Config>,
    /// Which of the declared nodes a name belongs to.
    node_rules: Arc<BTreeMap<NodeName, usize>>,
    /// Whether what happens is told to accounting.
    pub accounting: bool,
}

impl Default for Settings {
    /// What an empty configuration file means.
    fn default() -> Settings {
        Settings::of(&Config::default())
    }
}

impl Settings {
    /// The part of a configuration that is replicated. What concerns one daemon alone stays at home, and
    /// with it the secrets.
    pub fn of(config: &Config) -> Settings {
        let none = Config::default();
        let config = Config {
            controller: none.controller,
            // What each agent reads for itself is its own; ports are lent and restarts are told from one place.
            agent: sections::Agent {
                rendezvous_ports: config.agent.rendezvous_ports.clone(),
                reboot_program: config.agent.reboot_program.clone(),
                ..none.agent
            },
            accounting: sections::Accounting {
                enforce: config.accounting.enforce.clone(),
                tres: config.accounting.tres.clone(),
                keep: config.accounting.keep.clone(),
                sample_interval: config.accounting.sample_interval,
                track_wckey: config.accounting.track_wckey,
                ..none.accounting
            },
            rest: none.rest,
            update: none.update,
            mesh: none.mesh,
            ..config.clone()
        };
        let secs = |seconds: Seconds| u32::try_from(seconds.0).unwrap_or(u32::MAX);
        let rules = config.nodes.iter().enumerate();
        let node_rules = rules
            .flat_map(|(place, node)| node.names.names().iter().map(move |it| (it.clone(), place)))
            .collect();
        Settings {
            cluster_name: config.cluster.cluster_name.clone(),
            partitions: config.partitions.iter().map(|it| Partition::of(&config, it)).collect(),
            min_job_age_secs: secs(config.timeouts.min_job_age),
            kill_wait_secs: secs(config.timeouts.kill_wait),
            first_job_id: config.limits.first_job_id,
            node_rules: Arc::new(node_rules),
            config: Arc::new(config),
            // Turned on by whoever knows where accounting is.
            accounting: false,
        }
    }

    /// What is declared about a node: nothing where no nodes are.
    pub fn node_rules(&self, name: &NodeName) -> Option<&sections::Node> {
        self.node_rules.get(name).and_then(|place| self.config.nodes.get(*place))
    }

    /// Whether a node of this name may join: any where none is declared.
    pub fn admits(&self, name: &NodeName) -> bool {
        self.config.nodes.is_empty() || self.node_rules.contains_key(name)
    }

    /// The nodes that the configuration names.
    pub fn node_names(&self) -> impl Iterator<Item = &NodeName> {
        self.node_rules.keys()
    }

    /// The highest number a job can have.
    pub fn last_job_id(&self) -> JobId {
        JobId(self.config.limits.max_job_id.min(JobId::MAX.0))
    }
}

/// Takes a configuration. Partitions changed at run time stay so unless the file now says otherwise.
pub(super) fn configure(state: &mut State, settings: &Settings) -> Result<Reply, SlurmError> {
    state.next_job.0 = state.next_job.0.max(settings.first_job_id);
    if settings.partitions != state.settings.partitions {
        state.partitions = Arc::new(settings.partitions.clone());
    }
    // What everybody used is forgotten once, when that is said.
    let forget = UsageReset::Now;
    let before = state.settings.config.priority.usage_reset;
    if settings.config.priority.usage_reset == forget && before != forget {
        state.usage.clear();
    }
    let nodes_differ = settings.config.nodes != state.settings.config.nodes;
    state.settings = Arc::new(settings.clone());
    if nodes_differ {
        nodes::reconfigure(state);
    }
    Ok(Reply::Done)
}
