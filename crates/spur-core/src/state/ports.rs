//! Ports that running jobs are lent, so that their tasks find each other. Each is lent once in the whole
//! cluster, since several nodes may share a machine.

use imbl::OrdSet;

use crate::errors::SlurmError;
use crate::ids::{Epoch, JobId};
use crate::job::{Allocation, Granted, Job, Phase};
use crate::state::{Effect, Reply, State};

/// The first and the last port that are lent.
pub type Range = (u16, u16);

/// Reads `15000-31999`.
pub fn parse_range(text: &str) -> Option<Range> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first > 0 && first <= last).then_some((first, last))
}

/// Whether a job can have several tasks in a step, which may go over all components of a heterogeneous one.
pub fn is_of_use(job: &Job, held: &Allocation) -> bool {
    job.component.is_some() || held.shares.len() > 1 || held.cpus() > 1
}

/// A port, if there is one left. Jobs begin to look at different places, so that one that has just ended is not
/// followed by another on its port at once.
pub fn lend(taken: &OrdSet<u16>, (first, last): Range, from: u32) -> Option<u16> {
    let count = u32::from(last - first) + 1;
    if taken.len() >= count as usize {
        return None;
    }
    let port = |at: u32| first + (at % count) as u16;
    (0..count).map(|step| port((from % count) + step)).find(|port| !taken.contains(port))
}

/// Lends a running job another port in place of one that somebody else uses, and has what its first node has
/// not accepted launched with that.
pub(super) fn another(
    state: &mut State,
    id: JobId,
    epoch: Epoch,
    taken: u16,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let job = state.jobs.get(&id).cloned().ok_or(SlurmError::InvalidJobId)?;
    let Phase::Running { allocation, .. } = &job.phase else { return Err(SlurmError::AlreadyDone) };
    if job.epoch != epoch || job.granted.port != Some(taken) {
        return Err(SlurmError::AlreadyDone);
    }
    let range = parse_range(&state.settings.config.agent.rendezvous_ports);
    // From where the taken one was: its neighbours may belong to the same stranger, but some are free.
    let from = u32::from(taken).wrapping_sub(range.map_or(0, |(first, _)| first.into())) + 1;
    let port = range.and_then(|range| lend(&state.index.ports, range, from));
    let node = allocation.first_node().cloned().ok_or(SlurmError::InvalidNodeName)?;
    for (step, _) in job.steps.on(&node) {
        let (step, node) = (step.id, node.clone());
        effects.push(Effect::Launch { job: id, epoch, step, node });
    }
    let granted = Granted { port, ..job.granted.clone() };
    state.put_job(Job { granted, ..(*job).clone() });
    Ok(Reply::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_jobs_have_a_thousand_ports() {
        let mut taken = OrdSet::new();
        for job in 1..=1000 {
            // Numbers that would all begin at the same place.
            let port = lend(&taken, (15_000, 15_999), job * 1000);
            assert_eq!(taken.insert(port.expect("there are as many")), None);
        }
        assert_eq!(lend(&taken, (15_000, 15_999), 1), None);
        assert!(taken.iter().all(|port| (15_000..=15_999).contains(port)));
    }

    #[test]
    fn a_range_has_two_ends() {
        assert_eq!(parse_range("15000-31999"), Some((15_000, 31_999)));
        for bad in ["", "5", "9-1", "0-5", "1-70000"] {
            assert_eq!(parse_range(bad), None, "{bad}");
        }
    }
}
