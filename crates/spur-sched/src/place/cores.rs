//! Which cores of a node: near the job's devices, on as few sockets as possible and as many as are asked for.

use crate::bits::Bits;
use crate::nodes::Slot;

/// Picks free cores, of each socket at most so many, and some of so many sockets at least.
pub fn pick(
    slot: &Slot,
    count: u32,
    parts: &[(u32, u32)],
    most: Option<&[u32]>,
    sockets_min: u32,
) -> Bits {
    let mut picked = Bits::default();
    let mut missing = count;
    if count == slot.free.cores {
        return slot.free_cores.clone();
    }
    let per_socket = (slot.node.cores / slot.node.sockets.max(1)).max(1);
    let sockets = slot.node.sockets.max(1) as usize;
    let socket_of = |core: u32| ((core / per_socket) as usize).min(sockets - 1);
    let mut left: Vec<Vec<u32>> = vec![Vec::new(); sockets];
    let may_have = |socket: usize| most.and_then(|most| most.get(socket)).copied();
    let mut mine = vec![0u32; sockets];
    for core in near(slot, parts) {
        let socket = socket_of(core);
        let full = may_have(socket).is_some_and(|most| mine[socket] >= most);
        if missing > 0 && !full && slot.free_cores.contains(core) && !picked.contains(core) {
            picked.insert(core);
            mine[socket] += 1;
            missing -= 1;
        }
    }
    let mut met = mine.iter().filter(|count| **count > 0).count();
    for core in slot.free_cores.iter().filter(|_| sockets_min > 1) {
        let socket = socket_of(core);
        let open = mine[socket] == 0 && may_have(socket).is_none_or(|most| most > 0);
        if missing > 0 && met < sockets_min as usize && open {
            picked.insert(core);
            mine[socket] = 1;
            (met, missing) = (met + 1, missing - 1);
        }
    }
    for core in slot.free_cores.iter().filter(|core| !picked.contains(*core)) {
        let socket = socket_of(core);
        let had = left[socket].len() as u32 + mine[socket];
        if may_have(socket).is_none_or(|most| had < most) {
            left[socket].push(core);
        }
    }
    while missing > 0 {
        // The fullest socket that has enough, or else the emptiest.
        let enough =
            left.iter().filter(|it| it.len() >= missing as usize).min_by_key(|it| it.len());
        let Some(socket) = enough.or_else(|| left.iter().max_by_key(|it| it.len())) else { break };
        let place = left.iter().position(|it| it == socket).unwrap_or(0);
        let taken = (missing as usize).min(left[place].len());
        if taken == 0 {
            break;
        }
        left[place].drain(..taken).for_each(|core| picked.insert(core));
        missing -= taken as u32;
    }
    picked
}

/// Cores near these devices.
fn near(slot: &Slot, parts: &[(u32, u32)]) -> Vec<u32> {
    let mut cores = Vec::new();
    let mut first = 0;
    for group in slot.node.gres.iter() {
        for (device, _) in
            parts.iter().filter(|(it, _)| (first..first + group.devices).contains(it))
        {
            if let Some(near) = group.near.get((device - first) as usize) {
                cores.extend(near.iter().copied());
            }
        }
        first += group.devices;
    }
    cores
}
