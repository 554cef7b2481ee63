//! A start: what exactly a job gets on the nodes that were chosen for it.

use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::time::Timestamp;

use crate::bits::Bits;
use crate::decision::Start;
use crate::fit::Taken;
use crate::nodes::{Held, NodeIndex, Slot};
use crate::pass::Pass;
use crate::place::{self, Chosen};
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::Shape;
use crate::view::{Charge, Of, RunId, ViewShare};

/// The user of a job where it does not matter who that is.
const NOBODY: u32 = u32::MAX;

/// Whose start it is: which job and task, where, and what it uses of the counters.
pub(crate) struct Whose {
    pub job: JobId,
    pub task: u32,
    pub partition: Arc<str>,
    pub charges: Arc<[Charge]>,
}

/// What a job gets on the nodes that were chosen for it.
pub(crate) struct Given {
    pub nodes: Arc<[NodeIndex]>,
    parts: Vec<Part>,
    threads: u32,
}

/// What it gets of one of them.
struct Part {
    units: u32,
    taken: Taken,
    cores: Bits,
}

impl Given {
    /// Charges as they are now that it is known what the job gets.
    pub fn charges(&self, charges: &Arc<[Charge]>) -> Arc<[Charge]> {
        let cores: u64 = self.parts.iter().map(|part| u64::from(part.taken.cores)).sum();
        let cpus = cores * u64::from(self.threads);
        let memory_mb: u64 = self.parts.iter().map(|part| part.taken.memory_mb).sum();
        let amount = |charge: &Charge| match charge.of {
            Of::Said => charge.amount,
            Of::Cpus(times) => cpus.saturating_mul(times),
            Of::Memory(times) => memory_mb.saturating_mul(times),
            Of::Nodes => self.nodes.len() as u64,
        };
        if charges.iter().all(|charge| charge.amount == amount(charge)) {
            return charges.clone();
        }
        charges.iter().map(|it| Charge { amount: amount(it), ..it.clone() }).collect()
    }
}

impl Planner {
    /// What a job gets on nodes that have room for it.
    pub(crate) fn given(&self, fits: &Fits, shape: &Shape, chosen: &Chosen) -> Given {
        let mut nodes = Vec::with_capacity(chosen.len());
        let mut parts = Vec::with_capacity(chosen.len());
        let mut threads = 1;
        // What is dealt out is rounded up on each node: the last ones have what is left.
        let mut dealt = shape.dealt.map(|dealt| dealt.cpus);
        for (place, (node, units)) in chosen.iter().enumerate() {
            let slot = self.nodes.slot(*node);
            let Some(fit) = fits.of_kind(slot.kind) else { continue };
            let mut free = slot.free.clone();
            let layers = shape.sharing.layers();
            let after = (chosen.len() - place - 1) as u32;
            let most = dealt.map_or(u32::MAX, |left| left.saturating_sub(after).max(1));
            let (taken, cores) = match fit.take_some(shape, slot, &mut free, *units, most) {
                Some(taken) => {
                    let most = fit.cores_of_sockets(shape, slot);
                    let most = most.as_deref();
                    let cores = match fit.cores_but_left(slot) {
                        Some(cores) => cores,
                        None => {
                            let sockets = shape.sockets_min;
                            place::pick_cores(slot, taken.cores, &taken.parts, most, sockets)
                        }
                    };
                    (taken, cores)
                }
                None => {
                    let (order, mut free) = place::shared(slot, layers);
                    let taken = fit.take_some(shape, slot, &mut free, *units, most);
                    let Some(taken) = taken else { continue };
                    let cores = order.into_iter().take(taken.cores as usize).collect();
                    (taken, cores)
                }
            };
            threads = fit.threads();
            dealt = dealt.map(|left| left.saturating_sub(taken.cores * threads));
            nodes.push(*node);
            parts.push(Part { units: *units, taken, cores });
        }
        Given { nodes: nodes.into(), parts, threads }
    }

    /// Lets a job begin with what it is given.
    pub(crate) fn start(
        &mut self,
        pass: &mut Pass,
        whose: Whose,
        shape: &Shape,
        given: Given,
        secs: i64,
    ) {
        let Whose { job, task, partition, charges } = whose;
        let run = RunId(job, 1 << 31 | task);
        let longest = secs.min(self.secs_left(pass, shape));
        let last = Timestamp(pass.now.saturating_add(longest));
        let end = pass.now.saturating_add(pass.calendar.likely(shape, longest));
        let Given { nodes, parts, threads } = given;
        let mut shares = Vec::with_capacity(parts.len());
        for (node, Part { units, taken, cores }) in nodes.iter().zip(parts) {
            let slot = self.nodes.slot(*node);
            shares.push(ViewShare {
                node: slot.node.name.clone(),
                cores: cores.iter().collect(),
                memory_mb: taken.memory_mb,
                devices: by_group(slot, &taken.parts),
                units,
            });
            let (sharing, user) = (shape.sharing, shape.user.unwrap_or(NOBODY));
            let (memory_mb, parts) = (taken.memory_mb, taken.parts);
            let held = Held {
                run,
                end,
                limit: last.0,
                user,
                label: shape.label.clone(),
                partition: partition.clone(),
                reservation: match shape.reservation.is_empty() {
                    true => shape.drawn.clone(),
                    false => shape.reservation.clone(),
                },
                sharing,
                cores,
                memory_mb,
                parts,
            };
            self.nodes.take(*node, held);
            self.ends.insert((end, *node, run));
            pass.taken.push((run, *node, end));
        }
        for charge in charges.iter() {
            if let Some(tally) = self.counters.get_mut(&charge.counter) {
                tally.add(charge, &nodes);
                pass.charged.push((charge.clone(), nodes.clone()));
            }
        }
        let secs = (secs < shape.secs).then_some(secs);
        pass.out.starts.push(Start { job, task, partition, shares, threads, secs, end: last });
    }
}

/// Devices as the node counts them: group, device of the group, parts.
fn by_group(slot: &Slot, parts: &[(u32, u32)]) -> Vec<(u32, u32, u32)> {
    let mut found = Vec::with_capacity(parts.len());
    let mut first = 0;
    for (group, gres) in (0..).zip(slot.node.gres.iter()) {
        let mine = parts.iter().filter(|(it, _)| (first..first + gres.devices).contains(it));
        found.extend(mine.map(|(device, parts)| (group, device - first, *parts)));
        first += gres.devices;
    }
    found
}
