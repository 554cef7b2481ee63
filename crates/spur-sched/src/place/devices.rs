//! Which devices of a node: in as few islands of linked ones as possible, near as few processors.

use std::collections::BTreeMap;

use crate::view::ViewGres;

/// Where a device is: in which island of linked devices, and near which cores. Equal numbers are the same place.
pub type Whereabouts = (u32, u32);

/// Where each device of a group is.
pub fn whereabouts(group: &ViewGres) -> Vec<Whereabouts> {
    let count = group.devices as usize;
    let mut islands: Vec<u32> = (0..group.devices).collect();
    if group.linked.len() == count {
        // The lowest number wins until nothing changes; there are few devices.
        let mut changes = true;
        while changes {
            changes = false;
            for (device, others) in group.linked.iter().enumerate() {
                for other in others.iter().map(|it| *it as usize).filter(|it| *it < count) {
                    let lowest = islands[device].min(islands[other]);
                    changes |= islands[device] != lowest || islands[other] != lowest;
                    (islands[device], islands[other]) = (lowest, lowest);
                }
            }
        }
    } else {
        islands.fill(0);
    }
    let near = |device: usize| match group.near.get(device) {
        Some(near) => group.near.iter().position(|it| it == near).unwrap_or(0) as u32,
        None => 0,
    };
    islands.into_iter().enumerate().map(|(device, island)| (island, near(device))).collect()
}

/// Picks so many of some devices, each with where it is.
pub fn pick(free: &[(u32, Whereabouts)], count: usize) -> Vec<u32> {
    let first = free.first().map(|(_, place)| *place);
    let mut picked = match free.iter().all(|(_, place)| Some(*place) == first) {
        true => free.iter().take(count).map(|(device, _)| *device).collect(),
        false => by(
            free,
            count,
            |(_, place)| place.0,
            |inside, count| {
                by(
                    inside,
                    count,
                    |(_, place)| place.1,
                    |inside, count| inside.iter().take(count).map(|(device, _)| *device).collect(),
                )
            },
        ),
    };
    picked.sort_unstable();
    picked
}

type Device = (u32, Whereabouts);

/// The smallest group that has enough, or else the largest ones.
fn by(
    free: &[Device],
    count: usize,
    group_of: impl Fn(&Device) -> u32,
    inside: impl Fn(&[Device], usize) -> Vec<u32>,
) -> Vec<u32> {
    let mut groups: BTreeMap<u32, Vec<Device>> = BTreeMap::new();
    for device in free {
        groups.entry(group_of(device)).or_default().push(*device);
    }
    let mut groups: Vec<Vec<Device>> = groups.into_values().collect();
    let mut picked = Vec::with_capacity(count);
    while picked.len() < count {
        let missing = count - picked.len();
        let all = groups.iter().enumerate();
        let enough =
            all.clone().filter(|(_, it)| it.len() >= missing).min_by_key(|(_, it)| it.len());
        let most = || all.rev().max_by_key(|(_, it)| it.len());
        let Some((place, _)) = enough.or_else(most) else { break };
        let group = groups.remove(place);
        picked.extend(inside(&group, missing.min(group.len())));
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight devices: two islands of four, each island near two sockets.
    fn group() -> ViewGres {
        let island = |device: u32| (0..4).map(move |it| device / 4 * 4 + it);
        let linked = |device: u32| island(device).filter(|it| *it != device).collect();
        ViewGres {
            near: (0..8).map(|device| vec![device / 2]).collect(),
            linked: (0..8).map(linked).collect(),
            ..ViewGres::devices("gpu", "", 8)
        }
    }

    fn picked(free: &[u32], count: usize) -> Vec<u32> {
        let places = whereabouts(&group());
        let free: Vec<Device> = free.iter().map(|it| (*it, places[*it as usize])).collect();
        pick(&free, count)
    }

    #[test]
    fn devices_come_from_one_island_where_one_has_enough() {
        assert_eq!(picked(&[0, 1, 2, 3, 4, 5, 6, 7], 4), [0, 1, 2, 3]);
        assert_eq!(picked(&[2, 3, 4, 5, 6, 7], 4), [4, 5, 6, 7]);
        // The island with less left is used up first.
        assert_eq!(picked(&[0, 1, 2, 3, 5, 6, 7], 3), [5, 6, 7]);
        assert_eq!(picked(&[1, 2, 3, 5, 6, 7], 4), [1, 2, 3, 5]);
    }

    #[test]
    fn inside_an_island_they_are_near_the_same_cores() {
        assert_eq!(picked(&[0, 2, 3], 2), [2, 3]);
        assert_eq!(picked(&[0, 1, 2], 1), [2]);
    }

    #[test]
    fn where_nothing_is_known_the_first_will_do() {
        let places = whereabouts(&ViewGres::devices("gpu", "", 4));
        let free: Vec<Device> = (1..4).map(|it| (it, places[it as usize])).collect();
        assert_eq!(pick(&free, 2), [1, 2]);
    }
}
