//! The world: a clock, a queue of things to come, and a hand that breaks things.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use spur_core::ids::{Epoch, JobId};
use spur_core::state::{Outcome, Reply};
use spur_core::time::Timestamp;
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_sched::Plan;
use spurctld::controller::{self, Connection, Now, Refusal, Ticket};
use spurd::agent;

use super::books::Database;
use super::chance::Chance;
use super::client::{self, Clients};
use super::consensus::Host;
use super::lines::Stream;
use super::node::{Node, Run};
use super::stale::Stale;
use super::witness::Witness;

/// What a schedule came to.
#[derive(Debug)]
pub struct Report {
    /// Invariants that did not hold; empty when all is well.
    pub complaints: Vec<String>,
    /// Jobs that ended.
    pub jobs: usize,
    /// Faults that were dealt.
    pub faults: usize,
    /// Steps taken.
    pub steps: usize,
}

/// Runs the schedule of a seed.
pub fn run(seed: u64) -> Report {
    let mut world = World::new(seed);
    world.start_controller();
    for node in 0..world.nodes.len() {
        world.start_agent(node);
    }
    for _ in 0..world.chance.between(3, 25) {
        let at = world.chance.below(FAULTS_UNTIL_MS / 2);
        world.after(at, Event::Client);
    }
    if world.chance.one_in(40) {
        let at = world.chance.below(FAULTS_UNTIL_MS);
        world.after(at, Event::Outage);
    }
    for _ in 0..world.chance.below(20) {
        let at = world.chance.below(FAULTS_UNTIL_MS);
        world.after(at, Event::Fault);
    }
    world.after(FAULTS_UNTIL_MS, Event::Heal);
    while let Some(Reverse((at, _, event))) = world.queue.pop() {
        let over = at > END_MS || world.quiet > QUIET_LOOKS;
        if over || !world.witness.complaints.is_empty() {
            break;
        }
        world.now = at;
        world.steps += 1;
        world.happen(event);
    }
    world.finish()
}

pub(super) const FAULTS_UNTIL_MS: u64 = 120_000;
/// Whatever still moves by then never comes to rest.
const END_MS: u64 = 7_200_000;
/// Nothing left to do at so many looks in a row is rest.
const QUIET_LOOKS: u32 = 3;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

pub(super) enum Event {
    /// A user thinks of a job.
    Client,
    /// A user asks, or asks again.
    Ask(u64),
    /// A user changes their mind.
    Cancel(JobId),
    /// An operator keeps a node for somebody for a while.
    Reserve,
    /// The controller's clock ticks, in this life.
    Tick(u64),
    /// A proposal reaches the disk, in this life.
    Written(u64),
    /// The planner is done, in this life.
    Planned(u64, Plan),
    /// The controller starts.
    StartController,
    /// An agent starts.
    StartAgent(usize),
    /// An agent dials.
    Dial(usize, u64),
    /// An agent's heartbeat is due, in this life.
    Heartbeat(usize, u64),
    /// A message arrives at the controller.
    ToController(u64, Connection, AgentSays),
    /// A message arrives at an agent; a ghost comes from a stream that is gone.
    ToAgent(usize, u64, Connection, AgentHears, bool),
    /// A shepherd claims a run, if its agent's life or the machine's boot did not end first.
    Claim(usize, Run, u64),
    /// A job ends by itself or by a signal.
    Exit(usize, Run, u64, Outcome),
    /// The agent hears that a shepherd is gone.
    Reaped(usize, u64, Run, Outcome),
    /// A shepherd looks whether its run may live on, in this boot of the machine.
    Fence(usize, Run, u64),
    /// The sender of records looks, in this life.
    Post(u64),
    /// The database answers again.
    Database,
    /// A leader that slept in this life wakes up.
    Wake(u64),
    /// It hears that it was replaced.
    Bury(u64),
    /// Somebody who may not tries something.
    Intrude(JobId),
    /// Something breaks.
    Fault,
    /// A line is whole again.
    Mend(usize),
    /// A disk has room again.
    RoomOnController,
    /// A node's disk has room again.
    RoomOnNode(usize),
    /// All controllers go away for an hour.
    Outage,
    /// No more faults.
    Heal,
    /// Somebody must lead by now.
    LeaderDue,
    /// Is there anything left to do?
    Look,
}

