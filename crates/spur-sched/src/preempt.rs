//! Whom to displace: as few and as cheap as possible, so that the job then fits.

use std::collections::BTreeSet;

use crate::nodes::NodeIndex;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::shape::Shape;
use crate::view::{Displaced, Preemptible, RunId};

/// Who must go for a job of a rank, if displacing helps at all. Those that make room for somebody already, and have
/// their grace, are among them: nobody else has to go for the room they leave.
pub fn victims(
    planner: &Planner,
    now: i64,
    rank: u32,
    fits: &Fits,
    shape: &Shape,
    gone: &BTreeSet<RunId>,
) -> Option<Vec<Victim>> {
    let may_go = |run: &RunId| {
        let (job, _) = planner.runs.get(run).filter(|_| !gone.contains(run))?;
        if job.leaves {
            return Some(Going { how: None, worth: 0, lost: 0 });
        }
        let may = |it: &Preemptible| planner.may_displace(rank, it.rank) && it.from.0 <= now;
        let it = job.preemptible.filter(may)?;
        let cores: usize = job.shares.iter().map(|share| share.cores.len()).sum();
        // Where all have just begun the smaller one goes.
        let lost = (now - job.since.0 + 1).saturating_mul(cores as i64);
        Some(Going { how: Some(it.how), worth: it.worth, lost })
    };
    // As little of each node as will do, or as much as would do if no more of them were taken.
    let (least, most) = (shape.units_least(), shape.units.max(1));
    let mut targets = vec![least, shape.units.div_ceil(shape.nodes_min.max(1)), most];
    targets.retain(|target| (least..=most.max(least)).contains(target));
    targets.dedup();
    let each = targets.into_iter().filter_map(|target| {
        let mut found = offers(planner, now, fits, shape, target, &may_go);
        found.sort_by_key(|offer| (offer.cost(may_go), planner.nodes.slot(offer.node).order));
        found.sort_by_key(|offer| !fits.wanted.contains(&offer.node));
        let taken = enough_of(found, fits, shape)?;
        let runs: BTreeSet<RunId> = taken.into_iter().flat_map(|offer| offer.runs).collect();
        Some((cost(&runs, may_go), runs))
    });
    let (_, runs) = each.min_by_key(|(cost, _)| *cost)?;
    let victim = |run: &RunId| Some((*run, may_go(run)?.how));
    Some(runs.iter().filter_map(victim).collect::<Vec<_>>()).filter(|all| !all.is_empty())
}

/// A run, and what becomes of it unless it goes already.
pub type Victim = (RunId, Option<Displaced>);

/// What it means that a run goes.
struct Going {
    how: Option<Displaced>,
    worth: u32,
    lost: i64,
}

/// What a node has room for once these have gone.
struct Offer {
    node: NodeIndex,
    room: u32,
    runs: Vec<RunId>,
}

/// What the best of those that go is worth, how many go, and how much work is lost, in seconds of cores.
type Cost = (u32, usize, i64);

fn cost<'a>(
    runs: impl IntoIterator<Item = &'a RunId>,
    may_go: impl Fn(&RunId) -> Option<Going>,
) -> Cost {
    let all = runs.into_iter().filter_map(may_go).filter(|it| it.how.is_some());
    all.fold((0, 0, 0), |(worth, count, lost), it| (worth.max(it.worth), count + 1, lost + it.lost))
}

impl Offer {
    fn cost(&self, may_go: impl Fn(&RunId) -> Option<Going>) -> Cost {
        cost(&self.runs, may_go)
    }
}

/// What each node could give of so many units, with the runs that would have to go.
fn offers(
    planner: &Planner,
    now: i64,
    fits: &Fits,
    shape: &Shape,
    target: u32,
    may_go: &impl Fn(&RunId) -> Option<Going>,
) -> Vec<Offer> {
    let mut offers = Vec::new();
    for (node, slot) in (0..).zip(&planner.nodes.slots) {
        let Some(fit) = fits.of_kind(slot.kind) else { continue };
        if !slot.present || !slot.node.usable || fits.barred.contains(&node) {
            continue;
        }
        // Those first that lose least.
        let going = |run: RunId| may_go(&run).map(|it| (it.how.is_some(), it.worth, it.lost, run));
        let mut runs: Vec<_> = slot.runs.iter().filter_map(|held| going(held.run)).collect();
        runs.sort_unstable();
        let room = |picked: &[RunId]| {
            let mut slot = slot.clone();
            let sleeps = |run: &RunId| {
                may_go(run).is_some_and(|going| going.how == Some(Displaced::Suspended))
            };
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
        let mut picked: Vec<RunId> = Vec::new();
        let mut found = room(&picked);
        for (.., run) in &runs {
            if found >= target {
                break;
            }
            picked.push(*run);
            found = room(&picked);
        }
        if found < shape.units_least() {
            continue;
        }
        // Those that turned out not to be needed stay.
        for run in picked.clone().into_iter().rev() {
            let fewer: Vec<RunId> = picked.iter().copied().filter(|it| *it != run).collect();
            let left = room(&fewer);
            if left >= found.min(target) {
                (found, picked) = (left, fewer);
            }
        }
        offers.push(Offer { node, room: found, runs: picked });
    }
    offers
}

/// The first of them that will do together, without any that the others can do without.
fn enough_of(offers: Vec<Offer>, fits: &Fits, shape: &Shape) -> Option<Vec<Offer>> {
    let units = |offer: &Offer| shape.units_each().unwrap_or(offer.room);
    let enough = |count: u32, sum: u32| count >= shape.nodes_min && sum >= shape.units;
    let (mut count, mut sum) = (0, 0u32);
    let mut taken: Vec<Offer> = Vec::new();
    for offer in offers {
        if enough(count, sum) {
            break;
        }
        // No more nodes than it takes: where they give too little, one that gives more stands in for the least.
        if count == shape.nodes_max {
            let spare = |it: &(usize, &Offer)| !fits.wanted.contains(&it.1.node);
            let least = taken.iter().enumerate().filter(spare).min_by_key(|it| units(it.1));
            let Some((place, less)) = least.map(|(place, it)| (place, units(it))) else { break };
            if less >= units(&offer) {
                continue;
            }
            taken.remove(place);
            (count, sum) = (count - 1, sum - less);
        }
        (count, sum) = (count + 1, sum.saturating_add(units(&offer)));
        taken.push(offer);
    }
    if !enough(count, sum) {
        return None;
    }
    // Where little is gained goes first.
    taken.sort_by_key(&units);
    taken.retain(|offer| {
        let less = (count - 1, sum - units(offer));
        let spare = !offer.runs.is_empty() && !fits.wanted.contains(&offer.node);
        let goes = spare && enough(less.0, less.1);
        if goes {
            (count, sum) = less;
        }
        !goes
    });
    Some(taken)
}
