//! The connections to the nodes of a step.

use std::io::Error;
use std::time::Duration;

use spur_core::ids::StepId;
use spur_net::Role;
use spur_net::tls::Dialler;
use spur_proto::client::{Address, knock};
use spur_proto::internal::{PmiName, Run, StepHello, StepProgram, StepUsage};
use spur_proto::slurm::{StepAccess, StepAccessNode};
use spur_proto::step_io::{self, EVERYBODY, Frames, Kind};
use spur_proto::step_name;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::output::Piece;

/// What a node tells.
pub enum News {
    /// Its tasks run.
    Started,
    /// A task has ended, with this wait status.
    Exited { node: usize, rank: u32, status: u32 },
    /// So much more input may be sent there.
    Grant(usize, u32),
    /// A part of what its tasks have for the others.
    Share(usize, Vec<u8>),
    /// One of its tasks asks for a name.
    Name { node: usize, task: u32, question: PmiName },
    /// One of its tasks wants the step to end.
    Abort,
    /// Nothing of the step is left there.
    Over(usize),
    /// It cannot run the step.
    Refused(usize, String),
    /// The connection broke.
    Lost(usize),
}

/// One node of the step.
#[derive(Clone)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Ranks of its tasks.
    pub ranks: Vec<u32>,
    /// Tasks of components before its own, which its agent does not count.
    pub first_rank: u32,
    /// Frames on their way there.
    frames: mpsc::UnboundedSender<Vec<u8>>,
    /// Input that may be sent.
    pub granted: u64,
    /// It has said its last word.
    pub over: bool,
}

impl Node {
    /// Sends what a task of the node asked for; its agent counts it as it said.
    pub fn answer(&self, task: u32, name: &PmiName) {
        let _ = self.frames.send(step_io::pmi_name(task, name));
    }

    /// Sends a frame; a node that is gone needs none.
    pub fn send(&self, kind: Kind, rank: u32, payload: &[u8]) {
        let own = if rank == EVERYBODY { rank } else { rank.saturating_sub(self.first_rank) };
        let _ = self.frames.send(step_io::frame(kind, own, payload));
    }
}

/// Connects to every node and tells it what to run; nothing to whoever only attaches.
pub fn connect(
    access: &StepAccess,
    program: Option<&StepProgram>,
    before: Before,
    pieces: &mpsc::Sender<Piece>,
    news: &mpsc::UnboundedSender<News>,
) -> Vec<Node> {
    let first_rank = before.tasks;
    let connect = |(at, node): (usize, &StepAccessNode)| {
        let at = at + before.nodes;
        let hello = StepHello { program: program.cloned(), ..hello(access, node) };
        let (frames, waiting) = mpsc::unbounded_channel();
        let _ = frames.send(step_io::hello(&hello));
        let place = Place::of(access, node);
        let (pieces, news) = (pieces.clone(), news.clone());
        tokio::spawn(async move {
            let ended = converse((at, first_rank), &place, waiting, &pieces, &news).await;
            drop(pieces);
            let _ = news.send(match ended {
                Ok(()) => News::Lost(at),
                Err(error) => News::Refused(at, error.to_string()),
            });
        });
        let ranks = node.ranks.iter().map(|rank| rank + first_rank).collect();
        Node { name: node.name.clone(), ranks, first_rank, frames, granted: 0, over: false }
    };
    access.nodes.iter().enumerate().map(connect).collect()
}

/// Asks every node what the step uses there; those that do not answer are left out.
pub async fn measure(access: &StepAccess) -> Vec<(String, StepUsage)> {
    let mut asked = Vec::new();
    for node in &access.nodes {
        let hello = StepHello { measure: true, ..hello(access, node) };
        let place = Place::of(access, node);
        asked.push(tokio::spawn(async move {
            let name = place.name.clone();
            let answer = timeout(PATIENCE, usage(&place, &hello)).await;
            answer.ok().flatten().map(|usage| (name, usage))
        }));
    }
    let mut answers = Vec::new();
    for answer in asked {
        answers.extend(answer.await.ok().flatten());
    }
    answers
}

async fn usage(place: &Place, hello: &StepHello) -> Option<StepUsage> {
    let mut line = reach(place).await.ok()?;
    line.write_all(&step_io::hello(hello)).await.ok()?;
    line.flush().await.ok()?;
    let mut frames = Frames::default();
    let mut bytes = vec![0; 64 << 10];
    loop {
        if let Some(frame) = frames.take_frame().ok()? {
            return frame.usage();
        }
        let count = line.read(&mut bytes).await.ok().filter(|count| *count > 0)?;
        frames.push(&bytes[..count]);
    }
}

