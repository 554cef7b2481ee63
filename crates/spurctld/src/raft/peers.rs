//! Finding the other controllers: before a cluster is begun, joined or healed, they are asked.

use std::path::Path;
use std::time::Duration;

use spur_proto::client::Address;
use spur_proto::internal::{JoinRequest, StatusReply, StatusRequest};
use spur_proto::status::leader_hint;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use super::identity::Identity;
use super::{Raft, network};
use crate::trust::Trusted;

const PAUSE: Duration = Duration::from_millis(100);

/// How long a controller may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long nobody may lead before this controller asks whether it still belongs.
const LEADERLESS: Duration = Duration::from_secs(4);

/// How often what is waited for is said again.
const REMINDER: Duration = Duration::from_secs(30);

/// Whether any of them knows a cluster. Waits until every one has answered, since the one that is away may
/// be the one that knows.
pub async fn any_has_state(others: &[Address]) -> bool {
    let mut reminder = Reminder::default();
    loop {
        let mut away = None;
        for address in others {
            match status(address).await {
                Some(reply) if reply.has_state => return true,
                Some(_) => {}
                None => away = Some(address),
            }
        }
        let Some(address) = away else { return false };
        reminder.say(|| format!("waiting for {address} before a new cluster is begun"));
        sleep(PAUSE).await;
    }
}

/// Waits until one of them leads, with a majority behind it.
pub async fn leader(others: &[Address], why: &str) -> Address {
    let mut reminder = Reminder::default();
    loop {
        for address in others {
            if status(address).await.is_some_and(|reply| reply.leads) {
                return address.clone();
            }
        }
        reminder.say(|| format!("{why}: waiting for a leader among {}", Address::list(others)));
        sleep(PAUSE).await;
    }
}

/// Asks until the leader has made this controller a voter at this address. False when it was one and is
/// none any more.
pub async fn join(
    others: &[Address],
    identity: Identity,
    own: &Address,
    state_dir: &Path,
    trusted: &Trusted,
) -> bool {
    let mut reminder = Reminder::default();
    let mut hint = None;
    for address in others.iter().cycle() {
        let address = hint.take().unwrap_or_else(|| address.clone());
        let Identity { id, joined, .. } = identity;
        let request = JoinRequest { id, address: own.to_string(), joined };
        match network::dial(&address).join(request).await {
            Ok(reply) => {
                if let Err(error) = trusted.adopt(reply.get_ref()) {
                    tracing::error!("{:#}", anyhow::Error::from(error));
                }
                let joined = Identity { joined: true, ..identity };
                if let Err(error) = joined.save(state_dir) {
                    tracing::error!("{error:#}");
                }
                return true;
            }
            Err(status) if joined && status.code() == Code::NotFound => return false,
            Err(status) => {
                hint = leader_hint(&status);
                let what = if joined { "in touch with a leader" } else { "a member" };
                reminder.say(|| format!("not {what} yet: {}", status.message()));
            }
        }
        sleep(PAUSE).await;
    }
    true
}

/// Returns when a leader with a majority does not know this controller: it was removed while it was away.
pub async fn removed_meanwhile(raft: Raft, id: u64, others: Vec<Address>) {
    let mut leaderless = Instant::now();
    loop {
        sleep(PAUSE * 5).await;
        if raft.metrics().borrow().current_leader.is_some() {
            leaderless = Instant::now();
        }
        if leaderless.elapsed() < LEADERLESS {
            continue;
        }
        for address in &others {
            if let Some(reply) = status(address).await
                && reply.leads
                && !reply.members.contains(&id)
            {
                return;
            }
        }
    }
}

async fn status(address: &Address) -> Option<StatusReply> {
    let mut client = network::dial(address);
    let reply = timeout(PATIENCE, client.status(StatusRequest {})).await;
    Some(reply.ok()?.ok()?.into_inner())
}

/// Says something at once, and then now and again.
#[derive(Default)]
struct Reminder {
    said: Option<Instant>,
}

impl Reminder {
    fn say(&mut self, what: impl FnOnce() -> String) {
        if self.said.is_none_or(|said| said.elapsed() > REMINDER) {
            self.said = Some(Instant::now());
            tracing::info!("{}", what());
        }
    }
}
