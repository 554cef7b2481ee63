//! Questions of `scontrol` that are answered in a word.

use spur_core::errors::SlurmError;
use spur_core::job::reference::JobReference;
use spur_core::job::{JobFlag, JobState, JobStatus};
use spur_proto::slurm::ListJobsRequest;

use super::Session;
use crate::commands::{Notation, answer};
use crate::output::{note, print, reason};

pub fn ping(session: &mut Session, _: &[&str]) -> u8 {
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned());
    let host = host.unwrap_or_default();
    let asked = std::time::Instant::now();
    let up = session.controller().ping().is_ok();
    let state = if up { "UP" } else { "DOWN" };
    match session.notation {
        Notation::Table => print(&format!("Slurmctld(primary) at {host} is {state}\n")),
        notation => {
            let ping = serde_json::json!({
                "hostname": host,
                "pinged": state,
                "responding": up,
                "latency": asked.elapsed().as_micros() as u64,
                "mode": "primary",
                "primary": true,
            });
            let whole = answer::envelope(session.controller(), "pings", vec![ping], &[], &["ping"]);
            print(&answer::written(&whole, notation));
        }
    }
    u8::from(!up)
}

pub fn error_text(session: &mut Session, words: &[&str]) -> u8 {
    let Ok(number) = words[0].parse::<u32>() else {
        return session.refuse("numeric arguments required for keyword:errnumstr");
    };
    let text = match SlurmError::from_number(number) {
        None if number == 0 => "No error".to_string(),
        Some(error) => error.to_string(),
        None => reason(&std::io::Error::from_raw_os_error(number as i32)),
    };
    print(&format!("{text}\n"));
    0
}

/// Jobs that are on their way out, with the nodes they still hold.
pub fn completing(session: &mut Session, _: &[&str]) -> u8 {
    let jobs = match session.controller().jobs(&ListJobsRequest::default()) {
        Ok(jobs) => jobs,
        Err(error) => return session.refuse(format!("slurm_load_jobs error: {error}")),
    };
    for job in jobs.iter().filter(|job| JobStatus(job.state).has(JobFlag::Completing)) {
        print(&format!(
            "JobId={} EndTime={} CompletingTime={} Nodes(COMPLETING)={}\n",
            job.job_id,
            spur_core::fields::clock::moment(
                job.end_time,
                crate::zone::offset_at(spur_core::time::Timestamp(job.end_time))
            ),
            spur_core::fields::clock::span_padded((crate::zone::now().0 - job.end_time).max(0)),
            job.nodes
        ));
    }
    0
}

/// Answers when the job has its nodes; one that is over never will.
pub fn wait_job(session: &mut Session, words: &[&str]) -> u8 {
    let Some(reference) = JobReference::parse(words[0]) else {
        return session.refuse(format!("Invalid job_id {}", words[0]));
    };
    let request =
        ListJobsRequest { job_ids: vec![reference.job], ended: true, ..Default::default() };
    loop {
        let found = session.controller().jobs(&request);
        let job = found.ok().and_then(|jobs| jobs.into_iter().find(|job| reference.names(job)));
        match job.map(|job| JobStatus(job.state).base()) {
            Some(JobState::Pending) => std::thread::sleep(std::time::Duration::from_millis(200)),
            Some(JobState::Running | JobState::Suspended) => {
                note(format!("scontrol: Nodes are ready for job {}", words[0]));
                return 0;
            }
            Some(_) => {
                note(format!("scontrol: Job {} no longer running", words[0]));
                return 1;
            }
            None => {
                note(format!("scontrol: Problem running job {}", words[0]));
                return 1;
            }
        }
    }
}
