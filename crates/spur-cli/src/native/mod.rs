//! Spur's own verbs, a file each.

pub mod audit;
pub mod config;
pub mod controllers;
pub mod doctor;
pub mod down;
pub mod env;
pub mod exec;
mod former;
pub mod health;
pub mod history;
mod hosts;
pub mod init;
pub mod join;
pub mod logs;
pub mod nodes;
pub mod plan;
pub mod retry;
pub mod status;
pub mod token;
pub mod up;
pub mod version;
pub mod wait;
pub mod watch;
pub mod why;

mod daemons;
mod layout;
mod news;
mod shape;
mod welcome;

use clap::Parser;

/// Reads the words of a verb. `Err` is the exit status after help or a complaint was printed.
fn read<Arguments: Parser>(verb: &str, args: &[String]) -> Result<Arguments, u8> {
    let words = std::iter::once(format!("spur {verb}")).chain(args.iter().cloned());
    Arguments::try_parse_from(words).map_err(|error| {
        let _ = error.print();
        error.exit_code() as u8
    })
}
