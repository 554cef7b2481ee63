//! Names of callers, and whom the cluster itself runs as.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use spur_core::ids::Uid;

/// Whom this daemon runs as.
pub fn own_uid() -> Uid {
    Uid(nix::unistd::geteuid().as_raw())
}

/// Names of users, as this machine knows them. Asking may take long, so answers are kept for a while.
#[derive(Default)]
pub struct UserNames {
    known: Mutex<BTreeMap<Uid, (Instant, String)>>,
}

/// A user who was renamed is known by the new name this much later.
const REMEMBERED: Duration = Duration::from_secs(300);

/// Users remembered at a time.
const MOST: usize = 100_000;

impl UserNames {
    /// The user's name, or the number where there is none.
    pub async fn of(&self, uid: Uid) -> String {
        if let Some(name) = self.remembered(uid, Instant::now()) {
            return name;
        }
        let look_up = move || match nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid.0)) {
            Ok(Some(user)) => user.name,
            _ => uid.to_string(),
        };
        let name = tokio::task::spawn_blocking(look_up).await.unwrap_or_else(|_| uid.to_string());
        self.remember(uid, &name, Instant::now());
        name
    }

    fn remembered(&self, uid: Uid, now: Instant) -> Option<String> {
        let known = self.known.lock().expect("no holder panics");
        let (at, name) = known.get(&uid)?;
        (now.saturating_duration_since(*at) < REMEMBERED).then(|| name.clone())
    }

    fn remember(&self, uid: Uid, name: &str, now: Instant) {
        let mut known = self.known.lock().expect("no holder panics");
        if known.len() >= MOST {
            known.retain(|_, (at, _)| now.saturating_duration_since(*at) < REMEMBERED);
        }
        if known.len() < MOST {
            known.insert(uid, (now, name.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_asked_for_again_after_a_while() {
        let names = UserNames::default();
        let then = Instant::now();
        names.remember(Uid(7), "alice", then);
        assert_eq!(names.remembered(Uid(7), then).as_deref(), Some("alice"));
        assert_eq!(names.remembered(Uid(7), then + REMEMBERED), None);
        names.remember(Uid(7), "bob", then + REMEMBERED);
        assert_eq!(names.remembered(Uid(7), then + REMEMBERED).as_deref(), Some("bob"));
        assert_eq!(names.remembered(Uid(8), then), None);
    }
}
