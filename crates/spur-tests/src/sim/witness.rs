//! Sees everything from outside and complains: the invariants of the launch protocol, by name.

mod fencing;
mod ledger;

use std::collections::{BTreeMap, BTreeSet};

use spur_core::ids::JobId;
use spur_core::job::{Cause, ExitStatus, Job, Phase, RequestId};
use spur_core::state::{Command, Entry, Outcome, State, check};
use spur_core::views::AccountingRecord;
use spurd::run::RunId;

use super::client::Clients;
use super::consensus::Committed;
use super::node::{Node, Run};
use fencing::Heard;
use ledger::Ledger;

/// What was seen so far.
#[derive(Default)]
pub struct Witness {
    committed_starts: BTreeMap<Run, String>,
    spawned: BTreeSet<Run>,
    may_be_lost: BTreeSet<Run>,
    rebooted: BTreeSet<Run>,
    boots: BTreeMap<String, String>,
    exits: BTreeMap<Run, ExitStatus>,
    /// Runs that ended by themselves for want of a controller.
    fenced: BTreeSet<Run>,
    ended: BTreeMap<Run, Phase>,
    requests: BTreeMap<JobId, Option<RequestId>>,
    /// What the log says, read a second time.
    ledger: Ledger,
    /// What agents have heard, by node.
    heard: BTreeMap<usize, Heard>,
    /// Nothing ends a run because nobody is heard.
    waits: bool,
    /// Runs that were there when all controllers went away for long.
    outlasted: BTreeSet<Run>,
    /// What went wrong.
    pub complaints: Vec<String>,
}

impl Witness {
    /// Before anything happened. With `waits`, nothing may end a run because nobody is heard.
    pub fn new(waits: bool) -> Witness {
        Witness { waits, ..Witness::default() }
    }

    pub fn complain(&mut self, invariant: &str, what: String) {
        self.complaints.push(format!("{invariant}: {what}"));
    }

    /// What an entry says about nodes, before it is looked at what became of jobs.
    fn notes(&mut self, entry: &Entry) {
        // What was given to the node before its reboot was known is gone too.
        if let Command::RegisterNode(node) = &entry.command {
            let boot = self.boots.insert(node.name.to_string(), node.boot_id.clone());
            if boot.is_some_and(|boot| boot != node.boot_id) {
                self.reboots(node.name.as_str());
            }
        }
        if let Command::GiveUp { node, runs } = &entry.command {
            for (job, epoch) in runs {
                let run = RunId::batch(*job, *epoch);
                // What is given up has ended: by its fence, by itself, or it never began.
                self.may_be_lost.insert(run);
                if self.committed_starts.get(&run).map(String::as_str) == Some(node.as_str())
                    && self.spawned.contains(&run)
                    && !self.fenced.contains(&run)
                    && !self.exits.contains_key(&run)
                    && !self.rebooted.contains(&run)
                {
                    self.complain("I4 single-run", format!("{run:?} is given up while it runs"));
                }
            }
        }
    }

    /// Entries are committed, and the state is what they made of it.
    pub fn committed(&mut self, committed: &Committed, state: &State, clients: &Clients) {
        self.read(committed);
        for problem in check::problems(state) {
            self.complain("I7 no-oversubscription", problem);
        }
        for (request, id) in &clients.told {
            let known = state.jobs.get(id).and_then(|job| job.request);
            let forgotten = known.is_none() && self.ended.keys().any(|ended| ended.job == *id);
            if known != Some(RequestId(u128::from(*request) + 1)) && !forgotten {
                self.complain("I1 acked-submit-durable", format!("job {id} of request {request}"));
            }
        }
    }

    /// All controllers go away for long.
    pub fn outage(&mut self, nodes: &[Node]) {
        if self.waits {
            self.outlasted.extend(nodes.iter().flat_map(Node::alive));
        }
    }

    /// A restart found this state: what was on its way to the disk at the crash may be in it.
    pub fn recovered(&mut self, committed: &[Committed], state: &State) {
        committed.iter().for_each(|committed| self.read(committed));
        if *state != self.ledger.state {
            self.complain("I15 replicas-equal", "a restart found another state".to_string());
        }
        for job in state.jobs.values() {
            if let Some(node) = job.phase.holds().and_then(|held| held.first_node()) {
                self.committed_starts.insert(RunId::batch(job.id, job.epoch), node.to_string());
            }
        }
    }

    fn look_at(&mut self, job: &Job) {
        let first = *self.requests.entry(job.id).or_insert(job.request);
        if first != job.request {
            self.complain("I2 id-unique-forever", format!("job {}", job.id));
        }
        let run = RunId::batch(job.id, job.epoch);
        match self.ended.get(&run) {
            Some(before) if *before != job.phase => {
                self.complain("I8 one-terminal-state", format!("{run:?} is {:?}", job.phase));
            }
            Some(_) => {}
            None if job.phase.is_over() => {
                self.ended.insert(run, job.phase.clone());
                self.ledger.ends(job);
                self.ends_truly(job);
            }
            None => {}
        }
    }