/// The first words to a node of the step.
fn hello(access: &StepAccess, node: &StepAccessNode) -> StepHello {
    let epoch = access.job.as_ref().map_or(0, |job| job.epoch);
    StepHello {
        run: Some(Run { job: access.job_id, epoch, step: step_name(StepId(access.step_id)) }),
        credential: node.credential.clone(),
        signature: node.signature.clone(),
        node: node.name.clone(),
        ..StepHello::default()
    }
}

/// What components of a step come before one: their nodes and tasks are counted first.
#[derive(Clone, Copy, Default)]
pub struct Before {
    /// Nodes.
    pub nodes: usize,
    /// Tasks.
    pub tasks: u32,
}

/// Where a node's agent is, and how to know it.
struct Place {
    name: String,
    address: String,
    authority: Vec<u8>,
}

impl Place {
    fn of(access: &StepAccess, node: &StepAccessNode) -> Place {
        Place {
            name: node.name.clone(),
            address: node.address.clone(),
            authority: access.authority.clone(),
        }
    }
}

trait Line: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Line for T {}

/// Connects to the first of the node's addresses that answers. On another machine it must show that it is
/// that node.
async fn reach(place: &Place) -> std::io::Result<Box<dyn Line>> {
    let mut trouble = Error::other("the node's address is not known");
    for address in Address::parse_list(&place.address).unwrap_or_default() {
        let line: std::io::Result<Box<dyn Line>> = match address {
            Address::Unix(path) => knock(path).await.map(|it| Box::new(it) as _),
            Address::Tls { host, port } => {
                dial(place, &host, port).await.map(|it| Box::new(it) as _)
            }
        };
        match line {
            Ok(line) => return Ok(line),
            Err(error) => trouble = error,
        }
    }
    Err(trouble)
}

async fn dial(place: &Place, host: &str, port: u16) -> std::io::Result<TlsStream<TcpStream>> {
    let authority = CertificateDer::from(place.authority.as_slice());
    let dialler = Dialler::visitor(&authority).map_err(Error::other)?;
    let stream = timeout(PATIENCE, TcpStream::connect((host, port))).await??;
    dialler.dial(stream, &Role::Compute(place.name.clone())).await
}

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

async fn converse(
    at: (usize, u32),
    place: &Place,
    mut waiting: mpsc::UnboundedReceiver<Vec<u8>>,
    pieces: &mpsc::Sender<Piece>,
    news: &mpsc::UnboundedSender<News>,
) -> std::io::Result<()> {
    let (reading, mut writing) = tokio::io::split(reach(place).await?);
    tokio::spawn(async move {
        while let Some(frame) = waiting.recv().await {
            if writing.write_all(&frame).await.is_err() || writing.flush().await.is_err() {
                return;
            }
        }
    });
    // What a broken connection means is told by what came before it.
    let _ = listen(at, reading, pieces, news).await;
    Ok(())
}

async fn listen(
    (at, first_rank): (usize, u32),
    mut reading: impl AsyncRead + Unpin,
    pieces: &mpsc::Sender<Piece>,
    news: &mpsc::UnboundedSender<News>,
) -> Option<()> {
    let mut frames = Frames::default();
    let mut bytes = vec![0; 128 << 10];
    loop {
        let count = reading.read(&mut bytes).await.ok()?;
        if count == 0 {
            return None;
        }
        frames.push(&bytes[..count]);
        while let Some(frame) = frames.take_frame().ok()? {
            let text = || String::from_utf8_lossy(&frame.payload).into_owned();
            let told = match frame.kind {
                Kind::Output | Kind::Error => {
                    let is_error = frame.kind == Kind::Error;
                    let (rank, bytes) = (frame.rank + first_rank, frame.payload);
                    // Waits while the writer does: so do the tasks, by and by.
                    pieces.send(Piece::Bytes { rank, is_error, bytes }).await.ok()?;
                    continue;
                }
                Kind::Say => {
                    pieces.send(Piece::Line(text())).await.ok()?;
                    continue;
                }
                Kind::Started => News::Started,
                Kind::Exited => {
                    let rank = frame.rank + first_rank;
                    News::Exited { node: at, rank, status: frame.number() }
                }
                Kind::Grant => News::Grant(at, frame.number()),
                Kind::Share => News::Share(at, frame.payload),
                Kind::Name => {
                    let question = frame.pmi_name()?;
                    News::Name { node: at, task: frame.rank, question }
                }
                Kind::Abort => News::Abort,
                Kind::Over => News::Over(at),
                Kind::Refused => News::Refused(at, text()),
                Kind::Hello
                | Kind::Usage
                | Kind::Input
                | Kind::Signal
                | Kind::Window
                | Kind::Introduce
                | Kind::Vouch => continue,
            };
            news.send(told).ok()?;
        }
    }
}
