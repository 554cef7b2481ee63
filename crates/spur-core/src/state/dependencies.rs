//! Dependencies: which conditions have come true, and which never will.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::errors::SlurmError;
use crate::ids::JobId;
use crate::job::dependency::{self, Dependency, Kind, Tasks, Term};
use crate::job::{Cause, Job, Phase, Reason, Waits};
use crate::state::State;
use crate::time::Timestamp;

/// What has become of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Open,
    Met,
    /// Met, but not before this moment.
    MetAt(Timestamp),
    Never,
}

/// Reads what a job asks to wait for. Of an array named without a task all tasks are meant, and named from then on.
pub(super) fn parse(
    state: &State,
    text: &str,
    own: JobId,
) -> Result<Option<Arc<Waits>>, SlurmError> {
    let mut on = dependency::parse(text).map_err(|error| match error {
        dependency::Error::Malformed => SlurmError::Dependency,
        dependency::Error::Expand => SlurmError::NotSupported,
    })?;
    let on_itself = |term: &Term| matches!(term, Term::Job { job, .. } if *job == own);
    if on.terms.iter().any(on_itself) {
        return Err(SlurmError::Dependency);
    }
    for term in &mut on.terms {
        if let Term::Job { job, tasks: tasks @ Tasks::Job, .. } = term
            && state.array(*job).next().is_some()
        {
            *tasks = Tasks::All;
        }
    }
    Ok((!on.terms.is_empty()).then(|| Arc::new(Waits { on, never: false })))
}

/// Whether any of those that a job would wait for waits for it, over however many others.
pub(super) fn is_circular(state: &State, waits: Option<&Waits>, own: JobId) -> bool {
    let named = |waits: &Waits| -> Vec<JobId> {
        let job = |term: &Term| match term {
            Term::Job { job, .. } => Some(*job),
            Term::Singleton => None,
        };
        waits.on.terms.iter().filter_map(job).collect()
    };
    let mut ahead = waits.map_or_else(Vec::new, named);
    let mut seen = BTreeSet::new();
    while let Some(id) = ahead.pop() {
        if id == own {
            return true;
        }
        if seen.insert(id) {
            let others = state.jobs.get(&id).and_then(|job| job.waits.as_deref());
            ahead.extend(others.map_or_else(Vec::new, named));
        }
    }
    false
}

/// The job with the conditions left that do not hold yet; `None` when nothing changes.
pub(super) fn reconsider(state: &State, job: &Job) -> Option<Job> {
    // What could no longer come true does not come true later, whatever becomes of the others.
    let waits = job.waits.as_deref().filter(|waits| !waits.never)?;
    let mut begin = job.begin;
    let mut left = Vec::new();
    let (mut met, mut never) = (false, false);
    for term in &waits.on.terms {
        match verdict(state, job, term) {
            Verdict::Open => left.push(term.clone()),
            Verdict::Met => met = true,
            Verdict::MetAt(at) => {
                met = true;
                begin = begin.max(Some(at));
            }
            Verdict::Never if waits.on.any => {}
            Verdict::Never => {
                never = true;
                left.push(term.clone());
            }
        }
    }
    if waits.on.any && met {
        left.clear();
    }
    // Of several that would each do, none can any more.
    if waits.on.any && !met && left.is_empty() {
        (left, never) = (waits.on.terms.clone(), true);
    }
    let on = Dependency { any: waits.on.any, terms: left };
    let now = (!on.terms.is_empty()).then_some(Waits { on, never });
    if now.as_ref() == Some(waits) && begin == job.begin {
        return None;
    }
    Some(Job { waits: now.map(Arc::new), begin, ..job.clone() })
}

fn verdict(state: &State, own: &Job, term: &Term) -> Verdict {
    let Term::Job { kind, job, tasks, delay_minutes } = term else { return singleton(state, own) };
    let id = *job;
    if *kind == Kind::AfterCorr {
        return corresponding(state, own, id);
    }
    let mut records: Vec<&Arc<Job>> = match tasks {
        Tasks::One(index) => task(state, id, *index).into_iter().collect(),
        Tasks::Job | Tasks::All => state.array(id).collect(),
    };
    if records.is_empty() && !matches!(tasks, Tasks::One(_)) {
        records.extend(state.jobs.get(&id));
    }
    // A task that still waits among the others.
    if let (Tasks::One(index), Some(array)) = (tasks, state.jobs.get(&id))
        && array.waiting_tasks().is_some_and(|waiting| waiting.contains(*index))
        && !array.phase.is_over()
    {
        return Verdict::Open;
    }
    together(*kind, records.iter().map(|other| one(other, *kind, *delay_minutes)).collect())
}

/// What is true of an array by what is true of its records: nothing is said before all of it is settled. Then
/// one that failed is a failure of the whole.
fn together(kind: Kind, verdicts: Vec<Verdict>) -> Verdict {
    let later = |verdict: &Verdict| match verdict {
        Verdict::MetAt(at) => Some(*at),
        _ => None,
    };
    let met = verdicts.iter().any(|it| matches!(it, Verdict::Met | Verdict::MetAt(_)));
    let never = match kind {
        Kind::AfterNotOk => !met && !verdicts.is_empty(),
        _ => verdicts.contains(&Verdict::Never),
    };
    match verdicts.iter().filter_map(later).max() {
        _ if verdicts.contains(&Verdict::Open) => Verdict::Open,
        _ if never => Verdict::Never,
        Some(at) => Verdict::MetAt(at),
        // Whoever is no longer known stands in nobody's way.
        None => Verdict::Met,
    }
}

