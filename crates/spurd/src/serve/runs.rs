//! The shepherds of this node's runs: started, watched, told to end a run, and mourned.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use spur_core::ids::StepId;
use spur_core::state::Outcome;
use tokio::sync::{mpsc, watch};
use tracing::{debug, error, info, warn};

use crate::agent::{Account, RunFile};
use crate::claim::Claim;
use crate::ending::Ending;
use crate::machine::child;
use crate::machine::nursery::Nursery;
use crate::machine::pidfd::NOTICE;
use crate::recover::{self, Fate, Remains};
use crate::run::RunId;

use super::flock::{Flock, Shepherd, Turn};

/// Every run that is not over.
pub struct Runs {
    spool: PathBuf,
    boot_id: String,
    flock: Flock,
    runs: BTreeMap<RunId, Care>,
    sender: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Counts the steps that were given to shepherds.
    begun: watch::Sender<u64>,
}

/// How a run is being cared for.
#[derive(Default)]
struct Care {
    /// None between two attempts to start one.
    shepherd: Option<Arc<Shepherd>>,
    /// Whose run it is, where that is known.
    user: Option<u32>,
    /// Remembered, since a shepherd that has claimed nothing yet may die of being told.
    is_to_end: bool,
    failures: u32,
}

/// Something happened to a run.
pub enum Event {
    /// Its shepherd has done with it, and waits for another.
    ShepherdRests(RunId),
    /// Its shepherd has ended.
    ShepherdEnded(RunId),
    /// It is time to look at it again.
    LookAgain(RunId),
    /// Nothing is left of it.
    Removed(RunId),
}

impl Runs {
    /// Cares for nobody yet.
    pub fn new(spool: &Path, boot_id: &str) -> Result<Runs> {
        let path = spool.join("shepherd.log");
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let log = log.with_context(|| format!("could not open {}", path.display()))?;
        let (sender, events) = mpsc::unbounded_channel();
        Ok(Runs {
            spool: spool.to_path_buf(),
            boot_id: boot_id.to_string(),
            flock: Flock::new(spool, Nursery::new(spool, log)),
            runs: BTreeMap::new(),
            sender,
            events,
            begun: watch::Sender::new(0),
        })
    }

    /// Tells when another step has been given to a shepherd.
    pub fn begun(&self) -> watch::Receiver<u64> {
        self.begun.subscribe()
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
    pub fn adopt(&mut self, run: RunId, fate: io::Result<Fate>) {
        self.runs.insert(run, Care::default());
        // Neither of those is over at once.
        let _ = self.meet(run, fate);
    }

    /// Gives a user's run to a shepherd, and with it an empty file that may be to spare.
    pub fn spawn(&mut self, run: RunId, user: Option<u32>, spare: Option<PathBuf>) {
        self.runs.entry(run).or_default().user = user;
        self.start(run, spare);
    }

    /// Lets shepherds go that nobody needs.
    pub fn tidy(&mut self) {
        self.flock.tidy();
    }

    /// Has a run ended. Its shepherd asks first, then insists.
    pub fn kill(&mut self, run: RunId) {
        let Some(care) = self.runs.get_mut(&run) else { return };
        info!(%run, "to be ended");
        care.is_to_end = true;
        if let Some(shepherd) = &care.shepherd {
            tell_to_end(shepherd);
        }
    }

    /// Passes a signal on through its shepherd.
    pub fn signal(&mut self, run: RunId, signal: i32, script_only: bool) {
        let Some(shepherd) = self.runs.get(&run).and_then(|care| care.shepherd.as_ref()) else {
            return;
        };
        info!(%run, signal, "signalled");
        if let Err(error) = shepherd.queue(signal, script_only) {
            debug!("a shepherd is gone already: {error}");
        }
    }

    /// Has the shepherd put words into the output of its run.
    pub fn notice(&mut self, run: RunId, words: &str) {
        let Some(shepherd) = self.runs.get(&run).and_then(|care| care.shepherd.as_ref()) else {
            return;
        };
        let path = self.spool.join(RunFile::Words.name(run));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let written = file.and_then(|mut file| file.write_all(format!("{words}\0").as_bytes()));
        match written.and_then(|()| shepherd.queue(NOTICE, false)) {
            Ok(()) => info!(%run, "was told something"),
            Err(error) => warn!(%run, "could not be told something: {error}"),
        }
    }

    /// Has people find in the output of its run that it was ended, where, when and why, in Slurm's words.
    pub fn farewell(&mut self, run: RunId, node: &str, why: &str) {
        if self.runs.get(&run).is_some_and(|care| !care.is_to_end) {
            let at = child::local_time();
            let what = match run.step {
                StepId::BATCH => format!("JOB {}", run.job),
                step => format!("STEP {}.{step}", run.job),
            };
            let why = if why.is_empty() { String::new() } else { format!(" {why}") };
            self.notice(run, &format!("*** {what} ON {node} CANCELLED AT {at}{why} ***"));
        }
    }

    /// Takes in an event; a run that is over is returned and no longer cared for.
    pub fn on(&mut self, event: Event) -> Option<(RunId, Outcome, Account)> {
        let (run, (outcome, account)) = match event {
            Event::ShepherdRests(run) => {
                let care = self.runs.get_mut(&run)?;
                let shepherd = care.shepherd.take()?;
                // One that was told to end a run may still have to hear it.
                if !care.is_to_end {
                    self.flock.rest(shepherd);
                }
                let fate = recover::look(&self.spool, run, &self.boot_id);
                (run, self.meet(run, fate)?)
            }
            Event::ShepherdEnded(run) => {
                let care = self.runs.get_mut(&run)?;
                care.shepherd.take()?.reap();
                let fate = recover::look(&self.spool, run, &self.boot_id);
                if matches!(fate, Ok(Fate::Unclaimed)) && !care.is_to_end {
                    warn!(%run, "a shepherd died before it took the run, see shepherd.log");
                    self.look_again_later(run);
                    return None;
                }
                (run, self.meet(run, fate)?)
            }
            Event::LookAgain(run) => {
                self.runs.get(&run)?;
                let fate = recover::look(&self.spool, run, &self.boot_id);
                (run, self.meet(run, fate)?)
            }
            Event::Removed(run) => (run, (Outcome::ShepherdLost, Account::default())),
        };
        self.runs.remove(&run)?;
        info!(%run, ?outcome, "over");
        Some((run, outcome, account))
    }

    /// Does what a run needs; returns how it ended if it is over.
    fn meet(&mut self, run: RunId, fate: io::Result<Fate>) -> Option<(Outcome, Account)> {
        let care = self.runs.get(&run)?;
        match fate {
            Ok(Fate::Over(last)) => {
                match &last.ending {
                    Ending::CouldNotStart(reason) | Ending::NodeFault(reason) => {
                        warn!(%run, "could not start: {reason}");
                    }
                    Ending::PrologFailed(reason) => error!(%run, "prolog failed: {reason}"),
                    Ending::EpilogFailed(reason) => error!(%run, "epilog failed: {reason}"),
                    Ending::Exited(_) | Ending::OutOfMemory => {}
                }
                return Some((last.ending.outcome(), last.account()));
            }
            Ok(Fate::Alive(shepherd)) => {
                let shepherd = Shepherd::adopted(shepherd).map(Arc::new);
                self.watch_or_look_again(run, shepherd);
            }
            Ok(Fate::Gone(claim)) => self.remove_remains(run, claim),
            Ok(Fate::Unclaimed) if care.is_to_end => return self.give_up(run, Outcome::Lost, ""),
            Ok(Fate::Unclaimed) if care.failures >= MOST_FAILURES => {
                error!(%run, "no shepherd could be started; giving up");
                return self.give_up(run, Outcome::NodeFault, "no shepherd could be started");
            }
            Ok(Fate::Unclaimed) => self.start(run, None),
            Err(error) => {
                error!(%run, "could not look at the run: {error}");
                self.look_again_later(run);
            }
        }
        None
    }

    fn start(&mut self, run: RunId, spare: Option<PathBuf>) {
        let user = self.runs.get(&run).and_then(|care| care.user);
        let shepherd = self
            .listener(run)
            .and_then(|listener| self.flock.give(run, user, listener.as_ref(), spare.as_deref()));
        if shepherd.is_ok() {
            self.begun.send_modify(|count| *count += 1);
            debug!(%run, "given to a shepherd");
        }
        self.watch_or_look_again(run, shepherd);
    }

    /// Where a step's shepherd will take over connections. Made here, so that who comes before it waits
    /// in line instead of finding nothing.
    fn listener(&self, run: RunId) -> io::Result<Option<UnixListener>> {
        if matches!(run.step, StepId::BATCH | StepId::EXTERN) {
            return Ok(None);
        }
        let path = self.spool.join(RunFile::Socket.name(run));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => UnixListener::bind(path).map(Some),
        }
    }

