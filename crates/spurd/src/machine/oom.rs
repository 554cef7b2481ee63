//! Who is ended first when the machine has no memory left: never the agent and its shepherds, and a user's
//! process as readily as any other.

use std::fs;
use std::io;

/// The kernel's number: -1000 is never, 0 as any other.
const SCORE: &str = "/proc/self/oom_score_adj";

/// Spares this process and those it starts. Only root may; where it may not either, nothing changes.
pub fn spare() -> bool {
    fs::write(SCORE, "-1000").is_ok()
}

/// Takes back that this process is spared, before it becomes a user's.
pub fn no_longer_spare() -> io::Result<()> {
    let score = fs::read_to_string(SCORE)?;
    match score.trim().parse::<i32>() {
        Ok(score) if score < 0 => fs::write(SCORE, "0"),
        Ok(_) => Ok(()),
        Err(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}
