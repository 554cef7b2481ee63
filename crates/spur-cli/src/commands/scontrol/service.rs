//! What `scontrol` asks of the controller itself: to read its configuration again, to make a token, to stop.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Session;
use crate::commands::{Ended, check_cluster};
use crate::output::{complain, note, print};
use crate::{cluster, native};

pub fn reconfigure(session: &mut Session, _: &[&str]) -> u8 {
    match session.controller().reconfigure() {
        Ok(changes) => {
            // What holds at once needs no word.
            let later = changes.iter().filter(|change| change.contains("(after a restart of"));
            later.for_each(|change| note(format!("scontrol: {change}")));
            0
        }
        Err(error) => session.refuse(format!("slurm_reconfigure error: {error}")),
    }
}

/// Stops the controllers at once; there is no core file.
pub fn abort(session: &mut Session, _: &[&str]) -> u8 {
    match session.controller().shut_down() {
        Ok(()) => 0,
        Err(error) => session.refuse(format!("slurm_shutdown error: {error}")),
    }
}

/// Has the controller stop that leads, so that another one does.
pub fn takeover(session: &mut Session, words: &[&str]) -> u8 {
    let controllers = session.controller().controllers().unwrap_or_default();
    let others = controllers.len().saturating_sub(1);
    if let Some(word) = words.first() {
        let index = word.parse::<usize>().unwrap_or(0);
        if !(1..=others).contains(&index) {
            return session.refuse(format!("takeover: invalid backup controller index ({index})"));
        }
    }
    if others == 0 {
        return session
            .refuse("slurm_takeover error: Unable to contact slurm controller (connect failure)");
    }
    match session.controller().stop_leader() {
        Ok(()) => 0,
        Err(error) => session.refuse(format!("slurm_takeover error: {error}")),
    }
}

/// There is only our own cluster.
pub fn cluster(session: &mut Session, words: &[&str]) -> u8 {
    let Some(name) = words.first() else { return 0 };
    match check_cluster("scontrol", name, session.controller()) {
        Ok(_) => 0,
        Err(Ended(status)) => status,
    }
}

/// Stops the cluster of a `spur up`, or the controllers of this machine's. Jobs go on, and whoever starts the
/// daemons again finds them.
pub fn shutdown(session: &mut Session, words: &[&str]) -> u8 {
    let only_controllers = match words.first().map(|word| word.to_ascii_lowercase()).as_deref() {
        None => false,
        Some("slurmctld" | "controller") => true,
        Some(_) => return session.refuse("invalid option for shutdown command"),
    };
    match cluster::own_dir() {
        // Its supervisor starts again whatever stops by itself.
        Some(dir) if !only_controllers && is_ours(&dir) => {
            let dir = format!("--dir={}", dir.display());
            native::down::run(&["--keep-jobs".to_string(), dir])
        }
        _ => match session.controller().shut_down() {
            Ok(()) => 0,
            Err(error) => session.refuse(format!("slurm_shutdown error: {error}")),
        },
    }
}

/// Whether what lives in a directory is ours to stop.
fn is_ours(dir: &Path) -> bool {
    let us = nix::unistd::geteuid();
    us.is_root() || std::fs::metadata(dir).is_ok_and(|it| it.uid() == us.as_raw())
}

/// `token [lifespan=SECONDS] [username=NAME]`; `token revoke [username=NAME]` makes earlier ones worthless.
pub fn token(session: &mut Session, words: &[&str]) -> u8 {
    let (mut lifespan, mut user, mut revoke) = (0, "", false);
    for word in words {
        match word.split_once('=') {
            Some((key, value)) if key.eq_ignore_ascii_case("lifespan") => match seconds(value) {
                Some(seconds) => lifespan = seconds,
                None => return session.refuse(format!("Invalid lifespan: {value}")),
            },
            Some((key, value)) if key.eq_ignore_ascii_case("username") => user = value,
            None if word.eq_ignore_ascii_case("revoke") => revoke = true,
            _ => return session.refuse(format!("Invalid option: `{word}`")),
        }
    }
    if revoke {
        return match session.controller().revoke_tokens(user) {
            Ok(()) => 0,
            Err(error) => session.refuse(format!("error: tokens are not revoked: {error}")),
        };
    }
    match session.controller().token(user, lifespan) {
        Ok(token) => {
            print(&format!("SLURM_JWT={token}\n"));
            0
        }
        Err(error) => {
            complain("scontrol", format!("slurm_fetch_token: error with request: {error}"));
            1
        }
    }
}

/// As Slurm has it: seconds, or no end; the controller has a longest of its own.
fn seconds(text: &str) -> Option<u64> {
    if text.eq_ignore_ascii_case("infinite") {
        return Some(u64::MAX);
    }
    text.parse().ok().filter(|seconds| *seconds > 0)
}
