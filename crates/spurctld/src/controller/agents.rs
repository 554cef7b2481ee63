//! The leader's side of the agents' streams: sessions, leases, launches, and the comparison of tables
//! that makes up for everything lost on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prost::Message;
use spur_core::auth::Actor;
use spur_core::ids::{Epoch, JobId, NodeName, StepId, Uid};
use spur_core::job::{ExitStatus, Job, Phase, Step, StepShare};
use spur_core::rlimit;
use spur_core::state::{Administer, Assignment, Noun, Verb};
use spur_core::state::{Command, Effect, Finish, Outcome, RegisterNode, SignalScope, State};
use spur_disk::Disk;
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_proto::internal::{
    self, Acknowledge, AskTable, Beat, Component, Heartbeat, Hello, Kills, Launch, Launches,
    NodeShare, Report, Run, RunSignal, Signals, StepLaunch, StepNode, Table, Welcome,
};
use spur_proto::{step_name, step_of};

use super::proposals::Waiter;
use super::{Connection, Controller, Now, Output, Role, duties};
use super::{confinement, health, hooks, sampling};
use crate::store;

/// How long an agent obeys launches after it asked for the lease.
pub const LEASE_MS: u64 = 10_000;

/// A node unheard of for this long takes no new jobs. Longer than the lease: the agent's ran out before.
const SILENCE_MS: u64 = LEASE_MS + LEASE_MS / 4;

/// How long after it was heard last an agent may still be answered by a leader that knows no better: its
/// lease, and what it waits beyond that before it hangs up.
const ECHO_MS: u64 = LEASE_MS + 5_000;

/// What a node may say about its health; the state keeps it.
const LONGEST_REASON: usize = 1024;
/// So many nodes, or a twentieth of all, count as lost at a time.
const LOST_AT_ONCE: usize = 8;
const LOST_PAUSE_MS: u64 = 5_000;

/// A step in a run of a job.
type RunKey = (JobId, Epoch, StepId);

/// The streams that are open, and when each node was last heard.
#[derive(Debug)]
pub(super) struct Agents {
    sessions: BTreeMap<NodeName, Session>,
    nodes: BTreeMap<Connection, NodeName>,
    heard_ms: BTreeMap<NodeName, u64>,
    next_number: u64,
    /// Where each takes connections; kept while a stream is cut, since the agent may be there all the same.
    addresses: Arc<BTreeMap<NodeName, String>>,
    /// How busy each is, as it last said.
    loads: BTreeMap<NodeName, Load>,
    /// The same as readers see it: told a few times a minute, since it changes with every heartbeat.
    told_loads: Arc<BTreeMap<NodeName, Load>>,
    told_ms: u64,
    /// When more nodes may count as lost.
    lost_again_ms: u64,
}

/// How busy a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// In hundredths.
    pub centi: Option<u32>,
    /// In MiB.
    pub free_memory_mb: Option<u64>,
}

/// How long readers see the same loads.
const LOADS_MS: u64 = 5_000;

#[derive(Debug)]
struct Session {
    connection: Connection,
    id: u64,
    /// The node's registration is applied. Nothing is launched before: its boot decides what is lost.
    registered: bool,
    /// A table is asked for: the marker, and the runs that were expected when it was.
    asked: Option<(u64, BTreeSet<RunKey>)>,
}

impl Agents {
    /// `life` sets this controller's session numbers apart from those of others.
    pub(super) fn new(life: u64) -> Agents {
        Agents {
            sessions: BTreeMap::new(),
            nodes: BTreeMap::new(),
            heard_ms: BTreeMap::new(),
            next_number: life,
            addresses: Arc::default(),
            loads: BTreeMap::new(),
            told_loads: Arc::default(),
            told_ms: 0,
            lost_again_ms: 0,
        }
    }

    /// How busy each node is.
    pub(super) fn loads(&self) -> &Arc<BTreeMap<NodeName, Load>> {
        &self.told_loads
    }

