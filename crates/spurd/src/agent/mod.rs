//! What the agent decides: which launches to obey, what to remember, what to report.
//!
//! No IO but through [`Disk`], no clock but the one it is told: production drives it from sockets and
//! timers, the simulator from a seed. The rules are those of `docs/decisions/0003-launch-protocol.md`.

mod outbox;
mod spool;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use prost::Message;
use spur_core::ids::{Epoch, JobId, StepId};
use spur_core::node::Inventory;
use spur_core::state::Outcome;
use spur_disk::{Disk, Error};
use spur_proto::internal::agent_message::Message as Says;
use spur_proto::internal::controller_message::Message as Hears;
use spur_proto::internal::{
    Health, HealthRules, Heartbeat, Hello, Launch, Launches, PortTaken, Report, Reports, Run, Table,
};

use crate::load::Load;
use crate::run::RunId;
pub use outbox::Outbox;
pub use spool::{Account, Found, RunFile, digest};

/// What the agent tells about its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The node's name.
    pub node: String,
    /// Changes when the machine reboots, and with the spool: a table that was lost proves nothing.
    pub boot_id: String,
    /// What it has.
    pub inventory: Inventory,
    /// Where connections for the input and output of tasks are taken.
    pub address: String,
}

/// Milliseconds of a clock that runs on while the machine sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A stream to a controller is open.
    Connected,
    /// The stream is gone.
    Disconnected,
    /// The controller says something.
    Heard(Hears),
    /// A run is over and nothing of it is left.
    Over(RunId, Outcome, Box<Account>),
    /// Time for a heartbeat.
    HeartbeatDue,
    /// How busy the machine is.
    Load(Load),
    /// What is wrong with the node now; nothing when it is fit.
    Health(Vec<String>),
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Say this to the controller.
    Say(Says),
    /// Give the run to a shepherd; its launch is in the spool. Whose it is, unless only the spool knows.
    Spawn(RunId, Option<u32>),
    /// End the run: ask first, then insist.
    Kill(RunId),
    /// Pass a signal on to a run; only to its script's shell if said so.
    Signal(RunId, i32, bool),
    /// Stop a run, which hears of it before.
    Suspend(RunId),
    /// Put words into the error output of a run.
    Notice(RunId, String),
    /// Tell in the error output of a run that it is about to be ended, and why if that is to be said.
    Farewell(RunId, String),
    /// The present controller signs step credentials with this key.
    Trust(Vec<u8>),
    /// Ask this program now and then whether the node is fit.
    CareFor(HealthRules),
    /// Restart the machine by this program.
    Reboot(String),
    /// A controller answered what was said at this moment: runs that may not outlive its silence go on.
    Heard(Millis),
    /// The stream is useless: a controller with a lower term than we have seen.
    HangUp,
}

/// The agent of one node.
pub struct Agent<D> {
    identity: Identity,
    disk: D,
    /// The highest term ever obeyed; kept over restarts.
    term: u64,
    session: Option<Session>,
    /// When the present stream was opened: only an answer to a greeting on it opens a session.
    connected: Option<Millis>,
    /// When the last greeting was sent.
    greeted: Option<Millis>,
    runs: BTreeMap<RunId, KnownRun>,
    /// Runs this life has seen acknowledged: a late repetition is not a new launch.
    done: BTreeMap<(JobId, StepId), Epoch>,
    outbox: Outbox,
    /// Runs that the spool has no room for, and since when.
    stuck: BTreeMap<RunId, Millis>,
    /// Runs that were given up for that, and why.
    refused: BTreeMap<RunId, String>,
    /// What is wrong with the node: it takes no new jobs until that is mended.
    problems: Vec<String>,
    /// There were problems, and there are none any more.
    is_mended: bool,
    load: Load,
    /// Whom the controller wants asked about that.
    rules: HealthRules,
    /// The restart that was begun last.
    reboot: i64,
    /// Whether nobody on this machine has a port.
    is_free: fn(u16) -> bool,
}

