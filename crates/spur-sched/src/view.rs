//! What the planner knows of a cluster: compact, and the same whether it is made from the controllers'
//! state or from a trace.

mod from_state;
mod habits;
mod licenses;
pub(crate) mod machines;
mod network;
mod ranks;
pub(crate) mod request;
mod running;
mod standing;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use spur_core::ids::{JobId, NodeName};
use spur_core::job::Reason;
use spur_core::time::Timestamp;

pub use from_state::Follower;
pub(crate) use machines::{cores as cores_of, gres as gres_of};
pub(crate) use request::asks_for_shards;
pub use request::shape_of;
pub use standing::switches_until;

use crate::shape::Shape;

/// A whole cluster as plain data: what a planner is told, in one place.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    /// The moment.
    pub now: Timestamp,
    /// Nodes by name.
    pub nodes: BTreeMap<NodeName, Arc<ViewNode>>,
    /// Jobs that hold resources.
    pub running: BTreeMap<RunId, Arc<RunningJob>>,
    /// Jobs that wait.
    pub pending: BTreeMap<JobId, Arc<PendingJob>>,
    /// Amounts that jobs use up together: licences, limits of users, throttles of arrays.
    pub counters: BTreeMap<Arc<str>, Counter>,
    /// Reservations by name.
    pub reservations: BTreeMap<Arc<str>, Arc<ViewReservation>>,
}

/// A run: the job, and which of its tasks or components where one record stands for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(pub JobId, pub u32);

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewNode {
    /// Its name.
    pub name: NodeName,
    /// Whether jobs may be started on it.
    pub usable: bool,
    /// Lower ones are used first.
    pub weight: u32,
    /// The partitions it belongs to.
    pub partitions: Arc<[Arc<str>]>,
    /// Features that hold.
    pub features: Arc<[Arc<str>]>,
    /// The switches above it, the highest first, or its block; empty where the network is flat.
    pub switches: Arc<[Arc<str>]>,
    /// Sockets.
    pub sockets: u32,
    /// Cores of all sockets.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Cores that no job gets, in rising order.
    pub kept: Arc<[u32]>,
    /// Memory that jobs may have.
    pub memory_mb: u64,
    /// Space for temporary files.
    pub tmp_mb: u64,
    /// Generic resources.
    pub gres: Arc<[ViewGres]>,
}

/// Devices of one name and model on a node, or an amount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewGres {
    /// `gpu`
    pub name: Arc<str>,
    /// `mi300x`, or empty.
    pub model: Arc<str>,
    /// How many devices.
    pub devices: u32,
    /// Parts that can be given out of each; 1 where devices are whole.
    pub parts: u32,
    /// Whether jobs can ask for parts: a device may have a single one.
    pub shared: bool,
    /// Cores near each device; empty where nothing is known.
    pub near: Vec<Vec<u32>>,
    /// Devices with a fast link to each; empty where nothing is known.
    pub linked: Vec<Vec<u32>>,
}

impl ViewGres {
    /// Whole devices about whose place nothing is known.
    pub fn devices(name: &str, model: &str, devices: u32) -> ViewGres {
        let (near, linked) = (Vec::new(), Vec::new());
        let (name, model) = (name.into(), model.into());
        ViewGres { name, model, devices, parts: 1, shared: false, near, linked }
    }

    /// The same devices, each given out in so many parts.
    pub fn in_parts(self, parts: u32) -> ViewGres {
        ViewGres { parts, shared: true, ..self }
    }
}

/// A job that holds resources.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningJob {
    /// When it got them.
    pub since: Timestamp,
    /// When it gives them back, as far as anybody can tell.
    pub end: Timestamp,
    /// What it holds, in rank order.
    pub shares: Arc<[ViewShare]>,
    /// Whose it is.
    pub user: u32,
    /// Its label, or none.
    pub label: Arc<str>,
    /// The partition it runs in.
    pub partition: Arc<str>,
    /// The reservation it runs in, or none.
    pub reservation: Arc<str>,
    /// Whether its nodes are shared with nobody, or only with the same user.
    pub sharing: crate::shape::Sharing,
    /// What it insists on.
    pub wish: crate::shape::Wish,
    /// What it uses of the counters.
    pub charges: Arc<[Charge]>,
    /// Who may displace it, and what becomes of it then; nothing when nobody may.
    pub preemptible: Option<Preemptible>,
    /// It makes room for another already, and has its grace.
    pub leaves: bool,
    /// It sleeps until its processors are free again.
    pub sleeps: Option<Arc<Sleep>>,
    /// When it must give back what it holds, if it is expected to earlier.
    pub limit: Option<Timestamp>,
}

/// A job that another has taken the processors of. It holds the rest, and none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// Its rank: whoever may displace it comes before it.
    pub rank: u32,
    /// Where, and which cores it had.
    pub cores: Vec<(NodeName, Vec<u32>)>,
}

/// How a job can be displaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemptible {
    /// Jobs of a higher rank may, or those that the planner was told of; see `Planner::set_rights`.
    pub rank: u32,
    /// Those of less worth go first.
    pub worth: u32,
    /// From this moment on.
    pub from: Timestamp,
    /// What becomes of it.
    pub how: Displaced,
}