    /// Tells readers how busy nodes are, once in a while.
    pub(super) fn tell_loads(&mut self, now: Now) {
        if now.boot_ms < self.told_ms + LOADS_MS || *self.told_loads == self.loads {
            return;
        }
        self.told_ms = now.boot_ms;
        self.told_loads = Arc::new(self.loads.clone());
    }

    /// A new leader counts every node as just heard: silence before its time proves nothing.
    pub(super) fn begin_term<'a>(&mut self, now: Now, nodes: impl Iterator<Item = &'a NodeName>) {
        self.heard_ms = nodes.map(|node| (node.clone(), now.boot_ms)).collect();
    }

    /// Ends all sessions and tells which streams to close.
    pub(super) fn end_term(&mut self) -> impl Iterator<Item = Connection> + use<> {
        self.sessions.clear();
        std::mem::take(&mut self.nodes).into_keys()
    }

    /// Ends the session of a node and tells which stream to close.
    pub(super) fn drop_session(&mut self, node: &NodeName) -> Option<Connection> {
        let session = self.sessions.remove(node)?;
        self.nodes.remove(&session.connection);
        Some(session.connection)
    }

    pub(super) fn gone(&mut self, connection: Connection) {
        let Some(node) = self.nodes.remove(&connection) else { return };
        if self.sessions.get(&node).is_some_and(|session| session.connection == connection) {
            self.sessions.remove(&node);
        }
    }

    /// Confirms reports that are committed now.
    pub(super) fn acknowledge(
        &self,
        connection: Connection,
        sequences: Vec<u64>,
    ) -> Option<Output> {
        let open = self.nodes.contains_key(&connection) && !sequences.is_empty();
        let message = AgentHears::Acknowledge(Acknowledge { sequences });
        open.then_some(Output::Tell(connection, message))
    }

    /// Nodes that count as lost from now on. Where many fall silent at one moment it is rather the line to them,
    /// or this controller, that failed: they are given up a few at a time, so that those which come back in
    /// between are spared.
    pub(super) fn lost(&mut self, now: Now, state: &State) -> Vec<NodeName> {
        if now.boot_ms < self.lost_again_ms {
            return Vec::new();
        }
        let mut silent = self.silent(now, state);
        let most = LOST_AT_ONCE.max(state.nodes.len() / 20);
        if silent.len() > most {
            tracing::warn!(nodes = silent.len(), "many nodes are silent: given up a few at a time");
            silent.truncate(most);
            self.lost_again_ms = now.boot_ms + LOST_PAUSE_MS;
        }
        silent
    }

    /// Nodes that have been silent for too long and count as there.
    fn silent(&self, now: Now, state: &State) -> Vec<NodeName> {
        let is_silent = |name: &NodeName| {
            let heard = self.heard_ms.get(name).copied().unwrap_or(0);
            now.boot_ms.saturating_sub(heard) > SILENCE_MS
        };
        let up = state.nodes.values().filter(|node| node.link.is_up());
        up.map(|node| &node.name).filter(|name| is_silent(name)).cloned().collect()
    }

    /// Runs that their nodes must have ended by themselves, by node. An agent hears no later than a while
    /// after it was heard last: it hangs up when nobody answers, and a leader that was replaced without
    /// noticing answers no longer than that.
    pub(super) fn given_up(&self, now: Now, state: &State) -> Vec<Command> {
        let mut found: BTreeMap<&NodeName, Vec<(JobId, Epoch)>> = BTreeMap::new();
        for job in state.index.active.iter().filter_map(|id| state.jobs.get(id)) {
            let Some(secs) = job.granted.fence_secs else { continue };
            let lives_ms = u64::from(secs) * 1000;
            let patience_ms = lives_ms + (lives_ms / 4).max(ECHO_MS);
            for share in job.phase.holds().into_iter().flat_map(|held| &held.shares) {
                let heard = self.heard_ms.get(&share.node).copied().unwrap_or(0);
                let is_left = matches!(job.phase, Phase::Running { .. })
                    || job.steps.on(&share.node).next().is_some();
                if now.boot_ms.saturating_sub(heard) > patience_ms && is_left {
                    found.entry(&share.node).or_default().push((job.id, job.epoch));
                }
            }
        }
        let lost = found.keys().map(|node| Command::NodeLost { node: (*node).clone() });
        let lost: Vec<Command> = lost.collect();
        let given_up =
            found.into_iter().map(|(node, runs)| Command::GiveUp { node: node.clone(), runs });
        lost.into_iter().chain(given_up).collect()
    }

    fn is_registered(&self, node: &NodeName) -> bool {
        self.sessions.get(node).is_some_and(|session| session.registered)
    }

    /// Where agents take connections.
    pub(super) fn addresses(&self) -> &Arc<BTreeMap<NodeName, String>> {
        &self.addresses
    }

    fn number(&mut self) -> u64 {
        self.next_number = self.next_number.wrapping_add(1);
        self.next_number
    }
}

