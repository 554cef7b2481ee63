//! Jobs that sleep, and go on as soon as their processors are free.

use crate::nodes::{Held, NodeIndex};
use crate::pass::Pass;
use crate::planner::Planner;
use crate::view::RunId;

impl Planner {
    /// Lets those that sleep go on whose processors are free, unless the class to be looked at next may
    /// displace them.
    pub(crate) fn wake(&mut self, pass: &mut Pass, next: Option<u32>) {
        if self.sleepers.is_empty() {
            return;
        }
        let rank = next.map(|class| self.queue.classes[class as usize].rank);
        for run in self.sleepers.clone() {
            let Some((job, _)) = self.runs.get(&run) else { continue };
            let Some(sleep) = job.sleeps.clone() else { continue };
            let end = pass.now.saturating_add(1);
            let after = rank.is_some_and(|rank| self.may_displace(rank, sleep.rank));
            let known: Option<Vec<(NodeIndex, crate::bits::Bits)>> = (sleep.cores.iter())
                .map(|(node, cores)| {
                    Some((self.nodes.index(node)?, cores.iter().copied().collect()))
                })
                .collect();
            let Some(known) = known.filter(|_| !after && !pass.out.wakes.contains(&run)) else {
                continue;
            };
            let free = |(node, cores): &(NodeIndex, crate::bits::Bits)| {
                let slot = self.nodes.slot(*node);
                slot.present && cores.iter().all(|core| slot.free_cores.contains(core))
            };
            if !known.iter().all(free) {
                continue;
            }
            let (sharing, user, partition) = (job.sharing, job.user, job.partition.clone());
            let reservation = job.reservation.clone();
            for (node, cores) in known {
                let awake = RunId(run.0, 1 << 30);
                let (memory_mb, parts) = (0, Vec::new());
                let held = Held {
                    run: awake,
                    end,
                    limit: end,
                    user,
                    label: job.label.clone(),
                    partition: partition.clone(),
                    reservation: reservation.clone(),
                    sharing,
                    cores,
                    memory_mb,
                    parts,
                };
                self.nodes.take(node, held);
                pass.taken.push((awake, node, end));
            }
            pass.out.wakes.push(run);
        }
    }
}
