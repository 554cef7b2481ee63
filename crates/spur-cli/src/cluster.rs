//! Finds the cluster and talks to it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use spur_core::config::{self, ControllerHost};
use spur_core::job::JobSpec;
use spur_core::job::reference::{JobReference, Part};
use spur_core::views::{
    JOB_MEMBERS, JobView, NodeView, PartitionView, PriorityView, ReservationView, Rows, ShareView,
    StepView,
};
use spur_net::Identity;
use spur_proto::address::SYSTEM_SOCKET;
use spur_proto::caller::{CallError, Caller};
use spur_proto::client::Address;
use spur_proto::proof::{self, Proof};
use spur_proto::slurm::control_job_request::Action;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::watch_reply::Event;
use spur_proto::slurm::{
    AdministerRequest, CancelJobRequest, ClearTriggersRequest, ControlJobRequest, ControllerView,
    ExplainJobReply, ExplainJobRequest, GetConfigReply, GetConfigRequest, GetCrontabRequest,
    GetDiagnosticsReply, GetDiagnosticsRequest, GetScriptRequest, IssueTokenRequest, License,
    ListControllersRequest, ListHoldingsReply, ListHoldingsRequest, ListJobsRequest,
    ListLicensesRequest, ListNodesRequest, ListPartitionsRequest, ListPrioritiesRequest,
    ListReservationsRequest, ListSharesRequest, ListStepsRequest, ListTriggersRequest, PingReply,
    PingRequest, PlanReply, PlanRequest, ReconfigureRequest, RevokeTokensRequest, SetCrontabReply,
    SetCrontabRequest, SetLoggingRequest, SetTriggerRequest, ShutdownRequest, SignalStepRequest,
    Trigger, TryJobReply, TryJobRequest, WaitJobReply, WaitJobRequest, WatchRequest,
};
use tonic::Response;
use tonic::transport::Channel;

use crate::names;
use crate::output::note;

/// How many jobs are fetched in one answer.
const JOBS_AT_ONCE: u32 = 5_000;

/// What calls a controller.
pub type Client = ControllerClient<Channel>;

/// How long a command waits for a controller that is away, restarting for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The controllers of the first place that is named, in this order: `SPUR_CONTROLLER_ADDR`, which may list
/// several; the configuration of `SPUR_CONF`; the directory of the link this was called through; the user's own
/// `spur up`; the machine's; root's `spur up`; those of `/etc/spur/spur.conf`.
pub fn addresses() -> Vec<Address> {
    if let Ok(said) = std::env::var("SPUR_CONTROLLER_ADDR")
        && !said.is_empty()
    {
        let found = Address::parse_list(&said).unwrap_or_else(|| {
            // Never another cluster than the one that was meant.
            note(format!("error: SPUR_CONTROLLER_ADDR={said} cannot be reached; say HOST:PORT"));
            std::process::exit(1)
        });
        return introduced(found);
    }
    if let Some(file) = std::env::var_os("SPUR_CONF").filter(|file| !file.is_empty())
        && let Some(controllers) = configured(Path::new(&file))
    {
        return introduced(controllers);
    }
    if let Some(dir) = own_dir() {
        return sockets(&dir).into_iter().map(Address::Unix).collect();
    }
    let system = vec![Address::Unix(PathBuf::from(SYSTEM_SOCKET))];
    if Path::new(SYSTEM_SOCKET).exists() {
        return system;
    }
    match joined().or_else(|| configured(Path::new(CONFIGURATION))) {
        Some(controllers) => introduced(controllers),
        None => system,
    }
}

/// The machine's configuration.
const CONFIGURATION: &str = "/etc/spur/spur.conf";

/// The controllers that a configuration names.
fn configured(file: &Path) -> Option<Vec<Address>> {
    controllers_of(&std::fs::read_to_string(file).ok()?)
}

fn controllers_of(configuration: &str) -> Option<Vec<Address>> {
    let controller = config::read(configuration).ok()?.controller;
    let port = controller.listen_addr.port();
    let address = |host: &ControllerHost| Address::Tls {
        host: host.address.clone().unwrap_or_else(|| host.name.clone()),
        port,
    };
    let found: Vec<Address> = controller.hosts.iter().map(address).collect();
    (!found.is_empty()).then_some(found)
}

/// This program once more, for another command of the same cluster: a child does not see the link by which this one
/// was called.
pub fn same_program() -> std::io::Result<std::process::Command> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.env("SPUR_CONTROLLER_ADDR", Address::list(&addresses()));
    Ok(command)
}