/// What the reason of a node begins with that was found not to be fit.
const UNFIT: &str = "Health: ";

impl<D: Disk> Controller<D> {
    pub(super) fn agent_says(
        &mut self,
        now: Now,
        connection: Connection,
        message: AgentSays,
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let Role::Leader(term) = self.role else {
            out.push(Output::HangUp(connection));
            return Ok(());
        };
        if let AgentSays::Hello(hello) = message {
            self.greet(now, connection, hello, term, out);
            return Ok(());
        }
        let Some(node) = self.agents.nodes.get(&connection).cloned() else {
            out.push(Output::HangUp(connection));
            return Ok(());
        };
        self.agents.heard_ms.insert(node.clone(), now.boot_ms);
        match message {
            AgentSays::Heartbeat(heartbeat) => self.beat(now, &node, heartbeat, term, out),
            AgentSays::Table(table) => self.compare(&node, table, term, out)?,
            AgentSays::Reports(reports) => self.reported(connection, node, &reports.reports),
            AgentSays::Health(told) if told.problems.is_empty() => self.mended(&node),
            AgentSays::Health(told) => self.unfit(&node, &told.problems),
            AgentSays::PortTaken(told) => {
                let (job, epoch) = (JobId(told.job), Epoch(told.epoch));
                // A node speaks for jobs that begin on it, and no others.
                let leads = |job: &Arc<Job>| {
                    job.phase.holds().and_then(|held| held.first_node()) == Some(&node)
                };
                if !self.state.jobs.get(&job).is_some_and(leads) {
                    return Ok(());
                }
                let taken = u16::try_from(told.port).unwrap_or_default();
                let command = Command::AnotherPort { job, epoch, taken };
                self.proposals.add(command, Waiter::Nobody);
            }
            AgentSays::Hello(_) => {}
        }
        Ok(())
    }

    /// Takes a node out of service that says what is wrong with it.
    fn unfit(&mut self, node: &NodeName, problems: &[String]) {
        let is_out = self.state.nodes.get(node).is_none_or(|node| node.service.drain);
        if !is_out {
            let mut reason = format!("{UNFIT}{}", problems.join("; "));
            reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
            self.update(node, &[("State", "DRAIN"), ("Reason", &reason)]);
        }
    }

    /// Puts a node back whose trouble has passed, if that was all that kept it out.
    fn mended(&mut self, node: &NodeName) {
        let service = self.state.nodes.get(node).map(|node| &node.service);
        let is_ours = service.is_some_and(|service| {
            let reason = service.reason.as_ref();
            let by_us = reason.is_some_and(|it| it.by == Uid::ROOT && it.text.starts_with(UNFIT));
            service.drain && !service.down && !service.fail && by_us
        });
        if is_ours {
            self.update(node, &[("State", "RESUME")]);
        }
    }

