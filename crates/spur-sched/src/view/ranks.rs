//! Who displaces whom: by the tier of partitions, or by QOS.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::config::words::{PreemptAction, PreemptBy};
use spur_core::config::{PreemptMode, Setting, Value};
use spur_core::job::{Job, Phase};
use spur_core::partition::Partition;
use spur_core::state::State;

use super::{Displaced, Preemptible};

/// By which a job displaces others and is displaced: the tier of its partition, or its QOS.
pub(super) fn rank(state: &State, job: &Job, partition: Option<&Partition>) -> u32 {
    match (state.settings.config.preemption.by, partition) {
        (PreemptBy::PartitionTier, Some(it)) => u32::from(it.rules.priority_tier) + 1,
        (PreemptBy::Qos, _) => state.rules.qos(&job.spec.qos).map_or(0, |qos| qos.id),
        _ => 0,
    }
}

/// Which QOS may displace which, where that decides.
pub(super) fn rights(state: &State) -> Option<BTreeMap<u32, BTreeSet<u32>>> {
    if state.settings.config.preemption.by != PreemptBy::Qos {
        return None;
    }
    let others = |names: &[String]| -> BTreeSet<u32> {
        names.iter().filter_map(|name| state.rules.qos(name)).map(|qos| qos.id).collect()
    };
    Some(state.rules.all_qos().map(|qos| (qos.id, others(&qos.preempt))).collect())
}

/// Who may displace a running job, and what becomes of it.
pub(super) fn preemptible(state: &State, job: &Job) -> Option<Preemptible> {
    let Phase::Running { since, .. } = &job.phase else { return None };
    let partition = state.partition_of(job)?;
    let rules = &state.settings.config.preemption;
    let qos = state.rules.qos(&job.spec.qos).filter(|_| rules.by == PreemptBy::Qos);
    let said = qos.and_then(|qos| PreemptMode::read(&Value::Text(qos.preempt_mode.clone())).ok());
    let mode = match qos {
        Some(_) => said.unwrap_or(rules.mode),
        None => partition.rules.preempt_mode.unwrap_or(rules.mode),
    };
    let how = match mode.action {
        PreemptAction::Cancel => Displaced::Cancelled,
        PreemptAction::Requeue => Displaced::Requeued,
        PreemptAction::Suspend => Displaced::Suspended,
        PreemptAction::Off => return None,
    };
    let rank = rank(state, job, Some(partition));
    let worth = qos.map_or(rank, |qos| qos.priority);
    let exempt = rules.exempt_time.0.number().unwrap_or(0) as i64 * 60;
    let exempt = qos.and_then(|qos| qos.preempt_exempt_secs).map_or(exempt, i64::from);
    let is_free = rank > 0 && job.displaced.is_none() && job.pause.since.is_none();
    is_free.then_some(Preemptible { rank, worth, from: since.plus_secs(exempt), how })
}
