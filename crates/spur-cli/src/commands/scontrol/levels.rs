//! `scontrol setdebug`, `setdebugflags`, `schedloglevel`: how much daemons log is said in the configuration
//! (`log_level`) and by `-v`; words that Slurm would take are checked, and answered as it does.

use super::Session;
use crate::output::complain;

/// Slurm's levels, by number.
const LEVELS: &[&str] = &[
    "quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5",
];

/// Slurm's flags, as its manual lists them.
const FLAGS: &[&str] = &[
    "accrue",
    "agent",
    "auditrpcs",
    "backfill",
    "backfillmap",
    "burstbuffer",
    "cgroup",
    "conmgr",
    "cpu_bind",
    "cpufrequency",
    "data",
    "dbd_agent",
    "dependency",
    "elasticsearch",
    "energy",
    "federation",
    "frontend",
    "glob_silence",
    "gres",
    "hetjob",
    "gang",
    "jag",
    "jobaccountgather",
    "jobcomp",
    "jobcontainer",
    "license",
    "metrics",
    "network",
    "networkraw",
    "nodefeatures",
    "no_conf_hash",
    "power",
    "priority",
    "profile",
    "protocol",
    "reservation",
    "route",
    "script",
    "selecttype",
    "sackd",
    "steps",
    "switch",
    "tls",
    "timecray",
    "tracejobs",
    "triggers",
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
        match word.strip_prefix(['+', '-']).map(str::to_ascii_lowercase) {
            Some(flag) if FLAGS.contains(&flag.as_str()) => {}
            Some(_) => {
                complain("scontrol", format!("Invalid DebugFlag: {}", &word[1..]));
                return session.refuse(format!("invalid debug flag: {word}"));
            }
            None => {
                session.refuse(format!("invalid debug flag: {word}"));
                return session.refuse("Usage: setdebugflags [+|-]NAME");
            }
        }
    }
    unavailable(session, "slurm_set_debugflags")
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
