//! The machine's own file system.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Disk, Error};

/// Files below one directory, readable by their owner alone.
pub struct RealDisk {
    root: PathBuf,
    /// Files being appended to, kept open.
    open: BTreeMap<String, File>,
}

impl RealDisk {
    /// Uses `root`, making it if needed.
    pub fn open(root: &Path) -> Result<RealDisk, Error> {
        make_dir(root).map_err(|error| Error::new("make", &root.display().to_string(), error))?;
        Ok(RealDisk { root: root.to_path_buf(), open: BTreeMap::new() })
    }

    /// Where a named file lives.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn appender(&mut self, name: &str) -> io::Result<&mut File> {
        if !self.open.contains_key(name) {
            let path = self.path(name);
            if let Some(parent) = path.parent() {
                make_dir(parent)?;
            }
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            sync_parent(&path)?;
            self.open.insert(name.to_string(), file);
        }
        Ok(self.open.get_mut(name).expect("just inserted"))
    }
}

impl Disk for RealDisk {
    fn list(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let (dir, _) = prefix.rsplit_once('/').unwrap_or(("", prefix));
        let mut names = Vec::new();
        let entries = match fs::read_dir(self.path(dir)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            Err(error) => return Err(Error::new("list", prefix, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| Error::new("list", prefix, error))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            if name.starts_with(prefix) && !name.ends_with(TEMPORARY) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match fs::read(self.path(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::new("read", name, error)),
        }
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.appender(name)
            .and_then(|file| append_all(file, bytes))
            .map_err(|error| Error::new("append to", name, error))
    }

    fn sync(&mut self, name: &str) -> Result<(), Error> {
        self.appender(name)
            .and_then(|file| file.sync_data())
            .map_err(|error| Error::new("sync", name, error))
    }

    fn truncate(&mut self, name: &str, len: u64) -> Result<(), Error> {
        self.appender(name)
            .and_then(|file| {
                file.set_len(len)?;
                file.sync_all()
            })
            .map_err(|error| Error::new("truncate", name, error))
    }

    fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.open.remove(name);
        let path = self.path(name);
        write_beside(&path, bytes, true)
            .and_then(|()| sync_parent(&path))
            .map_err(|error| Error::new("replace", name, error))
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.open.remove(name);
        write_beside(&self.path(name), bytes, false)
            .map_err(|error| Error::new("write", name, error))
    }

    fn remove(&mut self, name: &str) -> Result<(), Error> {
        self.open.remove(name);
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::new("remove", name, error))
            }
            _ => Ok(()),
        }
    }
}

/// A disk that fills up takes a part. What follows it would be unreadable, so it is cut off again.
fn append_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(bytes).inspect_err(|_| {
        let _ = file.set_len(before);
    })
}

const TEMPORARY: &str = ".new";

fn write_beside(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        make_dir(parent)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(TEMPORARY);
    let temporary = PathBuf::from(name);
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    if sync {
        file.sync_data()?;
    }
    fs::rename(&temporary, path)
}

fn make_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A new name is durable once its directory is.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_after_opening_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut disk = RealDisk::open(dir.path()).expect("opens");
        disk.append("log-1", b"ab").expect("appends");
        disk.append("log-1", b"cd").expect("appends");
        disk.sync("log-1").expect("syncs");
        disk.replace("vote", b"7").expect("replaces");
        disk.truncate("log-1", 3).expect("truncates");
        disk.append("log-1", b"e").expect("appends");
        let disk = RealDisk::open(dir.path()).expect("opens");
        assert_eq!(disk.read("log-1").expect("reads"), Some(b"abce".to_vec()));
        assert_eq!(disk.list("log-").expect("lists"), ["log-1"]);
        assert_eq!(disk.read("nothing").expect("reads"), None);
    }
}
