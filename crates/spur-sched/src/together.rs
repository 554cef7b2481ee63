//! Jobs that start together or not at all: the components of a heterogeneous job.

use std::collections::BTreeSet;
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::Reason;
use spur_core::time::Timestamp;

use crate::fit::Fit;
use crate::pass::Pass;
use crate::planner::Planner;
use crate::possible::Fits;
use crate::queue::Key;
use crate::shape::Shape;
use crate::start::Whose;
use crate::timeline::Place;
use crate::view::Charge;
use crate::waits::Wait;

/// One of them.
struct Member {
    job: JobId,
    /// It gets its nodes before the one that is queued for all.
    leads: bool,
    charges: Arc<[Charge]>,
    /// Where it may be, the first to be tried first; there is one at least.
    places: Vec<Somewhere>,
}

/// A partition that it may be in.
struct Somewhere {
    partition: Arc<str>,
    shape: Arc<Shape>,
    fits: Arc<Fits>,
}

impl Member {
    /// The first that could ever do, or the first.
    fn likely(&self) -> &Somewhere {
        self.places.iter().find(|it| it.fits.never.is_none()).unwrap_or(&self.places[0])
    }
}

/// A place for one of them, and on which kinds of nodes.
type Found = (Place, Vec<Fit>);

/// How often a moment is moved on until all fit at it.
const MOMENTS: usize = 64;

impl Planner {
    /// Looks at a job that others start with.
    pub(crate) fn look_together(
        &mut self,
        pass: &mut Pass,
        turn: u8,
        key: Key,
        class: u32,
        full: bool,
    ) {
        let members = self.party(key.1, class);
        if members.iter().any(|it| it.likely().fits.never.is_some()) {
            // Each has its own reason; those that could start wait for it.
            for member in &members {
                let reason = member.likely().fits.never.unwrap_or(Reason::Resources);
                pass.special.insert(member.job, Some(reason.into()));
            }
            return self.next(pass, turn, key, class);
        }
        let outside =
            members.iter().find_map(|it| self.outside_reservation(pass, &it.likely().shape));
        if let Some(reason) = outside {
            pass.by_class[class as usize] = reason.into();
            return;
        }
        if !pass.failed[class as usize] {
            // By priority, then as they were asked for; the hardest to place first where that does not do.
            let mut order: Vec<&Member> = members.iter().collect();
            order.sort_by_key(|it| {
                let likely = it.likely();
                (self.choices(&likely.fits), std::cmp::Reverse(likely.shape.cpus()))
            });
            let mut asked: Vec<&Member> = members.iter().collect();
            asked.sort_by_key(|it| !it.leads);
            // Each on nodes of its own, as Slurm has it, or beside each other where there are too few.
            let ways = [(&asked, true), (&order, true), (&asked, false), (&order, false)];
            let mut started = Some(Reason::Resources);
            for (members, apart) in ways {
                started = self.start_all(pass, members, apart);
                if started.is_none() {
                    break;
                }
            }
            match started {
                None => {
                    for member in &members {
                        pass.special.insert(member.job, None);
                    }
                    return self.next(pass, turn, key, class);
                }
                Some(Reason::Resources) => {}
                Some(limit) => {
                    pass.by_class[class as usize] = limit.into();
                    return;
                }
            }
            pass.failed[class as usize] = true;
        }
        let is_open = |it: &Somewhere| it.fits.possible_now(&it.shape, &self.nodes);
        let closed = members.iter().any(|it| !it.places.iter().any(is_open));
        if closed {
            pass.by_class[class as usize] = Reason::ReqNodeNotAvail.into();
            return;
        }
        if full {
            return;
        }
        let partition = members[0].likely().partition.clone();
        let it = &self.queue.classes[class as usize];
        let (ward, counts_here) =
            (it.ward, it.partition == partition && it.shape.reservation.is_empty());
        let likely = partition.clone();
        let promised = pass.promised.entry(partition).or_default();
        *promised += 1;
        if counts_here && *promised >= self.depth() {
            pass.full[ward as usize] = true;
        }
        let first = pass.kept.close(&likely, key);
        let reason = if first { Reason::Resources } else { Reason::Priority };
        let start = self.promise_all(pass, &members).map(Timestamp);
        for member in &members {
            pass.special.insert(member.job, Some(Wait { reason, start, reserved: false }));
        }
        self.next(pass, turn, key, class);
    }

