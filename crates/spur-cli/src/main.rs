//! `spur`, and every name it is called by.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    let called_as = args.next().unwrap_or_default();
    let args: Vec<String> = args.collect();
    ExitCode::from(spur_cli::dispatch::run(&called_as, &args))
}
