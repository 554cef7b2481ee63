//! Starts a controller, in order: disk, controller, consensus, sockets.

use std::fs::{self, File};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use openraft::error::{Fatal, RaftError};
use spur_core::state::{Entry, Settings};
use spur_disk::RealDisk;
use spur_net::Authority;
use spur_net::authority::LIFETIME;
use spur_net::tls::{self, Dialler};
use spur_proto::client::Address;
use spur_proto::credential::Key;
use spur_proto::entrance;
use spur_proto::proof::{self, Proof};
use spur_proto::watchdog;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

use crate::accounting::{self, outbox, outbox::Outbox};
use crate::api;
use crate::audit::Audit;
use crate::configuration::Configuration;
use crate::controller::Controller;
use crate::logging;
use crate::metrics;
use crate::raft::identity::{self, Identity};
use crate::raft::{self, Batch, Member, Raft, Recovered, members, peers};
use crate::shell::{self, Inbox};
use crate::store;
use crate::trust::{Callers, Members, Trusted};

/// How a controller is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the state is kept.
    pub state_dir: PathBuf,
    /// Where this machine's users and agents find this one.
    pub socket: PathBuf,
    /// Where other machines find it, if they do.
    pub network: Option<Network>,
    /// Every controller there is to be, this one too. The first begins the cluster, the others join it. None
    /// named means this one alone.
    pub controllers: Vec<Address>,
    /// The configuration.
    pub configuration: Configuration,
    /// Where numbers are told, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Where accounting is, if there is any.
    pub accounting: Option<Address>,
    /// Nobody said that there is accounting: nothing is kept for it until it comes.
    pub accounting_may_come: bool,
}

/// A port on the network; TLS, always.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where to listen.
    pub listen: Address,
    /// What other machines are told; where it listens, by this machine's name, if nothing is said.
    pub advertise: Option<Address>,
}

/// Why a controller ended in peace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Stopped,
    /// It was removed from the cluster.
    Removed,
}

