//! An agent's stream, from its first message to its end.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use spur_proto::internal::{AgentMessage, ControllerMessage};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};

use super::service::Service;
use crate::controller::Connection;
use crate::shell::STREAM_DEPTH;

static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);

impl Service {
    pub(super) fn open_session(
        &self,
        mut messages: Streaming<AgentMessage>,
    ) -> Pin<Box<dyn Stream<Item = Result<ControllerMessage, Status>> + Send>> {
        let connection = Connection(NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = mpsc::channel(STREAM_DEPTH);
        let inbox = self.inbox.clone();
        inbox.agent_opened(connection, sender);
        tokio::spawn(async move {
            // The shell holds the only sender: when it lets go, the agent sees its stream end, and ends
            // this one.
            while let Some(Ok(AgentMessage { message })) = messages.next().await {
                if let Some(message) = message {
                    inbox.agent_says(connection, message);
                }
            }
            inbox.agent_gone(connection);
        });
        Box::pin(ReceiverStream::new(receiver).map(Ok))
    }
}
