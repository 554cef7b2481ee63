//! The services, one line a method; the work is in the file of its noun.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use spur_core::audit;
use spur_core::auth::Actor;
use spur_core::errors::SlurmError;
use spur_core::ids::{StepId, Uid};
use spur_core::state::{Command, Entry, Origin, Reply, apply};
use spur_core::views::Table;
use spur_net::Role;
use spur_proto::credential::Key;
use spur_proto::door::{caller_of, noted};
use spur_proto::entrance::{Caller, Peer};
use spur_proto::internal::agents_server::Agents;
use spur_proto::internal::{AgentMessage, ControllerMessage};
use spur_proto::slurm::controller_server::Controller;
use spur_proto::slurm::{
    AdministerReply, AdministerRequest, ApproveMachineReply, ApproveMachineRequest, AttendReply,
    AttendRequest, CancelJobReply, CancelJobRequest, ClearTriggersReply, ClearTriggersRequest,
    ControlJobReply, ControlJobRequest, CreateStepReply, CreateStepRequest, CreateTokenReply,
    CreateTokenRequest, EndAllocationReply, EndAllocationRequest, EnrolReply, EnrolRequest,
    ExplainJobReply, ExplainJobRequest, GetConfigReply, GetConfigRequest, GetCrontabReply,
    GetCrontabRequest, GetDiagnosticsReply, GetDiagnosticsRequest, GetScriptReply,
    GetScriptRequest, IssueTokenReply, IssueTokenRequest, ListControllersReply,
    ListControllersRequest, ListHoldingsReply, ListHoldingsRequest, ListJobsReply, ListJobsRequest,
    ListLicensesReply, ListLicensesRequest, ListMachinesReply, ListMachinesRequest, ListNodesReply,
    ListNodesRequest, ListPartitionsReply, ListPartitionsRequest, ListPrioritiesReply,
    ListPrioritiesRequest, ListReservationsReply, ListReservationsRequest, ListSharesReply,
    ListSharesRequest, ListStepsReply, ListStepsRequest, ListTriggersReply, ListTriggersRequest,
    PingReply, PingRequest, PlanReply, PlanRequest, ReconfigureReply, ReconfigureRequest,
    RemoveControllerReply, RemoveControllerRequest, RemoveMachineReply, RemoveMachineRequest,
    RevokeTokensReply, RevokeTokensRequest, SetCrontabReply, SetCrontabRequest, SetLoggingReply,
    SetLoggingRequest, SetTriggerReply, SetTriggerRequest, ShutdownReply, ShutdownRequest,
    SignalStepReply, SignalStepRequest, StepAccess, StepAccessRequest, SubmitJobReply,
    SubmitJobRequest, TryJobReply, TryJobRequest, WaitJobReply, WaitJobRequest, WatchReply,
    WatchRequest,
};
use spur_proto::status::{from_status, standby, to_status};
use spur_sched::Gauge;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, Streaming};

use super::attendance::{Attendance, watch_over};
use super::identify::UserNames;
use super::jobs::optional_name;
use crate::audit::Audit;
use crate::controller::Refusal;
use crate::raft::members::leader_address;
use crate::raft::{Raft, Size};
use crate::shell::Inbox;
use crate::trust::Trusted;

/// Has the configuration read again; the answer tells what changed, or why nothing did.
pub type Reload = mpsc::Sender<oneshot::Sender<Result<Vec<String>, String>>>;

/// How long a controller that is to stop still answers.
const FAREWELL: Duration = Duration::from_millis(200);

/// Everything a method needs.
#[derive(Clone)]
pub struct Service {
    pub(super) inbox: Inbox,
    pub(super) raft: Raft,
    pub(super) log: Arc<Size>,
    pub(super) names: Arc<UserNames>,
    pub(super) key: Arc<Key>,
    pub(super) attendance: Attendance,
    /// When this controller began.
    pub(super) since: i64,
    pub(super) trusted: Arc<Trusted>,
    pub(super) audit: Audit,
    /// What requests are measured by.
    pub(super) gauge: Arc<Mutex<Gauge>>,
    pub(super) reload: Reload,
    /// The file that the configuration was read from.
    pub(super) file: String,
}

