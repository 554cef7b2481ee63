//! What `scontrol` does to jobs: `hold`, `release`, `requeue`, `suspend` and their kin.

use spur_core::errors::SlurmError;
use spur_core::job::reference::JobReference;
use spur_proto::caller::CallError;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::{HoldJob, ListJobsRequest, ReleaseJob, RequeueJob, ResumeJob, SuspendJob};

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
    each(session, words, &Action::Requeue(RequeueJob { hold: false })).0
}

pub fn requeue_and_hold(session: &mut Session, words: &[&str]) -> u8 {
    // `State=SpecialExit` may come first; the job is held either way.
    let named = words.iter().position(|word| !word.to_ascii_lowercase().starts_with("state="));
    let words = &words[named.unwrap_or(words.len())..];
    each(session, words, &Action::Requeue(RequeueJob { hold: true })).0
}

pub fn suspend(session: &mut Session, words: &[&str]) -> u8 {
    each(session, words, &Action::Suspend(SuspendJob {})).0
}

pub fn resume(session: &mut Session, words: &[&str]) -> u8 {
    each(session, words, &Action::Resume(ResumeJob {})).0
}

/// Slurm tells the last refusal of these once more.
fn each_and_again(session: &mut Session, words: &[&str], action: &Action) -> u8 {
    let (status, refusal) = each(session, words, action);
    if let Some(error) = refusal {
        session.refuse(format!("slurm_suspend error: {error}"));
    }
    status
}

/// Does it to every job named. The exit status, and the last refusal.
fn each(session: &mut Session, words: &[&str], action: &Action) -> (u8, Option<CallError>) {
    let mut refusal = None;
    for (name, reference) in named(session, words) {
        let outcome = match reference {
            Some(reference) => session.controller().control(&reference, action.clone()),
            None => Err(CallError::Refused(SlurmError::InvalidJobId)),
        };
        if let Err(error) = outcome {
            session.refuse(format!("{error} for job {name}"));
            refusal = Some(error);
        }
    }
    (u8::from(refusal.is_some()), refusal)
}

/// The jobs that words name: `12 13`, `12,13`, `12_[1-3]`, `name=a`.
fn named(session: &mut Session, words: &[&str]) -> Vec<(String, Option<JobReference>)> {
    let mut jobs = Vec::new();
    for word in words {
        let lower = word.to_ascii_lowercase();
        if let Some(place) = ["name=", "jobname="].iter().find(|key| lower.starts_with(**key)) {
            let name = word[place.len()..].to_string();
            let request = ListJobsRequest { names: vec![name], ..ListJobsRequest::default() };
            let found = session.controller().jobs(&request).unwrap_or_default();
            for job in found {
                jobs.push((job.job_id.to_string(), JobReference::parse(&job.job_id.to_string())));
            }
            continue;
        }
        for part in crate::commands::ids(word) {
            jobs.push((part.to_string(), JobReference::parse(part)));
        }
    }
    jobs
}