    /// The job that leads, and those that start with it.
    fn party(&self, job: JobId, class: u32) -> Vec<Member> {
        let it = &self.queue.classes[class as usize];
        let look_up = |(partition, shape): &(Arc<str>, Arc<Shape>)| Somewhere {
            partition: partition.clone(),
            shape: shape.clone(),
            fits: Arc::new(Fits::of(shape, partition, &self.nodes)),
        };
        // The first one waits in each of its partitions by itself.
        let mut own = look_up(&(it.partition.clone(), it.shape.clone()));
        if let Some(fits) = &it.fits {
            own.fits = fits.clone();
        }
        let first = Member { job, leads: false, charges: it.charges.clone(), places: vec![own] };
        let others = it.with.iter().map(|it| Member {
            job: it.job,
            leads: it.leads,
            charges: it.charges.clone(),
            places: it.places.iter().map(look_up).collect(),
        });
        std::iter::once(first).chain(others).collect()
    }

    /// On how many nodes it could be at all.
    fn choices(&self, fits: &Fits) -> u32 {
        if !fits.wanted.is_empty() {
            return fits.wanted.len() as u32;
        }
        let kinds = fits.alternatives.iter().flatten();
        let members = kinds.flat_map(|fit| self.nodes.kinds[fit.kind as usize].members.values());
        members.map(|(all, _)| all).sum()
    }

    /// Starts all of them, or none; then the reason.
    fn start_all(&mut self, pass: &mut Pass, members: &[&Member], apart: bool) -> Option<Reason> {
        let mark = self.mark(pass);
        let mut taken = BTreeSet::new();
        for member in members {
            let limit = self.over(&member.charges);
            let mut found = None;
            for somewhere in member.places.iter().filter(|_| limit.is_none()) {
                let mut fits = somewhere.fits.clone();
                if apart && !taken.is_empty() {
                    Arc::make_mut(&mut fits).barred.extend(&taken);
                }
                let place = self.place(pass, &fits, &somewhere.shape);
                found = place.map(|place| (somewhere, fits, place));
                if found.is_some() {
                    break;
                }
            }
            let Some((somewhere, fits, (chosen, secs))) = found else {
                self.take_back(pass, mark);
                return Some(limit.unwrap_or(Reason::Resources));
            };
            taken.extend(chosen.iter().map(|(node, _)| *node));
            let given = self.given(&fits, &somewhere.shape, &chosen);
            let (partition, charges) =
                (somewhere.partition.clone(), given.charges(&member.charges));
            if let Some(reason) = self.over_on(&charges, Some(&given.nodes)) {
                self.take_back(pass, mark);
                return Some(reason);
            }
            let whose = Whose { job: member.job, task: 0, partition, charges };
            self.start(pass, whose, &somewhere.shape, given, secs);
        }
        None
    }

    /// Finds all of them a place at one moment in the future, which nobody lower may take.
    fn promise_all(&mut self, pass: &mut Pass, members: &[Member]) -> Option<i64> {
        self.nodes.settle();
        let mut from = pass.now;
        for _ in 0..MOMENTS {
            let mut held: Vec<(&Member, Found, u32)> = Vec::new();
            let mut later = None;
            for member in members {
                let likely = member.likely();
                let found = self.earliest(pass, &likely.fits, &likely.shape, from);
                match found {
                    Some((place, kinds)) if held.is_empty() || place.at <= from => {
                        from = from.max(place.at);
                        let shape = &likely.shape;
                        let calendar = &mut pass.calendar;
                        let cpus = calendar.hold(&self.nodes, member.job, shape, &kinds, &place);
                        held.push((member, (place, kinds), cpus));
                    }
                    Some((place, _)) => later = later.max(Some(place.at)),
                    None => later = Some(i64::MAX),
                }
                if later.is_some() {
                    break;
                }
            }
            if later.is_none() {
                for (member, (place, _), cpus) in &held {
                    let promised =
                        self.promised(pass, place, member.likely().partition.clone(), *cpus);
                    pass.held.insert(member.job, promised);
                }
                return Some(from);
            }
            for (member, (place, _), _) in &held {
                pass.calendar.forget(member.job, &place.nodes);
            }
            from = later.filter(|at| *at < i64::MAX)?;
        }
        None
    }
}