/// Runs a controller until `stop` resolves.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> anyhow::Result<Ended> {
    // Connections are files: as many as the system allows.
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    let _lock = lock(&options.state_dir)?;
    let Options { state_dir, socket, network, controllers, configuration, metrics, .. } = options;
    let accounting = options.accounting;
    let network = match network {
        Some(network) => Some(listen(&network, &controllers).await?),
        None => None,
    };
    let advertised = network.as_ref().map(|(_, advertised)| advertised.clone());
    let local = Address::Unix(socket.clone());
    // Controllers of several machines know each other by their ports.
    let own = advertised.clone().filter(|it| controllers.contains(it)).unwrap_or(local);
    let audit_copy = configuration.controller().and_then(|it| it.audit_log.clone());
    let metrics = match metrics {
        Some(address) => Some(metrics::listen(address).await?),
        None => None,
    };
    if !controllers.is_empty() && !controllers.contains(&own) {
        bail!("--controllers does not name {own}, where this one listens");
    }
    let others: Vec<Address> = controllers.iter().filter(|it| **it != own).cloned().collect();
    let is_first = controllers.first().is_none_or(|first| *first == own);
    introduce(&state_dir)?;
    let Some(opened) = open(&state_dir, &others, is_first).await? else {
        return Ok(Ended::Removed);
    };
    let Opened { identity, recovered, begins } = opened;
    let id = identity.id;
    // One that was there once is expected back: its files are here.
    let is_known = !options.accounting_may_come || outbox::is_begun(&state_dir);
    let has_accounting = accounting.as_ref().is_some_and(|it| is_known || is_there(it));
    let settings = settings(&configuration, has_accounting);
    let make = begins || others.is_empty();
    let site_key = configuration.site_key()?;
    let advertised = advertised.map(|address| address.to_string());
    let far = accounting.as_ref().filter(|it| it.socket().is_none()).map(Address::to_string);
    let lifetime = configuration
        .controller()
        .map_or(LIFETIME, |it| Duration::from_secs(it.certificate_lifetime.0));
    let trusted = Trusted::open(&state_dir, make, advertised, far, site_key, lifetime)?;
    let trusted = Arc::new(trusted);
    let network = match network {
        Some((listener, _)) => Some((listener, acceptor(&trusted, &state_dir)?)),
        None => None,
    };
    let mut controller =
        Controller::new(recovered.state, recovered.blobs, settings, identity::random()?);
    let key = Key::generate().context("could not make a key")?;
    controller.sign_with(key.public());
    controller.live_in(crate::clock::Local);
    let (proposer, proposals) = mpsc::unbounded_channel();
    let outbox = match &accounting {
        Some(_) => Some(Outbox::open(RealDisk::open(&state_dir)?)?),
        None => None,
    };
    let inbox = shell::start(controller, proposer, outbox, shell::stop_the_process())?;
    let (log, snapshot) = (recovered.log, recovered.snapshot);
    let (raft, log_size) =
        raft::start(id, log, snapshot, &state_dir, inbox.clone(), raft::Peers, raft::PACE).await?;
    let left = Arc::new(Notify::new());
    tokio::spawn(propose(raft.clone(), inbox.clone(), proposals));
    tokio::spawn(follow(raft.clone(), inbox.clone(), own.clone(), left.clone()));
    let came = Arc::new(Notify::new());
    if let Some(address) = accounting {
        let (inbox, state_dir, came) = (inbox.clone(), state_dir.clone(), came.clone());
        tokio::spawn(async move {
            while !has_accounting && !is_there(&address) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            came.notify_one();
            tokio::spawn(accounting::rules::follow(inbox.clone(), address.clone()));
            tokio::spawn(accounting::revoked::tell(inbox.clone(), address.clone()));
            accounting::send(inbox, state_dir, address).await;
        });
    }
    tokio::spawn(count_jobs(inbox.clone()));
    let (reload_asked, reloads) = mpsc::channel(1);
    log_as(&configuration);
    let file = configuration.file().map(|file| file.display().to_string());
    tokio::spawn(reload(configuration, (has_accounting, came), inbox.clone(), reloads));
    if let Some(listener) = metrics {
        let (inbox, raft, log) = (inbox.clone(), raft.clone(), log_size.clone());
        tokio::spawn(metrics::serve(listener, metrics::Sources { inbox, raft, log }));
    }
    let members = Members { inbox: inbox.clone(), trusted: trusted.clone() };
    let connections = entrance::open(bind(&socket)?, network, Arc::new(members));
    tracing::info!(id, address = %own, "ready");
    if begins {
        raft::begin(&raft, id, &own.to_string()).await?;
        Identity { joined: true, ..identity }.save(&state_dir)?;
    } else if !others.is_empty() {
        let joining =
            Joining { own, others, state_dir: state_dir.clone(), trusted: trusted.clone() };
        tokio::spawn(belong(raft.clone(), identity, joining, left.clone()));
    }
    let member = Member { raft: raft.clone(), id, left: left.clone(), trusted: trusted.clone() };
    let audit = Audit::open(&state_dir, audit_copy.map(PathBuf::from))?;
    let callers = Callers::new(inbox.clone(), trusted.clone(), audit.clone());
    let asked = inbox.clone();
    watchdog::start("spurctld", move || {
        let asked = asked.clone();
        async move { drop(asked.state().await) }
    })?;
    let service =
        api::Service::new(inbox, raft.clone(), log_size, key, trusted, audit, reload_asked)
            .configured_by(file.unwrap_or_default());
    let ended = tokio::select! {
        result = api::serve(service, member, callers, connections, stop) => {
            result.context("could not serve the socket").map(|()| Ended::Stopped)
        }
        () = left.notified() => {
            Identity { id, joined: true, removed: true }.save(&state_dir)?;
            tracing::warn!("this controller was removed from the cluster: stopping");
            // Whoever asked for it hears that it is done.
            tokio::time::sleep(FAREWELL).await;
            Ok(Ended::Removed)
        }
    };
    // What is left waiting was not acknowledged; what was acknowledged is on disk.
    // One that waits for room on its disk is not waited for.
    let _ = tokio::time::timeout(FAREWELL, raft.shutdown()).await;
    ended
}

