//! What the leader looks after as time passes.

use spur_core::ids::JobId;
use spur_core::job::{Job, Phase};
use spur_core::limit::Limit;
use spur_core::partition::Partition;
use spur_core::state::{Command, State};
use spur_core::time::Timestamp;
use spur_disk::Disk;

use super::proposals::Waiter;
use super::{Controller, Now};

impl<D: Disk> Controller<D> {
    pub(super) fn tick(&mut self, now: Now) {
        // What the last tick proposed must be applied first, or it would be proposed twice.
        if !self.leads() || self.duties > 0 {
            return;
        }
        let at = self.stamp(now);
        let lost = self.agents.silent(now, &self.state).into_iter();
        let commands: Vec<Command> = lost
            .map(|node| Command::NodeLost { node })
            .chain(time_limits(&self.state, at))
            .chain(warnings(&self.state, at))
            .chain(deadlines(&self.state, at))
            .chain(graces(&self.state, at))
            .chain(purge(&self.state, at))
            .chain(self.state.reservation_is_over(at).then_some(Command::ReservationsPassed))
            .collect();
        // A job whose time has come may start: the pass before it came passed it over.
        if self.begun < at {
            let fresh = (self.begun.plus_secs(1), JobId(0))..=(at, JobId::MAX);
            let due = self.state.index.begins.range(fresh).next().is_some();
            let opens = |start: Timestamp| start > self.begun && start <= at;
            let opened = self.state.reservations.values().any(|it| opens(it.start));
            self.planning.wanted |= due || opened;
            self.begun = at;
        }
        for command in commands {
            self.duties += 1;
            self.proposals.add(command, Waiter::Duty);
        }
    }
}

/// Running jobs whose early signal is due.
fn warnings(state: &State, now: Timestamp) -> impl Iterator<Item = Command> {
    let jobs = state.index.active.iter().filter_map(|id| state.jobs.get(id));
    jobs.filter(|job| !job.is_warned)
        .filter(move |job| {
            let signal = job.spec.lifecycle().signal;
            let due = signal.zip(ends_at(state, job));
            due.is_some_and(|(signal, end)| {
                end.plus_secs(-i64::from(signal.secs_before_end)) <= now
            })
        })
        .map(|job| Command::Warn { job: job.id, epoch: job.epoch })
}

/// Running jobs that make room and have had their grace.
fn graces(state: &State, now: Timestamp) -> impl Iterator<Item = Command> {
    let jobs = state.index.active.iter().filter_map(|id| state.jobs.get(id));
    jobs.filter(|job| matches!(job.phase, Phase::Running { .. }))
        .filter(move |job| job.displaced.is_some_and(|displaced| displaced.until <= now))
        .map(|job| Command::GraceOver { job: job.id, epoch: job.epoch })
}

/// Pending jobs that can no longer end in time.
fn deadlines(state: &State, now: Timestamp) -> impl Iterator<Item = Command> {
    let due = state.index.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now);
    due.map(|(_, job)| Command::DeadlinePassed { job: *job })
}

/// Running jobs whose time is up.
fn time_limits(state: &State, now: Timestamp) -> impl Iterator<Item = Command> {
    let jobs = state.index.active.iter().filter_map(|id| state.jobs.get(id));
    jobs.filter(move |job| ends_at(state, job).is_some_and(|end| end <= now))
        .map(|job| Command::TimeUp { job: job.id, epoch: job.epoch })
}

/// When a running job reaches its limit, if it has one.
pub(super) fn ends_at(state: &State, job: &Job) -> Option<Timestamp> {
    let Phase::Running { since, .. } = &job.phase else { return None };
    // Time in which a run is stopped is not counted.
    if job.pause.since.is_some() {
        return None;
    }
    let since = since.plus_secs(job.pause.secs);
    let limit = match time_limit(state.partition_of(job), job) {
        Limit::Is(minutes) => {
            Some(since.plus_secs(i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60)))
        }
        Limit::Unlimited => None,
    };
    let reserved = state.reservation_end(job);
    limit.into_iter().chain(reserved).min()
}

/// The job's own limit, or its partition's.
pub fn time_limit(partition: Option<&Partition>, job: &Job) -> Limit {
    job.time_limit(partition)
}

/// Forgets ended jobs that have been shown long enough.
fn purge(state: &State, now: Timestamp) -> Option<Command> {
    let before = now.plus_secs(-i64::from(state.settings.min_job_age_secs));
    let (oldest, _) = state.index.ended.get_min()?;
    (*oldest < before).then_some(Command::Purge { before })
}
