//! The spool as a directory: who may look in, and that only one agent uses it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::unistd::Uid;
use tracing::warn;

/// Makes the spool and returns its full path: shepherds have another working directory.
pub fn prepare(state_dir: &Path) -> Result<PathBuf> {
    let wrong = || format!("cannot use {}", state_dir.display());
    DirBuilder::new().recursive(true).mode(0o700).create(state_dir).with_context(wrong)?;
    let spool = state_dir.canonicalize().with_context(wrong)?;
    DirBuilder::new().recursive(true).mode(0o700).create(spool.join("runs")).with_context(wrong)?;
    if Uid::effective().is_root() {
        // Users must reach their scripts below it; all else in it is for the owner alone.
        fs::set_permissions(&spool, Permissions::from_mode(0o711)).with_context(wrong)?;
    }
    Ok(spool)
}

/// Users' scripts are below the spool, so their owners must be able to pass the way there.
pub fn warn_unless_reachable(spool: &Path) {
    let closed = spool.ancestors().find(|folder| !is_passable(folder));
    if let Some(closed) = closed.filter(|_| Uid::effective().is_root()) {
        warn!("users cannot pass {}: only root's jobs will start", closed.display());
    }
}

/// Taken as long as the file is open, by one agent only. The kernel lets go of a dead one's.
pub fn lock(spool: &Path) -> Result<File> {
    let path = spool.join("spurd.lock");
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!("another spurd uses {}", spool.display()),
        Err(TryLockError::Error(error)) => Err(error).context("could not lock the spool"),
    }
}

fn is_passable(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|folder| folder.permissions().mode() & 0o001 != 0)
}