    fn watch_or_look_again(&mut self, run: RunId, shepherd: io::Result<Arc<Shepherd>>) {
        match shepherd {
            Ok(shepherd) => self.watch(run, shepherd),
            Err(error) => {
                error!(%run, "could not find a shepherd: {error}");
                self.look_again_later(run);
            }
        }
    }

    fn watch(&mut self, run: RunId, shepherd: Arc<Shepherd>) {
        let care = self.runs.entry(run).or_default();
        care.shepherd = Some(shepherd.clone());
        if care.is_to_end {
            tell_to_end(&shepherd);
        }
        let events = self.sender.clone();
        tokio::spawn(async move {
            let event = match shepherd.done().await {
                Ok(Turn::Rests) => Event::ShepherdRests(run),
                Ok(Turn::Ended) => Event::ShepherdEnded(run),
                Err(error) => {
                    error!(%run, "could not watch the shepherd: {error}");
                    Event::ShepherdEnded(run)
                }
            };
            let _ = events.send(event);
        });
    }

    /// Takes the run ourselves, so that no shepherd that is late can begin it after we have said that it
    /// is over.
    fn give_up(&mut self, run: RunId, outcome: Outcome, said: &str) -> Option<(Outcome, Account)> {
        match Claim::own().and_then(|own| own.take(&self.spool, run, None)) {
            Ok(true) => {
                let said = said.to_string();
                return Some((outcome, Account { said, ..Account::default() }));
            }
            Ok(false) => {}
            Err(error) => error!(%run, "could not give the run up: {error}"),
        }
        self.look_again_later(run);
        None
    }

    fn remove_remains(&mut self, run: RunId, claim: Claim) {
        error!(%run, "shepherd lost; ending what is left of the run");
        let remains = Remains::new(&self.spool, run, claim);
        let events = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            remains.remove();
            let _ = events.send(Event::Removed(run));
        });
    }

    fn look_again_later(&mut self, run: RunId) {
        let care = self.runs.entry(run).or_default();
        care.failures += 1;
        let pause = (SHORTEST_PAUSE * care.failures).min(LONGEST_PAUSE);
        let events = self.sender.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ = events.send(Event::LookAgain(run));
        });
    }
}

const MOST_FAILURES: u32 = 10;
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

fn tell_to_end(shepherd: &Shepherd) {
    if let Err(error) = shepherd.signal(libc::SIGTERM) {
        debug!("a shepherd is gone already: {error}");
    }
}
