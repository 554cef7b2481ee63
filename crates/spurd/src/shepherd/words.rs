//! What the agent leaves in the spool for people to find in the output of a run.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// The words for one run.
#[derive(Default)]
pub struct Words {
    path: PathBuf,
    /// How much of them was told.
    told: u64,
}

impl Words {
    /// Those that are left here.
    pub fn at(path: PathBuf) -> Words {
        Words { path, told: 0 }
    }

    /// What was left since the last time.
    pub fn news(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.told))?;
            file.read_to_end(&mut words)
        });
        self.told += read.unwrap_or(0) as u64;
        let notices = words.split(|byte| *byte == 0).filter(|notice| !notice.is_empty());
        notices.map(|notice| String::from_utf8_lossy(notice).into_owned()).collect()
    }
}