    fn update(&mut self, node: &NodeName, words: &[(&str, &str)]) {
        let say = |(key, value): &(&str, &str)| Assignment {
            key: (*key).to_string(),
            value: (*value).to_string(),
        };
        let command = Command::Administer(Box::new(Administer {
            noun: Noun::Node,
            verb: Verb::Update,
            name: node.to_string(),
            assignments: words.iter().map(say).collect(),
            by: Actor::Controller,
            request: None,
        }));
        self.proposals.add(command, Waiter::Nobody);
    }

    fn greet(
        &mut self,
        now: Now,
        connection: Connection,
        hello: Hello,
        term: u64,
        out: &mut Vec<Output>,
    ) {
        let name = NodeName::from(hello.node);
        let id = self.agents.number();
        let session = Session { connection, id, registered: false, asked: None };
        if let Some(former) = self.agents.sessions.insert(name.clone(), session)
            && former.connection != connection
        {
            self.agents.nodes.remove(&former.connection);
            out.push(Output::HangUp(former.connection));
        }
        self.agents.nodes.insert(connection, name.clone());
        self.agents.heard_ms.insert(name.clone(), now.boot_ms);
        if self.agents.addresses.get(&name) != Some(&hello.address) {
            Arc::make_mut(&mut self.agents.addresses).insert(name.clone(), hello.address.clone());
        }
        let node = RegisterNode {
            name: name.clone(),
            inventory: hello.inventory.map(|it| *it).unwrap_or_default(),
            boot_id: hello.boot_id,
        };
        self.proposals
            .add(Command::RegisterNode(node), Waiter::Registration { node: name, session: id });
        let welcome = Welcome {
            session: id,
            term,
            echo_ms: hello.sent_at_ms,
            lease_ms: LEASE_MS,
            public_key: self.public_key.clone(),
        };
        out.push(Output::Tell(connection, AgentHears::Welcome(welcome)));
    }

    /// The node is known with its present boot: now the tables can be compared.
    pub(super) fn registered(&mut self, node: &NodeName, id: u64, out: &mut Vec<Output>) {
        let Some(session) = self.agents.sessions.get_mut(node) else { return };
        if session.id == id {
            session.registered = true;
            self.ask_table(node, out);
        }
    }

    fn beat(
        &mut self,
        now: Now,
        node: &NodeName,
        beat: Heartbeat,
        term: u64,
        out: &mut Vec<Output>,
    ) {
        let load = Load { centi: beat.load_centi, free_memory_mb: beat.free_memory_mb };
        self.agents.loads.insert(node.clone(), load);
        let Some(session) = self.agents.sessions.get(node) else { return };
        let (connection, busy) =
            (session.connection, !session.registered || session.asked.is_some());
        let has_jobs = self.state.index.on_node.get(node).is_some_and(|jobs| !jobs.is_empty());
        let health = health::rules(&self.state.settings.config.health_check, has_jobs);
        let wall_ms = now.wall.0.saturating_mul(1000);
        let answer = Beat { term, echo_ms: beat.sent_at_ms, lease_ms: LEASE_MS, health, wall_ms };
        out.push(Output::Tell(connection, AgentHears::Beat(answer)));
        // The link is down in the state, but here it is: it was cut for a while and the stream held.
        if let Some(known) = self.state.nodes.get(node)
            && !known.link.is_up()
        {
            let node = RegisterNode {
                name: node.clone(),
                inventory: known.found.clone(),
                boot_id: known.boot_id.clone(),
            };
            self.proposals.add(Command::RegisterNode(node), Waiter::Nobody);
        }
        if !busy && spur_proto::digest(expected(&self.state, node)) != beat.digest {
            self.ask_table(node, out);
        }
    }

