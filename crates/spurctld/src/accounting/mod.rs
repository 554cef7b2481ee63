//! Accounting as the controller sees it: records go into files at once, and to the database when it is
//! there. Nothing waits for it.

pub mod outbox;
pub mod revoked;
pub mod rules;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use spur_core::views::AccountingRecord;
use spur_disk::RealDisk;
use spur_proto::client::{self, Address};
use spur_proto::slurm::IngestRequest;
use spur_proto::slurm::accounting_client::AccountingClient;
use tonic::transport::Channel;

use crate::shell::Inbox;
use outbox::{Reader, trim};

/// How long to wait for an answer before the line counts as broken.
const ANSWER: Duration = Duration::from_secs(30);

/// The first pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// How long after one message the next follows at the earliest. A transaction costs about the same however much
/// it carries, and what ends in the meantime needs to be written only once.
const PACE: Duration = Duration::from_millis(100);

/// How often the leader looks whether another has sent what it lacks.
const GAP_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two attempts to connect.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// How often a follower asks what it may remove.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long the leader waits for another controller to send what it lacks itself.
const GAP_PATIENCE: Duration = Duration::from_secs(600);

/// Sends what the files hold for as long as the controller runs. The leader sends; followers ask how far the
/// database has come, and remove what it has. A controller that caught up by a snapshot has no records of the
/// time before: the others have them, and a follower that finds the database standing still sends its own.
pub async fn send(inbox: Inbox, state_dir: PathBuf, address: Address) {
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        let Err(broken) = converse(&inbox, &state_dir, &address).await;
        tracing::debug!("accounting is away: {broken:#}");
        if began.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_WAIT);
    }
}

/// One connection's worth.
async fn converse(
    inbox: &Inbox,
    state_dir: &Path,
    address: &Address,
) -> anyhow::Result<Infallible> {
    let channel = client::connect_accounting(address, None).await?;
    let mut client = client::accounting(channel);
    let mut changes = inbox.changes();
    let mut acknowledged = None;
    let mut stands_still = false;
    let mut gap_since: Option<Instant> = None;
    let mut reader = Reader::default();
    let mut sent_last: Option<Instant> = None;
    loop {
        if let Some(left) = sent_last.and_then(|at| PACE.checked_sub(at.elapsed())) {
            tokio::time::sleep(left).await;
        }
        changes.borrow_and_update();
        let published = inbox.published();
        let history = published.state.history;
        let cluster = published.state.settings.cluster_name.clone();
        let is_behind = acknowledged.is_none_or(|acknowledged| acknowledged < history.records);
        // Asked once even without records: that makes the cluster known.
        if history.birth > 0 && is_behind {
            let mut records = match acknowledged {
                Some(after) if published.leads || stands_still => {
                    let (moved, records) = read(state_dir, reader, after).await?;
                    reader = moved;
                    records
                }
                _ => Vec::new(),
            };
            let is_gap = first_missing(acknowledged, &records).is_some();
            if is_gap {
                let since = *gap_since.get_or_insert_with(Instant::now);
                if !published.leads || since.elapsed() < GAP_PATIENCE {
                    records.clear();
                } else {
                    let lacks = acknowledged.unwrap_or(0) + 1;
                    tracing::error!(
                        "records from {lacks} on are on no controller: going on without"
                    );
                }
            } else {
                gap_since = None;
            }
            let sent = !records.is_empty();
            // After a full message the next is waiting already.
            sent_last = (sent && records.len() < outbox::BATCH).then(Instant::now);
            let request = IngestRequest { cluster, birth: history.birth, records };
            let reached = ask(&mut client, request).await?;
            let is_news = acknowledged != Some(reached);
            stands_still = !is_news && reached < history.records;
            acknowledged = Some(reached);
            inbox.diagnostics().recorded(reached);
            if is_news {
                remove(state_dir, reached).await?;
                continue;
            }
            if is_gap && !sent && published.leads {
                tokio::time::sleep(GAP_PAUSE).await;
                continue;
            }
            if sent {
                anyhow::bail!("the database stands still at record {reached}");
            }
        }
        match published.leads {
            true => changes.changed().await?,
            // A follower has no news; it asks now and then what it may remove, and at once when it leads.
            false => {
                let leads =
                    async { while !inbox.published().leads && changes.changed().await.is_ok() {} };
                let _ = tokio::time::timeout(LONGEST_PAUSE, leads).await;
            }
        }
    }
}

/// The number of the first record that is missing between what the database has and what is here.
fn first_missing(acknowledged: Option<u64>, records: &[AccountingRecord]) -> Option<u64> {
    let next = acknowledged? + 1;
    records.first().filter(|first| first.number > next).map(|_| next)
}

async fn ask(
    client: &mut AccountingClient<Channel>,
    request: IngestRequest,
) -> anyhow::Result<u64> {
    let answer = tokio::time::timeout(ANSWER, client.ingest(request)).await??;
    Ok(answer.into_inner().acknowledged)
}

async fn read(
    state_dir: &Path,
    mut reader: Reader,
    after: u64,
) -> anyhow::Result<(Reader, Vec<AccountingRecord>)> {
    let disk = RealDisk::open(state_dir)?;
    let work = move || reader.read_after(&disk, after).map(|records| (reader, records));
    Ok(tokio::task::spawn_blocking(work).await??)
}

async fn remove(state_dir: &Path, acknowledged: u64) -> anyhow::Result<()> {
    let mut disk = RealDisk::open(state_dir)?;
    Ok(tokio::task::spawn_blocking(move || trim(&mut disk, acknowledged)).await??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_snapshot_skipped_is_noticed() {
        let record = |number| AccountingRecord { number, ..AccountingRecord::default() };
        assert_eq!(first_missing(Some(4), &[record(5), record(6)]), None);
        assert_eq!(first_missing(Some(4), &[record(9)]), Some(5));
        assert_eq!(first_missing(Some(4), &[]), None);
        assert_eq!(first_missing(None, &[record(9)]), None, "the database has not been asked");
    }
}