/// The directory of the `spur up` that commands go to, if they go to one.
pub fn own_dir() -> Option<PathBuf> {
    if std::env::var("SPUR_CONTROLLER_ADDR").is_ok_and(|said| !said.is_empty()) {
        return None;
    }
    if let Some(own) = [dir_of_link(), Some(default_dir())]
        .into_iter()
        .flatten()
        .find(|dir| !sockets(dir).is_empty())
    {
        return Some(own);
    }
    // Root's serves every user of the machine, unless there is one that was started by hand.
    let roots = PathBuf::from(ROOTS_DIR);
    (!Path::new(SYSTEM_SOCKET).exists() && !sockets(&roots).is_empty()).then_some(roots)
}

/// The directory of the `spur up` that is meant where none is named: the one whose controllers the environment
/// names, or else the one that commands go to.
pub fn dir_in_use() -> Option<PathBuf> {
    let said = std::env::var("SPUR_CONTROLLER_ADDR").ok().filter(|said| !said.is_empty());
    let Some(said) = said else { return own_dir() };
    let addresses = Address::parse_list(&said)?;
    let run = addresses.first()?.socket()?.parent()?;
    (run.file_name()? == "run").then(|| run.parent().map(Path::to_path_buf))?
}

/// Where root's `spur up` keeps its cluster.
const ROOTS_DIR: &str = "/var/lib/spur";

/// The controllers of the cluster that this machine has joined.
fn joined() -> Option<Vec<Address>> {
    let file = Identity::dir(Path::new(AGENT_DIR)).join("controllers");
    Address::parse_list(std::fs::read_to_string(file).ok()?.trim())
}

/// Where the agent of a machine keeps its state when nothing else is said.
const AGENT_DIR: &str = "/var/spool/spurd";

/// On other machines users are known by the word of this machine's agent, or by their token.
fn introduced(controllers: Vec<Address>) -> Vec<Address> {
    let is_remote = |address: &Address| address.clone().nearest().socket().is_none();
    if controllers.iter().any(is_remote) && !proof::is_set() {
        let token = std::env::var("SLURM_JWT").ok().filter(|token| !token.is_empty());
        let authority = std::env::var_os("SPUR_CA_FILE").map(PathBuf::from);
        let authority = authority.unwrap_or_else(|| PathBuf::from("/etc/spur/ca.pem"));
        let authority = spur_net::identity::read_authority(&authority).ok();
        let agent = std::env::var_os("SPUR_AGENT_SOCKET").map(PathBuf::from);
        proof::set(match (token, authority) {
            (Some(token), Some(authority)) => Proof::Token { token, authority },
            _ => Proof::User { agent: agent.unwrap_or(Path::new(AGENT_DIR).join("spurd.sock")) },
        });
    }
    controllers
}

/// The controllers' sockets below the directory of a `spur up`, the first one's first.
pub fn sockets(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir.join("run")) else { return Vec::new() };
    let is_socket = |name: &str| name.starts_with("spurctld") && name.ends_with(".sock");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_socket(name)).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.into_iter().map(|name| dir.join("run").join(name)).collect()
}

/// `DIR` when called as `DIR/bin/sbatch`, by path or found on `PATH`.
fn dir_of_link() -> Option<PathBuf> {
    let called_as = PathBuf::from(std::env::args_os().next()?);
    let link = if called_as.components().count() > 1 {
        called_as
    } else {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join(&called_as)).find(|link| link.exists())?
    };
    let bin = std::path::absolute(link).ok()?.parent()?.to_path_buf();
    (bin.file_name()? == "bin").then(|| bin.parent().map(Path::to_path_buf))?
}

/// Where `spur up` keeps a cluster when no directory is named.
pub fn default_dir() -> PathBuf {
    if nix::unistd::geteuid().is_root() {
        return PathBuf::from(ROOTS_DIR);
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".local/state");
    state.unwrap_or_else(home).join("spur")
}

/// Someone to call the controller with.
pub fn caller() -> Caller {
    Caller::new(addresses(), PATIENCE)
}

/// A controller and a thread to ask it from. Each question is one call, safe to repeat.
pub struct Controller {
    runtime: tokio::runtime::Runtime,
    caller: Caller,
}

impl Controller {
    /// Whoever leads the cluster.
    pub fn find() -> Controller {
        Controller { runtime: runtime(), caller: caller() }
    }

    /// Whoever leads the cluster of these controllers.
    pub fn at(addresses: Vec<Address>) -> Controller {
        Controller { runtime: runtime(), caller: Caller::new(addresses, PATIENCE) }
    }

