//! Jobs: submit, cancel.

use std::sync::PoisonError;
use std::time::Duration;

use spur_core::auth::Actor;
use spur_core::blob::BlobHash;
use spur_core::config::words::Enforce;
use spur_core::errors::SlurmError;
use spur_core::ids::JobId;
use spur_core::job::{JobSpec, Owner, RequestId};
use spur_core::state::{
    Blob, Command, Control, Entry, JobAction, Origin, Reply, State, Submit, apply,
};
use spur_proto::slurm::{CancelJobReply, CancelJobRequest, SubmitJobReply, SubmitJobRequest};
use spur_proto::status::{from_status, remarked, to_status};
use tonic::{Code, Status};

use super::control::tasks;
use super::groups;
use super::limits;
use super::service::Service;
use crate::raft::members;
use crate::shell::Published;

/// How long a submission waits for the rules of accounting.
const RULES_PATIENCE: Duration = Duration::from_secs(5);

impl Service {
    pub(super) async fn submit(
        &self,
        actor: Actor,
        request: SubmitJobRequest,
    ) -> Result<SubmitJobReply, Status> {
        let Actor::User { uid, gid, .. } = &actor else {
            return Err(to_status(SlurmError::AccessDenied));
        };
        let (uid, gid) = (*uid, *gid);
        limits::submission(&request)?;
        if self.log.is_full() {
            return Err(Status::new(Code::ResourceExhausted, FULL));
        }
        let mut spec = request.spec.unwrap_or_default();
        let mut others = request.others;
        std::iter::once(&mut spec).chain(&mut others).try_for_each(|it| asked_by(&actor, it))?;
        self.wait_for_rules().await;
        let is_allocation = spec.allocation.is_some();
        let submit = Submit {
            request: name(&request.request_id)?,
            owner: Owner { uid, gid, name: self.names.of(uid).await },
            spec,
            others,
            script: BlobHash::of(&request.script),
            environment: BlobHash::of(&request.environment),
            blobs: vec![Blob { bytes: request.script }, Blob { bytes: request.environment }],
        };
        let specs = std::iter::once(&submit.spec).chain(&submit.others);
        let state = &self.inbox.published().state;
        groups::check(state, specs, &submit.owner).await.map_err(to_status)?;
        self.gauge(&submit)?;
        let (owner, asked) = (submit.owner.clone(), submit.spec.clone());
        let proposed = tokio::select! {
            proposed = self.propose(Command::Submit(Box::new(submit))) => proposed,
            // It was on its way to the disk when that was full, and may get there yet.
            () = self.log.becomes_full() => {
                let message = format!("{FULL}. It may be accepted then: see squeue before you repeat it");
                return Err(Status::new(Code::ResourceExhausted, message));
            }
        };
        let proposed = match proposed {
            Ok(reply) => reply,
            Err(status) => return Err(self.with_remark(status, &owner, &asked).await),
        };
        match proposed {
            Reply::Job(id) => {
                if is_allocation {
                    self.attendance.expect(id);
                }
                Ok(SubmitJobReply { job_id: id.0 })
            }
            _ => Err(Status::internal("a submission made no job")),
        }
    }

    /// A refusal by the rules says which limit it is, or what accounts there are.
    async fn with_remark(&self, status: Status, owner: &Owner, spec: &JobSpec) -> Status {
        let Some(error) = from_status(&status) else { return status };
        let Ok(published) = self.latest().await else { return status };
        match published.state.remark(owner, spec, error) {
            Some(remark) => remarked(error, &remark),
            None => status,
        }
    }

    /// A request that no node could ever meet is refused; more nodes than there are may come. One that is held
    /// is not looked at yet.
    pub(super) fn gauge(&self, submit: &Submit) -> Result<(), Status> {
        if submit.spec.hold || submit.spec.priority == Some(0) {
            return Ok(());
        }
        let components = || std::iter::once(&submit.spec).chain(&submit.others);
        // Who asks for none is refused by whoever would take it.
        if components().any(|spec| spec.nodes_min == Some(0)) {
            return Ok(());
        }
        let published = self.inbox.published();
        let lack = {
            let mut gauge = self.gauge.lock().unwrap_or_else(PoisonError::into_inner);
            components().find_map(|it| gauge.lack(&published.state, it, submit.owner.uid))
        };
        let Some(lack) = lack else { return Ok(()) };
        // Whatever else is wrong with it is said first, by whoever would take it.
        let command = Command::Submit(Box::new(submit.clone()));
        let entry = Entry { at: crate::clock::now().wall, origin: Origin::default(), command };
        if apply(&mut published.state.clone(), &entry).reply.is_err() {
            return Ok(());
        }
        let error = SlurmError::RequestedNodeConfigUnavailable;
        Err(lack.remark().map_or_else(|| to_status(error), |remark| remarked(error, remark)))
    }

