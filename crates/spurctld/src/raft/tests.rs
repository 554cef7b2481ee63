//! openraft's own suite against our log, our snapshots and the controller behind them; then three controllers whose
//! disks and lines fail.

mod faults;

use std::ops::Range;
use std::path::PathBuf;

use openraft::storage::{RaftLogStorage, RaftLogStorageExt};
use openraft::testing::{StoreBuilder, Suite};
use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, RaftLogReader, StorageError, Vote};
use spur_core::state::Settings;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::log::LogStore;
use super::machine::Machine;
use super::{TypeConfig, recover};
use crate::controller::Controller;
use crate::shell;

struct Builder;

impl StoreBuilder<TypeConfig, LogStore, Machine<PathBuf>, TempDir> for Builder {
    async fn build(&self) -> Result<(TempDir, LogStore, Machine<PathBuf>), StorageError<u64>> {
        let dir = tempfile::tempdir().expect("a directory");
        let place = dir.path().to_path_buf();
        let failed = shell::stop_the_process();
        let recovered = recover(&place, 1, failed.clone()).expect("an empty directory is read");
        let controller = Controller::new(recovered.state, recovered.blobs, Settings::default(), 1);
        let (proposer, _) = mpsc::unbounded_channel();
        let inbox = shell::start(controller, proposer, None, failed).expect("threads start");
        let machine = Machine::new(&place, inbox, None, recovered.log.clone());
        let machine = machine.expect("no snapshot, no trouble");
        Ok((dir, recovered.log, machine))
    }
}

#[tokio::test]
async fn what_is_not_in_memory_any_more_is_read_from_the_disk() {
    let (_dir, mut log, _) = Builder.build().await.expect("builds");
    let id = |index: u64| LogId::new(CommittedLeaderId::new(1, 1), index);
    let entry = |index: u64| Entry { log_id: id(index), payload: EntryPayload::Blank };
    log.save_vote(&Vote::new_committed(1, 1)).await.expect("votes");
    log.blocking_append((0..500).map(entry)).await.expect("appends");
    log.applied(id(400));
    let read = async |log: &mut LogStore, range: Range<u64>| {
        let entries = log.try_get_log_entries(range).await.expect("reads");
        entries.iter().map(|entry| entry.log_id.index).collect::<Vec<u64>>()
    };
    for range in [0..500, 10..20, 399..401, 400..500, 499..500, 7..7] {
        assert_eq!(read(&mut log, range.clone()).await, range.collect::<Vec<u64>>());
    }
    log.truncate(id(450)).await.expect("truncates");
    log.purge(id(99)).await.expect("purges");
    assert_eq!(read(&mut log, 0..500).await, (100..450).collect::<Vec<u64>>());
}

#[test]
fn openrafts_storage_suite_passes() {
    Suite::test_all(Builder).expect("every case holds");
}