fn settings(configuration: &Configuration, accounting: bool) -> Settings {
    let mut settings = configuration.settings();
    settings.accounting = accounting;
    settings
}

/// How often it is looked whether accounting has come.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Whether accounting is, or was, where it is expected.
fn is_there(address: &Address) -> bool {
    address.socket().is_none_or(std::path::Path::exists)
}

/// How often jobs are counted at most; they are kept for longer.
const COUNTED: Duration = Duration::from_secs(1);

/// Counts what becomes of jobs, now and then: a job that came and went between two looks counts too.
async fn count_jobs(inbox: Inbox) {
    let mut changes = inbox.changes();
    while changes.changed().await.is_ok() {
        inbox.diagnostics().look(&inbox.published().state, crate::clock::now().wall.0);
        tokio::time::sleep(COUNTED).await;
    }
}

/// Logs as much as the configuration says; what was said by other means is over.
fn log_as(configuration: &Configuration) {
    let level = configuration.log_level().map(|level| level.word());
    logging::change(|levels| {
        *levels = logging::Levels { level, ..Default::default() };
    });
}

/// Reads the configuration again at every SIGHUP. What the leader has read counts for all.
async fn reload(
    mut configuration: Configuration,
    (mut accounting, came): (bool, Arc<Notify>),
    inbox: Inbox,
    mut asked: mpsc::Receiver<oneshot::Sender<Result<Vec<String>, String>>>,
) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    loop {
        let answer = tokio::select! {
            _ = hangup.recv() => None,
            Some(answer) = asked.recv() => Some(answer),
            () = came.notified() => {
                if !accounting {
                    accounting = true;
                    inbox.configure(settings(&configuration, accounting));
                    tracing::info!("accounting is here: jobs are recorded from now on");
                }
                continue;
            }
        };
        let done = match configuration.reload() {
            Ok(changes) => {
                let changes: Vec<String> = changes.0.iter().map(ToString::to_string).collect();
                tracing::info!("read the configuration again, {} changes", changes.len());
                changes.iter().for_each(|change| tracing::info!("{change}"));
                inbox.configure(settings(&configuration, accounting));
                log_as(&configuration);
                Ok(changes)
            }
            Err(error) => {
                tracing::error!("{error:#}: nothing is changed");
                Err(format!("{error:#}"))
            }
        };
        if let Some(answer) = answer {
            let _ = answer.send(done);
        }
    }
}

/// Listens, and tells where others find it.
async fn listen(
    network: &Network,
    controllers: &[Address],
) -> anyhow::Result<(TcpListener, Address)> {
    let Address::Tls { host, port } = &network.listen else { bail!("a port is needed") };
    let listener = TcpListener::bind((host.as_str(), *port)).await;
    let listener = listener.with_context(|| format!("could not listen on {}", network.listen))?;
    let at = listener.local_addr()?;
    let listed = controllers.iter().find(|address| is_here(address, at.port()));
    let advertised = match network.advertise.as_ref().or(listed) {
        Some(said) => said.clone(),
        None if at.ip().is_unspecified() => {
            let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
            let name = name.context("this machine has no name; say --advertise HOST:PORT")?;
            Address::Tls { host: name, port: at.port() }
        }
        None => Address::Tls { host: at.ip().to_string(), port: at.port() },
    };
    tracing::info!(%at, %advertised, "listens on the network, by TLS");
    Ok((listener, advertised))
}

fn has_not_joined(state_dir: &Path) -> String {
    let dir = state_dir.display();
    format!(
        "this controller has not joined the others; on one of them run: \
         spur token create --role controller, and here: spur join TOKEN --state-dir {dir}"
    )
}