    fn ask_table(&mut self, node: &NodeName, out: &mut Vec<Output>) {
        let marker = self.agents.number();
        let Some(session) = self.agents.sessions.get_mut(node) else { return };
        session.asked = Some((marker, expected(&self.state, node).collect()));
        let ask = AgentHears::AskTable(AskTable { marker });
        out.push(Output::Tell(session.connection, ask));
    }

    /// Repairs both ways. The stream is in order: whatever was said before the table was asked for, the
    /// agent has taken in before it answered.
    fn compare(
        &mut self,
        node: &NodeName,
        table: Table,
        term: u64,
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let Some(session) = self.agents.sessions.get_mut(node) else { return Ok(()) };
        let (connection, id) = (session.connection, session.id);
        let Some((_, asked)) = session.asked.take_if(|(marker, _)| *marker == table.marker) else {
            return Ok(());
        };
        let theirs: BTreeSet<RunKey> = table.runs.iter().map(run_key).collect();
        let ours: BTreeSet<RunKey> = expected(&self.state, node).collect();
        let mut launches = Vec::new();
        let mut kills: Vec<RunKey> = theirs.difference(&ours).copied().collect();
        let mut gone = Vec::new();
        let boots = self.state.nodes.get(node).map_or(0, |node| node.boots);
        for run in &ours {
            let (number, epoch, id) = *run;
            let Some(job) = self.state.jobs.get(&number).cloned() else { continue };
            let Some(step) = job.steps.live.get(&id) else { continue };
            let boot = step.on(node).map_or(0, |share| share.boot);
            let lost = Finish::lost(number, epoch, id);
            match (step.ending, theirs.contains(run)) {
                (false, false) if boot == boots => {
                    launches.extend(self.launch_message(&job, step, node)?);
                }
                // It may have run before the node rebooted, so it is not begun a second time.
                (false, false) => gone.push(lost),
                (true, true) => kills.push(*run),
                // Never arrived, and never will: it was expected when the table was asked for.
                (true, false) if asked.contains(run) => gone.push(lost),
                _ => {}
            }
        }
        for message in launch_messages(id, term, launches) {
            out.push(Output::Tell(connection, message));
        }
        if !kills.is_empty() {
            out.push(Output::Tell(connection, kills_message(id, term, &kills)));
        }
        if !gone.is_empty() {
            let command = Command::Finished { node: node.clone(), finishes: gone };
            self.proposals.add(command, Waiter::Nobody);
        }
        Ok(())
    }

    fn reported(&mut self, connection: Connection, node: NodeName, reports: &[Report]) {
        let sequences = reports
            .iter()
            .map(|report| report.sequence)
            .filter(|sequence| *sequence != 0)
            .collect();
        let finishes = reports.iter().map(finish).collect();
        let waiter = Waiter::Agent { connection, sequences };
        self.proposals.add(Command::Finished { node, finishes }, waiter);
    }

    /// The steps of a run on a node that a signal is for.
    fn signalled(
        &self,
        job: JobId,
        epoch: Epoch,
        node: &NodeName,
        scope: SignalScope,
    ) -> Vec<StepId> {
        let job = self.state.jobs.get(&job).filter(|job| job.epoch == epoch);
        let steps = job.into_iter().flat_map(|job| job.steps.live.values());
        let here = steps.filter(|step| step.shares.iter().any(|share| share.node == *node));
        let is_meant = |step: &StepId| match scope {
            SignalScope::Steps => *step != StepId::BATCH,
            SignalScope::Batch => *step == StepId::BATCH,
            SignalScope::Full => true,
        };
        here.map(|step| step.id).filter(is_meant).collect()
    }

