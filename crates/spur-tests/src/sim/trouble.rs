//! The hand that breaks things, and the end of all trouble.

use std::collections::BTreeSet;

use spur_disk::SimFault;
use spur_sched::Planner;

use super::world::{Event, Report, World};

/// How long all controllers are away at worst.
const OUTAGE_MS: u64 = 3_600_000;

/// After the last fault somebody leads by then.
const LEADER_MS: u64 = 3000;

impl World {
    pub(super) fn fault(&mut self) {
        self.faults += 1;
        let node = self.chance.below(self.nodes.len() as u64) as usize;
        let kind = self.chance.below(12);
        self.trace(|| format!("fault {kind} at n{}", node + 1));
        match kind {
            0 | 1 => self.crash_controller(false),
            2 => self.crash_controller(true),
            3 | 4 => {
                self.nodes[node].crash();
                self.witness.dies(node, false);
                self.drop_streams_of(node);
                let delay = self.chance.between(10, if self.fences { 90_000 } else { 8000 });
                self.after(delay, Event::StartAgent(node));
            }
            5 => {
                let name = self.nodes[node].name.clone();
                self.witness.reboots(&name);
                self.nodes[node].reboot(&mut self.chance);
                self.witness.dies(node, true);
                self.boots[node] += 1;
                self.drop_streams_of(node);
                let delay = self.chance.between(1000, 20_000);
                self.after(delay, Event::StartAgent(node));
            }
            6 => {
                self.cut[node] = true;
                self.drop_streams_of(node);
                let delay = self.chance.between(500, if self.fences { 90_000 } else { 40_000 });
                self.after(delay, Event::Mend(node));
            }
            7 => {
                self.host.disk.set_fault(Some(SimFault::Full));
                let delay = self.chance.between(100, 5000);
                self.after(delay, Event::RoomOnController);
            }
            8 => {
                self.nodes[node].disk.set_fault(Some(SimFault::Full));
                let delay = self.chance.between(100, 5000);
                self.after(delay, Event::RoomOnNode(node));
            }
            9 => {
                self.database.is_away = true;
                let delay = self.chance.between(100, 60_000);
                self.after(delay, Event::Database);
            }
            10 => self.fall_asleep(),
            _ if self.chance.one_in(2) => self.skew += self.chance.between(0, 7200) as i64 - 3600,
            _ => self.host.compact(&mut self.chance),
        }
    }

    /// Nobody answers for an hour. Jobs run on, and end.
    pub(super) fn outage(&mut self) {
        if self.healed {
            return;
        }
        self.faults += 1;
        self.away_until = self.now + OUTAGE_MS;
        self.bury();
        self.crash_controller(false);
        self.witness.outage(&self.nodes);
    }

    pub(super) fn heal(&mut self) {
        if self.now < self.away_until {
            return self.after(self.away_until - self.now, Event::Heal);
        }
        self.healed = true;
        self.database.is_away = false;
        self.bury();
        self.after(LEADER_MS, Event::LeaderDue);
        self.host.disk.set_fault(None);
        self.after(0, Event::StartController);
        self.after(0, Event::Look);
        for node in 0..self.nodes.len() {
            self.cut[node] = false;
            self.nodes[node].disk.set_fault(None);
            self.after(0, Event::StartAgent(node));
        }
    }

    /// After the last fault.
    pub(super) fn leader_is_due(&mut self) {
        if !self.host.life.as_ref().is_some_and(|life| life.controller.leads()) {
            self.witness.complain("liveness", "nobody leads".to_string());
        }
    }

    /// Whatever could start at the last look has started by now.
    fn look_for_stuck(&mut self) {
        let Some(life) = &mut self.host.life else { return };
        let state = life.controller.state_to_plan();
        let plan = Planner::default().plan(&state);
        let starts = plan.starts.iter().filter(|start| start.task.is_none());
        let could: BTreeSet<_> = starts.map(|start| (start.job, start.epoch)).collect();
        if let Some((job, _)) = could.intersection(&self.could_start).next() {
            // Whether it is the planner that passes it over, or nobody asked it.
            let sees = life.planner.plan(&state).starts.iter().any(|start| start.job == *job);
            let who = if sees { "but no pass was made" } else { "but the planner passes it over" };
            self.witness.complain("liveness", format!("job {job} could have started, {who}"));
        }
        self.could_start = could;
    }

    /// Counts looks at a world with nothing left to do.
    pub(super) fn look(&mut self) {
        self.look_for_stuck();
        let is_done = self.clients.open.is_empty()
            && self.nodes.iter().all(|node| node.alive().next().is_none())
            && self.host.life.as_ref().is_some_and(|life| {
                let state = life.controller.state();
                state.jobs.values().all(|job| job.phase.is_over())
                    && self.database.reached() == state.history.records
            });
        self.quiet = if is_done { self.quiet + 1 } else { 0 };
        self.after(10_000, Event::Look);
    }

    pub(super) fn finish(mut self) -> Report {
        let mut jobs = 0;
        if self.witness.complaints.is_empty() {
            match (&self.host.life, self.host.replayed()) {
                (Some(life), Some(replayed)) => {
                    let state = life.controller.state();
                    jobs = state.jobs.len();
                    let rows = &self.database.rows;
                    self.witness.at_rest(state, &replayed, rows, &self.nodes, &self.clients);
                }
                _ => self.witness.complaints.push("liveness: no controller".to_string()),
            }
        }
        Report { complaints: self.witness.complaints, jobs, faults: self.faults, steps: self.steps }
    }
}
