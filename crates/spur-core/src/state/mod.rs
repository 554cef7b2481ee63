//! The replicated state machine: committed entries go in, in one order; state and effects come out.
//!
//! Nothing here may differ between replicas: no clock, no randomness, no hash order. Whatever could,
//! the leader settles before proposing and writes into the entry.

mod accrual;
mod administer;
mod admission;
mod again;
mod arrays;
mod caps;
pub mod check;
mod control;
mod crontabs;
mod dependencies;
mod effect;
mod entry;
mod fences;
mod het;
mod index;
mod jobs;
mod layers;
pub mod letters;
mod licenses;
mod named;
mod nodes;
pub mod ports;
mod preempt;
mod reboots;
mod repeats;
mod reservations;
mod rules;
mod settings;
mod settle;
mod steps;
pub mod stored;
mod triggers;
pub mod trust;
mod turns;
mod update;
mod used;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use imbl::OrdMap;

pub use crontabs::{CronLine, Crontab, NewLine, SetCrontab};
pub use effect::Effect;
pub use entry::{
    Administer, Assignment, Blob, Command, Control, CreateStep, Displace, Entry, Finish, JobAction,
    JobStart, Noun, Origin, Outcome, RegisterNode, Reply, SignalScope, Submit, Verb,
};
pub use index::Index;
pub use rules::Charged;
pub use settings::Settings;
pub use triggers::{ClearTriggers, Which};
pub use trust::{ChangeTrust, Trust, TrustChange};
pub use used::Used;

use crate::accounts::book::Book;
use crate::accounts::limits::Purse;
use crate::accounts::usage::Usage;
use crate::accounts::{events, record};
use crate::blob::BlobHash;
use crate::errors::SlurmError;
use crate::ids::{JobId, NodeName, Uid};
use crate::job::{Job, Share};
use crate::node::Node;
use crate::partition::Partition;
use crate::reservation::Reservation;
use crate::time::Timestamp;
use crate::trigger::Trigger;
use crate::views::AccountingRecord;

/// Everything the controllers agree on. Cloning is cheap: the maps share their branches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The time of the last entry; never goes back.
    pub now: Timestamp,
    /// The number the next job gets.
    pub next_job: JobId,
    /// Replicated configuration.
    pub settings: Arc<Settings>,
    /// The partitions in force, in the order of the file and then of their creation.
    pub partitions: Arc<Vec<Partition>>,
    /// Jobs that are not forgotten yet.
    pub jobs: OrdMap<JobId, Arc<Job>>,
    /// Nodes that ever joined.
    pub nodes: OrdMap<NodeName, Arc<Node>>,
    /// Reservations by name.
    pub reservations: OrdMap<String, Arc<Reservation>>,
    /// The number the last reservation got.
    pub last_reservation: u32,
    /// Crontabs by their owners.
    pub crontabs: OrdMap<Uid, Arc<Crontab>>,
    /// Triggers by number.
    pub triggers: OrdMap<u32, Arc<Trigger>>,
    /// The number the last trigger got.
    pub next_trigger: u32,
    /// Which controller's life leads.
    pub leader_life: u64,
    /// How many jobs refer to each blob.
    pub blobs: OrdMap<BlobHash, u32>,
    /// Which machines belong to the cluster.
    pub trust: Arc<Trust>,
    /// What can be told from the rest, kept at hand.
    pub index: Index,
    /// Requests carried out lately.
    pub repeats: repeats::Repeats,
    /// The rules of accounting in force.
    pub rules: Arc<Book>,
    /// What the cluster has, as accounting was told last.
    pub capacity: Capacity,
    /// What runs that are over have used.
    pub usage: OrdMap<Purse, Arc<Usage>>,
    /// How far the telling of accounting has come.
    pub history: History,
    /// What the entry at hand has to tell accounting; [`apply`] hands it out.
    pub untold: Vec<AccountingRecord>,
    /// Jobs the entry at hand has changed; empty between entries.
    touched: Vec<JobId>,
}

