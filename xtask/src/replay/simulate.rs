//! Runs a trace: submissions and ends are events, and the planner decides after each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::time::Timestamp;
use spur_sched::Choice;
use spur_sched::planner::{Planner, Policy};
use spur_sched::predict::{Guard, Predictor, raise};
use spur_sched::shape::{GresNeed, Per, Shape, Sharing, Wish};
use spur_sched::view::{PendingJob, RunId, RunningJob, Standing, ViewGres, ViewNode, ViewShare};

use super::measure::Outcome;
use super::trace::{Job, Machine, Trace};

/// A way to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// First come, first served.
    Fcfs,
    /// The first in the queue holds a promise, the others fill the gaps; first fit.
    Easy,
    /// The same on the fullest nodes that fit.
    BestFit,
    /// What the controller does.
    Spur,
    /// The same, and behind the promise short jobs go first.
    Shortest,
    /// The same, and run times are predicted.
    Predict,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 6] =
        [Way::Fcfs, Way::Easy, Way::BestFit, Way::Spur, Way::Shortest, Way::Predict];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Fcfs => "fcfs",
            Way::Easy => "easy",
            Way::BestFit => "bestfit",
            Way::Spur => "spur",
            Way::Shortest => "shortest",
            Way::Predict => "predict",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }

    /// Which of the nodes that have room is taken where nothing ever leaves: there it is all that matters.
    pub(super) fn choice(self) -> Choice {
        match self {
            Way::Fcfs => Choice::First,
            other => other.policy().choice,
        }
    }

    fn policy(self) -> Policy {
        let usual = Policy::default();
        match self {
            Way::Fcfs => Policy { backfill: false, ..usual },
            Way::Easy => Policy { depth: 1, choice: Choice::First, ..usual },
            Way::BestFit => Policy { depth: 1, choice: Choice::BestFit, ..usual },
            Way::Spur => usual,
            Way::Shortest | Way::Predict => Policy { shortest_first: true, ..usual },
        }
    }
}

struct World<'a> {
    trace: &'a Trace,
    way: Way,
    planner: Planner,
    shapes: BTreeMap<Arc<Shape>, ()>,
    partitions: Arc<[(Arc<str>, u16)]>,
    /// Ends of runs, by when.
    ends: BTreeMap<(i64, usize), Arc<RunningJob>>,
    /// Guesses that run out, by when.
    doubts: BTreeMap<(i64, usize), usize>,
    predictor: Predictor,
    guard: Guard,
    /// How long each waiting job is expected to run, and who waits of each user.
    waiting: BTreeMap<usize, i64>,
    of_user: BTreeMap<u32, BTreeSet<usize>>,
    outcome: Outcome,
}

/// What the controller allows predictions unless it is told otherwise.
const MARGIN_PERCENT: u32 = 10;
const PATIENCE_SECS: i64 = 4 * 3600;

/// Runs a trace one way.
pub fn simulate(trace: &Trace, way: Way) -> Outcome {
    let mut world = World {
        trace,
        way,
        planner: Planner::new(way.policy()),
        shapes: BTreeMap::new(),
        partitions: Arc::new([("all".into(), 1)]),
        ends: BTreeMap::new(),
        doubts: BTreeMap::new(),
        predictor: Predictor::default(),
        guard: Guard::new(MARGIN_PERCENT, PATIENCE_SECS),
        waiting: BTreeMap::new(),
        of_user: BTreeMap::new(),
        outcome: Outcome::new(trace.jobs.len()),
    };
    for number in 0..trace.machine.nodes {
        world.planner.put_node(&Arc::new(node(trace.machine, number)));
    }
    world.run();
    world.outcome
}

fn node(machine: Machine, number: u32) -> ViewNode {
    let gres = if machine.gpus { vec![ViewGres::devices("gpu", "", machine.each)] } else { vec![] };
    ViewNode {
        name: format!("n{number}").into(),
        usable: true,
        weight: 1,
        partitions: ["all".into()].into(),
        features: [].into(),
        switches: [].into(),
        sockets: 1,
        cores: machine.each,
        threads: 1,
        kept: [].into(),
        memory_mb: 1,
        tmp_mb: 0,
        gres: gres.into(),
    }
}

/// What a job of the trace asks for.
fn shape(machine: Machine, job: &Job, guess: i64) -> Shape {
    let expected = Some(guess).filter(|guess| *guess < job.limit);
    let one = Shape { secs: job.limit, expected, ..Shape::default() };
    let need = |count, per| {
        vec![GresNeed { name: "gpu".into(), model: "".into(), count, per, parts: false }]
    };
    let (each, size) = (machine.each, job.size.min(machine.each * machine.nodes));
    match machine.gpus {
        // A gang that fits on a node is not torn apart.
        true if size <= each => Shape { unit_cpus: size, gres: need(size, Per::Node), ..one },
        true if size % each == 0 => {
            let nodes = size / each;
            let gres = need(each, Per::Node);
            Shape { nodes_min: nodes, nodes_max: nodes, units: nodes, unit_cpus: each, gres, ..one }
        }
        true => Shape { nodes_max: size, units: size, gres: need(1, Per::Unit), ..one },
        false if machine.nodes == 1 => Shape { unit_cpus: size, ..one },
        false if each == 1 => Shape { nodes_min: size, nodes_max: size, units: size, ..one },
        false => Shape { nodes_max: size, units: size, ..one },
    }
}

