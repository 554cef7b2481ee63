//! A job without a script, as `salloc` and `srun` ask for one: submitted, waited for, attended until it
//! is given back.

use std::time::Duration;

use spur_core::errors::SlurmError;
use spur_core::job::spec::AllocationSpec;
use spur_core::job::{JobSpec, JobState, JobStatus, Reason};
use spur_core::options::{Request, Tool};
use spur_core::views::JobView;
use spur_proto::caller::{CallError, Caller};
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{
    AttendReply, AttendRequest, EndAllocationRequest, JobAllocation, ListJobsRequest,
    SubmitJobRequest, TryJobRequest,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::submission;
use crate::cluster;
use crate::output::{complain, note};

/// How a command speaks while it waits.
pub struct Voice {
    /// Which it is.
    pub tool: Tool,
    /// Whether it says anything but errors.
    pub quiet: bool,
    /// Whether it says nothing of tasks that fail either: `-QQ`.
    pub silent: bool,
    /// Whether it says more than Slurm.
    pub verbose: bool,
}

impl Voice {
    /// As loud as it was asked to be.
    pub fn of(tool: Tool, asked: &Request) -> Voice {
        let (quiet, verbose) = (asked.tool.quiet, asked.tool.verbose);
        Voice { tool, quiet: quiet > 0, silent: quiet > 1, verbose: verbose > 0 }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.tool.name()
    }

    /// A line for people who did not ask for quiet.
    pub fn say(&self, line: impl std::fmt::Display) {
        if !self.quiet {
            note(format!("{}: {line}", self.name()));
        }
    }
}

/// A job that somebody attends.
pub struct Attended {
    /// Its number.
    pub job: u32,
    /// What is told about it.
    pub news: mpsc::UnboundedReceiver<JobAllocation>,
}

/// How long a job that was not looked at yet is not called waiting.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// Submits a job, of several components or of one, and waits for its resources. What went wrong is said;
/// then there is an exit status.
pub async fn allocate(
    voice: &Voice,
    mut specs: Vec<JobSpec>,
    unattended: bool,
) -> Result<(Attended, JobAllocation), u8> {
    let mut immediate = None;
    for spec in &mut specs {
        immediate = spec.lifecycle.as_mut().and_then(|part| part.immediate_secs.take());
        if spec.lifecycle.as_deref() == Some(&Default::default()) {
            spec.lifecycle = None;
        }
        spec.submit_host = host_name();
        spec.submit_session = session();
        spec.allocation = Some(Box::new(AllocationSpec {
            host: host_name(),
            session: session(),
            unattended,
            immediate_secs: immediate,
        }));
    }
    let mut specs = specs.into_iter();
    let spec = specs.next().unwrap_or_default();
    let partition = spec.partition.clone();
    let others: Vec<JobSpec> = specs.collect();
    let asked = TryJobRequest { spec: Some(spec.clone()), others: others.clone(), as_asked: true };
    let message = SubmitJobRequest {
        request_id: cluster::request_id(),
        spec: Some(spec),
        others,
        ..SubmitJobRequest::default()
    };
    let ask = |mut client: ControllerClient<_>| {
        let message = message.clone();
        async move { client.submit_job(message).await }
    };
    let job = match cluster::caller().call(ask).await {
        Ok(reply) => reply.job_id,
        Err(error) => {
            submission::not_taken(voice.tool, &partition, &error, voice.verbose);
            return Err(submission::error_status());
        }
    };
    let mut attended = attend(voice.tool, job);
    let granted = wait_for_grant(voice, &mut attended, asked, immediate).await?;
    Ok((attended, granted))
}

async fn wait_for_grant(
    voice: &Voice,
    attended: &mut Attended,
    asked: TryJobRequest,
    immediate: Option<u32>,
) -> Result<JobAllocation, u8> {
    let job = attended.job;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|_| 1_u8)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|_| 1_u8)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(|_| 1_u8)?;
    let mut queued = false;
    let mut looked = false;
    let begun = tokio::time::Instant::now();
    let give_up = immediate.map(|secs| begun + Duration::from_secs(u64::from(secs)));
    loop {
        // Until the scheduler had a look, nobody knows whether it waits.
        let look_at = match (looked, give_up) {
            (false, _) => Some(begun + FIRST_LOOK),
            (true, Some(at)) => Some(at),
            (true, None) => None,
        };
        let news = tokio::select! {
            news = attended.news.recv() => news,
            () = until(look_at) => {
                if looked {
                    let why = match voice.tool {
                        Tool::Salloc => "Connection timed out",
                        _ => SlurmError::NodesBusy.text(),
                    };
                    return Err(given_up(voice, job, why).await);
                }
                looked = true;
                None
            }
            _ = interrupt.recv() => return Err(revoked(voice, job).await),
            _ = terminate.recv() => return Err(revoked(voice, job).await),
            _ = hang_up.recv() => return Err(revoked(voice, job).await),
        };
        let reason = news.as_ref().and_then(|news| Some(news.view.as_ref()?.reason)).unwrap_or(0);
        if let Some(news) = news {
            let state = JobStatus(news.view.as_ref().map_or(0, |view| view.state)).base();
            match state {
                JobState::Running => {
                    if queued {
                        voice.say(format!("job {job} has been allocated resources"));
                    }
                    return Ok(news);
                }
                JobState::Pending => looked |= reason != Reason::None.number(),
                _ => {
                    voice.say("Job has been cancelled");
                    if voice.tool == Tool::Salloc {
                        voice.say(format!("Job allocation {job} has been revoked."));
                    }
                    let over = SlurmError::AlreadyDone.text();
                    complain(voice.name(), submission::failed(voice.tool, &over));
                    return Err(1);
                }
            }
        }
        if looked && !queued {
            let unavailable = SlurmError::RequestedPartConfigUnavailable.text();
            let is = |reasons: &[Reason]| reasons.iter().any(|one| one.number() == reason);
            let held = is(&[Reason::JobHeldUser, Reason::JobHeldAdmin]);
            let not_yet = held || is(&[Reason::BeginTime, Reason::Dependency]);
            let later = not_yet && immediate.is_none();
            let never =
                [Reason::PartitionNodeLimit, Reason::PartitionConfig, Reason::PartitionTimeLimit];
            let never = is(&never) || later && beyond_partition(&asked).await;
            match (never, immediate) {
                (true, Some(_)) => {
                    end(job, 0).await;
                    if voice.tool == Tool::Salloc {
                        voice.say(format!("Job allocation {job} has been revoked."));
                    }
                    complain(voice.name(), submission::failed(voice.tool, &unavailable));
                    return Err(1);
                }
                (true, None) => voice.say(unavailable),
                (false, Some(0)) if not_yet => {
                    end(job, 0).await;
                    let never = SlurmError::Dependency.text();
                    complain(voice.name(), submission::failed(voice.tool, &never));
                    return Err(1);
                }
                (false, Some(0)) => {
                    let why = match is(&[Reason::Priority]) {
                        true => SlurmError::NotTopPriority,
                        false => SlurmError::NodesBusy,
                    };
                    return Err(given_up(voice, job, why.text()).await);
                }
                _ if held => voice.say(SlurmError::JobHeld.text()),
                _ if reason == Reason::ReqNodeNotAvail.number() => {
                    voice.say(SlurmError::NodeNotAvail.text());
                }
                _ => {}
            }
            if voice.tool == Tool::Salloc {
                voice.say(format!("Pending job allocation {job}"));
            }
            // Of srun's that waits for some seconds Slurm says nothing.
            if voice.tool == Tool::Salloc || immediate.is_none() {
                voice.say(format!("job {job} queued and waiting for resources"));
            }
            queued = true;
        }
    }
}

