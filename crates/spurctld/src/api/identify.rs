//! Names of callers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use spur_core::ids::Uid;

/// Names of users, as this machine knows them. Asking may take long, so answers are kept.
#[derive(Default)]
pub struct UserNames {
    known: Mutex<BTreeMap<Uid, String>>,
}

impl UserNames {
    /// The user's name, or the number where there is none.
    pub async fn of(&self, uid: Uid) -> String {
        if let Some(name) = self.known.lock().expect("no holder panics").get(&uid) {
            return name.clone();
        }
        let look_up = move || match nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid.0)) {
            Ok(Some(user)) => user.name,
            _ => uid.to_string(),
        };
        let name = tokio::task::spawn_blocking(look_up).await.unwrap_or_else(|_| uid.to_string());
        self.known.lock().expect("no holder panics").insert(uid, name.clone());
        name
    }
}
