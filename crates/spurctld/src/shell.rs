//! The thread around [`Controller`]: feeds it, carries out what it wants, publishes its state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use spur_core::blob::BlobHash;
use spur_core::ids::{JobId, NodeName, StepId};
use spur_core::job::Phase;
use spur_core::state::{Command, Entry, Reply, Settings, State};
use spur_core::time::Timestamp;
use spur_disk::Disk;
use spur_proto::internal::ControllerMessage;
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_sched::{Planner, Waits};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc as tokio_mpsc, oneshot, watch};

use crate::accounting::outbox::Outbox;
use crate::adviser::Adviser;
use crate::clock;
use crate::controller::{Connection, Controller, Input, Load, Output, Refusal, Ticket};
use crate::diagnostics::Diagnostics;
use crate::store::Pin;

/// What readers see: the state after some commit, and why jobs wait.
#[derive(Clone, Default)]
pub struct Published {
    /// The state.
    pub state: State,
    /// Why each pending job waits, as the last pass had it.
    pub waits: Waits,
    /// Whether this controller leads.
    pub leads: bool,
    /// Where agents take connections for the input and output of tasks.
    pub addresses: Arc<BTreeMap<NodeName, String>>,
    /// How busy each node is.
    pub loads: Arc<BTreeMap<NodeName, Load>>,
    largest: OnceLock<(u32, u64)>,
    resources: OnceLock<BTreeSet<String>>,
    planned: OnceLock<BTreeSet<NodeName>>,
    busy: OnceLock<BTreeMap<NodeName, Timestamp>>,
}

impl Published {
    /// The most processors and the most memory that any node has; looked up once.
    pub fn largest(&self) -> (u32, u64) {
        *self.largest.get_or_init(|| {
            let all = self.state.nodes.values().map(|node| &node.inventory);
            all.fold((0, 0), |(cpus, memory), node| {
                (node.cpus.max(cpus), node.memory_mb.max(memory))
            })
        })
    }

    /// Kinds of generic resources that some node has: `gpu`.
    pub fn resources(&self) -> &BTreeSet<String> {
        self.resources.get_or_init(|| {
            let all = self.state.nodes.values().flat_map(|node| &node.inventory.gres);
            all.map(|gres| gres.name.clone()).collect()
        })
    }

    /// Nodes that are kept for jobs which wait for nothing else.
    pub fn planned(&self) -> &BTreeSet<NodeName> {
        self.planned.get_or_init(|| {
            let jobs = self.waits.all_promised().filter(|(job, _)| self.waits_for_nodes(*job));
            jobs.flat_map(|(_, promised)| promised.nodes.iter().cloned()).collect()
        })
    }

    /// When a job last began or ended on each node, as far as jobs are remembered.
    pub fn busy(&self) -> &BTreeMap<NodeName, Timestamp> {
        self.busy.get_or_init(|| {
            let state = &self.state;
            let ended = state.index.ended.iter().map(|(_, id)| id);
            let mut busy: BTreeMap<NodeName, Timestamp> = BTreeMap::new();
            for job in state.index.active.iter().chain(ended).filter_map(|id| state.jobs.get(id)) {
                let (held, at) = match &job.phase {
                    Phase::Running { since, .. } => (job.phase.holds(), *since),
                    Phase::Completing { started, .. } => (job.phase.holds(), *started),
                    Phase::Ended { allocation, at, .. } => (allocation.as_ref(), *at),
                    Phase::Pending => continue,
                };
                for share in held.into_iter().flat_map(|held| &held.shares) {
                    let last = busy.entry(share.node.clone()).or_insert(at);
                    *last = (*last).max(at);
                }
            }
            busy
        })
    }

    /// Whether a job waits for nothing but nodes: only then Slurm tells a start.
    pub fn waits_for_nodes(&self, job: JobId) -> bool {
        use spur_core::job::Reason::{None, Priority, ReqNodeNotAvail, Reservation, Resources};
        let for_nodes = [None, Priority, ReqNodeNotAvail, Reservation, Resources];
        self.waits.get(job).is_some_and(|it| for_nodes.contains(&it.reason))
    }
}

/// Messages to an agent that may wait in its stream; an agent that does not read is hung up on.
pub const STREAM_DEPTH: usize = 8192;

