//! `spurctld`: arguments, logging, signals.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use spur_core::config::ControllerHost;
use spur_core::config::sections::{Accounting, Controller};
use spur_core::errors::exit::REMOVED;
use spur_proto::address::SYSTEM_SOCKET;
use spur_proto::client::Address;
use spurctld::boot::{Ended, Network};
use spurctld::configuration::Configuration;
use tokio::signal::unix::{SignalKind, signal};

/// The controller of a Spur cluster.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// Stay in the foreground (it always does; service managers expect the flag).
    #[arg(short = 'D')]
    foreground: bool,
    /// Where the state is kept, if not where the configuration says; else /var/spool/spur.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Where to listen: unix:/PATH, where the kernel tells who calls; HOST:PORT for other machines, by TLS;
    /// or both with a comma between. Else where the configuration says, or unix:/run/spur/spurctld.sock.
    #[arg(long, alias = "socket", value_name = "ADDRESS", value_parser = parse_addresses)]
    listen: Option<Addresses>,
    /// Where other machines find this one, as HOST:PORT, if not by its own name.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    advertise: Option<Address>,
    /// All controllers of the cluster, this one too, with commas between. The first begins the cluster.
    #[arg(long, value_name = "ADDRESSES", value_parser = parse_addresses)]
    controllers: Option<Addresses>,
    /// The configuration; without one, a cluster of whatever nodes join.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Where spurdbd listens, as unix:/PATH. Default: what the configuration says; without one, beside this
    /// controller's own socket if that is in the usual place.
    #[arg(long)]
    accounting: Option<String>,
    /// Tell numbers about this controller here, on loopback: 127.0.0.1:PORT.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Say more; twice for even more.
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Clone)]
struct Addresses(Vec<Address>);

fn parse_address(text: &str) -> Result<Address, String> {
    Address::parse(text).ok_or_else(|| "say HOST:PORT".to_string())
}