struct Session {
    id: u64,
    /// When the greeting it answers was sent. Messages may come twice and late: only the answer to a
    /// later greeting opens another.
    greeted: u64,
    /// Until when launches are obeyed.
    lease: Millis,
}

struct KnownRun {
    over: bool,
}

impl<D: Disk> Agent<D> {
    /// Takes up what an earlier life left in the spool. `look` tells what became of a run.
    pub fn recover(
        identity: Identity,
        mut disk: D,
        mut look: impl FnMut(RunId) -> Found,
    ) -> Result<(Agent<D>, Vec<Output>), Error> {
        let term = spool::read_term(&disk)?;
        let same_boot = spool::is_same_boot(&disk, &identity.boot_id)?;
        let outbox = Outbox::open(&mut disk)?;
        let mut agent = Agent {
            identity,
            disk,
            term,
            session: None,
            connected: None,
            greeted: None,
            runs: BTreeMap::new(),
            done: BTreeMap::new(),
            outbox,
            stuck: BTreeMap::new(),
            refused: BTreeMap::new(),
            problems: Vec::new(),
            is_mended: false,
            load: Load::default(),
            rules: HealthRules::default(),
            reboot: 0,
            is_free: |_| true,
        };
        let mut outputs = Vec::new();
        // What is reported is over, whatever else the spool still says.
        for run in agent.outbox.waiting_runs() {
            agent.runs.insert(run, KnownRun { over: true });
        }
        for run in spool::launches(&agent.disk)? {
            let newer = |known: &RunId| known.job == run.job && known.epoch > run.epoch;
            if agent.runs.contains_key(&run) || agent.runs.keys().any(newer) {
                continue;
            }
            agent.runs.insert(run, KnownRun { over: false });
            match look(run) {
                Found::Alive => {}
                Found::Over(outcome, account) => agent.over(run, outcome, *account),
                // Nobody else may run it: the controller waits for proof, and a reboot is one.
                Found::Unclaimed if same_boot => outputs.push(Output::Spawn(run, None)),
                Found::Unclaimed | Found::Gone => {
                    agent.over(run, Outcome::Lost, Account::default());
                }
            }
        }
        if !same_boot {
            // First what the reboot ended, then that it is known: a crash in between sees it again.
            agent.outbox.flush(&mut agent.disk)?;
            spool::write_boot(&mut agent.disk, &agent.identity.boot_id)?;
        }
        Ok((agent, outputs))
    }

    /// Whom to ask whether a port is free.
    pub fn ask_for_ports(&mut self, is_free: fn(u16) -> bool) {
        self.is_free = is_free;
    }

    /// Takes in one event. Reports gather until [`Agent::flush`].
    pub fn on(&mut self, now: Millis, input: Input) -> Result<Vec<Output>, Error> {
        match input {
            Input::Connected => {
                self.connected = Some(now);
                Ok(self.greet(now))
            }
            Input::Disconnected => {
                self.session = None;
                self.greeted = None;
                self.connected = None;
                Ok(Vec::new())
            }
            Input::Health(problems) => {
                let is_news = problems != self.problems;
                self.is_mended = problems.is_empty() && (is_news || self.is_mended);
                self.problems = problems;
                Ok(if is_news { self.say_health() } else { Vec::new() })
            }
            Input::Heard(message) => self.hear(now, message),
            Input::Over(run, outcome, account) => {
                self.over(run, outcome, *account);
                Ok(Vec::new())
            }
            Input::Load(load) => {
                self.load = load;
                Ok(Vec::new())
            }
            Input::HeartbeatDue => Ok(match &self.session {
                // Nobody has answered for too long: this stream leads nowhere.
                Some(session) if now.0 > session.lease.0 + PATIENCE_MS => {
                    self.session = None;
                    self.greeted = None;
                    vec![Output::HangUp]
                }
                Some(_) => vec![Output::Say(Says::Heartbeat(Heartbeat {
                    sent_at_ms: now.0,
                    digest: digest(self.table()),
                    load_centi: self.load.centi,
                    free_memory_mb: self.load.free_memory_mb,
                }))],
                // Greeted, but the answer is missing or could not be taken in for want of room.
                None if self.greeted.is_some_and(|at| now.0 > at.0 + GREET_AGAIN_MS) => {
                    self.greet(now)
                }
                None => Vec::new(),
            }),
        }
    }

