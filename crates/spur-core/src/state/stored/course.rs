//! What has happened to a job beside its phase.

use std::sync::Arc;

use prost::Message;

use super::Error;
use crate::ids::{JobId, NodeName};
use crate::job::{
    Array, ArraySpec, Beyond, Component, Displaced, Granted, Hold, Job, Pause, Removal, Setbacks,
    Waits, dependency,
};
use crate::time::Timestamp;

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredCourse {
    /// 0 nobody, 1 user, 2 admin.
    #[prost(uint32, tag = "1")]
    hold: u32,
    #[prost(int64, optional, tag = "2")]
    begin: Option<i64>,
    /// As `--dependency` would say it.
    #[prost(string, tag = "3")]
    waits: String,
    #[prost(bool, tag = "4")]
    never: bool,
    #[prost(message, optional, tag = "5")]
    waiting: Option<ArraySpec>,
    #[prost(uint32, optional, tag = "6")]
    task: Option<u32>,
    #[prost(uint32, tag = "7")]
    task_of: u32,
    #[prost(uint32, tag = "8")]
    throttle: u32,
    #[prost(uint32, tag = "9")]
    restarts: u32,
    #[prost(int64, optional, tag = "10")]
    paused_since: Option<i64>,
    #[prost(int64, tag = "11")]
    paused_secs: i64,
    #[prost(bool, tag = "12")]
    is_warned: bool,
    #[prost(string, tag = "13")]
    partition: String,
    #[prost(uint64, optional, tag = "14")]
    minutes: Option<u64>,
    #[prost(int64, optional, tag = "15")]
    displaced_until: Option<i64>,
    /// Whether it goes back to the queue then.
    #[prost(bool, tag = "16")]
    displaced_requeue: bool,
    /// Of the run.
    #[prost(uint32, optional, tag = "17")]
    priority: Option<u32>,
    #[prost(uint32, optional, tag = "41")]
    reason: Option<u32>,
    #[prost(uint32, optional, tag = "40")]
    port: Option<u32>,
    /// Its place in a heterogeneous job: the first one, how many stand before it, how many there are.
    #[prost(uint32, tag = "50")]
    leader: u32,
    #[prost(uint32, tag = "51")]
    offset: u32,
    #[prost(uint32, tag = "52")]
    components: u32,
    #[prost(bool, tag = "20")]
    asleep: bool,
    #[prost(uint32, tag = "21")]
    layers: u32,
    #[prost(uint32, optional, tag = "22")]
    fence_secs: Option<u32>,
    #[prost(uint32, tag = "23")]
    failures: u32,
    #[prost(uint32, tag = "24")]
    preemptions: u32,
    #[prost(uint32, tag = "25")]
    node_losses: u32,
    #[prost(string, repeated, tag = "26")]
    avoid: Vec<String>,
    #[prost(uint32, tag = "27")]
    failed_launches: u32,
    #[prost(int64, optional, tag = "28")]
    accrues: Option<i64>,
    #[prost(bool, tag = "29")]
    parked: bool,
    #[prost(bool, tag = "30")]
    beyond_time: bool,
    #[prost(bool, tag = "31")]
    beyond_cpus: bool,
    #[prost(bool, tag = "32")]
    beyond_memory: bool,
}

