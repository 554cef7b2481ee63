//! From the first task to the last: input, endings, signals, and what is said about them.

use std::io::Read;
use std::time::Duration;

use spur_core::job::{ExitStatus, JobState, JobStatus};
use spur_core::options::{Request, ToolSettings};
use spur_proto::caller::CallError;
use spur_proto::internal::StepProgram;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{SignalStepRequest, StepAccess};
use spur_proto::step_io::{EVERYBODY, Kind, PART};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ended;
use super::exchange::Exchange;
use super::nodes::{self, Before, News, Node};
use super::output::{Piece, Writer};
use super::program::{Prepared, Source};
use super::terminal::{self, Raw};
use crate::cluster;
use crate::commands::allocation::{Attended, Voice};

/// Between an interrupt and the end: of both at once, tasks would hear the end alone.
const BREATH: Duration = Duration::from_millis(100);

/// Two interrupts within this time end the step.
const TWICE: Duration = Duration::from_secs(1);

/// Endings that come together are told together.
const GATHER: Duration = Duration::from_millis(30);

/// How long tasks that were killed may take to be gone before the controller ends their step.
const KILLED_FIRST: Duration = Duration::from_secs(1);

/// What people are told to wait beyond `KillWait`.
const MORE_SECS: u32 = 2;

/// Input is read in pieces of this size.
const PIECE: usize = 32 << 10;

/// A step under way.
struct Step<'a> {
    voice: &'a Voice,
    name: String,
    parts: &'a [Part],
    nodes: Vec<Node>,
    /// What tasks have for each other.
    exchange: Exchange,
    pieces: mpsc::Sender<Piece>,
    kill_on_bad_exit: bool,
    wait: Option<Duration>,
    no_kill: bool,
    first_interrupt: Interrupt,
    /// How each task ended.
    ended: Vec<Option<u32>>,
    /// Not told yet, and since when.
    untold: Vec<(usize, u32, u32)>,
    untold_since: Option<Instant>,
    first_end: Option<Instant>,
    interrupted: Option<Instant>,
    /// By interrupts of the user's.
    cut_short: bool,
    terminating: bool,
    aborted: bool,
    failed: bool,
    only_input: Option<u32>,
}

/// What the first of several interrupts does.
#[derive(PartialEq)]
enum Interrupt {
    Status,
    /// `--disable-status`
    PassedOn,
    /// `--quit-on-interrupt`
    End,
}

impl Interrupt {
    fn first(asked: &ToolSettings) -> Interrupt {
        match (asked.quit_on_interrupt, asked.disable_status) {
            (true, _) => Interrupt::End,
            (false, true) => Interrupt::PassedOn,
            (false, false) => Interrupt::Status,
        }
    }
}

/// A step in one component of a job, and what its tasks run.
pub struct Part {
    /// How to reach it.
    pub access: StepAccess,
    /// What it runs.
    pub program: StepProgram,
}

impl Part {
    /// Tasks over all its nodes.
    pub fn tasks(&self) -> u32 {
        self.access.nodes.iter().map(|node| node.ranks.len() as u32).sum()
    }
}

fn signal_all(nodes: &[Node], signal: u32) {
    let bytes = signal.to_le_bytes();
    nodes.iter().for_each(|node| node.send(Kind::Signal, EVERYBODY, &bytes));
}

