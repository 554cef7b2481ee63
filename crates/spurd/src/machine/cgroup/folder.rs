//! One directory of a hierarchy and the small files in it.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Error;

/// A group's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn parent(&self) -> Option<Folder> {
        self.0.parent().map(Folder::new)
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }

    pub(super) fn make(&self) -> Result<(), Error> {
        match fs::create_dir(&self.0) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(|error| self.error("make", "", error)),
        }
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), Error> {
        // No creation: in a hierarchy the kernel has made all files there are.
        let written = fs::OpenOptions::new().write(true).open(self.0.join(file));
        written
            .and_then(|mut opened| io::Write::write_all(&mut opened, text.as_bytes()))
            .map_err(|error| self.error("write", file, error))
    }

    pub(super) fn read(&self, file: &str) -> Result<String, Error> {
        fs::read_to_string(self.0.join(file)).map_err(|error| self.error("read", file, error))
    }

    pub(super) fn number(&self, file: &str) -> Option<u64> {
        self.little(file)?.trim().parse().ok()
    }

    /// What is in a file of a few lines, asked for at once.
    fn little(&self, file: &str) -> Option<String> {
        let mut bytes = [0; 1024];
        let length = fs::File::open(self.0.join(file)).ok()?.read(&mut bytes).ok()?;
        String::from_utf8(bytes[..length].to_vec()).ok()
    }

    /// The number behind a word, in a file of `word number` lines.
    pub(super) fn entry(&self, file: &str, word: &str) -> Option<u64> {
        let text = self.little(file)?;
        let line = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    }

    /// The members, those of groups inside included.
    pub(super) fn members(&self) -> Vec<i32> {
        let mut members: Vec<i32> = match self.read("cgroup.procs") {
            Ok(text) => text.lines().filter_map(|line| line.parse().ok()).collect(),
            Err(_) => return Vec::new(),
        };
        members.extend(self.inner().iter().flat_map(Folder::members));
        members
    }

    /// The groups inside.
    pub(super) fn inner(&self) -> Vec<Folder> {
        let Ok(entries) = fs::read_dir(&self.0) else { return Vec::new() };
        let folders = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| Folder(entry.path())).collect()
    }

    /// How many groups are inside: the kernel counts them as it does the folders of a folder.
    pub(super) fn groups_inside(&self) -> Option<u64> {
        fs::metadata(&self.0).ok()?.nlink().checked_sub(2)
    }

    /// Gives the group another name. Only version 1 can.
    pub(super) fn rename(&self, to: &Folder) -> bool {
        fs::rename(&self.0, &to.0).is_ok()
    }

    /// Removes the group and those inside. One whose last member has just ended is busy for a moment.
    pub(super) fn remove(&self) -> Result<(), Error> {
        let mut removed = fs::remove_dir(&self.0);
        for round in 0..BUSY_ROUNDS {
            match &removed {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {}
                _ => break,
            }
            self.inner().iter().try_for_each(Folder::remove)?;
            if round > 0 {
                std::thread::sleep(BUSY_PAUSE);
            }
            removed = fs::remove_dir(&self.0);
        }
        self.gone(removed)
    }

    /// Removes the group if nobody is in it and nothing below it.
    pub(super) fn remove_if_unused(&self) {
        let _ = fs::remove_dir(&self.0);
    }

    fn gone(&self, removed: io::Result<()>) -> Result<(), Error> {
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| self.error("remove", "", error)),
        }
    }

    pub(super) fn error(&self, attempt: &'static str, file: &str, source: io::Error) -> Error {
        Error { attempt, path: self.0.join(file).display().to_string(), source }
    }
}

const BUSY_ROUNDS: usize = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(1);