impl PartialEq for Event {
    fn eq(&self, _: &Event) -> bool {
        true
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// Events at one moment happen in the order they were thought of; see `World::after`.
    fn cmp(&self, _: &Event) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) now: u64,
    pub(super) order: u64,
    pub(super) queue: BinaryHeap<Reverse<(u64, Key, Event)>>,
    pub(super) host: Host,
    /// Counts the controller's lives.
    pub(super) life: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) boots: Vec<u64>,
    pub(super) cut: Vec<bool>,
    pub(super) streams: BTreeMap<Connection, Stream>,
    pub(super) connections: u64,
    pub(super) clients: Clients,
    pub(super) witness: Witness,
    pub(super) healed: bool,
    pub(super) faults: usize,
    pub(super) quiet: u32,
    pub(super) min_job_age_secs: u32,
    /// Nodes that are not heard end their jobs, which then run elsewhere.
    pub(super) fences: bool,
    pub(super) traced: bool,
    pub(super) steps: usize,
    pub(super) tickets: u64,
    /// The wall clock's error: it may jump.
    pub(super) skew: i64,
    /// A leader that was replaced and does not know it yet.
    pub(super) stale: Option<Stale>,
    /// Accounting.
    pub(super) database: Database,
    /// Until when all controllers stay away.
    pub(super) away_until: u64,
    /// Jobs that could have started at the last look.
    pub(super) could_start: BTreeSet<(JobId, Epoch)>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut chance = Chance::new(seed);
        let nodes: Vec<Node> =
            (1..=chance.between(1, 3)).map(|n| Node::new(&format!("n{n}"))).collect();
        // In some schedules ended jobs are forgotten while others still come.
        let min_job_age_secs = if chance.one_in(3) { 20 } else { 1_000_000 };
        let fences = chance.one_in(3);
        World {
            fences,
            chance,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            host: Host::new(),
            life: 0,
            boots: vec![0; nodes.len()],
            cut: vec![false; nodes.len()],
            nodes,
            streams: BTreeMap::new(),
            connections: 0,
            clients: Clients::default(),
            witness: Witness::new(!fences),
            healed: false,
            faults: 0,
            quiet: 0,
            min_job_age_secs,
            traced: std::env::var_os("SPUR_SIM_TRACE").is_some(),
            steps: 0,
            tickets: 0,
            skew: 0,
            stale: None,
            database: Database::default(),
            away_until: 0,
            could_start: BTreeSet::new(),
        }
    }

    pub(super) fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((self.now + delay, Key(self.order), event)));
    }

    pub(super) fn latency(&mut self) -> u64 {
        if self.chance.one_in(50) {
            self.chance.between(100, 3000)
        } else {
            self.chance.between(1, 20)
        }
    }

    pub(super) fn clock(&self) -> Now {
        Now { wall: Timestamp(1_000_000 + (self.now / 1000) as i64 + self.skew), boot_ms: self.now }
    }

    /// A line of the story, for whoever replays one seed with `SPUR_SIM_TRACE=1`.
    pub(super) fn trace(&self, line: impl FnOnce() -> String) {
        if self.traced {
            eprintln!("{:>8} {}", self.now, line());
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Client => {
                let nodes = self.nodes.len() as u64;
                let request = self.clients.think_of_a_job(&mut self.chance, nodes);
                self.ask(request);
            }
            Event::Ask(request) => self.ask(request),
            Event::Cancel(job) => {
                let ticket = self.ticket();
                self.feed(controller::Input::Call(ticket, client::cancel(job)));
            }
            Event::Reserve => {
                let node = self.chance.below(self.nodes.len() as u64) + 1;
                let minutes = self.chance.between(1, 2);
                let command = client::reserve(self.clock().wall, node, minutes);
                let ticket = self.ticket();
                self.feed(controller::Input::Call(ticket, command));
            }
            Event::Tick(life) if life == self.life && self.host.life.is_some() => {
                self.feed(controller::Input::Tick);
                // As in production: there may be room by now for what the disk was too full for.
                if let Some(life) = self.host.life.as_mut() {
                    let _ = life.outbox.write();
                }
                self.after(250, Event::Tick(life));
            }
            Event::Written(life) if life == self.life => self.written(),
            Event::Planned(life, plan) if life == self.life => {
                self.feed(controller::Input::Planned(plan));
            }
            Event::StartController => self.start_controller(),
            Event::StartAgent(node) => self.start_agent(node),
            Event::Dial(node, life) => self.dial(node, life),
            Event::Heartbeat(node, life) if life == self.nodes[node].life => {
                self.agent_feed(node, agent::Input::HeartbeatDue);
                self.after(1000, Event::Heartbeat(node, life));
            }
            Event::ToController(life, connection, message) if self.is_stale(life) => {
                self.stale_hears(connection, message);
            }
            Event::ToController(life, connection, message) if life == self.life => {
                self.trace(|| format!("controller hears {connection:?} {message:?}"));
                self.feed(controller::Input::Agent(connection, message));
            }
            Event::ToAgent(node, life, connection, message, ghost) => {
                let open = self.streams.get(&connection).is_some_and(|stream| stream.open);
                if life == self.nodes[node].life && (open || ghost) {
                    self.trace(|| {
                        format!("n{} hears {connection:?} {message:?} ghost={ghost}", node + 1)
                    });
                    self.agent_hears(node, message);
                }
            }
            Event::Claim(node, run, boot) if boot == self.boots[node] => self.claim(node, run),
            Event::Exit(node, run, boot, exit) if boot == self.boots[node] => {
                self.exit(node, run, exit);
            }
            Event::Reaped(node, life, run, exit) if life == self.nodes[node].life => {
                self.agent_feed(node, agent::Input::Over(run, exit, Box::default()));
            }
            Event::Fence(node, run, boot) if boot == self.boots[node] => {
                self.look_at_fence(node, run)
            }
            Event::Post(life) if life == self.life && self.host.life.is_some() => self.post(),
            Event::Database => self.database.is_away = false,
            Event::Wake(life) => self.wake(life),
            Event::Bury(life) if self.is_stale(life) => self.bury(),
            Event::Intrude(job) => {
                let command = client::intrude(job, &mut self.chance);
                let ticket = self.ticket();
                self.feed(controller::Input::Call(ticket, command));
            }
            Event::LeaderDue => self.leader_is_due(),
            Event::Fault if !self.healed => self.fault(),
            Event::Mend(node) => self.cut[node] = false,
            Event::RoomOnController => self.host.disk.set_fault(None),
            Event::RoomOnNode(node) => self.nodes[node].disk.set_fault(None),
            Event::Outage => self.outage(),
            Event::Heal => self.heal(),
            Event::Look => self.look(),
            // Meant for a life that is over.
            _ => {}
        }
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Asks, and again after a while if there is no answer.
    fn ask(&mut self, request: u64) {
        let Some(command) = self.clients.command(request) else { return };
        let ticket = self.ticket();
        self.clients.tickets.insert(ticket, request);
        let again = self.chance.between(500, 4000);
        self.after(again, Event::Ask(request));
        self.feed(controller::Input::Call(ticket, command));
    }

    // The controller.

    fn start_controller(&mut self) {
        if self.host.life.is_some() {
            return;
        }
        if self.now < self.away_until {
            return self.after(self.away_until - self.now, Event::StartController);
        }
        let number = self.chance.number();
        let (age, fences) = (self.min_job_age_secs, self.fences);
        let Some((term, committed)) = self.host.start(number, age, fences) else {
            return self.after(1000, Event::StartController);
        };
        self.life += 1;
        self.after(250, Event::Tick(self.life));
        self.after(1, Event::Post(self.life));
        // As in production: elected first, then everything that was committed is applied.
        self.feed(controller::Input::Leads(term));
        for (_, entries) in &committed {
            self.feed(controller::Input::Committed(entries.clone()));
        }
        if let Some(life) = &self.host.life {
            self.witness.recovered(&committed, life.controller.state());
        }
    }

    pub(super) fn feed(&mut self, input: controller::Input) {
        let now = self.clock();
        let Some(life) = self.host.life.as_mut() else { return };
        let outputs = match life.controller.on(now, input) {
            Ok(mut outputs) => {
                outputs.extend(life.controller.flush(now));
                outputs
            }
            // The state directory cannot be used: the process stops, and is started again.
            Err(_) => {
                self.crash_controller(false);
                return;
            }
        };
        for output in outputs {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: controller::Output) {
        match output {
            controller::Output::Propose(entries) => {
                let Some(life) = self.host.life.as_mut() else { return };
                life.writing = Some(entries);
                let delay = self.chance.between(1, 10);
                self.after(delay, Event::Written(self.life));
            }
            controller::Output::Answer(ticket, result) => self.answered(ticket, result),
            controller::Output::Tell(connection, message) => self.tell(connection, message),
            controller::Output::HangUp(connection) => self.hang_up(connection),
            // Nobody sets triggers.
            controller::Output::Run(_) => {}
            controller::Output::Record(records) => {
                let Some(life) = self.host.life.as_mut() else { return };
                // What there is no room for now is kept in memory, and the log has it.
                let _ = life.outbox.add(records);
            }
            controller::Output::Plan => {
                let Some(life) = self.host.life.as_mut() else { return };
                let plan = life.planner.plan(&life.controller.state_to_plan());
                let delay = self.chance.between(1, 50);
                self.after(delay, Event::Planned(self.life, plan));
            }
        }
    }

    fn written(&mut self) {
        match self.host.written() {
            Some(committed) => {
                for entry in committed.1.iter() {
                    self.trace(|| format!("committed {:?}", entry.command));
                }
                self.feed(controller::Input::Committed(committed.1.clone()));
                if let Some(life) = &self.host.life {
                    self.witness.committed(&committed, life.controller.state(), &self.clients);
                }
            }
            // No room: the log's writer tries again.
            None if self.host.life.as_ref().is_some_and(|life| life.writing.is_some()) => {
                self.after(200, Event::Written(self.life));
            }
            None => {}
        }
    }

    fn answered(&mut self, ticket: Ticket, result: Result<Reply, Refusal>) {
        let Some(request) = self.clients.tickets.remove(&ticket) else { return };
        if let Ok(Reply::Job(id)) = result {
            self.witness.told(request, id, &self.clients);
            self.clients.told.insert(request, id);
            self.clients.open.remove(&request);
            if self.chance.one_in(5) {
                let delay = self.chance.below(20_000);
                self.after(delay, Event::Cancel(id));
            }
            if self.chance.one_in(4) {
                let delay = self.chance.below(30_000);
                self.after(delay, Event::Intrude(id));
            }
            if self.chance.one_in(12) {
                let delay = self.chance.below(10_000);
                self.after(delay, Event::Reserve);
            }
        }
    }

    pub(super) fn crash_controller(&mut self, power: bool) {
        self.host.crash(power, &mut self.chance);
        self.life += 1;
        self.clients.tickets.clear();
        let stale = self.stale.as_ref().map(Stale::life);
        let streams = self.streams.iter();
        let lost: Vec<Connection> = streams
            .filter(|(_, stream)| Some(stream.controller_life) != stale)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in lost {
            self.hang_up(connection);
        }
        let delay = self.chance.between(10, 8000);
        self.after(delay, Event::StartController);
    }
}
