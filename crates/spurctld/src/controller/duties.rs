//! What the leader looks after as time passes.

use spur_core::auth::Actor;
use spur_core::config::words::TopologyKind;
use spur_core::cron::{Schedule, UNSETTLED};
use spur_core::ids::JobId;
use spur_core::job::{Job, Phase, StepEnd};
use spur_core::limit::Limit;
use spur_core::partition::Partition;
use spur_core::state::{Assignment, Command, Control, JobAction, State};
use spur_core::time::{Timestamp, Zone};
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
        let turns = self.turns(at);
        let lost = self.agents.lost(now, &self.state).into_iter();
        let commands: Vec<Command> = lost
            .map(|node| Command::NodeLost { node })
            .chain(self.agents.given_up(now, &self.state))
            .chain(time_limits(&self.state, at))
            .chain(step_limits(&self.state, at))
            .chain(warnings(&self.state, at))
            .chain(deadlines(&self.state, at))
            .chain(graces(&self.state, at))
            .chain(purge(&self.state, at))
            .chain(cron_times(&self.state, at, &*self.zone))
            .chain(notices(&self.state, at))
            .chain(self.state.reservation_is_due(at).then_some(Command::ReservationsPassed))
            .chain(self.state.reboot_is_due(at).then_some(Command::RebootsDue))
            .chain(accruals(&self.state))
            .chain(turns)
            .collect();
        // A job whose time has come may start: the pass before it came passed it over.
        if self.begun < at {
            let fresh = (self.begun.plus_secs(1), JobId(0))..=(at, JobId::MAX);
            let due = self.state.index.begins.range(fresh).next().is_some();
            let opens = |start: Timestamp| start > self.begun && start <= at;
            let opened = self.state.reservations.values().any(|it| opens(it.start));
            let closes = self.state.settings.config.scheduler.topology != TopologyKind::Flat
                && waiting(&self.state).filter_map(spur_sched::switches_until).any(opens);
            let turn = |it: Timestamp| it.0.div_euclid(REVIEW);
            let review = turn(at) > turn(self.begun) && !self.state.index.pending.is_empty();
            self.planning.wanted |= due || opened || closes || review;
            self.begun = at;
        }
        for command in commands {
            self.duties += 1;
            self.proposals.add(command, Waiter::Duty);
        }
    }
}

/// While jobs wait there is a pass at least so often, in seconds: usage fades, minutes run out and a job may be
/// displaced from some moment on without anybody saying so.
const REVIEW: i64 = 15;

impl<D: Disk> Controller<D> {
    /// Jobs that share processors and take turns.
    fn turns(&mut self, at: Timestamp) -> Option<Command> {
        let config = &self.state.settings.config;
        let slice = i64::try_from(config.scheduler.time_slice.0).unwrap_or(i64::MAX).max(1);
        let is_over = at >= self.sliced.plus_secs(slice);
        if is_over {
            self.sliced = at;
        }
        let changes = self.state.turns(is_over);
        (!changes.is_empty()).then_some(Command::Preempt(changes))
    }
}

fn waiting(state: &State) -> impl Iterator<Item = &Job> {
    state.index.pending.iter().filter_map(|id| state.jobs.get(id)).map(|job| &**job)
}

/// Jobs that begin to grow older.
fn accruals(state: &State) -> Option<Command> {
    let due = state.accruals_due();
    (!due.is_empty()).then_some(Command::Accrue(due))
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
    let jobs = state.index.deadlines.iter().filter_map(|(_, id)| state.jobs.get(id));
    let due = jobs.filter(move |job| state.last_start(job).is_some_and(|last| last < now));
    due.map(|job| Command::DeadlinePassed { job: job.id })
}

/// Running jobs whose time is up.
fn time_limits(state: &State, now: Timestamp) -> impl Iterator<Item = Command> {
    let jobs = state.index.active.iter().filter_map(|id| state.jobs.get(id));
    jobs.filter(move |job| end(state, job, beyond(state, job)).is_some_and(|end| end <= now))
        .map(|job| Command::TimeUp { job: job.id, epoch: job.epoch })
}

/// Steps whose own time is up. A job that is ended takes them along.
fn step_limits(state: &State, now: Timestamp) -> impl Iterator<Item = Command> {
    let jobs = state.index.active.iter().filter_map(|id| state.jobs.get(id));
    let running = jobs.filter(|job| matches!(job.phase, Phase::Running { .. }));
    running.flat_map(move |job| {
        let steps = job.steps.live.values().filter(|step| step.end.is_none());
        let due = steps.filter(move |step| step.ends_at(job.pause).is_some_and(|end| end <= now));
        due.map(|step| Command::EndStep {
            job: job.id,
            step: step.id,
            end: StepEnd::TimeLimit,
            by: Actor::Controller,
        })
    })
}

/// When a running job reaches its limit, if it has one.
pub(super) fn ends_at(state: &State, job: &Job) -> Option<Timestamp> {
    end(state, job, Limit::Is(0))
}

/// For how many minutes a job is left alone beyond its limit.
fn beyond(state: &State, job: &Job) -> Limit {
    let of_partition = state.partition_of(job).and_then(|it| it.rules.over_time_limit);
    of_partition.unwrap_or(state.settings.config.timeouts.over_time_limit).0
}

