//! Names of users and groups as this machine has them: the controller tells numbers.

use std::collections::BTreeMap;

use nix::unistd::{Gid, Group, Uid, User};
use spur_core::views::{JobView, NodeView};

/// Tells jobs the names of their groups.
pub fn of_groups(jobs: &mut [JobView]) {
    let mut known: BTreeMap<u32, String> = BTreeMap::new();
    for job in jobs.iter_mut().filter(|job| job.group_name.is_empty()) {
        let name = known.entry(job.gid).or_insert_with(|| {
            let group = Group::from_gid(Gid::from_raw(job.gid)).ok().flatten();
            group.map_or_else(|| job.gid.to_string(), |group| group.name)
        });
        job.group_name = name.clone();
    }
}

/// Tells nodes who closed them.
pub fn of_reasons(nodes: &mut [NodeView]) {
    for node in nodes.iter_mut().filter(|node| node.reason_time > 0 && node.reason_user.is_empty())
    {
        node.reason_user = user(node.reason_uid);
    }
}

/// The name of a user, or the number where there is none.
pub fn user(uid: u32) -> String {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}

/// The number of a user of this name.
pub fn uid(name: &str) -> Option<u32> {
    let user = User::from_name(name).ok().flatten();
    user.map(|user| user.uid.as_raw())
}
