//! openraft's own suite against our log, our snapshots and the controller behind them; then three controllers whose
//! disks and lines fail.

mod faults;

use std::path::PathBuf;

use openraft::StorageError;
use openraft::testing::{StoreBuilder, Suite};
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
        let machine = Machine::new(&place, inbox, None).expect("no snapshot, no trouble");
        Ok((dir, recovered.log, machine))
    }
}

#[test]
fn openrafts_storage_suite_passes() {
    Suite::test_all(Builder).expect("every case holds");
}