/// Whether an address is a port of this machine: only its own numbers can be bound here.
fn is_here(address: &Address, own_port: u16) -> bool {
    let Address::Tls { host, port } = address else { return false };
    let found = (host.as_str(), 0).to_socket_addrs();
    let mut found = found.into_iter().flatten();
    *port == own_port && found.any(|address| std::net::UdpSocket::bind(address).is_ok())
}

/// A controller that has joined others shows them who it is, before anything else.
fn introduce(state_dir: &Path) -> anyhow::Result<()> {
    if let Some(authority) = Authority::load(&Trusted::dir(state_dir))? {
        proof::set(Proof::Machine(Dialler::member(&authority.controller()?)?));
    }
    Ok(())
}

/// How this controller shows itself to other machines, and is let in by other controllers.
fn acceptor(trusted: &Arc<Trusted>, state_dir: &Path) -> anyhow::Result<TlsAcceptor> {
    let Some(authority) = trusted.authority() else { bail!("{}", has_not_joined(state_dir)) };
    let own = authority.controller()?;
    proof::set(Proof::Machine(Dialler::member(&own)?));
    let acceptor = tls::acceptor(&own)?;
    tokio::spawn(stay_valid(own, trusted.clone()));
    Ok(acceptor)
}

/// A controller that slept looks at its certificate at least so often.
const A_DAY: Duration = Duration::from_secs(86_400);

/// Has the authority, and so needs to ask nobody.
async fn stay_valid(own: spur_net::Identity, trusted: Arc<Trusted>) {
    loop {
        let due_in = own.times().map_or(Duration::ZERO, |times| times.due_in);
        tokio::time::sleep(due_in.clamp(Duration::from_secs(1), A_DAY)).await;
        if own.times().is_some_and(|times| !times.due_in.is_zero()) {
            continue;
        }
        let Some(authority) = trusted.authority() else { continue };
        let fresh = authority.certify(&own.role, &own.key.public());
        if let Err(trouble) = fresh.and_then(|fresh| own.renew(&fresh)) {
            tracing::error!("could not renew this controller's certificate: {trouble}");
        }
    }
}

const FAREWELL: Duration = Duration::from_millis(500);

struct Opened {
    identity: Identity,
    recovered: Recovered,
    /// There is no cluster yet, and this one begins it.
    begins: bool,
}

/// Finds out who this controller is. Nothing when it was removed.
async fn open(
    state_dir: &Path,
    others: &[Address],
    is_first: bool,
) -> anyhow::Result<Option<Opened>> {
    let (known, recovered) = match recover(state_dir) {
        Ok(found) => found,
        // The others have what this one lost. It takes none of the old number's votes and entries with
        // it, or a majority might count on what is no longer here: it begins anew, under a new number.
        Err(error) if is_loss(&error) && !others.is_empty() => {
            tracing::error!("{error:#}");
            peers::leader(others, "the state is damaged and will be had from the others").await;
            let aside = identity::set_aside(state_dir)?;
            tracing::warn!("the damaged state is set aside in {aside}; joining as a new member");
            recover(state_dir)?
        }
        Err(error) => return Err(error),
    };
    if known.is_some_and(|known| known.removed) {
        let dir = state_dir.display();
        tracing::warn!("this controller was removed; to let it join again, empty {dir}");
        return Ok(None);
    }
    let first = Identity { id: identity::FIRST, joined: true, removed: false };
    if let Some(identity) = known.or((!recovered.is_new).then_some(first)) {
        let begins = recovered.is_new && others.is_empty();
        return Ok(Some(Opened { identity, recovered, begins }));
    }
    // Controllers of other machines are let in by the first: without an authority there are none yet.
    let is_alone = others.iter().all(|other| other.socket().is_none()) && !proof::is_set();
    if is_alone && !is_first {
        bail!("{}", has_not_joined(state_dir));
    }
    if is_alone || (is_first && !peers::any_has_state(others).await) {
        return Ok(Some(Opened { identity: first, recovered, begins: true }));
    }
    let identity = Identity::new()?;
    identity.save(state_dir)?;
    let recovered = recover_as(state_dir, identity.id)?;
    Ok(Some(Opened { identity, recovered, begins: false }))
}