impl From<&Job> for StoredCourse {
    fn from(job: &Job) -> StoredCourse {
        let mut stored = StoredCourse {
            hold: match job.hold {
                Hold::None => 0,
                Hold::User => 1,
                Hold::Admin => 2,
                Hold::Launch => 3,
                Hold::Requeued => 4,
                Hold::Special => 5,
                Hold::Exit => 6,
            },
            begin: job.begin.map(|begin| begin.0),
            waits: job.waits.as_ref().map(|waits| waits.on.to_string()).unwrap_or_default(),
            never: job.waits.as_ref().is_some_and(|waits| waits.never),
            restarts: job.restarts,
            paused_since: job.pause.since.map(|since| since.0),
            paused_secs: job.pause.secs,
            is_warned: job.is_warned,
            partition: job.granted.partition.clone(),
            minutes: job.granted.minutes,
            priority: job.granted.priority,
            reason: job.granted.reason,
            port: job.granted.port.map(u32::from),
            displaced_until: job.displaced.map(|displaced| displaced.until.0),
            displaced_requeue: job.displaced.is_some_and(|it| it.how == Removal::Requeue),
            leader: job.component.map_or(0, |it| it.leader.0),
            offset: job.component.map_or(0, |it| it.offset),
            components: job.component.map_or(0, |it| it.size),
            asleep: job.asleep,
            accrues: job.accrues.map(|since| since.0),
            parked: job.parked,
            beyond_time: job.beyond.time,
            beyond_cpus: job.beyond.cpus,
            beyond_memory: job.beyond.memory,
            layers: job.granted.layers,
            fence_secs: job.granted.fence_secs,
            ..StoredCourse::default()
        };
        if let Some(setbacks) = &job.setbacks {
            stored.failures = setbacks.failures;
            stored.preemptions = setbacks.preemptions;
            stored.node_losses = setbacks.node_losses;
            stored.failed_launches = setbacks.failed_launches;
            stored.avoid = setbacks.avoid.iter().map(ToString::to_string).collect();
        }
        match job.array.as_deref() {
            Some(Array::Waiting(tasks)) => stored.waiting = Some(tasks.clone()),
            Some(Array::Task { of, index, throttle }) => {
                (stored.task, stored.task_of, stored.throttle) = (Some(*index), of.0, *throttle);
            }
            None => {}
        }
        stored
    }
}

impl StoredCourse {
    /// Puts it back into a job.
    pub(super) fn restore(self, job: &mut Job) -> Result<(), Error> {
        job.hold = match self.hold {
            0 => Hold::None,
            1 => Hold::User,
            2 => Hold::Admin,
            3 => Hold::Launch,
            4 => Hold::Requeued,
            5 => Hold::Special,
            6 => Hold::Exit,
            other => return Err(Error::Garbled(format!("{other} is no hold"))),
        };
        let on = dependency::parse(&self.waits);
        let on = on.map_err(|error| Error::Garbled(format!("{}: {error}", self.waits)))?;
        job.waits = (!on.terms.is_empty()).then(|| Arc::new(Waits { on, never: self.never }));
        let task = self.task.map(|index| Array::Task {
            of: JobId(self.task_of),
            index,
            throttle: self.throttle,
        });
        job.array = self.waiting.map(Array::Waiting).or(task).map(Arc::new);
        let (leader, offset, size) = (JobId(self.leader), self.offset, self.components);
        job.component = (size > 0).then_some(Component { leader, offset, size });
        job.asleep = self.asleep;
        job.accrues = self.accrues.map(Timestamp);
        job.parked = self.parked;
        job.beyond =
            Beyond { time: self.beyond_time, cpus: self.beyond_cpus, memory: self.beyond_memory };
        job.begin = self.begin.map(Timestamp);
        job.restarts = self.restarts;
        job.pause = Pause { since: self.paused_since.map(Timestamp), secs: self.paused_secs };
        job.is_warned = self.is_warned;
        job.granted = Granted {
            layers: self.layers,
            partition: self.partition,
            minutes: self.minutes,
            priority: self.priority,
            reason: self.reason,
            port: self.port.and_then(|port| u16::try_from(port).ok()),
            fence_secs: self.fence_secs,
        };
        let setbacks = Setbacks {
            failures: self.failures,
            preemptions: self.preemptions,
            node_losses: self.node_losses,
            failed_launches: self.failed_launches,
            avoid: self.avoid.into_iter().map(NodeName::from).collect(),
        };
        job.setbacks = (setbacks != Setbacks::default()).then(|| Arc::new(setbacks));
        let how = if self.displaced_requeue { Removal::Requeue } else { Removal::Cancel };
        job.displaced =
            self.displaced_until.map(|until| Displaced { until: Timestamp(until), how });
        Ok(())
    }
}
