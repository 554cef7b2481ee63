//! An agent's stream, from its first message to its end.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use spur_core::auth::Actor;
use spur_core::hostlist;
use spur_core::ids::NodeName;
use spur_core::state::State;
use spur_proto::address::Address;
use spur_proto::entrance::Peer;
use spur_proto::internal::agent_message::Message as Says;
use spur_proto::internal::{AgentMessage, ControllerMessage};
use spur_proto::status::remark;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};

use super::limits;
use super::service::Service;
use crate::controller::Connection;
use crate::shell::STREAM_DEPTH;
use crate::trust;

/// Messages of one agent that may wait to be taken in.
const WAITING: usize = 64;

static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);

impl Service {
    /// `node` is whom the caller may speak for; nothing means any.
    pub(super) fn open_session(
        &self,
        node: Option<NodeName>,
        peer: Option<Arc<Peer>>,
        mut messages: Streaming<AgentMessage>,
    ) -> Pin<Box<dyn Stream<Item = Result<ControllerMessage, Status>> + Send>> {
        let connection = Connection(NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = mpsc::channel(STREAM_DEPTH);
        let inbox = self.inbox.clone();
        inbox.agent_opened(connection, sender);
        // Who says more than is taken in waits to be heard: its stream fills up, not our memory.
        let places = Arc::new(Semaphore::new(WAITING));
        let refusal = Arc::new(Mutex::new(None));
        let last_word = refusal.clone();
        tokio::spawn(async move {
            let mut changes = inbox.changes();
            // The shell holds the only sender: when it lets go, the agent sees its stream end, and ends
            // this one.
            loop {
                let message = tokio::select! {
                    message = messages.next() => message,
                    _ = changes.changed() => {
                        let state = &inbox.published().state;
                        match peer.as_deref() {
                            Some(Peer::Machine(bearer))
                                if trust::machine(state, bearer) == Actor::Anonymous =>
                            {
                                tracing::warn!(role = %bearer.role, "was thrown out");
                                break;
                            }
                            _ => continue,
                        }
                    }
                };
                let Some(Ok(AgentMessage { message })) = message else { break };
                match message {
                    Some(Says::Hello(hello))
                        if node.as_ref().is_some_and(|node| node.as_str() != hello.node) =>
                    {
                        tracing::warn!(node = hello.node, ?peer, "speaks for another node");
                        break;
                    }
                    // A path is on this machine, or on that of whoever runs a step: not another's to name.
                    Some(Says::Hello(hello))
                        if node.is_some()
                            && matches!(Address::parse(&hello.address), Some(Address::Unix(_))) =>
                    {
                        tracing::warn!(node = hello.node, "gives a path for an address");
                        break;
                    }
                    Some(Says::Hello(hello)) if limits::greeting(&hello).is_err() => {
                        let why = limits::greeting(&hello).err().as_ref().and_then(remark);
                        let why = why.unwrap_or_default();
                        tracing::warn!(node = hello.node, "is not let in: {why}");
                        break;
                    }
                    Some(Says::Hello(hello))
                        if let Some(words) = stranger(&inbox.published().state, &hello.node) =>
                    {
                        tracing::warn!("{words}");
                        *refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
                        break;
                    }
                    Some(message) => {
                        let Ok(place) = places.clone().acquire_owned().await else { break };
                        inbox.agent_says(connection, message, place);
                    }
                    None => {}
                }
            }
            inbox.agent_gone(connection);
        });
        // Looked at when everything else is said.
        let last = std::iter::from_fn(move || {
            let words = last_word.lock().unwrap_or_else(PoisonError::into_inner).take();
            words.map(|words| Err(Status::failed_precondition(words)))
        });
        Box::pin(ReceiverStream::new(receiver).map(Ok).chain(tokio_stream::iter(last)))
    }
}

/// What a node that is none of this cluster is told: its name, and those that are known.
fn stranger(state: &State, name: &str) -> Option<String> {
    if state.settings.admits(&NodeName::from(name)) {
        return None;
    }
    let known = hostlist::compress(state.settings.node_names().map(NodeName::as_str));
    Some(format!("{name} is no node of this cluster: its configuration names {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spur_core::state::Settings;

    #[test]
    fn a_node_that_nobody_configured_is_told_which_ones_are() {
        let state = |config: &str| {
            let config = spur_core::config::read(config).expect("is in order");
            let mut state = State::new();
            state.settings = Settings::of(&config).into();
            state
        };
        let named = state("[[nodes]]\nnames = \"n[1-4]\"\n");
        assert_eq!(stranger(&named, "n3"), None);
        let words = stranger(&named, "zz").expect("is refused");
        assert_eq!(words, "zz is no node of this cluster: its configuration names n[1-4]");
        assert_eq!(stranger(&state(""), "zz"), None);
    }
}
