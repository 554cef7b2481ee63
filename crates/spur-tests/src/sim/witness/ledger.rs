//! A second reading of the log, entry by entry: what it makes of the state, of accounting, and of the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::auth::Actor;
use spur_core::ids::JobId;
use spur_core::job::{Array, Cause, Job, Phase};
use spur_core::state::{Applied, Command, Entry, JobStart, Reply, State, apply};
use spur_core::views::AccountingRecord;
use spurd::run::RunId;

use super::Witness;
use crate::sim::books::FEW;
use crate::sim::client::INTRUDER;
use crate::sim::consensus::Committed;

/// What the log says.
pub(super) struct Ledger {
    /// The state after all that was read.
    pub(super) state: State,
    /// The place of the last that was read.
    read: Option<u64>,
    /// What accounting is to be told.
    pub(super) records: Vec<AccountingRecord>,
    /// How much of that the database was seen to have.
    booked: usize,
    /// Jobs that wait for another to end well, as they were submitted.
    after: BTreeMap<JobId, JobId>,
    ended_well: BTreeSet<JobId>,
    /// Of an array, if one of its tasks did.
    ended_badly: BTreeSet<JobId>,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            state: State::new(),
            read: None,
            records: Vec::new(),
            booked: 0,
            after: BTreeMap::new(),
            ended_well: BTreeSet::new(),
            ended_badly: BTreeSet::new(),
        }
    }
}

impl Ledger {
    /// Notes how a job ended.
    pub(super) fn ends(&mut self, job: &Job) {
        if ended_well(job) {
            self.ended_well.insert(job.id);
        } else {
            self.ended_badly.insert(job.array_id().unwrap_or(job.id));
        }
    }

    /// Whether a state still knows a job, and if it or one of its tasks ended badly, that too.
    fn remembers(&self, id: JobId, state: &State) -> bool {
        let mut records = state.array(id).chain(state.jobs.get(&id)).peekable();
        records.peek().is_some()
            && (!self.ended_badly.contains(&id)
                || records.any(|job| job.phase.is_over() && !ended_well(job)))
    }
}

fn ended_well(job: &Job) -> bool {
    matches!(&job.phase, Phase::Ended { cause: Cause::Exited, exit, .. } if exit.is_success())
}

impl Witness {
    /// Reads on in the log. What stands there already was read before.
    pub(super) fn read(&mut self, (place, entries): &Committed) {
        if self.ledger.read.is_some_and(|read| *place <= read) {
            return;
        }
        self.ledger.read = Some(*place);
        for entry in entries.iter() {
            let before = self.ledger.state.clone();
            let applied = apply(&mut self.ledger.state, entry);
            self.is_entered(entry, &applied, &before);
            self.ledger.records.extend(applied.records);
        }
    }

    fn is_entered(&mut self, entry: &Entry, applied: &Applied, before: &State) {
        self.notes(entry);
        self.denies(entry, applied, before);
        match &entry.command {
            Command::Submit(submit) => {
                let waits_for = submit.spec.dependency.strip_prefix("afterok:");
                let waits_for = waits_for.and_then(|id| id.parse().ok()).map(JobId);
                let waits_for = waits_for.filter(|id| self.ledger.remembers(*id, before));
                if let (Ok(Reply::Job(id)), Some(other)) = (&applied.reply, waits_for) {
                    self.ledger.after.insert(*id, other);
                }
            }
            Command::Start(starts) => {
                starts.iter().for_each(|start| self.starts(start, before));
                self.keeps_limits();
            }
            _ => {}
        }
        if !before.jobs.ptr_eq(&self.ledger.state.jobs) {
            let jobs: Vec<Arc<Job>> = self.ledger.state.jobs.values().cloned().collect();
            jobs.iter().for_each(|job| self.look_at(job));
        }
    }

    /// A start was committed, or refused by the state.
    fn starts(&mut self, start: &JobStart, before: &State) {
        let state = &self.ledger.state;
        let job = match start.task {
            Some(index) => state.task_of(start.job, index),
            None => state.jobs.get(&start.job),
        };
        let Some(job) = job.cloned() else { return };
        let ran = before.jobs.get(&job.id).is_some_and(|it| it.phase != Phase::Pending);
        if job.epoch != start.epoch || job.phase == Phase::Pending || ran {
            return;
        }
        let node = job.phase.holds().and_then(|held| held.first_node()).map(ToString::to_string);
        self.committed_starts.insert(RunId::batch(job.id, job.epoch), node.unwrap_or_default());
        let Some(other) = self.ledger.after.get(&job.array_id().unwrap_or(job.id)).copied() else {
            return;
        };
        let is_array = self.ledger.state.array(other).next().is_some();
        let well = is_array || self.ledger.ended_well.contains(&other);
        if !well || self.ledger.ended_badly.contains(&other) {
            let what = format!("job {} starts after {other}, which did not end well", job.id);
            self.complain("I14 rules-hold", what);
        }
    }

    /// No limit is exceeded, not even for a moment.
    fn keeps_limits(&mut self) {
        let mut tasks: BTreeMap<JobId, (u32, u32)> = BTreeMap::new();
        let mut few = 0;
        for job in self.ledger.state.jobs.values() {
            if job.spec.qos == FEW.0 && matches!(job.phase, Phase::Running { .. }) {
                few += 1;
            }
            if let Some(Array::Task { of, throttle, .. }) = job.array.as_deref()
                && job.phase.holds().is_some()
            {
                let (most, there) = tasks.entry(*of).or_default();
                *most = *throttle;
                *there += 1;
            }
        }
        for (array, (most, there)) in tasks {
            if there > most && most > 0 {
                self.complain("I14 rules-hold", format!("{there} tasks of {array} at once"));
            }
        }
        if few > FEW.1 {
            self.complain("I14 rules-hold", format!("{few} jobs of QOS {} at once", FEW.0));
        }
    }

    /// Who may do nothing has changed nothing.
    fn denies(&mut self, entry: &Entry, applied: &Applied, before: &State) {
        let by = match &entry.command {
            Command::Control(control) => &control.by,
            Command::Administer(change) => &change.by,
            _ => return,
        };
        if !matches!(by, Actor::User { uid, .. } if *uid == INTRUDER) {
            return;
        }
        let after = &self.ledger.state;
        let is_same = before.jobs.ptr_eq(&after.jobs)
            && before.nodes.ptr_eq(&after.nodes)
            && before.reservations.ptr_eq(&after.reservations);
        if applied.reply.is_ok() || !applied.effects.is_empty() || !is_same {
            self.complain("I17 deny-is-deny", format!("{:?}", entry.command));
        }
    }

    /// The database has taken in records: each is the log's, in the log's order.
    pub fn booked(&mut self, rows: &[AccountingRecord]) {
        let fresh = self.ledger.booked..rows.len();
        for place in fresh {
            if self.ledger.records.get(place) != Some(&rows[place]) {
                let number = rows[place].number;
                let what = format!("record {number} in place {} is not the log's", place + 1);
                return self.complain("I10 accounting-exactly-once", what);
            }
        }
        self.ledger.booked = rows.len();
    }
}