/// What becomes of a displaced job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Displaced {
    /// It sleeps and keeps its memory.
    Suspended,
    /// It waits once more.
    Requeued,
    /// It ends.
    Cancelled,
}

/// What a run holds on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewShare {
    /// Where.
    pub node: NodeName,
    /// Which cores.
    pub cores: Vec<u32>,
    /// How much memory.
    pub memory_mb: u64,
    /// Parts of devices: which group of the node's, which device of it, how many parts.
    pub devices: Vec<(u32, u32, u32)>,
    /// Units dealt out to it.
    pub units: u32,
}

/// Partitions of a job, and the tier of each.
pub type Tiers = Arc<[(Arc<str>, u16)]>;

/// A job that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingJob {
    /// Its number.
    pub id: JobId,
    /// How many tasks of it wait, where one record stands for an array.
    pub count: u32,
    /// Where it may run, with the tier of each.
    pub partitions: Tiers,
    /// What must be found.
    pub shape: Arc<Shape>,
    /// Higher goes first.
    pub priority: u32,
    /// Its priorities in its second and further partitions; none where it is the same in all.
    pub elsewhere: Arc<[u32]>,
    /// Whose it is.
    pub user: u32,
    /// What a start uses of the counters.
    pub charges: Arc<[Charge]>,
    /// Whether it may be looked at.
    pub standing: Standing,
    /// The rank by which it displaces running jobs of lower rank; zero when it displaces nobody.
    pub rank: u32,
    /// That rank is the tier of each partition it waits in, not one for all.
    pub ranks_by_tier: bool,
    /// Jobs that start with it or not at all, and wait with it: they are not queued themselves.
    pub with: Arc<[Companion]>,
}

/// A job that starts together with another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Companion {
    /// Its number.
    pub job: JobId,
    /// It gets its nodes before the one that it is queued with.
    pub leads: bool,
    /// Where it may run, and what must be found there, in the order in which it is tried.
    pub places: Arc<[(Arc<str>, Arc<Shape>)]>,
    /// What a start uses of the counters.
    pub charges: Arc<[Charge]>,
}

/// Whether a job takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Ready,
    /// From a moment on.
    From(Timestamp),
    /// Not until something changes.
    Barred(Reason),
}

/// An amount that jobs use up together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// How much there is.
    pub max: u64,
    /// Why a job waits that finds too little.
    pub reason: Reason,
}

/// What a job uses of a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Charge {
    /// Which.
    pub counter: Arc<str>,
    /// How much, as far as is known before the job has its place.
    pub amount: u64,
    /// What of its place decides how much it is.
    pub of: Of,
    /// How many thousandths of it count once the job runs.
    pub weight: u64,
}

/// All of a charge counts.
pub const WHOLE: u64 = 1000;

impl Charge {
    /// How much of it counts while the job runs.
    pub fn held(&self) -> u64 {
        (u128::from(self.amount) * u128::from(self.weight) / u128::from(WHOLE)) as u64
    }
}

/// What an amount is told by once a job has its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// Nothing: it is what was said.
    #[default]
    Said,
    /// Its processors, so many times.
    Cpus(u64),
    /// Its memory, so many times.
    Memory(u64),
    /// Its nodes; one that several jobs are on counts once.
    Nodes,
}

/// Nodes kept for some jobs, for a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewReservation {
    /// From.
    pub start: Timestamp,
    /// Until.
    pub end: Timestamp,
    /// The nodes.
    pub nodes: Arc<[NodeName]>,
    /// After how many seconds it comes again.
    pub every: Option<i64>,
    /// Its jobs may begin before, end after, and be elsewhere too.
    pub flexible: bool,
    /// Its jobs may be on any nodes, as it keeps none.
    pub anywhere: bool,
    /// What others keep of its nodes is its own meanwhile.
    pub over: bool,
    /// Cores of each node that are kept; none where nodes are kept whole.
    pub cores: Arc<[u32]>,
    /// Days on which it does not come, Monday being the first.
    pub without: [bool; 7],
}

impl ViewReservation {
    /// Its times, as far ahead as anybody looks.
    pub fn turns(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let count = if self.every.is_some() { TURNS } else { 1 };
        let shift = move |turn| self.every.unwrap_or(0) * turn;
        let day = |at: i64| (at.div_euclid(86_400) + 3).rem_euclid(7) as usize;
        let turns =
            (0..count).map(move |turn| (self.start.0 + shift(turn), self.end.0 + shift(turn)));
        turns.filter(move |(start, _)| !self.without[day(*start)])
    }

    /// Its times but those of others that lie over it.
    pub fn turns_beside(&self, others: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut left: Vec<(i64, i64)> = self.turns().collect();
        for (start, end) in others {
            let cut =
                |turn: &(i64, i64)| [(turn.0, turn.1.min(*start)), (turn.0.max(*end), turn.1)];
            left = left.iter().flat_map(cut).filter(|(start, end)| start < end).collect();
        }
        left
    }
}

/// Times of a reservation that comes again which are kept free.
const TURNS: i64 = 32;
