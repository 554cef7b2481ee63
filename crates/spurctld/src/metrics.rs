//! Numbers about this controller in the OpenMetrics text format, on a loopback address.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use spur_core::job::Phase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::raft::{Metrics, Raft, Size};
use crate::shell::{Inbox, Published};

/// Where the numbers come from.
#[derive(Clone)]
pub struct Sources {
    /// The state.
    pub inbox: Inbox,
    /// Consensus.
    pub raft: Raft,
    /// The log.
    pub log: Arc<Size>,
}

/// What a row reads from.
struct Seen {
    published: Arc<Published>,
    raft: Metrics,
    is_full: bool,
}

/// A number.
struct Row {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    get: fn(&Seen) -> u64,
}

const fn gauge(name: &'static str, help: &'static str, get: fn(&Seen) -> u64) -> Row {
    Row { name, kind: "gauge", help, get }
}

static ROWS: &[Row] = &[
    gauge("spur_leader", "Whether this controller leads.", |seen| seen.published.leads.into()),
    gauge("spur_controllers", "Controllers that vote.", |seen| {
        seen.raft.membership_config.membership().voter_ids().count() as u64
    }),
    gauge("spur_term", "The term of consensus.", |seen| seen.raft.current_term),
    gauge("spur_log_last_index", "The last entry in the log.", |seen| {
        seen.raft.last_log_index.unwrap_or(0)
    }),
    gauge("spur_log_applied_index", "The last entry that is applied.", |seen| {
        seen.raft.last_applied.map_or(0, |id| id.index)
    }),
    gauge("spur_log_snapshot_index", "The last entry the snapshot covers.", |seen| {
        seen.raft.snapshot.map_or(0, |id| id.index)
    }),
    gauge("spur_disk_full", "Whether the log waits for room on the disk.", |seen| {
        seen.is_full.into()
    }),
    gauge("spur_jobs_pending", "Jobs that wait.", |seen| {
        jobs(seen, |phase| matches!(phase, Phase::Pending))
    }),
    gauge("spur_jobs_active", "Jobs that hold resources.", |seen| {
        jobs(seen, |phase| !phase.is_over() && !matches!(phase, Phase::Pending))
    }),
    gauge("spur_jobs_ended", "Jobs that are over and still shown.", |seen| {
        jobs(seen, |phase| phase.is_over())
    }),
    gauge("spur_nodes", "Nodes that are known.", |seen| seen.published.state.nodes.len() as u64),
    gauge("spur_nodes_up", "Nodes that are heard of.", |seen| {
        let nodes = seen.published.state.nodes.values();
        nodes.filter(|node| node.link.is_up()).count() as u64
    }),
    gauge("spur_blobs", "Scripts and environments that are kept.", |seen| {
        seen.published.state.blobs.len() as u64
    }),
];

fn jobs(seen: &Seen, wanted: fn(&Phase) -> bool) -> u64 {
    seen.published.state.jobs.values().filter(|job| wanted(&job.phase)).count() as u64
}

fn page(seen: &Seen) -> String {
    let mut text = String::new();
    for Row { name, kind, help, get } in ROWS {
        let value = get(seen);
        let _ = write!(text, "# TYPE {name} {kind}\n# HELP {name} {help}\n{name} {value}\n");
    }
    text + "# EOF\n"
}

/// Scrapers served at a time; more of them wait.
const SERVED: usize = 16;

/// The longest request, and how long it may take.
const REQUEST_BYTES: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(5);

/// Listens; nobody but this machine can reach it.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() {
        bail!("--metrics {address} is no loopback address; say 127.0.0.1:{}", address.port());
    }
    TcpListener::bind(address).await.with_context(|| format!("could not listen on {address}"))
}

/// Serves for as long as the process lives.
pub async fn serve(listener: TcpListener, sources: Sources) {
    let served = Arc::new(Semaphore::new(SERVED));
    loop {
        let Ok(permit) = served.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of files, most likely: there may be some in a moment.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let sources = sources.clone();
        tokio::spawn(async move {
            let _ = timeout(PATIENCE, answer(stream, &sources)).await;
            drop(permit);
        });
    }
}

async fn answer(mut stream: TcpStream, sources: &Sources) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let reply = reply(&request, || {
        page(&Seen {
            published: sources.inbox.published(),
            raft: sources.raft.metrics().borrow().clone(),
            is_full: sources.log.is_full(),
        })
    });
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}

fn reply(request: &[u8], page: impl FnOnce() -> String) -> String {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/metrics" | b"/")) => {
            ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", page())
        }
        (Some(b"GET"), _) => ("404 Not Found", "text/plain", "see /metrics\n".to_string()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".to_string()),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_named_once_and_has_help() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        assert!(ROWS.iter().all(|row| row.help.ends_with('.') && row.name.starts_with("spur_")));
    }

    #[test]
    fn only_the_page_is_served() {
        let first = |request: &str| {
            let reply = reply(request.as_bytes(), || "page".to_string());
            reply.lines().next().unwrap_or_default().to_string()
        };
        assert_eq!(first("GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(first("GET /etc/passwd HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(first("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(first("\0\u{1}"), "HTTP/1.1 405 Method Not Allowed");
    }

    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        let far = listen("0.0.0.0:0".parse().expect("an address")).await;
        assert!(far.expect_err("is refused").to_string().contains("no loopback address"));
        listen("127.0.0.1:0".parse().expect("an address")).await.expect("listens");
    }
}
