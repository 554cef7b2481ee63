//! The shepherds of this node's runs: started, watched, told to end a run, and mourned.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use spur_core::ids::{Epoch, JobId};
use spur_core::state::Outcome;
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

use crate::claim::Claim;
use crate::ending::Ending;
use crate::machine::pidfd::{Pidfd, Watched};
use crate::machine::spawn;
use crate::recover::{self, Fate, Remains};

/// Every run that is not over.
pub struct Runs {
    spool: PathBuf,
    boot_id: String,
    /// Where shepherds complain before they can write an ending.
    log: File,
    runs: BTreeMap<(JobId, Epoch), Care>,
    sender: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
}

/// How a run is being cared for.
#[derive(Default)]
struct Care {
    /// None between two attempts to start one.
    shepherd: Option<Arc<Watched>>,
    /// Remembered, since a shepherd that has claimed nothing yet may die of being told.
    is_to_end: bool,
    failures: u32,
}

/// Something happened to a run.
pub enum Event {
    /// Its shepherd has ended.
    ShepherdEnded(JobId, Epoch),
    /// It is time to look at it again.
    LookAgain(JobId, Epoch),
    /// Nothing is left of it.
    Removed(JobId, Epoch),
}

impl Runs {
    /// Cares for nobody yet.
    pub fn new(spool: &Path, boot_id: &str) -> Result<Runs> {
        let path = spool.join("shepherd.log");
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let (sender, events) = mpsc::unbounded_channel();
        Ok(Runs {
            spool: spool.to_path_buf(),
            boot_id: boot_id.to_string(),
            log: log.with_context(|| format!("could not open {}", path.display()))?,
            runs: BTreeMap::new(),
            sender,
            events,
        })
    }

    /// The next event.
    pub async fn next(&mut self) -> Event {
        match self.events.recv().await {
            Some(event) => event,
            // We hold a sender ourselves.
            None => std::future::pending().await,
        }
    }

    /// An event that has happened already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// Takes over a run of an earlier life.
    pub fn adopt(&mut self, job: JobId, epoch: Epoch, fate: io::Result<Fate>) {
        self.runs.insert((job, epoch), Care::default());
        // Neither of those is over at once.
        let _ = self.meet(job, epoch, fate);
    }

    /// Gives a run to a new shepherd.
    pub fn spawn(&mut self, job: JobId, epoch: Epoch) {
        self.runs.entry((job, epoch)).or_default();
        self.start(job, epoch);
    }

    /// Has a run ended. Its shepherd asks first, then insists.
    pub fn kill(&mut self, job: JobId, epoch: Epoch) {
        let Some(care) = self.runs.get_mut(&(job, epoch)) else { return };
        info!(%job, %epoch, "to be ended");
        care.is_to_end = true;
        if let Some(shepherd) = &care.shepherd {
            tell_to_end(shepherd);
        }
    }

    /// Takes in an event; a run that is over is returned and no longer cared for.
    pub fn on(&mut self, event: Event) -> Option<(JobId, Epoch, Outcome)> {
        let (job, epoch, outcome) = match event {
            Event::ShepherdEnded(job, epoch) => {
                let care = self.runs.get_mut(&(job, epoch))?;
                care.shepherd.take()?.reap();
                let fate = recover::look(&self.spool, job, epoch, &self.boot_id);
                if matches!(fate, Ok(Fate::Unclaimed)) && !care.is_to_end {
                    warn!(%job, %epoch, "a shepherd died before it took the run, see shepherd.log");
                    self.look_again_later(job, epoch);
                    return None;
                }
                (job, epoch, self.meet(job, epoch, fate)?)
            }
            Event::LookAgain(job, epoch) => {
                self.runs.get(&(job, epoch))?;
                let fate = recover::look(&self.spool, job, epoch, &self.boot_id);
                (job, epoch, self.meet(job, epoch, fate)?)
            }
            Event::Removed(job, epoch) => (job, epoch, Outcome::Lost),
        };
        self.runs.remove(&(job, epoch))?;
        info!(%job, %epoch, ?outcome, "over");
        Some((job, epoch, outcome))
    }