    /// Where jobs need an association, a controller that has just begun waits a moment to learn who has one.
    async fn wait_for_rules(&self) {
        let lacks = |state: &State| {
            state.settings.accounting
                && state.rules.is_empty()
                && state.enforces(Enforce::Associations)
        };
        let mut changes = self.inbox.changes();
        let learn = async {
            while lacks(&self.inbox.published().state) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(RULES_PATIENCE, learn).await;
    }

    pub(super) async fn cancel(
        &self,
        actor: Actor,
        request: CancelJobRequest,
    ) -> Result<CancelJobReply, Status> {
        let tasks = tasks(&request.tasks)?;
        let action = JobAction::Cancel;
        let name = optional_name(&request.request_id)?;
        let control =
            Control { job: JobId(request.job_id), tasks, action, by: actor, request: name };
        self.propose(Command::Control(Box::new(control))).await?;
        Ok(CancelJobReply {})
    }

    /// The state as of now: everything acknowledged before this call is in it.
    pub(super) async fn latest(&self) -> Result<std::sync::Arc<Published>, Status> {
        // A full disk stops consensus, not those who look: whoever is alone knows that nothing was decided since.
        if !(self.log.is_full() && members::is_alone(&self.raft)) {
            let confirmed = tokio::time::timeout(PATIENCE, self.raft.ensure_linearizable()).await;
            if !matches!(confirmed, Ok(Ok(_))) {
                return Err(self.standby());
            }
        }
        let published = self.inbox.published();
        if published.leads { Ok(published) } else { Err(self.standby()) }
    }
}

/// Consensus that says nothing for so long waits for its disk; perhaps another controller knows more.
const PATIENCE: Duration = Duration::from_secs(2);

const FULL: &str = "the controller's disk is full: nothing is accepted until there is room";

/// What only operators may ask for: others do not go ahead of the queue.
pub(super) fn asked_by(actor: &Actor, spec: &mut JobSpec) -> Result<(), Status> {
    if actor.is_operator() {
        return Ok(());
    }
    if spec.nice.is_some_and(|nice| nice < 0) {
        return Err(to_status(SlurmError::InvalidNice));
    }
    // As in Slurm: nothing is said about it.
    spec.priority = spec.priority.filter(|priority| *priority == 0);
    Ok(())
}

/// A client's name for a request.
pub(super) fn name(bytes: &[u8]) -> Result<RequestId, Status> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(|_| Status::invalid_argument("a request id has 16 bytes"))?;
    Ok(RequestId(u128::from_le_bytes(bytes)))
}

/// The same where a client need not give one.
pub(super) fn optional_name(bytes: &[u8]) -> Result<Option<RequestId>, Status> {
    (!bytes.is_empty()).then(|| name(bytes)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::auth::Level;
    use spur_core::ids::{Gid, Uid};

    #[test]
    fn only_operators_go_ahead_of_the_queue() {
        let ask = |level, nice, priority| {
            let mut spec = JobSpec { nice, priority, ..JobSpec::default() };
            asked_by(&Actor::user(Uid(7), Gid(7), level), &mut spec).map(|()| spec.priority)
        };
        assert_eq!(ask(Level::None, Some(5), Some(1000)).expect("is taken"), None);
        assert_eq!(ask(Level::None, None, Some(0)).expect("is taken"), Some(0));
        assert_eq!(ask(Level::Operator, Some(-5), Some(9)).expect("is taken"), Some(9));
        let refused = ask(Level::None, Some(-5), None).expect_err("is refused");
        assert_eq!(from_status(&refused), Some(SlurmError::InvalidNice));
    }
}
