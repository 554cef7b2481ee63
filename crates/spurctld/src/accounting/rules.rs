//! The rules of accounting: the leader asks for them, and proposes what has changed.

use std::convert::Infallible;
use std::time::Duration;

use spur_core::state::Command;
use spur_proto::client::{self, Address};
use spur_proto::slurm::GetRulesRequest;

use crate::shell::Inbox;

/// The longest pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// How long an answer may take; the database waits for a change before it answers.
const ANSWER: Duration = Duration::from_secs(30);

/// Keeps the replicated rules up with the database's for as long as the controller runs.
pub async fn follow(inbox: Inbox, address: Address) {
    let mut pause = Duration::from_millis(20);
    loop {
        let Err(broken) = converse(&inbox, &address).await;
        tracing::debug!("no rules of accounting: {broken:#}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE);
    }
}

async fn converse(inbox: &Inbox, address: &Address) -> anyhow::Result<Infallible> {
    let mut client = client::accounting(client::connect_accounting(address, None).await?);
    let mut changes = inbox.changes();
    loop {
        changes.borrow_and_update();
        let published = inbox.published();
        if !published.leads {
            changes.changed().await?;
            continue;
        }
        let known = published.state.rules.rules().version;
        let request = GetRulesRequest {
            other_than: (known > 0).then_some(known),
            ..GetRulesRequest::default()
        };
        let rules = tokio::time::timeout(ANSWER, client.get_rules(request)).await??.into_inner();
        if rules.version != known
            && let Err(refusal) = inbox.call(Command::SetRules(Box::new(rules))).await
        {
            anyhow::bail!("the rules were not taken: {refusal:?}");
        }
    }
}
