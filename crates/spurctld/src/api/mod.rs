//! The edge: who calls, whether they may, what they get. Methods convert, ask, convert back.

mod about;
mod agents;
mod attendance;
mod control;
mod controllers;
mod crontabs;
mod groups;
mod holdings;
mod identify;
mod jobs;
mod limits;
mod lists;
mod machines;
mod nodes;
mod read;
mod reservations;
mod service;
mod shares;
mod sight;
mod steps;
mod triggers;
mod wait;
mod wanted;
mod watch;
mod why;

use std::sync::Arc;
use std::time::Duration;

use spur_proto::door::DoorLayer;
use spur_proto::entrance::Connection;
use spur_proto::internal::agents_server::AgentsServer;
use spur_proto::internal::consensus_server::ConsensusServer;
use spur_proto::slurm::controller_server::ControllerServer;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

pub use service::Service;

use crate::raft::{LARGEST, Member};
use crate::trust::Callers;

/// A caller that does not answer for so long is gone.
const PROBE_EVERY: Duration = Duration::from_secs(20);
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Calls at a time on one connection.
const STREAMS: u32 = 200;

/// The longest that may be said in the heads of a call: a token among them.
const LONGEST_HEAD: u32 = 16 << 10;

/// Serves until `stop` resolves. Callers who wait for an answer then are cut off and ask again.
pub async fn serve(
    service: Service,
    member: Member,
    callers: Callers,
    connections: ReceiverStream<std::io::Result<Connection>>,
    stop: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let max = spur_proto::client::MAX_MESSAGE;
    let serving = Server::builder()
        .http2_keepalive_interval(Some(PROBE_EVERY))
        .http2_keepalive_timeout(Some(PROBE_TIMEOUT))
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(LONGEST_HEAD)
        .layer(DoorLayer::new(Arc::new(callers)))
        .add_service(
            ControllerServer::new(service.clone())
                .max_decoding_message_size(max)
                .max_encoding_message_size(usize::MAX),
        )
        .add_service(AgentsServer::new(service).max_decoding_message_size(max))
        .add_service(
            ConsensusServer::new(member)
                .max_decoding_message_size(LARGEST)
                .max_encoding_message_size(LARGEST),
        )
        .serve_with_incoming(connections);
    tokio::select! {
        result = serving => result,
        () = stop => Ok(()),
    }
}
