//! A job that waits as the planner sees it: its shape, its priority, what it uses, who starts with it.

use std::sync::Arc;

use spur_core::config::words::PreemptBy;
use spur_core::ids::JobId;
use spur_core::job::{Array, Job, Phase, Reason};
use spur_core::license;
use spur_core::partition::Partition;
use spur_core::state::State;

use super::from_state::Follower;
use super::licenses::{is_kept_for, license_name, open_license_name};
use super::ranks::rank;
use super::request;
use super::standing::{avoided, open_partitions, standing, switches_until};
use super::{Charge, Companion, Counter, Of, PendingJob, Standing, Tiers, WHOLE};
use crate::limits;
use crate::planner::Planner;
use crate::priority::{self, Terms};

impl Follower {
    /// A waiting job as the planner sees it.
    pub(super) fn pending(
        &mut self,
        planner: &mut Planner,
        state: &State,
        job: &Job,
    ) -> PendingJob {
        let open = open_partitions(state, job);
        let partition = open.first().copied();
        let worth = self.worth(state, job, partition);
        let (with, together) = self.companions(planner, state, job, worth);
        let standing = match standing(state, job, partition) {
            Standing::Ready => {
                limits::bar(state, job, &self.basis).map_or(together, Standing::Barred)
            }
            other => other,
        };
        let (_, priority) = worth;
        let (partitions, shape) = match partition {
            Some(partition) => {
                let shape_in = |it: &Partition| self.shape_in(state, job, it);
                let mut shape = shape_in(partition);
                if let (Some(deadline), Some(least)) =
                    (job.spec.lifecycle().deadline, shape.secs_min)
                {
                    let left =
                        (deadline - state.now.max(job.begin.unwrap_or(state.now)).0) / 60 * 60;
                    shape.secs = shape.secs.min(left.max(least));
                }
                shape.avoid = avoided(job);
                shape.switches = shape.switches.filter(|_| switches_until(job) > Some(state.now));
                for other in &open[1..] {
                    // Nobody knows where it will run, so the longest time counts.
                    shape.secs = shape.secs.max(shape_in(other).secs);
                }
                shape.humble = limits::holds_no_place(state, job, priority);
                shape.expected = self.habits.expects(job, shape.secs);
                (self.partitions(&open), shape)
            }
            None => (self.partitions(&[]), crate::shape::Shape::default()),
        };
        let count = job.waiting_tasks().map_or(1, |tasks| {
            tasks.ids().filter(|index| state.task_may_start(job, *index)).count() as u32
        });
        PendingJob {
            id: job.id,
            count: count.max(1),
            partitions,
            shape: self.shapes.one(shape),
            priority,
            elsewhere: self.elsewhere(state, job, &open, priority),
            user: job.owner.uid.0,
            charges: self.charges(planner, state, job),
            standing,
            ranks_by_tier: state.settings.config.preemption.by == PreemptBy::PartitionTier,
            rank: open.iter().map(|it| rank(state, job, Some(it))).min().unwrap_or(0),
            with,
        }
    }

    /// The tier and the priority by which a job stands in the queue.
    fn worth(&self, state: &State, job: &Job, partition: Option<&Partition>) -> (u16, u32) {
        let terms = || {
            let facts = priority::facts(state, job, partition, &self.basis);
            Terms::of(&facts, &state.settings.config.priority).sum()
        };
        let tier = partition.map_or(0, |it| it.rules.priority_tier);
        (tier, job.spec.priority.unwrap_or_else(terms))
    }

    /// The priorities of a job in its second and further partitions, where they differ.
    fn elsewhere(
        &self,
        state: &State,
        job: &Job,
        open: &[&Partition],
        priority: u32,
    ) -> Arc<[u32]> {
        let others = open.iter().skip(1);
        let all: Vec<u32> = others.map(|it| self.worth(state, job, Some(it)).1).collect();
        if all.iter().all(|other| *other == priority) { [].into() } else { all.into() }
    }

    /// What must be found for a job in a partition.
    fn shape_in(&self, state: &State, job: &Job, partition: &Partition) -> crate::shape::Shape {
        let config = &state.settings.config;
        let mut shape = request::shape_of(&job.spec, job.owner.uid, &partition.rules, config);
        // Whose a job is matters only where nodes can be kept for one user.
        shape.user = self.by_user.then_some(job.owner.uid.0);
        if shape.reservation.is_empty() {
            let mut all = state.reservations.values();
            let draws = all.find(|it| it.attracts(&job.owner, &job.spec.account, state.now));
            shape.drawn = draws.map_or_else(|| "".into(), |it| it.name.as_str().into());
        }
        shape
    }

