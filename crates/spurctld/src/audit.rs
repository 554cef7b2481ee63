//! Writes the audit log: files that only grow, in `audit/` below the state directory.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use spur_core::audit::{self, Broken, End, Record};

use crate::clock;

/// Where lines are handed in. They are written within a moment, and before the process ends in peace.
#[derive(Clone)]
pub struct Audit {
    records: SyncSender<Record>,
    /// Records that found no place, since the last one that tells how many.
    lost: Arc<AtomicU64>,
}

/// Records that may wait for the disk. Of more, only how many they were is written down: a disk that takes
/// nothing must not stop the controller.
const WAITING: usize = 16_384;

/// Refusals that are written down in a second; of more, only how many they were. Strangers do not fill disks.
const REFUSALS: u32 = 200;

/// What is written down of a call: it has words of the caller in it, as many as they like.
const LONGEST: usize = 512;

/// A file of this size is followed by another.
const LARGEST: u64 = 64 << 20;

const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The outcome of whatever was not allowed.
pub const REFUSED: &str = "refused";

impl Audit {
    /// Goes on where the files end. Every line goes to `copy` as well, if there is to be one.
    pub fn open(state_dir: &Path, copy: Option<PathBuf>) -> anyhow::Result<Audit> {
        let dir = state_dir.join("audit");
        let at = || format!("could not use {}", dir.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).with_context(at)?;
        let book = Book { copy, ..Book::open(&dir).with_context(at)? };
        if let Some(copy) = &book.copy {
            // A mistake in the name is better told now than when the first line is lost.
            appended(copy).with_context(|| format!("could not use {}", copy.display()))?;
        }
        let (records, waiting) = sync_channel(WAITING);
        let name = "audit".to_string();
        let lost = Arc::<AtomicU64>::default();
        let counted = lost.clone();
        let write = move || book.write_all(&waiting, &counted);
        std::thread::Builder::new().name(name).spawn(write)?;
        Ok(Audit { records, lost })
    }

    /// Writes down who did what.
    pub fn note(&self, who: String, mut what: String, outcome: String) {
        what.truncate(what.floor_char_boundary(LONGEST));
        let record = Record { at: clock::now().wall, who, what, outcome };
        if self.records.try_send(record).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes down who was turned away; of a flood, what fits.
    pub fn refused(&self, who: String, what: String) {
        self.note(who, what, REFUSED.to_string());
    }
}

struct Book {
    dir: PathBuf,
    copy: Option<PathBuf>,
    number: u32,
    file: File,
    size: u64,
    end: End,
    /// The end that is on the disk.
    noted: End,
    synced: Instant,
    refusals: Refusals,
}

struct Refusals {
    since: Instant,
    written: u32,
    left_out: u32,
}

impl Book {
    fn open(dir: &Path) -> std::io::Result<Book> {
        let mut number = files(dir)?.last().map_or(1, |(number, _)| *number);
        let (mut file, mut size) = append(dir, number)?;
        let path = dir.join(name(number));
        let text = fs::read(&path)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // A line that was cut short by a crash was never answered for.
        if whole < text.len() {
            file.set_len(whole as u64)?;
            size = whole as u64;
        }
        let text = String::from_utf8_lossy(&text[..whole]);
        let end =
            text.lines().rev().find_map(audit::end_of).or_else(|| end_of_earlier(dir, number));
        if text.lines().next_back().is_some_and(|last| audit::end_of(last).is_none()) {
            let path = path.display();
            tracing::error!(%path, "the audit log is damaged at its end; it goes on in a new file");
            number += 1;
            (file, size) = append(dir, number)?;
        }
        let mut end = end.unwrap_or_default();
        let noted = noted_end(dir);
        if let Some(noted) = noted.clone().filter(|noted| noted.number > end.number) {
            let broken = Broken::Cut { last: noted.number, found: end.number };
            tracing::error!(dir = %dir.display(), "the audit log is not whole: {broken}");
            // The gap stays to be seen.
            end = noted;
        }
        let refusals = Refusals { since: Instant::now(), written: 0, left_out: 0 };
        Ok(Book {
            dir: dir.to_path_buf(),
            copy: None,
            number,
            file,
            size,
            end,
            noted: noted.unwrap_or_default(),
            synced: Instant::now(),
            refusals,
        })
    }

