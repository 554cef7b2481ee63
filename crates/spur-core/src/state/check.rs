//! What always holds. Tests ask after every entry.

use std::collections::BTreeMap;

use crate::job::{Job, Phase};
use crate::state::{Index, State};

/// Everything that is wrong with a state; empty when all is well.
pub fn problems(state: &State) -> Vec<String> {
    let mut found = Vec::new();
    if state.index != Index::of(state.jobs.values().map(|job| &**job)) {
        found.push("the index differs from a rebuilt one".to_string());
    }
    let mut references = BTreeMap::new();
    for job in state.jobs.values() {
        if job.id >= state.next_job {
            found.push(format!("job {} has a number that was never handed out", job.id));
        }
        if let Some(problem) = astray(state, job) {
            found.push(problem);
        }
        for hash in [job.script, job.environment] {
            *references.entry(hash).or_insert(0u32) += 1;
        }
        for share in job.phase.holds().into_iter().flat_map(|held| &held.shares) {
            if !state.nodes.contains_key(&share.node) {
                found.push(format!("job {} is on unknown node {}", job.id, share.node));
            }
        }
    }
    for node in state.nodes.values() {
        let used = state.cpus_used(&node.name);
        if used > node.inventory.cpus {
            found.push(format!(
                "node {} has {} processors and gave {used}",
                node.name, node.inventory.cpus
            ));
        }
    }
    for (name, used) in state.licenses_used() {
        let has = state.settings.config.cluster.licenses.0.get(&name).copied().unwrap_or(0);
        // The configuration may have taken some away since.
        if used > u64::from(has) && has > 0 {
            found.push(format!("there are {has} licences of {name} and {used} are held"));
        }
    }
    for it in state.reservations.values() {
        if it.end <= it.start || it.nodes.is_empty() && it.licenses.is_empty() {
            found.push(format!("reservation {} keeps nothing", it.name));
        }
    }
    if !references.iter().eq(state.blobs.iter()) {
        found.push("blob references are miscounted".to_string());
    }
    found
}

/// A component that does what its leader does not.
fn astray(state: &State, job: &Job) -> Option<String> {
    let component = job.component?;
    let leader = state.jobs.get(&component.leader)?;
    let wrong = match (&leader.phase, &job.phase) {
        (Phase::Pending, Phase::Running { .. }) => "runs without its leader",
        (Phase::Running { .. }, Phase::Pending) => "waits while its leader runs",
        (Phase::Completing { .. } | Phase::Ended { .. }, Phase::Running { .. }) => {
            "runs although its leader is over"
        }
        _ => return None,
    };
    Some(format!("component {} of job {} {wrong}", component.offset, component.leader))
}
