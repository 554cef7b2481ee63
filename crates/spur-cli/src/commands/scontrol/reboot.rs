//! `scontrol reboot` and `cancel_reboot`: nodes restart by a program of the site, and there is none that agents
//! would run yet.

use super::Session;
use crate::output::complain;

/// `reboot [ASAP] [nextstate=DOWN|RESUME] [reason=TEXT] ALL|NODES`
pub fn reboot(session: &mut Session, words: &[&str]) -> u8 {
    let mut nodes = Vec::new();
    for word in words {
        let lower = word.to_ascii_lowercase();
        match lower.split_once('=') {
            Some(("nextstate", "down" | "resume")) | Some(("reason", _)) => {}
            Some(("nextstate", _)) => {
                let said = word.split_once('=').map_or("", |(_, said)| said);
                session.refuse(format!("Invalid state: {said}"));
                return session.refuse("Valid states: DOWN, RESUME");
            }
            _ if lower == "asap" => {}
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
    session.refuse("scontrol_reboot_nodes error: Requested operation not supported on this system")
}

/// Nothing waits to restart.
pub fn cancel(session: &mut Session, words: &[&str]) -> u8 {
    let nodes = session.controller().nodes().unwrap_or_default();
    let names = spur_core::hostlist::expand(words[0]).unwrap_or_default();
    let known = names.iter().all(|name| nodes.iter().any(|node| node.name == *name));
    let error = match known && !names.is_empty() {
        true => "Invalid node state specified",
        false => "Invalid node name specified",
    };
    session.refuse(format!("slurm_update error: {error}"))
}
