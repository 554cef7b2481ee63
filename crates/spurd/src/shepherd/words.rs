//! What the agent leaves in the spool for people who look at the output of a run.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Words of a run.
pub struct Words {
    file: PathBuf,
    /// How much of them was told.
    told: u64,
}

/// No more is said at once: a pipe that has room takes as much without making anybody wait.
const MOST_WORDS: usize = 4000;

impl Words {
    /// In this file, none of them told yet.
    pub fn new(file: PathBuf) -> Words {
        Words { file, told: 0 }
    }

    /// What has come since the last time.
    pub fn fresh(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        let read = File::open(&self.file).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.told))?;
            file.read_to_end(&mut words)
        });
        self.told += read.unwrap_or(0) as u64;
        let notices = words.split(|byte| *byte == 0).filter(|notice| !notice.is_empty());
        let short = notices.map(|notice| &notice[..notice.len().min(MOST_WORDS)]);
        short.map(|notice| String::from_utf8_lossy(notice).into_owned()).collect()
    }
}