    /// Has the words put into the output of a job's script. Best effort, as signals are.
    pub(super) fn tell_script(&mut self, job: JobId, words: &str, out: &mut Vec<Output>) {
        let Role::Leader(term) = self.role else { return };
        let Some(job) = self.state.jobs.get(&job) else { return };
        let Some(script) = job.steps.live.get(&StepId::BATCH) else { return };
        for node in script.nodes_left() {
            let Some(session) = self.agents.sessions.get(node) else { continue };
            let run = Some(run_message((job.id, job.epoch, script.id)));
            let signals = vec![RunSignal { run, words: words.to_string(), ..Default::default() }];
            let message = AgentHears::Signals(Signals { session: session.id, term, signals });
            out.push(Output::Tell(session.connection, message));
        }
    }

    /// Has every node of a step signal its tasks. Best effort: a node that is away does not hear it.
    pub(super) fn signal(
        &mut self,
        job: JobId,
        step: StepId,
        signal: u32,
        script_only: bool,
        out: &mut Vec<Output>,
    ) {
        let Role::Leader(term) = self.role else { return };
        let Some(job) = self.state.jobs.get(&job) else { return };
        let Some(step) = job.steps.live.get(&step) else { return };
        for node in step.nodes_left() {
            let Some(session) = self.agents.sessions.get(node) else { continue };
            let run = Some(run_message((job.id, job.epoch, step.id)));
            let signals = vec![RunSignal { run, signal, script_only, ..Default::default() }];
            let message = AgentHears::Signals(Signals { session: session.id, term, signals });
            out.push(Output::Tell(session.connection, message));
        }
    }

    /// Carries out what was committed: one message a node for all launches, one for all kills. A node
    /// without a session gets them when it comes back, by comparing tables.
    pub(super) fn run_errands(
        &mut self,
        errands: Vec<Effect>,
        out: &mut Vec<Output>,
    ) -> Result<(), store::Error> {
        let Role::Leader(term) = self.role else { return Ok(()) };
        let mut launches: BTreeMap<NodeName, Vec<Launch>> = BTreeMap::new();
        let mut kills: BTreeMap<NodeName, Vec<RunKey>> = BTreeMap::new();
        let mut signals: BTreeMap<NodeName, Vec<RunSignal>> = BTreeMap::new();
        for errand in errands {
            match errand {
                Effect::Launch { job, epoch, step, node } if self.agents.is_registered(&node) => {
                    let Some(job) = self.state.jobs.get(&job).cloned() else { continue };
                    let Some(step) = job.steps.live.get(&step) else { continue };
                    if job.epoch == epoch {
                        let launch = self.launch_message(&job, step, &node)?;
                        launches.entry(node).or_default().extend(launch);
                    }
                }
                Effect::Kill { job, epoch, step, node } => {
                    kills.entry(node).or_default().push((job, epoch, step));
                }
                Effect::Signal { job, epoch, signal, scope, node } => {
                    let meant = self.signalled(job, epoch, &node, scope);
                    let signal = |step: &StepId| RunSignal {
                        run: Some(run_message((job, epoch, *step))),
                        signal,
                        script_only: scope == SignalScope::Batch,
                        ..Default::default()
                    };
                    signals.entry(node).or_default().extend(meant.iter().map(signal));
                }
                Effect::Launch { .. }
                | Effect::KeepBlob { .. }
                | Effect::DropBlob { .. }
                | Effect::RunProgram { .. } => {}
            }
        }
        for (node, launches) in launches {
            let Some(session) = self.agents.sessions.get(&node) else { continue };
            for message in launch_messages(session.id, term, launches) {
                out.push(Output::Tell(session.connection, message));
            }
        }
        for (node, signals) in signals {
            let Some(session) = self.agents.sessions.get(&node) else { continue };
            let message = AgentHears::Signals(Signals { session: session.id, term, signals });
            out.push(Output::Tell(session.connection, message));
        }
        for (node, runs) in kills {
            let Some(session) = self.agents.sessions.get(&node) else { continue };
            out.push(Output::Tell(session.connection, kills_message(session.id, term, &runs)));
        }
        Ok(())
    }

