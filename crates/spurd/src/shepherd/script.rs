//! The script as a file, so that `$0` is a path as under Slurm.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::machine::privilege::Credentials;
use crate::run::RunId;

/// Writes the script where its owner can run it and nobody else can read it.
pub fn place(spool: &Path, run: RunId, script: &[u8], owner: &Credentials) -> io::Result<PathBuf> {
    let scripts = spool.join(SCRIPTS);
    let folder = folder(spool, run);
    for folder in [&scripts, &folder] {
        DirBuilder::new().recursive(true).create(folder)?;
        // Others pass through, and see no names.
        fs::set_permissions(folder, Permissions::from_mode(0o711))?;
    }
    let path = folder.join("slurm_script");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o500).open(&path)?;
    file.write_all(script)?;
    file.set_permissions(Permissions::from_mode(0o500))?;
    fchown(&file, Some(owner.uid().as_raw()), Some(owner.gid().as_raw()))?;
    Ok(path)
}

/// Removes a run's script. One that is not there is fine; one that stays is swept at the next start.
pub fn remove(spool: &Path, run: RunId) {
    let _ = fs::remove_dir_all(folder(spool, run));
}

/// Where scripts are, below the spool.
pub const SCRIPTS: &str = "scripts";

fn folder(spool: &Path, run: RunId) -> PathBuf {
    spool.join(SCRIPTS).join(format!("{run}"))
}
