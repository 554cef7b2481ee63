//! `spur version`.

use crate::output::print;

/// Runs the command.
pub fn run(_args: &[String]) -> u8 {
    print(&format!(
        "spur {} (compatible with {})\n",
        env!("CARGO_PKG_VERSION"),
        crate::commands::VERSION
    ));
    0
}
