//! Calls to other controllers.

use std::time::Duration;

use openraft::error::{
    Fatal, InstallSnapshotError, NetworkError, RPCError, RaftError, ReplicationClosed,
    StreamingError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{AnyError, BasicNode, Vote};
use spur_proto::client::{self, Address};
use spur_proto::internal::SnapshotPart;
use spur_proto::internal::consensus_client::ConsensusClient;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::{TypeConfig, wire};

/// Dials other controllers.
pub struct Peers;

/// The line to one other controller; made anew whenever it breaks.
pub struct Peer {
    id: u64,
    client: Option<ConsensusClient<Channel>>,
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        let client = Address::parse(&node.addr).map(|address| dial(&address));
        Peer { id: target, client }
    }
}

/// A client of another controller; it connects when it is used.
pub(super) fn dial(address: &Address) -> ConsensusClient<Channel> {
    ConsensusClient::new(client::connect_lazily(address))
        .max_decoding_message_size(LARGEST)
        .max_encoding_message_size(LARGEST)
}

/// Larger than any record a log can have.
pub const LARGEST: usize = 80 << 20;

/// The bytes of a snapshot that travel in one message.
const PART: usize = 1 << 20;

/// How long a controller that cannot be reached is left alone.
const PAUSE: Duration = Duration::from_millis(100);

type Error<E = openraft::error::Infallible> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl Peer {
    fn client(&self) -> Result<ConsensusClient<Channel>, Unreachable> {
        self.client.clone().ok_or_else(|| {
            let reason = format!("the address of controller {} is not known", self.id);
            Unreachable::new(&AnyError::error(reason))
        })
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Error> {
        let request = wire::append(self.id, &rpc);
        let reply = self.client()?.append(request).await.map_err(failed)?;
        wire::append_response(reply.into_inner()).map_err(garbled)
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<u64>,
        _option: RPCOption,
    ) -> Result<VoteResponse<u64>, Error> {
        let request = wire::ask_vote(self.id, &rpc);
        let reply = self.client()?.vote(request).await.map_err(failed)?;
        wire::vote_response(reply.into_inner()).map_err(garbled)
    }

    /// Never called: snapshots go whole, see `full_snapshot`.
    async fn install_snapshot(
        &mut self,
        _rpc: InstallSnapshotRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Error<InstallSnapshotError>> {
        let reason = AnyError::error("snapshots are sent as one stream");
        Err(RPCError::Unreachable(Unreachable::new(&reason)))
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote<u64>,
        snapshot: openraft::Snapshot<TypeConfig>,
        cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<TypeConfig, Fatal<u64>>> {
        let bytes = snapshot.snapshot.into_inner();
        let head = wire::snapshot_head(self.id, &vote, &snapshot.meta, bytes.len() as u64);
        let first = SnapshotPart { head: Some(head), bytes: Vec::new() };
        let mut at = 0;
        let rest = std::iter::from_fn(move || {
            let part = bytes.get(at..bytes.len().min(at + PART)).filter(|part| !part.is_empty())?;
            at += part.len();
            Some(SnapshotPart { head: None, bytes: part.to_vec() })
        });
        let parts = tokio_stream::iter(std::iter::once(first).chain(rest));
        let mut client = self.client()?;
        let reply = tokio::select! {
            reply = client.install(parts) => reply,
            closed = cancel => return Err(closed.into()),
        };
        let reply = reply.map_err(|status| match is_away(&status) {
            true => StreamingError::Unreachable(Unreachable::new(&status)),
            false => StreamingError::Network(NetworkError::new(&status)),
        })?;
        wire::snapshot_response(reply.into_inner())
            .map_err(|error| StreamingError::Network(NetworkError::new(&error)))
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(PAUSE))
    }
}

/// Nobody is there, or somebody else.
fn is_away(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::NotFound | Code::PermissionDenied)
}

fn failed<E: std::error::Error>(status: Status) -> Error<E> {
    match is_away(&status) {
        true => RPCError::Unreachable(Unreachable::new(&status)),
        false => RPCError::Network(NetworkError::new(&status)),
    }
}

fn garbled<E: std::error::Error>(error: wire::Unreadable) -> Error<E> {
    RPCError::Network(NetworkError::new(&error))
}
