//! The script as a file, so that `$0` is a path as under Slurm.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use crate::machine::privilege::Credentials;
use crate::run::RunId;

/// Where the last script of a shepherd was, for its next: that spares it from looking for one.
#[derive(Default)]
pub struct Spare(Option<PathBuf>);

/// Writes the script where its owner can run it and nobody else can read it.
pub fn place(
    spool: &Path,
    run: RunId,
    script: &[u8],
    owner: &Credentials,
    own: &mut Spare,
) -> io::Result<PathBuf> {
    let folder = folder(spool, run);
    let spare = own.0.as_deref().and_then(|spare| take(spare, &folder, owner.uid()));
    let (mut file, about) = match spare.or_else(|| take_spare(spool, &folder, owner.uid())) {
        Some((file, about)) => (file, Some(about)),
        None => {
            make_folder(&folder)?;
            let mut options = OpenOptions::new();
            (options.write(true).create_new(true).mode(MODE).open(folder.join(NAME))?, None)
        }
    };
    file.write_all(script)?;
    if script.is_empty() {
        file.set_len(0)?;
    }
    let (uid, gid) = (owner.uid().as_raw(), owner.gid().as_raw());
    let is_as_it_should =
        |about: &Metadata| (about.uid(), about.gid(), about.mode() & 0o7777) == (uid, gid, MODE);
    if !about.as_ref().is_some_and(is_as_it_should) {
        file.set_permissions(Permissions::from_mode(MODE))?;
        fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(folder.join(NAME))
}

/// Others pass through, and see no names.
fn make_folder(folder: &Path) -> io::Result<()> {
    let make = |folder: &Path| {
        DirBuilder::new().mode(0o711).create(folder)?;
        // Whatever the mask of this process is.
        fs::set_permissions(folder, Permissions::from_mode(0o711))
    };
    match (make(folder), folder.parent()) {
        (Err(error), Some(scripts)) if error.kind() == ErrorKind::NotFound => {
            match make(scripts) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            make(folder)
        }
        (made, _) => made,
    }
}

/// Takes a run's script away. What it was in is kept for the next script of the same user: making and removing
/// files costs more than everything else that is done to them. Never for another user: the one who owned it
/// may have it open still.
pub fn put_away(spool: &Path, run: RunId, own: &mut Spare) {
    let folder = folder(spool, run);
    if Uid::effective().is_root()
        && let Ok(kept) = keep_spare(spool, &folder, run, own.0.take())
    {
        own.0 = Some(kept);
        return;
    }
    remove(spool, run);
}

/// Puts it back to where this shepherd's last one was, or among those that are counted.
fn keep_spare(
    spool: &Path,
    folder: &Path,
    run: RunId,
    before: Option<PathBuf>,
) -> io::Result<PathBuf> {
    let (_, about) = open_alone(folder)?;
    let spares = spares(spool, Uid::from_raw(about.uid()));
    let place = match before.filter(|before| before.starts_with(&spares)) {
        Some(before) => before,
        None => {
            let kept = match fs::read_dir(&spares) {
                Ok(kept) => kept.count(),
                Err(_) => {
                    DirBuilder::new().recursive(true).mode(0o700).create(&spares)?;
                    0
                }
            };
            if kept >= MOST_SPARES {
                return Err(ErrorKind::QuotaExceeded.into());
            }
            spares.join(run.to_string())
        }
    };
    fs::rename(folder, &place).map(|()| place)
}

/// A folder with a script of this user's to be written over, put in place.
fn take_spare(spool: &Path, folder: &Path, owner: Uid) -> Option<(File, Metadata)> {
    if !Uid::effective().is_root() {
        return None;
    }
    let mut spares = fs::read_dir(spares(spool, owner)).ok()?.flatten();
    spares.find_map(|spare| take(&spare.path(), folder, owner))
}

/// Puts one in place, unless another shepherd was faster.
fn take(spare: &Path, folder: &Path, owner: Uid) -> Option<(File, Metadata)> {
    fs::rename(spare, folder).ok()?;
    let script = open_alone(folder).ok().filter(|(_, about)| about.uid() == owner.as_raw());
    if script.is_none() {
        let _ = fs::remove_dir_all(folder);
    }
    script
}

/// The script in a folder, with nothing much in it; only if it is a file that has no other name.
fn open_alone(folder: &Path) -> io::Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(folder.join(NAME))?;
    let about = file.metadata()?;
    if !about.is_file() || about.nlink() != 1 {
        return Err(ErrorKind::InvalidInput.into());
    }
    // Not quite: some file systems write what was emptied to the disk as soon as it is closed again.
    if about.len() != 1 {
        file.set_len(1)?;
    }
    Ok((file, about))
}

