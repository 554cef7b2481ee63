//! What `scontrol` does to jobs: `hold`, `release`, `requeue`, `suspend` and their kin.

use spur_core::errors::SlurmError;
use spur_core::job::reference::{JobReference, Part};
use spur_core::job::{JobState, JobStatus};
use spur_core::state::Assignment;
use spur_core::views::JobView;
use spur_proto::caller::CallError;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::{
    HoldJob, ListJobsRequest, NotifyJob, ReleaseJob, RequeueJob, ResumeJob, SuspendJob, UpdateJob,
};

use super::Session;

pub fn hold(session: &mut Session, words: &[&str]) -> u8 {
    each_and_again(session, words, &Action::Hold(HoldJob { as_user: false }))
}

pub fn uhold(session: &mut Session, words: &[&str]) -> u8 {
    each_and_again(session, words, &Action::Hold(HoldJob { as_user: true }))
}

pub fn release(session: &mut Session, words: &[&str]) -> u8 {
    each_and_again(session, words, &Action::Release(ReleaseJob {}))
}

pub fn requeue(session: &mut Session, words: &[&str]) -> u8 {
    each(session, words, &Action::Requeue(RequeueJob::default())).0
}

pub fn requeue_and_hold(session: &mut Session, words: &[&str]) -> u8 {
    // `State=SpecialExit` may come first.
    let named = words.iter().position(|word| !word.to_ascii_lowercase().starts_with("state="));
    let (said, words) = words.split_at(named.unwrap_or(words.len()));
    let special = said.iter().any(|word| word.to_ascii_lowercase().ends_with("=specialexit"));
    each(session, words, &Action::Requeue(RequeueJob { hold: true, special })).0
}

pub fn suspend(session: &mut Session, words: &[&str]) -> u8 {
    each(session, words, &Action::Suspend(SuspendJob {})).0
}

pub fn resume(session: &mut Session, words: &[&str]) -> u8 {
    each(session, words, &Action::Resume(ResumeJob {})).0
}

/// `notify ID TEXT`: a word to `salloc` or `srun`. Nobody hears it for a script, which is said as where Slurm
/// cannot tell anybody either.
pub fn notify(session: &mut Session, words: &[&str]) -> u8 {
    let Some(reference) = JobReference::parse(words[0]) else {
        return session.refuse(format!("Invalid job_id {}job notify failure: No error", words[0]));
    };
    let request =
        ListJobsRequest { job_ids: vec![reference.job], ended: true, ..Default::default() };
    let jobs = session.controller().jobs(&request).unwrap_or_default();
    let outcome = match jobs.iter().find(|job| reference.names(job)) {
        None => Err(CallError::Refused(SlurmError::InvalidJobId)),
        Some(job) if JobStatus(job.state).base() > JobState::Suspended => {
            Err(CallError::Refused(SlurmError::AlreadyDone))
        }
        Some(job) => {
            let whole = JobReference { job: job.job_id, part: Part::Whole, step: None };
            let words = NotifyJob { words: words[1..].join(" ") };
            session.controller().control(&whole, Action::Notify(words))
        }
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => session.refuse(format!("job notify failure: {error}")),
    }
}

/// Before all other waiting jobs of its user, as far as niceness goes.
pub fn top(session: &mut Session, words: &[&str]) -> u8 {
    let mut status = 0;
    for (name, reference) in named(words) {
        let Some(reference) = reference else {
            status = session.refuse(format!("Invalid job id specified for job {name}"));
            continue;
        };
        let all = session.controller().jobs(&ListJobsRequest::default()).unwrap_or_default();
        let outcome = match all.iter().find(|job| reference.names(job)) {
            None => Err(CallError::Refused(SlurmError::InvalidJobId)),
            Some(job) => match niceness_of_first(job, &all) {
                Err(error) => Err(CallError::Refused(error)),
                Ok(nice) => {
                    let nice = Assignment { key: "Nice".into(), value: nice.to_string() };
                    let change = UpdateJob { assignments: vec![nice] };
                    session.controller().control(&reference, Action::Update(change))
                }
            },
        };
        if let Err(error) = outcome {
            status = session.refuse(format!("{error} for job {name}"));
        }
    }
    status
}

