//! `spurctld`: arguments, logging, signals.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use spur_core::config;
use spur_core::state::Settings;
use spur_proto::client::Address;
use tokio::signal::unix::{SignalKind, signal};

/// The controller of a Spur cluster.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// Stay in the foreground (it always does; service managers expect the flag).
    #[arg(short = 'D')]
    foreground: bool,
    /// Where the state is kept.
    #[arg(long, default_value = "/var/spool/spur")]
    state_dir: PathBuf,
    /// The socket for this machine's users and agents.
    #[arg(long, default_value = "/run/spur/spurctld.sock")]
    socket: PathBuf,
    /// The configuration; without one, a cluster of whatever nodes join.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Where spurdbd listens, as unix:/PATH; without one, no history of jobs is kept.
    #[arg(long)]
    accounting: Option<String>,
    /// Say more; twice for even more.
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = match arguments.verbose {
        0 => "info,openraft=error",
        1 => "debug,openraft=info",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::new(level);
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .init();
    end_on_panic();
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spurctld: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A thread that is gone leaves a process that answers nobody: better none, which is started again.
fn end_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

fn settings(file: Option<&Path>) -> anyhow::Result<Settings> {
    let Some(file) = file else { return Ok(Settings::default()) };
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("could not read {name}"))?;
    match config::read(&text) {
        Ok(config) => Ok(Settings::of(&config)),
        Err(problems) => {
            let lines: Vec<String> = problems.lines(&name).collect();
            bail!("the configuration cannot be used\n{}", lines.join("\n"))
        }
    }
}

fn accounting(said: Option<&str>) -> anyhow::Result<Option<Address>> {
    let read = |said| {
        let address = Address::parse(said);
        address.with_context(|| format!("--accounting {said} cannot be reached; say unix:/PATH"))
    };
    said.map(read).transpose()
}

fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let options = spurctld::boot::Options {
        state_dir: arguments.state_dir,
        socket: arguments.socket,
        settings: settings(arguments.config.as_deref())?,
        accounting: accounting(arguments.accounting.as_deref())?,
    };
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
        spurctld::boot::run(options, stop).await
    })
}
