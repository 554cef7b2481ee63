//! Steps and allocations: attended, made, ended, listed.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use spur_core::auth::{Action, Actor, Target, may};
use spur_core::errors::SlurmError;
use spur_core::hostlist;
use spur_core::ids::{JobId, StepId, Uid};
use spur_core::job::{
    Allocation, ExitStatus, Job, JobState, Phase, Reason, Step, StepEnd, StepShare,
};
use spur_core::state::{Command, CreateStep, Reply};
use spur_core::step::layout;
use spur_core::views::StepView;
use spur_proto::credential::LIFETIME_SECS;
use spur_proto::internal::Credential;
use spur_proto::slurm::create_step_reply::Reply as Told;
use spur_proto::slurm::{
    AllocatedNode, AttendReply, AttendRequest, CreateStepReply, CreateStepRequest,
    EndAllocationReply, EndAllocationRequest, JobAllocation, ListStepsReply, ListStepsRequest,
    SignalStepReply, SignalStepRequest, StepAccess, StepAccessNode, StepAccessRequest,
};
use spur_proto::status::to_status;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::jobs::name;
use super::limits;
use super::nodes::tres;
use super::read::job_view;
use super::service::Service;
use super::sight::Sight;
use crate::shell::Published;

type Stream<T> = ReceiverStream<Result<T, Status>>;

