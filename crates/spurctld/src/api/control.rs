//! What is done to jobs, nodes and partitions that are there.

use spur_core::auth::Actor;
use spur_core::errors::SlurmError;
use spur_core::ids::{JobId, StepId};
use spur_core::job::{ArraySpec, JobSpec, array};
use spur_core::limit::Limit;
use spur_core::state::{
    Administer, Assignment, Command, Control, JobAction, Noun, Reply, SignalScope, Verb,
};
use spur_core::update;
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::{
    self, AdministerReply, AdministerRequest, ControlJobReply, ControlJobRequest, ReconfigureReply,
};
use spur_proto::status::to_status;
use tokio::sync::oneshot;
use tonic::Status;

use super::jobs::optional_name;
use super::service::Service;
use super::{groups, limits};

impl Service {
    pub(super) async fn control(
        &self,
        by: Actor,
        request: ControlJobRequest,
    ) -> Result<ControlJobReply, Status> {
        let action = request.action.ok_or_else(|| Status::invalid_argument("nothing to do"))?;
        let action = match action {
            Action::Hold(hold) => JobAction::Hold { as_user: hold.as_user },
            Action::Release(_) => JobAction::Release,
            Action::Requeue(requeue) if requeue.special => JobAction::RequeueSpecial,
            Action::Requeue(requeue) => JobAction::Requeue { hold: requeue.hold },
            Action::Suspend(_) => JobAction::Suspend,
            Action::Resume(_) => JobAction::Resume,
            Action::Signal(signal) => JobAction::Signal {
                signal: signal.signal,
                scope: match signal.scope() {
                    slurm::SignalScope::Steps => SignalScope::Steps,
                    slurm::SignalScope::Batch => SignalScope::Batch,
                    slurm::SignalScope::Full => SignalScope::Full,
                },
            },
            Action::LimitSteps(it) => JobAction::LimitSteps {
                step: it.step_id.map(StepId),
                limit: it.minutes.map_or(Limit::Unlimited, Limit::Is),
            },
            Action::Update(update) => JobAction::Update(update.assignments),
            Action::Notify(notify) => {
                let words = limits::words(&notify.words)?;
                self.latest().await?;
                if !self.was_done(&by, &request.request_id)? {
                    self.notify(&by, JobId(request.job_id), words).await?;
                    self.remember(&by, &request.request_id).await?;
                }
                return Ok(ControlJobReply {});
            }
        };
        if let JobAction::Update(assignments) = &action {
            limits::changes("", assignments)?;
            self.check_groups(&by, JobId(request.job_id), assignments).await?;
        }
        let tasks = tasks(&request.tasks)?;
        let name = optional_name(&request.request_id)?;
        let control = Control { job: JobId(request.job_id), tasks, action, by, request: name };
        self.propose(Command::Control(Box::new(control))).await?;
        Ok(ControlJobReply {})
    }

    /// A partition that a job is moved to must be one that its owner may use.
    async fn check_groups(
        &self,
        by: &Actor,
        job: JobId,
        assignments: &[Assignment],
    ) -> Result<(), Status> {
        let is_partition = |it: &&Assignment| {
            let row = update::job::find(&it.key);
            row.is_some_and(|row| row.names.contains(&"Partition"))
        };
        let Some(said) = assignments.iter().rfind(is_partition) else { return Ok(()) };
        let published = self.inbox.published();
        let state = &published.state;
        let job = state.jobs.get(&job).or_else(|| state.array(job).next()).cloned();
        let Some(job) = job.filter(|_| !by.is_operator()) else { return Ok(()) };
        let moved = JobSpec { partition: said.value.clone(), ..JobSpec::default() };
        groups::check(state, std::iter::once(&moved), &job.owner).await.map_err(to_status)
    }

    /// Slurm's own error where the file has a mistake; the words say which.
    pub(super) async fn reconfigured(&self) -> Result<ReconfigureReply, Status> {
        let (answer, done) = oneshot::channel();
        let gone = |_| Status::unavailable("the controller is stopping");
        self.reload.send(answer).await.map_err(|_| gone(()))?;
        let changes = done.await.map_err(|_| gone(()))?.map_err(Status::failed_precondition)?;
        Ok(ReconfigureReply { changes })
    }

    pub(super) async fn administered(
        &self,
        by: Actor,
        request: AdministerRequest,
    ) -> Result<AdministerReply, Status> {
        let noun = match request.noun() {
            slurm::Noun::Node => Noun::Node,
            slurm::Noun::Partition => Noun::Partition,
            slurm::Noun::Reservation => Noun::Reservation,
        };
        let verb = match request.verb() {
            slurm::Verb::Create => Verb::Create,
            slurm::Verb::Update => Verb::Update,
            slurm::Verb::Delete => Verb::Delete,
        };
        limits::changes(&request.name, &request.assignments)?;
        if noun == Noun::Reservation && by.is_operator() {
            check_users(&request.assignments).await?;
        }
        let is_operator = by.is_operator();
        let change = Administer {
            noun,
            verb,
            name: request.name,
            assignments: request.assignments,
            by,
            request: optional_name(&request.request_id)?,
        };
        let command = Command::Administer(Box::new(change));
        // Who may not writes nothing into the log: it is tried out first.
        if !is_operator {
            self.would_be_denied(&command)?;
        }
        match self.propose(command).await? {
            Reply::Named(name) => Ok(AdministerReply { name }),
            _ => Ok(AdministerReply::default()),
        }
    }
}

/// Whether everybody that is named is known on this machine.
async fn check_users(assignments: &[Assignment]) -> Result<(), Status> {
    let is_users = |key: &str| {
        let key = key.trim_end_matches(['+', '-']).to_ascii_lowercase();
        key.len() >= 3 && "users".starts_with(&key)
    };
    let said = assignments.iter().filter(|it| is_users(&it.key));
    let names = said.flat_map(|it| it.value.split(','));
    let names = names.map(|name| name.trim_start_matches(['+', '-']).to_string());
    let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    let known = |name: &String| nix::unistd::User::from_name(name).ok().flatten().is_some();
    let look_up = move || names.iter().all(known);
    match tokio::task::spawn_blocking(look_up).await {
        Ok(true) => Ok(()),
        _ => Err(to_status(SlurmError::UserIdMissing)),
    }
}

/// Tasks as `12_[1-3]` has them behind the line; none means all.
pub(super) fn tasks(text: &str) -> Result<Option<ArraySpec>, Status> {
    array::parse(text, u32::MAX).map_err(|_| to_status(SlurmError::InvalidArray))
}