/// Removes a run's script. One that is not there is fine; one that stays is swept at the next start.
pub fn remove(spool: &Path, run: RunId) {
    let _ = fs::remove_dir_all(folder(spool, run));
}

/// Where scripts are, below the spool.
pub const SCRIPTS: &str = "scripts";

const NAME: &str = "slurm_script";
const MODE: u32 = 0o500;

/// Where folders of scripts wait to be used again, and how many of a user's at most.
const SPARES: &str = "spare-scripts";
const MOST_SPARES: usize = 64;

fn spares(spool: &Path, owner: Uid) -> PathBuf {
    spool.join(SPARES).join(owner.to_string())
}

fn folder(spool: &Path, run: RunId) -> PathBuf {
    spool.join(SCRIPTS).join(format!("{run}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use nix::unistd::Gid;
    use spur_core::ids::{Epoch, JobId};

    use super::*;

    fn run(job: u32) -> RunId {
        RunId::batch(JobId(job), Epoch(1))
    }

    fn put(spool: &Path, job: u32, uid: u32, text: &[u8]) -> (PathBuf, u64) {
        put_with(spool, job, uid, text, &mut Spare::default())
    }

    fn put_with(spool: &Path, job: u32, uid: u32, text: &[u8], own: &mut Spare) -> (PathBuf, u64) {
        let gid = Gid::effective().as_raw();
        let owner = Credentials::resolve(uid, gid, "").expect("is known");
        let path = place(spool, run(job), text, &owner, own).expect("places");
        let about = fs::metadata(&path).expect("is there");
        assert_eq!((about.uid(), about.permissions().mode() & 0o777), (uid, 0o500));
        assert_eq!(fs::read(&path).expect("reads"), text);
        (path, about.ino())
    }

    #[test]
    fn a_script_is_gone_with_its_run_and_its_place_serves_the_same_user_again() {
        let spool = tempfile::tempdir().expect("a folder");
        let own = Uid::effective().as_raw();
        let (first, number) = put(spool.path(), 1, own, b"#!/bin/sh\necho a secret\n");
        put_away(spool.path(), run(1), &mut Spare::default());
        assert!(!first.exists());
        assert_eq!(fs::read_dir(spool.path().join(SCRIPTS)).expect("lists").count(), 0);
        if !Uid::effective().is_root() {
            return;
        }
        // Nobody else gets what may still be open in somebody's hands.
        let (_, of_other) = put(spool.path(), 2, 65534, b"b");
        assert_ne!(of_other, number);
        let (second, again) = put(spool.path(), 3, own, b"c");
        assert_eq!(again, number);
        // A second name for it would see the next script.
        fs::hard_link(&second, spool.path().join("elsewhere")).expect("links");
        put_away(spool.path(), run(3), &mut Spare::default());
        assert!(!second.exists());
        assert_ne!(put(spool.path(), 4, own, b"d").1, number);
    }

    #[test]
    fn a_shepherd_finds_the_place_of_its_last_script_and_may_lose_it() {
        if !Uid::effective().is_root() {
            eprintln!("SKIPPED: needs root");
            return;
        }
        let spool = tempfile::tempdir().expect("a folder");
        let mut own = Spare::default();
        let number = put_with(spool.path(), 1, 0, b"first", &mut own).1;
        put_away(spool.path(), run(1), &mut own);
        let (path, again) = put_with(spool.path(), 2, 0, b"2", &mut own);
        assert_eq!((again, fs::read(&path).expect("reads")), (number, b"2".to_vec()));
        put_away(spool.path(), run(2), &mut own);
        // Another one was faster.
        assert_eq!(put(spool.path(), 3, 0, b"3").1, number);
        assert_ne!(put_with(spool.path(), 4, 0, b"4", &mut own).1, number);
        put_away(spool.path(), run(4), &mut own);
        put_away(spool.path(), run(3), &mut Spare::default());
        assert_eq!(fs::read_dir(spares(spool.path(), Uid::from_raw(0))).expect("lists").count(), 2);
    }
}