    /// Makes all gathered reports durable with one sync, then sends them.
    pub fn flush(&mut self) -> Result<Vec<Output>, Error> {
        let fresh = self.outbox.flush(&mut self.disk)?;
        Ok(self.say_reports(fresh))
    }

    /// The runs this agent answers for.
    pub fn table(&self) -> impl Iterator<Item = RunId> {
        self.runs.keys().copied()
    }

    /// Until when launches are obeyed, if there is a session.
    pub fn lease(&self) -> Option<Millis> {
        self.session.as_ref().map(|session| session.lease)
    }

    /// What the node is called.
    pub fn node(&self) -> &str {
        &self.identity.node
    }

    /// The spool.
    pub fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    fn greet(&mut self, now: Millis) -> Vec<Output> {
        self.greeted = Some(now);
        vec![Output::Say(self.hello(now))]
    }

    fn hello(&self, now: Millis) -> Says {
        Says::Hello(Hello {
            node: self.identity.node.clone(),
            boot_id: self.identity.boot_id.clone(),
            inventory: Some(Box::new(self.identity.inventory.clone())),
            sent_at_ms: now.0,
            term: self.term,
            address: self.identity.address.clone(),
        })
    }

    fn hear(&mut self, now: Millis, message: Hears) -> Result<Vec<Output>, Error> {
        match message {
            Hears::Welcome(welcome) if !self.is_news(welcome.echo_ms) => Ok(Vec::new()),
            Hears::Welcome(welcome) => {
                if !self.obeys(welcome.term)? {
                    return Ok(vec![Output::HangUp]);
                }
                let lease = Millis(welcome.echo_ms + welcome.lease_ms);
                let greeted = welcome.echo_ms;
                self.stuck.clear();
                self.session = Some(Session { id: welcome.session, greeted, lease });
                let waiting = self.outbox.waiting();
                let mut outputs = vec![Output::Heard(Millis(greeted))];
                outputs.extend(self.say_reports(waiting));
                if !self.problems.is_empty() || self.is_mended {
                    outputs.extend(self.say_health());
                }
                if !welcome.public_key.is_empty() {
                    outputs.push(Output::Trust(welcome.public_key));
                }
                Ok(outputs)
            }
            Hears::Beat(beat) => {
                if !self.obeys(beat.term)? {
                    return Ok(vec![Output::HangUp]);
                }
                let mut outputs = Vec::new();
                if let Some(session) = &mut self.session {
                    session.lease = session.lease.max(Millis(beat.echo_ms + beat.lease_ms));
                    outputs.push(Output::Heard(Millis(beat.echo_ms)));
                }
                let rules = beat.health.unwrap_or_default();
                if let Some(reboot) = beat.reboot
                    && reboot.marker != self.reboot
                {
                    self.reboot = reboot.marker;
                    outputs.push(Output::Reboot(reboot.program));
                }
                if rules != self.rules {
                    self.rules = rules.clone();
                    outputs.push(Output::CareFor(rules));
                }
                Ok(outputs)
            }
            Hears::Launches(launches) => self.launch(now, launches),
            Hears::Kills(kills) => {
                if !self.is_session(kills.session) || !self.obeys(kills.term)? {
                    return Ok(Vec::new());
                }
                Ok(kills.runs.iter().flat_map(|run| self.kill(run)).collect())
            }
            Hears::Signals(signals) => {
                if !self.is_session(signals.session) || !self.obeys(signals.term)? {
                    return Ok(Vec::new());
                }
                let known = signals.signals.iter().filter_map(|signal| {
                    let run = RunId::from(signal.run.as_ref()?);
                    let lives = self.runs.get(&run).is_some_and(|known| !known.over);
                    if !signal.words.is_empty() {
                        return lives.then(|| Output::Notice(run, signal.words.clone()));
                    }
                    if let Some(why) = &signal.farewell {
                        return lives.then(|| Output::Farewell(run, why.clone()));
                    }
                    if signal.gently {
                        return lives.then_some(Output::Suspend(run));
                    }
                    let number = i32::try_from(signal.signal).ok()?;
                    lives.then_some(Output::Signal(run, number, signal.script_only))
                });
                Ok(known.collect())
            }
            Hears::Acknowledge(acknowledge) => {
                // All are forgotten, whatever the disk says about one of them.
                let runs = self.outbox.acknowledge(&acknowledge.sequences);
                let forgotten: Vec<Result<(), Error>> =
                    runs.into_iter().map(|run| self.forget(run)).collect();
                forgotten.into_iter().collect::<Result<(), Error>>()?;
                self.outbox.compact(&mut self.disk)?;
                Ok(Vec::new())
            }
            Hears::AskTable(ask) => {
                let runs = self.table().map(RunId::message);
                let table = Table { marker: ask.marker, runs: runs.collect() };
                Ok(vec![Output::Say(Says::Table(table))])
            }
        }
    }

