//! A run as the planner sees it: what it holds, until when, and who may displace it.

use std::sync::Arc;

use spur_core::job::{Job, Phase};
use spur_core::limit::Limit;
use spur_core::state::State;
use spur_core::time::Timestamp;

use super::from_state::Follower;
use super::machines::view_share;
use super::ranks::{preemptible, rank};
use super::request;
use super::{RunId, RunningJob, Sleep};
use crate::planner::Planner;
use crate::shape::FOREVER;

impl Follower {
    pub(super) fn put_run(&mut self, planner: &mut Planner, state: &State, job: &Job) {
        let (since, end) = match &job.phase {
            Phase::Running { since, .. } => {
                let limit = job.time_limit(state.partition_of(job));
                let secs = match limit {
                    Limit::Unlimited if state.partition_of(job).is_none() => FOREVER,
                    limit => request::secs(limit),
                };
                // One that is stopped counts as if it went on at once, as in Slurm: those behind it get a
                // place, however late.
                let secs = secs.saturating_add(job.pause.secs);
                let end = since.0.saturating_add(secs).min(FOREVER);
                let end = state.reservation_end(job).map_or(end, |reserved| end.min(reserved.0));
                (*since, job.displaced.map_or(end, |displaced| end.min(displaced.until.0)))
            }
            // Any moment.
            Phase::Completing { started, .. } => (*started, started.0),
            Phase::Pending | Phase::Ended { .. } => return,
        };
        let Some(held) = job.phase.holds() else { return };
        let limit = Some(Timestamp(end));
        let end = match &job.phase {
            Phase::Running { .. } => self.habits.end_of(job, since.0, end, state.now),
            _ => end,
        };
        let mut had = Vec::new();
        let shares = held.shares.iter().filter_map(|share| {
            let node = state.nodes.get(&share.node)?;
            let mut view = view_share(planner, state, node, share);
            if job.asleep {
                had.push((view.node.clone(), std::mem::take(&mut view.cores)));
            }
            Some(view)
        });
        let shares = shares.collect();
        let asleep = || Sleep { rank: rank(state, job, state.partition_of(job)), cores: had };
        let rules = state.partition_of(job).map(|it| it.rules.clone()).unwrap_or_default();
        let shape = request::shape_of(&job.spec, job.owner.uid, &rules, &state.settings.config);
        let run = RunningJob {
            partition: rules.name.as_str().into(),
            reservation: job.spec.placement().reservation.as_str().into(),
            since,
            end: Timestamp(end),
            shares,
            user: job.owner.uid.0,
            label: shape.label.clone(),
            sharing: shape.sharing,
            wish: shape.wish(),
            charges: self.charges(planner, state, job),
            preemptible: preemptible(state, job),
            leaves: job.displaced.is_some(),
            sleeps: (job.asleep && !job.parked).then(|| Arc::new(asleep())),
            limit,
        };
        planner.put_run(RunId(job.id, 0), &Arc::new(run));
    }
}
