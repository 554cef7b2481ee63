//! Snapshots: a header, then one record for each thing, so that they can be streamed.

use std::sync::Arc;

use prost::Message;

use super::course::StoredCourse;
use super::crontab::StoredCrontab;
use super::entry::{StoredSettings, StoredShare, allocation, hash, request_id, stored_shares};
use super::reservation::StoredReservation;
use super::rules::StoredUsage;
use super::steps::StoredSteps;
use super::trigger::StoredTrigger;
use super::trust::StoredTrust;
use super::{Error, VERSION, check_version, missing};
use crate::accounts::book::Book;
use crate::config::words::CpuBind;
use crate::config::{self, Config};
use crate::ids::{Epoch, Gid, JobId, NodeName, Uid};
use crate::job::{
    Back, Beyond, Cause, ExitStatus, Granted, Hold, Job, JobSpec, Owner, Pause, Phase, Steps,
};
use crate::node::{Inventory, Link, NextState, Node, Note, Reboot, Service};
use crate::partition::Partition;
use crate::reservation::Reservation;
use crate::state::{Capacity, History, Index, Reply, Settings, State};
use crate::time::Timestamp;
use crate::trigger::Trigger;
use crate::views::RulesView;

/// Hands each record of a snapshot of `state` to `sink`.
pub fn encode(state: &State, mut sink: impl FnMut(Vec<u8>)) {
    let mut put = |thing| sink(StoredRecord { thing: Some(thing) }.encode_to_vec());
    put(Thing::Header(StoredHeader {
        version: VERSION,
        now: state.now.0,
        next_job: state.next_job.0,
        settings: Some((&*state.settings).into()),
        partitions: Some(StoredPartitions::from(state)),
        birth: state.history.birth,
        records: state.history.records,
        trust: Some((&*state.trust).into()),
        capacity_since: state.capacity.since.0,
        capacity_tres: state.capacity.tres.clone(),
        capacity_nodes: state.capacity.nodes.clone(),
        next_trigger: state.next_trigger,
        last_reservation: state.last_reservation,
        leader_life: state.leader_life,
    }));
    if !state.rules.is_empty() {
        put(Thing::Rules(Box::new(state.rules.rules().clone())));
    }
    state.usage.iter().for_each(|(purse, usage)| put(Thing::Usage((*purse, &**usage).into())));
    let reservations = state.reservations.values();
    reservations.for_each(|it| put(Thing::Reservation(Box::new((&**it).into()))));
    state.crontabs.iter().for_each(|(uid, table)| put(Thing::Crontab((*uid, &**table).into())));
    let triggers = state.triggers.values();
    triggers.for_each(|it| put(Thing::Trigger(Box::new((&**it).into()))));
    state.nodes.values().for_each(|node| put(Thing::Node(Box::new((&**node).into()))));
    state.jobs.values().for_each(|job| put(Thing::Job(Box::new((&**job).into()))));
    state.repeats.iter().for_each(|(at, (uid, request), reply)| {
        let request = request.0.to_le_bytes().to_vec();
        let (name, count) = match reply {
            Reply::Named(name) => (name.clone(), None),
            Reply::Started(count) => (String::new(), Some(*count as u64)),
            _ => (String::new(), None),
        };
        put(Thing::Repeat(StoredRepeat { at: at.0, uid: uid.0, request, name, count }));
    });
}

/// Puts a state together from the records of a snapshot.
#[derive(Default)]
pub struct Reader {
    state: Option<State>,
}

