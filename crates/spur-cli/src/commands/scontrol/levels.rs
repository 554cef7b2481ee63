//! `scontrol setdebug`, `setdebugflags`, `schedloglevel`: how much the controller logs, until it is configured
//! anew. Words are checked as by Slurm.

use spur_core::show::levels;
use spur_proto::slurm::SetLoggingRequest;

use super::Session;
use crate::output::complain;

pub fn set_debug(session: &mut Session, words: &[&str]) -> u8 {
    let Some(level) = levels::level(words[0]) else {
        return session.refuse(format!("invalid debug level: {}", words[0]));
    };
    let request = SetLoggingRequest { level: level.to_string(), ..Default::default() };
    ask(session, &request, "slurm_set_debug_level")
}

pub fn set_flags(session: &mut Session, words: &[&str]) -> u8 {
    let word = words[0];
    let Some(name) = word.strip_prefix(['+', '-']) else {
        session.refuse(format!("invalid debug flag: {word}"));
        return session.refuse("Usage: setdebugflags [+|-]NAME");
    };
    let Some(flag) = levels::flag(name) else {
        complain("scontrol", format!("Invalid DebugFlag: {name}"));
        return session.refuse(format!("invalid debug flag: {word}"));
    };
    let named = vec![flag.name.to_string()];
    let request = match word.starts_with('+') {
        true => SetLoggingRequest { raise: named, ..Default::default() },
        false => SetLoggingRequest { lower: named, ..Default::default() },
    };
    ask(session, &request, "slurm_set_debug_flags")
}

fn ask(session: &mut Session, request: &SetLoggingRequest, call: &str) -> u8 {
    match session.controller().set_logging(request) {
        Ok(()) => 0,
        Err(error) => session.refuse(format!("{call} error: {error}")),
    }
}

/// Slurm refuses this too unless a file for it is configured.
pub fn schedule(session: &mut Session, words: &[&str]) -> u8 {
    let known = ["0", "1", "disable", "enable"];
    if !known.contains(&words[0].to_ascii_lowercase().as_str()) {
        return session.refuse(format!("invalid schedlog level: {}", words[0]));
    }
    unavailable(session, "slurm_set_schedlog_level")
}

/// It is a key of the configuration. What is no number is no reason for Slurm to fail.
pub fn dampening(session: &mut Session, words: &[&str]) -> u8 {
    if words[0].parse::<u16>().is_err() {
        session.refuse(format!("invalid dampening factor: {}", words[0]));
        return 0;
    }
    unavailable(session, "slurm_set_fs_dampeningfactor")
}

fn unavailable(session: &Session, call: &str) -> u8 {
    session.refuse(format!("{call} error: Requested operation is presently disabled"))
}
