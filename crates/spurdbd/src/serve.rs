//! Starts the daemon: database, schema, socket.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use spur_core::config::words::Private;
use spur_proto::client::{Address, MAX_MESSAGE};
use spur_proto::door::{DoorLayer, Judge, Local};
use spur_proto::entrance::{self, Register};
use spur_proto::slurm::accounting_server::AccountingServer;
use tokio::net::UnixListener;
use tonic::transport::Server;

use crate::api::Service;
use crate::db::{Connection, Location};
use crate::migrate;
use crate::network;
use crate::pool::Pool;
use crate::purge::{self, Keep};
use crate::revoked::Revoked;
use crate::{rollup, rules, settings};

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where everything is kept.
    pub database: Location,
    /// Where it listens.
    pub socket: PathBuf,
    /// The port for other machines, if it serves any; TLS, always.
    pub network: Option<Address>,
    /// Where this machine's identity is.
    pub state_dir: PathBuf,
    /// Bring a server's schema up to date; a file's is without asking.
    pub migrate: bool,
    /// How long what is kept.
    pub keep: Keep,
    /// What other users are not shown.
    pub private: Vec<Private>,
    /// Seconds that one question of a user may be about at most.
    pub max_span: Option<i64>,
}

/// Serves until `stop` resolves.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    let (database, may_migrate) = (options.database.clone(), options.migrate);
    let prepare = move || -> anyhow::Result<()> {
        if let Location::Sqlite(file) = &database {
            make_file(file)?;
        }
        let mut connection = Connection::open(&database)?;
        if may_migrate || matches!(database, Location::Sqlite(_)) {
            migrate::migrate(&mut connection)?;
        }
        migrate::check(&mut connection)?;
        Ok(rules::found(&mut connection)?)
    };
    // The engines' calls block.
    tokio::task::spawn_blocking(prepare).await??;
    let engine = options.database.engine();
    let rules_version = tokio::sync::watch::Sender::new(0);
    let (pool, private) = (Pool::start(&options.database)?, options.private.clone());
    let settings = Arc::new(settings::told(&options, entrance::now()));
    let max_span = options.max_span;
    tokio::spawn(look_after(pool.clone(), options.keep.clone()));
    let listener = listen(&options.socket)?;
    type Knows = (Arc<dyn Judge>, Arc<dyn Register>, Arc<Revoked>);
    let (network, (judge, register, revoked)): (_, Knows) = match &options.network {
        Some(address) => {
            let (network, callers) = network::open(address, &options.state_dir).await?;
            let callers = Arc::new(callers);
            let revoked = callers.revoked.clone();
            (Some(network), (callers.clone(), callers, revoked))
        }
        None => (None, (Arc::new(Local), Arc::new(entrance::Nobody), Arc::default())),
    };
    let service = Service { pool, engine, rules_version, private, settings, max_span, revoked };
    tracing::info!(socket = %options.socket.display(), engine, "ready");
    let serving = Server::builder()
        .layer(DoorLayer::new(judge))
        .add_service(
            AccountingServer::new(service)
                .max_decoding_message_size(MAX_MESSAGE)
                .max_encoding_message_size(usize::MAX),
        )
        .serve_with_incoming(entrance::open(listener, network, register));
    tokio::select! {
        result = serving => result.context("could not serve the socket"),
        () = stop => Ok(()),
    }
}

/// How often hours are rolled up and what is too old is removed, and the pause between two pages of that.
const LOOK_AFTER: Duration = Duration::from_secs(60);
const BREATH: Duration = Duration::from_millis(20);

/// Rolls up usage and removes what is too old, for as long as the daemon runs. Queries come first: each page is a
/// piece of work among others.
async fn look_after(pool: Pool, keep: Keep) {
    loop {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs() as i64;
        let more = match pool.with(move |connection| rollup::roll(connection, now)).await {
            Ok(more) => more,
            Err(error) => {
                tracing::warn!("could not roll up usage: {error}");
                false
            }
        };
        let keep = keep.clone();
        let removed = pool
            .with(move |connection| {
                Ok(purge::purge(connection, &keep, now).map_err(|error| error.to_string()))
            })
            .await;
        let removed = match removed {
            Ok(Ok(removed)) => removed,
            Ok(Err(why)) => {
                tracing::warn!("could not remove old records: {why}");
                0
            }
            Err(error) => {
                tracing::warn!("could not remove old records: {error}");
                0
            }
        };
        if removed > 0 {
            tracing::info!(removed, "old records are gone");
        }
        tokio::time::sleep(if more || removed > 0 { BREATH } else { LOOK_AFTER }).await;
    }
}

/// The history is nobody else's to read.
fn make_file(file: &Path) -> anyhow::Result<()> {
    let at = || format!("could not make {}", file.display());
    if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).with_context(at)?;
    }
    let made = fs::File::options().create(true).append(true).open(file).with_context(at)?;
    made.set_permissions(fs::Permissions::from_mode(0o600)).with_context(at)
}

/// Everybody may knock: the kernel tells who it is.
fn listen(socket: &Path) -> anyhow::Result<UnixListener> {
    let at = || format!("could not listen on {}", socket.display());
    if let Some(parent) = socket.parent() {
        fs::create_dir_all(parent).with_context(at)?;
    }
    if std::os::unix::net::UnixStream::connect(socket).is_ok() {
        anyhow::bail!("{}: another spurdbd listens there", at());
    }
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