impl Reader {
    /// Takes the next record.
    pub fn take(&mut self, record: &[u8]) -> Result<(), Error> {
        match StoredRecord::decode(record)?.thing.ok_or(missing("the record's content"))? {
            Thing::Header(header) => {
                check_version(header.version)?;
                let settings = header.settings.ok_or(missing("the configuration"))?;
                let settings = Settings::try_from(settings)?;
                let partitions = match header.partitions {
                    Some(partitions) => partitions.read(&settings)?,
                    None => settings.partitions.clone(),
                };
                self.state = Some(State {
                    now: Timestamp(header.now),
                    next_job: JobId(header.next_job),
                    partitions: Arc::new(partitions),
                    settings: Arc::new(settings),
                    trust: Arc::new(header.trust.unwrap_or_default().into()),
                    history: History { birth: header.birth, records: header.records },
                    capacity: Capacity {
                        since: Timestamp(header.capacity_since),
                        tres: header.capacity_tres,
                        nodes: header.capacity_nodes,
                    },
                    next_trigger: header.next_trigger,
                    last_reservation: header.last_reservation,
                    leader_life: header.leader_life,
                    ..State::new()
                });
            }
            Thing::Rules(rules) => {
                let state = self.state()?;
                let cluster = state.settings.cluster_name.clone();
                state.rules = Arc::new(Book::of(*rules, &cluster));
            }
            Thing::Usage(usage) => {
                let (purse, usage) = usage.read()?;
                self.state()?.usage.insert(purse, Arc::new(usage));
            }
            Thing::Reservation(stored) => {
                let it = Reservation::from(*stored);
                self.state()?.reservations.insert(it.name.clone(), Arc::new(it));
            }
            Thing::Crontab(stored) => {
                let uid = Uid(stored.uid);
                self.state()?.crontabs.insert(uid, Arc::new(stored.into()));
            }
            Thing::Trigger(stored) => {
                let trigger = Trigger::try_from(*stored)?;
                self.state()?.triggers.insert(trigger.id, Arc::new(trigger));
            }
            Thing::Node(node) => {
                let node = Node::from(*node);
                self.state()?.nodes.insert(node.name.clone(), Arc::new(node));
            }
            Thing::Job(job) => {
                let job = Job::try_from(*job)?;
                let state = self.state()?;
                for hash in [job.script, job.environment] {
                    *state.blobs.entry(hash).or_insert(0) += 1;
                }
                state.jobs.insert(job.id, Arc::new(job));
            }
            Thing::Repeat(done) => {
                let asked = (Uid(done.uid), request_id(&done.request)?);
                let reply = match (done.count, done.name.is_empty()) {
                    (Some(count), _) => Reply::Started(count as usize),
                    (None, false) => Reply::Named(done.name),
                    (None, true) => Reply::Done,
                };
                self.state()?.repeats.remember(Timestamp(done.at), asked, reply);
            }
        }
        Ok(())
    }

    /// The state, once all records are taken.
    pub fn finish(self) -> Result<State, Error> {
        let mut state = self.state.ok_or(missing("the header"))?;
        state.index = Index::of(state.jobs.values().map(|job| &**job));
        Ok(state)
    }

    fn state(&mut self) -> Result<&mut State, Error> {
        self.state.as_mut().ok_or(missing("the header"))
    }
}