    /// Does what a run needs; returns how it ended if it is over.
    fn meet(&mut self, job: JobId, epoch: Epoch, fate: io::Result<Fate>) -> Option<Outcome> {
        let care = self.runs.get(&(job, epoch))?;
        match fate {
            Ok(Fate::Over(ending)) => {
                if let Ending::CouldNotStart(reason) | Ending::NodeFault(reason) = &ending {
                    warn!(%job, %epoch, "could not start: {reason}");
                }
                return Some(ending.outcome());
            }
            Ok(Fate::Alive(shepherd)) => self.watch(job, epoch, shepherd),
            Ok(Fate::Gone(claim)) => self.remove_remains(job, epoch, claim),
            Ok(Fate::Unclaimed) if care.is_to_end => return self.give_up(job, epoch),
            Ok(Fate::Unclaimed) if care.failures >= MOST_FAILURES => {
                error!(%job, %epoch, "no shepherd could be started; giving up");
                return self.give_up(job, epoch);
            }
            Ok(Fate::Unclaimed) => self.start(job, epoch),
            Err(error) => {
                error!(%job, %epoch, "could not look at the run: {error}");
                self.look_again_later(job, epoch);
            }
        }
        None
    }

    fn start(&mut self, job: JobId, epoch: Epoch) {
        match spawn::shepherd(&self.spool, job, epoch, &self.log) {
            Ok(shepherd) => {
                debug!(%job, %epoch, "given to a shepherd");
                self.watch(job, epoch, shepherd);
            }
            Err(error) => {
                error!(%job, %epoch, "could not start a shepherd: {error}");
                self.look_again_later(job, epoch);
            }
        }
    }

    fn watch(&mut self, job: JobId, epoch: Epoch, shepherd: Pidfd) {
        let shepherd = match Watched::new(shepherd) {
            Ok(shepherd) => Arc::new(shepherd),
            Err(error) => {
                error!(%job, %epoch, "could not watch the shepherd: {error}");
                return self.look_again_later(job, epoch);
            }
        };
        let care = self.runs.entry((job, epoch)).or_default();
        care.shepherd = Some(shepherd.clone());
        if care.is_to_end {
            tell_to_end(&shepherd);
        }
        let events = self.sender.clone();
        tokio::spawn(async move {
            if let Err(error) = shepherd.ended().await {
                error!(%job, %epoch, "could not watch the shepherd: {error}");
            }
            let _ = events.send(Event::ShepherdEnded(job, epoch));
        });
    }

    /// Takes the run ourselves, so that no shepherd that is late can begin it after we have said that it
    /// is over.
    fn give_up(&mut self, job: JobId, epoch: Epoch) -> Option<Outcome> {
        match Claim::own().and_then(|own| own.take(&self.spool, job, epoch)) {
            Ok(true) => return Some(Outcome::Lost),
            Ok(false) => {}
            Err(error) => error!(%job, %epoch, "could not give the run up: {error}"),
        }
        self.look_again_later(job, epoch);
        None
    }

    fn remove_remains(&mut self, job: JobId, epoch: Epoch, claim: Claim) {
        error!(%job, %epoch, "shepherd lost; ending what is left of the run");
        let remains = Remains::new(&self.spool, job, epoch, claim);
        let events = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            remains.remove();
            let _ = events.send(Event::Removed(job, epoch));
        });
    }

    fn look_again_later(&mut self, job: JobId, epoch: Epoch) {
        let care = self.runs.entry((job, epoch)).or_default();
        care.failures += 1;
        let pause = (SHORTEST_PAUSE * care.failures).min(LONGEST_PAUSE);
        let events = self.sender.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ = events.send(Event::LookAgain(job, epoch));
        });
    }
}

const MOST_FAILURES: u32 = 10;
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

fn tell_to_end(shepherd: &Watched) {
    if let Err(error) = shepherd.signal(libc::SIGTERM) {
        debug!("a shepherd is gone already: {error}");
    }
}
