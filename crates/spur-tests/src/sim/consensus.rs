//! A cluster of one controller: its disk, its log, and the life it is in.

use std::sync::Arc;

use spur_core::state::{Entry, Settings, State, apply};
use spur_disk::{SimDisk, SimFault};
use spurctld::controller::Controller;
use spurctld::store::{Blobs, Log, Payload, Position, Record, Snapshot, SnapshotMeta};

use super::chance::Chance;

/// The controller's machine.
pub struct Host {
    /// What survives.
    pub disk: SimDisk,
    /// What does not.
    pub life: Option<Life>,
    term: u64,
}

/// A running controller.
pub struct Life {
    /// The shipped core.
    pub controller: Controller<SimDisk>,
    log: Log<SimDisk>,
    position: Position,
    /// A proposal on its way to the disk.
    pub writing: Option<Arc<Vec<Entry>>>,
}

impl Host {
    /// A new machine.
    pub fn new() -> Host {
        Host { disk: SimDisk::new(), life: None, term: 0 }
    }

    /// Starts a controller on what the disk has, and returns the term it leads in.
    pub fn start(&mut self, number: u64) -> u64 {
        let (state, log, position) = self.recover();
        self.term += 1;
        let settings = Settings { min_job_age_secs: 1_000_000, ..Settings::default() };
        let blobs = Blobs::new(self.disk.clone());
        let controller = Controller::new(state, blobs, settings, number);
        self.life = Some(Life { controller, log, position, writing: None });
        self.term
    }

    /// What a restart would find: the state by snapshot and log.
    pub fn recover(&self) -> (State, Log<SimDisk>, Position) {
        let mut blobs = Blobs::new(self.disk.clone());
        let snapshot = Snapshot::load(&self.disk).expect("a snapshot is whole or absent");
        let (mut state, mut position) = match snapshot {
            Some(snapshot) => (
                snapshot.open(&mut blobs).expect("a saved snapshot opens"),
                snapshot.meta.last.unwrap_or_default(),
            ),
            None => (State::new(), Position::default()),
        };
        let has_snapshot = position != Position::default();
        let (log, records) = Log::open(self.disk.clone()).expect("the log recovers by itself");
        for record in records {
            if has_snapshot && record.position.index <= position.index {
                continue;
            }
            position = record.position;
            let Payload::Entries(entries) = record.payload else { continue };
            for entry in &entries {
                for effect in apply(&mut state, entry).effects {
                    if let spur_core::state::Effect::KeepBlob { hash, bytes } = effect {
                        blobs.keep(hash, &bytes).expect("the disk works during recovery");
                    }
                }
            }
        }
        (state, log, position)
    }

    /// The proposal reaches the disk. Committed, unless the disk is full.
    pub fn written(&mut self) -> Option<Arc<Vec<Entry>>> {
        let term = self.term;
        let life = self.life.as_mut()?;
        let entries = life.writing.clone()?;
        let position = Position { term, leader: 1, index: life.log.next_index() };
        let record = Record { position, payload: Payload::Entries(entries.to_vec()) };
        match life.log.append(&[record]) {
            Ok(()) => {
                life.position = position;
                life.writing = None;
                Some(entries)
            }
            Err(_) => None,
        }
    }

    /// Takes a snapshot and cuts the log behind it; a crash may come between the two.
    pub fn compact(&mut self, chance: &mut Chance) {
        let Some(life) = self.life.as_mut() else { return };
        let meta = SnapshotMeta { last: Some(life.position), membership: Vec::new() };
        let state = life.controller.state().clone();
        let mut blobs = Blobs::new(self.disk.clone());
        let snapshot = Snapshot::build(&state, meta, &mut blobs).expect("blobs can be read");
        if snapshot.save(&mut self.disk.clone()).is_ok() && !chance.one_in(4) {
            let _ = life.log.purge(life.position);
        }
    }

    /// Kills the controller; with `power`, the disk forgets what was not synced, and a write under way
    /// may be torn.
    pub fn crash(&mut self, power: bool, chance: &mut Chance) {
        let Some(mut life) = self.life.take() else { return };
        if let Some(entries) = life.writing.take() {
            let position = Position { term: self.term, leader: 1, index: life.log.next_index() };
            let record = Record { position, payload: Payload::Entries(entries.to_vec()) };
            // Written but never synced: some, all or none of it survives, perhaps garbled.
            self.disk.set_fault(Some(SimFault::SyncFails));
            let _ = life.log.append(&[record]);
            self.disk.set_fault(None);
        }
        if power {
            self.disk.crash(|limit| chance.below(limit as u64) as usize);
        }
    }
}
