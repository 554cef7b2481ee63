//! Files that others must not read, and files that everybody may.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Error;

/// Readable by the owner alone.
pub const SECRET: u32 = 0o600;
/// Readable by all.
pub const PUBLIC: u32 = 0o644;

/// What a file holds.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| failed("read", path, source))
}

/// What a file holds, if there is one.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("read", path, source)),
    }
}

/// Makes a directory that is nobody else's to write to.
pub fn make_dir(path: &Path, mode: u32) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|source| failed("make", path, source))
}

/// Writes a file whole or not at all: beside it first, with its rights from the beginning, then in its place.
pub fn write(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), Error> {
    let beside = path.with_extension("new");
    let _ = fs::remove_file(&beside);
    let write = || -> std::io::Result<()> {
        let mut file = File::options().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        match path.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|source| failed("write", path, source))
}

/// The error of an attempt on a file.
pub fn failed(attempt: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::File { attempt, path: path.display().to_string(), source }
}