    fn write_all(mut self, records: &Receiver<Record>, lost: &AtomicU64) {
        let mut lines = String::new();
        loop {
            let first = match records.recv_timeout(SYNC_EVERY) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    if lines.is_empty() {
                        self.sync();
                    }
                    return;
                }
            };
            // What could not be written yet waits before more is taken.
            let more = if lines.is_empty() { WAITING } else { 0 };
            for record in first.into_iter().chain(records.try_iter().take(more)) {
                self.tie(record, &mut lines);
            }
            let lost = lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                self.tie(summary(&format!("{lost} more calls"), "not listed"), &mut lines);
            }
            if let Some(record) = self.refusals.left_out() {
                self.tie(record, &mut lines);
            }
            if lines.is_empty() {
                self.synced();
                continue;
            }
            match self.append(&lines) {
                Ok(()) => {
                    self.copy(&lines);
                    lines.clear();
                    self.synced();
                }
                Err(error) => {
                    tracing::error!(%error, "could not write the audit log; trying again");
                    std::thread::sleep(SYNC_EVERY);
                }
            }
        }
    }

    fn tie(&mut self, record: Record, lines: &mut String) {
        if record.outcome == REFUSED && !self.refusals.has_room() {
            return;
        }
        let (line, end) = audit::tie(&self.end, &record);
        lines.push_str(&line);
        self.end = end;
    }

    /// The copy is opened anew each time: whoever gathers logs moves files away. One that cannot be written
    /// stops nothing, for the log itself has the lines.
    fn copy(&self, lines: &str) {
        let Some(path) = &self.copy else { return };
        let copied = appended(path).and_then(|mut file| file.write_all(lines.as_bytes()));
        if let Err(error) = copied {
            let path = path.display();
            tracing::error!(%error, %path, "lines of the audit log were not copied");
        }
    }

    /// The same, once a second at most.
    fn synced(&mut self) {
        if self.synced.elapsed() >= SYNC_EVERY {
            self.sync();
        }
    }

    /// What was written is brought to the disk, and then the note of where it ends: should lines be missing at the
    /// end, that tells.
    fn sync(&mut self) {
        self.synced = Instant::now();
        if self.noted == self.end {
            return;
        }
        let done = self.file.sync_data().and_then(|()| note_end(&self.dir, &self.end));
        match done {
            Ok(()) => self.noted = self.end.clone(),
            Err(error) => tracing::error!(%error, "could not sync the audit log; trying again"),
        }
    }

    fn append(&mut self, lines: &str) -> std::io::Result<()> {
        if self.size > LARGEST {
            self.file.sync_data()?;
            (self.file, self.size) = append(&self.dir, self.number + 1)?;
            self.number += 1;
        }
        // A write that failed half way is taken back, or its rest would follow twice.
        self.file.set_len(self.size)?;
        self.file.write_all(lines.as_bytes())?;
        self.size += lines.len() as u64;
        Ok(())
    }
}

impl Refusals {
    fn has_room(&mut self) -> bool {
        if self.written < REFUSALS {
            self.written += 1;
            return true;
        }
        self.left_out += 1;
        false
    }

    /// Once a second, how many were left out.
    fn left_out(&mut self) -> Option<Record> {
        if self.since.elapsed() < SYNC_EVERY {
            return None;
        }
        let left_out = std::mem::take(&mut self.left_out);
        (self.since, self.written) = (Instant::now(), 0);
        let what = format!("{left_out} more calls");
        (left_out > 0).then(|| summary(&what, "refused, not listed"))
    }
}

fn summary(what: &str, outcome: &str) -> Record {
    let (who, what, outcome) = ("several".to_string(), what.to_string(), outcome.to_string());
    Record { at: clock::now().wall, who, what, outcome }
}

/// The end that was on the disk when this was last written, if it ever was.
fn noted_end(dir: &Path) -> Option<End> {
    fs::read_to_string(dir.join(audit::END_FILE)).ok()?.parse().ok()
}

fn note_end(dir: &Path, end: &End) -> std::io::Result<()> {
    let (path, new) = (dir.join(audit::END_FILE), dir.join(format!("{}.new", audit::END_FILE)));
    let mut file =
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(format!("{end}\n").as_bytes())?;
    file.sync_data()?;
    fs::rename(new, path)
}

fn name(number: u32) -> String {
    format!("{number:06}.log")
}

