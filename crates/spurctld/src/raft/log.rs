//! The log as openraft wants it: a thread of its own writes, so that a slow disk blocks nobody else.

use std::fmt::Debug;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Duration;

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{
    AnyError, ErrorSubject, ErrorVerb, LogId, LogState, OptionalSend, RaftLogReader, StorageError,
    StorageIOError, Vote,
};
use spur_disk::Disk;
use tokio::sync::{Notify, oneshot};

use super::memory::Memory;
use super::{TypeConfig, encode};
use crate::shell::Failed;
use crate::store::{self, Log, Record};

type Entry = openraft::Entry<TypeConfig>;
type StorageResult<T> = Result<T, StorageError<u64>>;

/// openraft's handle on the log. Its end is also in memory, where it is read from: see [`super::memory`].
#[derive(Clone)]
pub struct LogStore {
    shared: Arc<Shared>,
    writer: mpsc::Sender<Job>,
}

struct Shared {
    memory: Mutex<Memory>,
    size: Arc<Size>,
}

/// The log's size on disk, for whoever decides when to take a snapshot.
#[derive(Default)]
pub struct Size {
    bytes: AtomicU64,
    grown: Notify,
    /// The disk has no room, and the writer waits.
    full: AtomicBool,
    filled: Notify,
}

impl Size {
    /// Waits until the log is larger than this.
    pub async fn grown_beyond(&self, limit: u64) {
        loop {
            let grown = self.grown.notified();
            if self.bytes.load(Ordering::Relaxed) > limit {
                self.bytes.store(0, Ordering::Relaxed);
                return;
            }
            grown.await;
        }
    }

    /// Waits until the writer waits for room on the disk.
    pub async fn becomes_full(&self) {
        loop {
            let filled = self.filled.notified();
            if self.is_full() {
                return;
            }
            filled.await;
        }
    }

    /// Whether the writer waits for room on the disk.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.grown.notify_waiters();
    }
}

impl LogStore {
    /// Takes over an opened log and the records found in it, as controller `id`.
    pub(super) fn new<D: Disk + 'static>(
        log: Log<D>,
        records: Vec<Record>,
        id: u64,
        failed: Failed,
    ) -> anyhow::Result<LogStore> {
        let mut vote = log.kept(VOTE)?.map(|bytes| encode::vote(&bytes)).transpose()?;
        // Whoever led does not go on in the same term: others may have entries of it that never reached
        // this disk, and a second one of the same number would not be told apart.
        if let Some(vote) = vote.as_mut().filter(|vote| vote.leader_id.node_id == id) {
            vote.committed = false;
        }
        let purged = log.purged().map(encode::log_id);
        // A vote is on disk before any entry but the very first, of term 0, which names the members.
        let only_begun = purged.is_none() && records.iter().all(|record| record.position.term == 0);
        if vote.is_none() && !only_begun {
            return Err(store::Error::Lost { present: "log", missing: "vote" }.into());
        }
        if vote.is_some() && records.is_empty() && purged.is_none() {
            return Err(store::Error::Lost { present: "vote", missing: "log" }.into());
        }
        let entries = records.into_iter().map(encode::entry);
        let entries: Vec<Entry> = entries.collect::<Result<_, prost::DecodeError>>()?;
        let size = Arc::new(Size::default());
        size.add(log.size());
        let memory = Mutex::new(Memory::new(entries, purged, vote));
        let shared = Arc::new(Shared { memory, size: size.clone() });
        let (writer, jobs) = mpsc::channel();
        std::thread::Builder::new()
            .name("log".to_string())
            .spawn(move || write(log, jobs, &size, &failed))?;
        Ok(LogStore { shared, writer })
    }

    /// The log's size, to be watched.
    pub(super) fn size(&self) -> Arc<Size> {
        self.shared.size.clone()
    }

    /// So far all is applied.
    pub(super) fn applied(&self, upto: LogId<u64>) {
        self.memory().applied(upto.index);
    }

    /// Entries from memory, and those before from the disk.
    async fn read(&self, range: Range<u64>, most_bytes: usize) -> StorageResult<Vec<Entry>> {
        let (newer, older) = {
            let memory = self.memory();
            let (newer, first) = memory.read(range.clone(), most_bytes);
            let purged = memory.purged.map_or(0, |purged| purged.index + 1);
            (newer, range.start.max(purged)..range.end.min(first))
        };
        let end = older.end;
        // Where nothing is in memory, there is nothing on the disk either.
        if older.is_empty() || end == u64::MAX {
            return Ok(newer);
        }
        let (answer, records) = oneshot::channel();
        let is_asked = self.writer.send(Job::Read(older, most_bytes, answer)).is_ok();
        let Some(records) = (if is_asked { records.await.ok() } else { None }) else {
            return Err(StorageIOError::read_logs(AnyError::error(STOPPED)).into());
        };
        let entries = records.into_iter().map(encode::entry).collect::<Result<Vec<Entry>, _>>();
        let mut entries =
            entries.map_err(|error| StorageIOError::read_logs(AnyError::new(&error)))?;
        // A part that is full ends before.
        if entries.last().is_none_or(|last| last.log_id.index + 1 == end) {
            entries.extend(newer);
        }
        Ok(entries)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.shared.memory.lock().expect("no holder panics")
    }

    /// Has the writer do something, and waits for it.
    async fn ask(
        &self,
        subject: ErrorSubject<u64>,
        job: impl FnOnce(oneshot::Sender<()>) -> Job,
    ) -> StorageResult<()> {
        let (done, outcome) = oneshot::channel();
        let is_sent = self.writer.send(job(done)).is_ok();
        match is_sent && outcome.await.is_ok() {
            true => Ok(()),
            false => Err(io_error(subject, AnyError::error(STOPPED))),
        }
    }
}

