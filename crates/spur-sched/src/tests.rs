//! Clusters in few words, and what is planned about them.

mod amounts;
pub(crate) mod from_state;
mod habits;
mod line;
mod network;
mod partitions;
mod passes;
mod same;
mod together;
mod why;

use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::time::Timestamp;

use crate::Decisions;
use crate::planner::{Planner, Policy};
use crate::shape::{GresNeed, Memory, Per, Shape};
use crate::view::{
    Charge, ClusterView, PendingJob, RunId, RunningJob, Standing, ViewGres, ViewNode,
};

/// A cluster of one partition that is put together step by step.
#[derive(Clone, Debug, Default)]
struct Cluster {
    view: ClusterView,
    policy: Policy,
}

/// Nodes `n1`, `n2` … with so many cores each.
fn cluster(cores: &[u32]) -> Cluster {
    let mut cluster = Cluster::default();
    for (number, cores) in (1..).zip(cores) {
        cluster = cluster.node(&format!("n{number}"), |node| node.cores = *cores);
    }
    cluster
}

fn gpus(count: u32) -> Arc<[ViewGres]> {
    [ViewGres::devices("gpu", "", count)].into()
}

fn gpu_need(count: u32, per: Per) -> GresNeed {
    GresNeed { name: "gpu".into(), model: "".into(), count, per, parts: false }
}

impl Cluster {
    fn node(mut self, name: &str, change: impl Fn(&mut ViewNode)) -> Cluster {
        let known = self.view.nodes.get(&name.into()).map(|node| (**node).clone());
        let mut node = known.unwrap_or_else(|| ViewNode {
            name: name.into(),
            usable: true,
            weight: 1,
            partitions: ["all".into()].into(),
            features: [].into(),
            switches: [].into(),
            sockets: 1,
            cores: 4,
            threads: 1,
            kept: [].into(),
            memory_mb: 1000,
            tmp_mb: 0,
            gres: [].into(),
        });
        change(&mut node);
        self.view.nodes.insert(name.into(), Arc::new(node));
        self
    }

    fn job(self, change: impl Fn(&mut Shape)) -> Cluster {
        self.job_with(change, |_| {})
    }

    fn job_with(mut self, shape: impl Fn(&mut Shape), job: impl Fn(&mut PendingJob)) -> Cluster {
        let last = self.view.pending.keys().chain(self.view.running.keys().map(|run| &run.0)).max();
        let id = JobId(last.map_or(1, |id| id.0 + 1));
        let mut wanted = Shape { memory: Memory::None, secs: 3600, ..Shape::default() };
        shape(&mut wanted);
        let mut pending = PendingJob {
            ranks_by_tier: false,
            id,
            count: 1,
            partitions: [("all".into(), 1)].into(),
            shape: Arc::new(wanted),
            priority: 1,
            elsewhere: [].into(),
            user: 1,
            charges: [].into(),
            standing: Standing::Ready,
            rank: 0,
            with: [].into(),
        };
        job(&mut pending);
        self.view.pending.insert(id, Arc::new(pending));
        self
    }

    fn decide(&self) -> Decisions {
        Planner::of(&self.view, self.policy).decide(self.view.now)
    }

    /// What a pass starts runs from now on.
    fn started(mut self) -> Cluster {
        for start in self.decide().starts {
            let Some(job) = self.view.pending.remove(&start.job) else { continue };
            let run = RunningJob {
                since: self.view.now,
                end: start.end,
                shares: start.shares.into(),
                user: job.user,
                label: "".into(),
                partition: start.partition.clone(),
                reservation: job.shape.reservation.clone(),
                sharing: job.shape.sharing,
                wish: job.shape.wish(),
                charges: job.charges.clone(),
                preemptible: None,
                leaves: false,
                sleeps: None,
                limit: None,
            };
            self.view.running.insert(RunId(start.job, 0), Arc::new(run));
        }
        self
    }

    fn at(mut self, now: i64) -> Cluster {
        self.view.now = Timestamp(now);
        self
    }

    fn ended(mut self, job: u32) -> Cluster {
        self.view.running.remove(&RunId(JobId(job), 0));
        self
    }

    fn cancelled(mut self, job: u32) -> Cluster {
        self.view.pending.remove(&JobId(job));
        self
    }

    /// `1 on n1:4 n2:1` for a start, `2 Resources` or `2 Resources@60` for a wait.
    fn plan(&self) -> Vec<String> {
        let decisions = self.decide();
        let starts = decisions.starts.iter().map(|start| {
            let shares: Vec<String> = (start.shares.iter())
                .map(|share| format!("{}:{}", share.node, share.cores.len()))
                .collect();
            format!("{} on {}", start.job, shares.join(" "))
        });
        let waits = decisions.waits.iter().map(|(job, wait)| match wait.start {
            Some(at) => format!("{job} {}@{}", wait.reason, at.0),
            None => format!("{job} {}", wait.reason),
        });
        starts.chain(waits).collect()
    }
}

fn charge(counter: &str, amount: u64) -> Charge {
    Charge {
        counter: counter.into(),
        amount,
        of: crate::view::Of::Said,
        weight: crate::view::WHOLE,
    }
}
