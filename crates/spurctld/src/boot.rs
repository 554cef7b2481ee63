//! Starts a controller, in order: disk, controller, consensus, sockets.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use openraft::error::{Fatal, RaftError};
use spur_core::state::{Entry, Settings};
use spur_disk::RealDisk;
use spur_proto::client::Address;
use tokio::net::UnixListener;
use tokio::sync::mpsc;

use crate::accounting::{self, outbox::Outbox};
use crate::api;
use crate::controller::Controller;
use crate::raft::{self, Batch, Raft};
use crate::shell::{self, Inbox};

/// How a controller is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the state is kept.
    pub state_dir: PathBuf,
    /// The socket for this machine's users and agents.
    pub socket: PathBuf,
    /// The replicated configuration.
    pub settings: Settings,
    /// Where accounting is, if there is any.
    pub accounting: Option<Address>,
}

/// Runs a controller until `stop` resolves.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    // Connections are files: as many as the system allows.
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    let _lock = lock(&options.state_dir)?;
    let recovered = raft::recover(&options.state_dir)?;
    let life = random()?;
    let mut settings = options.settings;
    settings.accounting = options.accounting.is_some();
    let controller = Controller::new(recovered.state, recovered.blobs, settings, life);
    let (proposer, proposals) = mpsc::unbounded_channel();
    let outbox = match &options.accounting {
        Some(_) => Some(Outbox::open(RealDisk::open(&options.state_dir)?)?),
        None => None,
    };
    let inbox = shell::start(controller, proposer, outbox)?;
    let (raft, log_size) = {
        let (log, snapshot) = (recovered.log, recovered.snapshot);
        raft::start(log, snapshot, &options.state_dir, inbox.clone()).await?
    };
    tokio::spawn(propose(raft.clone(), inbox.clone(), proposals));
    tokio::spawn(follow_leadership(raft.clone(), inbox.clone()));
    if let Some(address) = options.accounting {
        tokio::spawn(accounting::send(inbox.clone(), options.state_dir.clone(), address));
    }
    let listener = listen(&options.socket)?;
    tracing::info!(socket = %options.socket.display(), "ready");
    let server = api::serve(api::Service::new(inbox, raft.clone(), log_size), listener, stop);
    let result = server.await.context("could not serve the socket");
    // What is left waiting was not acknowledged; what was acknowledged is on disk.
    raft.shutdown().await.ok();
    result
}

/// One controller per state directory.
fn lock(state_dir: &Path) -> anyhow::Result<Flock<File>> {
    RealDisk::open(state_dir)?;
    let path = state_dir.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| format!("could not open {}", path.display()))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock),
        Err(_) => bail!("another spurctld uses the state directory {}", state_dir.display()),
    }
}

/// Everybody may knock: the kernel tells who it is.
fn listen(socket: &Path) -> anyhow::Result<UnixListener> {
    let at = || format!("could not listen on {}", socket.display());
    if let Some(parent) = socket.parent() {
        fs::create_dir_all(parent).with_context(at)?;
    }
    // Left by an earlier life: the lock on the state directory says that nobody listens there.
    match fs::remove_file(socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(at);
        }
        _ => {}
    }
    let listener = UnixListener::bind(socket).with_context(at)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o666)).with_context(at)?;
    Ok(listener)
}

async fn propose(
    raft: Raft,
    inbox: Inbox,
    mut proposals: mpsc::UnboundedReceiver<Arc<Vec<Entry>>>,
) {
    while let Some(entries) = proposals.recv().await {
        match raft.client_write(Batch(entries)).await {
            Ok(_) => {}
            Err(RaftError::Fatal(Fatal::Stopped)) => return,
            Err(RaftError::Fatal(error)) => give_up(&error),
            Err(error) => {
                tracing::warn!(%error, "a proposal was not accepted");
                inbox.proposal_failed();
            }
        }
    }
}

/// Tells the controller when it begins and stops to lead.
async fn follow_leadership(raft: Raft, inbox: Inbox) {
    let mut metrics = raft.metrics();
    let mut leads = None;
    loop {
        let now = {
            let metrics = metrics.borrow_and_update();
            match &metrics.running_state {
                Ok(()) => {}
                Err(Fatal::Stopped) => return,
                Err(error) => give_up(error),
            }
            (metrics.current_leader == Some(metrics.id)).then_some(metrics.vote.leader_id.term)
        };
        if now != leads {
            leads = now;
            inbox.lead(leads);
        }
        if metrics.changed().await.is_err() {
            return;
        }
    }
}

/// Consensus has stopped for good: whoever watches over this process starts it again.
fn give_up(error: &Fatal<u64>) -> ! {
    tracing::error!("{error}: stopping");
    std::process::exit(1)
}

fn random() -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    read.context("could not read /dev/urandom")?;
    Ok(u64::from_le_bytes(bytes))
}
