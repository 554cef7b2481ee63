//! `spur env`: what a shell needs to find the cluster.

use std::path::PathBuf;

use clap::Parser;
use spur_proto::client::Address;

use super::layout::Layout;
use crate::cluster;
use crate::output::{complain, print};

/// Prints shell exports: eval "$(spur env)"
#[derive(Parser)]
struct Arguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The cluster's directory.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("env", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match Layout::new(arguments.dir.or_else(cluster::dir_in_use)) {
        Ok(layout) if arguments.json => {
            let address = Address::list(&layout.known_addresses());
            let bin = layout.bin().display().to_string();
            let told = serde_json::json!({"bin": bin, "SPUR_CONTROLLER_ADDR": address});
            print(&format!("{told}\n"));
            0
        }
        Ok(layout) => {
            let bin = quoted(&layout.bin().display().to_string());
            let address = quoted(&Address::list(&layout.known_addresses()));
            print(&format!("export PATH={bin}:\"$PATH\"\nexport SPUR_CONTROLLER_ADDR={address}\n"));
            0
        }
        Err(error) => {
            complain("spur env", error);
            1
        }
    }
}

/// A word that a shell takes as it stands.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
