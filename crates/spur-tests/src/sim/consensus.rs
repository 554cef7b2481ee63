//! A cluster of one controller: its disk, its log, and the life it is in.

use std::sync::{Arc, OnceLock};

use spur_core::config::words::Unreachable;
use spur_core::config::{self, Config, Seconds};
use spur_core::state::{Entry, Settings, State, apply};
use spur_disk::{SimDisk, SimFault};
use spur_sched::Planner;
use spurctld::accounting::outbox::{Outbox, Reader};
use spurctld::controller::Controller;
use spurctld::store::{Blobs, Log, Payload, Position, Record, Snapshot, SnapshotMeta};

use super::chance::Chance;

/// Jobs of one partition displace those of the other, which have some seconds to end by themselves. Limits hold.
const CLUSTER: &str = "\
    [jobs]\nrequeue_delay = 0\n\
    [accounting]\nenforce = [\"limits\"]\n\
    [preemption]\nby = \"partition_tier\"\nmode = \"requeue\"\n\
    [[partitions]]\nname = \"low\"\ndefault = true\ngrace_time = 5\n\
    [[partitions]]\nname = \"high\"\npriority_tier = 2\n";

/// Short enough that lines are cut for longer than this.
const FENCE_SECS: u64 = 20;

/// The controller's machine.
pub struct Host {
    /// What survives.
    pub disk: SimDisk,
    /// What does not.
    pub life: Option<Life>,
    term: u64,
}

/// Entries that were committed together, and their place in the log.
pub type Committed = (u64, Arc<Vec<Entry>>);

type Opened = (State, Blobs<SimDisk>, Log<SimDisk>, Vec<Committed>, Position);

/// A running controller.
pub struct Life {
    /// The shipped core.
    pub controller: Controller<SimDisk>,
    /// It plans with what it knows from the pass before.
    pub planner: Planner,
    /// Records that wait for the database.
    pub outbox: Outbox<SimDisk>,
    /// Where the sender of records stands in the files.
    pub reader: Reader,
    /// How far the database has come, once it has said so.
    pub acknowledged: Option<u64>,
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

    /// Starts a controller on what the disk has, and returns the term it leads in; on a full disk it
    /// does not start.
    pub fn start(
        &mut self,
        number: u64,
        min_job_age_secs: u32,
        fences: bool,
    ) -> Option<(u64, Vec<Committed>)> {
        let (state, blobs, log, records, position) = self.open()?;
        let outbox = Outbox::open(self.disk.clone()).ok()?;
        self.term += 1;
        let settings = settings(min_job_age_secs, fences);
        let life = Life {
            controller: Controller::new(state, blobs, settings, number),
            planner: Planner::default(),
            outbox,
            reader: Reader::default(),
            acknowledged: None,
            log,
            position,
            writing: None,
        };
        self.life = Some(life);
        Some((self.term, records))
    }

    /// What the disk has: the snapshot's state, and the entries behind it.
    fn open(&self) -> Option<Opened> {
        let mut blobs = Blobs::new(self.disk.clone());
        let snapshot = Snapshot::load(&self.disk).expect("a snapshot is whole or absent");
        let covered = snapshot.as_ref().and_then(|snapshot| snapshot.meta.last);
        let state = match snapshot {
            Some(snapshot) => snapshot.open(&mut blobs).ok()?,
            None => State::new(),
        };
        let (log, records) = Log::open(self.disk.clone()).expect("the log recovers by itself");
        let mut position = covered.unwrap_or_default();
        let mut committed = Vec::new();
        for record in records {
            if covered.is_some_and(|covered| record.position.index <= covered.index) {
                continue;
            }
            position = record.position;
            if let Payload::Entries(entries) = record.payload {
                committed.push((record.position.index, entries));
            }
        }
        Some((state, blobs, log, committed, position))
    }

    /// What a restart would find in the end.
    pub fn replayed(&self) -> Option<State> {
        let (mut state, _, _, committed, _) = self.open()?;
        for entry in committed.iter().flat_map(|(_, entries)| entries.iter()) {
            apply(&mut state, entry);
        }
        Some(state)
    }

    /// The proposal reaches the disk. Committed, unless the disk is full.
    pub fn written(&mut self) -> Option<Committed> {
        let term = self.term;
        let life = self.life.as_mut()?;
        let entries = life.writing.clone()?;
        let position = Position { term, leader: 1, index: life.log.next_index() };
        let record = Record { position, payload: Payload::Entries(entries.clone()) };
        match life.log.append(&[record]) {
            Ok(()) => {
                life.position = position;
                life.writing = None;
                Some((position.index, entries))
            }
            Err(_) => None,
        }
    }

    /// Takes a snapshot and cuts the log behind it; a crash may come between the two. Records for accounting are
    /// on the disk before: the log can no longer tell them again.
    pub fn compact(&mut self, chance: &mut Chance) {
        let Some(life) = self.life.as_mut() else { return };
        if life.outbox.sync().is_err() {
            return;
        }
        let meta = SnapshotMeta { last: Some(life.position), membership: Vec::new() };
        let state = life.controller.state().clone();
        let mut blobs = Blobs::new(self.disk.clone());
        // A blob that still waits for room is not lost: the snapshot is taken another time.
        let Ok(snapshot) = Snapshot::build(&state, meta, &mut blobs) else { return };
        if snapshot.save(&mut self.disk.clone()).is_ok() && !chance.one_in(4) {
            let _ = life.log.purge(life.position);
        }
    }

    /// Kills the controller; with `power`, the disk forgets what was not synced, and a write under way
    /// may be torn.
    pub fn crash(&mut self, power: bool, chance: &mut Chance) {
        self.stop();
        if power {
            self.disk.crash(|limit| chance.below(limit as u64) as usize);
        }
    }

    /// Takes the controller from its machine. What it was writing is written, but was never synced.
    pub fn stop(&mut self) -> Option<Life> {
        let mut life = self.life.take()?;
        if let Some(entries) = life.writing.take() {
            let position = Position { term: self.term, leader: 1, index: life.log.next_index() };
            let record = Record { position, payload: Payload::Entries(entries) };
            // Some, all or none of it survives a power cut, perhaps garbled.
            let fault = self.disk.fault();
            self.disk.set_fault(Some(SimFault::SyncFails));
            let _ = life.log.append(&[record]);
            self.disk.set_fault(fault);
        }
        // From now on the disk is another process's.
        self.disk = self.disk.kill();
        Some(life)
    }
}

fn settings(min_job_age_secs: u32, fences: bool) -> Settings {
    static FILE: OnceLock<Config> = OnceLock::new();
    let file = FILE.get_or_init(|| config::read(CLUSTER).expect("is in order"));
    let mut config = file.clone();
    config.timeouts.min_job_age = Seconds(min_job_age_secs.into());
    if fences {
        config.cluster.unreachable = Unreachable::Fence;
        config.cluster.fence_after = Seconds(FENCE_SECS);
    }
    let mut settings = Settings::of(&config);
    settings.accounting = true;
    settings
}
