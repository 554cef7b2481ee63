//! Whom to displace: as few and as cheap as possible, so that the job then fits.

use std::collections::{BTreeMap, BTreeSet};

use crate::nodes::NodeIndex;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::Shape;
use crate::view::{Displaced, Preemptible, RunId};

/// Who must go for a job of a rank, if displacing helps at all.
pub fn victims(
    planner: &Planner,
    now: i64,
    rank: u32,
    fits: &Fits,
    shape: &Shape,
    gone: &BTreeSet<RunId>,
) -> Option<Vec<(RunId, Displaced)>> {
    let may_go = |run: &RunId| {
        let (job, _) = planner.runs.get(run)?;
        let may = |it: &Preemptible| planner.may_displace(rank, it.rank) && it.from.0 <= now;
        let how = job.preemptible.filter(may)?;
        Some((how, job.since.0))
    };
    // What each node would cost, with the runs that would have to go.
    let mut offers: Vec<(Cost, NodeIndex, u32, Vec<RunId>)> = Vec::new();
    for (index, slot) in (0..).zip(&planner.nodes.slots) {
        let Some(fit) = fits.of_kind(slot.kind) else { continue };
        if !slot.present || !slot.node.usable || fits.barred.contains(&index) {
            continue;
        }
        // The newest first: they lose least.
        let mut runs: Vec<(u32, i64, RunId)> = (slot.runs.iter())
            .filter(|held| !gone.contains(&held.run))
            .filter_map(|held| {
                let (how, since) = may_go(&held.run)?;
                Some((how.worth, -since, held.run))
            })
            .collect();
        runs.sort_unstable();
        let least = shape.units_least();
        let mut picked: Vec<RunId> = Vec::new();
        let room = |picked: &[RunId]| {
            let mut slot = slot.clone();
            let sleeps =
                |run: &RunId| may_go(run).is_some_and(|(how, _)| how.how == Displaced::Suspended);
            for held in slot.runs.iter_mut().filter(|held| picked.contains(&held.run)) {
                if sleeps(&held.run) {
                    // It keeps its memory and devices.
                    let cores = std::mem::take(&mut held.cores);
                    cores.iter().for_each(|core| slot.free_cores.insert(core));
                } else {
                    held.end = now;
                }
            }
            slot.free.cores = slot.free_cores.count();
            let awake = |held: &&crate::nodes::Held| !picked.contains(&held.run);
            let others = slot.runs.iter().filter(awake).any(|held| held.end > now);
            let alone = shape.sharing.is_open() || !others;
            if alone { fit.room(shape, &slot, &slot.free_at(now), now) } else { 0 }
        };
        let mut found = room(&picked);
        for (_, _, run) in &runs {
            if found >= least {
                break;
            }
            picked.push(*run);
            found = room(&picked);
        }
        if found < least {
            continue;
        }
        // Those that turned out not to be needed stay.
        for run in picked.clone() {
            let fewer: Vec<RunId> = picked.iter().copied().filter(|it| *it != run).collect();
            if room(&fewer) >= least {
                found = room(&fewer);
                picked = fewer;
            }
        }
        let lost: i64 = picked.iter().filter_map(may_go).map(|(_, since)| now - since).sum();
        let worth = picked.iter().filter_map(may_go).map(|(how, _)| how.worth).max();
        offers.push(((worth.unwrap_or(0), picked.len(), lost), index, found, picked));
    }
    offers.sort_by_key(|(cost, index, ..)| (*cost, planner.nodes.slot(*index).order));
    let named = |index: &NodeIndex| fits.wanted.contains(index);
    offers.sort_by_key(|(_, index, ..)| !named(index));
    let (mut count, mut units) = (0, 0u32);
    let mut all: BTreeMap<RunId, Displaced> = BTreeMap::new();
    for (_, _, room, runs) in &offers {
        if count >= shape.nodes_min && units >= shape.units || count == shape.nodes_max {
            break;
        }
        count += 1;
        units = units.saturating_add(shape.units_each().unwrap_or(*room));
        for run in runs {
            all.extend(may_go(run).map(|(how, _)| (*run, how.how)));
        }
    }
    let enough = count >= shape.nodes_min && units >= shape.units;
    (enough && !all.is_empty()).then(|| all.into_iter().collect())
}

/// What the best of those that go is worth, how many go, and how many seconds of work are lost.
type Cost = (u32, usize, i64);
