//! `spurdbd`: arguments, logging, signals.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use spur_core::config::{self, Config};
use spur_core::time::duration;
use spur_proto::client::Address;
use spurdbd::db::Location;
use spurdbd::purge::Keep;
use spurdbd::serve::{self, Options};
use spurdbd::url;
use tokio::signal::unix::{SignalKind, signal};

/// The accounting daemon of Spur clusters.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// Stay in the foreground (it always does; service managers expect the flag).
    #[arg(short = 'D')]
    foreground: bool,
    /// Where everything is kept: postgresql://USER:PASSWORD@HOST/NAME, or sqlite:FILE. A password here is seen by
    /// all users of the machine until the daemon has started; then it is gone from the list of processes.
    #[arg(long)]
    database_url: Option<String>,
    /// A file, readable by the daemon alone, with what --database-url would say. Without either
    /// SPUR_DATABASE_URL counts, which other users of the machine cannot read.
    #[arg(long, value_name = "FILE", conflicts_with = "database_url")]
    database_url_file: Option<PathBuf>,
    /// Where to listen: unix:/PATH, and ADDRESS:PORT for other machines (usually port 6819), with a comma
    /// between.
    #[arg(long, default_value = "unix:/run/spur/spurdbd.sock")]
    listen: String,
    /// Where `spur join` has left what this machine shows to others.
    #[arg(long, value_name = "DIR", default_value = "/var/spool/spurdbd")]
    state_dir: PathBuf,
    /// The cluster's configuration: its [accounting] says how long what is kept, and where the database is if
    /// nothing else says so.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Bring the schema of a PostgreSQL database up to date first; a file's always is.
    #[arg(long)]
    migrate: bool,
    /// Say more.
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// The configuration of those who name none, if it is there.
const CONFIGURATION: &str = "/etc/spur/spur.conf";

/// Where this machine's users find it who say nothing else.
const SOCKET: &str = "/run/spur/spurdbd.sock";

/// The database of those who name none.
const EMBEDDED: &str = "sqlite:/var/spool/spur/accounting.db";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = if arguments.verbose > 0 { "debug" } else { "info" };
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(level))
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .init();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spurdbd: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The file that is named, or the usual one where it is there.
fn configuration(arguments: &Arguments) -> anyhow::Result<Option<Config>> {
    let usual = PathBuf::from(CONFIGURATION);
    let file = match &arguments.config {
        Some(file) => file.clone(),
        None if usual.exists() => usual,
        None => return Ok(None),
    };
    let at = || format!("could not read {}", file.display());
    let text = std::fs::read_to_string(&file).with_context(at)?;
    let config = config::read(&text).map_err(|problems| anyhow::anyhow!("{problems}"));
    Ok(Some(config.with_context(at)?))
}

fn keep(config: &Config) -> anyhow::Result<Keep> {
    let said = &config.accounting;
    let age = |key: &str, text: &Option<String>| match text.as_deref() {
        None | Some("") => Ok(None),
        Some(text) => spur_core::config::age_secs(text).map(Some).with_context(|| {
            format!("{key} = \"{text}\" is no age; say 12months, 90days or 36hours")
        }),
    };
    Ok(Keep {
        jobs: age("purge_jobs_after", &said.purge_jobs_after)?,
        steps: age("purge_steps_after", &said.purge_steps_after)?,
        events: age("purge_events_after", &said.purge_events_after)?,
        transactions: age("purge_transactions_after", &said.purge_transactions_after)?,
        usage: age("purge_usage_after", &said.purge_usage_after)?,
        archive: said.archive_dir.as_ref().map(PathBuf::from),
    })
}

fn span_secs(text: &str) -> anyhow::Result<i64> {
    let limit = duration::parse_limit(text).ok().and_then(|limit| limit.number());
    let minutes = limit.and_then(|minutes| i64::try_from(minutes).ok());
    let minutes = minutes.with_context(|| {
        format!("max_query_span = \"{text}\" is no time; say 60-0 for sixty days")
    })?;
    Ok(minutes.saturating_mul(60))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let from_environment = || std::env::var(url::VARIABLE).ok();
    let config = configuration(arguments)?;
    let url = match (&arguments.database_url, &arguments.database_url_file) {
        (Some(url), _) if url::has_password(url) => bail!(url::hidden(url)),
        (Some(url), _) => Some(url.clone()),
        (None, Some(file)) => Some(url::read(file)?),
        (None, None) => from_environment(),
    };
    let url = url.or_else(|| config.as_ref().and_then(|it| it.accounting.database_url.clone()));
    let database = Location::parse(url.as_deref().unwrap_or(EMBEDDED)).context(
        "--database-url is neither postgresql://USER:PASSWORD@HOST/NAME nor sqlite:FILE",
    )?;
    let listen = Address::parse_list(&arguments.listen).unwrap_or_default();
    // Those of this machine are served at the usual place where only a port is said.
    let usual = || (!listen.is_empty()).then(|| Path::new(SOCKET));
    let Some(socket) = listen.iter().find_map(Address::socket).or_else(usual) else {
        anyhow::bail!(
            "--listen {} cannot be served; say unix:/PATH or ADDRESS:PORT",
            arguments.listen
        );
    };
    let socket = socket.to_path_buf();
    let network = listen.into_iter().find(|address| address.socket().is_none());
    let keep = config.as_ref().map(keep).transpose()?.unwrap_or_default();
    let span = config.as_ref().and_then(|it| it.accounting.max_query_span.clone());
    let max_span = span.map(|text| span_secs(&text)).transpose()?;
    let private = config.map(|config| config.cluster.private_data).unwrap_or_default();
    let (migrate, state_dir) = (arguments.migrate, arguments.state_dir.clone());
    let options =
        Options { database, socket, network, state_dir, migrate, keep, private, max_span };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        spur_proto::watchdog::start("spurdbd", || async {})?;
        let stop = async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => return,
                    _ = interrupt.recv() => return,
                    _ = hangup.recv() => {
                        tracing::info!("asked to read again: what is configured counts from the next start");
                    }
                }
            }
        };
        serve::run(options, stop).await
    })
}
