//! `spur version`.

use clap::Parser;

use crate::commands::VERSION;
use crate::output::print;

/// Prints the version, and that of the Slurm whose answers ours are.
#[derive(Parser)]
struct Arguments {
    /// As an object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    let arguments: Arguments = match super::read("version", args) {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let own = env!("CARGO_PKG_VERSION");
    match arguments.json {
        true => {
            print(&format!("{:#}\n", serde_json::json!({ "spur": own, "compatible": VERSION })))
        }
        false => print(&format!("spur {own} (compatible with {VERSION})\n")),
    }
    0
}