    /// Accepts a launch only inside a live lease of this very session, and only a newer run of a job
    /// than any seen. What is not accepted is not answered: the tables tell.
    fn launch(&mut self, now: Millis, launches: Launches) -> Result<Vec<Output>, Error> {
        let in_lease = self
            .session
            .as_ref()
            .is_some_and(|session| session.id == launches.session && now < session.lease);
        if !in_lease || !self.obeys(launches.term)? {
            return Ok(Vec::new());
        }
        let mut outputs = Vec::new();
        for launch in &launches.launches {
            let run = RunId::from(launch);
            if let Some(said) = self.refused.get(&run) {
                outputs.push(not_launched(run, said.clone()));
                continue;
            }
            let of_another_run = |known: &RunId| known.job == run.job && known.epoch != run.epoch;
            if self.has_seen(run) || self.of_job(run.job).any(|known| of_another_run(&known)) {
                continue;
            }
            // What belongs to a job that is here already goes on; a new job runs elsewhere.
            if !self.problems.is_empty() && self.of_job(run.job).next().is_none() {
                self.runs.insert(run, KnownRun { over: true });
                self.outbox.add(run, Outcome::Lost, Account::default());
                continue;
            }
            // Only the first of a job is asked about: what runs already may be the one who has it.
            if launch.check_port && self.of_job(run.job).next().is_none() && self.is_taken(launch) {
                let (job, epoch, port) = (launch.job, launch.epoch, launch.master_port);
                outputs.push(Output::Say(Says::PortTaken(PortTaken { job, epoch, port })));
                continue;
            }
            match self.remember(run, launch) {
                Ok(()) => outputs.push(Output::Spawn(run, Some(launch.uid))),
                Err(error) if self.is_stuck(now, run) => {
                    outputs.push(self.refuse(run, error));
                }
                Err(error) if outputs.is_empty() => return Err(error),
                // Those before are accepted and must begin; the rest is offered again.
                Err(_) => break,
            }
        }
        Ok(outputs)
    }

    /// Whether the spool has had no room for a run for so long that somebody else should have it.
    fn is_stuck(&mut self, now: Millis, run: RunId) -> bool {
        let since = *self.stuck.entry(run).or_insert(now);
        now.0.saturating_sub(since.0) >= STUCK_MS
    }

    /// It never began here, and never will. There is no room for a report either: it is said again whenever the
    /// run is offered again.
    fn refuse(&mut self, run: RunId, error: Error) -> Output {
        self.stuck.remove(&run);
        self.fence(run);
        let said = format!("{error}: {}", error.source);
        self.refused.insert(run, said.clone());
        if self.refused.len() > DONE_KEPT {
            self.refused.pop_first();
        }
        not_launched(run, said)
    }