/// Whether a job that is held, or waits for a moment or another job, asks for more than its partition has or allows.
/// Which nodes would do is looked at later.
async fn beyond_partition(asked: &TryJobRequest) -> bool {
    let ask = |mut client: ControllerClient<_>| {
        let asked = asked.clone();
        async move { client.try_job(asked).await }
    };
    let reply = caller().call(ask).await.ok();
    let Some(told) = reply.and_then(|it| it.explanation) else { return false };
    told.reason == Reason::PartitionTimeLimit.name()
        || (told.needs.iter())
            .any(|it| matches!(it.name.as_str(), "cpu" | "node") && it.needed > it.total)
}

/// Why nothing can be done in a job: it is over, it waits, or nobody knows it.
pub async fn not_running(job: u32) -> Option<SlurmError> {
    let request = ListJobsRequest { job_ids: vec![job], ended: true, ..Default::default() };
    let ask = |mut client: ControllerClient<_>| {
        let request = request.clone();
        async move { client.list_jobs(request).await }
    };
    lack(&caller().call(ask).await.ok()?.jobs)
}

/// The same of jobs that were found under its number.
pub fn lack(jobs: &[JobView]) -> Option<SlurmError> {
    let states = || jobs.iter().map(|job| JobStatus(job.state).base());
    match () {
        () if states().any(|it| matches!(it, JobState::Running | JobState::Suspended)) => None,
        () if states().any(|it| it == JobState::Pending) => Some(SlurmError::JobPending),
        () if jobs.is_empty() => Some(SlurmError::InvalidJobId),
        () => Some(SlurmError::AlreadyDone),
    }
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Takes a job back that did not get its resources in time.
async fn given_up(voice: &Voice, job: u32, why: &str) -> u8 {
    end(job, 0).await;
    complain(voice.name(), format!("Unable to allocate resources: {why}"));
    if voice.tool == Tool::Salloc {
        voice.say(format!("Job allocation {job} has been revoked."));
    }
    1
}

async fn revoked(voice: &Voice, job: u32) -> u8 {
    end(job, 0).await;
    match voice.tool {
        Tool::Salloc => {
            voice.say(format!("Job allocation {job} has been revoked."));
            voice.say("Job aborted due to signal");
        }
        _ => {
            voice.say(format!("Job allocation {job} has been revoked"));
            voice.say(format!("Force Terminated JobId={job}"));
        }
    }
    1
}

/// Keeps telling how a job stands, whatever becomes of the controller. As long as this goes on, the
/// controller knows that somebody is there.
pub fn attend(tool: Tool, job: u32) -> Attended {
    let (sender, news) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let ask = |mut client: ControllerClient<_>| async move {
                client.attend(AttendRequest { job_id: job }).await
            };
            match cluster::caller().call(ask).await {
                Ok(mut stream) => {
                    while let Ok(Some(AttendReply { job, words })) = stream.message().await {
                        if !words.is_empty() {
                            note(format!("{}: {words}", tool.name()));
                        }
                        let Some(job) = job else { continue };
                        let over = JobStatus(job.view.as_ref().map_or(0, |view| view.state));
                        let over = !matches!(over.base(), JobState::Pending | JobState::Running);
                        if sender.send(job).is_err() || over {
                            return;
                        }
                    }
                }
                // The controller is away for longer than a call waits; the job is not.
                Err(CallError::Unreachable) => {}
                Err(_) => return,
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    Attended { job, news }
}

/// Gives a job back, with the exit status of what it was made for.
pub async fn end(job: u32, exit_status: u32) {
    let request_id = cluster::request_id();
    let asked = EndAllocationRequest { job_id: job, exit_status, request_id };
    let ask = |mut client: ControllerClient<_>| {
        let asked = asked.clone();
        async move { client.end_allocation(asked).await }
    };
    let _ = cluster::caller().call(ask).await;
}

/// The session this command was called in.
pub fn session() -> u32 {
    nix::unistd::getsid(None).map_or(0, |pid| pid.as_raw().unsigned_abs())
}

/// The machine this command was called on.
pub fn host_name() -> String {
    nix::unistd::gethostname().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// A caller for what is not repeated.
pub fn caller() -> Caller {
    cluster::caller()
}
