//! Consensus by openraft, kept behind this module: in go batches of entries, out come committed ones.

// openraft gives its errors by value.
#![allow(clippy::result_large_err)]

mod encode;
pub mod identity;
mod log;
mod machine;
pub mod members;
mod memory;
mod network;
pub mod peers;
mod serve;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use anyhow::Context;
use openraft::network::RaftNetworkFactory;
use openraft::{BasicNode, Config, SnapshotPolicy, TokioRuntime};
use spur_core::state::{Entry, State};
use spur_disk::RealDisk;

pub use log::{LogStore, Size};
pub use network::{LARGEST, Peers};
pub use serve::Member;

use crate::shell::{Failed, Inbox};
use crate::store::{self, Blobs, Log, Place, Snapshot};

/// What one proposal carries.
#[derive(Clone, Debug)]
pub struct Batch(pub Arc<Vec<Entry>>);

openraft::declare_raft_types!(
    /// openraft's types, filled in.
    pub TypeConfig:
        D = Batch,
        R = (),
        NodeId = u64,
        Node = BasicNode,
        Entry = openraft::Entry<TypeConfig>,
        SnapshotData = Cursor<Vec<u8>>,
        AsyncRuntime = TokioRuntime,
);

/// A running member of the cluster of controllers.
pub type Raft = openraft::Raft<TypeConfig>;

/// What consensus tells about itself.
pub type Metrics = openraft::RaftMetrics<u64, BasicNode>;

/// What the disk had before anything was started.
pub struct Recovered<D = RealDisk> {
    /// The state of the last snapshot.
    pub state: State,
    /// Its blobs, and a place for more.
    pub blobs: Blobs<D>,
    /// The log, to be handed to [`start`].
    pub log: LogStore,
    /// The snapshot, to be handed to [`start`].
    pub snapshot: Option<Snapshot>,
    /// There was neither log nor snapshot.
    pub is_new: bool,
}

/// Reads the state directory, as controller `id`. `failed` hears if it can no longer be written to.
pub fn recover<P: Place>(place: &P, id: u64, failed: Failed) -> anyhow::Result<Recovered<P::Disk>> {
    let open = || place.open();
    let snapshot = Snapshot::load(&open()?).context("could not read the snapshot")?;
    let mut blobs = Blobs::new(open()?);
    let state = match &snapshot {
        Some(snapshot) => snapshot.open(&mut blobs).context("could not read the snapshot")?,
        None => State::new(),
    };
    let (log, records) = Log::open(open()?).context("could not read the log")?;
    // What was cut off the log stands in a snapshot, or nowhere.
    let covered = snapshot.as_ref().and_then(|snapshot| snapshot.meta.last);
    if let Some(purged) = log.purged().filter(|purged| covered.is_none_or(|it| it < *purged)) {
        let index = covered.map_or(0, |covered| covered.index + 1);
        return Err(store::Error::Hole { index }).with_context(|| {
            format!("the snapshot that covers the log up to entry {} is missing", purged.index)
        });
    }
    let is_new = snapshot.is_none() && records.is_empty();
    let log = LogStore::new(log, records, id, failed)?;
    Ok(Recovered { state, blobs, log, snapshot, is_new })
}

/// A leader tells that it lives this often. After `silence_ms` without a word others may vote for another, and
/// between half of it and all of it later one of them asks for votes: together well within three seconds,
/// also when the first to ask is not the one that can win.
pub const PACE: Pace = Pace { heartbeat_ms: 150, silence_ms: 700 };

/// How often is spoken, and how long nobody may.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two words of the leader.
    pub heartbeat_ms: u64,
    /// Then it may be replaced.
    pub silence_ms: u64,
}

/// Starts a member. It knows the others from its log, or waits until one of them speaks to it.
pub async fn start<P: Place>(
    id: u64,
    log: LogStore,
    snapshot: Option<Snapshot>,
    place: &P,
    controller: Inbox,
    network: impl RaftNetworkFactory<TypeConfig>,
    pace: Pace,
) -> anyhow::Result<(Raft, Arc<Size>)> {
    let config = Config {
        cluster_name: "spur".to_string(),
        heartbeat_interval: pace.heartbeat_ms,
        election_timeout_min: pace.silence_ms / 2,
        election_timeout_max: pace.silence_ms,
        // By bytes, not by count: see `log::LogStore`.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: 0,
        ..Config::default()
    };
    let config = Arc::new(config.validate()?);
    let machine = machine::Machine::new(place, controller, snapshot, log.clone())?;
    let size = log.size();
    let raft = Raft::new(id, config, network, log, machine).await?;
    let voters: Vec<u64> = {
        let metrics = raft.metrics();
        let metrics = metrics.borrow();
        metrics.membership_config.membership().voter_ids().collect()
    };
    // Alone, there is nobody to wait for.
    if voters == [id] {
        raft.trigger().elect().await?;
    }
    tokio::spawn(compact(raft.clone(), size.clone()));
    Ok((raft, size))
}

/// Begins a new cluster, of this controller alone; others join it.
pub async fn begin(raft: &Raft, id: u64, address: &str) -> anyhow::Result<()> {
    let only = BTreeMap::from([(id, BasicNode::new(address))]);
    Ok(raft.initialize(only).await?)
}

/// Takes a snapshot whenever the log has grown by this much.
const SNAPSHOT_BYTES: u64 = 16 << 20;

async fn compact(raft: Raft, size: Arc<Size>) {
    loop {
        size.grown_beyond(SNAPSHOT_BYTES).await;
        if raft.trigger().snapshot().await.is_err() {
            return;
        }
    }
}