/// The records made for accounting since the cluster was founded. Every controller makes the same ones
/// and gives them the same numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Tells this log from any other: the founder's life.
    pub birth: u64,
    /// The number of the last record.
    pub records: u64,
}

/// What the cluster has, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Since when.
    pub since: Timestamp,
    /// `cpu=4,mem=4000M,node=1`
    pub tres: String,
    /// Its nodes, compressed.
    pub nodes: String,
}

/// What an entry brought about.
#[derive(Debug, PartialEq)]
pub struct Applied {
    /// The answer for whoever proposed it.
    pub reply: Result<Reply, SlurmError>,
    /// What is to be done about it.
    pub effects: Vec<Effect>,
    /// What accounting is to be told of it.
    pub records: Vec<AccountingRecord>,
}

/// Applies one committed entry. A refused one leaves the state as it was, but for the time.
pub fn apply(state: &mut State, entry: &Entry) -> Applied {
    state.now = state.now.max(entry.at);
    if state.history.birth == 0 {
        state.history.birth = entry.origin.life;
    }
    let (asked, command) = entry.command.asked();
    if let Some(reply) = asked.and_then(|asked| state.repeats.answer(asked)) {
        return Applied { reply: Ok(reply.clone()), effects: vec![], records: vec![] };
    }
    let mut effects = Vec::new();
    let nodes = state.nodes.clone();
    let reservations = state.reservations.clone();
    let reply = match command {
        Command::Configure(settings) => {
            let changed = *state.settings != *settings;
            triggers::configured(state, entry.origin.life, changed);
            settings::configure(state, settings)
        }
        Command::RegisterNode(node) => nodes::register(state, node),
        Command::NodeLost { node } => nodes::lost(state, node),
        Command::AnotherPort { job, epoch, taken } => {
            ports::another(state, *job, *epoch, *taken, &mut effects)
        }
        Command::GiveUp { node, runs } => fences::give_up(state, node, runs, &mut effects),
        Command::Submit(submit) => jobs::submit(state, submit, &mut effects),
        Command::Start(starts) => jobs::start(state, starts, &mut effects),
        Command::Control(control) => control::control(state, control, &mut effects),
        Command::Administer(change) => administer::administer(state, change, &mut effects),
        Command::Warn { job, epoch } => control::warn(state, *job, *epoch, &mut effects),
        Command::DeadlinePassed { job } => control::deadline(state, *job),
        Command::TimeUp { job, epoch } => jobs::time_up(state, *job, *epoch, &mut effects),
        Command::Finished { node, finishes } => jobs::finished(state, node, finishes, &mut effects),
        Command::CreateStep(create) => steps::create(state, create, &mut effects),
        Command::EndStep { job, step, end, by } => {
            steps::end(state, *job, *step, *end, by, &mut effects)
        }
        Command::EndAllocation { job, exit, by } => {
            steps::end_allocation(state, *job, *exit, by, &mut effects)
        }
        Command::ChangeTrust(change) => trust::change(state, change),
        Command::SetRules(rules) => rules::set(state, rules),
        Command::SetCrontab(table) => crontabs::set(state, table, &mut effects),
        Command::SetTrigger(trigger) => triggers::set(state, trigger),
        Command::ClearTriggers(clear) => triggers::clear(state, clear),
        Command::Noticed(notices) => triggers::noticed(state, notices, &mut effects),
        Command::ReservationsPassed => reservations::passed(state),
        Command::RebootsDue => reboots::due(state),
        Command::Accrue(jobs) => accrual::begin(state, jobs),
        Command::Preempt(victims) => preempt::preempt(state, victims, &mut effects),
        Command::GraceOver { job, epoch } => preempt::grace_over(state, *job, *epoch, &mut effects),
        Command::Purge { before } => jobs::purge(state, *before, &mut effects),
        Command::Once { .. } => Ok(Reply::Done),
    };
    if let (Ok(reply), Some(asked)) = (&reply, asked) {
        state.repeats.remember(state.now, asked, reply.clone());
    }
    settle::settle(state, &mut effects);
    if state.settings.accounting {
        let events = events::of_change(state, &nodes);
        state.untold.extend(events);
        let kept = events::of_reservations(state, &reservations);
        state.untold.extend(kept);
    }
    Applied { reply, effects, records: state.tell() }
}