/// How to reach the controller's thread.
#[derive(Clone)]
pub struct Inbox {
    events: Sender<Event>,
    published: Arc<ArcSwap<Published>>,
    changes: watch::Receiver<u64>,
    adviser: Adviser,
    diagnostics: Arc<Diagnostics>,
}

enum Event {
    Call(Command, oneshot::Sender<Result<Reply, Refusal>>),
    Commit(Arc<Vec<Entry>>, oneshot::Sender<()>),
    Install(Box<State>, oneshot::Sender<()>),
    State(oneshot::Sender<(State, Pin)>),
    Blob(BlobHash, oneshot::Sender<Option<Vec<u8>>>),
    AgentOpened(Connection, tokio_mpsc::Sender<ControllerMessage>),
    /// The permit says that it still waits; it is given back when it is taken in.
    AgentSays(Connection, AgentSays, OwnedSemaphorePermit),
    Plain(Input),
    /// The process is no more; only tests outlive it.
    #[cfg(test)]
    Stop,
}

impl Inbox {
    /// Proposes a command and waits until it is applied.
    pub async fn call(&self, command: Command) -> Result<Reply, Refusal> {
        let (answer, outcome) = oneshot::channel();
        self.send(Event::Call(command, answer));
        outcome.await.unwrap_or(Err(Refusal::NotLeading))
    }

    /// Hands over committed entries; the receiver hears when they are applied.
    pub fn commit(&self, entries: Arc<Vec<Entry>>) -> Option<oneshot::Receiver<()>> {
        let (done, applied) = oneshot::channel();
        self.events.send(Event::Commit(entries, done)).ok().map(|()| applied)
    }

    /// Replaces the state by a leader's snapshot.
    pub async fn install(&self, state: State) {
        let (done, installed) = oneshot::channel();
        self.send(Event::Install(Box::new(state), done));
        let _ = installed.await;
    }

    /// The state after everything handed over so far, and a hold on its blobs; nothing when the controller's
    /// thread is gone.
    pub async fn state(&self) -> Option<(State, Pin)> {
        let (answer, state) = oneshot::channel();
        self.send(Event::State(answer));
        state.await.ok()
    }

    /// A script or an environment; nothing when it is gone.
    pub async fn blob(&self, hash: BlobHash) -> Option<Vec<u8>> {
        let (answer, blob) = oneshot::channel();
        self.send(Event::Blob(hash, answer));
        blob.await.ok().flatten()
    }

    /// A stream to an agent is open.
    pub fn agent_opened(
        &self,
        connection: Connection,
        sender: tokio_mpsc::Sender<ControllerMessage>,
    ) {
        self.send(Event::AgentOpened(connection, sender));
    }

    /// An agent says something.
    pub fn agent_says(
        &self,
        connection: Connection,
        message: AgentSays,
        waits: OwnedSemaphorePermit,
    ) {
        self.send(Event::AgentSays(connection, message, waits));
    }

    /// A stream is gone.
    pub fn agent_gone(&self, connection: Connection) {
        self.send(Event::Plain(Input::AgentGone(connection)));
    }

    /// Consensus elected this controller, or another.
    pub fn lead(&self, term: Option<u64>) {
        self.send(Event::Plain(term.map_or(Input::Follows, Input::Leads)));
    }

    /// The configuration was read again.
    pub fn configure(&self, settings: Settings) {
        self.send(Event::Plain(Input::Configure(Box::new(settings))));
    }

    /// No job is to be started any more.
    pub fn close(&self) {
        self.send(Event::Plain(Input::Close));
    }

    /// Consensus did not accept the proposal under way.
    pub fn proposal_failed(&self) {
        self.send(Event::Plain(Input::ProposalFailed));
    }

    /// Has the nodes of a step signal its tasks.
    pub fn signal(&self, job: JobId, step: StepId, signal: u32) {
        self.send(Event::Plain(Input::Signal { job, step, signal, script_only: false }));
    }

    /// Has words put into the output of a job's script.
    pub fn notice(&self, job: JobId, words: &str) {
        self.send(Event::Plain(Input::Notice(job, words.to_string())));
    }

    /// Ends the controller's thread as the end of its process would.
    #[cfg(test)]
    pub(crate) fn stop(&self) {
        self.send(Event::Stop);
    }

    /// The last published state.
    pub fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    /// What is counted about this controller.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Who answers questions about the plan.
    pub fn adviser(&self) -> &Adviser {
        &self.adviser
    }