impl Service {
    /// Serves this controller.
    pub fn new(
        inbox: Inbox,
        raft: Raft,
        log: Arc<Size>,
        key: Key,
        trusted: Arc<Trusted>,
        audit: Audit,
        reload: Reload,
    ) -> Service {
        let attendance = Attendance::default();
        tokio::spawn(watch_over(inbox.clone(), attendance.clone()));
        let since = crate::clock::now().wall.0;
        Service {
            inbox,
            raft,
            log,
            names: Arc::default(),
            key: Arc::new(key),
            attendance,
            since,
            trusted,
            audit,
            gauge: Arc::default(),
            reload,
            file: String::new(),
        }
    }

    /// The same, configured by this file.
    pub fn configured_by(mut self, file: String) -> Service {
        self.file = file;
        self
    }

    /// Proposes a command and waits until it is applied. It is written down also where the caller does not wait for
    /// that.
    pub(super) async fn propose(&self, command: Command) -> Result<Reply, Status> {
        let described = audit::describe(&command);
        let (inbox, audit) = (self.inbox.clone(), self.audit.clone());
        let call = tokio::spawn(async move {
            let outcome = inbox.call(command).await;
            if let Some((who, what)) = described {
                match &outcome {
                    Ok(reply) => audit.note(who, what, audit::outcome(reply)),
                    Err(Refusal::Slurm(SlurmError::AccessDenied)) => audit.refused(who, what),
                    Err(Refusal::Slurm(error)) => audit.note(who, what, error.to_string()),
                    // Whoever leads writes it down.
                    Err(Refusal::NotLeading) => {}
                }
            }
            outcome
        });
        call.await.unwrap_or(Err(Refusal::NotLeading)).map_err(|refusal| match refusal {
            Refusal::Slurm(error) => noted(to_status(error)),
            Refusal::NotLeading => self.standby(),
        })
    }

    /// The same for a request that its client gave a name to: done once, however often it is asked for.
    pub(super) async fn propose_once(
        &self,
        by: &Actor,
        name: &[u8],
        command: Command,
    ) -> Result<Reply, Status> {
        self.propose(command.once(by.uid(), optional_name(name)?)).await
    }

    /// Whether a request was carried out before, which its client named so.
    pub(super) fn was_done(&self, by: &Actor, name: &[u8]) -> Result<bool, Status> {
        let asked = by.uid().zip(optional_name(name)?);
        let repeats = &self.inbox.published().state.repeats;
        Ok(asked.is_some_and(|asked| repeats.answer(asked).is_some()))
    }

    /// Remembers that a request was carried out which is no change of the state.
    pub(super) async fn remember(&self, by: &Actor, name: &[u8]) -> Result<(), Status> {
        let Some((by, request)) = by.uid().zip(optional_name(name)?) else { return Ok(()) };
        self.propose(Command::Once { by, request, command: None }).await.map(|_| ())
    }

    /// Tries a command out on what is there now; who may not is told so, and it is written down.
    pub(super) fn would_be_denied(&self, command: &Command) -> Result<(), Status> {
        let published = self.inbox.published();
        let (at, origin) = (crate::clock::now().wall, Origin::default());
        let entry = Entry { at, origin, command: command.clone() };
        match apply(&mut published.state.clone(), &entry).reply {
            Err(SlurmError::AccessDenied) => {
                if let Some((who, what)) = audit::describe(command) {
                    self.audit.refused(who, what);
                }
                Err(noted(to_status(SlurmError::AccessDenied)))
            }
            _ => Ok(()),
        }
    }

    /// Writes down what was done without a command. Who was turned away is written down at the door.
    pub(super) fn note<T>(&self, by: &Actor, what: String, outcome: &Result<T, Status>) {
        match outcome {
            Ok(_) => self.audit.note(audit::who(by), what, "done".to_string()),
            Err(status) if status.code() == Code::PermissionDenied => {}
            Err(status) if from_status(status) == Some(SlurmError::InStandbyMode) => {}
            Err(status) => self.audit.note(audit::who(by), what, status.message().to_string()),
        }
    }

    /// Another controller leads: the caller is told which, and asks it.
    pub(super) fn standby(&self) -> Status {
        standby(leader_address(&self.raft).as_deref())
    }
}

