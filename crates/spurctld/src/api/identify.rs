//! Who calls, as the kernel tells.

use std::collections::BTreeMap;
use std::sync::Mutex;

use spur_core::auth::{Actor, Level};
use spur_core::ids::{Gid, NodeName, Uid};
use tonic::Extensions;
use tonic::transport::server::UdsConnectInfo;

/// The caller on this connection.
pub fn actor(extensions: &Extensions) -> Actor {
    let Some(credentials) = extensions.get::<UdsConnectInfo>().and_then(|info| info.peer_cred)
    else {
        return Actor::Anonymous;
    };
    let uid = Uid(credentials.uid());
    let level = if is_ours(uid) { Level::Administrator } else { Level::None };
    Actor::User { uid, gid: Gid(credentials.gid()), level }
}

/// An agent of this machine: root, or whoever runs this controller, may speak for its nodes.
pub fn local_agent(actor: Actor) -> Actor {
    match actor {
        Actor::User { level: Level::Administrator, .. } => Actor::Node(NodeName::from("")),
        other => other,
    }
}

fn is_ours(uid: Uid) -> bool {
    uid == Uid::ROOT || uid.0 == nix::unistd::geteuid().as_raw()
}

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