    /// Wakes whoever waits for the state to change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// The thread ends only with the process, so nobody needs to know that it did.
    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

/// Who is told that the disk can no longer be used. In a controller's own process that is its end: whoever watches
/// over it starts it again.
pub type Failed = Arc<dyn Fn(anyhow::Error) + Send + Sync>;

/// Ends the process.
pub fn stop_the_process() -> Failed {
    Arc::new(|error| {
        tracing::error!("{error:#}: stopping");
        std::process::exit(1);
    })
}

/// Where proposals go.
pub type Proposer = tokio_mpsc::UnboundedSender<Arc<Vec<Entry>>>;

/// Starts the controller's thread and the planner's.
pub fn start<D: Disk + 'static>(
    controller: Controller<D>,
    proposer: Proposer,
    outbox: Option<Outbox<D>>,
    failed: Failed,
) -> std::io::Result<Inbox> {
    let (events, inbox) = mpsc::channel();
    let (changed, changes) = watch::channel(0);
    let published = Arc::new(ArcSwap::from_pointee(Published::default()));
    let adviser = Adviser::start()?;
    let diagnostics = Arc::<Diagnostics>::default();
    let handle = Inbox {
        events: events.clone(),
        published: published.clone(),
        changes,
        adviser,
        diagnostics: diagnostics.clone(),
    };
    let (states, to_plan) = mpsc::channel();
    spawn("planner", move || plan(&to_plan, &events, &diagnostics))?;
    let shell = Shell {
        controller,
        proposer,
        states,
        published,
        changed,
        callers: BTreeMap::new(),
        next_ticket: 0,
        streams: BTreeMap::new(),
        outbox,
        states_asked: Vec::new(),
        failed,
        has_failed: false,
    };
    spawn("controller", move || shell.run(&inbox))?;
    Ok(handle)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.to_string()).spawn(work).map(|_| ())
}

fn plan(states: &Receiver<State>, events: &Sender<Event>, diagnostics: &Diagnostics) {
    let mut planner = Planner::default();
    for state in states {
        let began = Instant::now();
        let plan = planner.plan(&state);
        let queue = state.index.pending.len();
        diagnostics.planned(&plan, queue, began.elapsed(), state.now.0);
        if events.send(Event::Plain(Input::Planned(plan))).is_err() {
            return;
        }
    }
}

struct Shell<D> {
    controller: Controller<D>,
    proposer: Proposer,
    states: Sender<State>,
    published: Arc<ArcSwap<Published>>,
    changed: watch::Sender<u64>,
    callers: BTreeMap<Ticket, oneshot::Sender<Result<Reply, Refusal>>>,
    next_ticket: u64,
    streams: BTreeMap<Connection, tokio_mpsc::Sender<ControllerMessage>>,
    /// Where records for accounting wait; none when there is no accounting.
    outbox: Option<Outbox<D>>,
    /// Who waits for a state to make a snapshot of.
    states_asked: Vec<oneshot::Sender<(State, Pin)>>,
    failed: Failed,
    has_failed: bool,
}

/// How often time-driven duties are looked at when nothing happens.
const TICK: Duration = Duration::from_millis(250);

/// Events taken in before their effects go out.
const BURST: usize = 4096;

