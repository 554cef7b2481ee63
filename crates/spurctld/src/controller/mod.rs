//! What the controller decides: proposes commands, applies what was committed, answers callers, talks to
//! agents. It owns the state.
//!
//! No sockets, no threads, no clock: production drives it from [`crate::shell`], the simulator from a
//! seed. Consensus is whoever takes `Output::Propose` and hands back `Input::Committed`.

mod agents;
mod confinement;
mod duties;
mod health;
mod hooks;
pub(crate) mod proposals;
mod sampling;

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::blob::BlobHash;
use spur_core::errors::SlurmError;
use spur_core::ids::{JobId, NodeName, StepId};
use spur_core::job::Owner;
use spur_core::state::letters::{self, Letter};
use spur_core::state::{self, Command, Effect, Entry, Reply, Settings, State};
use spur_core::time::{FixedOffset, Timestamp, Zone};
use spur_core::views::AccountingRecord;
use spur_disk::{Disk, RealDisk};
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_sched::{Plan, Waits};

use crate::store::{self, Blobs};
use agents::Agents;
pub use agents::{LEASE_MS, Load};
pub use duties::time_limit;
use proposals::{Proposals, Waiter};

/// The time, told with every input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// The clock on the wall; may jump.
    pub wall: Timestamp,
    /// Milliseconds of a clock that does not.
    pub boot_ms: u64,
}

/// Names a caller who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Names a stream to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection(pub u64);

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// Somebody, already let in by the policy, wants a change.
    Call(Ticket, Command),
    /// These entries are committed; they are next in order.
    Committed(Arc<Vec<Entry>>),
    /// A proposal was not accepted by consensus, or nobody knows.
    ProposalFailed,
    /// This controller leads, in this term.
    Leads(u64),
    /// It leads no longer.
    Follows,
    /// A snapshot from the leader replaces the state.
    Installed(Box<State>),
    /// This controller was configured anew.
    Configure(Box<Settings>),
    /// An agent says something.
    Agent(Connection, AgentSays),
    /// A stream is gone.
    AgentGone(Connection),
    /// The planner has finished a pass.
    Planned(Plan),
    /// Somebody who may signals a step.
    Signal {
        /// Of which job.
        job: JobId,
        /// Which.
        step: StepId,
        /// The signal.
        signal: u32,
        /// Only the script's own shell.
        script_only: bool,
    },
    /// Somebody who may has something to say to a job's script.
    Notice(JobId, String),
    /// The cluster is about to be stopped: no job is to be started any more in this life.
    Close,
    /// Some time has passed.
    Tick,
}

/// Something to do.
#[derive(Debug)]
pub enum Output {
    /// Hand these entries to consensus, as one.
    Propose(Arc<Vec<Entry>>),
    /// Answer a caller.
    Answer(Ticket, Result<Reply, Refusal>),
    /// Say this to an agent.
    Tell(Connection, AgentHears),
    /// Close a stream.
    HangUp(Connection),
    /// Run the planner on the present state.
    Plan,
    /// Run a program on this machine.
    Run(Program),
    /// Keep these until accounting has them. Every replica.
    Record(Vec<AccountingRecord>),
}

/// A program to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// As whom; as this controller's own user if nobody is named.
    pub owner: Option<Owner>,
    /// Which, with its arguments.
    pub words: Vec<String>,
    /// What it finds in its environment, beside what all have.
    pub variables: Vec<(&'static str, String)>,
}

impl Program {
    /// The user's program of a trigger, with one argument more unless it is empty.
    fn of_trigger(owner: Owner, line: &str, argument: String) -> Program {
        let words = line.split_ascii_whitespace().map(ToString::to_string);
        let words = words.chain(Some(argument).filter(|it| !it.is_empty())).collect();
        Program { owner: Some(owner), words, variables: Vec::new() }
    }

    /// The site's mail program, called as Slurm calls it.
    fn of_letter(mail_program: &str, letter: Letter) -> Program {
        let Letter { to, subject, variables } = letter;
        let words = vec![mail_program.to_string(), "-s".to_string(), subject, to];
        Program { owner: None, words, variables }
    }
}

/// Why a call was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// By the rules.
    Slurm(SlurmError),
    /// This controller does not lead, or stopped leading before the outcome was known. Ask again, with
    /// the same request id.
    NotLeading,
}