fn one(other: &Job, kind: Kind, delay_minutes: u32) -> Verdict {
    let after = |at: Timestamp| match delay_minutes {
        0 => Verdict::Met,
        minutes => Verdict::MetAt(at.plus_secs(i64::from(minutes) * 60)),
    };
    match (&other.phase, kind) {
        (Phase::Pending, _) => Verdict::Open,
        (Phase::Running { since, .. }, Kind::After) => after(*since),
        (Phase::Completing { started, .. }, Kind::After) => after(*started),
        (Phase::Running { .. } | Phase::Completing { .. }, _) => Verdict::Open,
        (Phase::Ended { started, at, .. }, Kind::After) => after(started.unwrap_or(*at)),
        (Phase::Ended { at, .. }, Kind::AfterAny | Kind::AfterBurstBuffer) => after(*at),
        (Phase::Ended { at, .. }, Kind::AfterOk | Kind::AfterCorr) if ended_well(other) => {
            after(*at)
        }
        (Phase::Ended { at, .. }, Kind::AfterNotOk) if !ended_well(other) => after(*at),
        (Phase::Ended { .. }, _) => Verdict::Never,
    }
}

fn ended_well(job: &Job) -> bool {
    matches!(&job.phase, Phase::Ended { cause: Cause::Exited, exit, .. } if exit.is_success())
}

/// A task of an array; the record of those that waited where they were ended together.
fn task(state: &State, array: JobId, index: u32) -> Option<&Arc<Job>> {
    state.task_of(array, index).or_else(|| {
        let record = state.jobs.get(&array).filter(|job| job.phase.is_over())?;
        record.waiting_tasks()?.contains(index).then_some(record)
    })
}

/// A record of waiting tasks goes on as soon as one of them may: the start asks for each again.
fn corresponding(state: &State, own: &Job, array: JobId) -> Verdict {
    let verdict = |index: u32| match task(state, array, index) {
        Some(task) => one(task, Kind::AfterCorr, 0),
        None if state.jobs.get(&array).is_some_and(|job| !job.phase.is_over()) => Verdict::Open,
        None => Verdict::Met,
    };
    match (own.task(), own.waiting_tasks()) {
        (Some(index), _) => verdict(index),
        (None, Some(waiting)) => {
            let all: Vec<Verdict> = waiting.ids().map(verdict).collect();
            let alike = |wanted: Verdict| all.iter().all(|verdict| *verdict == wanted);
            // It stays a condition as long as a task waits for it, and until none of them can start any more.
            match () {
                () if alike(Verdict::Met) => Verdict::Met,
                () if alike(Verdict::Never) => Verdict::Never,
                () => Verdict::Open,
            }
        }
        (None, None) => match state.jobs.get(&array) {
            Some(other) => one(other, Kind::AfterOk, 0),
            None => Verdict::Met,
        },
    }
}

fn singleton(state: &State, own: &Job) -> Verdict {
    let is_ahead = |other: &&Arc<Job>| {
        other.id < own.id
            && other.owner.uid == own.owner.uid
            && other.spec.name == own.spec.name
            && !other.phase.is_over()
            && other.array_id() != Some(own.id)
    };
    let open = state.index.pending.iter().chain(state.index.active.iter());
    let found = open.filter_map(|id| state.jobs.get(id)).find(is_ahead);
    if found.is_some() { Verdict::Open } else { Verdict::Met }
}

impl State {
    /// Whether an end has to be remembered: somebody waits for the array that the job belongs to, which is not
    /// settled before its last task has ended.
    pub(super) fn is_awaited(&self, job: &Job) -> bool {
        let awaited = |array: JobId| self.index.dependents.contains_key(&array);
        !self.index.dependents.is_empty() && job.array_id().is_some_and(awaited)
    }

    /// What keeps a pending job from being considered at all; of an array, every task of it.
    pub fn obstacle(&self, job: &Job) -> Option<Reason> {
        match job.obstacle(self.now) {
            Some(Reason::Dependency) if self.next_task(job).is_some() => {}
            Some(reason) => return Some(reason),
            None => {}
        }
        let late = self.last_start(job).is_some_and(|last| last < self.now);
        late.then_some(Reason::DeadLine)
    }

    /// When a job must have started to end before its deadline, if it has one.
    pub fn last_start(&self, job: &Job) -> Option<Timestamp> {
        let lifecycle = job.spec.lifecycle();
        let least = lifecycle.time_min.unwrap_or_else(|| job.time_limit(self.partition_of(job)));
        let secs = least.number().map_or(0, |minutes| minutes.saturating_mul(60));
        let secs = i64::try_from(secs).unwrap_or(i64::MAX);
        lifecycle.deadline.map(|deadline| Timestamp(deadline.saturating_sub(secs)))
    }

    /// The first task of a record of waiting ones that may start by its conditions.
    pub fn next_task(&self, job: &Job) -> Option<u32> {
        job.waiting_tasks()?.ids().find(|index| self.task_may_start(job, *index))
    }

    /// Whether a task of a record of waiting tasks may start by its conditions.
    pub fn task_may_start(&self, job: &Job, index: u32) -> bool {
        let Some(waits) = job.waits.as_deref() else { return true };
        !waits.never
            && waits.on.terms.iter().all(|term| match term {
                Term::Job { kind: Kind::AfterCorr, job: array, .. } => {
                    let task = self.task_of(*array, index);
                    task.is_some_and(|task| one(task, Kind::AfterCorr, 0) == Verdict::Met)
                }
                _ => false,
            })
    }
}