impl State {
    /// A cluster nothing has happened to yet.
    pub fn new() -> State {
        let settings = Arc::<Settings>::default();
        let partitions = Arc::new(settings.partitions.clone());
        State { next_job: JobId(1), settings, partitions, ..State::default() }
    }

    /// Whether two states are one and the same, told without looking at their content. A "no" may be
    /// wrong, a "yes" is not.
    pub fn is_same(&self, other: &State) -> bool {
        self.now == other.now
            && self.next_job == other.next_job
            && Arc::ptr_eq(&self.settings, &other.settings)
            && Arc::ptr_eq(&self.trust, &other.trust)
            && Arc::ptr_eq(&self.partitions, &other.partitions)
            && Arc::ptr_eq(&self.rules, &other.rules)
            && self.jobs.ptr_eq(&other.jobs)
            && self.nodes.ptr_eq(&other.nodes)
            && self.reservations.ptr_eq(&other.reservations)
            && self.crontabs.ptr_eq(&other.crontabs)
            && self.triggers.ptr_eq(&other.triggers)
    }

    /// The partition jobs go to when they name none.
    pub fn default_partition(&self) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.is_default)
    }

    /// The partition of this name.
    pub fn partition(&self, name: &str) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.name == name)
    }

    /// Processors of a node that jobs hold.
    pub fn cpus_used(&self, node: &NodeName) -> u32 {
        let Some(jobs) = self.index.on_node.get(node) else { return 0 };
        if self.is_shared(node) { layers::distinct(self, node) } else { jobs.values().sum() }
    }

    /// Whether some processors of a node may be several jobs' at a time.
    pub fn is_shared(&self, node: &NodeName) -> bool {
        let jobs = self.index.on_node.get(node).into_iter().flat_map(|jobs| jobs.keys());
        jobs.filter_map(|id| self.jobs.get(id)).any(|job| job.granted.layers > 1)
    }

    /// Everything of a node that jobs hold.
    pub fn used_on(&self, node: &NodeName) -> Used {
        let mut used = Used::default();
        let jobs = self.index.on_node.get(node).into_iter().flat_map(|jobs| jobs.keys());
        for job in jobs.filter_map(|id| self.jobs.get(id)) {
            let held = job.phase.holds().into_iter().flat_map(|held| &held.shares);
            for share in held.filter(|share| share.node == *node) {
                used.add(&Share { cpus: job.cpus_of(share), ..share.clone() });
            }
        }
        used
    }

    /// The records of the entry at hand, with their numbers.
    fn tell(&mut self) -> Vec<AccountingRecord> {
        let mut records = std::mem::take(&mut self.untold);
        for record in &mut records {
            self.history.records += 1;
            record.number = self.history.records;
        }
        records
    }

    /// Puts a job in, or in place of its former self, keeps the index true and tells accounting.
    fn put_job(&mut self, mut job: Job) {
        let former = self.jobs.get(&job.id).cloned();
        if self.settings.accounting {
            let records = record::of_job(self, former.as_deref(), &job);
            self.untold.extend(records);
        }
        self.charge(former.as_deref(), &job);
        job.steps.gone.clear();
        self.index.replace(former.as_deref(), Some(&job));
        self.touched.push(job.id);
        self.jobs.insert(job.id, Arc::new(job));
    }

    /// Forgets a job.
    fn drop_job(&mut self, id: JobId) -> Option<Arc<Job>> {
        let job = self.jobs.remove(&id)?;
        self.index.replace(Some(&job), None);
        self.touched.push(id);
        Some(job)
    }
}