/// The controller of one cluster.
pub struct Controller<D = RealDisk> {
    state: State,
    blobs: Blobs<D>,
    role: Role,
    /// What this controller was configured with; the leader's word counts.
    settings: Settings,
    proposals: Proposals,
    agents: Agents,
    planning: Planning,
    /// The last time given to an entry, and the boot clock's milliseconds at that moment.
    last_stamp: (Timestamp, u64),
    /// Duties that are proposed and not applied yet.
    duties: usize,
    waits: Waits,
    /// Up to when begin times have been looked at.
    begun: Timestamp,
    /// When jobs that take turns last did.
    sliced: Timestamp,
    /// Which parts of time limits were told to owners.
    told: letters::Told,
    /// That numbers of jobs come to an end was said.
    ids_told: bool,
    /// Of the key that step credentials are signed with.
    public_key: Vec<u8>,
    /// By whose clocks crontabs are meant.
    zone: Box<dyn Zone + Send>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Follower,
    /// Elected; its first proposal is not applied yet, so it may lack what others committed.
    Elected(u64),
    /// Knows everything that was committed.
    Leader(u64),
}

#[derive(Debug, Default)]
struct Planning {
    /// Something changed since the last pass began.
    wanted: bool,
    /// A pass, or the commit of its starts, is under way.
    busy: bool,
    /// Passes only say why jobs wait: nothing is started.
    closed: bool,
}

impl<D: Disk> Controller<D> {
    /// A controller with the state its disk had. `life` is a random number, new at each start.
    pub fn new(state: State, blobs: Blobs<D>, settings: Settings, life: u64) -> Controller<D> {
        Controller {
            state,
            blobs,
            role: Role::Follower,
            settings,
            proposals: Proposals::new(life),
            agents: Agents::new(life),
            planning: Planning::default(),
            last_stamp: (Timestamp(0), 0),
            duties: 0,
            waits: Waits::default(),
            begun: Timestamp(0),
            sliced: Timestamp(0),
            told: letters::Told::new(),
            ids_told: false,
            public_key: Vec::new(),
            zone: Box::new(FixedOffset::UTC),
        }
    }

    /// The state after everything taken in so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The state to plan for: the same at the present moment. On a quiet cluster the last entry may be long past,
    /// and with it the time of the state.
    pub fn state_to_plan(&self) -> State {
        let mut state = self.state.clone();
        state.now = state.now.max(self.begun);
        state
    }

    /// Why each pending job waits, as the last pass had it.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Where agents take connections for the input and output of tasks.
    pub fn addresses(&self) -> &Arc<BTreeMap<NodeName, String>> {
        self.agents.addresses()
    }

    /// How busy each node is.
    pub fn loads(&self) -> &Arc<BTreeMap<NodeName, Load>> {
        self.agents.loads()
    }

    /// The key that agents are told to trust.
    pub fn sign_with(&mut self, public_key: Vec<u8>) {
        self.public_key = public_key;
    }

    /// By whose clocks crontabs are meant; universal time if nobody says.
    pub fn live_in(&mut self, zone: impl Zone + Send + 'static) {
        self.zone = Box::new(zone);
    }

