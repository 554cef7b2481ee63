//! The world: a clock, a queue of things to come, and a hand that breaks things.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use spur_core::ids::JobId;
use spur_core::job::ExitStatus;
use spur_core::state::{Outcome, Reply};
use spur_core::time::Timestamp;
use spur_disk::SimFault;
use spur_proto::internal::agent_message::Message as AgentSays;
use spur_proto::internal::controller_message::Message as AgentHears;
use spur_sched::{Plan, Planner};
use spurctld::controller::{self, Connection, Now, Refusal, Ticket};
use spurd::agent::{self, Millis};
use spurd::fence;

use super::chance::Chance;
use super::client::{self, Clients};
use super::consensus::Host;
use super::node::{Node, Run, Shepherd};
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

const FAULTS_UNTIL_MS: u64 = 120_000;
/// Whatever still moves by then never comes to rest.
const END_MS: u64 = 3_600_000;
/// Nothing left to do at so many looks in a row is rest.
const QUIET_LOOKS: u32 = 3;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

enum Event {
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
    /// Something breaks.
    Fault,
    /// A line is whole again.
    Mend(usize),
    /// A disk has room again.
    RoomOnController,
    /// A node's disk has room again.
    RoomOnNode(usize),
    /// No more faults.
    Heal,
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

/// A stream between an agent and the controller.
struct Stream {
    node: usize,
    agent_life: u64,
    controller_life: u64,
    open: bool,
    /// Messages of one direction keep their order.
    last_up: u64,
    last_down: u64,
}

struct World {
    chance: Chance,
    now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, Key, Event)>>,
    host: Host,
    /// Counts the controller's lives.
    life: u64,
    nodes: Vec<Node>,
    boots: Vec<u64>,
    cut: Vec<bool>,
    streams: BTreeMap<Connection, Stream>,
    connections: u64,
    clients: Clients,
    witness: Witness,
    healed: bool,
    faults: usize,
    quiet: u32,
    min_job_age_secs: u32,
    /// Nodes that are not heard end their jobs, which then run elsewhere.
    fences: bool,
    traced: bool,
    steps: usize,
    tickets: u64,
    /// The wall clock's error: it may jump.
    skew: i64,
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
            witness: Witness::default(),
            healed: false,
            faults: 0,
            quiet: 0,
            min_job_age_secs,
            traced: std::env::var_os("SPUR_SIM_TRACE").is_some(),
            steps: 0,
            tickets: 0,
            skew: 0,
        }
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((self.now + delay, Key(self.order), event)));
    }

    fn latency(&mut self) -> u64 {
        if self.chance.one_in(50) {
            self.chance.between(100, 3000)
        } else {
            self.chance.between(1, 20)
        }
    }

    fn clock(&self) -> Now {
        Now { wall: Timestamp(1_000_000 + (self.now / 1000) as i64 + self.skew), boot_ms: self.now }
    }

    /// A line of the story, for whoever replays one seed with `SPUR_SIM_TRACE=1`.
    fn trace(&self, line: impl FnOnce() -> String) {
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
                    self.agent_feed(node, agent::Input::Heard(message));
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
            Event::Fault if !self.healed => self.fault(),
            Event::Mend(node) => self.cut[node] = false,
            Event::RoomOnController => self.host.disk.set_fault(None),
            Event::RoomOnNode(node) => self.nodes[node].disk.set_fault(None),
            Event::Heal => self.heal(),
            Event::Look => self.look(),
            // Meant for a life that is over.
            _ => {}
        }
    }

    fn ticket(&mut self) -> Ticket {
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
        let number = self.chance.number();
        let (age, fences) = (self.min_job_age_secs, self.fences);
        let Some((term, committed)) = self.host.start(number, age, fences) else {
            return self.after(1000, Event::StartController);
        };
        self.life += 1;
        self.after(250, Event::Tick(self.life));
        // As in production: elected first, then everything that was committed is applied.
        self.feed(controller::Input::Leads(term));
        for entries in committed {
            self.feed(controller::Input::Committed(entries));
        }
        if let Some(life) = &self.host.life {
            self.witness.recovered(life.controller.state());
        }
    }

    fn feed(&mut self, input: controller::Input) {
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
            // Accounting is away in this world, and nobody sets triggers.
            controller::Output::Record(_) | controller::Output::Run(_) => {}
            controller::Output::Plan => {
                let Some(life) = self.host.life.as_ref() else { return };
                let plan = Planner::default().plan(&life.controller.state_to_plan());
                let delay = self.chance.between(1, 50);
                self.after(delay, Event::Planned(self.life, plan));
            }
        }
    }

    fn written(&mut self) {
        match self.host.written() {
            Some(entries) => {
                self.feed(controller::Input::Committed(entries.clone()));
                if let Some(life) = &self.host.life {
                    self.witness.committed(&entries, life.controller.state(), &self.clients);
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
            if self.chance.one_in(12) {
                let delay = self.chance.below(10_000);
                self.after(delay, Event::Reserve);
            }
        }
    }

    fn crash_controller(&mut self, power: bool) {
        self.host.crash(power, &mut self.chance);
        self.life += 1;
        self.clients.tickets.clear();
        let lost: Vec<Connection> = self.streams.keys().copied().collect();
        for connection in lost {
            self.hang_up(connection);
        }
        let delay = self.chance.between(10, 8000);
        self.after(delay, Event::StartController);
    }

    // Streams.

    fn dial(&mut self, node: usize, life: u64) {
        if life != self.nodes[node].life {
            return;
        }
        if self.cut[node] || self.host.life.is_none() {
            let delay = self.chance.between(100, 1000);
            self.after(delay, Event::Dial(node, life));
            return;
        }
        self.connections += 1;
        let connection = Connection(self.connections);
        let stream = Stream {
            node,
            agent_life: life,
            controller_life: self.life,
            open: true,
            last_up: self.now,
            last_down: self.now,
        };
        self.streams.insert(connection, stream);
        self.agent_feed(node, agent::Input::Connected);
    }

    fn connection_of(&self, node: usize) -> Option<Connection> {
        let life = self.nodes[node].life;
        let mine =
            |stream: &&Stream| stream.node == node && stream.open && stream.agent_life == life;
        self.streams.iter().find(|(_, stream)| mine(stream)).map(|(connection, _)| *connection)
    }

    fn say(&mut self, node: usize, message: AgentSays) {
        let Some(connection) = self.connection_of(node) else { return };
        if self.cut[node] {
            return self.lose(connection);
        }
        let at = self.now + self.latency();
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        stream.last_up = stream.last_up.max(at);
        let (at, life) = (stream.last_up, stream.controller_life);
        if let AgentSays::Reports(reports) = &message {
            for report in &reports.reports {
                if report.sequence != 0 && report.outcome() == spur_proto::internal::Outcome::Exited
                {
                    let run = Run::from(report);
                    let exit = ExitStatus::from_wait(report.exit_status);
                    self.witness.hears(run, Outcome::Exited(exit));
                }
            }
        }
        self.after(at - self.now, Event::ToController(life, connection, message));
    }

    fn tell(&mut self, connection: Connection, message: AgentHears) {
        let at = self.now + self.latency();
        let ghost_after = self.chance.between(100, 60_000);
        let is_ghost = self.chance.one_in(20) && !self.healed;
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        let (node, life) = (stream.node, stream.agent_life);
        stream.last_down = stream.last_down.max(at);
        let at = stream.last_down;
        if self.cut[node] {
            return self.lose(connection);
        }
        if is_ghost {
            self.after(ghost_after, Event::ToAgent(node, life, connection, message.clone(), true));
        }
        self.after(at - self.now, Event::ToAgent(node, life, connection, message, false));
    }

    /// A message is lost with its stream: nothing behind it arrives either. Both ends notice, some time.
    fn lose(&mut self, connection: Connection) {
        self.hang_up(connection);
    }

    fn hang_up(&mut self, connection: Connection) {
        let Some(mut stream) = self.streams.remove(&connection) else { return };
        stream.open = false;
        let (node, life) = (stream.node, stream.agent_life);
        if stream.controller_life == self.life {
            self.feed(controller::Input::AgentGone(connection));
        }
        if life == self.nodes[node].life {
            self.agent_feed(node, agent::Input::Disconnected);
            let delay = self.chance.between(100, 1000);
            self.after(delay, Event::Dial(node, life));
        }
    }

    // Nodes.

    fn start_agent(&mut self, node: usize) {
        if self.nodes[node].agent.is_some() {
            return;
        }
        let outputs = self.nodes[node].start();
        let life = self.nodes[node].life;
        if self.nodes[node].agent.is_none() {
            self.after(1000, Event::StartAgent(node));
            return;
        }
        for output in outputs {
            self.agent_does(node, output);
        }
        self.agent_flush(node);
        self.after(1, Event::Dial(node, life));
        self.after(1000, Event::Heartbeat(node, life));
    }

    fn agent_feed(&mut self, node: usize, input: agent::Input) {
        let now = Millis(self.now);
        let Some(agent) = self.nodes[node].agent.as_mut() else { return };
        // No room: what was said is not done; the controller notices and says it again.
        let outputs = agent.on(now, input).unwrap_or_default();
        outputs.into_iter().for_each(|output| self.agent_does(node, output));
        self.agent_flush(node);
    }

    fn agent_flush(&mut self, node: usize) {
        let Some(agent) = self.nodes[node].agent.as_mut() else { return };
        if let Ok(outputs) = agent.flush() {
            outputs.into_iter().for_each(|output| self.agent_does(node, output));
        }
    }

    fn agent_does(&mut self, node: usize, output: agent::Output) {
        match output {
            agent::Output::Say(message) => self.say(node, message),
            agent::Output::Spawn(run) => {
                let delay = self.chance.between(1, 30);
                self.after(delay, Event::Claim(node, run, self.boots[node]));
            }
            agent::Output::Kill(run) => {
                let delay = self.chance.between(30, 3000);
                let exit = Outcome::Exited(ExitStatus { code: 0, signal: 15 });
                self.after(delay, Event::Exit(node, run, self.boots[node], exit));
            }
            agent::Output::Signal(..) | agent::Output::Trust(_) | agent::Output::CareFor(_) => {}
            agent::Output::Heard(at) => {
                self.nodes[node].heard = self.nodes[node].heard.max(at);
            }
            agent::Output::HangUp => {
                if let Some(connection) = self.connection_of(node) {
                    self.hang_up(connection);
                }
            }
        }
    }

    /// The first shepherd of a run wins; a second finds the claim and goes.
    fn claim(&mut self, node: usize, run: Run) {
        if self.nodes[node].shepherds.contains_key(&run) {
            return;
        }
        let fence_secs = self.nodes[node].fence_of(run);
        if self.nodes[node].is_fenced(Millis(self.now), fence_secs) {
            self.nodes[node].shepherds.insert(run, Shepherd { exit: None, fence_secs });
            return self.exit(node, run, Outcome::Lost);
        }
        let name = self.nodes[node].name.clone();
        self.trace(|| format!("{name} begins {run:?}"));
        if fence_secs.is_some() {
            self.after(1, Event::Fence(node, run, self.boots[node]));
        }
        self.witness.spawns(&self.nodes, &name, run);
        self.nodes[node].shepherds.insert(run, Shepherd { exit: None, fence_secs });
        let code = if self.chance.one_in(4) { self.chance.below(256) as u8 } else { 0 };
        let runs_for = if self.chance.one_in(6) { 400_000 } else { self.chance.between(1, 30_000) };
        let exit = Outcome::Exited(ExitStatus { code, signal: 0 });
        self.after(runs_for, Event::Exit(node, run, self.boots[node], exit));
    }

    /// As a shepherd does: it waits for as long as its run may live if nobody is heard, and looks again.
    fn look_at_fence(&mut self, node: usize, run: Run) {
        let there = &self.nodes[node];
        let Some(Shepherd { exit: None, fence_secs: Some(secs) }) = there.shepherds.get(&run)
        else {
            return;
        };
        match fence::left(Millis(self.now), there.heard, *secs) {
            Some(left) => {
                self.after(left.as_millis() as u64, Event::Fence(node, run, self.boots[node]))
            }
            None => self.exit(node, run, Outcome::Lost),
        }
    }

    fn exit(&mut self, node: usize, run: Run, exit: Outcome) {
        let Some(shepherd) = self.nodes[node].shepherds.get_mut(&run) else { return };
        if shepherd.exit.is_some() {
            return;
        }
        shepherd.exit = Some(exit);
        self.trace(|| format!("n{} ends {run:?} {exit:?}", node + 1));
        match exit {
            Outcome::Exited(exit) => self.witness.exits(run, exit),
            _ => self.witness.fenced(run),
        }
        let life = self.nodes[node].life;
        let delay = self.chance.between(1, 10);
        self.after(delay, Event::Reaped(node, life, run, exit));
    }

    // Trouble.

    fn fault(&mut self) {
        self.faults += 1;
        let node = self.chance.below(self.nodes.len() as u64) as usize;
        let kind = self.chance.below(10);
        self.trace(|| format!("fault {kind} at n{}", node + 1));
        match kind {
            0 | 1 => self.crash_controller(false),
            2 => self.crash_controller(true),
            3 | 4 => {
                self.nodes[node].crash();
                self.drop_streams_of(node);
                let delay = self.chance.between(10, if self.fences { 90_000 } else { 8000 });
                self.after(delay, Event::StartAgent(node));
            }
            5 => {
                let name = self.nodes[node].name.clone();
                self.witness.reboots(&name);
                self.nodes[node].reboot(&mut self.chance);
                self.boots[node] += 1;
                self.drop_streams_of(node);
                let delay = self.chance.between(1000, 20_000);
                self.after(delay, Event::StartAgent(node));
            }
            6 => {
                self.cut[node] = true;
                self.drop_streams_of(node);
                let delay = self.chance.between(500, if self.fences { 90_000 } else { 40_000 });
                self.after(delay, Event::Mend(node));
            }
            7 => {
                self.host.disk.set_fault(Some(SimFault::Full));
                let delay = self.chance.between(100, 5000);
                self.after(delay, Event::RoomOnController);
            }
            8 => {
                self.nodes[node].disk.set_fault(Some(SimFault::Full));
                let delay = self.chance.between(100, 5000);
                self.after(delay, Event::RoomOnNode(node));
            }
            _ if self.chance.one_in(2) => self.skew += self.chance.between(0, 7200) as i64 - 3600,
            _ => self.host.compact(&mut self.chance),
        }
    }

    fn drop_streams_of(&mut self, node: usize) {
        let lost: Vec<Connection> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.node == node)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in lost {
            self.hang_up(connection);
        }
    }

    fn heal(&mut self) {
        self.healed = true;
        self.host.disk.set_fault(None);
        self.after(0, Event::StartController);
        self.after(0, Event::Look);
        for node in 0..self.nodes.len() {
            self.cut[node] = false;
            self.nodes[node].disk.set_fault(None);
            self.after(0, Event::StartAgent(node));
        }
    }

    /// Counts looks at a world with nothing left to do.
    fn look(&mut self) {
        let is_done = self.clients.open.is_empty()
            && self.nodes.iter().all(|node| node.alive().next().is_none())
            && self.host.life.as_ref().is_some_and(|life| {
                life.controller.state().jobs.values().all(|job| job.phase.is_over())
            });
        self.quiet = if is_done { self.quiet + 1 } else { 0 };
        self.after(10_000, Event::Look);
    }

    fn finish(mut self) -> Report {
        let mut jobs = 0;
        if self.witness.complaints.is_empty() {
            match (&self.host.life, self.host.replayed()) {
                (Some(life), Some(replayed)) => {
                    let state = life.controller.state();
                    jobs = state.jobs.len();
                    self.witness.at_rest(state, &replayed, &self.nodes, &self.clients);
                }
                _ => self.witness.complaints.push("liveness: no controller".to_string()),
            }
        }
        Report { complaints: self.witness.complaints, jobs, faults: self.faults, steps: self.steps }
    }
}
