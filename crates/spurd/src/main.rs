//! `spurd`, the node agent, and `spurd shepherd`, the small process that cares for one run.

use std::process::ExitCode;

use clap::Parser;
use spurd::options::Options;

fn main() -> ExitCode {
    // A shepherd is started for every run, so it comes before anything that costs time or memory.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == spurd::SHEPHERD) {
        return spurd::shepherd::main(arguments.collect());
    }
    match spurd::serve(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spurd: {error:#}");
            ExitCode::FAILURE
        }
    }
}