    fn is_taken(&self, launch: &Launch) -> bool {
        let port = u16::try_from(launch.master_port).unwrap_or_default();
        port > 0 && !(self.is_free)(port)
    }

    fn say_health(&self) -> Vec<Output> {
        if self.session.is_none() {
            return Vec::new();
        }
        vec![Output::Say(Says::Health(Health { problems: self.problems.clone() }))]
    }

    fn remember(&mut self, run: RunId, launch: &Launch) -> Result<(), Error> {
        self.disk.put(&RunFile::Launch.name(run), &launch.encode_to_vec())?;
        self.runs.insert(run, KnownRun { over: false });
        self.stuck.remove(&run);
        Ok(())
    }

    fn kill(&mut self, run: &Run) -> Option<Output> {
        let run = RunId::from(run);
        match self.runs.get(&run) {
            Some(known) if known.over => None,
            Some(_) => Some(Output::Kill(run)),
            // The stream is in order: a launch of this run would have come before. It never began, and
            // from now on it never will.
            None => {
                self.fence(run);
                let report = outbox::report(0, run, Outcome::Lost);
                Some(Output::Say(Says::Reports(Reports { reports: vec![report] })))
            }
        }
    }

    fn over(&mut self, run: RunId, outcome: Outcome, account: Account) {
        let Some(known) = self.runs.get_mut(&run) else { return };
        if !known.over {
            known.over = true;
            self.outbox.add(run, outcome, account);
        }
    }

    fn forget(&mut self, run: RunId) -> Result<(), Error> {
        self.runs.remove(&run);
        self.fence(run);
        spool::remove_run(&mut self.disk, run)
    }

    /// From now on this run, and any before it, is not new.
    fn fence(&mut self, run: RunId) {
        let seen = self.done.entry((run.job, run.step)).or_default();
        *seen = (*seen).max(run.epoch);
        if self.done.len() > DONE_KEPT {
            self.done.pop_first();
        }
    }

    fn of_job(&self, job: JobId) -> impl Iterator<Item = RunId> {
        let first = RunId { job, epoch: Epoch(0), step: StepId(0) };
        self.runs.range(first..).map(|(run, _)| *run).take_while(move |run| run.job == job)
    }

    fn has_seen(&self, run: RunId) -> bool {
        self.runs.contains_key(&run)
            || self.done.get(&(run.job, run.step)).is_some_and(|seen| run.epoch <= *seen)
    }

    fn say_reports(&self, reports: Vec<Report>) -> Vec<Output> {
        if reports.is_empty() || self.session.is_none() {
            return Vec::new();
        }
        vec![Output::Say(Says::Reports(Reports { reports }))]
    }

    /// Whether a greeting sent then was on the present stream, and after the one that opened the session.
    fn is_news(&self, greeted: u64) -> bool {
        self.connected.is_some_and(|at| greeted >= at.0)
            && self.session.as_ref().is_none_or(|session| greeted > session.greeted)
    }

    fn is_session(&self, id: u64) -> bool {
        self.session.as_ref().is_some_and(|session| session.id == id)
    }

    /// Whether a controller of this term is to be obeyed; a higher term than before is kept first.
    fn obeys(&mut self, term: u64) -> Result<bool, Error> {
        if term > self.term {
            spool::write_term(&mut self.disk, term)?;
            self.term = term;
        }
        Ok(term == self.term)
    }
}

fn not_launched(run: RunId, said: String) -> Output {
    let report = Report { said, ..outbox::report(0, run, Outcome::NodeFault) };
    Output::Say(Says::Reports(Reports { reports: vec![report] }))
}

/// How long a launch is tried again on a full disk.
const STUCK_MS: u64 = 15_000;

/// How long an answer to a greeting may take before it is said again.
const GREET_AGAIN_MS: u64 = 3_000;

/// How long after the end of its lease a stream is still believed in.
const PATIENCE_MS: u64 = 5_000;

/// Late repetitions come within a session; this many runs are remembered for them.
const DONE_KEPT: usize = 100_000;