    /// Whether this controller leads and knows everything that was committed.
    pub fn leads(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// The blobs.
    pub fn blobs(&mut self) -> &mut Blobs<D> {
        &mut self.blobs
    }

    /// Takes in one event. Proposals gather until [`Controller::flush`].
    pub fn on(&mut self, now: Now, input: Input) -> Result<Vec<Output>, store::Error> {
        let mut out = Vec::new();
        match input {
            Input::Call(ticket, command) => self.call(ticket, command, &mut out),
            Input::Committed(entries) => self.committed(now, &entries, &mut out)?,
            Input::ProposalFailed => {
                let failed = self.proposals.fail();
                self.planning.busy = false;
                self.refuse(failed, &mut out);
            }
            Input::Leads(term) => self.elected(term),
            Input::Follows => self.step_down(&mut out),
            Input::Configure(settings) => {
                self.settings = *settings;
                if self.leads() {
                    let command = Command::Configure(self.settings.clone());
                    self.proposals.add(command, Waiter::Nobody);
                }
            }
            Input::Installed(state) => {
                self.state = *state;
                self.blobs.keep_only(|hash| self.state.blobs.contains_key(hash))?;
            }
            Input::Agent(connection, message) => {
                self.agent_says(now, connection, message, &mut out)?
            }
            Input::AgentGone(connection) => self.agents.gone(connection),
            Input::Planned(plan) => self.planned(plan),
            Input::Signal { job, step, signal, script_only } => {
                self.signal(job, step, signal, script_only, &mut out);
            }
            Input::Notice(job, words) => self.tell_script(job, &words, &mut out),
            Input::Close => self.planning.closed = true,
            Input::Tick => {
                self.blobs.tidy()?;
                self.reassert();
                self.agents.tell_loads(now);
                self.tick(now);
                if self.leads() {
                    let at = self.stamp(now);
                    let due = letters::as_time_passes(&self.state, at, &mut self.told);
                    self.post(due, &mut out);
                    self.count_ids();
                }
            }
        }
        Ok(out)
    }

    /// Hands over what has gathered: one proposal for all that waits, and a pass if something changed.
    pub fn flush(&mut self, now: Now) -> Vec<Output> {
        let mut out = Vec::new();
        let may_propose = self.role != Role::Follower;
        let stamp = self.stamp(now);
        if may_propose && let Some(batch) = self.proposals.next_batch(stamp) {
            out.push(Output::Propose(batch));
        }
        if self.leads() && self.planning.wanted && !self.planning.busy {
            self.planning.wanted = false;
            self.planning.busy = true;
            out.push(Output::Plan);
        }
        out
    }

    /// The time an entry gets: the wall's, but never before an earlier entry's, and never standing still
    /// while a wall clock that had jumped ahead is back.
    fn stamp(&mut self, now: Now) -> Timestamp {
        let (last, at_ms) = self.last_stamp;
        let gone = now.boot_ms.saturating_sub(at_ms) / 1000;
        let stamp = now.wall.max(self.state.now).max(last.plus_secs(gone as i64));
        if stamp > last {
            self.last_stamp = (stamp, now.boot_ms);
        }
        stamp
    }

    fn call(&mut self, ticket: Ticket, mut command: Command, out: &mut Vec<Output>) {
        if !self.leads() {
            out.push(Output::Answer(ticket, Err(Refusal::NotLeading)));
            return;
        }
        let mut spare = None;
        if let Command::Submit(submit) = &mut command {
            // What the log has already need not travel again. Should it be dropped before this is
            // committed, the submission is refused and tried again with its blobs.
            let known = |hash| self.state.blobs.contains_key(hash);
            if known(&submit.script) && known(&submit.environment) {
                spare = Some(submit.clone());
                submit.blobs.clear();
            }
        }
        self.proposals.add(command, Waiter::Caller { ticket, spare });
    }

    fn elected(&mut self, term: u64) {
        self.role = Role::Elected(term);
        self.planning = Planning::default();
        self.proposals.add(Command::Configure(self.settings.clone()), Waiter::Leadership(term));
    }

    /// Proposes once more what makes this controller the leader, if that came to nothing.
    fn reassert(&mut self) {
        if let Role::Elected(term) = self.role
            && self.proposals.is_idle()
        {
            self.elected(term);
        }
    }

    fn step_down(&mut self, out: &mut Vec<Output>) {
        self.role = Role::Follower;
        self.planning = Planning::default();
        let failed = self.proposals.fail();
        self.refuse(failed, out);
        out.extend(self.agents.end_term().map(Output::HangUp));
    }

    fn refuse(&mut self, failed: Vec<Waiter>, out: &mut Vec<Output>) {
        for waiter in failed {
            match waiter {
                Waiter::Caller { ticket, .. } => {
                    out.push(Output::Answer(ticket, Err(Refusal::NotLeading)));
                }
                // A report comes again in the agent's next session.
                Waiter::Agent { connection, .. } => out.push(Output::HangUp(connection)),
                Waiter::Duty => self.duties -= 1,
                Waiter::Registration { node, .. } => {
                    out.extend(self.agents.drop_session(&node).map(Output::HangUp));
                }
                Waiter::Leadership(_) | Waiter::Planner | Waiter::Nobody => {}
            }
        }
    }

    /// What a job that waits will run goes with the word about it, where the site keeps that: later it may be
    /// dropped here. A repetition does no harm.
    fn attach_texts(&mut self, records: &mut [AccountingRecord]) -> Result<(), store::Error> {
        for record in records {
            let Some(job) = record.job.as_ref().filter(|job| job.start_time == 0) else { continue };
            for hash in [&job.script_hash, &job.environment_hash] {
                let Some(hash) = BlobHash::parse(hash) else { continue };
                record.texts.extend(self.blobs.get(hash)?);
            }
        }
        Ok(())
    }

    fn committed(
        &mut self,
        now: Now,
        entries: &[Entry],
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let mut errands = Vec::new();
        let before = self.leads().then(|| self.state.clone());
        for entry in entries {
            let applied = state::apply(&mut self.state, entry);
            for effect in applied.effects {
                match effect {
                    Effect::KeepBlob { hash, bytes } => self.blobs.keep(hash, &bytes)?,
                    Effect::DropBlob { hash } => self.blobs.discard(hash)?,
                    Effect::RunProgram { owner, program, argument } => {
                        if self.leads() {
                            let program = Program::of_trigger(owner, &program, argument);
                            out.push(Output::Run(program));
                        }
                    }
                    Effect::Launch { .. } | Effect::Kill { .. } | Effect::Signal { .. } => {
                        errands.push(effect);
                    }
                }
            }
            if !applied.records.is_empty() {
                let mut records = applied.records;
                self.attach_texts(&mut records)?;
                out.push(Output::Record(records));
            }
            // A pass after starts that were all refused would only propose them again.
            let is_refused = applied.reply == Ok(Reply::Started(0));
            self.planning.wanted |= changes_the_plan(&entry.command) && !is_refused;
            if let Some(waiter) = self.proposals.applied(entry.origin) {
                self.answer(now, waiter, applied.reply, out);
            }
        }
        if let Some(before) = before {
            self.post(letters::between(&before, &self.state), out);
        }
        if self.leads() {
            self.run_errands(errands, out)?;
        }
        Ok(())
    }

    /// Numbers of jobs are never given twice, so they come to an end: whoever runs the site should know in time.
    fn count_ids(&mut self) {
        let last = self.state.settings.last_job_id();
        let is_late = u64::from(self.state.next_job.0) * 5 > u64::from(last.0) * 4;
        if is_late && !self.ids_told {
            let next = self.state.next_job.0;
            tracing::warn!(next, last = last.0, "four fifths of all job numbers are given away");
            self.ids_told = true;
        }
    }

    fn post(&self, letters: Vec<Letter>, out: &mut Vec<Output>) {
        let program = &self.state.settings.config.jobs.mail_program;
        out.extend(letters.into_iter().map(|it| Output::Run(Program::of_letter(program, it))));
    }

    fn answer(
        &mut self,
        now: Now,
        waiter: Waiter,
        reply: Result<Reply, SlurmError>,
        out: &mut Vec<Output>,
    ) {
        match waiter {
            Waiter::Caller { ticket, spare: Some(submit) }
                if reply == Err(SlurmError::TransitionStateNoUpdate) =>
            {
                let waiter = Waiter::Caller { ticket, spare: None };
                self.proposals.add(Command::Submit(submit), waiter);
            }
            Waiter::Caller { ticket, .. } => {
                out.push(Output::Answer(ticket, reply.map_err(Refusal::Slurm)));
            }
            Waiter::Leadership(term) if self.role == Role::Elected(term) => {
                // Only now every node that was ever registered is known.
                self.agents.begin_term(now, self.state.nodes.keys());
                self.role = Role::Leader(term);
                self.planning.wanted = true;
            }
            Waiter::Planner => self.planning.busy = false,
            Waiter::Agent { connection, sequences } => {
                out.extend(self.agents.acknowledge(connection, sequences));
            }
            Waiter::Duty => self.duties -= 1,
            Waiter::Registration { node, session } => self.registered(&node, session, out),
            Waiter::Leadership(_) | Waiter::Nobody => {}
        }
    }

    fn planned(&mut self, plan: Plan) {
        self.waits = plan.waits;
        let nothing = plan.starts.is_empty() && plan.preempts.is_empty();
        if nothing || self.planning.closed || !self.leads() {
            self.planning.busy = false;
            return;
        }
        if !plan.preempts.is_empty() {
            self.proposals.add(Command::Preempt(plan.preempts), Waiter::Nobody);
        }
        self.proposals.add(Command::Start(plan.starts), Waiter::Planner);
    }
}

/// Whether a pass after this command could decide differently.
fn changes_the_plan(command: &Command) -> bool {
    match command.plain() {
        Command::Configure(_)
        | Command::SetRules(_)
        | Command::RegisterNode(_)
        | Command::NodeLost { .. }
        | Command::GiveUp { .. }
        | Command::Submit(_)
        | Command::Start(_)
        | Command::EndAllocation { .. }
        | Command::Control(_)
        | Command::Administer(_)
        | Command::DeadlinePassed { .. }
        | Command::ReservationsPassed
        | Command::RebootsDue
        | Command::Preempt(_)
        | Command::GraceOver { .. }
        | Command::SetCrontab(_)
        | Command::Finished { .. } => true,
        Command::TimeUp { .. }
        | Command::CreateStep(_)
        | Command::EndStep { .. }
        | Command::Warn { .. }
        | Command::AnotherPort { .. }
        | Command::Accrue(_)
        | Command::ChangeTrust(_)
        | Command::SetTrigger(_)
        | Command::ClearTriggers(_)
        | Command::Once { .. }
        | Command::Noticed(_)
        | Command::Purge { .. } => false,
    }
}