impl Service {
    /// Tells how a job stands until it is over. As long as the stream is open, the job is attended.
    pub(super) async fn attend_job(
        &self,
        actor: Actor,
        request: AttendRequest,
    ) -> Result<Stream<AttendReply>, Status> {
        let id = JobId(request.job_id);
        let mut changes = self.inbox.changes();
        changes.borrow_and_update();
        let job = self.own_job(&actor, id).await?;
        drop(job);
        let (seat, mut said) = self.attendance.attend(id);
        let inbox = self.inbox.clone();
        let (replies, stream) = mpsc::channel(16);
        tokio::spawn(async move {
            let _seat = seat;
            let mut seen: Option<(Arc<Job>, Option<Reason>)> = None;
            loop {
                let published = inbox.published();
                let Some(job) = published.state.jobs.get(&id) else { return };
                let wait = published.waits.get(id).map(|wait| wait.reason);
                let same = |(known, reason): &(Arc<Job>, Option<Reason>)| {
                    Arc::ptr_eq(known, job) && *reason == wait
                };
                if !seen.as_ref().is_some_and(same) {
                    seen = Some((job.clone(), wait));
                    let job = allocation(&published, job);
                    let over = published.state.jobs.get(&id).is_none_or(|job| job.phase.is_over());
                    let reply = AttendReply { job: Some(job), ..AttendReply::default() };
                    if replies.send(Ok(reply)).await.is_err() || over {
                        return;
                    }
                }
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    Some(words) = said.recv() => {
                        let reply = AttendReply { words, ..AttendReply::default() };
                        if replies.send(Ok(reply)).await.is_err() {
                            return;
                        }
                    }
                    () = replies.closed() => return,
                }
                changes.borrow_and_update();
            }
        });
        Ok(ReceiverStream::new(stream))
    }

    /// Says something to those who attend a job, or in the output of its script.
    pub(super) async fn notify(&self, by: &Actor, id: JobId, words: &str) -> Result<(), Status> {
        let published = self.latest().await?;
        let job = published.state.jobs.get(&id).ok_or(to_status(SlurmError::InvalidJobId))?;
        may(by, Action::ControlJob, Target::from(&**job)).map_err(to_status)?;
        match self.attendance.tell(id, words) {
            _ if job.phase.is_over() => Err(to_status(SlurmError::AlreadyDone)),
            true => Ok(()),
            false if job.steps.live.contains_key(&StepId::BATCH) => {
                self.inbox.notice(id, words);
                Ok(())
            }
            false => Err(to_status(SlurmError::Disabled)),
        }
    }

    pub(super) async fn end_allocation_of(
        &self,
        actor: Actor,
        request: EndAllocationRequest,
    ) -> Result<EndAllocationReply, Status> {
        let job = JobId(request.job_id);
        let exit = ExitStatus::from_wait(request.exit_status);
        let command = Command::EndAllocation { job, exit, by: actor.clone() };
        self.propose_once(&actor, &request.request_id, command).await?;
        Ok(EndAllocationReply {})
    }

    /// Makes a step, or says once that it has to wait and makes it when it has not to any more. Every
    /// commit wakes this, nothing polls.
    pub(super) async fn make_step(
        &self,
        actor: Actor,
        request: CreateStepRequest,
    ) -> Result<Stream<CreateStepReply>, Status> {
        let mut spec = request.spec.unwrap_or_default();
        limits::step(&spec)?;
        if spec.mpi.is_empty() {
            spec.mpi.clone_from(&self.inbox.published().state.settings.config.agent.mpi);
        }
        let create = CreateStep {
            job: JobId(request.job_id),
            request: name(&request.request_id)?,
            spec,
            beside: request.beside.map(StepId),
            by: actor.clone(),
        };
        self.own_job(&actor, create.job).await?;
        let (replies, stream) = mpsc::channel(4);
        let service = self.clone();
        tokio::spawn(async move {
            let made = service.make_when_possible(create, request.immediate, &replies).await;
            let _ = match made {
                Ok(Some(access)) => {
                    replies.send(Ok(CreateStepReply { reply: Some(Told::Created(access)) })).await
                }
                Ok(None) => Ok(()),
                Err(status) => replies.send(Err(status)).await,
            };
        });
        Ok(ReceiverStream::new(stream))
    }

    /// Nothing when the client has gone meanwhile.
    async fn make_when_possible(
        &self,
        create: CreateStep,
        immediate: bool,
        replies: &mpsc::Sender<Result<CreateStepReply, Status>>,
    ) -> Result<Option<StepAccess>, Status> {
        let mut changes = self.inbox.changes();
        let mut told = false;
        loop {
            changes.borrow_and_update();
            match self.try_to_make(&create).await {
                Ok(access) => return Ok(Some(access)),
                Err(Attempt::Refused(status)) => return Err(status),
                Err(Attempt::Busy(error)) if immediate => return Err(to_status(error)),
                Err(Attempt::Busy(error)) => {
                    let waiting = Told::Waiting(error.number());
                    let reply = CreateStepReply { reply: Some(waiting) };
                    if !told && replies.send(Ok(reply)).await.is_err() {
                        return Ok(None);
                    }
                    told = true;
                }
            }
            tokio::select! {
                changed = changes.changed() => {
                    changed.map_err(|_| to_status(SlurmError::InStandbyMode))?;
                }
                () = replies.closed() => return Ok(None),
            }
        }
    }

    async fn try_to_make(&self, create: &CreateStep) -> Result<StepAccess, Attempt> {
        let refused = |error| Attempt::Refused(to_status(error));
        let published = self.inbox.published();
        let job = published.state.jobs.get(&create.job).ok_or(refused(SlurmError::InvalidJobId))?;
        let held = match &job.phase {
            Phase::Running { allocation, .. } => allocation,
            Phase::Pending => return Err(Attempt::Busy(SlurmError::JobPending)),
            Phase::Completing { .. } | Phase::Ended { .. } => {
                return Err(refused(SlurmError::AlreadyDone));
            }
        };
        // Only what would be accepted is proposed; `apply` decides all the same.
        match layout::lay_out(&create.spec, held, &job.steps.busy()) {
            Ok(_) => {}
            Err(SlurmError::NodesBusy) => return Err(Attempt::Busy(SlurmError::NodesBusy)),
            Err(error) => return Err(refused(error)),
        }
        match self.propose(Command::CreateStep(Box::new(create.clone()))).await {
            Ok(Reply::Step(job, step)) => self.access(job, step, None).map_err(Attempt::Refused),
            Ok(_) => Err(Attempt::Refused(Status::internal("a request made no step"))),
            Err(status)
                if spur_proto::status::from_status(&status) == Some(SlurmError::NodesBusy) =>
            {
                Err(Attempt::Busy(SlurmError::NodesBusy))
            }
            Err(status) => Err(Attempt::Refused(status)),
        }
    }

    pub(super) async fn step_access_for(
        &self,
        actor: Actor,
        request: StepAccessRequest,
    ) -> Result<StepAccess, Status> {
        let (job, step) = (JobId(request.job_id), StepId(request.step_id));
        let owner = self.own_job(&actor, job).await;
        let administers = || may(&actor, Action::Administer, Target::Cluster).is_ok();
        match (owner, actor.uid()) {
            (Err(_), Some(uid)) if request.measure && administers() => {
                self.access(job, step, Some(uid))
            }
            (owner, _) => owner.and_then(|_| self.access(job, step, None)),
        }
    }

    pub(super) async fn signal_step_of(
        &self,
        actor: Actor,
        request: SignalStepRequest,
    ) -> Result<SignalStepReply, Status> {
        let (job, step) = (JobId(request.job_id), StepId(request.step_id));
        let end = match i32::try_from(request.signal) {
            Ok(0) => Some(StepEnd::Asked),
            Ok(nix::libc::SIGKILL) => {
                Some(StepEnd::Killed { by: actor.uid().unwrap_or_default().0 })
            }
            _ => None,
        };
        if let Some(end) = end {
            let command = Command::EndStep { job, step, end, by: actor.clone() };
            self.propose_once(&actor, &request.request_id, command).await?;
            return Ok(SignalStepReply {});
        }
        let published = self.latest().await?;
        if self.was_done(&actor, &request.request_id)? {
            return Ok(SignalStepReply {});
        }
        let found = published.state.jobs.get(&job).ok_or(to_status(SlurmError::InvalidJobId))?;
        may(&actor, Action::CancelJob, Target::from(&**found)).map_err(to_status)?;
        if !found.steps.live.contains_key(&step) {
            return Err(to_status(SlurmError::AlreadyDone));
        }
        self.inbox.signal(job, step, request.signal);
        self.remember(&actor, &request.request_id).await?;
        Ok(SignalStepReply {})
    }

    pub(super) async fn steps(
        &self,
        actor: Actor,
        request: ListStepsRequest,
    ) -> Result<ListStepsReply, Status> {
        limits::listed(&[request.job_ids.len(), request.uids.len()])?;
        let published = self.latest().await?;
        let state = &published.state;
        let sight = Sight::of(&actor, state);
        let wanted = |job: &&Arc<Job>| {
            sight.job(job)
                && (request.job_ids.is_empty() || request.job_ids.contains(&job.id.0))
                && (request.uids.is_empty()
                    || request.uids.iter().any(|uid| Uid(*uid) == job.owner.uid))
        };
        let jobs = state.index.active.iter().filter_map(|id| state.jobs.get(id)).filter(wanted);
        let steps = jobs.flat_map(|job| {
            let view = |step: &Arc<Step>| step_view(&published, job, step);
            let (batch, others): (Vec<_>, Vec<_>) =
                job.steps.live.values().partition(|step| step.id == StepId::BATCH);
            // The script comes first, as it began first.
            batch.into_iter().chain(others).map(view).collect::<Vec<_>>()
        });
        Ok(ListStepsReply { steps: steps.collect() })
    }

    /// A job that the caller may act in.
    async fn own_job(&self, actor: &Actor, id: JobId) -> Result<Arc<Job>, Status> {
        let published = self.latest().await?;
        let job = published.state.jobs.get(&id).ok_or(to_status(SlurmError::InvalidJobId))?;
        may(actor, Action::RunInJob, Target::from(&**job)).map_err(to_status)?;
        Ok(job.clone())
    }

    /// What leads to a step: for its owner to act in it, or for whoever measures it to do that alone.
    fn access(
        &self,
        job: JobId,
        step: StepId,
        measurer: Option<Uid>,
    ) -> Result<StepAccess, Status> {
        let published = self.inbox.published();
        let job = published.state.jobs.get(&job).ok_or(to_status(SlurmError::InvalidJobId))?;
        let step = job.steps.live.get(&step).ok_or(to_status(SlurmError::AlreadyDone))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let nodes = step.shares.iter().map(|share| {
            let (credential, signature) = self.key.sign(&Credential {
                job: job.id.0,
                epoch: job.epoch.0,
                step: step.id.0,
                uid: measurer.unwrap_or(job.owner.uid).0,
                node: share.node.to_string(),
                expires: now as i64 + LIFETIME_SECS,
                serial: 0,
                measures: measurer.is_some(),
            });
            StepAccessNode {
                name: share.node.to_string(),
                address: published.addresses.get(&share.node).cloned().unwrap_or_default(),
                ranks: share.ranks.clone(),
                cpus: share.cpus,
                credential,
                signature,
            }
        });
        let hooks = &published.state.settings.config.hooks;
        let kill_wait = published.state.settings.config.timeouts.kill_wait;
        Ok(StepAccess {
            prolog: hooks.srun_prolog.clone().unwrap_or_default(),
            epilog: hooks.srun_epilog.clone().unwrap_or_default(),
            kill_wait_secs: u32::try_from(kill_wait.0).unwrap_or(u32::MAX),
            job_id: job.id.0,
            step_id: step.id.0,
            nodes: nodes.collect(),
            job: Some(allocation(&published, job)),
            spec: step.spec.as_deref().cloned(),
            authority: self
                .trusted
                .authority()
                .map(|it| it.certificate().to_vec())
                .unwrap_or_default(),
        })
    }
}

