//! How much this controller writes into its log: by `-v`, by the configuration, and as `scontrol setdebug` and
//! `setdebugflags` say until it starts again or is configured anew.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

use spur_core::show::levels::{self, Flag};
use tracing_subscriber::EnvFilter;

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Slurm's word for it; `None` as it began.
    pub level: Option<&'static str>,
    /// Parts that tell more.
    pub flags: BTreeSet<&'static str>,
}

struct Logging {
    /// What `-v` asks for.
    base: &'static str,
    set: Box<dyn Fn(EnvFilter) + Send + Sync>,
    now: Mutex<Levels>,
}

static LOGGING: OnceLock<Logging> = OnceLock::new();

/// Begins to write to standard error.
pub fn start(verbose: u8) {
    let base = match verbose {
        0 => "info,openraft=off",
        1 => "debug,openraft=warn",
        _ => "trace",
    };
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(base))
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .with_filter_reloading();
    let handle = builder.reload_handle();
    builder.init();
    let set = Box::new(move |filter| drop(handle.reload(filter)));
    let _ = LOGGING.set(Logging { base, set, now: Mutex::default() });
}

/// Changes what is written, and tells what it is now.
pub fn change(change: impl FnOnce(&mut Levels)) -> Levels {
    let Some(logging) = LOGGING.get() else { return Levels::default() };
    let mut now = logging.now.lock().expect("no holder panics");
    let before = now.clone();
    change(&mut now);
    if *now != before {
        (logging.set)(EnvFilter::new(directives(logging.base, &now)));
    }
    now.clone()
}

/// As it is now.
pub fn now() -> Levels {
    change(|_| {})
}

fn directives(base: &str, levels: &Levels) -> String {
    let level = levels.level.map_or(base, |level| match level {
        "quiet" | "fatal" | "error" => "error,openraft=off",
        "warn" => "warn,openraft=off",
        "info" | "verbose" => "info,openraft=off",
        "debug" => "debug,openraft=warn",
        _ => "trace",
    });
    let raised = levels.flags.iter().filter_map(|name| levels::flag(name));
    let targets = raised.flat_map(|flag: &Flag| flag.parts.iter());
    targets.fold(level.to_string(), |all, target| format!("{all},{target}=debug"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_raise_the_parts_they_are_about() {
        let levels = Levels { level: None, flags: ["Backfill"].into() };
        assert_eq!(directives("info,openraft=off", &levels), "info,openraft=off,spur_sched=debug");
        let levels = Levels { level: Some("debug2"), flags: BTreeSet::new() };
        assert_eq!(directives("info", &levels), "trace");
        let levels = Levels { level: Some("error"), flags: BTreeSet::new() };
        assert_eq!(directives("debug", &levels), "error,openraft=off");
    }
}
