//! `spurctld`: arguments, logging, signals.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use spur_core::state::Settings;
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
    /// The cluster's name.
    #[arg(long, default_value = "cluster")]
    cluster_name: String,
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
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spurctld: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let options = spurctld::boot::Options {
        state_dir: arguments.state_dir,
        socket: arguments.socket,
        settings: Settings { cluster_name: arguments.cluster_name, ..Settings::default() },
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