/// When a running job comes to its end, with so many minutes beyond its own limit.
fn end(state: &State, job: &Job, beyond: Limit) -> Option<Timestamp> {
    let Phase::Running { since, .. } = &job.phase else { return None };
    // Time in which a run is stopped is not counted.
    if job.pause.since.is_some() {
        return None;
    }
    let since = since.plus_secs(job.pause.secs);
    let limit = match (time_limit(state.partition_of(job), job), beyond) {
        (Limit::Is(minutes), Limit::Is(more)) => {
            let minutes = i64::try_from(minutes.saturating_add(more)).unwrap_or(i64::MAX);
            Some(since.plus_secs(minutes.saturating_mul(60)))
        }
        _ => None,
    };
    let reserved = state.reservation_end(job);
    limit.into_iter().chain(reserved).min()
}

/// The job's own limit, or its partition's.
pub fn time_limit(partition: Option<&Partition>, job: &Job) -> Limit {
    job.time_limit(partition)
}

/// Jobs of crontabs that have run: when they are due again is a matter of the zone, which only the leader's
/// machine knows.
fn cron_times(state: &State, now: Timestamp, zone: &dyn Zone) -> Vec<Command> {
    let unsettled = state.index.begins.range((UNSETTLED, JobId(0))..);
    let jobs = unsettled.filter_map(|(_, id)| state.jobs.get(id));
    let next = jobs.filter_map(|job| {
        let schedule: Schedule = state.cron_line(job)?.when.parse().ok()?;
        let at = schedule.next(now, zone)?;
        let begin = Assignment { key: "StartTime".to_string(), value: at.0.to_string() };
        let action = JobAction::Update(vec![begin]);
        let control =
            Control { job: job.id, tasks: None, action, by: Actor::Controller, request: None };
        Some(Command::Control(Box::new(control)))
    });
    next.collect()
}

/// What there is to note about triggers.
fn notices(state: &State, now: Timestamp) -> Option<Command> {
    let limit = |job: &Job| ends_at(state, job);
    let notices = state.triggers.values().filter_map(|it| state.look_at(it, now, &limit));
    let notices: Vec<_> = notices.collect();
    (!notices.is_empty()).then_some(Command::Noticed(notices))
}

/// Forgets ended jobs that have been shown long enough.
fn purge(state: &State, now: Timestamp) -> Option<Command> {
    let before = now.plus_secs(-i64::from(state.settings.min_job_age_secs));
    state.forgettable(before).next().map(|_| Command::Purge { before })
}

#[cfg(test)]
mod tests {
    use spur_core::blob::BlobHash;
    use spur_core::ids::{Epoch, Gid, StepId, Uid};
    use spur_core::job::{Allocation, ExitStatus, JobSpec, Owner, RequestId, Share};
    use spur_core::node::Inventory;
    use spur_core::state::{
        Blob, Entry, Finish, JobStart, NewLine, Origin, Outcome, RegisterNode, SetCrontab,
        Settings, Submit, apply,
    };
    use spur_core::time::FixedOffset;

    use super::*;

    fn done(state: &mut State, at: i64, command: Command) {
        let entry = Entry { at: Timestamp(at), origin: Origin::default(), command };
        let reply = apply(state, &entry).reply;
        assert!(reply.is_ok(), "{reply:?}");
    }

    fn every_ten_minutes() -> Command {
        let owner = Owner { uid: Uid(5), gid: Gid(5), name: "alice".to_string() };
        let submit = Submit {
            request: RequestId(1),
            owner: owner.clone(),
            spec: JobSpec::default(),
            others: Vec::new(),
            script: BlobHash::of(b"a"),
            environment: BlobHash::of(b"b"),
            blobs: vec![Blob { bytes: b"a".to_vec() }, Blob { bytes: b"b".to_vec() }],
        };
        let when = "*/10 * * * *".to_string();
        let lines = vec![NewLine { first: 1, last: 1, when, submit }];
        let text = "*/10 * * * * true".to_string();
        Command::SetCrontab(Box::new(SetCrontab { by: Actor::Controller, owner, text, lines }))
    }

    #[test]
    fn a_crontabs_job_that_has_run_begins_again_when_it_is_due_next() {
        let mut state = State::new();
        done(&mut state, 1, Command::Configure(Settings::default()));
        let node = RegisterNode {
            name: "n1".into(),
            inventory: Inventory::simple(4, 1000),
            boot_id: "boot".to_string(),
        };
        done(&mut state, 1, Command::RegisterNode(node));
        done(&mut state, 590, every_ten_minutes());
        let (job, epoch) = (JobId(1), Epoch(1));
        let start = JobStart {
            job,
            epoch,
            task: None,
            allocation: Allocation { shares: vec![Share::of_cpus("n1".into(), 1)] },
            partition: String::new(),
            minutes: None,
            priority: None,
            reason: None,
        };
        done(&mut state, 600, Command::Start(vec![start]));
        assert!(cron_times(&state, Timestamp(601), &FixedOffset::UTC).is_empty(), "it runs");
        let outcome = Outcome::Exited(ExitStatus { code: 0, signal: 0 });
        let finish = Finish { outcome, ..Finish::lost(job, epoch, StepId::BATCH) };
        // The second run is skipped: the first one took too long for it.
        let finished = Command::Finished { node: "n1".into(), finishes: vec![finish] };
        done(&mut state, 1230, finished);
        for command in cron_times(&state, Timestamp(1231), &FixedOffset::UTC) {
            done(&mut state, 1231, command);
        }
        assert_eq!(state.jobs[&job].begin, Some(Timestamp(1800)));
        assert!(cron_times(&state, Timestamp(1232), &FixedOffset::UTC).is_empty());
    }
}