    /// Jobs, fetched page by page: no answer is larger than a message may be.
    pub fn jobs(&mut self, request: &ListJobsRequest) -> Result<Vec<JobView>, CallError> {
        let mut jobs = Vec::new();
        let mut page = ListJobsRequest { page_size: JOBS_AT_ONCE, ..request.clone() };
        loop {
            let ask = |mut client: Client| {
                let page = page.clone();
                async move { client.list_jobs(page).await }
            };
            let mut reply = self.runtime.block_on(self.caller.call(ask))?;
            jobs.append(&mut reply.jobs);
            match reply.next_after {
                0 => break,
                after => page.after = after,
            }
        }
        if request.members.is_empty() {
            names::of_groups(&mut jobs);
        }
        Ok(jobs)
    }

    /// Jobs as a table of the members that are asked for.
    pub fn job_rows(&mut self, request: &ListJobsRequest) -> Result<Rows<JobView>, CallError> {
        let ask = |mut client: Client| {
            let request = request.clone();
            async move {
                let mut pages = client.list_job_table(request).await?.into_inner();
                let mut rows = Rows::new(JOB_MEMBERS);
                while let Some(page) = pages.message().await? {
                    rows.add(page);
                }
                Ok(Response::new(rows))
            }
        };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// Steps that run.
    pub fn steps(&mut self, request: &ListStepsRequest) -> Result<Vec<StepView>, CallError> {
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.list_steps(request).await }
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.steps)
    }

    /// Nodes, by name.
    pub fn nodes(&mut self) -> Result<Vec<NodeView>, CallError> {
        self.nodes_of(ListNodesRequest::default())
    }

    /// The nodes that are asked for, with what is asked for of each, by name.
    pub fn nodes_of(&mut self, request: ListNodesRequest) -> Result<Vec<NodeView>, CallError> {
        let (mut nodes, mut after) = (Vec::new(), String::new());
        loop {
            let request = ListNodesRequest { after, ..request.clone() };
            let ask = |mut client: Client| {
                let request = request.clone();
                async move { client.list_nodes(request).await }
            };
            let page = self.runtime.block_on(self.caller.call(ask))?;
            nodes.extend(page.nodes);
            after = page.next_after;
            if after.is_empty() {
                break;
            }
        }
        nodes.sort_by(|a, b| spur_core::hostlist::natural(&a.name, &b.name));
        names::of_reasons(&mut nodes);
        Ok(nodes)
    }

    /// Partitions, in their order.
    pub fn partitions(&mut self) -> Result<Vec<PartitionView>, CallError> {
        let ask = |mut client: Client| async move {
            client.list_partitions(ListPartitionsRequest {}).await
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.partitions)
    }

    /// The weights, and what each pending job's priority is made of.
    pub fn priorities(&mut self) -> Result<Vec<PriorityView>, CallError> {
        let ask = |mut client: Client| async move {
            client.list_priorities(ListPrioritiesRequest {}).await
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.priorities)
    }

    /// Everybody's share, in the order of the tree.
    pub fn shares(&mut self) -> Result<Vec<ShareView>, CallError> {
        let ask =
            |mut client: Client| async move { client.list_shares(ListSharesRequest {}).await };
        Ok(self.runtime.block_on(self.caller.call(ask))?.shares)
    }

    /// What the controller knows of accounting, and what counts against whom.
    pub fn holdings(&mut self) -> Result<ListHoldingsReply, CallError> {
        let ask =
            |mut client: Client| async move { client.list_holdings(ListHoldingsRequest {}).await };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// Reservations, by start.
    pub fn reservations(&mut self) -> Result<Vec<ReservationView>, CallError> {
        let ask = |mut client: Client| async move {
            client.list_reservations(ListReservationsRequest {}).await
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.reservations)
    }

    /// Ends a job, or some tasks of an array.
    pub fn cancel(&mut self, reference: &JobReference) -> Result<(), CallError> {
        let request = CancelJobRequest {
            job_id: reference.number(),
            tasks: tasks(reference),
            request_id: request_id(),
        };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.cancel_job(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// Does something to a job that is there, or to some tasks of an array.
    pub fn control(&mut self, reference: &JobReference, action: Action) -> Result<(), CallError> {
        let request = ControlJobRequest {
            job_id: reference.number(),
            tasks: tasks(reference),
            request_id: request_id(),
            action: Some(action),
        };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.control_job(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// Makes, changes or takes away a node, partition or reservation.
    pub fn administer(&mut self, request: &AdministerRequest) -> Result<String, CallError> {
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.administer(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|reply| reply.name)
    }

    /// Signals a step; 0 ends it.
    pub fn signal_step(&mut self, job_id: u32, step_id: u32, signal: u32) -> Result<(), CallError> {
        let request = SignalStepRequest { job_id, step_id, signal, request_id: request_id() };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.signal_step(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// Why a job waits, and what would start it.
    pub fn explain(&mut self, job_id: u32) -> Result<ExplainJobReply, CallError> {
        let request = ExplainJobRequest { job_id, advice: true };
        let ask = |mut client: Client| async move { client.explain_job(request).await };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// When waiting jobs are expected to start.
    pub fn plan(&mut self) -> Result<PlanReply, CallError> {
        let ask = |mut client: Client| async move { client.plan(PlanRequest::default()).await };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// When a job would start if it were submitted.
    pub fn try_job(&mut self, spec: &JobSpec) -> Result<TryJobReply, CallError> {
        let request = TryJobRequest { spec: Some(spec.clone()), ..Default::default() };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.try_job(request).await }
        };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// The controllers there are.
    pub fn controllers(&mut self) -> Result<Vec<ControllerView>, CallError> {
        let ask = |mut client: Client| async move {
            client.list_controllers(ListControllersRequest {}).await
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.controllers)
    }

    /// The configuration in force, and when the controller began.
    pub fn config(&mut self) -> Result<GetConfigReply, CallError> {
        let ask = |mut client: Client| async move { client.get_config(GetConfigRequest {}).await };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// A job's script.
    pub fn script(&mut self, job_id: u32) -> Result<Vec<u8>, CallError> {
        let ask = |mut client: Client| async move {
            client.get_script(GetScriptRequest { job_id }).await
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.script)
    }

    /// Licences, by name.
    pub fn licenses(&mut self) -> Result<Vec<License>, CallError> {
        let ask =
            |mut client: Client| async move { client.list_licenses(ListLicensesRequest {}).await };
        Ok(self.runtime.block_on(self.caller.call(ask))?.licenses)
    }

    /// Has every controller stop.
    pub fn shut_down(&mut self) -> Result<(), CallError> {
        let mut stopped = Err(CallError::Unreachable);
        for address in addresses() {
            let mut caller = Caller::new(vec![address], PATIENCE);
            let ask = |mut client: Client| async move {
                client.shutdown(ShutdownRequest::default()).await
            };
            match self.runtime.block_on(caller.call(ask)) {
                Ok(_) => stopped = Ok(()),
                // It is stopped already.
                Err(CallError::Unreachable) => {}
                Err(error) => return Err(error),
            }
        }
        stopped
    }

    /// Has the controller start no job any more in this life.
    pub fn start_nothing(&mut self) -> Result<(), CallError> {
        let request = ShutdownRequest { starts_only: true };
        let ask = |mut client: Client| async move { client.shutdown(request).await };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// Has the controller stop that leads.
    pub fn stop_leader(&mut self) -> Result<(), CallError> {
        for address in addresses() {
            let mut caller = Caller::new(vec![address], PATIENCE);
            let ask = |mut client: Client| async move { client.ping(PingRequest {}).await };
            if self.runtime.block_on(caller.call(ask)).is_ok_and(|reply| reply.leads) {
                let ask = |mut client: Client| async move {
                    client.shutdown(ShutdownRequest::default()).await
                };
                return self.runtime.block_on(caller.call(ask)).map(|_| ());
            }
        }
        Err(CallError::Unreachable)
    }

    /// Numbers about the controller; `reset` begins counting anew.
    pub fn diagnostics(&mut self, reset: bool) -> Result<GetDiagnosticsReply, CallError> {
        let request = GetDiagnosticsRequest { reset };
        let ask = |mut client: Client| async move { client.get_diagnostics(request).await };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// The job when it is over; of an array, all of it or one task.
    pub fn wait(&mut self, request: WaitJobRequest) -> Result<WaitJobReply, CallError> {
        let ask = |mut client: Client| async move { client.wait_job(request).await };
        self.runtime.block_on(self.caller.call_and_wait(ask))
    }

    /// The same, but not for longer than until then.
    pub fn wait_until(
        &mut self,
        request: WaitJobRequest,
        deadline: Instant,
    ) -> Result<WaitJobReply, CallError> {
        let ask = |mut client: Client| async move { client.wait_job(request).await };
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = async { tokio::time::timeout(left, self.caller.call_and_wait(ask)).await };
        self.runtime.block_on(wait).unwrap_or(Err(CallError::Unreachable))
    }

    /// Tells what happens, until the controller goes away.
    pub fn watch(
        &mut self,
        request: WatchRequest,
        mut tell: impl FnMut(Event),
    ) -> Result<(), CallError> {
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.watch(request).await }
        };
        self.runtime.block_on(async {
            let mut events = self.caller.call(ask).await?;
            while let Ok(Some(reply)) = events.message().await {
                if let Some(event) = reply.event {
                    tell(event);
                }
            }
            Ok(())
        })
    }

    /// Has the configuration read again.
    pub fn reconfigure(&mut self) -> Result<Vec<String>, CallError> {
        let ask =
            |mut client: Client| async move { client.reconfigure(ReconfigureRequest {}).await };
        self.runtime.block_on(self.caller.call(ask)).map(|reply| reply.changes)
    }

    /// Changes how much the controller logs.
    pub fn set_logging(&mut self, request: &SetLoggingRequest) -> Result<(), CallError> {
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.set_logging(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// A token by which a user is known elsewhere; the caller's own where no name is said.
    pub fn token(&mut self, user_name: &str, lifetime_secs: u64) -> Result<String, CallError> {
        let user_name = user_name.to_string();
        let request =
            IssueTokenRequest { user_name, lifetime_secs, ..IssueTokenRequest::default() };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.issue_token(request).await }
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.token)
    }

    /// A user's crontab; one's own where nobody is named.
    pub fn crontab(&mut self, uid: Option<u32>) -> Result<Option<String>, CallError> {
        let request = GetCrontabRequest { uid };
        let ask = |mut client: Client| async move { client.get_crontab(request).await };
        Ok(self.runtime.block_on(self.caller.call(ask))?.text)
    }

    /// Puts a crontab in place of the one before; the reply names the lines that were refused.
    pub fn set_crontab(
        &mut self,
        request: &SetCrontabRequest,
    ) -> Result<SetCrontabReply, CallError> {
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.set_crontab(request).await }
        };
        self.runtime.block_on(self.caller.call(ask))
    }

    /// All triggers, by number.
    pub fn triggers(&mut self) -> Result<Vec<Trigger>, CallError> {
        let ask =
            |mut client: Client| async move { client.list_triggers(ListTriggersRequest {}).await };
        Ok(self.runtime.block_on(self.caller.call(ask))?.triggers)
    }

    /// Sets a trigger.
    pub fn set_trigger(&mut self, trigger: Trigger) -> Result<(), CallError> {
        let request = SetTriggerRequest { trigger: Some(trigger), request_id: request_id() };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.set_trigger(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// Takes triggers away; how many there were.
    pub fn clear_triggers(&mut self, request: ClearTriggersRequest) -> Result<u32, CallError> {
        let request = ClearTriggersRequest { request_id: request_id(), ..request };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.clear_triggers(request).await }
        };
        Ok(self.runtime.block_on(self.caller.call(ask))?.cleared)
    }

    /// Makes a user's tokens worthless.
    pub fn revoke_tokens(&mut self, user_name: &str) -> Result<(), CallError> {
        let user_name = user_name.to_string();
        let request = RevokeTokensRequest { user_name, request_id: request_id() };
        let ask = |mut client: Client| {
            let request = request.clone();
            async move { client.revoke_tokens(request).await }
        };
        self.runtime.block_on(self.caller.call(ask)).map(|_| ())
    }

    /// Who answers.
    pub fn ping(&mut self) -> Result<PingReply, CallError> {
        let ask = |mut client: Client| async move { client.ping(PingRequest {}).await };
        self.runtime.block_on(self.caller.call(ask))
    }
}

/// Which tasks are meant, as the controller reads it.
fn tasks(reference: &JobReference) -> String {
    match &reference.part {
        Part::Task(task) => task.to_string(),
        Part::Tasks(tasks) => tasks.to_string(),
        Part::Whole | Part::Component(_) => String::new(),
    }
}

/// Whether asking again is of no use.
pub fn is_final(error: &CallError) -> bool {
    !matches!(error, CallError::Unreachable)
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a thread can have a runtime")
}

/// Runs what needs the network, on this thread alone.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = runtime();
    let done = runtime.block_on(work);
    // Threads that wait for something else are no reason to stay.
    runtime.shutdown_background();
    done
}

/// A new name for a request: asked again with the same one, nothing is done twice.
pub fn request_id() -> Vec<u8> {
    let mut bytes = vec![0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.expect("/dev/urandom can be read");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_the_controllers() {
        let text =
            "[controller]\nlisten_addr = \"[::]:7000\"\nhosts = [\"c1\", \"c2(10.0.0.2)\"]\n";
        let told = controllers_of(text).map(|found| Address::list(&found));
        assert_eq!(told.as_deref(), Some("c1:7000,10.0.0.2:7000"));
        assert_eq!(controllers_of("cluster_name = \"a\"\n"), None, "none are named");
        assert_eq!(controllers_of("[controller\n"), None);
    }
}