fn appended(path: &Path) -> std::io::Result<File> {
    File::options().append(true).create(true).mode(0o600).open(path)
}

fn append(dir: &Path, number: u32) -> std::io::Result<(File, u64)> {
    let file = appended(&dir.join(name(number)))?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

fn end_of_earlier(dir: &Path, number: u32) -> Option<End> {
    let earlier = files(dir).ok()?.into_iter().rev().find(|(other, _)| *other < number)?;
    String::from_utf8_lossy(&fs::read(earlier.1).ok()?).lines().rev().find_map(audit::end_of)
}

/// The files there are, in their order.
fn files(dir: &Path) -> std::io::Result<Vec<(u32, PathBuf)>> {
    let entries = fs::read_dir(dir)?.flatten();
    let mut files: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(".log")?.parse().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(dir: &Path) -> Vec<String> {
        let text = fs::read_to_string(dir.join("audit/000001.log")).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }

    fn wait_for(dir: &Path, count: usize) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while lines(dir).len() < count && Instant::now() < deadline {
            std::thread::yield_now();
        }
        lines(dir)
    }

    #[test]
    fn the_chain_goes_on_over_restarts_and_torn_lines() {
        let dir = tempfile::tempdir().expect("a directory");
        let note = |what: &str| {
            let copy = Some(dir.path().join("copy"));
            let audit = Audit::open(dir.path(), copy).expect("opens");
            audit.note("uid 0".to_string(), what.to_string(), "done".to_string());
        };
        note("one");
        assert_eq!(wait_for(dir.path(), 1).len(), 1);
        let file = dir.path().join("audit/000001.log");
        let mut torn = File::options().append(true).open(file).expect("is there");
        torn.write_all(b"{\"number\":2,").expect("is written");
        note("two");
        let lines = wait_for(dir.path(), 2);
        let end = lines
            .iter()
            .try_fold(End::default(), |end, line| audit::check(&end, line).map(|(_, end)| end));
        assert_eq!(end.map(|end| end.number), Ok(2));
        let copied = || fs::read_to_string(dir.path().join("copy")).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(20);
        while copied().lines().count() < 2 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(copied().lines().collect::<Vec<_>>(), lines);
        assert!(Audit::open(dir.path(), Some(dir.path().to_path_buf())).is_err(), "no file");
    }

    #[test]
    fn an_end_that_was_cut_off_is_a_gap_for_ever() {
        let dir = tempfile::tempdir().expect("a directory");
        let note = |what: &str| {
            let audit = Audit::open(dir.path(), None).expect("opens");
            audit.note("uid 0".to_string(), what.to_string(), "done".to_string());
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        let noted = || noted_end(&dir.path().join("audit")).map_or(0, |end| end.number);
        let path = dir.path().join("audit/000001.log");
        for (number, what) in [(1, "one"), (2, "two")] {
            note(what);
            while noted() < number && Instant::now() < deadline {
                std::thread::yield_now();
            }
        }
        let first = format!("{}\n", wait_for(dir.path(), 2)[0]);
        fs::write(&path, &first).expect("is written");
        note("three");
        let lines = wait_for(dir.path(), 2);
        let (_, end) = audit::check(&End::default(), &lines[0]).expect("is whole");
        let missing = Broken::Missing { expected: 2, found: 3 };
        assert_eq!(audit::check(&end, &lines[1]).err(), Some(missing));
    }

    #[test]
    fn damage_at_the_end_stays_to_be_seen_and_stops_nobody() {
        let dir = tempfile::tempdir().expect("a directory");
        let audit = |what: &str| {
            let audit = Audit::open(dir.path(), None).expect("opens");
            audit.note("uid 0".to_string(), what.to_string(), "done".to_string());
        };
        audit("one");
        assert_eq!(wait_for(dir.path(), 1).len(), 1);
        let path = dir.path().join("audit/000001.log");
        let mut file = File::options().append(true).open(&path).expect("is there");
        file.write_all(b"\xff\x00\n\xfe\n").expect("is written");
        let damaged = fs::read(&path).expect("reads");
        audit("two");
        let next = || fs::read_to_string(dir.path().join("audit/000002.log")).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(20);
        while next().is_empty() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(audit::end_of(next().trim()).map(|end| end.number), Some(2), "{}", next());
        assert_eq!(fs::read(&path).expect("reads"), damaged);
    }
}
