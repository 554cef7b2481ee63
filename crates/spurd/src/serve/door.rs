//! Where `srun` comes in: whoever brings a good credential is handed over to the step's shepherd, and the
//! agent has no part in what they say to each other.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Resource, getrlimit};
use prost::Message;
use spur_net::assertion::{self, Assertion};
use spur_net::{Identity, tls};
use spur_proto::credential::{self, Refusal};
use spur_proto::entrance::now;
use spur_proto::internal::StepHello;
use spur_proto::seats::{Place, Seats, Stool};
use spur_proto::step_io::{self, EVERYBODY, Frame, Frames, Kind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, info, warn};

use super::usage;
use super::used::Kept;
use crate::agent::RunFile;
use crate::machine::connection;
use crate::run::RunId;

/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);

/// How long a step may take to arrive from the controller after its maker has.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Keys that are remembered: a step may have been made just before the leader changed.
const KEYS: usize = 4;

/// Callers of one user on this machine that are heard at a time, before they are handed over.
const CALLERS: usize = 256;

/// Callers of one user that stand in line for that: who starts hundreds of steps at once has as many.
const LINE: usize = 4096;

/// Who is at the door, by user.
#[derive(Clone, Default)]
struct Guests(Arc<Mutex<BTreeMap<u32, Line>>>);

/// The callers of one user.
struct Line {
    there: usize,
    heard: Arc<Semaphore>,
}

/// One caller, until it is dropped.
struct Guest {
    all: Guests,
    uid: u32,
    heard: Arc<Semaphore>,
}

impl Guests {
    fn admit(&self, uid: u32) -> Option<Guest> {
        let mut lines = self.0.lock().expect("no holder panics");
        let line = lines
            .entry(uid)
            .or_insert_with(|| Line { there: 0, heard: Arc::new(Semaphore::new(CALLERS)) });
        if line.there >= longest_line() {
            return None;
        }
        line.there += 1;
        Some(Guest { all: self.clone(), uid, heard: line.heard.clone() })
    }
}

/// Not so many that the files run out which the agent may have open.
fn longest_line() -> usize {
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
    LINE.min(usize::try_from(files / 4).unwrap_or(LINE))
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut lines = self.all.0.lock().expect("no holder panics");
        if let Some(line) = lines.get_mut(&self.uid) {
            line.there -= 1;
            if line.there == 0 {
                lines.remove(&self.uid);
            }
        }
    }
}

/// What a caller is checked against.
#[derive(Clone)]
pub struct Door {
    spool: PathBuf,
    node: String,
    /// Who this machine is to others; nothing where it has not joined.
    machine: Option<Arc<Identity>>,
    keys: Arc<Mutex<Vec<Vec<u8>>>>,
    used: Arc<Mutex<Kept>>,
    /// Changes whenever a step has been given to a shepherd.
    begun: watch::Receiver<u64>,
}

