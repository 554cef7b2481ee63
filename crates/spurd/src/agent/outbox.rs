//! Reports that the controller has not confirmed yet. They are on disk before they are sent.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use spur_core::state::Outcome;
use spur_core::views::Usage;
use spur_disk::{Disk, Error, frame};
use spur_proto::internal::{self, Report};

use super::Account;
use crate::run::RunId;

const FILE: &str = "outbox";

/// Reports in the order they were made.
#[derive(Default)]
pub struct Outbox {
    waiting: BTreeMap<u64, Report>,
    runs: BTreeSet<RunId>,
    /// The first that is not on disk yet.
    fresh: u64,
    next: u64,
    durable: u64,
}

impl Outbox {
    /// Reads what an earlier life left. A torn tail was never sent, so it is cut off.
    pub fn open(disk: &mut impl Disk) -> Result<Outbox, Error> {
        let bytes = disk.read(FILE)?.unwrap_or_default();
        let scan = frame::scan(&bytes);
        if scan.good < bytes.len() as u64 {
            disk.truncate(FILE, scan.good)?;
        }
        let mut outbox = Outbox { next: 1, durable: scan.good, ..Outbox::default() };
        for frame in scan.frames {
            let Ok(report) = Report::decode(frame.payload) else { continue };
            outbox.next = outbox.next.max(report.sequence + 1);
            outbox.runs.insert(run(&report));
            outbox.waiting.insert(report.sequence, report);
        }
        outbox.fresh = outbox.next;
        Ok(outbox)
    }

    /// Puts in a report, unless the run is reported already.
    pub fn add(&mut self, run: RunId, outcome: Outcome, account: Account) {
        if self.runs.insert(run) {
            let Account { usage, said } = account;
            let usage = Some(usage).filter(|usage| *usage != Usage::default());
            let report = Report { usage, said, ..report(self.next, run, outcome) };
            self.waiting.insert(self.next, report);
            self.next += 1;
        }
    }

    /// Writes and syncs what is not on disk yet, all of it at once, and returns it.
    pub fn flush(&mut self, disk: &mut impl Disk) -> Result<Vec<Report>, Error> {
        let fresh = self.waiting.range(self.fresh..);
        let reports: Vec<Report> = fresh.map(|(_, report)| report.clone()).collect();
        if reports.is_empty() {
            return Ok(reports);
        }
        let mut bytes = Vec::new();
        for report in &reports {
            frame::write(&mut bytes, self.durable, self.durable, &report.encode_to_vec());
        }
        disk.append(FILE, &bytes)?;
        disk.sync(FILE)?;
        self.durable += bytes.len() as u64;
        self.fresh = self.next;
        Ok(reports)
    }

    /// Everything on disk that is not confirmed.
    pub fn waiting(&self) -> Vec<Report> {
        self.waiting.range(..self.fresh).map(|(_, report)| report.clone()).collect()
    }

    /// The runs that are reported and not confirmed.
    pub fn waiting_runs(&self) -> impl Iterator<Item = RunId> {
        self.runs.iter().copied()
    }

    /// Drops confirmed reports and tells which runs they were about.
    pub fn acknowledge(&mut self, sequences: &[u64]) -> Vec<RunId> {
        let known = sequences.iter().filter_map(|sequence| self.waiting.remove(sequence));
        let runs: Vec<RunId> = known.map(|report| run(&report)).collect();
        runs.iter().for_each(|run| {
            self.runs.remove(run);
        });
        runs
    }

    /// Writes the file anew with what still waits, once enough of it is confirmed. Until then confirmed
    /// reports in it are harmless: said again after a restart, they change nothing.
    pub fn compact(&mut self, disk: &mut impl Disk) -> Result<(), Error> {
        if self.durable < COMPACT_AT {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for report in self.waiting() {
            frame::write(&mut bytes, 0, 0, &report.encode_to_vec());
        }
        disk.replace(FILE, &bytes)?;
        self.durable = bytes.len() as u64;
        Ok(())
    }
}

fn run(report: &Report) -> RunId {
    RunId::from(report)
}

/// Writing the file anew costs a sync, so it waits until it is worth one.
const COMPACT_AT: u64 = 1 << 20;

/// A report as the wire has it.
pub fn report(sequence: u64, run: RunId, outcome: Outcome) -> Report {
    let (outcome, exit_status) = match outcome {
        Outcome::Exited(exit) => (internal::Outcome::Exited, exit.to_wait()),
        Outcome::CouldNotStart => (internal::Outcome::CouldNotStart, 0),
        Outcome::Lost => (internal::Outcome::Lost, 0),
        Outcome::OutOfMemory => (internal::Outcome::OutOfMemory, 0),
        Outcome::PrologFailed => (internal::Outcome::PrologFailed, 0),
        Outcome::EpilogFailed => (internal::Outcome::EpilogFailed, 0),
        Outcome::NodeFault => (internal::Outcome::NodeFault, 0),
        Outcome::ShepherdLost => (internal::Outcome::ShepherdLost, 0),
    };
    Report {
        sequence,
        job: run.job.0,
        epoch: run.epoch.0,
        step: spur_proto::step_name(run.step),
        outcome: outcome.into(),
        exit_status,
        usage: None,
        said: String::new(),
    }
}
