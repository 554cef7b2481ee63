//! Words for people: complaints go to standard error, a closed pipe is no reason to panic.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// `TOOL: error: message` on standard error, unless nobody wants to know.
pub fn complain(tool: &str, message: impl std::fmt::Display) {
    if !SILENT.load(Ordering::Relaxed) {
        note(format!("{tool}: error: {message}"));
    }
}

/// `-QQ`: what is wrong is told by the exit status alone.
pub fn be_silent() {
    SILENT.store(!LOUD.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// For a tool that has others work for it quietly: what is wrong is told all the same.
pub fn stay_loud() {
    LOUD.store(true, Ordering::Relaxed);
}

static SILENT: AtomicBool = AtomicBool::new(false);
static LOUD: AtomicBool = AtomicBool::new(false);

/// What went wrong, without the number the system has for it.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// A line on standard error; that nobody can read it is no reason to stop.
pub fn note(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A line beyond what Slurm says: for people at a terminal, or who want to know more.
pub fn advise(line: impl std::fmt::Display, is_verbose: bool) {
    if is_verbose || std::io::stderr().is_terminal() {
        note(line);
    }
}

/// Prints a whole answer. Names that others gave their jobs do not steer a terminal; programs read them as they are.
pub fn print(text: &str) {
    match std::io::stdout().is_terminal() {
        true => draw(&harmless(text)),
        false => draw(text),
    }
}

/// Text in which nothing but lines and tabulators steers a terminal.
fn harmless(text: &str) -> Cow<'_, str> {
    let steers = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if text.contains(steers) { text.replace(steers, "?").into() } else { text.into() }
}

/// Prints text as it stands. When nobody reads any more, that is the end of it.
pub fn draw(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: could not write to standard output: {error}");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_do_not_steer_a_terminal() {
        let table = [
            ("a\tb\n", "a\tb\n"),
            ("a\x1b[31mred", "a?[31mred"),
            ("a\rb\x07\u{9b}1m", "a?b??1m"),
            ("größe", "größe"),
        ];
        for (text, shown) in table {
            assert_eq!(harmless(text), shown);
        }
    }
}