impl Door {
    /// Opens the door; `begun` tells when to look again for a step that is not there yet.
    pub fn open(
        spool: &Path,
        socket: &Path,
        node: &str,
        machine: Option<Arc<Identity>>,
        begun: watch::Receiver<u64>,
    ) -> Result<Door> {
        let at = || format!("could not listen on {}", socket.display());
        match fs::remove_file(socket) {
            // Left by an earlier life: the lock on the spool says that nobody listens there.
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(at);
            }
            _ => {}
        }
        let used = Kept::open(spool, now()).context("could not read the credentials in use")?;
        let listener = UnixListener::bind(socket).with_context(at)?;
        spur_proto::client::widen(&listener).with_context(at)?;
        // Everybody may knock: the kernel tells who it is.
        fs::set_permissions(socket, Permissions::from_mode(0o666)).with_context(at)?;
        let door = Door {
            spool: spool.to_path_buf(),
            node: node.to_string(),
            machine,
            keys: Arc::default(),
            used: Arc::new(Mutex::new(used)),
            begun,
        };
        tokio::spawn(door.clone().serve(listener));
        Ok(door)
    }

    /// A controller signs with this key from now on.
    pub fn trust(&self, key: Vec<u8>) {
        let mut keys = self.keys.lock().expect("no holder panics");
        keys.retain(|known| *known != key);
        keys.insert(0, key);
        keys.truncate(KEYS);
    }

    async fn serve(self, listener: UnixListener) {
        let guests = Guests::default();
        loop {
            match listener.accept().await {
                Ok((caller, _)) => {
                    let uid = caller.peer_cred().map_or(u32::MAX, |who| who.uid());
                    // Who has too many at the door already is turned away unheard.
                    let Some(guest) = guests.admit(uid) else { continue };
                    let door = self.clone();
                    tokio::spawn(async move {
                        let Ok(_heard) = guest.heard.acquire().await else { return };
                        door.receive(caller).await;
                    });
                }
                Err(error) => {
                    warn!("could not take a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Takes connections from other machines: `srun` comes as nobody, with a credential.
    pub async fn serve_network(self, listener: TcpListener, acceptor: TlsAcceptor) {
        let seats = Seats::default();
        loop {
            match listener.accept().await {
                Ok((stream, from)) => {
                    let Some(stool) = seats.wait(from.ip().to_canonical()) else { continue };
                    let (door, acceptor) = (self.clone(), acceptor.clone());
                    let seats = seats.clone();
                    tokio::spawn(async move {
                        match hear(&acceptor, stream, stool).await {
                            Ok(heard) => door.receive_network(heard, &seats).await,
                            Err(error) => debug!("a connection was refused: {error}"),
                        }
                    });
                }
                Err(error) => {
                    warn!("could not take a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn receive(self, mut caller: UnixStream) {
        match self.let_in(&mut caller).await {
            // Who only wanted this machine's word has it.
            Err(refusal) if refusal.is::<HungUp>() => {}
            Err(refusal) => refuse(&mut caller, &refusal).await,
            Ok(()) => {}
        }
    }

    async fn let_in(&self, caller: &mut UnixStream) -> Result<()> {
        let who = caller.peer_cred().context("the kernel does not know the caller")?;
        let mut frames = Frames::default();
        loop {
            let frame = timeout(GREETING, next_frame(caller, &mut frames)).await;
            let frame = frame.context("nothing was said")??;
            let answer = match frame.kind {
                Kind::Introduce => self.machine()?.authority.to_vec(),
                Kind::Vouch => self.vouch(&frame.payload, who.uid(), who.gid())?,
                _ => {
                    let hello = hello(&frame)?;
                    let (run, _) = self.admit(&hello, Some(who.uid()))?;
                    if hello.measure {
                        return Ok(caller.write_all(&self.measured(run).await?).await?);
                    }
                    let mut shepherd = self.shepherd(run).await?;
                    let about = hello.encode_to_vec();
                    let caller = caller.as_fd().try_clone_to_owned()?;
                    return give(&mut shepherd, caller, about).await;
                }
            };
            caller.write_all(&step_io::frame(frame.kind, EVERYBODY, &answer)).await?;
        }
    }

    /// The TLS connection ends here; the shepherd has a pipe to it.
    async fn receive_network(self, heard: Heard, seats: &Seats) {
        let Heard { mut caller, frames, said } = heard;
        let admitted = async {
            let hello = hello(&said?)?;
            let (run, uid) = self.admit(&hello, None)?;
            let seat = seats.sit(Place::User(uid)).context("too many connections of one user")?;
            if hello.measure {
                caller.write_all(&self.measured(run).await?).await?;
                caller.flush().await?;
                return Ok(None);
            }
            let mut shepherd = self.shepherd(run).await?;
            let (mut near, far) = UnixStream::pair()?;
            let far = far.into_std()?;
            far.set_nonblocking(false)?;
            give(&mut shepherd, far.into(), hello.encode_to_vec()).await?;
            near.write_all(frames.rest()).await?;
            Ok(Some((near, seat)))
        };
        match admitted.await {
            Ok(None) => {}
            Ok(Some((near, _seat))) => connect(caller, near).await,
            Err(refusal) => refuse(&mut caller, &refusal).await,
        }
    }

    /// Checks what a caller brings. The kernel says who it is on this machine; elsewhere the credential, which
    /// the controller gave to that user alone, is all there is.
    fn admit(&self, hello: &StepHello, uid: Option<u32>) -> Result<(RunId, u32)> {
        let run = RunId::from(hello.run.as_ref().context("no step was named")?);
        let keys = self.keys.lock().expect("no holder panics").clone();
        let good = credential::verify(&keys, &hello.credential, &hello.signature, now())?;
        let fits = good.job == run.job.0
            && good.epoch == run.epoch.0
            && good.step == run.step.0
            && good.node == self.node
            && (hello.measure || !good.measures)
            && uid.is_none_or(|uid| good.uid == uid);
        if !fits || hello.node != self.node {
            bail!(Refusal::Other);
        }
        self.used.lock().expect("no holder panics").take(&good, now())?;
        Ok((run, good.uid))
    }

    /// The answer to who asks what a run uses.
    async fn measured(&self, run: RunId) -> Result<Vec<u8>> {
        let spool = self.spool.clone();
        let measured = tokio::task::spawn_blocking(move || usage::measured(&spool, run)).await??;
        Ok(step_io::frame(Kind::Usage, EVERYBODY, &measured.encode_to_vec()))
    }

    fn machine(&self) -> Result<&Identity> {
        self.machine.as_deref().context("this machine has not joined a cluster of several")
    }

    /// This machine's word for a user, good for one connection.
    fn vouch(&self, binding: &[u8], uid: u32, gid: u32) -> Result<Vec<u8>> {
        let machine = self.machine()?;
        let binding = binding.try_into().context("a connection is named by 32 bytes")?;
        let expires = now() + assertion::LIFETIME_SECS;
        let name = machine.role.certificate_name();
        let word = Assertion { machine: name, uid, gid, expires, binding };
        Ok(word.sign(&machine.key))
    }

    /// Waits for the controller's word about the step, if it is not there yet.
    async fn shepherd(&self, run: RunId) -> Result<Blocking> {
        let path = self.spool.join(RunFile::Socket.name(run));
        let deadline = Instant::now() + ARRIVAL;
        let mut begun = self.begun.clone();
        loop {
            begun.borrow_and_update();
            match Blocking::connect(&path) {
                Ok(shepherd) => return Ok(shepherd),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::NotFound | ErrorKind::ConnectionRefused
                    ) => {}
                Err(error) => return Err(error).context("could not reach the step's shepherd"),
            }
            if timeout_at(deadline, begun.changed()).await.is_err() {
                bail!("this node knows no such step");
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the caller hung up")]
struct HungUp;

/// A caller from another machine, and the first it said.
struct Heard {
    caller: TlsStream<TcpStream>,
    frames: Frames,
    said: Result<Frame>,
}

/// Hears a stranger out, unless the place is needed for another meanwhile.
async fn hear(acceptor: &TlsAcceptor, stream: TcpStream, mut stool: Stool) -> Result<Heard> {
    let hear = async {
        let (mut caller, _) = tls::accept(acceptor, stream).await?;
        let mut frames = Frames::default();
        let said = timeout(GREETING, next_frame(&mut caller, &mut frames)).await;
        let said = said.context("nothing was said").and_then(|said| said);
        Ok(Heard { caller, frames, said })
    };
    tokio::select! {
        heard = hear => heard,
        () = stool.needed() => bail!("too many strangers"),
    }
}

/// Carries what the two say to each other until the step has said its last. That the step listens no more, as when a
/// short one ends before all of its input has come, takes nothing from what it has said.
async fn connect(caller: impl AsyncRead + AsyncWrite, step: UnixStream) {
    let (hears, says) = tokio::io::split(caller);
    let (step_says, step_hears) = step.into_split();
    let to_step = async {
        carry(hears, step_hears).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = carry(step_says, says) => {}
        () = to_step => {}
    }
}

async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        // What is said is passed on before anything else is heard.
        if to.write_all(&bytes[..count]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

async fn give(shepherd: &mut Blocking, caller: OwnedFd, about: Vec<u8>) -> Result<()> {
    let mut shepherd = shepherd.try_clone()?;
    tokio::task::spawn_blocking(move || connection::give(&mut shepherd, caller.as_fd(), &about))
        .await?
        .context("the step's shepherd is gone")
}

async fn refuse(caller: &mut (impl AsyncWrite + Unpin), refusal: &anyhow::Error) {
    info!("a caller was refused: {refusal:#}");
    let line = format!("{refusal:#}");
    let frame = step_io::frame(Kind::Refused, EVERYBODY, line.as_bytes());
    let _ = caller.write_all(&frame).await;
    let _ = caller.flush().await;
}

fn hello(frame: &Frame) -> Result<StepHello> {
    if frame.kind != Kind::Hello {
        bail!("the caller did not say who it is");
    }
    Ok(StepHello::decode(frame.payload.as_slice())?)
}

async fn next_frame(caller: &mut (impl AsyncRead + Unpin), frames: &mut Frames) -> Result<Frame> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        if let Some(frame) = frames.take_frame()? {
            return Ok(frame);
        }
        let count = caller.read(&mut bytes).await?;
        if count == 0 {
            bail!(HungUp);
        }
        frames.push(&bytes[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_words_of_a_step_arrive_though_it_hears_no_more() {
        let (mut caller, ours) = UnixStream::pair().expect("a pair");
        let (mut step, near) = UnixStream::pair().expect("a pair");
        caller.write_all(b"input that nobody reads").await.expect("is sent");
        let joined = tokio::spawn(connect(ours, near));
        step.write_all(b"last words").await.expect("is sent");
        drop(step);
        // The caller speaks on into the void.
        for _ in 0..100 {
            if caller.write_all(&[0; 4096]).await.is_err() {
                break;
            }
        }
        let mut heard = Vec::new();
        let _ = caller.read_to_end(&mut heard).await;
        assert_eq!(heard, b"last words");
        joined.await.expect("ends");
    }

    #[test]
    fn a_user_with_too_many_callers_keeps_nobody_else_out() {
        let guests = Guests::default();
        let mut first: Vec<Guest> = (0..=LINE).filter_map(|_| guests.admit(7)).collect();
        assert_eq!(first.len(), longest_line());
        assert!(guests.admit(7).is_none());
        assert!(guests.admit(8).is_some());
        first.pop();
        assert!(guests.admit(7).is_some());
        drop(first);
        assert!(guests.0.lock().expect("nobody panics").is_empty());
    }
}