fn io_error(subject: ErrorSubject<u64>, error: AnyError) -> StorageError<u64> {
    StorageIOError::new(subject, ErrorVerb::Write, error).into()
}

const VOTE: &str = "vote";

/// An append carries about this many bytes; its answer is expected within a heartbeat.
const SENT_BYTES: usize = 1 << 20;

const STOPPED: &str = "the log's writer has stopped";
const UNKNOWN: &str = "what the disk holds is unknown";

enum Job {
    Append(Vec<Record>, LogFlushed<TypeConfig>),
    Vote(Vec<u8>, oneshot::Sender<()>),
    Truncate(u64, oneshot::Sender<()>),
    Purge(store::Position, oneshot::Sender<()>),
    Read(Range<u64>, usize, oneshot::Sender<Vec<Record>>),
}

fn write<D: Disk>(mut log: Log<D>, jobs: mpsc::Receiver<Job>, size: &Size, failed: &Failed) {
    for job in jobs {
        let done = match job {
            Job::Append(records, flushed) => {
                let before = log.size();
                let written = with_room(size, || log.append(&records));
                if written.is_ok() {
                    size.add(log.size() - before);
                    flushed.log_io_completed(Ok(()));
                }
                written
            }
            Job::Vote(bytes, done) => tell(done, with_room(size, || log.keep(VOTE, &bytes))),
            Job::Truncate(from, done) => tell(done, with_room(size, || log.truncate(from))),
            Job::Purge(upto, done) => tell(done, with_room(size, || log.purge(upto))),
            // Here, behind everything that was to be written before.
            Job::Read(range, most_bytes, answer) => log.read(range, most_bytes).map(|records| {
                let _ = answer.send(records);
            }),
        };
        if let Err(error) = done {
            failed(anyhow::Error::from(error).context(UNKNOWN));
            return;
        }
    }
}

/// Tells whoever waits that it is done. A failure is not for them: the process stops.
fn tell(done: oneshot::Sender<()>, result: Result<(), store::Error>) -> Result<(), store::Error> {
    result.map(|()| {
        let _ = done.send(());
    })
}

/// Writes, or waits for room on a full disk: nothing is acknowledged meanwhile, and nothing is lost.
/// Any other failure, a failed sync above all, leaves unknown what the disk holds: the process stops.
fn with_room(
    size: &Size,
    mut work: impl FnMut() -> Result<(), store::Error>,
) -> Result<(), store::Error> {
    loop {
        match work() {
            Ok(()) => {
                size.full.store(false, Ordering::Relaxed);
                return Ok(());
            }
            Err(store::Error::Disk(error)) if error.is_full() && error.attempt != "sync" => {
                if !size.full.swap(true, Ordering::Relaxed) {
                    size.filled.notify_waiters();
                    tracing::error!(%error, "the disk is full: nothing is accepted until there is room");
                }
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) => return Err(error),
        }
    }
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> StorageResult<Vec<Entry>> {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last + 1,
            Bound::Excluded(end) => *end,
            Bound::Unbounded => u64::MAX,
        };
        self.read(start..end, usize::MAX).await
    }

    /// What is sent to another controller at once: bounded by bytes, but at least one.
    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> StorageResult<Vec<Entry>> {
        self.read(start..end, SENT_BYTES).await
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = LogStore;

    async fn get_log_state(&mut self) -> StorageResult<LogState<TypeConfig>> {
        let memory = self.memory();
        let (last, purged) = (memory.last(), memory.purged);
        Ok(LogState { last_purged_log_id: purged, last_log_id: last.or(purged) })
    }

    async fn get_log_reader(&mut self) -> LogStore {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> StorageResult<()> {
        let bytes = encode::vote_bytes(vote);
        self.ask(ErrorSubject::Vote, |done| Job::Vote(bytes, done)).await?;
        self.memory().vote = Some(*vote);
        Ok(())
    }

    async fn read_vote(&mut self) -> StorageResult<Option<Vote<u64>>> {
        Ok(self.memory().vote)
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> StorageResult<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<Entry> = entries.into_iter().collect();
        let records = entries.iter().map(encode::record).collect();
        self.memory().append(entries);
        self.writer
            .send(Job::Append(records, callback))
            .map_err(|_| io_error(ErrorSubject::Logs, AnyError::error(STOPPED)))
    }

    async fn truncate(&mut self, from: LogId<u64>) -> StorageResult<()> {
        self.memory().truncate(from.index);
        self.ask(ErrorSubject::Log(from), |done| Job::Truncate(from.index, done)).await
    }

    async fn purge(&mut self, upto: LogId<u64>) -> StorageResult<()> {
        self.memory().purge(upto);
        let position = encode::position(&upto);
        self.ask(ErrorSubject::Log(upto), |done| Job::Purge(position, done)).await
    }
}