    fn launch_message(
        &mut self,
        job: &Job,
        step: &Step,
        node: &NodeName,
    ) -> Result<Option<Launch>, store::Error> {
        let Phase::Running { since, allocation } = &job.phase else { return Ok(None) };
        let (script, environment) = match step.id {
            StepId::BATCH => (self.blobs.get(job.script)?, self.blobs.get(job.environment)?),
            _ => Default::default(),
        };
        if step.id == StepId::BATCH && (script.is_none() || environment.is_none()) {
            tracing::error!(
                job = job.id.0,
                "its script or environment is gone: it cannot be launched"
            );
            let finish = Finish::lost(job.id, job.epoch, step.id);
            let command = Command::Finished { node: node.clone(), finishes: vec![finish] };
            self.proposals.add(command, Waiter::Nobody);
            return Ok(None);
        }
        let partition_of = |job: &Job| {
            let partition = self.state.partition_of(job).map(|partition| partition.name.clone());
            partition.unwrap_or_default()
        };
        let component = |job: &std::sync::Arc<Job>| Component {
            job: job.id.0,
            spec: Some(self.state.asked_and_given(job)),
            partition: partition_of(job),
            shares: job.phase.holds().map(|held| node_shares(held)).unwrap_or_default(),
        };
        // Tasks of all components of a job find each other at the first.
        let leader = job.component.and_then(|it| self.state.jobs.get(&it.leader));
        let leader = leader.map_or(job, |leader| leader);
        let batch = job.component.filter(|_| step.id == StepId::BATCH).into_iter();
        let components = batch.flat_map(|it| self.state.components(it)).map(component).collect();
        Ok(Some(Launch {
            job: job.id.0,
            epoch: job.epoch.0,
            uid: job.owner.uid.0,
            gid: job.owner.gid.0,
            user_name: job.owner.name.clone(),
            spec: Some(self.state.asked_and_given(job)),
            script: script.unwrap_or_default(),
            environment: environment.unwrap_or_default(),
            step: step_launch(step, node),
            started: since.0,
            ends: duties::ends_at(&self.state, job).map_or(0, |end| end.0),
            cluster_name: self.state.settings.cluster_name.clone(),
            partition: partition_of(job),
            harden: self.state.partition_of(job).is_some_and(|it| it.rules.harden),
            components,
            shares: node_shares(allocation),
            submitted: job.submitted.0,
            kill_wait_secs: Some(self.state.settings.kill_wait_secs),
            confinement: allocation.shares.first().map(|share| {
                confinement::of(&self.state.settings.config.cgroup, share, &self.state)
            }),
            array_task: job.task(),
            array_job: job.array_id().map_or(0, |array| array.0),
            restarts: job.restarts,
            fence_secs: job.granted.fence_secs,
            // Where nobody else has been told the port yet, another can be had.
            check_port: job.id == leader.id
                && allocation.first_node() == Some(node)
                && (step.shares.len() == 1 && step.id != StepId::EXTERN),
            master_address: master_address(
                &self.state,
                leader.phase.holds().and_then(|it| it.first_node()),
            ),
            master_port: leader.granted.port.map_or(0, u32::from),
            sample_secs: sampling::period(&self.state.settings.config, &job.spec),
            hooks: hooks::of(&self.state.settings.config.hooks),
            let_through: {
                let jobs = &self.state.settings.config.jobs;
                let names =
                    rlimit::let_through(&jobs.propagate_limits, &jobs.propagate_limits_except);
                names.into_iter().map(str::to_string).collect()
            },
        }))
    }
}

/// A name of the node that other machines know: several nodes of one machine share that machine's.
fn master_address(state: &State, node: Option<&NodeName>) -> String {
    let Some(name) = node else { return String::new() };
    let told = state.nodes.get(name).map_or("", |node| node.inventory.address.as_str());
    if told.is_empty() { name.to_string() } else { told.to_string() }
}