    fn ends_truly(&mut self, job: &Job) {
        let Phase::Ended { exit, cause, started, at, .. } = &job.phase else { return };
        if started.is_some_and(|started| started < job.submitted || *at < started) {
            self.complain("I16 time-monotone", format!("job {}", job.id));
        }
        // Only the first component of a job runs a script.
        if job.component.is_some_and(|it| !it.leads()) {
            return;
        }
        let run = RunId::batch(job.id, job.epoch);
        let known = self.exits.get(&run);
        let fenced = *exit == ExitStatus::default();
        match known {
            Some(known) if known == exit => {}
            // It was put back into the queue and ended there: that run's exit is not this one's.
            _ if started.is_none() && fenced => {}
            // A reboot may have taken the run, or its exit file, along.
            _ if self.may_be_lost.contains(&run) && fenced => {}
            // It was ended before it began.
            None if matches!(cause, Cause::Cancelled { .. } | Cause::TimeLimit) && fenced => {}
            _ => {
                let what = format!("{run:?} recorded {exit:?}, was {known:?}");
                let outlasted = self.outlasted.contains(&run);
                let name = if outlasted { "I18 outage-harmless" } else { "I9 exit-truth" };
                self.complain(name, what);
            }
        }
    }

    /// A node loses its power: what was started there may end without a word.
    pub fn reboots(&mut self, node: &str) {
        let there = self.committed_starts.iter().filter(|(_, on)| *on == node);
        let there: Vec<Run> = there.map(|(run, _)| *run).collect();
        self.may_be_lost.extend(&there);
        self.rebooted.extend(there);
    }

    /// A client was told an id.
    pub fn told(&mut self, request: u64, id: JobId, clients: &Clients) {
        if clients.told.get(&request).is_some_and(|before| *before != id) {
            self.complain("I3 idempotent-submit", format!("request {request} is job {id} too"));
        }
        if clients.told.iter().any(|(other, told)| *told == id && *other != request) {
            self.complain("I2 id-unique-forever", format!("job {id} was told twice"));
        }
    }

    /// A shepherd begins a run.
    pub fn spawns(&mut self, nodes: &[Node], node: &str, run: Run) {
        if !self.spawned.insert(run) {
            self.complain("I4 single-run", format!("{run:?} began twice"));
        }
        let elsewhere = nodes.iter().flat_map(Node::alive).find(|other| other.job == run.job);
        if let Some(other) = elsewhere {
            self.complain("I4 single-run", format!("{run:?} begins while {other:?} runs"));
        }
        if self.committed_starts.get(&run).map(String::as_str) != Some(node) {
            self.complain("I5 launch-commit-first", format!("{run:?} on {node}"));
        }
    }

    /// A shepherd ended its job because nobody was heard for too long: that is not how the job ended.
    pub fn fenced(&mut self, run: Run) {
        self.may_be_lost.insert(run);
        self.fenced.insert(run);
        if self.waits {
            self.complain("I18 outage-harmless", format!("{run:?} was ended for silence"));
        }
    }

    /// The kernel tells a shepherd how its job ended.
    pub fn exits(&mut self, run: Run, exit: ExitStatus) {
        self.exits.insert(run, exit);
    }

    /// An agent says how a run ended.
    pub fn hears(&mut self, run: Run, outcome: Outcome) {
        if let Outcome::Exited(exit) = outcome
            && self.exits.get(&run) != Some(&exit)
        {
            self.complain("I9 exit-truth", format!("{run:?} is reported as {exit:?}"));
        }
    }

    /// After the last fault and some quiet time.
    pub fn at_rest(
        &mut self,
        state: &State,
        replayed: &State,
        rows: &[AccountingRecord],
        nodes: &[Node],
        clients: &Clients,
    ) {
        if state != replayed || *state != self.ledger.state {
            self.complain("I15 replicas-equal", "a restart would find another state".to_string());
        }
        let (has, is) = (rows.len(), self.ledger.records.len());
        if has != is {
            let what = format!("the database has {has} records, the log {is}");
            self.complain("I10 accounting-exactly-once", what);
        }
        for job in state.jobs.values().filter(|job| !job.phase.is_over()) {
            self.complain("liveness", format!("job {} is still {:?}", job.id, job.phase));
        }
        for request in clients.open.keys() {
            self.complain("liveness", format!("request {request} has no answer"));
        }
        for node in nodes {
            for run in node.alive() {
                self.complain("I11 no-orphan", format!("{run:?} still runs on {}", node.name));
            }
            let known = node.agent.as_ref().map_or(0, |agent| agent.table().count());
            if known > 0 {
                self.complain("I11 no-orphan", format!("{} keeps {known} runs", node.name));
            }
        }
    }
}
