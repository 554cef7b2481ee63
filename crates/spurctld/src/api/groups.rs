//! Which partitions users may use by the groups they are in. Groups are the machine's, so they are looked up here,
//! before anything is proposed.

use std::ffi::CString;

use nix::unistd::{Gid, Group, getgrouplist};
use spur_core::config::Allowed;
use spur_core::errors::SlurmError;
use spur_core::job::{JobSpec, Owner};
use spur_core::reservation::names;
use spur_core::state::State;

/// Refuses who names a partition that is for groups of others. Root may use any, as in Slurm.
pub(super) async fn check<'a>(
    state: &State,
    specs: impl Iterator<Item = &'a JobSpec>,
    owner: &Owner,
) -> Result<(), SlurmError> {
    let (mut wanted, mut kept) = (Vec::new(), Vec::new());
    for spec in specs {
        wanted.extend(restricted(state, spec));
        kept.extend(reserved(state, spec));
    }
    if wanted.is_empty() && kept.is_empty() || owner.uid.0 == 0 {
        return Ok(());
    }
    let (name, gid) = (owner.name.clone(), owner.gid.0);
    let groups = tokio::task::spawn_blocking(move || groups_of(&name, gid)).await;
    let groups = groups.unwrap_or_default();
    let is_in = |these: &Vec<String>| these.iter().any(|group| groups.contains(group));
    if !wanted.iter().all(is_in) {
        return Err(SlurmError::JobMissingRequiredPartitionGroup);
    }
    match kept.iter().all(|these| admits(these, &groups)) {
        true => Ok(()),
        false => Err(SlurmError::ReservationAccess),
    }
}

/// The groups of each of a request's partitions that not everybody may use.
fn restricted(state: &State, spec: &JobSpec) -> Vec<Vec<String>> {
    let named: Vec<_> =
        spec.partition.split(',').filter_map(|name| state.partition(name)).collect();
    let default = state.default_partition().filter(|_| spec.partition.is_empty());
    let these = named.into_iter().chain(default).filter_map(|it| match &it.rules.allow_groups {
        Allowed::All => None,
        Allowed::These(groups) => Some(groups.clone()),
    });
    these.collect()
}

/// The groups of each reservation that a request names, where not everybody may use it.
fn reserved(state: &State, spec: &JobSpec) -> Vec<Vec<String>> {
    let named =
        names(&spec.placement().reservation).filter_map(|name| state.reservations.get(name));
    named.map(|it| it.groups.clone()).filter(|groups| !groups.is_empty()).collect()
}

/// Whether somebody in these groups is let in by names that may keep out.
fn admits(these: &[String], groups: &[String]) -> bool {
    match these.iter().all(|name| name.starts_with('-')) {
        true => !these
            .iter()
            .any(|name| groups.iter().any(|it| Some(it.as_str()) == name.strip_prefix('-'))),
        false => these.iter().any(|group| groups.contains(group)),
    }
}

fn groups_of(user: &str, gid: u32) -> Vec<String> {
    let gid = Gid::from_raw(gid);
    let listed = CString::new(user).ok().and_then(|user| getgrouplist(&user, gid).ok());
    let all = listed.unwrap_or_else(|| vec![gid]);
    all.into_iter().filter_map(|gid| Some(Group::from_gid(gid).ok()??.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::ids::{Gid, Uid};
    use spur_core::state::{Command, Entry, Origin, Settings, apply};
    use spur_core::time::Timestamp;

    #[tokio::test]
    async fn a_partition_of_a_group_is_for_its_members_and_root() {
        let text = "[[partitions]]\nname = \"open\"\ndefault = true\n\
                    [[partitions]]\nname = \"theirs\"\nallow_groups = [\"root\"]\n";
        let config = spur_core::config::read(text).expect("is in order");
        let mut state = State::new();
        let command = Command::Configure(Settings::of(&config));
        apply(&mut state, &Entry { at: Timestamp(1), origin: Origin::default(), command });
        let spec = |partition: &str| JobSpec { partition: partition.into(), ..JobSpec::default() };
        let nobody = Owner { uid: Uid(65_534), gid: Gid(65_534), name: "nobody".to_string() };
        let member = Owner { gid: Gid(0), ..nobody.clone() };
        let root = Owner::default();
        let refused = Err(SlurmError::JobMissingRequiredPartitionGroup);
        for (owner, partition, answer) in [
            (&nobody, "", Ok(())),
            (&nobody, "theirs", refused),
            (&nobody, "open,theirs", refused),
            (&member, "theirs", Ok(())),
            (&root, "theirs", Ok(())),
        ] {
            let asked = [spec(partition)];
            assert_eq!(check(&state, asked.iter(), owner).await, answer, "{partition}");
        }
    }
}
