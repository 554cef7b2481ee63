//! Crontabs: each line in force has one job, which comes back to the queue after every run.

use std::sync::Arc;

use crate::auth::{Action, Actor, Target, may};
use crate::cron;
use crate::errors::SlurmError;
use crate::ids::JobId;
use crate::job::{Cause, Job, Owner, Phase};
use crate::state::{Effect, Reply, State, Submit, jobs, rules};

/// A user's crontab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crontab {
    /// As the user wrote it, with what was put out of force since.
    pub text: String,
    /// Its lines in force.
    pub lines: Vec<CronLine>,
}

/// A line in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronLine {
    /// The first line of the text that belongs to it.
    pub first: u32,
    /// The last.
    pub last: u32,
    /// When it is due: `*/5 * * * *`.
    pub when: String,
    /// Its job.
    pub job: JobId,
}

/// A crontab in place of the one before; one without text is none.
#[derive(Clone, Debug, PartialEq)]
pub struct SetCrontab {
    /// Who wants it.
    pub by: Actor,
    /// Whose it is.
    pub owner: Owner,
    /// The whole text.
    pub text: String,
    /// Its lines, each with the job it asks for.
    pub lines: Vec<NewLine>,
}

/// A line, and what it asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct NewLine {
    /// The first line of the text that belongs to it.
    pub first: u32,
    /// The last.
    pub last: u32,
    /// When it is due.
    pub when: String,
    /// What it asks for; it begins when it is due next.
    pub submit: Submit,
}

/// Takes a crontab as a whole, or leaves the one before. A line that asks for what one asked for before keeps
/// its job; a job whose line is gone ends if it waits, and is left to its last run if it has begun.
pub(super) fn set(
    state: &mut State,
    set: &SetCrontab,
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    let uid = set.owner.uid;
    may(&set.by, Action::ControlJob, Target::Of(uid))?;
    let mut next = state.clone();
    let mut done = Vec::new();
    let former = next.crontabs.remove(&uid);
    let mut former = former.map(|table| table.lines.clone()).unwrap_or_default();
    let mut lines = Vec::with_capacity(set.lines.len());
    for line in &set.lines {
        let same = former
            .iter()
            .position(|old| old.when == line.when && asks_the_same(&next, old.job, &line.submit));
        let job = match same {
            Some(at) => former.remove(at).job,
            None => submit(&mut next, &line.submit, &mut done)?,
        };
        lines.push(CronLine { first: line.first, last: line.last, when: line.when.clone(), job });
    }
    let by = set.by.uid().unwrap_or_default().0;
    for old in former {
        let Some(job) = next.jobs.get(&old.job).cloned() else { continue };
        if job.phase == Phase::Pending {
            jobs::end(&mut next, &job, Cause::Cancelled { by }, &mut done)?;
        }
    }
    if !set.text.is_empty() {
        next.crontabs.insert(uid, Arc::new(Crontab { text: set.text.clone(), lines }));
    }
    *state = next;
    effects.append(&mut done);
    Ok(Reply::Done)
}

/// A job for a line. One record comes again and again, so it can be neither an array nor several components.
fn submit(
    state: &mut State,
    submit: &Submit,
    effects: &mut Vec<Effect>,
) -> Result<JobId, SlurmError> {
    if !submit.spec.array.is_empty() || !submit.others.is_empty() {
        return Err(SlurmError::NotSupported);
    }
    match jobs::submit(state, submit, effects)? {
        Reply::Job(id) => Ok(id),
        _ => Err(SlurmError::NotSupported),
    }
}

fn asks_the_same(state: &State, job: JobId, submit: &Submit) -> bool {
    let Some(job) = state.jobs.get(&job) else { return false };
    let Ok(mut asked) = rules::admit(state, &submit.owner, &submit.spec, 0) else { return false };
    asked.begin = job.spec.begin;
    !job.phase.is_over()
        && *job.spec == asked
        && job.script == submit.script
        && job.environment == submit.environment
}

/// A job that somebody cancels takes its line out of force.
pub(super) fn disable(state: &mut State, job: &Job) {
    let Some(line) = state.cron_line(job).cloned() else { return };
    let Some(table) = state.crontabs.get_mut(&job.owner.uid) else { return };
    let text = cron::comment_out(&table.text, line.first, line.last, "#DISABLED:");
    let lines = table.lines.iter().filter(|it| it.job != job.id).cloned().collect();
    *table = Arc::new(Crontab { text, lines });
}

/// The next run of a job whose run is over; it begins when the leader has found out when.
pub(super) fn next_run(state: &State, job: &Job) -> Option<Job> {
    state.cron_line(job)?;
    Some(Job { begin: Some(cron::UNSETTLED), submitted: state.now, ..job.clone() })
}

impl State {
    /// The line of a crontab that a job comes from.
    pub fn cron_line(&self, job: &Job) -> Option<&CronLine> {
        self.crontabs.get(&job.owner.uid)?.lines.iter().find(|line| line.job == job.id)
    }
}
