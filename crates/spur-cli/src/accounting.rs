//! Finds accounting and asks it.

use std::time::Duration;

use spur_proto::caller::Caller;
use spur_proto::client::{self, Address};
use spur_proto::proof::Proof;
use spur_proto::slurm::accounting_client::AccountingClient;
use spur_proto::slurm::{
    AccountingView, HistoryPoint, IssueTokenRequest, ListJobHistoryRequest, PingReply, PingRequest,
};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::cluster;
use crate::output::note;

/// How long the controller is asked for its name and what it has told accounting.
const GLANCE: Duration = Duration::from_millis(500);

/// How long accounting may be away, restarting for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// `SPUR_ACCOUNTING_ADDR`, or the socket beside the controller's.
pub fn address() -> Address {
    if let Ok(said) = std::env::var("SPUR_ACCOUNTING_ADDR")
        && !said.is_empty()
    {
        let found = Address::parse(&said).unwrap_or_else(|| {
            note(format!(
                "error: SPUR_ACCOUNTING_ADDR={said} cannot be reached; say unix:/PATH or HOST:6819"
            ));
            std::process::exit(1)
        });
        return found.nearest();
    }
    let controllers = cluster::addresses();
    let sockets = controllers.iter().filter_map(Address::socket);
    let beside = sockets.map(|controller| controller.with_file_name("spurdbd.sock")).next();
    Address::Unix(beside.unwrap_or_default())
}

/// Why accounting gave no answer.
#[derive(Debug)]
pub enum Trouble {
    /// There is none.
    Disabled,
    /// It is away, or its database is.
    Away(String),
    /// It said no.
    Refused(Status),
}

impl std::fmt::Display for Trouble {
    /// Slurm's words first, then what helps.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Disabled => f.write_str(
                "Slurm accounting storage is disabled\n\
                 No history is kept. To turn it on, run\n\
                 \x20 spurdbd --database-url sqlite:/var/spool/spur/accounting.db\n\
                 and start the controller with\n\
                 \x20 spurctld --accounting unix:/run/spur/spurdbd.sock",
            ),
            Trouble::Away(what) => write!(f, "Problem talking to the database: {what}"),
            Trouble::Refused(status) => f.write_str(status.message()),
        }
    }
}

/// A connection to accounting; waits for one that is being started again.
pub async fn connect() -> Result<AccountingClient<Channel>, Trouble> {
    let mut address = address();
    if address.socket().is_some_and(|socket| !socket.exists()) {
        let elsewhere = glance().await.and_then(|it| Address::parse(&it.accounting_address));
        address = elsewhere.ok_or(Trouble::Disabled)?;
    }
    let proof = match address {
        Address::Unix(_) => None,
        Address::Tls { .. } => Some(introduced().await?),
    };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        match client::connect_accounting(&address, proof.clone()).await {
            Ok(channel) => return Ok(client::accounting(channel)),
            Err(_) if tokio::time::Instant::now() > deadline => {
                let what = format!("nobody listens on {address}");
                return Err(Trouble::Away(what));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// On another machine accounting knows a user by the controller's word, which is good for it alone.
async fn introduced() -> Result<Proof, Trouble> {
    let request = IssueTokenRequest { accounting: true, ..IssueTokenRequest::default() };
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| {
        let request = request.clone();
        async move { client.issue_token(request).await }
    };
    let reply = Caller::new(cluster::addresses(), PATIENCE).call(ask).await;
    let reply = reply.map_err(|error| Trouble::Away(error.to_string()))?;
    Ok(Proof::Token { token: reply.token, authority: reply.authority })
}

/// What a refused call means.
pub fn refused(status: Status) -> Trouble {
    match status.code() {
        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal => {
            Trouble::Away(status.message().to_string())
        }
        _ => Trouble::Refused(status),
    }
}

/// What the controller says of itself, if it is there.
pub async fn glance() -> Option<PingReply> {
    let ask = |mut client: spur_proto::slurm::controller_client::ControllerClient<_>| async move {
        client.ping(PingRequest {}).await
    };
    Caller::new(cluster::addresses(), GLANCE).call(ask).await.ok()
}

/// Waits a moment until the controller goes by these rules, so that what is handed in next is held to them.
pub async fn in_force(version: u64) {
    let deadline = tokio::time::Instant::now() + IN_FORCE;
    while tokio::time::Instant::now() < deadline {
        match glance().await {
            Some(reply) if reply.rules_version < version && reply.history_birth != 0 => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            _ => return,
        }
    }
}

/// How long new rules are waited for.
const IN_FORCE: Duration = Duration::from_secs(1);

/// Jobs of the past, and of this moment: what the controller has told by now is waited for.
pub async fn history(mut request: ListJobHistoryRequest) -> Result<Vec<AccountingView>, Trouble> {
    let mut client = connect().await?;
    if let Some(controller) = glance().await {
        if request.clusters.is_empty() {
            request.clusters.push(controller.cluster_name.clone());
        }
        request.reached = (controller.history_records > 0).then_some(HistoryPoint {
            cluster: controller.cluster_name,
            birth: controller.history_birth,
            number: controller.history_records,
        });
    }
    request.clusters.retain(|cluster| cluster != ALL_CLUSTERS);
    let mut pages = client.list_job_history(request).await.map_err(refused)?.into_inner();
    let mut jobs = Vec::new();
    while let Some(page) = pages.message().await.map_err(refused)? {
        jobs.extend(page.jobs);
    }
    Ok(jobs)
}

/// `-M all`
pub const ALL_CLUSTERS: &str = "all";
