//! Accounting as the controller sees it: records go into files at once, and to the database when it is
//! there. Nothing waits for it.

pub mod outbox;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use spur_disk::RealDisk;
use spur_proto::client::{self, Address};
use spur_proto::slurm::IngestRequest;
use spur_proto::slurm::accounting_client::AccountingClient;
use tonic::transport::Channel;

use crate::shell::Inbox;
use outbox::{read_after, trim};

/// How long to wait for an answer before the line counts as broken.
const ANSWER: Duration = Duration::from_secs(30);

/// The first pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sends what the files hold for as long as the controller runs. Only the leader sends; followers ask how
/// far the database has come, and remove what it has.
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
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// One connection's worth.
async fn converse(
    inbox: &Inbox,
    state_dir: &Path,
    address: &Address,
) -> anyhow::Result<Infallible> {
    let channel = client::connect(address).await?;
    let mut client = client::accounting(channel);
    let mut changes = inbox.changes();
    let mut acknowledged = None;
    loop {
        changes.borrow_and_update();
        let published = inbox.published();
        let history = published.state.history;
        let cluster = published.state.settings.cluster_name.clone();
        let is_behind = acknowledged.is_none_or(|acknowledged| acknowledged < history.records);
        if history.records > 0 && is_behind {
            let records = match acknowledged {
                Some(after) if published.leads => read(state_dir, after).await?,
                _ => Vec::new(),
            };
            let sent = !records.is_empty();
            let request = IngestRequest { cluster, birth: history.birth, records };
            let reached = ask(&mut client, request).await?;
            let is_news = acknowledged != Some(reached);
            acknowledged = Some(reached);
            if is_news {
                remove(state_dir, reached).await?;
                continue;
            }
            if sent {
                anyhow::bail!("the database stands still at record {reached}");
            }
        }
        match published.leads {
            true => changes.changed().await?,
            // A follower has no news; it asks now and then what it may remove.
            false => tokio::time::sleep(LONGEST_PAUSE).await,
        }
    }
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
    after: u64,
) -> anyhow::Result<Vec<spur_core::views::AccountingRecord>> {
    let disk = RealDisk::open(state_dir)?;
    Ok(tokio::task::spawn_blocking(move || read_after(&disk, after)).await??)
}

async fn remove(state_dir: &Path, acknowledged: u64) -> anyhow::Result<()> {
    let mut disk = RealDisk::open(state_dir)?;
    Ok(tokio::task::spawn_blocking(move || trim(&mut disk, acknowledged)).await??)
}
