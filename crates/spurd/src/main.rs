//! `spurd`, the node agent; `spurd nursery`, which forks shepherds for it; `spurd shepherd`, one by itself.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use spurd::options::Options;

fn main() -> ExitCode {
    // A shepherd's memory is its nursery's, so these come before anything that costs time or memory.
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == spurd::NURSERY => {
            let rest: Vec<OsString> = arguments.collect();
            return spurd::nursery::main(&rest, spurd::shepherd::live);
        }
        Some(first) if first == spurd::SHEPHERD => {
            return spurd::shepherd::main(&arguments.collect::<Vec<OsString>>());
        }
        _ => {}
    }
    match spurd::serve(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spurd: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
