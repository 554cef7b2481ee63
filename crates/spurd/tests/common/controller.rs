//! A controller that says what a test tells it to, and writes down what it hears.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use spur_proto::internal::agent_message::Message as Hears;
use spur_proto::internal::agents_server::{Agents, AgentsServer};
use spur_proto::internal::controller_message::Message as Says;
use spur_proto::internal::{
    Acknowledge, AgentMessage, AskTable, Beat, ControllerMessage, Kills, Launch, Launches, Report,
    Run, Welcome,
};
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::{UnboundedReceiverStream, UnixListenerStream};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use super::until;

pub struct Controller {
    book: Book,
    /// Dropped with the controller, and every stream with it.
    _runtime: Runtime,
}

type Book = Arc<Mutex<Notes>>;

#[derive(Default)]
struct Notes {
    session: u64,
    agent: Option<UnboundedSender<Result<ControllerMessage, Status>>>,
    reports: Vec<Report>,
    table: Option<Vec<Run>>,
    is_silent: bool,
}

const TERM: u64 = 1;
const LEASE_MS: u64 = 60_000;

impl Controller {
    pub fn start(socket: &Path) -> Controller {
        let _ = std::fs::remove_file(socket);
        let book = Book::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let service = AgentsServer::new(Service(book.clone()));
        let socket: PathBuf = socket.to_path_buf();
        runtime.block_on(async {
            let listener = UnixListener::bind(socket).expect("binds");
            tokio::spawn(
                tonic::transport::Server::builder()
                    .add_service(service)
                    .serve_with_incoming(UnixListenerStream::new(listener)),
            );
        });
        Controller { book, _runtime: runtime }
    }

    /// Waits until an agent has a session.
    pub fn await_agent(&self) {
        until(|| self.notes().agent.as_ref().is_some_and(|agent| !agent.is_closed()));
    }

    /// Leaves reports unconfirmed from now on.
    pub fn confirm_nothing(&self) {
        self.notes().is_silent = true;
    }

    pub fn launch(&self, launches: Vec<Launch>) {
        let session = self.notes().session;
        self.say(Says::Launches(Launches { session, term: TERM, launches }));
    }

    pub fn kill(&self, job: u32, epoch: u32) {
        let session = self.notes().session;
        self.say(Says::Kills(Kills {
            session,
            term: TERM,
            runs: vec![Run { job, epoch, step: None }],
        }));
    }

    /// The runs the agent answers for, as it says itself.
    pub fn table(&self) -> Vec<Run> {
        self.notes().table = None;
        // Asked again and again: an agent that was just killed still seems to listen.
        until(|| {
            self.say(Says::AskTable(AskTable { marker: 1 }));
            self.notes().table.is_some()
        });
        self.notes().table.take().expect("just seen")
    }

    /// Waits for the report on a job.
    pub fn report(&self, job: u32) -> Report {
        let find = || self.notes().reports.iter().find(|report| report.job == job).cloned();
        until(|| find().is_some());
        find().expect("just seen")
    }

    /// Different runs reported so far.
    pub fn reported(&self) -> usize {
        let mut runs: Vec<(u32, u32)> =
            self.notes().reports.iter().map(|report| (report.job, report.epoch)).collect();
        runs.sort();
        runs.dedup();
        runs.len()
    }

    fn say(&self, message: Says) {
        let notes = self.notes();
        let agent = notes.agent.as_ref().expect("an agent has a session");
        let _ = agent.send(Ok(ControllerMessage { message: Some(message) }));
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.book.lock().expect("no holder panics")
    }
}

struct Service(Book);

#[tonic::async_trait]
impl Agents for Service {
    type SessionStream = Pin<Box<dyn Stream<Item = Result<ControllerMessage, Status>> + Send>>;

    async fn session(
        &self,
        request: Request<Streaming<AgentMessage>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut messages = request.into_inner();
        let book = self.0.clone();
        let (sender, receiver) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(AgentMessage { message: Some(message) })) = messages.next().await {
                let mut notes = book.lock().expect("no holder panics");
                if let Some(answer) = notes.hear(message, &sender) {
                    let _ = sender.send(Ok(ControllerMessage { message: Some(answer) }));
                }
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(receiver))))
    }
}

impl Notes {
    fn hear(
        &mut self,
        message: Hears,
        agent: &UnboundedSender<Result<ControllerMessage, Status>>,
    ) -> Option<Says> {
        match message {
            Hears::Hello(hello) => {
                self.session += 1;
                self.agent = Some(agent.clone());
                Some(Says::Welcome(Welcome {
                    session: self.session,
                    term: TERM,
                    echo_ms: hello.sent_at_ms,
                    lease_ms: LEASE_MS,
                    ..Welcome::default()
                }))
            }
            Hears::Heartbeat(beat) => Some(Says::Beat(Beat {
                term: TERM,
                echo_ms: beat.sent_at_ms,
                lease_ms: LEASE_MS,
                ..Beat::default()
            })),
            Hears::Health(_) | Hears::PortTaken(_) => None,
            Hears::Table(table) => {
                self.table = Some(table.runs);
                None
            }
            Hears::Reports(reports) => {
                let sequences = reports.reports.iter().map(|report| report.sequence).collect();
                self.reports.extend(reports.reports);
                (!self.is_silent).then_some(Says::Acknowledge(Acknowledge { sequences }))
            }
        }
    }
}
