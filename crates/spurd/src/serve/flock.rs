//! Shepherds that have come back from a run wait here for the next one of the same user. Making one costs more than
//! all it does for a short job; of another user it knows too much.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::confine::Confines;
use crate::machine::handover::Line;
use crate::machine::nursery::Nursery;
use crate::machine::pidfd::{Pidfd, Watched};
use crate::run::RunId;
use crate::shepherd::Request;

/// A shepherd, whoever started it.
pub struct Shepherd {
    process: Watched,
    /// Only to one that was started in this life of the agent.
    line: Option<Line>,
    /// Whose runs it cares for.
    user: Option<u32>,
}

/// What became of a shepherd.
pub enum Turn {
    /// It has done with its run and waits for another.
    Rests,
    /// It is no more.
    Ended,
}

impl Shepherd {
    /// One of an earlier life, which leaves when its run is over.
    pub fn adopted(process: Pidfd) -> io::Result<Shepherd> {
        Ok(Shepherd { process: Watched::new(process)?, line: None, user: None })
    }

    /// Returns when its run is over.
    pub async fn done(&self) -> io::Result<Turn> {
        if let Some(line) = &self.line {
            tokio::select! {
                biased;
                heard = line.hears() => if let Ok(true) = heard {
                    return Ok(Turn::Rests);
                },
                ended = self.process.ended() => return ended.map(|()| Turn::Ended),
            }
        }
        self.process.ended().await.map(|()| Turn::Ended)
    }

    /// As [`Watched::signal`].
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        self.process.signal(signal)
    }

    /// As [`Watched::queue`].
    pub fn queue(&self, signal: i32, script_only: bool) -> io::Result<()> {
        self.process.queue(signal, script_only)
    }

    /// As [`Watched::reap`].
    pub fn reap(&self) {
        self.process.reap();
    }

    fn ask(&self, request: &Request, listener: Option<&UnixListener>) -> io::Result<()> {
        let line = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        line.send(request.to_text().as_bytes(), listener.map(AsFd::as_fd))
    }
}

/// All that wait, the one that came last at the end.
pub struct Flock {
    spool: PathBuf,
    nursery: Nursery,
    idle: Vec<(Arc<Shepherd>, Instant)>,
    /// Whether one has gone, and may have left something.
    has_lost: bool,
}

impl Flock {
    /// Nobody yet.
    pub fn new(spool: &Path, nursery: Nursery) -> Flock {
        Flock { spool: spool.to_path_buf(), nursery, idle: Vec::new(), has_lost: false }
    }

    /// Gives a run to a shepherd that waits, or to a new one; that of a step has its listener. It may use the file
    /// in the spool that is to spare.
    pub fn give(
        &mut self,
        run: RunId,
        user: Option<u32>,
        listener: Option<&UnixListener>,
        spare: Option<&Path>,
    ) -> io::Result<Arc<Shepherd>> {
        let spare = spare.and_then(|spare| spare.strip_prefix(&self.spool).ok()?.to_str());
        let request = Request { run: run.to_string(), spare: spare.map(str::to_string) };
        let of_user = |(shepherd, _): &(Arc<Shepherd>, _)| shepherd.user == user && user.is_some();
        while let Some(at) = self.idle.iter().rposition(of_user) {
            let (shepherd, _) = self.idle.remove(at);
            // One that has gone meanwhile hears nothing.
            if shepherd.ask(&request, listener).is_ok() {
                return Ok(shepherd);
            }
            self.has_lost = true;
        }
        let (process, line) = self.nursery.shepherd()?;
        let line = Some(Line::new(line)?);
        let shepherd = Shepherd { process: Watched::new(process)?, line, user };
        shepherd.ask(&request, listener)?;
        Ok(Arc::new(shepherd))
    }

    /// Takes in one that has come back.
    pub fn rest(&mut self, shepherd: Arc<Shepherd>) {
        if self.idle.len() >= MOST_IDLE {
            self.idle.remove(0);
        }
        self.idle.push((shepherd, Instant::now()));
    }

    /// Lets those go that nobody has needed for a while: they leave when their line is closed. What was kept by those
    /// that had no time for it is removed.
    pub fn tidy(&mut self) {
        let before = self.idle.len();
        self.idle.retain(|(_, since)| since.elapsed() < PATIENCE);
        if std::mem::replace(&mut self.has_lost, self.idle.len() < before) {
            let spool = self.spool.clone();
            tokio::task::spawn_blocking(move || {
                if let Some(confines) = Confines::read(&spool) {
                    confines.host.remove_spares_of_the_dead();
                }
            });
        }
    }
}

const MOST_IDLE: usize = 128;
const PATIENCE: Duration = Duration::from_secs(10);