impl World<'_> {
    fn run(&mut self) {
        let mut next = 0;
        loop {
            let submit = self.trace.jobs.get(next).map(|job| job.submit);
            let end = self.ends.first_key_value().map(|((at, _), _)| *at);
            let doubt = self.doubts.first_key_value().map(|((at, _), _)| *at);
            let Some(now) = [submit, end, doubt].into_iter().flatten().min() else { break };
            while let Some(first) = self.ends.first_entry()
                && first.key().0 == now
            {
                let ((_, job), _) = first.remove_entry();
                self.end(job);
            }
            while let Some(first) = self.doubts.first_entry()
                && first.key().0 == now
            {
                let ((_, job), times) = first.remove_entry();
                self.raise(job, now, times);
            }
            while self.trace.jobs.get(next).is_some_and(|job| job.submit == now) {
                self.submit(next);
                next += 1;
            }
            self.decide(now);
        }
    }

    fn submit(&mut self, index: usize) {
        let job = &self.trace.jobs[index];
        let guess = match self.way {
            Way::Predict => self.predictor.guess(job.user, job.limit),
            _ => job.limit,
        };
        if self.waiting.insert(index, guess) == Some(guess) {
            return;
        }
        self.of_user.entry(job.user).or_default().insert(index);
        let shape = shape(self.trace.machine, job, guess);
        let shape = match self.shapes.get_key_value(&shape) {
            Some((known, ())) => known.clone(),
            None => {
                let shape = Arc::new(shape);
                self.shapes.insert(shape.clone(), ());
                shape
            }
        };
        self.planner.put_job(&Arc::new(PendingJob {
            ranks_by_tier: false,
            id: id(index),
            count: 1,
            partitions: self.partitions.clone(),
            shape,
            priority: 1,
            elsewhere: [].into(),
            user: job.user,
            charges: [].into(),
            standing: Standing::Ready,
            rank: 0,
            with: [].into(),
        }));
    }

    fn decide(&mut self, now: i64) {
        let decided = self.planner.decide(Timestamp(now));
        if self.way == Way::Predict {
            let promises = decided.waits.all_promised();
            let promises = promises.map(|(job, it)| (job, it.due.0, it.idle));
            let trust = self.guard.trusts(now, self.planner.capacity(), promises);
            self.planner.set_trust(trust);
        }
        for start in decided.starts {
            let index = start.job.0 as usize - 1;
            let job = &self.trace.jobs[index];
            self.outcome.started(index, now, &start.shares);
            self.planner.remove_job(start.job);
            let secs = self.waiting.remove(&index).unwrap_or(job.limit);
            if let Some(waiting) = self.of_user.get_mut(&job.user) {
                waiting.remove(&index);
            }
            self.hold(index, now, now + secs, start.shares.into());
            if secs < job.run {
                self.doubts.insert((now + secs, index), 0);
            }
        }
    }

    fn hold(&mut self, index: usize, since: i64, end: i64, shares: Arc<[ViewShare]>) {
        let run = Arc::new(RunningJob {
            since: Timestamp(since),
            end: Timestamp(end),
            shares,
            user: self.trace.jobs[index].user,
            label: "".into(),
            partition: "all".into(),
            reservation: "".into(),
            sharing: Sharing::Anybody,
            wish: Wish::default(),
            charges: [].into(),
            preemptible: None,
            leaves: false,
            sleeps: None,
            limit: Some(Timestamp(since + self.trace.jobs[index].limit)),
        });
        self.planner.put_run(RunId(id(index), 0), &run);
        self.ends.insert((since + self.trace.jobs[index].run, index), run);
    }

    /// A run goes on although it was thought to end.
    fn raise(&mut self, index: usize, now: i64, times: usize) {
        let job = &self.trace.jobs[index];
        let Some(since) = self.outcome.start_of(index) else { return };
        let Some(run) = self.ends.get(&(since + job.run, index)).cloned() else { return };
        let guess = raise(now - since, times, job.limit);
        self.hold(index, since, since + guess, run.shares.clone());
        if guess < job.run {
            self.doubts.insert((since + guess, index), times + 1);
        }
    }

    fn end(&mut self, index: usize) {
        let job = &self.trace.jobs[index];
        self.planner.remove_run(RunId(id(index), 0));
        if self.predictor.learn(job.user, job.submit, job.run, job.limit)
            && self.way == Way::Predict
        {
            for index in self.of_user.get(&job.user).cloned().unwrap_or_default() {
                self.submit(index);
            }
        }
    }
}

fn id(index: usize) -> JobId {
    JobId(index as u32 + 1)
}