fn parse_addresses(text: &str) -> Result<Addresses, String> {
    let addresses = Address::parse_list(text).map(Addresses);
    addresses.ok_or_else(|| "say unix:/PATH or HOST:PORT, with commas between".to_string())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    spurctld::logging::start(arguments.verbose);
    end_on_panic();
    match serve(arguments) {
        Ok(Ended::Stopped) => ExitCode::SUCCESS,
        Ok(Ended::Removed) => ExitCode::from(REMOVED),
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

/// Where accounting is: as was said, as the file says where it has a database, and for a controller that was told
/// nothing at all the usual place, where `spurdbd` may come later.
fn accounting(
    said: Option<&str>,
    file: Option<&Accounting>,
    socket: &Path,
    is_told_nothing: bool,
) -> anyhow::Result<Option<Address>> {
    let beside = Address::Unix(socket.with_file_name("spurdbd.sock"));
    let read = |text: &str, key: &str| {
        let address = Address::parse(text);
        address
            .with_context(|| format!("{key} {text} cannot be reached; say unix:/PATH or HOST:6819"))
    };
    match (said, file) {
        (Some(said), _) => read(said, "--accounting").map(Some),
        (None, Some(file)) if file.database_url.is_some() => {
            let address = read(&file.address, "accounting.address")?;
            Ok(Some(if address.is_here() { beside } else { address }))
        }
        (None, None) if is_told_nothing => Ok(Some(beside)),
        _ => Ok(None),
    }
}

/// Where this controller is found, and the others.
struct Place {
    socket: PathBuf,
    network: Option<Network>,
    controllers: Vec<Address>,
}

impl Place {
    /// Where it was told to listen. The controllers that the file names count all the same on a network: three that
    /// did not know of each other would be three clusters.
    fn listen(
        &mut self,
        said: &[Address],
        advertise: Option<Address>,
        file: Option<&Controller>,
    ) -> anyhow::Result<()> {
        if let Some(socket) = said.iter().find_map(Address::socket) {
            self.socket = socket.to_path_buf();
        }
        let network = said.iter().find(|it| it.socket().is_none());
        let Some(listen @ Address::Tls { port, .. }) = network else {
            self.network = None;
            return Ok(());
        };
        if let Some(file) =
            file.filter(|file| !file.hosts.is_empty() && self.controllers.is_empty())
        {
            self.read(file, *port)?;
        }
        let named = self.network.take().and_then(|network| network.advertise);
        self.network = Some(Network { listen: listen.clone(), advertise: advertise.or(named) });
        Ok(())
    }

    /// By the file: a port as soon as it names controllers or says which one.
    fn read(&mut self, file: &Controller, port: u16) -> anyhow::Result<()> {
        if file.hosts.is_empty() && file.listen_addr == Controller::default().listen_addr {
            return Ok(());
        }
        let listen = Address::Tls { host: file.listen_addr.ip().to_string(), port };
        let address = |host: &ControllerHost| {
            let host = host.address.clone().unwrap_or_else(|| host.name.clone());
            Address::Tls { host, port }
        };
        let own = nix::unistd::gethostname()?.to_string_lossy().into_owned();
        let short = own.split('.').next().unwrap_or_default();
        let mine = file.hosts.iter().find(|it| [&own, short].contains(&it.name.as_str()));
        if mine.is_none() && !file.hosts.is_empty() {
            bail!("controller.hosts does not name this machine, which is {short}");
        }
        self.network = Some(Network { listen, advertise: mine.map(address) });
        if file.hosts.len() > 1 {
            self.controllers = file.hosts.iter().map(address).collect();
        }
        Ok(())
    }
}

fn serve(arguments: Arguments) -> anyhow::Result<Ended> {
    let configuration = Configuration::new(arguments.config)?;
    let file = configuration.controller();
    let state_dir = file.map_or("/var/spool/spur", |file| &file.state_dir);
    let socket = file.map(|file| Path::new(&file.socket_dir).join("spurctld.sock"));
    let mut place = Place {
        socket: socket.unwrap_or(PathBuf::from(SYSTEM_SOCKET)),
        network: None,
        controllers: arguments.controllers.map_or(Vec::new(), |list| list.0),
    };
    let is_told_nothing = arguments.listen.is_none() && place.controllers.is_empty();
    match (arguments.listen, file) {
        (Some(said), file) => place.listen(&said.0, arguments.advertise, file)?,
        // Whoever says nothing about controllers means what the file says.
        (None, Some(file)) if place.controllers.is_empty() => {
            place.read(file, file.listen_addr.port())?;
        }
        (None, _) => {}
    }
    let said = arguments.accounting.as_deref();
    let accounting = accounting(said, configuration.accounting(), &place.socket, is_told_nothing)?;
    let options = spurctld::boot::Options {
        state_dir: arguments.state_dir.unwrap_or_else(|| PathBuf::from(state_dir)),
        socket: place.socket,
        network: place.network,
        controllers: place.controllers,
        metrics: arguments.metrics.or_else(|| file?.metrics_addr),
        accounting,
        accounting_may_come: said.is_none() && configuration.accounting().is_none(),
        configuration,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controllers_of_the_file_count_wherever_this_one_listens() {
        let own = nix::unistd::gethostname().expect("a name").to_string_lossy().into_owned();
        let host = |name: &str| ControllerHost { name: name.to_string(), address: None };
        let listen = |said: &str, hosts: &[&str]| {
            let hosts = hosts.iter().map(|name| host(name)).collect();
            let file = Controller { hosts, ..Controller::default() };
            let mut place =
                Place { socket: PathBuf::from("/s"), network: None, controllers: Vec::new() };
            let said = Address::parse_list(said).expect("addresses");
            place.listen(&said, None, Some(&file)).map(|()| {
                let network = place.network.and_then(|it| it.advertise);
                (Address::list(&place.controllers), network.map(|it| it.to_string()))
            })
        };
        let (controllers, advertised) = listen("[::]:7000", &["a", &own]).expect("is named");
        assert_eq!(controllers, format!("a:7000,{own}:7000"));
        assert_eq!(advertised, Some(format!("{own}:7000")));
        assert!(listen("[::]:7000", &["a", "b"]).is_err(), "this machine is not named");
        assert_eq!(listen("[::]:7000", &[]).expect("alone"), (String::new(), None));
        assert_eq!(listen("unix:/x", &["a", "b"]).expect("alone"), (String::new(), None));
    }

    #[test]
    fn accounting_is_found_without_a_word() {
        let socket = Path::new("/run/spur/spurctld.sock");
        let told = |said, file: Option<&Accounting>, nothing| {
            let found = accounting(said, file, socket, nothing).expect("is read");
            found.map(|address| address.to_string())
        };
        let usual = Some("unix:/run/spur/spurdbd.sock".to_string());
        assert_eq!(told(None, None, true), usual, "started by hand");
        assert_eq!(told(None, None, false), None, "spur up --no-accounting");
        assert_eq!(told(Some("unix:/a"), None, true).as_deref(), Some("unix:/a"));
        let mut file = Accounting::default();
        assert_eq!(told(None, Some(&file), true), None, "the file has no database");
        file.database_url = Some("postgresql://db/spur".to_string());
        assert_eq!(told(None, Some(&file), false), usual);
        file.address = "http://db1:6819".to_string();
        assert_eq!(told(None, Some(&file), false).as_deref(), Some("db1:6819"));
    }
}