#[derive(Clone, PartialEq, Message)]
struct StoredRecord {
    #[prost(oneof = "Thing", tags = "1, 2, 3, 4, 9, 50, 51, 80, 81")]
    thing: Option<Thing>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Thing {
    #[prost(message, tag = "1")]
    Header(StoredHeader),
    #[prost(message, tag = "2")]
    Node(Box<StoredNode>),
    #[prost(message, tag = "3")]
    Job(Box<StoredJob>),
    #[prost(message, tag = "4")]
    Reservation(Box<StoredReservation>),
    #[prost(message, tag = "9")]
    Repeat(StoredRepeat),
    #[prost(message, tag = "50")]
    Rules(Box<RulesView>),
    #[prost(message, tag = "51")]
    Usage(StoredUsage),
    #[prost(message, tag = "80")]
    Crontab(StoredCrontab),
    #[prost(message, tag = "81")]
    Trigger(Box<StoredTrigger>),
}

/// A request carried out lately.
#[derive(Clone, PartialEq, Message)]
struct StoredRepeat {
    #[prost(int64, tag = "1")]
    at: i64,
    #[prost(uint32, tag = "2")]
    uid: u32,
    #[prost(bytes = "vec", tag = "3")]
    request: Vec<u8>,
    /// What was answered, where that was more than that it is done.
    #[prost(string, tag = "4")]
    name: String,
    #[prost(uint64, optional, tag = "5")]
    count: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredHeader {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(int64, tag = "2")]
    now: i64,
    #[prost(uint32, tag = "3")]
    next_job: u32,
    #[prost(message, optional, tag = "4")]
    settings: Option<StoredSettings>,
    #[prost(message, optional, tag = "5")]
    partitions: Option<StoredPartitions>,
    #[prost(fixed64, tag = "6")]
    birth: u64,
    #[prost(uint64, tag = "7")]
    records: u64,
    #[prost(message, optional, tag = "40")]
    trust: Option<StoredTrust>,
    #[prost(int64, tag = "50")]
    capacity_since: i64,
    #[prost(string, tag = "51")]
    capacity_tres: String,
    #[prost(string, tag = "52")]
    capacity_nodes: String,
    #[prost(uint32, tag = "80")]
    next_trigger: u32,
    #[prost(fixed64, tag = "81")]
    leader_life: u64,
    #[prost(uint32, tag = "82")]
    last_reservation: u32,
}

/// The partitions in force, as the file would say them.
#[derive(Clone, PartialEq, Message)]
struct StoredPartitions {
    #[prost(string, tag = "1")]
    toml: String,
}

impl From<&State> for StoredPartitions {
    fn from(state: &State) -> StoredPartitions {
        let partitions = state.partitions.iter().map(|it| (*it.rules).clone()).collect();
        let node_sets = state.settings.config.node_sets.clone();
        let nodes = state.settings.config.nodes.clone();
        let config = Config { partitions, node_sets, nodes, ..Config::default() };
        StoredPartitions { toml: config.to_toml() }
    }
}

impl StoredPartitions {
    fn read(&self, settings: &Settings) -> Result<Vec<Partition>, Error> {
        let read = config::read_back(&self.toml);
        let read = read.map_err(|problems| Error::Garbled(problems.to_string()))?;
        let config = Config { partitions: read.partitions, ..(*settings.config).clone() };
        Ok(config.partitions.iter().map(|rules| Partition::of(&config, rules)).collect())
    }
}

#[derive(Clone, PartialEq, Message)]
struct StoredNode {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    inventory: Inventory,
    #[prost(message, required, tag = "3")]
    found: Inventory,
    #[prost(string, tag = "4")]
    boot_id: String,
    #[prost(bool, tag = "5")]
    up: bool,
    #[prost(int64, tag = "6")]
    link_since: i64,
    #[prost(uint32, tag = "7")]
    boots: u32,
    #[prost(uint32, tag = "8")]
    weight: u32,
    #[prost(string, repeated, tag = "9")]
    features: Vec<String>,
    #[prost(string, repeated, tag = "10")]
    active_features: Vec<String>,
    #[prost(bool, tag = "11")]
    drain: bool,
    #[prost(bool, tag = "12")]
    down: bool,
    #[prost(bool, tag = "13")]
    fail: bool,
    #[prost(string, optional, tag = "14")]
    reason: Option<String>,
    #[prost(uint32, tag = "15")]
    reason_by: u32,
    #[prost(int64, tag = "16")]
    reason_at: i64,
    #[prost(string, tag = "17")]
    comment: String,
    #[prost(string, tag = "18")]
    extra: String,
    #[prost(uint32, tag = "19")]
    launch_failures: u32,
    /// It is to restart.
    #[prost(bool, tag = "20")]
    reboot: bool,
    #[prost(bool, tag = "21")]
    drained_for_reboot: bool,
    #[prost(string, tag = "22")]
    next_state: String,
    #[prost(int64, optional, tag = "23")]
    reboot_issued: Option<i64>,
    /// Slurm's bit.
    #[prost(uint32, tag = "24")]
    cpu_bind: u32,
}

#[derive(Clone, PartialEq, Message)]
struct StoredJob {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(uint32, tag = "2")]
    uid: u32,
    #[prost(uint32, tag = "3")]
    gid: u32,
    #[prost(string, tag = "4")]
    user_name: String,
    #[prost(message, optional, tag = "5")]
    spec: Option<JobSpec>,
    #[prost(bytes = "vec", tag = "6")]
    script: Vec<u8>,
    #[prost(bytes = "vec", tag = "7")]
    environment: Vec<u8>,
    #[prost(bytes = "vec", tag = "8")]
    request: Vec<u8>,
    #[prost(int64, tag = "9")]
    submitted: i64,
    #[prost(uint32, tag = "10")]
    epoch: u32,
    /// 0 pending, 1 running, 2 completing, 3 ended.
    #[prost(uint32, tag = "11")]
    phase: u32,
    #[prost(int64, optional, tag = "12")]
    started: Option<i64>,
    #[prost(int64, tag = "13")]
    ended: i64,
    #[prost(message, repeated, tag = "14")]
    shares: Vec<StoredShare>,
    /// 0 exited, 1 cancelled, 2 time limit, 3 launch failed, 4 node failed, 5 out of memory, 6 deadline,
    /// 7 preempted, 8 requeued, 9 requeued and held.
    #[prost(uint32, tag = "15")]
    cause: u32,
    #[prost(uint32, tag = "16")]
    cancelled_by: u32,
    #[prost(uint32, tag = "17")]
    exit_status: u32,
    #[prost(uint32, tag = "18")]
    boot: u32,
    #[prost(message, optional, tag = "60")]
    steps: Option<StoredSteps>,
    #[prost(message, optional, tag = "19")]
    course: Option<StoredCourse>,
}