/// Runs the step and returns the highest wait status of its tasks.
pub async fn run(
    voice: &Voice,
    request: &Request,
    parts: &[Part],
    prepared: Prepared,
    attended: Option<&mut Attended>,
) -> u32 {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(_) => return 256,
    };
    let raw = if parts.iter().any(|part| part.program.pty) { Raw::make() } else { None };
    let writer = Writer::start(prepared.manner);
    let (sender, mut news) = mpsc::unbounded_channel();
    let mut nodes: Vec<Node> = Vec::new();
    let mut before = Before::default();
    for Part { access, program } in parts {
        nodes.extend(nodes::connect(access, Some(program), before, &writer.pieces, &sender));
        before.nodes = nodes.len();
        before.tasks += access.nodes.iter().map(|node| node.ranks.len() as u32).sum::<u32>();
    }
    let first = parts.first().map_or((0, 0), |part| (part.access.job_id, part.access.step_id));
    drop(sender);
    let mut step = Step {
        voice,
        name: format!("{}.{}", first.0, first.1),
        parts,
        exchange: Exchange::new(nodes.len()),
        nodes,
        pieces: writer.pieces.clone(),
        kill_on_bad_exit: request.step.kill_on_bad_exit.unwrap_or(false),
        wait: request
            .step
            .wait_secs
            .filter(|secs| *secs > 0)
            .map(|secs| Duration::from_secs(secs.into())),
        no_kill: request.job.lifecycle().no_kill,
        first_interrupt: Interrupt::first(&request.tool),
        ended: vec![None; before.tasks as usize],
        untold: Vec::new(),
        untold_since: None,
        first_end: None,
        interrupted: None,
        cut_short: false,
        terminating: false,
        aborted: false,
        failed: false,
        only_input: prepared.only_input,
    };
    let mut input = read_input(prepared.input);
    let mut nobody = mpsc::unbounded_channel();
    let job_news = attended.map_or(&mut nobody.1, |attended| &mut attended.news);
    while !step.nodes.iter().all(|node| node.over) {
        tokio::select! {
            news = news.recv() => match news {
                Some(news) => step.hear(news).await,
                None => break,
            },
            piece = next_piece(&mut input), if step.may_send() => match piece {
                Some(piece) => step.send_input(&piece),
                None => {
                    input = None;
                    step.send_input(&[]);
                }
            },
            signal = signals.next() => step.signalled(signal).await,
            told = job_news.recv(), if !step.aborted => {
                let state = told.as_ref().and_then(|told| told.view.as_ref()).map(|view| view.state);
                let lives = |state: u32| {
                    matches!(JobStatus(state).base(), JobState::Running | JobState::Pending)
                };
                if state.is_none_or(|state| !lives(state)) {
                    step.abort().await;
                }
            }
            () = sleep_until(step.next_moment()) => step.time_passed().await,
        }
    }
    drop(raw);
    step.tell_endings().await;
    let status = step.finish().await;
    drop(step);
    tokio::task::spawn_blocking(move || writer.finish()).await.ok();
    status
}

