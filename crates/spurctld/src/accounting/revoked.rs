//! Tells accounting whose tokens are worthless: it takes tokens too, and has no state of ours.

use std::convert::Infallible;
use std::time::Duration;

use spur_core::state::State;
use spur_proto::client::{self, Address};
use spur_proto::slurm::{RevokedTokens, TellRevokedRequest};

use crate::shell::Inbox;

/// The longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// Every controller tells what it knows, for as long as it runs: again after each connection, and at once when
/// something has changed.
pub async fn tell(inbox: Inbox, address: Address) {
    let mut pause = Duration::from_millis(20);
    loop {
        let Err(broken) = converse(&inbox, &address).await;
        tracing::debug!("accounting was not told of tokens: {broken:#}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE);
    }
}

/// How often accounting is told all the same: one that was replaced meanwhile knows nothing.
const AGAIN: Duration = Duration::from_secs(5);

async fn converse(inbox: &Inbox, address: &Address) -> anyhow::Result<Infallible> {
    let mut client = client::accounting(client::connect_accounting(address, None).await?);
    let mut changes = inbox.changes();
    loop {
        changes.borrow_and_update();
        let known = inbox.published().state.trust.clone();
        let request = TellRevokedRequest { revoked: list(&inbox.published().state) };
        tokio::time::timeout(ANSWER, client.tell_revoked(request)).await??;
        let changed = async {
            while known.revoked == inbox.published().state.trust.revoked {
                changes.changed().await?;
            }
            anyhow::Ok(())
        };
        if let Ok(ended) = tokio::time::timeout(AGAIN, changed).await {
            ended?;
        }
    }
}

fn list(state: &State) -> Vec<RevokedTokens> {
    let revoked = state.trust.revoked.iter();
    revoked.map(|(user, at)| RevokedTokens { user_name: user.clone(), until: at.0 }).collect()
}