impl From<&Node> for StoredNode {
    fn from(node: &Node) -> StoredNode {
        let (up, since) = match node.link {
            Link::Up(since) => (true, since),
            Link::Down(since) => (false, since),
        };
        let reason = node.service.reason.as_ref();
        let reboot = node.reboot.as_ref();
        let next = reboot.and_then(|it| it.next);
        StoredNode {
            name: node.name.to_string(),
            inventory: node.inventory.clone(),
            found: node.found.clone(),
            boot_id: node.boot_id.clone(),
            up,
            link_since: since.0,
            boots: node.boots,
            weight: node.weight,
            features: node.features.clone(),
            active_features: node.active_features.clone(),
            drain: node.service.drain,
            down: node.service.down,
            fail: node.service.fail,
            reason: reason.map(|note| note.text.clone()),
            reason_by: reason.map_or(0, |note| note.by.0),
            reason_at: reason.map_or(0, |note| note.at.0),
            comment: node.comment.clone(),
            extra: node.extra.clone(),
            launch_failures: node.launch_failures,
            reboot: reboot.is_some(),
            drained_for_reboot: reboot.is_some_and(|it| it.drained),
            next_state: next.map(|it| it.word().to_string()).unwrap_or_default(),
            reboot_issued: node.restarting().map(|at| at.0),
            cpu_bind: node.cpu_bind.map_or(0, CpuBind::bit),
        }
    }
}

impl From<StoredNode> for Node {
    fn from(stored: StoredNode) -> Node {
        let since = Timestamp(stored.link_since);
        let (by, at) = (Uid(stored.reason_by), Timestamp(stored.reason_at));
        Node {
            name: NodeName::from(stored.name),
            inventory: stored.inventory,
            found: stored.found,
            weight: stored.weight,
            features: stored.features,
            active_features: stored.active_features,
            boot_id: stored.boot_id,
            boots: stored.boots,
            link: if stored.up { Link::Up(since) } else { Link::Down(since) },
            service: Service {
                drain: stored.drain,
                down: stored.down,
                fail: stored.fail,
                reason: stored.reason.map(|text| Note { text, by, at }),
            },
            comment: stored.comment,
            extra: stored.extra,
            cpu_bind: CpuBind::of_bit(stored.cpu_bind),
            launch_failures: stored.launch_failures,
            reboot: stored.reboot.then(|| Reboot {
                drained: stored.drained_for_reboot,
                next: NextState::read(&stored.next_state),
                issued: stored.reboot_issued.map(Timestamp),
            }),
        }
    }
}

impl From<&Job> for StoredJob {
    fn from(job: &Job) -> StoredJob {
        let mut stored = StoredJob {
            id: job.id.0,
            uid: job.owner.uid.0,
            gid: job.owner.gid.0,
            user_name: job.owner.name.clone(),
            spec: Some((*job.spec).clone()),
            script: job.script.0.to_vec(),
            environment: job.environment.0.to_vec(),
            request: job.request.map(|it| it.0.to_le_bytes().to_vec()).unwrap_or_default(),
            submitted: job.submitted.0,
            epoch: job.epoch.0,
            boot: job.boot,
            steps: (job.steps != Steps::default()).then(|| (&job.steps).into()),
            course: Some(job.into()),
            ..StoredJob::default()
        };
        let set_cause = |cause: &Cause| match cause {
            Cause::Exited => (0, 0),
            Cause::Cancelled { by } => (1, *by),
            Cause::TimeLimit => (2, 0),
            Cause::LaunchFailed => (3, 0),
            Cause::NodeFailed => (4, 0),
            Cause::OutOfMemory => (5, 0),
            Cause::Deadline => (6, 0),
            Cause::Preempted => (7, 0),
            Cause::Requeued { hold: false, why: Back::Asked } => (8, 0),
            Cause::Requeued { hold: true, why: Back::Asked } => (9, 0),
            Cause::PrologFailed => (10, 0),
            Cause::Requeued { hold: false, why: Back::Failed } => (11, 0),
            Cause::Requeued { hold: true, why: Back::Failed } => (12, 0),
            Cause::Requeued { hold: false, why: Back::Displaced } => (13, 0),
            Cause::Requeued { hold: true, why: Back::Displaced } => (14, 0),
            Cause::NodeFault => (15, 0),
            Cause::ShepherdLost => (16, 0),
            Cause::NotAtOnce => (17, 0),
            Cause::Requeued { why: Back::Special, .. } => (18, 0),
            Cause::Requeued { why: Back::Exit, .. } => (19, 0),
        };
        match &job.phase {
            Phase::Pending => {}
            Phase::Running { since, allocation } => {
                stored.phase = 1;
                stored.started = Some(since.0);
                stored.shares = stored_shares(allocation);
            }
            Phase::Completing { started, since, allocation, cause, exit } => {
                stored.phase = 2;
                stored.ended = since.0;
                stored.exit_status = exit.to_wait();
                stored.started = Some(started.0);
                stored.shares = stored_shares(allocation);
                (stored.cause, stored.cancelled_by) = set_cause(cause);
            }
            Phase::Ended { started, at, allocation, cause, exit } => {
                stored.phase = 3;
                stored.started = started.map(|started| started.0);
                stored.ended = at.0;
                stored.shares = allocation.as_deref().map(stored_shares).unwrap_or_default();
                (stored.cause, stored.cancelled_by) = set_cause(cause);
                stored.exit_status = exit.to_wait();
            }
        }
        stored
    }
}