impl Step<'_> {
    async fn hear(&mut self, news: News) {
        match news {
            News::Started => {}
            News::Grant(at, bytes) => self.nodes[at].granted += u64::from(bytes),
            News::Exited { node, rank, status } => {
                let Some(ended) = self.ended.get_mut(rank as usize) else { return };
                *ended = Some(status);
                // Whoever asked for the end twice is not told what tasks died of.
                if !(self.cut_short && ExitStatus::from_wait(status).signal != 0) {
                    self.untold.push((node, rank, status));
                    self.untold_since.get_or_insert_with(Instant::now);
                }
                self.first_end.get_or_insert_with(Instant::now);
                if self.kill_on_bad_exit && status != 0 && !self.terminating {
                    self.tell_endings().await;
                    self.terminate().await;
                }
            }
            News::Share(at, said) => {
                if let Some(all) = self.exchange.hear(at, &said) {
                    self.tell_all(&all);
                }
            }
            News::Name { node, task, question } => {
                let answer = self.exchange.name(question);
                self.nodes[node].answer(task, &answer);
            }
            News::Abort if !self.aborted => {
                self.abort().await;
                self.kill().await;
            }
            News::Abort => {}
            News::Over(at) => self.nodes[at].over = true,
            News::Refused(at, reason) if !self.nodes[at].over => {
                self.nodes[at].over = true;
                self.failed = true;
                let name = self.nodes[at].name.clone();
                // What was wrong in particular comes before the refusal.
                let (lines, reason) = reason.rsplit_once('\n').unwrap_or(("", &reason));
                for line in lines.lines() {
                    self.complain(line.to_string()).await;
                }
                self.complain(format!(
                    "Task launch for StepId={} failed on node {name}: {reason}",
                    self.name
                ))
                .await;
                let summary = match reason {
                    "Job prolog failed" | "Unable to satisfy cpu bind request" => reason,
                    _ => "Communication connection failure",
                };
                self.complain(format!("Application launch failed: {summary}")).await;
                self.terminate().await;
            }
            News::Lost(at) if !self.nodes[at].over => {
                self.nodes[at].over = true;
                self.failed = true;
                let name = self.nodes[at].name.clone();
                self.complain(format!("Node failure on {name}")).await;
                if !self.no_kill {
                    self.abort().await;
                    self.terminate().await;
                }
            }
            News::Refused(..) | News::Lost(_) => {}
        }
    }

    /// Whether every node that takes input takes a piece of it.
    fn may_send(&self) -> bool {
        let mut takers = self.takers().peekable();
        takers.peek().is_some() && takers.all(|node| node.granted >= PIECE as u64)
    }

    fn takers(&self) -> impl Iterator<Item = &Node> {
        let only = self.only_input;
        self.nodes
            .iter()
            .filter(move |node| !node.over && only.is_none_or(|rank| node.ranks.contains(&rank)))
    }

    fn send_input(&mut self, piece: &[u8]) {
        let only = self.only_input;
        let takes =
            |node: &&mut Node| !node.over && only.is_none_or(|rank| node.ranks.contains(&rank));
        for node in self.nodes.iter_mut().filter(takes) {
            node.granted -= (piece.len() as u64).min(node.granted);
            node.send(Kind::Input, only.unwrap_or(EVERYBODY), piece);
        }
    }

    async fn signalled(&mut self, signal: i32) {
        match signal {
            libc::SIGINT => self.interrupt().await,
            libc::SIGTERM | libc::SIGHUP => self.force(Duration::ZERO).await,
            libc::SIGQUIT => {
                self.say("Quit").await;
                self.force(Duration::ZERO).await;
            }
            libc::SIGPIPE => {
                self.abort().await;
                self.end_step(Duration::ZERO, libc::SIGKILL).await;
            }
            libc::SIGCONT => self.say("got SIGCONT").await,
            libc::SIGALRM => {}
            libc::SIGWINCH => {
                let (rows, columns) = terminal::size().unwrap_or((24, 80));
                let size = [rows.to_le_bytes(), columns.to_le_bytes()].concat();
                self.nodes.iter().for_each(|node| node.send(Kind::Window, EVERYBODY, &size));
            }
            signal => self.pass_on(signal),
        }
    }

    fn pass_on(&self, signal: i32) {
        signal_all(&self.nodes, signal.unsigned_abs());
    }

    /// Once: how it stands, or what was asked for instead. Twice within a second: the end.
    async fn interrupt(&mut self) {
        let again = self.interrupted.is_some_and(|before| before.elapsed() < TWICE);
        self.interrupted = Some(Instant::now());
        if !again && self.first_interrupt == Interrupt::Status {
            self.say("interrupt (one more within 1 sec to abort)").await;
            self.say_how_it_stands().await;
            return;
        }
        self.say(format!("sending Ctrl-C to StepId={}", self.name)).await;
        self.pass_on(libc::SIGINT);
        if again || self.first_interrupt == Interrupt::End {
            self.cut_short = true;
            self.force(BREATH).await;
        }
    }

    async fn force(&mut self, after: Duration) {
        self.say("forcing job termination").await;
        self.abort().await;
        self.end_step(after, libc::SIGKILL).await;
    }

    async fn say_how_it_stands(&mut self) {
        let word = |ended: &Option<u32>| match ended {
            None => "running",
            Some(0) => "exited",
            Some(_) => "exited abnormally",
        };
        for which in ["running", "exited", "exited abnormally"] {
            let ranks = (0..).zip(&self.ended).filter(|(_, ended)| word(ended) == which);
            let ranks: Vec<u32> = ranks.map(|(rank, _)| rank).collect();
            if !ranks.is_empty() {
                let tasks = ended::tasks(&ranks);
                self.say(format!("StepId={} {tasks}: {which}", self.name)).await;
            }
        }
    }

    async fn terminate(&mut self) {
        if !self.terminating {
            self.say(format!("Terminating StepId={}", self.name)).await;
            self.end_step(Duration::ZERO, 0).await;
        }
    }

    async fn abort(&mut self) {
        if !self.aborted {
            self.aborted = true;
            let secs = self.parts.first().map_or(0, |part| part.access.kill_wait_secs) + MORE_SECS;
            self.say(format!(
                "Job step aborted: Waiting up to {secs} seconds for job step to finish."
            ))
            .await;
        }
    }

    /// Has the controller end the step on every node, by `KILL` or as it ends jobs; it goes on doing so whatever
    /// becomes of us. It knows whether the job is being ended, and what time its tasks have then.
    async fn end_step(&mut self, after: Duration, signal: i32) {
        self.terminating = true;
        let kills = signal == libc::SIGKILL;
        let signal = signal.unsigned_abs();
        for Part { access, .. } in self.parts {
            let nodes = if kills { self.nodes.clone() } else { Vec::new() };
            let (job_id, step_id) = (access.job_id, access.step_id);
            // Not waited for: who presses the keys again must be heard.
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                let request_id = cluster::request_id();
                let asked = SignalStepRequest { job_id, step_id, signal, request_id };
                let ask = |mut client: ControllerClient<_>| {
                    let asked = asked.clone();
                    async move { client.signal_step(asked).await }
                };
                // Without a controller nobody else can do it.
                if let Err(CallError::Unreachable) = cluster::caller().call(ask).await {
                    signal_all(&nodes, signal);
                }
            });
        }
    }

    fn next_moment(&self) -> Option<Instant> {
        let told = self.untold_since.map(|since| since + GATHER);
        let waited = match (self.wait, self.first_end) {
            (Some(wait), Some(first)) if !self.terminating => Some(first + wait),
            _ => None,
        };
        [told, waited].into_iter().flatten().min()
    }

    async fn time_passed(&mut self) {
        let now = Instant::now();
        if self.untold_since.is_some_and(|since| since + GATHER <= now) {
            self.tell_endings().await;
        }
        if let (Some(wait), Some(first)) = (self.wait, self.first_end)
            && first + wait <= now
            && !self.terminating
        {
            self.say(format!("First task exited {}s ago", wait.as_secs())).await;
            self.say_how_it_stands().await;
            self.say(format!("Terminating StepId={}", self.name)).await;
            self.abort().await;
            self.kill().await;
        }
    }

    /// As in Slurm tasks are killed, not asked; only who is not reached from here is ended by the controller.
    async fn kill(&mut self) {
        self.pass_on(libc::SIGKILL);
        self.end_step(KILLED_FIRST, 0).await;
    }

    fn tell_all(&self, all: &[u8]) {
        for node in &self.nodes {
            all.chunks(PART).for_each(|part| node.send(Kind::Share, EVERYBODY, part));
            node.send(Kind::Share, EVERYBODY, &[]);
        }
    }

    async fn tell_endings(&mut self) {
        self.untold_since = None;
        let untold = std::mem::take(&mut self.untold);
        for at in 0..self.nodes.len() {
            let here: Vec<(u32, u32)> = untold
                .iter()
                .filter(|(node, _, _)| *node == at)
                // Each component counts its own.
                .map(|(_, rank, status)| (rank - self.nodes[at].first_rank, *status))
                .collect();
            for line in ended::lines(&self.nodes[at].name, &here) {
                self.complain(line).await;
            }
        }
    }

    /// The last words, and the highest wait status.
    async fn finish(&mut self) -> u32 {
        let killed = |status: &u32| matches!((status & 0x7f) as i32, libc::SIGKILL | libc::SIGTERM);
        let by_force = self.ended.iter().flatten().any(killed);
        if by_force && !self.aborted && !self.failed {
            self.say(format!("Force Terminated StepId={}", self.name)).await;
        }
        let all = self.ended.iter().flatten().copied();
        let highest = all.max_by_key(|status| ended::exit_code(*status)).unwrap_or(0);
        if self.failed { highest.max(256) } else { highest }
    }

    async fn say(&self, line: impl std::fmt::Display) {
        if !self.voice.quiet {
            let _ = self.pieces.send(Piece::Line(format!("{}: {line}\n", self.voice.name()))).await;
        }
    }

    async fn complain(&self, line: String) {
        if self.voice.silent {
            return;
        }
        let line = format!("{}: error: {line}\n", self.voice.name());
        let _ = self.pieces.send(Piece::Line(line)).await;
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Reads on a thread of its own: a terminal may have nothing to say for hours.
fn read_input(source: Source) -> Option<mpsc::Receiver<Vec<u8>>> {
    let mut source: Box<dyn Read + Send> = match source {
        Source::Nothing => return None,
        Source::Own => Box::new(std::io::stdin()),
        Source::File(file) => Box::new(file),
    };
    let (pieces, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            let mut piece = vec![0; PIECE];
            let count = match source.read(&mut piece) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Ok(count) => count,
                Err(_) => 0,
            };
            piece.truncate(count);
            if count == 0 || pieces.blocking_send(piece).is_err() {
                return;
            }
        }
    });
    Some(receiver)
}

async fn next_piece(input: &mut Option<mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match input {
        Some(pieces) => pieces.recv().await,
        None => std::future::pending().await,
    }
}

/// The signals that mean something to a step.
struct Signals(Vec<(i32, Signal)>);

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        let kinds = [
            libc::SIGINT,
            libc::SIGTERM,
            libc::SIGQUIT,
            libc::SIGHUP,
            libc::SIGUSR1,
            libc::SIGUSR2,
            libc::SIGALRM,
            libc::SIGPIPE,
            libc::SIGCONT,
            libc::SIGWINCH,
        ];
        let listen = |number: i32| Ok((number, signal(SignalKind::from_raw(number))?));
        kinds.into_iter().map(listen).collect::<std::io::Result<Vec<_>>>().map(Signals)
    }

    async fn next(&mut self) -> i32 {
        std::future::poll_fn(|context| {
            for (number, signal) in &mut self.0 {
                if signal.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*number);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}
