//! The state machine as openraft wants it: hands committed entries to the controller, which owns the
//! state, and keeps snapshots.

use std::io::Cursor;
use std::time::Duration;

use openraft::storage::RaftStateMachine;
use openraft::{
    AnyError, BasicNode, EntryPayload, LogId, OptionalSend, RaftSnapshotBuilder, SnapshotMeta,
    StorageError, StorageIOError, StoredMembership,
};
use spur_core::state::State;

use super::log::LogStore;
use super::{Batch, TypeConfig, encode};
use crate::shell::Inbox;
use crate::store::{self, Blobs, Pin, Place, Snapshot};

type StorageResult<T> = Result<T, StorageError<u64>>;

/// openraft's handle on the state.
pub struct Machine<P> {
    place: P,
    controller: Inbox,
    /// Hears what it needs no longer hold in memory.
    log: LogStore,
    applied: Option<LogId<u64>>,
    membership: StoredMembership<u64, BasicNode>,
}

impl<P: Place> Machine<P> {
    /// Begins where the snapshot ends.
    pub(super) fn new(
        place: &P,
        controller: Inbox,
        snapshot: Option<Snapshot>,
        log: LogStore,
    ) -> anyhow::Result<Machine<P>> {
        let (applied, membership) = match &snapshot {
            Some(snapshot) => (
                snapshot.meta.last.map(encode::log_id),
                encode::stored_members(&snapshot.meta.membership)?,
            ),
            None => (None, StoredMembership::default()),
        };
        Ok(Machine { place: place.clone(), controller, log, applied, membership })
    }
}

impl<P: Place> RaftStateMachine<TypeConfig> for Machine<P> {
    type SnapshotBuilder = Builder<P>;

    async fn applied_state(
        &mut self,
    ) -> StorageResult<(Option<LogId<u64>>, StoredMembership<u64, BasicNode>)> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> StorageResult<Vec<()>>
    where
        I: IntoIterator<Item = openraft::Entry<TypeConfig>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut replies = Vec::new();
        let mut last = None;
        for entry in entries {
            self.applied = Some(entry.log_id);
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(Batch(entries)) => {
                    let applied = self.controller.commit(entries);
                    last = Some(applied.ok_or_else(|| failed(AnyError::error(GONE)))?);
                }
                EntryPayload::Membership(members) => {
                    self.membership = StoredMembership::new(Some(entry.log_id), members);
                }
            }
            replies.push(());
        }
        // The controller takes commits in order: when the last is in, all are.
        if let Some(applied) = last {
            applied.await.map_err(|_| failed(AnyError::error(GONE)))?;
        }
        if let Some(applied) = self.applied {
            self.log.applied(applied);
        }
        Ok(replies)
    }

    async fn get_snapshot_builder(&mut self) -> Builder<P> {
        let meta = store::SnapshotMeta {
            last: self.applied.as_ref().map(encode::position),
            membership: encode::stored_members_bytes(&self.membership),
        };
        // Between two applies, so the state is the one the position names.
        let state = self.controller.state().await;
        Builder { place: self.place.clone(), state, meta }
    }

    async fn begin_receiving_snapshot(&mut self) -> StorageResult<Box<Cursor<Vec<u8>>>> {
        Ok(Box::new(Cursor::new(Vec::new())))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<u64, BasicNode>,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> StorageResult<()> {
        let place = self.place.clone();
        let snapshot = Snapshot::parse(snapshot.into_inner());
        let snapshot = snapshot.map_err(|error| failed(AnyError::new(&error)))?;
        let install = move || -> Result<State, store::Error> {
            let mut disk = place.open()?;
            let mut blobs = Blobs::new(place.open()?);
            let state = snapshot.open(&mut blobs)?;
            blobs.tidy()?;
            snapshot.save(&mut disk)?;
            Ok(state)
        };
        let state = off_the_loop(move || patiently(install)).await?;
        self.controller.install(state).await;
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        Ok(())
    }

    async fn get_current_snapshot(
        &mut self,
    ) -> StorageResult<Option<openraft::Snapshot<TypeConfig>>> {
        let place = self.place.clone();
        let load = move || Snapshot::load(&place.open()?);
        off_the_loop(load).await?.map(for_openraft).transpose()
    }
}

/// Turns a state into a snapshot while the controller goes on.
pub struct Builder<P> {
    place: P,
    /// None when the controller's thread is gone. The pin keeps what it refers to.
    state: Option<(State, Pin)>,
    meta: store::SnapshotMeta,
}

impl<P: Place> RaftSnapshotBuilder<TypeConfig> for Builder<P> {
    async fn build_snapshot(&mut self) -> StorageResult<openraft::Snapshot<TypeConfig>> {
        let (state, _pin) = self.state.clone().ok_or_else(|| failed(AnyError::error(GONE)))?;
        let (place, meta) = (self.place.clone(), self.meta.clone());
        let build = move || -> Result<Snapshot, store::Error> {
            let mut blobs = Blobs::new(place.open()?);
            let mut disk = place.open()?;
            Snapshot::build(&state, meta.clone(), &mut blobs)?.save(&mut disk)?;
            // Read back and checked before openraft cuts the log behind it.
            let saved = Snapshot::load(&disk)?;
            saved.ok_or(store::Error::Damaged { file: "snapshot".to_string(), at: 0 })
        };
        for_openraft(off_the_loop(move || patiently(build)).await?)
    }
}

/// No snapshot now is no reason to stop: the log is whole, and there may be room later.
fn patiently<T>(work: impl Fn() -> Result<T, store::Error>) -> Result<T, store::Error> {
    loop {
        match work() {
            Err(error) if error.is_for_now() => {
                tracing::warn!("{:#}: the snapshot waits", anyhow::Error::from(error));
                std::thread::sleep(Duration::from_secs(1));
            }
            done => return done,
        }
    }
}

async fn off_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, store::Error> + Send + 'static,
) -> StorageResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(failed(AnyError::new(&error))),
        Err(error) => Err(failed(AnyError::new(&error))),
    }
}

fn for_openraft(snapshot: Snapshot) -> StorageResult<openraft::Snapshot<TypeConfig>> {
    let last = snapshot.meta.last;
    let membership = encode::stored_members(&snapshot.meta.membership)
        .map_err(|error| failed(AnyError::new(&error)))?;
    let id = last.map_or("empty".to_string(), |last| format!("{}-{}", last.term, last.index));
    Ok(openraft::Snapshot {
        meta: SnapshotMeta {
            last_log_id: last.map(encode::log_id),
            last_membership: membership,
            snapshot_id: id,
        },
        snapshot: Box::new(Cursor::new(snapshot.bytes)),
    })
}

const GONE: &str = "the controller's thread has ended";

fn failed(error: AnyError) -> StorageError<u64> {
    StorageIOError::write_snapshot(None, error).into()
}
