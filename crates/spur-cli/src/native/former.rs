//! Nodes that an earlier `spur up` of a directory had and this one has not: the cluster forgets them.

use std::time::Duration;

use spur_core::errors::SlurmError;
use spur_proto::caller::{CallError, Caller};
use spur_proto::slurm::{AdministerRequest, Noun, Verb};

use super::daemons::{AGENT, Daemon, Process};
use super::layout::Layout;
use crate::cluster::{self, Client};

/// Agents that have left their name in the directory, do not run, and are none of these daemons.
pub fn agents(layout: &Layout, daemons: &[Daemon]) -> Vec<String> {
    let is_former = |name: &String| {
        name.starts_with(AGENT)
            && daemons.iter().all(|daemon| daemon.name != *name)
            && Process::read(layout, name).is_none()
    };
    layout.pid_files().into_iter().filter(is_former).collect()
}

/// Has the cluster forget them, each as soon as nothing of it runs.
pub async fn forget(layout: Layout, mut former: Vec<String>) {
    let mut caller = Caller::new(layout.known_addresses(), PATIENCE);
    while !former.is_empty() {
        let mut left = Vec::new();
        for agent in former {
            match forget_one(&mut caller, &agent[AGENT.len()..]).await {
                // A node that is not known was never heard of, or is forgotten already.
                Ok(()) | Err(CallError::Refused(SlurmError::InvalidNodeName)) => {
                    let _ = std::fs::remove_file(layout.pid_file(&agent));
                }
                Err(_) => left.push(agent),
            }
        }
        former = left;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn forget_one(caller: &mut Caller, node: &str) -> Result<(), CallError> {
    let request = AdministerRequest {
        noun: Noun::Node.into(),
        verb: Verb::Delete.into(),
        name: node.to_string(),
        assignments: Vec::new(),
        request_id: cluster::request_id(),
    };
    let ask = |mut client: Client| {
        let request = request.clone();
        async move { client.administer(request).await }
    };
    caller.call(ask).await.map(|_| ())
}

const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