/// How nice a job has to be to stand before the others of its user.
fn niceness_of_first(job: &JobView, all: &[JobView]) -> Result<i64, SlurmError> {
    if JobStatus(job.state).base() != JobState::Pending {
        return Err(SlurmError::JobNotPending);
    }
    if job.priority == 0 {
        return Err(SlurmError::JobHeld);
    }
    let rivals = all.iter().filter(|other| {
        other.uid == job.uid
            && other.job_id != job.job_id
            && JobStatus(other.state).base() == JobState::Pending
    });
    let highest = rivals.map(|other| i64::from(other.priority)).max().unwrap_or(0);
    let lead = (highest - i64::from(job.priority) + 1).max(0);
    Ok(i64::from(job.nice) - lead)
}

/// These take jobs by their names too, `name=a`, also ended ones. Slurm tells the last refusal once more, and has
/// forgotten it where the job was not named by its number.
fn each_and_again(session: &mut Session, words: &[&str], action: &Action) -> u8 {
    let mut status = 0;
    let mut again = None;
    for word in words {
        let jobs = called(session, word);
        let is_called = jobs.is_some();
        let jobs = jobs.unwrap_or_else(|| named(&[word]));
        let (failed, refusal) = each_of(session, jobs, action);
        status = status.max(failed);
        let told = |error: CallError| if is_called { "No error".into() } else { error.to_string() };
        again = refusal.map(told).or(again);
    }
    if let Some(error) = again {
        session.refuse(format!("slurm_suspend error: {error}"));
    }
    status
}

/// Does it to every job named. The exit status, and the last refusal.
fn each(session: &mut Session, words: &[&str], action: &Action) -> (u8, Option<CallError>) {
    each_of(session, named(words), action)
}

fn each_of(
    session: &mut Session,
    jobs: Vec<(String, Option<JobReference>)>,
    action: &Action,
) -> (u8, Option<CallError>) {
    let (mut status, mut refusal) = (0, None);
    for (name, reference) in jobs {
        let outcome = match reference {
            Some(reference) => session.controller().control(&reference, action.clone()),
            None => Err(CallError::Refused(SlurmError::InvalidJobId)),
        };
        if let Err(error) = outcome {
            session.refuse(self::refusal(&name, &error));
            status = 1;
            // Of tasks it is told once.
            refusal = Some(error).filter(|_| !names_tasks(&name));
        }
    }
    (status, refusal)
}

/// How a refusal is told: of tasks of an array in other words than of a job.
pub fn refusal(name: &str, error: &CallError) -> String {
    match names_tasks(name) {
        true => format!("{name}: {error}"),
        false => format!("{error} for job {name}"),
    }
}

fn names_tasks(name: &str) -> bool {
    name.contains('_')
}

/// The jobs that words name: `12 13`, `12,13`, `12_[1-3]`.
fn named(words: &[&str]) -> Vec<(String, Option<JobReference>)> {
    let parts = words.iter().flat_map(|word| crate::commands::ids(word));
    parts.map(|part| (part.to_string(), JobReference::parse(part))).collect()
}

/// The jobs that a word calls by their name, if it does: `name=a`.
fn called(session: &mut Session, word: &str) -> Option<Vec<(String, Option<JobReference>)>> {
    let (key, name) = word.split_once('=')?;
    if !["name", "jobname"].contains(&key.to_ascii_lowercase().as_str()) {
        return None;
    }
    let names = vec![name.to_string()];
    let request = ListJobsRequest { names, ended: true, ..ListJobsRequest::default() };
    let mut found = session.controller().jobs(&request).unwrap_or_default();
    found.sort_by_key(|job| job.job_id);
    let ids = found.iter().map(|job| job.job_id.to_string());
    Some(ids.map(|id| (id.clone(), JobReference::parse(&id))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::views::JobDetail;

    #[test]
    fn the_first_of_a_user_is_as_nice_as_it_has_to_be() {
        let job = |job_id, uid, priority, nice| JobView {
            job_id,
            uid,
            priority,
            detail: Some(Box::new(JobDetail { nice, ..JobDetail::default() })),
            ..JobView::default()
        };
        let all = [job(1, 5, 100, 0), job(2, 5, 90, 3), job(3, 6, 900, 0)];
        assert_eq!(niceness_of_first(&all[1], &all), Ok(-8));
        assert_eq!(niceness_of_first(&all[0], &all), Ok(0));
        let held = job(4, 5, 0, 0);
        assert_eq!(niceness_of_first(&held, &all), Err(SlurmError::JobHeld));
    }
}
