//! Where `srun` comes in: whoever brings a good credential is handed over to the step's shepherd, and the
//! agent has no part in what they say to each other.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use prost::Message;
use spur_proto::credential::{self, Refusal};
use spur_proto::internal::StepHello;
use spur_proto::step_io::{self, EVERYBODY, Frames, Kind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{debug, warn};

use crate::agent::RunFile;
use crate::machine::connection;
use crate::run::RunId;

/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);

/// How long a step may take to arrive from the controller after its maker has.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Keys that are remembered: a step may have been made just before the leader changed.
const KEYS: usize = 4;

/// What a caller is checked against.
#[derive(Clone)]
pub struct Door {
    spool: PathBuf,
    node: String,
    keys: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Changes whenever a step has been given to a shepherd.
    begun: watch::Receiver<u64>,
}

impl Door {
    /// Opens the door; `begun` tells when to look again for a step that is not there yet.
    pub fn open(
        spool: &Path,
        socket: &Path,
        node: &str,
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
        let listener = UnixListener::bind(socket).with_context(at)?;
        // Everybody may knock: the kernel tells who it is.
        fs::set_permissions(socket, Permissions::from_mode(0o666)).with_context(at)?;
        let door = Door {
            spool: spool.to_path_buf(),
            node: node.to_string(),
            keys: Arc::default(),
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
        loop {
            match listener.accept().await {
                Ok((caller, _)) => {
                    tokio::spawn(self.clone().receive(caller));
                }
                Err(error) => {
                    warn!("could not take a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn receive(self, mut caller: UnixStream) {
        if let Err(refusal) = self.let_in(&mut caller).await {
            debug!("a caller was refused: {refusal:#}");
            let line = format!("{refusal:#}");
            let frame = step_io::frame(Kind::Refused, EVERYBODY, line.as_bytes());
            let _ = caller.write_all(&frame).await;
        }
    }

    async fn let_in(&self, caller: &mut UnixStream) -> Result<()> {
        let uid = caller.peer_cred().context("the kernel does not know the caller")?.uid();
        let hello = timeout(GREETING, read_hello(caller)).await.context("nothing was said")??;
        let run = RunId::from(hello.run.as_ref().context("no step was named")?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let keys = self.keys.lock().expect("no holder panics").clone();
        let good = credential::verify(&keys, &hello.credential, &hello.signature, now as i64)?;
        let fits = good.job == run.job.0
            && good.epoch == run.epoch.0
            && good.step == run.step.0
            && good.nodes.contains(&self.node)
            && good.uid == uid;
        if !fits || hello.node != self.node {
            bail!(Refusal::Other);
        }
        let mut shepherd = self.shepherd(run).await?;
        let about = hello.encode_to_vec();
        let caller = caller.as_fd().try_clone_to_owned()?;
        tokio::task::spawn_blocking(move || connection::give(&mut shepherd, caller.as_fd(), &about))
            .await?
            .context("the step's shepherd is gone")
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

async fn read_hello(caller: &mut UnixStream) -> Result<StepHello> {
    let mut frames = Frames::default();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = caller.read(&mut bytes).await?;
        if count == 0 {
            bail!("the caller hung up");
        }
        frames.push(&bytes[..count]);
        if let Some(frame) = frames.take_frame()? {
            if frame.kind != Kind::Hello {
                bail!("the caller did not say who it is");
            }
            return Ok(StepHello::decode(frame.payload.as_slice())?);
        }
    }
}
