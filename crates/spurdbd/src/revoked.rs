//! Whose tokens are worthless, as the controllers have told. Kept in a file, so that a restart forgets nothing.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context;
use spur_net::files;
use spur_proto::slurm::RevokedTokens;

/// What is known. Until a controller has told for the first time, no token is good.
#[derive(Debug, Default)]
pub struct Revoked {
    /// Nothing where tokens play no part.
    file: Option<PathBuf>,
    until: Mutex<Option<BTreeMap<String, i64>>>,
}

impl Revoked {
    /// Goes on with what an earlier life was told.
    pub fn open(dir: &Path) -> anyhow::Result<Revoked> {
        let file = dir.join("revoked");
        let at = || format!("could not read {}", file.display());
        let until = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text.lines().map(read).collect::<Option<_>>().with_context(at)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(at),
        };
        Ok(Revoked { file: Some(file), until: Mutex::new(until) })
    }

    /// A controller tells. Of two controllers one may know less: the later second counts.
    pub fn learn(&self, told: &[RevokedTokens]) -> anyhow::Result<()> {
        let mut known = self.until.lock().map_err(|_| anyhow::anyhow!("nobody knows"))?;
        let mut merged = known.clone().unwrap_or_default();
        for RevokedTokens { user_name, until } in told {
            let latest = merged.entry(user_name.clone()).or_insert(*until);
            *latest = (*latest).max(*until);
        }
        if known.as_ref() == Some(&merged) {
            return Ok(());
        }
        if let Some(file) = &self.file {
            let lines: String =
                merged.iter().map(|(user, until)| format!("{until} {user}\n")).collect();
            files::write(file, files::SECRET, lines.as_bytes())?;
        }
        *known = Some(merged);
        Ok(())
    }

    /// Whether a token of this user that was made at this second is still good.
    pub fn allows(&self, user: &str, issued: i64) -> bool {
        let Ok(known) = self.until.lock() else { return false };
        known.as_ref().is_some_and(|known| known.get(user).is_none_or(|until| issued > *until))
    }
}

fn read(line: &str) -> Option<(String, i64)> {
    let (until, user) = line.split_once(' ')?;
    Some((user.to_string(), until.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(user: &str, until: i64) -> Vec<RevokedTokens> {
        vec![RevokedTokens { user_name: user.to_string(), until }]
    }

    #[test]
    fn tokens_are_worthless_until_somebody_tells_which_are_and_a_restart_forgets_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let revoked = Revoked::open(dir.path()).expect("opens");
        assert!(!revoked.allows("alice", 100));
        revoked.learn(&[]).expect("is kept");
        assert!(revoked.allows("alice", 100));
        revoked.learn(&told("alice", 100)).expect("is kept");
        revoked.learn(&told("alice", 50)).expect("one that knows less");
        let revoked = Revoked::open(dir.path()).expect("opens again");
        assert!(!revoked.allows("alice", 100));
        assert!(revoked.allows("alice", 101));
        assert!(revoked.allows("bob", 1));
    }

    #[test]
    fn a_damaged_file_lets_nobody_in() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("revoked"), "alice\n").expect("is written");
        assert!(Revoked::open(dir.path()).is_err());
    }
}
