//! Words for people: complaints go to standard error, a closed pipe is no reason to panic.

use std::io::{ErrorKind, Write};

/// `TOOL: error: message` on standard error.
pub fn complain(tool: &str, message: impl std::fmt::Display) {
    eprintln!("{tool}: error: {message}");
}

/// What went wrong, without the number the system has for it.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// A line on standard error; that nobody can read it is no reason to stop.
pub fn note(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a whole answer. When nobody reads any more, that is the end of it.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: could not write to standard output: {error}");
        }
        _ => {}
    }
}