/// Why a step was not made at this moment.
enum Attempt {
    /// It may be later.
    Busy(SlurmError),
    /// It never will be.
    Refused(Status),
}

/// A job, and what it holds.
fn allocation(published: &Published, job: &Job) -> JobAllocation {
    let parts = job.component.filter(|it| it.leads()).into_iter();
    let parts = parts.flat_map(|it| published.state.components(it));
    let components = parts.map(|job| one_allocation(published, job)).collect();
    JobAllocation { components, ..one_allocation(published, job) }
}

fn one_allocation(published: &Published, job: &Job) -> JobAllocation {
    let held = job.phase.holds().into_iter().flat_map(|held| &held.shares);
    let nodes = held.map(|share| AllocatedNode {
        name: share.node.to_string(),
        cpus: share.cpus,
        memory_mb: share.memory_mb,
    });
    JobAllocation {
        view: Some(job_view(published, job)),
        spec: Some((*job.spec).clone()),
        nodes: nodes.collect(),
        cluster_name: published.state.settings.cluster_name.clone(),
        epoch: job.epoch.0,
        components: Vec::new(),
    }
}

/// Shows a step.
fn step_view(published: &Published, job: &Job, step: &Step) -> StepView {
    let of_job = job_view(published, job);
    let spec = step.spec.as_deref().cloned().unwrap_or_default();
    let request = spec.request.as_deref().cloned().unwrap_or_default();
    let batch = step.id == StepId::BATCH;
    let held = job.phase.holds();
    // The script takes nothing of its own: its steps do.
    let cpus: u32 = step.shares.iter().map(|share| share.cpus).sum();
    let memory: u64 = step.shares.iter().map(|share| memory_beside(held, share)).sum();
    let nodes = step.shares.len() as u64;
    let paused = (job.pause.secs - step.paused_before).max(0);
    let tres_allocated = match batch {
        true => String::new(),
        false => tres(&published.state, cpus.into(), memory, Some(nodes), std::iter::empty(), None),
    };
    StepView {
        job_id: job.id.0,
        array_job_id: of_job.array_job_id,
        array_task_id: of_job.array_task_id,
        het_job_id: of_job.het_job_id,
        het_job_offset: of_job.het_job_offset,
        step_id: step.id.to_string(),
        name: if batch { "batch".to_string() } else { request.name.clone() },
        user_name: job.owner.name.clone(),
        uid: job.owner.uid.0,
        partition: of_job.partition.clone(),
        state: JobState::Running.number(),
        start_time: step.since.0,
        suspended_secs: paused,
        run_secs_before_suspend: job.pause.since.map(|it| (it.0 - step.since.0 - paused).max(0)),
        time_limit: step.limit,
        nodes: hostlist::compress(step.shares.iter().map(|share| share.node.as_str())),
        num_nodes: step.shares.len() as u32,
        num_tasks: step.tasks(),
        num_cpus: cpus,
        cluster: of_job.cluster.clone(),
        submit_line: request.submit_line.clone(),
        srun_host: spec.srun_host.clone(),
        srun_pid: spec.srun_pid,
        distribution: match shown_distribution(&request.layout().distribution) {
            // The script is laid out nowhere; others are by Slurm's usual way.
            unsaid if unsaid.is_empty() && batch => unsaid,
            unsaid if unsaid.is_empty() && step.tasks() as usize <= step.shares.len() => {
                "Cyclic".to_string()
            }
            unsaid if unsaid.is_empty() => "Block".to_string(),
            said => said,
        },
        tres_allocated,
        ..StepView::default()
    }
}

/// What a step has of its job's memory on a node: as much as its processors have of the job's.
fn memory_beside(held: Option<&Arc<Allocation>>, share: &StepShare) -> u64 {
    let of_job = held.and_then(|held| held.shares.iter().find(|job| job.node == share.node));
    of_job.map_or(0, |job| match job.cpus {
        0 => 0,
        cpus => job.memory_mb * u64::from(share.cpus.min(cpus)) / u64::from(cpus),
    })
}

fn shown_distribution(asked: &str) -> String {
    let words = asked.split(',').next().unwrap_or_default();
    let shown: Vec<String> = words
        .split(':')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        })
        .collect();
    shown.join(":")
}