    /// The jobs that start together with one, those of the highest worth first, and whether they let it.
    fn companions(
        &mut self,
        planner: &mut Planner,
        state: &State,
        job: &Job,
        leaders: (u16, u32),
    ) -> (Arc<[Companion]>, Standing) {
        let Some(component) = job.component else { return ([].into(), Standing::Ready) };
        // One that is over by itself does not come again.
        let others = state.components(component).skip(1).filter(|it| !it.phase.is_over());
        let others: Vec<Arc<Job>> = others.cloned().collect();
        let mut together = Standing::Ready;
        if others.iter().any(|it| it.phase != Phase::Pending) {
            // They are still on their way back to the queue.
            together = Standing::Barred(Reason::None);
        }
        let mut found = Vec::with_capacity(others.len());
        for other in &others {
            let open = open_partitions(state, other);
            together = match (together, standing(state, other, open.first().copied())) {
                (Standing::Ready, Standing::Ready) => {
                    limits::bar(state, other, &self.basis).map_or(Standing::Ready, Standing::Barred)
                }
                (Standing::Ready, other) => other,
                (together, _) => together,
            };
            if open.is_empty() {
                continue;
            }
            let places = open.iter().map(|it| {
                let mut shape = self.shape_in(state, other, it);
                shape.avoid = avoided(other);
                (it.name.as_str().into(), self.shapes.one(shape))
            });
            let places: Arc<[_]> = places.collect();
            let worth = self.worth(state, other, open.first().copied());
            let companion = Companion {
                job: other.id,
                leads: worth > leaders,
                places,
                charges: self.charges(planner, state, other),
            };
            found.push((worth, companion));
        }
        found.sort_by_key(|(worth, _)| std::cmp::Reverse(*worth));
        let found: Vec<Companion> = found.into_iter().map(|(_, companion)| companion).collect();
        (found.into(), together)
    }

    fn partitions(&mut self, open: &[&Partition]) -> Tiers {
        let names: Vec<&str> = open.iter().map(|it| it.name.as_str()).collect();
        let names = names.join(",");
        if let Some(known) = self.names.get(&names) {
            return known.clone();
        }
        let mut tiers: Vec<(Arc<str>, u16)> =
            open.iter().map(|it| (it.name.as_str().into(), it.rules.priority_tier)).collect();
        if tiers.is_empty() {
            tiers.push(("".into(), 0));
        }
        let shared: Tiers = tiers.into();
        self.names.insert(names, shared.clone());
        shared
    }

    pub(super) fn charges(
        &mut self,
        planner: &mut Planner,
        state: &State,
        job: &Job,
    ) -> Arc<[Charge]> {
        let licenses = license::parse(&job.spec.placement().licenses).unwrap_or_default();
        let mut charges: Vec<Charge> = (licenses.iter())
            .map(|it| Charge {
                counter: license_name(&it.name),
                amount: u64::from(it.count),
                of: Of::Said,
                weight: WHOLE,
            })
            .collect();
        // Of what is kept for reservations, others have the rest.
        let outside = licenses
            .iter()
            .filter(|it| self.kept.contains(&it.name) && !is_kept_for(state, &it.name, &job.spec));
        charges.extend(outside.map(|it| Charge {
            counter: open_license_name(&it.name),
            amount: u64::from(it.count),
            of: Of::Said,
            weight: WHOLE,
        }));
        if let (Some(array), Some(_)) = (job.array_id(), throttle(job)) {
            charges.push(Charge {
                counter: array_name(array),
                amount: 1,
                of: Of::Said,
                weight: WHOLE,
            });
        }
        charges.extend(limits::charges(planner, state, job, &self.basis));
        if self.charges.len() >= 1 << 16 {
            self.charges.retain(|_, shared| Arc::strong_count(shared) > 1);
        }
        if let Some(known) = self.charges.get(&charges) {
            return known.clone();
        }
        let shared: Arc<[Charge]> = charges.clone().into();
        self.charges.insert(charges, shared.clone());
        shared
    }
}

/// How many tasks of a job's array may run at once.
pub(super) fn put_throttle(planner: &mut Planner, array: JobId, throttle: u64) {
    let counter = Counter { max: throttle, reason: Reason::JobArrayTaskLimit };
    planner.put_counter(&array_name(array), Some(&counter));
}

pub(super) fn throttle(job: &Job) -> Option<u64> {
    let throttle = match job.array.as_deref()? {
        Array::Waiting(tasks) => tasks.throttle,
        Array::Task { throttle, .. } => *throttle,
    };
    Some(u64::from(throttle)).filter(|throttle| *throttle > 0)
}

pub(super) fn array_name(array: JobId) -> Arc<str> {
    format!("array/{array}").into()
}
