//! Who is ended first when the machine has no memory left: never the agent and its shepherds, and a user's
//! process as readily as any other.

use std::fs;
use std::io;
use std::sync::OnceLock;

/// The kernel's number: -1000 is never, 0 as any other.
const SCORE: &str = "/proc/self/oom_score_adj";

/// Spares this process and those it starts. Only root may; where it may not either, nothing changes.
pub fn spare() -> bool {
    fs::write(SCORE, "-1000").is_ok()
}

/// Takes back that this process is spared, before it becomes a user's.
pub fn no_longer_spare() -> io::Result<()> {
    if is_spared()? { fs::write(SCORE, "0") } else { Ok(()) }
}

/// Whether this process, and with it whoever it forks, is spared. Looked up once.
pub fn is_spared() -> io::Result<bool> {
    if let Some(known) = SPARED.get() {
        return Ok(*known);
    }
    let score = fs::read_to_string(SCORE)?.trim().parse::<i32>();
    let spared = score.map_err(|_| io::ErrorKind::InvalidData)? < 0;
    Ok(*SPARED.get_or_init(|| spared))
}

static SPARED: OnceLock<bool> = OnceLock::new();
