//! `scontrol setdebug`, `setdebugflags`, `schedloglevel`: how much daemons log is said in the configuration
//! (`log_level`) and by `-v`; words that Slurm would take are checked, and answered as it does.

use super::Session;
use crate::output::complain;

/// Slurm's levels, by number.
const LEVELS: &[&str] = &[
    "quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5",
];

pub fn set_debug(session: &mut Session, words: &[&str]) -> u8 {
    let known = LEVELS.contains(&words[0].to_ascii_lowercase().as_str())
        || words[0].parse::<usize>().is_ok_and(|number| number < LEVELS.len());
    if !known {
        return session.refuse(format!("invalid debug level: {}", words[0]));
    }
    unavailable(session, "slurm_set_debug_level")
}

pub fn set_flags(session: &mut Session, words: &[&str]) -> u8 {
    for word in words {
        match word.strip_prefix(['+', '-']) {
            Some(flag) if flag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {}
            _ => {
                complain("scontrol", format!("Invalid DebugFlag: {word}"));
                return session.refuse(format!("invalid debug flag: {word}"));
            }
        }
    }
    unavailable(session, "slurm_set_debugflags")
}

/// Slurm refuses this too unless a file for it is configured.
pub fn schedule(session: &mut Session, _: &[&str]) -> u8 {
    unavailable(session, "slurm_set_schedlog_level")
}

fn unavailable(session: &Session, call: &str) -> u8 {
    session.refuse(format!("{call} error: Requested operation is presently disabled"))
}
