//! The machine's own file system.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Disk, Error};

/// Files below one directory, readable by their owner alone.
pub struct RealDisk {
    root: PathBuf,
    /// Files being appended to, kept open.
    open: BTreeMap<String, File>,
    spares: Option<Spares>,
}

/// All but empty files that wait to be used again. Making a file and removing it costs a file system more than
/// everything else that is done to a small one.
struct Spares {
    /// The ends of names whose files are worth keeping.
    kinds: &'static [&'static str],
    free: Vec<PathBuf>,
    /// Names are never used again: somebody may still have one of an earlier life.
    life: String,
    made: u64,
}

/// How much is left in a spare file. Some file systems write a file that was emptied to the disk as soon as it is
/// closed again.
const LEFT: u64 = 1;

/// Where spare files are, and how many at most.
const SPARES: &str = "spare";
const MOST_SPARES: usize = 512;

impl RealDisk {
    /// Uses `root`, making it if needed.
    pub fn open(root: &Path) -> Result<RealDisk, Error> {
        make_dir(root).map_err(|error| Error::new("make", &root.display().to_string(), error))?;
        Ok(RealDisk { root: root.to_path_buf(), open: BTreeMap::new(), spares: None })
    }

    /// From now on removed files whose names end so are cut and used again.
    pub fn keep_spares(&mut self, kinds: &'static [&'static str]) -> Result<(), Error> {
        let folder = self.path(SPARES);
        let cleared = match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => make_dir(&folder),
        };
        cleared.map_err(|error| Error::new("clear", SPARES, error))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let life = format!("{}-{now}", std::process::id());
        self.spares = Some(Spares { kinds, free: Vec::new(), life, made: 0 });
        Ok(())
    }

    /// A file with a single byte in it, for whoever wants to write one beside this disk; it is not ours any more.
    pub fn take_spare(&mut self) -> Option<PathBuf> {
        self.spares.as_mut()?.free.pop()
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

    fn read_part(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; len];
        File::open(self.path(name))
            .and_then(|file| file.read_exact_at(&mut bytes, offset))
            .map(|()| bytes)
            .map_err(|error| Error::new("read", name, error))
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
        let path = self.path(name);
        let written = match self.take_spare() {
            Some(spare) => write_into(&spare, &path, bytes),
            None => write_beside(&path, bytes, false),
        };
        written.map_err(|error| Error::new("write", name, error))
    }

    fn remove(&mut self, name: &str) -> Result<(), Error> {
        self.open.remove(name);
        let path = self.path(name);
        let removed = match self.spares.as_mut().filter(|spares| spares.wants(name)) {
            Some(spares) => spares.keep(&self.root, &path),
            None => fs::remove_file(path),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::new("remove", name, error))
            }
            _ => Ok(()),
        }
    }
}

impl Spares {
    fn wants(&self, name: &str) -> bool {
        self.free.len() < MOST_SPARES && self.kinds.iter().any(|kind| name.ends_with(kind))
    }

    fn keep(&mut self, root: &Path, path: &Path) -> io::Result<()> {
        let spare = root.join(SPARES).join(format!("{}-{}", self.life, self.made));
        self.made += 1;
        match fs::rename(path, &spare) {
            // The folder of spares was removed, or there is no such file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::remove_file(path),
            kept => kept?,
        }
        // What was in it is for nobody, whoever uses it next.
        match OpenOptions::new().write(true).open(&spare).and_then(|file| file.set_len(LEFT)) {
            Ok(()) => self.free.push(spare),
            Err(_) => fs::remove_file(spare)?,
        }
        Ok(())
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
    let mut name = path.as_os_str().to_owned();
    name.push(TEMPORARY);
    let temporary = PathBuf::from(name);
    let open =
        || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
    let mut file = match (open(), path.parent()) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            make_dir(parent)?;
            open()?
        }
        (opened, _) => opened?,
    };
    file.write_all(bytes)?;
    if sync {
        file.sync_data()?;
    }
    fs::rename(&temporary, path)
}

/// The same with an empty file that is there already.
fn write_into(spare: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = OpenOptions::new()
        .write(true)
        .open(spare)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            if (bytes.len() as u64) < LEFT { file.set_len(bytes.len() as u64) } else { Ok(()) }
        })
        .and_then(|()| fs::rename(spare, path));
    match written {
        Err(error) if error.kind() == io::ErrorKind::NotFound => write_beside(path, bytes, false),
        written => written.inspect_err(|_| {
            let _ = fs::remove_file(spare);
        }),
    }
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
    fn spare_files_are_used_again_and_tell_nothing() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut disk = RealDisk::open(dir.path()).expect("opens");
        disk.keep_spares(&[".a"]).expect("keeps");
        disk.put("runs/1.a", b"a secret").expect("puts");
        disk.put("runs/1.b", b"b").expect("puts");
        disk.remove("runs/1.a").expect("removes");
        disk.remove("runs/1.b").expect("removes");
        disk.remove("runs/1.a").expect("is gone");
        assert_eq!(disk.list("runs/").expect("lists"), [""; 0]);
        let spares: Vec<_> = fs::read_dir(dir.path().join(SPARES)).expect("lists").collect();
        assert_eq!(spares.len(), 1);
        disk.put("runs/2.c", b"").expect("puts");
        assert_eq!(disk.read("runs/2.c").expect("reads"), Some(Vec::new()), "nothing of before");
        assert_eq!(disk.take_spare(), None, "it is in use");
        disk.put("runs/3.a", b"3").expect("puts");
        disk.remove("runs/3.a").expect("removes");
        let spare = disk.take_spare().expect("one");
        assert_eq!(fs::metadata(spare).expect("is there").len(), LEFT);
        // Lost or in use elsewhere: there is another way.
        disk.put("runs/4.a", b"4").expect("puts");
        disk.remove("runs/4.a").expect("removes");
        fs::remove_dir_all(dir.path().join(SPARES)).expect("removes");
        disk.put("runs/5.a", b"5").expect("puts");
        assert_eq!(disk.read("runs/5.a").expect("reads"), Some(b"5".to_vec()));
        disk.remove("runs/5.a").expect("removes");
        assert_eq!(disk.list("runs/").expect("lists"), ["runs/2.c"]);
    }

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