/// Whether a caller is who they are for longer than this call: known by this machine's kernel, or by a
/// machine where users log in. What a token or a node that runs a job lends must not become a token.
fn is_lasting(actor: &Actor, peer: Option<&Peer>) -> bool {
    let uid = match peer {
        Some(Peer::Local { uid, .. }) => *uid,
        Some(Peer::User { machine, uid, .. }) => match Role::from_certificate_name(machine) {
            Some(Role::Login(_)) => *uid,
            _ => return false,
        },
        _ => return false,
    };
    actor.uid() == Some(Uid(uid))
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Controller for Service {
    type ListJobTableStream = ReceiverStream<Result<Table, Status>>;
    type WatchStream = ReceiverStream<Result<WatchReply, Status>>;
    type AttendStream = ReceiverStream<Result<AttendReply, Status>>;
    type CreateStepStream = ReceiverStream<Result<CreateStepReply, Status>>;

    async fn attend(&self, request: Request<AttendRequest>) -> Answer<Self::AttendStream> {
        let actor = caller_of(&request);
        self.attend_job(actor, request.into_inner()).await.map(Response::new)
    }

    async fn end_allocation(
        &self,
        request: Request<EndAllocationRequest>,
    ) -> Answer<EndAllocationReply> {
        let actor = caller_of(&request);
        self.end_allocation_of(actor, request.into_inner()).await.map(Response::new)
    }

    async fn create_step(
        &self,
        request: Request<CreateStepRequest>,
    ) -> Answer<Self::CreateStepStream> {
        let actor = caller_of(&request);
        self.make_step(actor, request.into_inner()).await.map(Response::new)
    }

    async fn access_step(&self, request: Request<StepAccessRequest>) -> Answer<StepAccess> {
        let (actor, asked) = (caller_of(&request), request.into_inner());
        let what = format!("attach to step {}.{}", asked.job_id, StepId(asked.step_id));
        let done = self.step_access_for(actor.clone(), asked).await;
        self.note(&actor, what, &done);
        done.map(Response::new)
    }

    async fn signal_step(&self, request: Request<SignalStepRequest>) -> Answer<SignalStepReply> {
        let (actor, asked) = (caller_of(&request), request.into_inner());
        let (job_id, step_id, signal) = (asked.job_id, asked.step_id, asked.signal);
        let done = self.signal_step_of(actor.clone(), asked).await;
        // An end is a command, which is written down as such.
        if signal != 0 {
            let what = format!("signal {signal} to step {job_id}.{}", StepId(step_id));
            self.note(&actor, what, &done);
        }
        done.map(Response::new)
    }

    async fn list_steps(&self, request: Request<ListStepsRequest>) -> Answer<ListStepsReply> {
        let actor = caller_of(&request);
        self.steps(actor, request.into_inner()).await.map(Response::new)
    }

    async fn get_config(&self, _: Request<GetConfigRequest>) -> Answer<GetConfigReply> {
        self.config().await.map(Response::new)
    }

    async fn get_script(&self, request: Request<GetScriptRequest>) -> Answer<GetScriptReply> {
        let actor = caller_of(&request);
        self.script(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_licenses(&self, _: Request<ListLicensesRequest>) -> Answer<ListLicensesReply> {
        self.licenses().await.map(Response::new)
    }

    async fn shutdown(&self, request: Request<ShutdownRequest>) -> Answer<ShutdownReply> {
        if request.get_ref().starts_only {
            tracing::info!("asked to start no job any more");
            self.note(&caller_of(&request), "start no job any more".to_string(), &Ok(()));
            self.inbox.close();
            return Ok(Response::new(ShutdownReply {}));
        }
        tracing::info!("asked to stop");
        self.note(&caller_of(&request), "stop this controller".to_string(), &Ok(()));
        // Whoever asked hears that it is done.
        tokio::spawn(async {
            tokio::time::sleep(FAREWELL).await;
            let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGTERM);
        });
        Ok(Response::new(ShutdownReply {}))
    }

    async fn get_diagnostics(
        &self,
        request: Request<GetDiagnosticsRequest>,
    ) -> Answer<GetDiagnosticsReply> {
        let actor = caller_of(&request);
        self.diagnosed(actor, request.into_inner()).await.map(Response::new)
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Answer<Self::WatchStream> {
        let actor = caller_of(&request);
        self.start_watch(actor, request.into_inner()).await.map(Response::new)
    }

    async fn ping(&self, _: Request<PingRequest>) -> Answer<PingReply> {
        self.pinged().map(Response::new)
    }

    async fn submit_job(&self, request: Request<SubmitJobRequest>) -> Answer<SubmitJobReply> {
        let actor = caller_of(&request);
        self.submit(actor, request.into_inner()).await.map(Response::new)
    }

    async fn cancel_job(&self, request: Request<CancelJobRequest>) -> Answer<CancelJobReply> {
        let actor = caller_of(&request);
        self.cancel(actor, request.into_inner()).await.map(Response::new)
    }

    async fn control_job(&self, request: Request<ControlJobRequest>) -> Answer<ControlJobReply> {
        let actor = caller_of(&request);
        self.control(actor, request.into_inner()).await.map(Response::new)
    }

    async fn administer(&self, request: Request<AdministerRequest>) -> Answer<AdministerReply> {
        let actor = caller_of(&request);
        self.administered(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_jobs(&self, request: Request<ListJobsRequest>) -> Answer<ListJobsReply> {
        let actor = caller_of(&request);
        self.jobs(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_job_table(
        &self,
        request: Request<ListJobsRequest>,
    ) -> Answer<Self::ListJobTableStream> {
        let actor = caller_of(&request);
        self.job_table(actor, request.into_inner()).await.map(Response::new)
    }

    async fn wait_job(&self, request: Request<WaitJobRequest>) -> Answer<WaitJobReply> {
        let actor = caller_of(&request);
        self.wait(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_priorities(
        &self,
        request: Request<ListPrioritiesRequest>,
    ) -> Answer<ListPrioritiesReply> {
        self.priorities(caller_of(&request)).await.map(Response::new)
    }

    async fn list_shares(&self, request: Request<ListSharesRequest>) -> Answer<ListSharesReply> {
        self.shares(caller_of(&request)).await.map(Response::new)
    }

    async fn list_holdings(
        &self,
        request: Request<ListHoldingsRequest>,
    ) -> Answer<ListHoldingsReply> {
        self.holdings(caller_of(&request)).await.map(Response::new)
    }

    async fn list_nodes(&self, request: Request<ListNodesRequest>) -> Answer<ListNodesReply> {
        let actor = caller_of(&request);
        self.nodes(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_partitions(
        &self,
        request: Request<ListPartitionsRequest>,
    ) -> Answer<ListPartitionsReply> {
        self.partitions(caller_of(&request)).await.map(Response::new)
    }

    async fn list_controllers(
        &self,
        _: Request<ListControllersRequest>,
    ) -> Answer<ListControllersReply> {
        self.controllers().await.map(Response::new)
    }

    async fn list_reservations(
        &self,
        request: Request<ListReservationsRequest>,
    ) -> Answer<ListReservationsReply> {
        self.reservations(caller_of(&request)).await.map(Response::new)
    }

    async fn explain_job(&self, request: Request<ExplainJobRequest>) -> Answer<ExplainJobReply> {
        let actor = caller_of(&request);
        self.explain(actor, request.into_inner()).await.map(Response::new)
    }

    async fn plan(&self, request: Request<PlanRequest>) -> Answer<PlanReply> {
        let actor = caller_of(&request);
        self.planned(actor, request.into_inner()).await.map(Response::new)
    }

    async fn try_job(&self, request: Request<TryJobRequest>) -> Answer<TryJobReply> {
        let actor = caller_of(&request);
        self.tried(actor, request.into_inner()).await.map(Response::new)
    }

    async fn remove_controller(
        &self,
        request: Request<RemoveControllerRequest>,
    ) -> Answer<RemoveControllerReply> {
        let actor = caller_of(&request);
        self.remove_controller(actor, request.into_inner()).await.map(Response::new)
    }

    async fn reconfigure(&self, request: Request<ReconfigureRequest>) -> Answer<ReconfigureReply> {
        let done = self.reconfigured().await;
        self.note(&caller_of(&request), "read the configuration again".to_string(), &done);
        done.map(Response::new)
    }

    async fn set_logging(&self, request: Request<SetLoggingRequest>) -> Answer<SetLoggingReply> {
        let actor = caller_of(&request);
        let done = self.logs_as(request.into_inner());
        self.note(&actor, "change what is logged".to_string(), &done);
        done.map(Response::new)
    }

    async fn enrol(&self, request: Request<EnrolRequest>) -> Answer<EnrolReply> {
        let actor = caller_of(&request);
        let from = request.extensions().get::<Caller>().and_then(|caller| caller.from);
        let from = from.map_or("this machine".to_string(), |from| from.to_string());
        self.enrol(actor, from, request.into_inner()).await.map(Response::new)
    }

    async fn create_token(&self, request: Request<CreateTokenRequest>) -> Answer<CreateTokenReply> {
        let actor = caller_of(&request);
        self.create_join_token(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_machines(&self, _: Request<ListMachinesRequest>) -> Answer<ListMachinesReply> {
        self.machines().await.map(Response::new)
    }

    async fn approve_machine(
        &self,
        request: Request<ApproveMachineRequest>,
    ) -> Answer<ApproveMachineReply> {
        let actor = caller_of(&request);
        self.approve(actor, request.into_inner()).await.map(Response::new)
    }

    async fn remove_machine(
        &self,
        request: Request<RemoveMachineRequest>,
    ) -> Answer<RemoveMachineReply> {
        let actor = caller_of(&request);
        self.remove_machine_of(actor, request.into_inner()).await.map(Response::new)
    }

    async fn issue_token(&self, request: Request<IssueTokenRequest>) -> Answer<IssueTokenReply> {
        let actor = caller_of(&request);
        let peer = request.extensions().get::<Caller>().map(|caller| caller.peer.clone());
        // One for accounting is worth nothing here, and opens nothing but what its owner may read there.
        let is_own = request.get_ref().accounting && request.get_ref().user_name.is_empty();
        if !is_own && !is_lasting(&actor, peer.as_deref()) {
            return Err(to_status(SlurmError::AccessDenied));
        }
        self.issue_token_to(actor, request.into_inner()).await.map(Response::new)
    }

    async fn revoke_tokens(
        &self,
        request: Request<RevokeTokensRequest>,
    ) -> Answer<RevokeTokensReply> {
        let actor = caller_of(&request);
        self.revoke_tokens_of(actor, request.into_inner()).await.map(Response::new)
    }

    async fn get_crontab(&self, request: Request<GetCrontabRequest>) -> Answer<GetCrontabReply> {
        let actor = caller_of(&request);
        self.crontab(actor, request.into_inner()).await.map(Response::new)
    }

    async fn set_crontab(&self, request: Request<SetCrontabRequest>) -> Answer<SetCrontabReply> {
        let actor = caller_of(&request);
        self.set_crontab_of(actor, request.into_inner()).await.map(Response::new)
    }

    async fn list_triggers(&self, _: Request<ListTriggersRequest>) -> Answer<ListTriggersReply> {
        self.triggers().await.map(Response::new)
    }

    async fn set_trigger(&self, request: Request<SetTriggerRequest>) -> Answer<SetTriggerReply> {
        let actor = caller_of(&request);
        self.set_trigger_of(actor, request.into_inner()).await.map(Response::new)
    }

    async fn clear_triggers(
        &self,
        request: Request<ClearTriggersRequest>,
    ) -> Answer<ClearTriggersReply> {
        let actor = caller_of(&request);
        self.clear_triggers_of(actor, request.into_inner()).await.map(Response::new)
    }
}

#[tonic::async_trait]
impl Agents for Service {
    type SessionStream = Pin<Box<dyn Stream<Item = Result<ControllerMessage, Status>> + Send>>;

    async fn session(
        &self,
        request: Request<Streaming<AgentMessage>>,
    ) -> Answer<Self::SessionStream> {
        if !self.inbox.published().leads {
            return Err(self.standby());
        }
        let node = match caller_of(&request) {
            // Root of this machine speaks for all of its nodes.
            Actor::Node(node) if node.as_str().is_empty() => None,
            Actor::Node(node) => Some(node),
            _ => return Err(to_status(SlurmError::AccessDenied)),
        };
        let bearer = request.extensions().get::<Caller>().map(|caller| caller.peer.clone());
        Ok(Response::new(self.open_session(node, bearer, request.into_inner())))
    }
}
