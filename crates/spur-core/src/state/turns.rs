//! Jobs of a partition that have the same processors and take turns: while one of them runs the others are stopped,
//! each for a slice of time. Those of another partition run beside them, as in Slurm. Unlike one that sleeps, a job
//! that waits for its turn keeps its place on its processors.

use std::collections::BTreeSet;

use crate::errors::SlurmError;
use crate::ids::NodeName;
use crate::job::{Job, Pause, Phase, Removal};
use crate::state::control::signal_job;
use crate::state::{Displace, Effect, SignalScope, State};
use crate::time::Timestamp;

const SIGCONT: u32 = 18;
const SIGSTOP: u32 = 19;

impl State {
    /// Who stops and who goes on. At the end of a slice those go first that have been stopped for longest; before
    /// it those that run stay, and others go on only where nobody is in their way.
    pub fn turns(&self, slice_is_over: bool) -> Vec<Displace> {
        let take_turns = self.settings.config.preemption.mode.gang;
        let jobs = self.index.active.iter().filter_map(|id| self.jobs.get(id));
        let mut jobs: Vec<(Timestamp, &Job)> =
            jobs.filter_map(|job| Some((shares_since(job)?, &**job))).collect();
        jobs.sort_by_key(|(since, job)| {
            let runs = job.pause.since.is_none();
            (runs == slice_is_over, job.pause.since.unwrap_or(*since), job.id)
        });
        let mut taken: BTreeSet<(&str, &NodeName, u32)> = BTreeSet::new();
        let mut changes = Vec::new();
        for (_, job) in jobs {
            let goes = !take_turns || places(job).all(|place| !taken.contains(&place));
            if goes {
                taken.extend(places(job));
            }
            let how = if goes { Removal::Turn } else { Removal::Pause };
            if goes != job.pause.since.is_none() {
                changes.push(Displace { job: job.id, epoch: job.epoch, how });
            }
        }
        // Processors are given back before they are given again.
        changes.sort_by_key(|it| it.how == Removal::Turn);
        changes
    }
}

/// When a run began that may have to share its processors in turns.
fn shares_since(job: &Job) -> Option<Timestamp> {
    let Phase::Running { since, .. } = &job.phase else { return None };
    let shares = job.granted.layers > 1 && !job.asleep && job.displaced.is_none();
    shares.then_some(*since)
}

fn places(job: &Job) -> impl Iterator<Item = (&str, &NodeName, u32)> {
    let shares = job.phase.holds().into_iter().flat_map(|held| &held.shares);
    let cpus = shares.flat_map(|share| share.cpu_ids.iter().map(|cpu| (&share.node, cpu)));
    cpus.map(|(node, cpu)| (&*job.granted.partition, node, cpu))
}

/// Stops a job until it is its turn.
pub(super) fn pause(
    state: &mut State,
    job: &Job,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    if job.pause.since.is_some() {
        return Ok(());
    }
    signal_job(job, SIGSTOP, SignalScope::Gently, effects)?;
    let pause = Pause { since: Some(state.now), ..job.pause };
    state.put_job(Job { pause, ..job.clone() });
    Ok(())
}

/// Lets a job go on that was stopped and kept its processors.
pub(super) fn go_on(
    state: &mut State,
    job: &Job,
    effects: &mut Vec<Effect>,
) -> Result<(), SlurmError> {
    let Some(since) = job.pause.since.filter(|_| !job.asleep) else { return Ok(()) };
    signal_job(job, SIGCONT, SignalScope::Full, effects)?;
    let secs = job.pause.secs + (state.now.0 - since.0).max(0);
    state.put_job(Job { pause: Pause { since: None, secs }, ..job.clone() });
    Ok(())
}
