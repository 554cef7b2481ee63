//! What `scontrol` asks of the controller itself: to read its configuration again, to make a token.

use super::Session;
use crate::output::print;

pub fn reconfigure(session: &mut Session, _: &[&str]) -> u8 {
    match session.controller().reconfigure() {
        Ok(()) => 0,
        Err(error) => session.refuse(format!("slurm_reconfigure error: {error}")),
    }
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
            _ => return session.refuse(format!("Invalid token argument: {word}")),
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
        Err(error) => session.refuse(format!("error: unable to get token: {error}")),
    }
}

/// As Slurm has it: seconds, or no end; the controller has a longest of its own.
fn seconds(text: &str) -> Option<u64> {
    if text.eq_ignore_ascii_case("infinite") {
        return Some(u64::MAX);
    }
    text.parse().ok().filter(|seconds| *seconds > 0)
}
