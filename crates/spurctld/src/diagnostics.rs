//! What `sdiag` tells of this controller: jobs that came and went, passes of the planner, calls by kind and
//! by caller.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use imbl::ordmap::DiffItem;
use spur_core::auth::Actor;
use spur_core::job::{Cause, Job, JobState, Phase};
use spur_core::state::State;
use spur_proto::slurm::{CallCount, CallerCount, GetDiagnosticsReply};
use spur_sched::Plan;

/// Counters; they begin with the process, or when somebody sets them back.
#[derive(Default)]
pub struct Diagnostics {
    counted: Mutex<Counted>,
    /// Calls that are being answered.
    open: AtomicU64,
    /// The last record that accounting has.
    recorded: AtomicU64,
}

#[derive(Default)]
struct Counted {
    since: i64,
    looked: Option<State>,
    looked_at: i64,
    jobs: Jobs,
    passes: Passes,
    calls: BTreeMap<String, Calls>,
    callers: BTreeMap<u32, Calls>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Jobs {
    submitted: u64,
    started: u64,
    completed: u64,
    cancelled: u64,
    failed: u64,
}

#[derive(Default)]
struct Passes {
    count: u64,
    last_micros: u64,
    most_micros: u64,
    sum_micros: u64,
    last_queue: u64,
    sum_queue: u64,
    last_looked_at: u64,
    sum_looked_at: u64,
    last_promised: u64,
    sum_promised: u64,
    behind_others: u64,
    last_at: i64,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    count: u64,
    micros: u64,
}

impl Diagnostics {
    /// Sets all counters back.
    pub fn reset(&self, now: i64, state: &State) {
        let mut counted = self.lock();
        *counted = Counted { since: now, looked: Some(state.clone()), ..Counted::default() };
    }

    /// A call has come in.
    pub fn call_begins(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// It is answered.
    pub fn call_ends(&self, method: &str, actor: &Actor, took: Duration) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        let micros = took.as_micros() as u64;
        let mut counted = self.lock();
        let add = |calls: &mut Calls| {
            (calls.count, calls.micros) = (calls.count + 1, calls.micros + micros)
        };
        match counted.calls.get_mut(method) {
            Some(calls) => add(calls),
            None => add(counted.calls.entry(method.to_string()).or_default()),
        }
        if let Actor::User { uid, .. } = actor {
            add(counted.callers.entry(uid.0).or_default());
        }
    }

    /// The planner has decided about a queue of so many.
    pub fn planned(&self, plan: &Plan, queue: usize, took: Duration, now: i64) {
        let mut counted = self.lock();
        let passes = &mut counted.passes;
        let (micros, queue) = (took.as_micros() as u64, queue as u64);
        passes.count += 1;
        passes.last_micros = micros;
        passes.most_micros = passes.most_micros.max(micros);
        passes.sum_micros += micros;
        passes.last_queue = queue;
        passes.sum_queue += queue;
        passes.last_promised = plan.waits.all_promised().count() as u64;
        passes.sum_promised += passes.last_promised;
        // What starts and what gets a place was looked at by itself; the rest waits with its like.
        passes.last_looked_at = plan.starts.len() as u64 + passes.last_promised;
        passes.sum_looked_at += passes.last_looked_at;
        let ahead = plan.waits.all_promised().filter_map(|(job, _)| plan.waits.priority(job)).max();
        let behind = plan.starts.iter().filter(|start| start.priority < ahead);
        passes.behind_others += behind.count() as u64;
        passes.last_at = now;
    }

    /// Accounting has every record up to this one.
    pub fn recorded(&self, number: u64) {
        self.recorded.store(number, Ordering::Relaxed);
    }

    /// Counts what has become of jobs since the last look.
    pub fn look(&self, state: &State, now: i64) {
        let mut counted = self.lock();
        let before = counted.looked.replace(state.clone());
        counted.looked_at = now;
        if counted.since == 0 {
            counted.since = now;
        }
        // What was there when this controller began is no news.
        if let Some(before) = before {
            counted.jobs.add(&before, state);
        }
    }

    /// Everything. Who callers are by name is left to others.
    pub fn told(&self, state: &State, now: i64) -> GetDiagnosticsReply {
        self.look(state, now);
        let counted = self.lock();
        let (jobs, passes) = (&counted.jobs, &counted.passes);
        let is_active = |id: &&spur_core::ids::JobId| {
            state.jobs.get(*id).is_some_and(|job| matches!(job.phase, Phase::Running { .. }))
        };
        GetDiagnosticsReply {
            now,
            since: counted.since,
            open_calls: self.open.load(Ordering::Relaxed),
            unrecorded: match self.recorded.load(Ordering::Relaxed) {
                0 => 0,
                recorded => state.history.records.saturating_sub(recorded),
            },
            jobs_submitted: jobs.submitted,
            jobs_started: jobs.started,
            jobs_completed: jobs.completed,
            jobs_cancelled: jobs.cancelled,
            jobs_failed: jobs.failed,
            jobs_pending: state.index.pending.len() as u64,
            jobs_running: state.index.active.iter().filter(is_active).count() as u64,
            passes: passes.count,
            pass_last_micros: passes.last_micros,
            pass_most_micros: passes.most_micros,
            pass_sum_micros: passes.sum_micros,
            pass_last_queue: passes.last_queue,
            pass_sum_queue: passes.sum_queue,
            pass_last_depth: passes.last_looked_at,
            pass_sum_depth: passes.sum_looked_at,
            pass_last_promised: passes.last_promised,
            pass_sum_promised: passes.sum_promised,
            pass_last_at: passes.last_at,
            backfilled: passes.behind_others,
            calls: counted
                .calls
                .iter()
                .map(|(method, calls)| CallCount {
                    method: method.clone(),
                    count: calls.count,
                    micros: calls.micros,
                })
                .collect(),
            callers: counted
                .callers
                .iter()
                .map(|(uid, calls)| CallerCount {
                    uid: *uid,
                    user_name: String::new(),
                    count: calls.count,
                    micros: calls.micros,
                })
                .collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs {
    fn add(&mut self, before: &State, after: &State) {
        for change in before.jobs.diff(&after.jobs) {
            let (old, new): (Option<&Job>, &Job) = match change {
                DiffItem::Add(_, new) => (None, new),
                DiffItem::Update { old: (_, old), new: (_, new) } => (Some(old), new),
                DiffItem::Remove(..) => continue,
            };
            self.count(old, new);
        }
    }

    fn count(&mut self, old: Option<&Job>, new: &Job) {
        // A task that leaves its array is not submitted again.
        self.submitted += u64::from(old.is_none() && new.task().is_none());
        let runs = |job: &Job| if has_started(job) { u64::from(job.epoch.0) } else { 0 };
        self.started += runs(new).saturating_sub(old.map_or(0, runs)).min(1);
        if old.is_some_and(|old| old.phase.is_over()) {
            return;
        }
        if let Phase::Ended { cause, exit, .. } = &new.phase {
            use spur_core::accounts::record::ending;
            match ending(*cause, *exit).0 {
                JobState::Cancelled => self.cancelled += 1,
                JobState::Completed => self.completed += 1,
                // What a script ends with is the user's affair; Slurm counts it as completed.
                _ if *cause == Cause::Exited => self.completed += 1,
                _ => self.failed += 1,
            }
        }
    }
}

fn has_started(job: &Job) -> bool {
    !matches!(job.phase, Phase::Pending | Phase::Ended { started: None, .. })
}
