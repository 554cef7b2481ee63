//! `spurdbd`: arguments, logging, signals.

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use spur_proto::client::Address;
use spurdbd::db::Location;
use spurdbd::serve::{self, Options};
use tokio::signal::unix::{SignalKind, signal};

/// The accounting daemon of Spur clusters.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// Stay in the foreground (it always does; service managers expect the flag).
    #[arg(short = 'D')]
    foreground: bool,
    /// Where everything is kept: postgresql://USER:PASSWORD@HOST/NAME, or sqlite:FILE. Without it
    /// SPUR_DATABASE_URL counts, which other users of the machine cannot read.
    #[arg(long)]
    database_url: Option<String>,
    /// Where to listen, as unix:/PATH.
    #[arg(long, default_value = "unix:/run/spur/spurdbd.sock")]
    listen: String,
    /// Bring the schema of a PostgreSQL database up to date first; a file's always is.
    #[arg(long)]
    migrate: bool,
    /// Say more.
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
}

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

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let from_environment = || std::env::var("SPUR_DATABASE_URL").ok();
    let url = arguments.database_url.clone().or_else(from_environment);
    let database = Location::parse(url.as_deref().unwrap_or(EMBEDDED)).context(
        "--database-url is neither postgresql://USER:PASSWORD@HOST/NAME nor sqlite:FILE",
    )?;
    let Some(Address::Unix(socket)) = Address::parse(&arguments.listen) else {
        anyhow::bail!("--listen {} cannot be served; say unix:/PATH", arguments.listen);
    };
    let options = Options { database, socket, migrate: arguments.migrate };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        serve::run(options, stop).await
    })
}