impl<D: Disk> Shell<D> {
    fn run(mut self, inbox: &Receiver<Event>) {
        let mut last_tick = clock::now().boot_ms;
        loop {
            let mut done = Vec::new();
            match inbox.recv_timeout(TICK) {
                Ok(event) => self.take(event, &mut done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            for event in inbox.try_iter().take(BURST) {
                self.take(event, &mut done);
            }
            let now = clock::now();
            if now.boot_ms - last_tick >= TICK.as_millis() as u64 {
                last_tick = now.boot_ms;
                self.feed(Input::Tick);
                // There may be room by now for what the disk was too full for.
                self.keep(Outbox::write);
                self.hand_out_state();
            }
            // Readers who are told of a commit find it.
            self.publish();
            for done in done {
                let _ = done.send(());
            }
            let outputs = self.controller.flush(now);
            self.carry_out(outputs);
            if self.has_failed {
                return;
            }
        }
    }

    fn take(&mut self, event: Event, done: &mut Vec<oneshot::Sender<()>>) {
        match event {
            Event::Call(command, answer) => {
                let ticket = Ticket(self.next_ticket);
                self.next_ticket += 1;
                self.callers.insert(ticket, answer);
                self.feed(Input::Call(ticket, command));
            }
            Event::Commit(entries, applied) => {
                self.feed(Input::Committed(entries));
                done.push(applied);
            }
            Event::Install(state, installed) => {
                self.feed(Input::Installed(state));
                done.push(installed);
            }
            Event::State(answer) => {
                self.states_asked.push(answer);
                self.hand_out_state();
            }
            Event::Blob(hash, answer) => {
                let found = self.controller.blobs().get(hash).ok().flatten();
                let _ = answer.send(found);
            }
            Event::AgentOpened(connection, sender) => {
                self.streams.insert(connection, sender);
            }
            Event::AgentSays(connection, message, _waits) => {
                self.feed(Input::Agent(connection, message));
            }
            #[cfg(test)]
            Event::Stop => self.has_failed = true,
            Event::Plain(input) => {
                if let Input::AgentGone(connection) = &input {
                    self.streams.remove(connection);
                }
                self.feed(input);
            }
        }
    }

    /// A snapshot lets go of the log that records could be made from again, so they are made durable
    /// first; with no room for them on the disk the snapshot waits.
    fn hand_out_state(&mut self) {
        if self.states_asked.is_empty() || !self.keep(Outbox::sync) {
            return;
        }
        for answer in self.states_asked.drain(..) {
            let state = self.controller.state().clone();
            let _ = answer.send((state, self.controller.blobs().pin()));
        }
    }

    /// Does something with the outbox; false when the disk has no room for it now.
    fn keep(&mut self, work: impl FnOnce(&mut Outbox<D>) -> Result<(), spur_disk::Error>) -> bool {
        let Some(outbox) = &mut self.outbox else { return true };
        match work(outbox) {
            Ok(()) => true,
            Err(error) if error.is_full() => false,
            Err(error) => {
                self.fail(error.into());
                false
            }
        }
    }

    fn fail(&mut self, error: anyhow::Error) {
        self.has_failed = true;
        (self.failed)(error.context("the state directory cannot be used"));
    }

    fn feed(&mut self, input: Input) {
        match self.controller.on(clock::now(), input) {
            Ok(outputs) => self.carry_out(outputs),
            Err(error) => self.fail(error.into()),
        }
    }

    fn carry_out(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Propose(entries) => {
                    let _ = self.proposer.send(entries);
                }
                Output::Answer(ticket, result) => {
                    // Whoever hears that it is done finds it done.
                    self.publish();
                    if let Some(caller) = self.callers.remove(&ticket) {
                        let _ = caller.send(result);
                    }
                }
                Output::Tell(connection, message) => {
                    let message = ControllerMessage { message: Some(message) };
                    let Some(stream) = self.streams.get(&connection) else { continue };
                    if let Err(error) = stream.try_send(message) {
                        match error {
                            TrySendError::Full(_) => tracing::warn!(
                                ?connection,
                                "an agent does not read its messages: hanging up"
                            ),
                            // It went away; its end of the stream is still to be heard of.
                            TrySendError::Closed(_) => {}
                        }
                        self.streams.remove(&connection);
                    }
                }
                Output::Run(program) => crate::programs::run(program),
                Output::HangUp(connection) => {
                    self.streams.remove(&connection);
                }
                Output::Record(records) => {
                    self.keep(|outbox| outbox.add(records));
                }
                Output::Plan => {
                    let _ = self.states.send(self.controller.state_to_plan());
                }
            }
        }
    }

    fn publish(&mut self) {
        let last = self.published.load();
        let leads = self.controller.leads();
        let waits = self.controller.waits();
        let same = last.leads == leads
            && last.waits.is_same(waits)
            && Arc::ptr_eq(&last.addresses, self.controller.addresses())
            && Arc::ptr_eq(&last.loads, self.controller.loads())
            && last.state.is_same(self.controller.state());
        if same {
            return;
        }
        let state = self.controller.state().clone();
        self.published.store(Arc::new(Published {
            state,
            waits: waits.clone(),
            leads,
            addresses: self.controller.addresses().clone(),
            loads: self.controller.loads().clone(),
            largest: OnceLock::new(),
            resources: OnceLock::new(),
            planned: OnceLock::new(),
            busy: OnceLock::new(),
        }));
        self.changed.send_modify(|number| *number += 1);
    }
}
