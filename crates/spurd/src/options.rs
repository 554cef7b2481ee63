//! The agent's command line.

use std::path::PathBuf;

use clap::Parser;
use spur_proto::client::Address;

/// The node agent: runs what the controller starts on this machine.
#[derive(Clone, Debug, Parser)]
#[command(name = "spurd", version)]
pub struct Options {
    /// Stay in the foreground; spurd always does.
    #[arg(short = 'D')]
    pub foreground: bool,

    /// The node's name; this machine's short host name if not given.
    #[arg(short = 'N', value_name = "NAME")]
    pub node: Option<String>,

    /// Where the controllers listen: HOST:PORT, or unix:/path/to/socket on their own machine, with commas
    /// between several.
    #[arg(long, value_name = "ADDRESSES", value_parser = parse_addresses)]
    pub controller: Addresses,

    /// Where the agent keeps what must survive it.
    #[arg(long, value_name = "DIR", default_value = "/var/spool/spurd")]
    pub state_dir: PathBuf,

    /// Where to listen for srun on other machines, by TLS, once this machine has joined.
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:6818", value_parser = parse_address)]
    pub listen: Address,

    /// Processors to offer; those of this machine if not given.
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,

    /// Memory to offer, in MB; that of this machine if not given.
    #[arg(long, value_name = "MB")]
    pub memory: Option<u64>,

    /// Generic resources to declare for trials, as in gpu:mi300x:8; those of this machine if not given.
    #[arg(long, value_name = "LIST")]
    pub gres: Option<String>,

    /// Below which directory /sys and /proc are looked for.
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub sysfs_root: PathBuf,

    /// Log more.
    #[arg(short = 'v', action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Where the controllers listen.
#[derive(Clone, Debug)]
pub struct Addresses(pub Vec<Address>);

fn parse_addresses(text: &str) -> Result<Addresses, String> {
    let addresses = Address::parse_list(text).map(Addresses);
    addresses.ok_or_else(|| "say HOST:PORT or unix:/PATH, with commas between".to_string())
}

fn parse_address(text: &str) -> Result<Address, String> {
    let address = Address::parse(text).filter(|address| address.socket().is_none());
    address.ok_or_else(|| "say HOST:PORT".to_string())
}