impl TryFrom<StoredJob> for Job {
    type Error = Error;

    fn try_from(stored: StoredJob) -> Result<Job, Error> {
        let cause = match stored.cause {
            0 => Cause::Exited,
            1 => Cause::Cancelled { by: stored.cancelled_by },
            2 => Cause::TimeLimit,
            3 => Cause::LaunchFailed,
            4 => Cause::NodeFailed,
            5 => Cause::OutOfMemory,
            6 => Cause::Deadline,
            7 => Cause::Preempted,
            8 | 9 => Cause::Requeued { hold: stored.cause == 9, why: Back::Asked },
            10 => Cause::PrologFailed,
            11 | 12 => Cause::Requeued { hold: stored.cause == 12, why: Back::Failed },
            13 | 14 => Cause::Requeued { hold: stored.cause == 14, why: Back::Displaced },
            15 => Cause::NodeFault,
            16 => Cause::ShepherdLost,
            17 => Cause::NotAtOnce,
            18 => Cause::Requeued { hold: true, why: Back::Special },
            19 => Cause::Requeued { hold: true, why: Back::Exit },
            other => return Err(Error::Garbled(format!("{other} is no cause"))),
        };
        let started = stored.started.map(Timestamp);
        let held = (!stored.shares.is_empty()).then(|| Arc::new(allocation(stored.shares)));
        let phase = match stored.phase {
            0 => Phase::Pending,
            1 => Phase::Running {
                since: started.ok_or(missing("the start"))?,
                allocation: held.ok_or(missing("the allocation"))?,
            },
            2 => Phase::Completing {
                started: started.ok_or(missing("the start"))?,
                since: Timestamp(stored.ended),
                allocation: held.ok_or(missing("the allocation"))?,
                cause,
                exit: ExitStatus::from_wait(stored.exit_status),
            },
            3 => Phase::Ended {
                started,
                at: Timestamp(stored.ended),
                allocation: held,
                cause,
                exit: ExitStatus::from_wait(stored.exit_status),
            },
            other => return Err(Error::Garbled(format!("{other} is no phase"))),
        };
        let mut job = Job {
            id: JobId(stored.id),
            owner: Owner { uid: Uid(stored.uid), gid: Gid(stored.gid), name: stored.user_name },
            spec: Arc::new(stored.spec.ok_or(missing("what was asked for"))?),
            script: hash(&stored.script)?,
            environment: hash(&stored.environment)?,
            request: (!stored.request.is_empty())
                .then(|| request_id(&stored.request))
                .transpose()?,
            submitted: Timestamp(stored.submitted),
            epoch: Epoch(stored.epoch),
            boot: stored.boot,
            phase,
            steps: stored.steps.map(Steps::try_from).transpose()?.unwrap_or_default(),
            hold: Hold::None,
            begin: None,
            waits: None,
            array: None,
            component: None,
            restarts: 0,
            setbacks: None,
            pause: Pause::default(),
            is_warned: false,
            granted: Granted::default(),
            displaced: None,
            asleep: false,
            accrues: None,
            parked: false,
            beyond: Beyond::default(),
        };
        stored.course.map_or(Ok(()), |course| course.restore(&mut job))?;
        Ok(job)
    }
}