fn node_shares(held: &spur_core::job::Allocation) -> Vec<NodeShare> {
    let share = |share: &spur_core::job::Share| NodeShare {
        node: share.node.to_string(),
        cpus: share.cpus,
        cpu_ids: Some(share.cpu_ids.clone()),
        memory_mb: share.memory_mb,
        gres: share.gres.clone(),
        tasks: share.tasks,
    };
    held.shares.iter().map(share).collect()
}

/// A node's part of a step; nothing for a batch script.
fn step_launch(step: &Step, node: &NodeName) -> Option<StepLaunch> {
    if step.id == StepId::BATCH {
        return None;
    }
    let on_node = |share: &StepShare| StepNode {
        node: share.node.to_string(),
        ranks: share.ranks.clone(),
        cpus: share.cpus,
        cpu_ids: Some(share.cpu_ids.clone()),
        gpus: share.gpus.clone(),
    };
    let node_id = step.shares.iter().position(|share| share.node == *node)? as u32;
    let nodes = step.shares.iter().map(on_node).collect();
    Some(StepLaunch { step: step.id.0, spec: step.spec.as_deref().cloned(), nodes, node_id })
}

/// The runs a node should know, by what is committed.
fn expected<'a>(state: &'a State, node: &'a NodeName) -> impl Iterator<Item = RunKey> + 'a {
    let jobs = state.index.on_node.get(node).into_iter().flat_map(|jobs| jobs.keys());
    jobs.filter_map(|id| state.jobs.get(id))
        .flat_map(move |job| job.steps.on(node).map(|(step, _)| (job.id, job.epoch, step.id)))
}

fn run_key(run: &Run) -> RunKey {
    (JobId(run.job), Epoch(run.epoch), step_of(run.step))
}

fn run_message((job, epoch, step): RunKey) -> Run {
    Run { job: job.0, epoch: epoch.0, step: step_name(step) }
}

/// As many launches to a message as an agent takes in; each carries a script and an environment.
fn launch_messages(session: u64, term: u64, launches: Vec<Launch>) -> Vec<AgentHears> {
    let mut messages: Vec<Launches> = Vec::new();
    let mut size = usize::MAX;
    for launch in launches {
        let more = launch.encoded_len();
        if size.saturating_add(more) > LAUNCH_BYTES {
            messages.push(Launches { session, term, launches: Vec::new() });
            size = 0;
        }
        size += more;
        if let Some(message) = messages.last_mut() {
            message.launches.push(launch);
        }
    }
    messages.into_iter().map(AgentHears::Launches).collect()
}

/// Together at most this much; a single one is bounded by the limits of a submission.
const LAUNCH_BYTES: usize = 4 << 20;

fn kills_message(session: u64, term: u64, runs: &[RunKey]) -> AgentHears {
    let runs = runs.iter().copied().map(run_message).collect();
    AgentHears::Kills(Kills { session, term, runs })
}

/// More of what a node says about a run is not kept.
const MOST_SAID: usize = 500;

fn finish(report: &Report) -> Finish {
    let outcome = match report.outcome() {
        internal::Outcome::Exited => Outcome::Exited(ExitStatus::from_wait(report.exit_status)),
        internal::Outcome::CouldNotStart => Outcome::CouldNotStart,
        internal::Outcome::Lost => Outcome::Lost,
        internal::Outcome::OutOfMemory => Outcome::OutOfMemory,
        internal::Outcome::PrologFailed => Outcome::PrologFailed,
        internal::Outcome::EpilogFailed => Outcome::EpilogFailed,
        internal::Outcome::NodeFault => Outcome::NodeFault,
        internal::Outcome::ShepherdLost => Outcome::ShepherdLost,
    };
    let step = step_of(report.step);
    let usage = report.usage.map(Box::new);
    let said = report.said.chars().take(MOST_SAID).collect();
    let (job, epoch) = (JobId(report.job), Epoch(report.epoch));
    Finish { job, epoch, step, outcome, usage, said }
}
