//! `scontrol reboot` and `cancel_reboot`: nodes restart by a program of the site.

use spur_core::errors::SlurmError;
use spur_core::state::Assignment;
use spur_proto::caller::CallError;
use spur_proto::slurm::{Noun, Verb};

use super::Session;
use super::update::{administer, answered};
use crate::output::complain;

/// `reboot [ASAP] [nextstate=DOWN|RESUME] [reason=TEXT] ALL|NODES`
pub fn reboot(session: &mut Session, words: &[&str]) -> u8 {
    let mut nodes = Vec::new();
    let mut state = "REBOOT";
    let mut assignments = Vec::new();
    for word in words {
        let lower = word.to_ascii_lowercase();
        let said = word.split_once('=').map_or("", |(_, said)| said);
        match lower.split_once('=') {
            Some(("nextstate", "down" | "resume")) => assignments.push(says("NextState", said)),
            Some(("reason", _)) => assignments.push(says("Reason", said)),
            Some(("nextstate", _)) => {
                session.refuse(format!("Invalid state: {said}"));
                return session.refuse("Valid states: DOWN, RESUME");
            }
            _ if lower == "asap" => state = "REBOOT_ASAP",
            _ => nodes.push(*word),
        }
    }
    match nodes.len() {
        0 => return session.refuse("Missing node list. Specify ALL|<NodeList>"),
        1 => {}
        _ => return session.refuse("too many arguments for keyword:reboot"),
    }
    let entries = session.controller().config().map(|config| config.entries).unwrap_or_default();
    let program = entries.iter().find(|entry| entry.key == "RebootProgram");
    if program.is_none_or(|entry| entry.value == "(null)") {
        complain("scontrol", "RebootProgram isn't defined");
        return session.refuse("scontrol_reboot_nodes error: Unspecified error");
    }
    assignments.push(says("State", state));
    let error = match administer(session, Noun::Node, Verb::Update, nodes[0], assignments) {
        Ok(_) => return 0,
        Err(CallError::Refused(SlurmError::AccessDenied)) => "Permission denied".to_string(),
        Err(error) => error.to_string(),
    };
    session.refuse(format!("scontrol_reboot_nodes error: {error}"))
}

/// `cancel_reboot NODES`
pub fn cancel(session: &mut Session, words: &[&str]) -> u8 {
    answered(session, Noun::Node, words[0], vec![says("State", "CANCEL_REBOOT")])
}

fn says(key: &str, value: &str) -> Assignment {
    Assignment { key: key.to_string(), value: value.to_string() }
}
