//! Consensus by openraft, kept behind this module: in go batches of entries, out come committed ones.

// openraft gives its errors by value.
#![allow(clippy::result_large_err)]

mod encode;
mod log;
mod machine;
mod network;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use openraft::{BasicNode, Config, SnapshotPolicy, TokioRuntime};
use spur_core::state::{Entry, State};
use spur_disk::RealDisk;

pub use log::{LogStore, Size};

use crate::shell::Inbox;
use crate::store::{self, Blobs, Log, Snapshot};

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

/// What the disk had before anything was started.
pub struct Recovered {
    /// The state of the last snapshot.
    pub state: State,
    /// Its blobs, and a place for more.
    pub blobs: Blobs,
    /// The log, to be handed to [`start`].
    pub log: LogStore,
    /// The snapshot, to be handed to [`start`].
    pub snapshot: Option<Snapshot>,
}

/// Reads the state directory.
pub fn recover(state_dir: &Path) -> anyhow::Result<Recovered> {
    let open = || RealDisk::open(state_dir);
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
    Ok(Recovered { state, blobs, log: LogStore::new(log, records)?, snapshot })
}

/// Starts the one member of a cluster of one.
pub async fn start(
    log: LogStore,
    snapshot: Option<Snapshot>,
    state_dir: &Path,
    controller: Inbox,
) -> anyhow::Result<(Raft, Arc<Size>)> {
    let config = Config {
        cluster_name: "spur".to_string(),
        heartbeat_interval: 250,
        election_timeout_min: 750,
        election_timeout_max: 1500,
        // By bytes, not by count: see `log::LogStore`.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: 0,
        ..Config::default()
    };
    let config = Arc::new(config.validate()?);
    let machine = machine::Machine::new(state_dir, controller, snapshot)?;
    let size = log.size();
    let raft = Raft::new(ME, config, network::Peers, log, machine).await?;
    if !raft.is_initialized().await? {
        raft.initialize(BTreeMap::from([(ME, BasicNode::default())])).await?;
    }
    // Alone, there is nobody to wait for.
    raft.trigger().elect().await?;
    tokio::spawn(compact(raft.clone(), size.clone()));
    Ok((raft, size))
}

/// The only member there is.
const ME: u64 = 1;

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
