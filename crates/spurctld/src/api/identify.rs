//! Who calls, as the kernel tells.

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

/// The user's name, as this machine knows it.
pub fn user_name(uid: Uid) -> String {
    match nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid.0)) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    }
}