/// What the directory has; of one that never became a voter, nothing that is half there counts.
fn recover(state_dir: &Path) -> anyhow::Result<(Option<Identity>, Recovered)> {
    let known = Identity::load(state_dir)?;
    let id = known.map_or(identity::FIRST, |known| known.id);
    match recover_as(state_dir, id) {
        Ok(recovered) => Ok((known, recovered)),
        Err(error) if is_loss(&error) && known.is_some_and(|known| !known.joined) => {
            identity::set_aside(state_dir)?;
            Ok((None, recover_as(state_dir, identity::FIRST)?))
        }
        Err(error) => Err(error),
    }
}

fn recover_as(state_dir: &Path, id: u64) -> anyhow::Result<Recovered> {
    raft::recover(&state_dir.to_path_buf(), id, shell::stop_the_process())
}

fn is_loss(error: &anyhow::Error) -> bool {
    error.downcast_ref::<store::Error>().is_some_and(store::Error::is_loss)
}

/// Whom to join, and as whom.
struct Joining {
    own: Address,
    others: Vec<Address>,
    state_dir: PathBuf,
    trusted: Arc<Trusted>,
}

/// Joins the others, or tells them where this one is now; then watches out for having been removed.
async fn belong(raft: Raft, identity: Identity, joining: Joining, left: Arc<Notify>) {
    let Joining { own, others, state_dir, trusted } = joining;
    if peers::join(&others, identity, &own, &state_dir, &trusted).await {
        peers::removed_meanwhile(raft, identity.id, others).await;
    }
    left.notify_one();
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
fn bind(socket: &Path) -> anyhow::Result<UnixListener> {
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
    spur_proto::client::widen(&listener).with_context(at)?;
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

/// How often leadership is looked at when nothing is heard.
const LOOK: Duration = Duration::from_millis(250);

/// A leader that no majority has answered for so long has been replaced, for all it knows.
const UNHEARD_MS: u64 = 2000;

/// Tells the controller when it begins and stops to lead, and this process when it is out.
async fn follow(raft: Raft, inbox: Inbox, own: Address, left: Arc<Notify>) {
    let mut metrics = raft.metrics();
    let mut leads = None;
    let mut belongs = false;
    loop {
        let now = {
            let metrics = metrics.borrow_and_update();
            match &metrics.running_state {
                Ok(()) => {}
                Err(Fatal::Stopped) => return,
                Err(error) => give_up(error),
            }
            let members = &metrics.membership_config;
            let is_member = members.membership().get_node(&metrics.id).is_some();
            let is_applied = *members.log_id() <= metrics.last_applied;
            if belongs && !is_member && is_applied {
                left.notify_one();
            }
            belongs |= is_member;
            let is_heard = metrics.millis_since_quorum_ack.is_none_or(|ms| ms < UNHEARD_MS);
            let leads = metrics.current_leader == Some(metrics.id) && is_heard;
            leads.then(|| identity::fence(metrics.vote.leader_id.term, metrics.id))
        };
        if now != leads {
            leads = now;
            inbox.lead(leads);
            tracing::info!("{}", if leads.is_some() { "leads now" } else { "follows now" });
            if leads.is_some() {
                tokio::spawn(settle(raft.clone(), own.to_string()));
            }
        }
        if let Ok(Err(_)) = tokio::time::timeout(LOOK, metrics.changed()).await {
            return;
        }
    }
}

async fn settle(raft: Raft, own: String) {
    let id = raft.metrics().borrow().id;
    if let Err(trouble) = members::settle(&raft, id, &own).await {
        tracing::warn!(?trouble, "the list of controllers is not settled");
    }
}

/// Consensus has stopped for good: whoever watches over this process starts it again.
fn give_up(error: &Fatal<u64>) -> ! {
    tracing::error!("{error}: stopping");
    std::process::exit(1)
}
