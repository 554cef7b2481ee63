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
        let closed = sender.clone();
        let inbox = self.inbox.clone();
        inbox.agent_opened(connection, sender);
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = messages.next() => message,
                    () = closed.closed() => None,
                };
                match message {
                    Some(Ok(AgentMessage { message: Some(message) })) => {
                        inbox.agent_says(connection, message);
                    }
                    Some(Ok(AgentMessage { message: None })) => {}
                    Some(Err(_)) | None => break,
                }
            }
            inbox.agent_gone(connection);
        });
        Box::pin(ReceiverStream::new(receiver).map(Ok))
    }
}
